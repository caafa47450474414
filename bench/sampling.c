/* sampling.c - what sampling costs a program that only computes, and how fast samples become a
 * trace.
 *
 *   bench_sampling [--rounds N] [--milliseconds N] [--frequency HZ]
 *
 * The program itself, started as a child, computes a fixed amount below a few calls and tells how
 * long that took: CPU time, with the kernel's interrupts in it (where the kernel accounts them
 * apart, believe the wall clock, which a busy machine spoils). Rounds without sampling, with the
 * timer alone (no stacks, no switches, no faults: what the machine takes for so many interrupts),
 * with frame pointers and with copied stacks take turns, so that all see the same moments of the
 * machine; what counts is the median of the differences within a turn, so turns are many and short.
 * Prints one line of JSON; exit code 77 where perf_event is refused. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/perf.h"

enum { DEPTH = 20, ROUNDS_MAX = 500, ITERATIONS = 100000 };

typedef enum way { PLAIN, TIMER, POINTERS, COPIES, WAYS } way;

typedef struct options {
    int rounds;
    long milliseconds;
    unsigned frequency;
    const char *self;
} options;

typedef struct outcome {
    int64_t cpu_ns[ROUNDS_MAX], wall_ns[ROUNDS_MAX];
    int rounds;
    uint64_t samples;  /* of one round */
    int64_t finish_ns; /* making their trace */
    uint64_t lost;
} outcome;

static volatile double result;

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- the program that is sampled ---- */

