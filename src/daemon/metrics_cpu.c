/* metrics_cpu.c - /proc/stat: processor time of the host and of each core, context switches,
 * interrupts, forks.
 *
 * Busy is what is neither idle nor waiting for I/O; the share is one of ticks to ticks, so that it
 * does not depend on when exactly the file was read. Guest time is in user time already. */
#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

#define MODE(name, has_history)                                                                    \
    {                                                                                              \
#        name "_seconds", "cpu_seconds_total", "mode=\"" #        name "\"",                       \
            "CPU time of the host by mode; guest is included in user, guest_nice in nice.",        \
            KINO__COUNTER_SHAKY, 6, has_history                                                    \
    }

/* The modes come first, in the order of the file. */
enum {
    UTILIZATION = KINO__CPU_MODES,
    ONLINE,
    CONTEXT_SWITCHES,
    INTERRUPTS,
    FORKS,
    RUNNING,
    BLOCKED,
    BOOT_TIME,
    HOST_COUNT
};

static const kino__metric host_metrics[HOST_COUNT] = {
    MODE(user, true),
    MODE(nice, false),
    MODE(system, true),
    MODE(idle, false),
    MODE(iowait, true),
    MODE(irq, false),
    MODE(softirq, false),
    MODE(steal, false),
    MODE(guest, false),
    MODE(guest_nice, false),
    [UTILIZATION] = {"utilization_ratio", "cpu_utilization_ratio", NULL,
                     "Share of the host's CPU time that was not idle in the last interval.",
                     KINO__GAUGE, 6, true},
    [ONLINE] = {"online", "cpu_online", NULL, "Online processors.", KINO__GAUGE, 0, false},
    [CONTEXT_SWITCHES] = {"context_switches", "context_switches_total", NULL, "Context switches.",
                          KINO__COUNTER, 0, true},
    [INTERRUPTS] = {"interrupts", "interrupts_total", NULL, "Interrupts served.", KINO__COUNTER, 0,
                    true},
    [FORKS] = {"forks", "forks_total", NULL, "Processes and threads created.", KINO__COUNTER, 0,
               false},
    [RUNNING] = {"running", "tasks_running", NULL, "Tasks that are running or runnable.",
                 KINO__GAUGE, 0, true},
    [BLOCKED] = {"blocked", "tasks_blocked", NULL, "Tasks blocked on I/O.", KINO__GAUGE, 0, false},
    [BOOT_TIME] = {"boot_time_seconds", "boot_time_seconds", NULL,
                   "Boot time of the host, in seconds since the epoch.", KINO__GAUGE, 0, false},
};
static const kino__metric_class host = {"cpu", host_metrics, HOST_COUNT, 1};

enum { CORE_UTILIZATION, CORE_BUSY, CORE_IDLE, CORE_COUNT };
static const kino__metric core_metrics[CORE_COUNT] = {
    [CORE_UTILIZATION] = {"utilization_ratio", "cpu_core_utilization_ratio", NULL,
                          "Share of one processor's time that was not idle in the last interval.",
                          KINO__GAUGE, 6, true},
    [CORE_BUSY] = {"busy_seconds", "cpu_core_busy_seconds_total", NULL,
                   "Time of one processor that was neither idle nor waiting for I/O.",
                   KINO__COUNTER_SHAKY, 6, false},
    [CORE_IDLE] = {"idle_seconds", "cpu_core_idle_seconds_total", NULL,
                   "Time of one processor that was idle or waiting for I/O.", KINO__COUNTER_SHAKY,
                   6, false},
};
/* More of them would leave no room for the history of other things. */
enum { CORES_REMEMBERED = 64 };
static const kino__metric_class core = {"core", core_metrics, CORE_COUNT, 4096};

static const kino__metric_class *const classes[] = {&host, &core, NULL};

/* Ticks of a line; those that an old kernel does not have are nothing. */
static void add_up(const kino__cpu_line *line, int64_t *busy, int64_t *idle)
{
    *busy = *idle = 0;
    for (unsigned i = 0; i <= KINO__CPU_STEAL; i++) {
        bool is_idle = i == KINO__CPU_IDLE || i == KINO__CPU_IOWAIT;
        int64_t *sum = is_idle ? idle : busy;
        if (line->ticks[i] != KINO_NO_INT && __builtin_add_overflow(*sum, line->ticks[i], sum))
            *sum = INT64_MAX;
    }
}

