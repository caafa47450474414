/* record.c - what does a span cost? Begin and end beside the two readings of the clock that any
 * recorder must make, with three arguments, on two threads, and while nothing is recorded; and how
 * fast does a recording become a file? tools/run-bench calls it.
 *
 *   bench_record [--rounds N]
 *
 * Each round measures everything once, in turn, so that a slow moment of the machine meets all of
 * them; the best round of each counts, and the best of several files. Prints one line of JSON: ns,
 * and ratios within this run. */
#include <sys/stat.h>

#include "record_pair.h"

enum { EXPORT_PAIRS = 1500000, EXPORTS = 5 };

static __attribute__((noreturn)) void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_record: %s: %s\n", what, why);
    exit(1);
}

static void start(uint64_t budget)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error = {0};
    options.budget_bytes = budget;
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        die("cannot record", error.message);
}

static void stop(void)
{
    kino_session_state state = {.size = sizeof state};
    if (kino_stop(NULL) != KINO_OK)
        die("cannot stop", "");
    kino_session_get(&state);
    if (state.dropped)
        die("records were dropped", "the budget is too small");
}

/* -- what is measured: seconds for `PAIRS` times */

static double pairs_with_arguments(void)
{
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++) {
        KINO_ZONE_NAMED(zone, "arguments", "cpu_op");
        KINO_ARG_INT(zone, "first", i);
        KINO_ARG_INT(zone, "second", i + 1);
        KINO_ARG_INT(zone, "third", i + 2);
    }
    return bench_wall() - begin;
}

static double empty_loop(void)
{
    double begin = bench_wall();
    for (int i = 0; i < PAIRS; i++)
        KEEP(i);
    return bench_wall() - begin;
}

/* -- two threads at once */

typedef struct runner {
    pthread_barrier_t *barrier;
    double seconds;
} runner;

static void *run_pairs(void *context)
{
    runner *r = context;
    KINO_INSTANT("warm");
    pthread_barrier_wait(r->barrier);
    r->seconds = pairs();
    return NULL;
}

static double pairs_on_two_threads(void)
{
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    runner runners[2] = {{&barrier, 0}, {&barrier, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run_pairs, &runners[i]) != 0)
            die("no thread", "");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    return runners[0].seconds > runners[1].seconds ? runners[0].seconds : runners[1].seconds;
}

/* -- export */

static double save_s(const char *path)
{
    kino_error error = {0};
    double begin = bench_wall();
    if (kino_save(path, &error) != KINO_OK)
        die("cannot save", error.message);
    return bench_wall() - begin;
}

/* Into a file in memory; *making: JSON without the file, as fast as the bytes are made. */
static double export_mb_per_s(const char *suffix, double *mb, double *stop_ms, double *making)
{
    char path[64];
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(path, sizeof path, "%s/kino-bench-%d%s", folder, (int)getpid(), suffix);
    start((uint64_t)(EXPORT_PAIRS + 100000) * 34 + (16 << 20));
    for (int i = 0; i < EXPORT_PAIRS; i++) {
        KINO_ZONE("aten::some_operator");
    }
    double begin = bench_wall();
    stop();
    *stop_ms = (bench_wall() - begin) * 1e3;
    double file = 0, nothing = 0;
    struct stat info;
    for (int i = 0; i < EXPORTS; i++) {
        bench_keep_best(&file, save_s(path));
        if (stat(path, &info) != 0 || unlink(path) != 0)
            die("no file", path);
        bench_keep_best(&nothing, save_s("/dev/null"));
    }
    *mb = (double)info.st_size / 1e6;
    *making = *mb / nothing;
    kino_discard();
    return *mb / file;
}

/* -- rounds */

int main(int argc, char **argv)
{
    int rounds = parse_rounds(argc, argv);
    double clocks = 0, one = 0, two = 0, arguments = 0, disabled = 0, empty = 0;
    for (int i = 0; i < rounds; i++) {
        bench_keep_best(&empty, empty_loop());
        bench_keep_best(&disabled, pairs());
        start(64 << 20);
        KINO_INSTANT("warm");
        bench_keep_best(&clocks, two_clocks());
        bench_keep_best(&one, pairs());
        bench_keep_best(&arguments, pairs_with_arguments());
        bench_keep_best(&two, pairs_on_two_threads());
        stop();
    }
    double json_mb, kino_mb, stop_ms, making;
    double kino_rate = export_mb_per_s(".kino", &kino_mb, &stop_ms, &making);
    double json_rate = export_mb_per_s(".json", &json_mb, &stop_ms, &making);
    double ns = 1e9 / PAIRS;
    printf("{\"bench\": \"record\", \"pair_ns\": %.2f, \"two_clocks_ns\": %.2f, "
           "\"pair_to_clocks\": %.3f, \"two_threads_to_one\": %.3f, \"arguments_ns\": %.2f, "
           "\"arguments_to_pair\": %.3f, \"disabled_ns\": %.3f, \"stop_ms\": %.2f, "
           "\"json_mb\": %.0f, \"json_mb_per_s\": %.0f, \"json_making_mb_per_s\": %.0f, "
           "\"kino_mb\": %.0f, "
           "\"kino_events_to_json\": %.2f}\n",
           one * ns, clocks * ns, one / clocks, two / one, arguments * ns, arguments / one,
           (disabled - empty) * ns, stop_ms, json_mb, json_rate, making, kino_mb,
           (kino_rate / kino_mb) / (json_rate / json_mb));
    return 0;
}
