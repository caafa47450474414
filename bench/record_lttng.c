/* record_lttng.c - a span of kino beside one of LTTng-UST, in one process, in turn: a begin with a
 * number and an end. tools/run-bench starts LTTng's daemon and a session that records kino_bench:*
 * before it calls this.
 *
 *   bench_record_lttng [--rounds N]
 *
 * Prints one line of JSON: ns of the best round of each. Exit code 77: built without LTTng, or its
 * daemon does not record our tracepoints. */
#include <stdio.h>

#if __has_include(<lttng/tracepoint.h>)
#    include "record_pair.h"

#    define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#    define LTTNG_UST_TRACEPOINT_DEFINE
#    include "lttng/pair.h"

enum { REGISTER_MS = 3000 };

static double pairs_of_lttng(void)
{
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        lttng_ust_tracepoint(kino_bench, begin, i);
        KEEP(i);
        lttng_ust_tracepoint(kino_bench, end);
    }
    return bench_wall() - begin;
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
    int rounds = parse_rounds(argc, argv);
    if (!is_recorded()) {
        fprintf(stderr, "skipped: no LTTng session records kino_bench:*\n");
        return 77;
    }
    double clocks = 0, kino = 0, lttng = 0;
    for (int i = 0; i < rounds; i++) {
        start();
        bench_keep_best(&clocks, two_clocks());
        bench_keep_best(&kino, pairs());
        bench_keep_best(&lttng, pairs_of_lttng());
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