static int64_t to_us(const kino__metrics *metrics, int64_t ticks)
{
    int64_t us;
    if (ticks == KINO_NO_INT || __builtin_mul_overflow(ticks, metrics->tick_ns / 1000, &us))
        return KINO_NO_INT;
    return us;
}

/* Of two sums of ticks that grow: the share of the first one in what both grew by. */
static int64_t share(const kino__metric_value *a, const kino__metric_value *b)
{
    if (a->rate == KINO_NO_INT || b->rate == KINO_NO_INT)
        return KINO_NO_INT;
    return kino__ratio(a->rate, a->rate + b->rate);
}

static void sample_core(kino__metrics *metrics, const kino__cpu_line *line, int64_t position)
{
    int64_t busy, idle;
    kino_str number = {line->name.data + 3, line->name.size - 3};
    kino__thing *thing = kino__metrics_thing(metrics, &core, number);
    if (!thing)
        return;
    if (thing->is_new) {
        kino__thing_label(thing, "cpu", number);
        if (position >= CORES_REMEMBERED)
            kino__thing_forget_history(metrics, thing);
    }
    add_up(line, &busy, &idle);
    kino__thing_count(thing, CORE_BUSY, to_us(metrics, busy));
    kino__thing_count(thing, CORE_IDLE, to_us(metrics, idle));
    kino__thing_gauge(thing, CORE_UTILIZATION,
                      share(&thing->values[CORE_BUSY], &thing->values[CORE_IDLE]));
}

/* From what the modes grew by: a mode that shook back a little counts as nothing, here as well. */
static int64_t host_utilization(const kino__thing *thing)
{
    int64_t busy = 0, idle = 0;
    for (unsigned i = 0; i <= KINO__CPU_STEAL; i++) {
        if (!kino__value_is_there(thing, i))
            continue;
        int64_t rate = thing->values[i].rate;
        if (rate == KINO_NO_INT)
            return KINO_NO_INT;
        if (i == KINO__CPU_IDLE || i == KINO__CPU_IOWAIT)
            idle += rate;
        else
            busy += rate;
    }
    return kino__ratio(busy, busy + idle);
}

static void sample_host(kino__metrics *metrics, kino__thing *thing, const kino__cpu_line *line)
{
    for (unsigned i = 0; i < KINO__CPU_MODES; i++)
        kino__thing_count(thing, i, to_us(metrics, line->ticks[i]));
    kino__thing_gauge(thing, UTILIZATION, host_utilization(thing));
}

static void sample_cpu(void *state, kino__metrics *metrics)
{
    kino_str text, line;
    kino__thing *thing = kino__metrics_thing(metrics, &host, KINO__STR("host"));
    if (!thing)
        return;
    if (!kino__collector_read_file(state, metrics, &text))
        return;
    kino__stat_totals totals = {KINO_NO_INT, KINO_NO_INT, KINO_NO_INT,
                                KINO_NO_INT, KINO_NO_INT, KINO_NO_INT};
    kino__cpu_line cpu;
    int64_t online = 0;
    while (kino__text_line(&text, &line)) {
        if (!kino__parse_cpu(line, &cpu)) {
            kino__parse_stat_total(line, &totals);
        } else if (cpu.name.size == 3) {
            sample_host(metrics, thing, &cpu);
        } else {
            sample_core(metrics, &cpu, online++);
        }
    }
    kino__thing_gauge(thing, ONLINE, online ? online : KINO_NO_INT);
    kino__thing_count(thing, CONTEXT_SWITCHES, totals.context_switches);
    kino__thing_count(thing, INTERRUPTS, totals.interrupts);
    kino__thing_count(thing, FORKS, totals.forks);
    kino__thing_gauge(thing, RUNNING, totals.running);
    kino__thing_gauge(thing, BLOCKED, totals.blocked);
    kino__thing_gauge(thing, BOOT_TIME, totals.boot_time_s);
}

const kino__collector kino__collector_cpu = {
    .name = "cpu",
    .help = "CPU time, context switches, interrupts, forks (/proc/stat)",
    .classes = classes,
    .file = "stat",
    .state_size = sizeof(kino__proc_file),
    .open = kino__collector_open_file,
    .sample = sample_cpu,
    .close = kino__collector_close_file,
};
