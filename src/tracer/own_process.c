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

/* One launcher's variables; the first that has a rank is believed. */
static const struct launcher {
    const char *rank, *world_size, *local_rank;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

static int64_t number_of(const char *variable)
{
    const char *text = getenv(variable); /* NOLINT(concurrency-mt-unsafe): in prepare only */
    int64_t number;
    return text && kino__str_to_int(kino__str_from(text), &number) && number >= 0 ? number : -1;
}

kino__process_place kino__process_place_get(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        int64_t rank = number_of(launchers[i].rank);
        if (rank >= 0)
            return (kino__process_place){rank, number_of(launchers[i].world_size),
                                         number_of(launchers[i].local_rank)};
    }
    return (kino__process_place){-1, -1, -1};
}

void kino__process_place_write(const kino__process_place *place, kino__buffer *out)
{
    if (place->rank < 0)
        return;
    kino__buffer_printf(out, "{\"rank\": %lld", (long long)place->rank);
    if (place->world_size >= 0)
        kino__buffer_printf(out, ", \"world_size\": %lld", (long long)place->world_size);
    if (place->local_rank >= 0)
        kino__buffer_printf(out, ", \"local_rank\": %lld", (long long)place->local_rank);
    kino__buffer_add(out, KINO__STR("}"));
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
    if (has_groups)
        return KINO_OK;
    kino__process_place place = kino__process_place_get();
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
