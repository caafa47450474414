/* modes.c - one program, many fates: test_recorder.py runs each and looks at what it did and at the
 * trace. Its own result, the line "result 42", must be the same in all of them.
 *
 *   modes MODE OUT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kino/kino.h>

static int work(int n)
{
    KINO_FUNC();
    int sum = 0;
    for (int i = 0; i < n; i++) {
        KINO_ZONE("inner");
        sum += i;
    }
    return sum;
}

static void *work_on_thread(void *context)
{
    kino_thread_name(context);
    work(10);
    return NULL;
}

/* Tells why not, and goes on: a program does not need its recorder. */
static int record(const kino_session_options *options)
{
    kino_error error = {0};
    if (kino_prepare(options, &error) == KINO_OK && kino_start(&error) == KINO_OK)
        return 1;
    fprintf(stderr, "not recorded: %s\n", error.message);
    return 0;
}

static void save(const char *out)
{
    kino_error error = {0};
    (void)kino_stop(NULL);
    if (kino_save(out, &error) != KINO_OK)
        fprintf(stderr, "not saved: %s\n", error.message);
}

static void threads(void)
{
    pthread_t all[8];
    char names[8][16];
    for (int i = 0; i < 8; i++) {
        snprintf(names[i], sizeof names[i], "worker %d", i);
        pthread_create(&all[i], NULL, work_on_thread, names[i]);
    }
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], NULL);
}

/* 50 children; every fifth records for itself. */
static int forks(const char *out)
{
    int good = 0;
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            work(3);
            kino_session_options own = KINO_SESSION_OPTIONS_INIT;
            own.budget_bytes = 2 << 20;
            if (i % 5 == 0 && record(&own)) {
                work(3);
                char path[600];
                snprintf(path, sizeof path, "%s.%d", out, i);
                save(path);
            }
            exit(7); /* through the handlers */
        }
        int status = 0;
        if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
            WEXITSTATUS(status) == 7)
            good++;
        work(1);
    }
    return good;
}

/* -- address space: what is left of it, and what it is when nothing is */

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        exit(2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void limit_memory(size_t more)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = address_space() + more;
    setrlimit(RLIMIT_AS, &limit);
}

static void lift_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

/* Takes all memory there is, and works on without any. */
static int work_without_memory(const char *out)
{
    struct block {
        struct block *next;
    } *blocks = NULL;
    limit_memory(1 << 20);
    for (size_t size = 1 << 19; size >= sizeof *blocks;) {
        struct block *more = malloc(size);
        if (!more) {
            size /= 2;
            continue;
        }
        more->next = blocks;
        blocks = more;
    }
    int result = work(7);
    for (int i = 0; i < 100; i++) { /* names that nobody has seen */
        char name[32];
        snprintf(name, sizeof name, "made %d", i);
        kino_end(kino_begin(name, "cpu_op"));
    }
    kino_error error = {0};
    if (kino_dump(out, 0, &error) != KINO_OK)
        fprintf(stderr, "not dumped: %s\n", error.message);
    while (blocks) {
        struct block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    lift_limit();
    return result;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *mode = argv[1], *out = argv[2];
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.budget_bytes = 4 << 20;
    if (strcmp(mode, "exit") == 0)
        options.exit_path = out;
    struct rlimit limit = {1 << 20, 1 << 20};
    if (strcmp(mode, "limit") == 0)
        setrlimit(RLIMIT_FSIZE, &limit);
    if (strcmp(mode, "memory") == 0)
        limit_memory(3 << 20);
    (void)record(&options);
    lift_limit();
    int result = work(7) * 2;
    if (strcmp(mode, "late-memory") == 0)
        result = work_without_memory(out) * 2;
    if (strcmp(mode, "threads") == 0)
        threads();
    if (strcmp(mode, "forks") == 0 && forks(out) != 50)
        return 1;
    if (strcmp(mode, "late-limit") == 0) {
        limit.rlim_cur = 100; /* the trace does not fit */
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (strcmp(mode, "segv") == 0) {
        printf("result %d\n", result);
        fflush(stdout);
        KINO_ZONE("fatal");
        raise(SIGSEGV);
    }
    if (strcmp(mode, "_exit") == 0) {
        printf("result %d\n", result);
        fflush(stdout);
        _exit(3);
    }
    if (strcmp(mode, "exit") != 0 && strcmp(mode, "forget") != 0)
        save(out);
    printf("result %d\n", result);
    return 3;
}
