/* own_process.c - facts of the process, from the system and the environment. */
#include "tracer/own_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_out.h"

uint64_t kino__process_start(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may contain anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

static void copy_name(char *to, size_t size, const char *from)
{
    size_t length = strnlen(from, size - 1);
    memcpy(to, from, length);
    to[length] = '\0';
}

void kino__process_names(char *process, size_t process_size, char *host, size_t host_size)
{
    const char *name = program_invocation_short_name;
    copy_name(process, process_size, name ? name : "");
    if (gethostname(host, host_size) != 0)
        host[0] = '\0';
    host[host_size - 1] = '\0';
}

/* -- the environment */

static const char *variable(void *context, const char *name)
{
    (void)context;
    return getenv(name); /* NOLINT(concurrency-mt-unsafe): in prepare only */
}

kino__process_place kino__process_place_get(void)
{
    return kino__process_place_find(variable, NULL);
}

static kino_status add_text(kino__texts *texts, const char *key, const char *value,
                            kino__buffer *scratch, kino_error *err)
{
    if (!value || !*value)
        return KINO_OK;
    scratch->size = 0;
    kino__json_add_string(scratch, kino__str_from(value));
    if (scratch->failed)
        return kino__fail_nomem(err);
    return kino__texts_metadata(texts, kino__str_from(key), kino__buffer_str(scratch), true, err);
}

static kino_status add_all(kino__texts *texts, bool has_groups, kino__buffer *scratch,
                           kino_error *err)
{
    static const char *const jobs[] = {"PT_PROFILER_JOB_NAME", "PT_PROFILER_JOB_VERSION",
                                       "PT_PROFILER_JOB_ATTEMPT_INDEX"};
    char process[64], host[64];
    kino__process_names(process, sizeof process, host, sizeof host);
    KINO_TRY(add_text(texts, "host_name", host, scratch, err));
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        KINO_TRY(add_text(texts, jobs[i],
                          getenv(jobs[i]), /* NOLINT(concurrency-mt-unsafe): in prepare only */
                          scratch, err));
    kino__process_place place = kino__process_place_get();
    const kino__process_about about = {.place = &place, .pid = getpid()};
    scratch->size = 0;
    kino__process_member_write(&about, scratch);
    if (scratch->failed)
        return kino__fail_nomem(err);
    KINO_TRY(kino__texts_metadata(texts, KINO__STR("kino_process"), kino__buffer_str(scratch), true,
                                  err));
    if (has_groups)
        return KINO_OK;
    scratch->size = 0;
    kino__process_place_write(&place, scratch);
    if (scratch->failed)
        return kino__fail_nomem(err);
    if (!scratch->size)
        return KINO_OK;
    return kino__texts_metadata(texts, KINO__STR("distributedInfo"), kino__buffer_str(scratch),
                                true, err);
}

kino_status kino__process_metadata(kino__texts *texts, bool has_groups, kino_error *err)
{
    kino__buffer scratch = {0};
    kino_status st = add_all(texts, has_groups, &scratch, err);
    kino__buffer_deinit(&scratch);
    return st;
}
