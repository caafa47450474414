/* metrics_pmu.c - instructions and cycles of all processors, from the hardware counters where the
 * host has them and lets us read them.
 *
 * One group of two counters per processor, enabled once; a sample reads each group and adds what it
 * grew by since the one before. When more counters are wanted than there are, the kernel lets them
 * take turns: a group that ran for a part of the time counts for the whole by that part. */
#include "daemon/metrics_pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

enum { INSTRUCTIONS, CYCLES, PER_CYCLE, COUNT };

static const kino__metric metrics_of[COUNT] = {
    [INSTRUCTIONS] = {"instructions", "pmu_instructions_total", NULL,
                      "Instructions retired by the host's processors since the daemon started.",
                      KINO__COUNTER, 0, true},
    [CYCLES] = {"cycles", "pmu_cycles_total", NULL,
                "Cycles of the host's processors since the daemon started.", KINO__COUNTER, 0,
                true},
    [PER_CYCLE] = {"instructions_per_cycle", "pmu_instructions_per_cycle", NULL,
                   "Instructions per cycle in the last interval.", KINO__GAUGE, 6, true},
};
static const kino__metric_class pmu = {"pmu", metrics_of, COUNT, 1};
static const kino__metric_class *const classes[] = {&pmu, NULL};

enum { CPUS_MOST = 1024 };

typedef struct state {
    int *fds; /* two of each processor: the leader of the group, its member */
    kino__pmu_read *before;
    unsigned count;
    int64_t instructions, cycles;
} state;

static int open_counter(uint32_t type, uint64_t config, int cpu, int leader)
{
    struct perf_event_attr attr = {
        .type = type,
        .size = sizeof attr,
        .config = config,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

bool kino__pmu_open(uint32_t type, const uint64_t configs[2], int cpu, int fds[2])
{
    fds[0] = open_counter(type, configs[0], cpu, -1);
    if (fds[0] < 0)
        return false;
    fds[1] = open_counter(type, configs[1], cpu, fds[0]);
    if (fds[1] >= 0)
        return true;
    int error = errno;
    (void)close(fds[0]);
    errno = error;
    return false;
}

bool kino__pmu_read_group(int fd, kino__pmu_read *out)
{
    uint64_t words[5]; /* how many, enabled, running, values */
    if (read(fd, words, sizeof words) != (ssize_t)sizeof words || words[0] != 2)
        return false;
    *out = (kino__pmu_read){words[1], words[2], {words[3], words[4]}};
    return true;
}

static const char *reason_of(int error)
{
    switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
        return "hardware counters are not available (not supported, or not exposed to this virtual "
               "machine)";
    case EACCES:
    case EPERM:
        return "not permitted: requires CAP_PERFMON, or kernel.perf_event_paranoid at most 0";
    case ENOSYS:
        return "the kernel has no perf_event_open";
    default:
        return "perf_event_open failed";
    }
}

static bool open_pmu(void *context, kino__metrics *metrics)
{
    static const uint64_t configs[2] = {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES};
    state *self = context;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (cpus < 1 || cpus > CPUS_MOST)
        cpus = cpus < 1 ? 1 : CPUS_MOST;
    self->fds = calloc((size_t)cpus * 2, sizeof *self->fds);
    self->before = calloc((size_t)cpus, sizeof *self->before);
    if (!self->fds || !self->before) {
        kino__collector_miss(metrics, "out of memory");
        return false;
    }
    for (int cpu = 0; cpu < cpus; cpu++) {
        if (kino__pmu_open(PERF_TYPE_HARDWARE, configs, cpu, &self->fds[(size_t)2 * self->count])) {
            self->count++;
        } else if (errno != ENODEV) { /* ENODEV: this one is offline */
            kino__collector_miss(metrics, "%s", reason_of(errno));
            return false;
        }
    }
    return self->count > 0;
}

static void close_pmu(void *context)
{
    state *self = context;
    for (unsigned i = 0; i < 2 * self->count; i++)
        (void)close(self->fds[i]);
    free(self->fds);
    free(self->before);
}

int64_t kino__pmu_grown(const kino__pmu_read *before, const kino__pmu_read *now, unsigned which)
{
    if (now->enabled_ns < before->enabled_ns || now->running_ns < before->running_ns ||
        now->values[which] < before->values[which])
        return KINO_NO_INT;
    uint64_t enabled = now->enabled_ns - before->enabled_ns,
             running = now->running_ns - before->running_ns,
             value = now->values[which] - before->values[which];
    if (enabled == 0 || value == 0)
        return running > 0 || enabled == 0 ? 0 : KINO_NO_INT;
    if (running == 0)
        return KINO_NO_INT; /* it never had its turn: who knows */
    unsigned __int128 scaled = (unsigned __int128)value * enabled / running;
    return scaled <= INT64_MAX ? (int64_t)scaled : KINO_NO_INT;
}

/* A sum over all processors is one only when each of them is known. */
static void add(int64_t *sum, int64_t grown)
{
    if (grown == KINO_NO_INT || *sum == KINO_NO_INT || __builtin_add_overflow(*sum, grown, sum))
        *sum = KINO_NO_INT;
}

static void sample_pmu(void *context, kino__metrics *metrics)
{
    state *self = context;
    int64_t instructions = 0, cycles = 0;
    for (unsigned i = 0; i < self->count; i++) {
        kino__pmu_read now;
        if (!kino__pmu_read_group(self->fds[(size_t)2 * i], &now)) {
            kino__collector_miss(metrics, "a counter can no longer be read");
            add(&instructions, KINO_NO_INT);
            continue;
        }
        add(&instructions, kino__pmu_grown(&self->before[i], &now, 0));
        add(&cycles, kino__pmu_grown(&self->before[i], &now, 1));
        self->before[i] = now;
    }
    if (instructions == KINO_NO_INT || cycles == KINO_NO_INT) {
        kino__collector_miss(metrics, "the counters were not scheduled: others are using them");
        return;
    }
    kino__thing *thing = kino__metrics_thing(metrics, &pmu, KINO__STR("host"));
    if (!thing)
        return;
    add(&self->instructions, instructions);
    add(&self->cycles, cycles);
    kino__thing_count(thing, INSTRUCTIONS, self->instructions);
    kino__thing_count(thing, CYCLES, self->cycles);
    if (thing->values[CYCLES].rate != KINO_NO_INT)
        kino__thing_gauge(thing, PER_CYCLE, kino__quotient(instructions, cycles));
}

const kino__collector kino__collector_pmu = {
    .name = "pmu",
    .help = "instructions and cycles (hardware counters)",
    .classes = classes,
    .state_size = sizeof(state),
    .open = open_pmu,
    .sample = sample_pmu,
    .close = close_pmu,
};
