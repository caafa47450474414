/* library.h - what all stand-ins of vendors' libraries have in common: what the environment tells
 * them, functions that fail, a clock. All of it is static: each library counts its own calls.
 *
 *   STANDIN_FAIL=function:result[,...]  that function fails; a name may be followed by #n: the n-th
 *                                       call of it only */
#ifndef STANDIN_COMMON_LIBRARY_H
#define STANDIN_COMMON_LIBRARY_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FUNCTIONS_MAX = 128 };

static struct {
    pthread_mutex_t lock;
    struct {
        const char *name;
        unsigned calls;
    } functions[FUNCTIONS_MAX];
} counted = {.lock = PTHREAD_MUTEX_INITIALIZER};

static inline long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 0) : otherwise;
}

static inline int is_set_to(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text && strcmp(text, value) == 0;
}

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* How often the function was called, with this one when `is_call`. */
static inline unsigned calls_of(const char *function, int is_call)
{
    unsigned at = 0, calls = 0;
    pthread_mutex_lock(&counted.lock);
    while (at < FUNCTIONS_MAX && counted.functions[at].name &&
           strcmp(counted.functions[at].name, function) != 0)
        at++;
    if (at == FUNCTIONS_MAX)
        abort();
    if (is_call) {
        counted.functions[at].name = function; /* __func__, which stays */
        counted.functions[at].calls++;
    }
    calls = counted.functions[at].calls;
    pthread_mutex_unlock(&counted.lock);
    return calls;
}

/* A function of the vendor's is called: what the environment wants of it, 0 or a result. */
static inline int failure(const char *function)
{
    const char *list = getenv("STANDIN_FAIL");
    size_t size = strlen(function);
    unsigned number = calls_of(function, 1);
    while (list && *list) {
        const char *behind = strncmp(list, function, size) == 0 ? list + size : "";
        const char *colon = strchr(list, ':');
        if (colon &&
            (*behind == ':' || (*behind == '#' && strtoul(behind + 1, NULL, 10) == number)))
            return (int)strtol(colon + 1, NULL, 0);
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return 0;
}

/* At the beginning of each function. */
#define FAIL_IF_WANTED_AS(name)                                                                    \
    do {                                                                                           \
        int wanted_ = failure(name);                                                               \
        if (wanted_)                                                                               \
            return wanted_;                                                                        \
    } while (0)
#define FAIL_IF_WANTED() FAIL_IF_WANTED_AS(__func__)

#endif
