/* record_lttng.c - a span of kino beside one of LTTng-UST, in one process, in turn: a begin with a
 * number and an end. tools/run-bench starts LTTng's daemon and a session that records kino_bench:*
 * before it calls this.
 *
 *   bench_record_lttng [--rounds N]
 *
 * Prints one line of JSON: ns of the best round of each. Exit code 77: built without LTTng, or its
 * daemon does not record our tracepoints. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<lttng/tracepoint.h>)
#    include <kino/kino.h>

#    define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#    define LTTNG_UST_TRACEPOINT_DEFINE
#    include "lttng/pair.h"

enum { PAIRS = 100000, ROUNDS = 15, ROUNDS_MAX = 1000, REGISTER_MS = 3000 };

#    define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double two_clocks(void)
{
    double begin = now_s();
    for (int i = 0; i < PAIRS; i++) {
        uint64_t a = kino_impl_v1_ticks();
        KEEP(a);
        uint64_t b = kino_impl_v1_ticks();
        KEEP(b);
    }
    return now_s() - begin;
}

static double pairs_of_kino(void)
{
    double begin = now_s();
    for (int i = 0; i < PAIRS; i++) {
        KINO_ZONE("pair");
        KEEP(i);
    }
    return now_s() - begin;
}

static double pairs_of_lttng(void)
{
    double begin = now_s();
    for (int i = 0; i < PAIRS; i++) {
        lttng_ust_tracepoint(kino_bench, begin, i);
        KEEP(i);
        lttng_ust_tracepoint(kino_bench, end);
    }
    return now_s() - begin;
}

/* The daemon switches tracepoints on from a thread of its own. */
static int is_recorded(void)
{
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < REGISTER_MS; i++) {
        if (lttng_ust_tracepoint_enabled(kino_bench, begin) &&
            lttng_ust_tracepoint_enabled(kino_bench, end))
            return 1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static void keep_best(double *best, double seconds)
{
    if (*best == 0 || seconds < *best)
        *best = seconds;
}

static void start(void)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error = {0};
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK) {
        fprintf(stderr, "bench_record_lttng: cannot record: %s\n", error.message);
        exit(1);
    }
    KINO_INSTANT("warm");
}

int main(int argc, char **argv)
{
    int rounds =
        argc == 3 && strcmp(argv[1], "--rounds") == 0 ? (int)strtol(argv[2], NULL, 10) : ROUNDS;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "bench_record_lttng: rounds: 1 to %d\n", ROUNDS_MAX);
        return 1;
    }
    if (!is_recorded()) {
        fprintf(stderr, "skipped: no LTTng session records kino_bench:*\n");
        return 77;
    }
    double clocks = 0, kino = 0, lttng = 0;
    for (int i = 0; i < rounds; i++) {
        start();
        keep_best(&clocks, two_clocks());
        keep_best(&kino, pairs_of_kino());
        keep_best(&lttng, pairs_of_lttng());
        (void)kino_stop(NULL);
        kino_discard();
    }
    double ns = 1e9 / PAIRS;
    printf("{\"bench\": \"record_lttng\", \"kino_ns\": %.2f, \"lttng_ns\": %.2f, "
           "\"two_clocks_ns\": %.2f, \"lttng_to_kino\": %.2f}\n",
           kino * ns, lttng * ns, clocks * ns, lttng / kino);
    return 0;
}
#else
int main(void)
{
    fprintf(stderr, "skipped: built without LTTng-UST (liblttng-ust-dev)\n");
    return 77;
}
#endif