static __attribute__((noinline)) double compute(long iterations)
{
    double x = 1.0;
    for (long i = 0; i < iterations; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

static __attribute__((noinline)) double descend(int depth, long iterations)
{
    double x = depth ? descend(depth - 1, iterations) : compute(iterations);
    return x + result;
}

static int work(long blocks)
{
    const struct sched_param first = {.sched_priority = 1};
    (void)sched_setscheduler(0, SCHED_FIFO, &first); /* as root: before all others of the machine */
    int64_t wall = now_ns(CLOCK_MONOTONIC_RAW), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < blocks; i++)
        result = descend(DEPTH, ITERATIONS);
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall = now_ns(CLOCK_MONOTONIC_RAW) - wall;
    printf("%lld %lld\n", (long long)cpu, (long long)wall);
    return 0;
}

/* ---- the measurement ---- */

static pid_t start_child(const options *o, long blocks, int *go, int *answer)
{
    int ready[2], out[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char byte, number[32];
        (void)snprintf(number, sizeof number, "%ld", blocks);
        (void)dup2(out[1], 1);
        (void)close(ready[1]);
        if (read(ready[0], &byte, 1) == 1)
            (void)execl(o->self, o->self, "--work", number, (char *)NULL);
        _exit(127);
    }
    (void)close(ready[0]);
    (void)close(out[1]);
    *go = ready[1];
    *answer = out[0];
    return pid;
}

static kino_status finish(kino__perf *perf, outcome *sum, kino_error *err)
{
    kino__perf_output output = {0};
    kino__perf_result made;
    int64_t start = now_ns(CLOCK_MONOTONIC_RAW);
    kino_status st = kino__perf_finish(perf, &output, &made, err);
    sum->finish_ns += now_ns(CLOCK_MONOTONIC_RAW) - start;
    for (size_t i = 0; i < made.count; i++) {
        sum->samples += made.processes[i].samples;
        sum->lost += made.processes[i].lost;
    }
    return st;
}

/* What is recorded in this way. */
static kino__perf_options wanted_in(way how)
{
    kino__perf_options wanted = KINO__PERF_OPTIONS_INIT;
    wanted.stacks = how == COPIES  ? KINO__PERF_STACKS_DWARF
                    : how == TIMER ? KINO__PERF_STACKS_NONE
                                   : KINO__PERF_STACKS_FRAME_POINTERS;
    wanted.switches = wanted.faults = how != TIMER;
    return wanted;
}

/* One run. False with the reason printed. */
static bool measure(const options *o, long blocks, way how, const char *folder, outcome *sum)
{
    int go = -1, answer = -1, status;
    kino_error err = {.code = KINO_OK};
    kino__perf *perf = NULL;
    pid_t pid = start_child(o, blocks, &go, &answer);
    if (pid < 0)
        return false;
    kino__perf_options wanted = wanted_in(how);
    wanted.pid = pid;
    wanted.folder = folder;
    wanted.frequency = o->frequency;
    kino_status st = how != PLAIN ? kino__perf_open(&wanted, &perf, &err) : KINO_OK;
    if (st != KINO_OK) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        fprintf(stderr, "skipped: no samples: %s\n", err.message);
        exit(77);
    }
    bool ok = write(go, "x", 1) == 1;
    char text[64] = "";
    ssize_t size = 0;
    while (ok && size == 0) { /* until the answer: a program's end comes with it */
        struct pollfd wait[2] = {{answer, POLLIN, 0}, {perf ? kino__perf_fd(perf) : -1, POLLIN, 0}};
        (void)poll(wait, 2, -1);
        if (perf)
            st = kino__perf_poll(perf, &err);
        if (wait[0].revents)
            size = read(answer, text, sizeof text - 1);
        ok = st == KINO_OK && size >= 0;
    }
    (void)close(go);
    (void)close(answer);
    (void)waitpid(pid, &status, 0);
    if (ok && how == POINTERS && !sum->samples) /* once is enough */
        ok = finish(perf, sum, &err) == KINO_OK;
    kino__perf_close(perf);
    char *rest;
    int64_t cpu = strtoll(text, &rest, 10), wall = strtoll(rest, NULL, 10);
    if (!ok || cpu <= 0 || wall <= 0) {
        fprintf(stderr, "bench_sampling: %s\n",
                err.message[0] ? err.message : "the program failed");
        return false;
    }
    sum->cpu_ns[sum->rounds] = cpu;
    sum->wall_ns[sum->rounds++] = wall;
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of what each round took above the one without of the same turn. */
static double percent(const int64_t *with, const int64_t *without, int rounds)
{
    double above[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        above[i] = 100.0 * ((double)with[i] / (double)without[i] - 1.0);
    qsort(above, (size_t)rounds, sizeof *above, compare);
    return (above[(rounds - 1) / 2] + above[rounds / 2]) / 2;
}

static double above_plain(const outcome *with, const outcome *plain)
{
    return percent(with->cpu_ns, plain->cpu_ns, plain->rounds);
}

static int run(const options *o)
{
    char folder[] = "/tmp/kino-bench-XXXXXX";
    static outcome sums[WAYS], trial; /* large */
    if (!mkdtemp(folder))
        return 1;
    bool ok = measure(o, 20, PLAIN, folder, &trial);
    long blocks = ok ? (long)((double)o->milliseconds * 1e6 * 20 / (double)trial.cpu_ns[0]) + 1 : 0;
    for (int round = 0; round < o->rounds && ok; round++)
        for (int i = 0; i < WAYS && ok; i++)
            ok = measure(o, blocks, (way)((i + round) % WAYS), folder, &sums[(i + round) % WAYS]);
    (void)rmdir(folder);
    if (!ok)
        return 1;
    const outcome *plain = &sums[PLAIN], *pointers = &sums[POINTERS];
    printf(
        "{\"bench\":\"sampling\",\"rounds\":%d,\"frequency\":%u,\"plain_ms\":%.3f,"
        "\"timer_percent\":%.3f,\"pointers_percent\":%.3f,\"pointers_wall_percent\":%.3f,"
        "\"above_timer_percent\":%.3f,\"copies_percent\":%.3f,\"samples\":%llu,\"lost\":%llu,"
        "\"trace_us_per_sample\":%.3f}\n",
        o->rounds, o->frequency, (double)plain->cpu_ns[0] * 1e-6, above_plain(&sums[TIMER], plain),
        above_plain(pointers, plain), percent(pointers->wall_ns, plain->wall_ns, o->rounds),
        above_plain(pointers, &sums[TIMER]), above_plain(&sums[COPIES], plain),
        (unsigned long long)pointers->samples, (unsigned long long)pointers->lost,
        pointers->samples ? (double)pointers->finish_ns * 1e-3 / (double)pointers->samples : 0.0);
    return 0;
}

int main(int argc, char **argv)
{
    options o = {.rounds = 40, .milliseconds = 50, .frequency = 1000, .self = "/proc/self/exe"};
    for (int i = 1; i + 1 < argc; i += 2) {
        long value = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--work") == 0)
            return work(value);
        if (strcmp(argv[i], "--rounds") == 0 && value > 0 && value <= ROUNDS_MAX)
            o.rounds = (int)value;
        else if (strcmp(argv[i], "--milliseconds") == 0 && value > 0)
            o.milliseconds = value;
        else if (strcmp(argv[i], "--frequency") == 0 && value > 0)
            o.frequency = (unsigned)value;
        else
            return 2;
    }
    return run(&o);
}
