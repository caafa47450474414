/* bench.h - what every benchmark program shares: arguments, clocks, the memory sampler, the result
 * line.
 *
 *   bench_load FILE [--jobs N] [--simd LEVEL] [--passes N] [--memory]
 *   bench_analyses PATH --analyses LIST [--compat MODE]
 *
 * A program does one thing to one file, `passes` times in one process, and prints one line of JSON;
 * tools/run-bench starts the programs, mixes their order and judges. Times are wall seconds of each
 * pass. The file is read once before the first pass, so that it is warm. Memory is RssAnon +
 * RssShmem, the highest value seen by a thread that looks every millisecond; the thread runs only
 * when asked (--memory), because it would disturb the clock.
 *
 * Clean in C11 and in C++, and needs libc only, so that peers (simdjson) are measured by the same
 * code. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BENCH_PASSES_MAX = 64, BENCH_CHECKS_MAX = 12 };

typedef struct bench_options {
    const char *path;
    const char *simd; /* "auto", "scalar", "avx2", "avx512" */
    unsigned jobs;    /* 0 = all processors */
    unsigned passes;
    bool memory;          /* sample memory; times are then not to be used */
    const char *format;   /* what is written: "json", "kino" */
    const char *analyses; /* "idle-time,launch-stats:include_memory=yes" */
    const char *compat;   /* the parameter of them all, or NULL */
} bench_options;

/* A number by which programs show that they did the same work. */
typedef struct bench_check {
    const char *name;
    uint64_t value;
} bench_check;

typedef struct bench_result {
    const char *bench; /* name of the program */
    const char *with;  /* library version and vector level, where that says something, or NULL */
    unsigned jobs;
    uint64_t bytes; /* of JSON text that one pass read or wrote */
    unsigned passes;
    double wall_s[BENCH_PASSES_MAX];
    double cpu_s[BENCH_PASSES_MAX]; /* user and system, all threads */
    uint64_t peak_bytes;            /* 0 = not sampled */
    size_t check_count;
    bench_check checks[BENCH_CHECKS_MAX];
} bench_result;

