/* record_soak.c - does the recorder stay within its budget? Threads that record as fast as they can
 * for as long as is asked, others that come and go, steps, and the memory of the process all the
 * while. By hand for ten minutes, by tests for a second.
 *
 *   bench_record_soak [--seconds N] [--threads N] [--budget MB] [--capture] [--save PATH]
 *
 * Memory is RssAnon + RssShmem + RssFile above what it was before the session, looked at every
 * 20 ms. Prints one line of JSON. Exit code 1 when it was more than the budget and 2 MiB (names,
 * the recorder's own thread), or when the second half of the time needed more than the first. */
#include <kino/kino.h>

#include "bench.h"

enum {
    THREADS_MAX = 64,
    LOOK_MS = 20,
    SPANS = 1000,         /* between two looks at the flag */
    GUEST_SPANS = 10000,  /* of a thread that comes and goes: more than one segment */
    ALLOWANCE = 2 << 20,  /* above the budget */
    GROWTH_MAX = 1 << 18, /* of the second half above the first */
};

typedef struct writer {
    pthread_t thread;
    uint64_t spans;
} writer;

static bool is_over;
static pthread_barrier_t begin_together;

static __attribute__((noreturn)) void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_record_soak: %s%s%s\n", what, *why ? ": " : "", why);
    exit(2);
}

static void *write_spans(void *context)
{
    writer *w = context;
    pthread_barrier_wait(&begin_together);
    pthread_barrier_wait(&begin_together);
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        for (int i = 0; i < SPANS / 2; i++) {
            KINO_ZONE("outer");
            KINO_ZONE("inner");
        }
        w->spans += SPANS;
    }
    return NULL;
}

static void *write_a_few(void *context)
{
    (void)context;
    for (int i = 0; i < GUEST_SPANS; i++) {
        KINO_ZONE("guest");
    }
    return NULL;
}

/* -- memory */

static uint64_t memory_now(void)
{
    char status[4096];
    FILE *file = fopen("/proc/self/status", "re");
    size_t size = file ? fread(status, 1, sizeof status - 1, file) : 0;
    if (file)
        (void)fclose(file);
    if (!size)
        die("cannot read /proc/self/status", "");
    status[size] = 0;
    return bench_status_field(status, "\nRssAnon:") + bench_status_field(status, "\nRssShmem:") +
           bench_status_field(status, "\nRssFile:");
}

/* -- the run */

typedef struct settings {
    double seconds;
    unsigned threads;
    uint64_t budget;
    kino_mode mode;
    const char *save;
} settings;

static settings parse(int argc, char **argv)
{
    settings s = {10, 2, 16, KINO_MODE_FLIGHT, NULL};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--capture") == 0)
            s.mode = KINO_MODE_CAPTURE;
        else if (strcmp(argv[i], "--seconds") == 0 && ++i)
            s.seconds = strtod(value, NULL);
        else if (strcmp(argv[i], "--threads") == 0 && ++i)
            s.threads = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(argv[i], "--budget") == 0 && ++i)
            s.budget = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--save") == 0 && ++i)
            s.save = value;
        else
            die("unknown argument", argv[i]);
    }
    if (!(s.seconds > 0) || s.threads < 1 || s.threads > THREADS_MAX || s.budget < 2)
        die("seconds above 0, 1 to 64 threads, a budget of 2 or more", "");
    s.budget <<= 20;
    return s;
}

static void record(const settings *s)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    kino_error error = {0};
    options.mode = s->mode;
    options.budget_bytes = s->budget;
    if (kino_prepare(&options, &error) != KINO_OK || kino_start(&error) != KINO_OK)
        die("cannot record", error.message);
}

/* Until the time is over; *first and *second: the most memory of each half. The number of spans of
 * guests and steps. */
static uint64_t watch(const settings *s, uint64_t *first, uint64_t *second)
{
    const struct timespec pause = {0, LOOK_MS * 1000000};
    uint64_t spans = 0;
    double begin = bench_wall(), passed = 0;
    for (; passed < s->seconds; passed = bench_wall() - begin) {
        pthread_t guest;
        if (pthread_create(&guest, NULL, write_a_few, NULL) != 0)
            die("no thread", "");
        pthread_join(guest, NULL);
        (void)kino_step();
        spans += GUEST_SPANS;
        uint64_t now = memory_now(), *most = passed < s->seconds / 2 ? first : second;
        *most = now > *most ? now : *most;
        nanosleep(&pause, NULL);
    }
    return spans;
}

int main(int argc, char **argv)
{
    settings s = parse(argc, argv);
    writer writers[THREADS_MAX] = {{0}};
    pthread_barrier_init(&begin_together, NULL, s.threads + 1);
    for (unsigned i = 0; i < s.threads; i++)
        if (pthread_create(&writers[i].thread, NULL, write_spans, &writers[i]) != 0)
            die("no thread", "");
    pthread_barrier_wait(&begin_together); /* all are there: their stacks are not the recorder's */
    (void)write_a_few(NULL);
    uint64_t before = memory_now(), first = 0, second = 0;
    record(&s);
    double begin = bench_wall();
    pthread_barrier_wait(&begin_together);
    uint64_t spans = watch(&s, &first, &second);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < s.threads; i++) {
        pthread_join(writers[i].thread, NULL);
        spans += writers[i].spans;
    }
    double seconds = bench_wall() - begin;
    kino_error error = {0};
    kino_session_state state = {.size = sizeof state};
    if (kino_stop(&error) != KINO_OK || (s.save && kino_save(s.save, &error) != KINO_OK))
        die("cannot stop or save", error.message);
    kino_session_get(&state);
    uint64_t peak = (first > second ? first : second) - before;
    bool is_within = peak <= s.budget + ALLOWANCE && (!second || second <= first + GROWTH_MAX);
    printf("{\"bench\": \"record_soak\", \"seconds\": %.1f, \"threads\": %u, \"spans\": %llu, "
           "\"spans_per_s\": %.0f, \"dropped\": %llu, \"budget_mb\": %.1f, \"peak_mb\": %.2f, "
           "\"growth_mb\": %.2f, \"is_within\": %s}\n",
           seconds, s.threads, (unsigned long long)spans, (double)spans / seconds,
           (unsigned long long)state.dropped, (double)s.budget / 1048576, (double)peak / 1048576,
           second > first ? (double)(second - first) / 1048576 : 0, is_within ? "true" : "false");
    return is_within ? 0 : 1;
}