static inline __attribute__((noreturn)) void bench_die(const char *what, const char *subject)
{
    fprintf(stderr, "bench: %s '%s'\n", what, subject);
    exit(1);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static inline double bench_wall(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The best of several measurements; 0: there is none yet. */
static inline void bench_keep_best(double *best, double value)
{
    if (*best == 0 || value < *best)
        *best = value;
}

static inline double bench_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static inline void bench_pass_begin(bench_result *result)
{
    result->cpu_s[result->passes] = bench_cpu();
    result->wall_s[result->passes] = bench_wall();
}

static inline void bench_pass_end(bench_result *result)
{
    result->wall_s[result->passes] = bench_wall() - result->wall_s[result->passes];
    result->cpu_s[result->passes] = bench_cpu() - result->cpu_s[result->passes];
    result->passes++;
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct bench_sampler {
    pthread_t thread;
    int fd; /* of /proc/self/status; -1 = not running */
    bool stop;
    uint64_t peak_bytes;
} bench_sampler;

static inline uint64_t bench_status_field(const char *status, const char *name)
{
    const char *at = strstr(status, name);
    return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

static inline void bench_sampler_look(bench_sampler *sampler)
{
    char status[4096];
    ssize_t size = pread(sampler->fd, status, sizeof status - 1, 0);
    if (size <= 0)
        return;
    status[size] = 0;
    uint64_t now =
        bench_status_field(status, "\nRssAnon:") + bench_status_field(status, "\nRssShmem:");
    if (now > sampler->peak_bytes)
        sampler->peak_bytes = now;
}

static inline void *bench_sampler_run(void *context)
{
    bench_sampler *sampler = (bench_sampler *)context;
    const struct timespec pause = {0, 1000000};
    while (!__atomic_load_n(&sampler->stop, __ATOMIC_RELAXED)) {
        bench_sampler_look(sampler);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static inline void bench_sampler_start(bench_sampler *sampler, bool wanted)
{
    memset(sampler, 0, sizeof *sampler);
    sampler->fd = wanted ? open("/proc/self/status", O_RDONLY | O_CLOEXEC) : -1;
    if (!wanted)
        return;
    if (sampler->fd < 0 || pthread_create(&sampler->thread, NULL, bench_sampler_run, sampler) != 0)
        bench_die("cannot sample", "/proc/self/status");
}

/* The peak; to be called while the result of the work is still held. */
static inline uint64_t bench_sampler_stop(bench_sampler *sampler)
{
    if (sampler->fd < 0)
        return 0;
    __atomic_store_n(&sampler->stop, true, __ATOMIC_RELAXED);
    pthread_join(sampler->thread, NULL);
    bench_sampler_look(sampler);
    close(sampler->fd);
    return sampler->peak_bytes;
}

/* ---- arguments, input, output ---------------------------------------------------------------- */

/* Reads the file once, through a small buffer: its pages are in the page cache afterwards. */
static inline void bench_warm(const char *path)
{
    enum { CHUNK = 1 << 18 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *buffer = (char *)malloc(CHUNK);
    if (fd < 0 || !buffer)
        bench_die("cannot read", path);
    ssize_t size;
    do
        size = read(fd, buffer, CHUNK);
    while (size > 0);
    if (size < 0)
        bench_die("cannot read", path);
    free(buffer);
    close(fd);
}

static inline unsigned bench_number(const char *text, unsigned max)
{
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    if (!text || end == text || *end || value > max)
        bench_die("not a number, or too large:", text ? text : "");
    return (unsigned)value;
}

static inline bench_options bench_parse(int argc, char **argv)
{
    bench_options options = {NULL, "auto", 1, 1, false, "json", NULL, NULL};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--jobs") == 0) {
            options.jobs = bench_number(value, 1024);
            i++;
        } else if (strcmp(argv[i], "--passes") == 0) {
            options.passes = bench_number(value, BENCH_PASSES_MAX);
            i++;
        } else if (strcmp(argv[i], "--simd") == 0 && value) {
            options.simd = value;
            i++;
        } else if (strcmp(argv[i], "--format") == 0 && value) {
            options.format = value;
            i++;
        } else if (strcmp(argv[i], "--analyses") == 0 && value) {
            options.analyses = value;
            i++;
        } else if (strcmp(argv[i], "--compat") == 0 && value) {
            options.compat = value;
            i++;
        } else if (strcmp(argv[i], "--memory") == 0) {
            options.memory = true;
        } else if (argv[i][0] != '-' && !options.path) {
            options.path = argv[i];
        } else {
            bench_die("unknown argument", argv[i]);
        }
    }
    if (!options.path)
        bench_die("usage: FILE [--jobs N] [--simd LEVEL] [--passes N] [--memory] [--format F];",
                  "no file given");
    return options;
}

static inline void bench_add_check(bench_result *result, const char *name, uint64_t value)
{
    if (result->check_count == BENCH_CHECKS_MAX)
        bench_die("too many checks at", name);
    result->checks[result->check_count].name = name;
    result->checks[result->check_count++].value = value;
}

static inline void bench_print_list(const char *name, const double *values, unsigned count)
{
    printf(", \"%s\": [", name);
    for (unsigned i = 0; i < count; i++)
        printf("%s%.6f", i ? ", " : "", values[i]);
    printf("]");
}

static inline void bench_print(const bench_result *result)
{
    printf("{\"bench\": \"%s\", \"with\": \"%s\", \"jobs\": %u, \"bytes\": %" PRIu64, result->bench,
           result->with ? result->with : "", result->jobs, result->bytes);
    bench_print_list("wall_s", result->wall_s, result->passes);
    bench_print_list("cpu_s", result->cpu_s, result->passes);
    printf(", \"peak_bytes\": %" PRIu64 ", \"checks\": {", result->peak_bytes);
    for (size_t i = 0; i < result->check_count; i++)
        printf("%s\"%s\": %" PRIu64, i ? ", " : "", result->checks[i].name,
               result->checks[i].value);
    printf("}}\n");
}

#endif
