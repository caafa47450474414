/* metrics_pressure.c - /proc/pressure: for how much of the time tasks waited for processors, memory
 * or I/O ("some": at least one of them, "full": all at once). */
#include <errno.h>

#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

enum { SOME_AVG10, FULL_AVG10, SOME_TIME, FULL_TIME, COUNT };

#define AVG10_HELP                                                                                 \
    "Share of the last 10 s in which tasks waited for the resource, as averaged by the kernel."
#define TIME_HELP "Time in which some (or all) tasks waited for the resource."

static const kino__metric metrics_of[COUNT] = {
    [SOME_AVG10] = {"some_avg10_ratio", "pressure_avg10_ratio", "kind=\"some\"", AVG10_HELP,
                    KINO__GAUGE, 6, false},
    [FULL_AVG10] = {"full_avg10_ratio", "pressure_avg10_ratio", "kind=\"full\"", AVG10_HELP,
                    KINO__GAUGE, 6, false},
    [SOME_TIME] = {"some_seconds", "pressure_waiting_seconds_total", "kind=\"some\"", TIME_HELP,
                   KINO__COUNTER, 6, true},
    [FULL_TIME] = {"full_seconds", "pressure_waiting_seconds_total", "kind=\"full\"", TIME_HELP,
                   KINO__COUNTER, 6, true},
};
static const kino__metric_class pressure = {"pressure", metrics_of, COUNT, 4};
static const kino__metric_class *const classes[] = {&pressure, NULL};

enum { RESOURCES = 3 };
static const char *const resources[RESOURCES] = {"cpu", "memory", "io"};

typedef struct state {
    kino__proc_file files[RESOURCES];
} state;

static bool open_pressure(void *context, kino__metrics *metrics)
{
    state *self = context;
    static const char *const paths[RESOURCES] = {"pressure/cpu", "pressure/memory", "pressure/io"};
    bool is_any = false;
    for (unsigned i = 0; i < RESOURCES; i++)
        is_any |= kino__proc_open(&self->files[i], metrics->proc, paths[i]);
    if (!is_any)
        kino__collector_miss(metrics, errno == ENOENT
                                          ? "the kernel does not provide pressure information"
                                          : "cannot open /proc/pressure");
    return is_any;
}

static void close_pressure(void *context)
{
    state *self = context;
    for (unsigned i = 0; i < RESOURCES; i++)
        kino__proc_close(&self->files[i]);
}

static void sample_pressure(void *context, kino__metrics *metrics)
{
    state *self = context;
    for (unsigned i = 0; i < RESOURCES; i++) {
        kino_str text, name = kino__str_from(resources[i]);
        kino__pressure values;
        if (self->files[i].fd == 0)
            continue;
        if (!kino__proc_read(&self->files[i], metrics, &text)) {
            /* Kernels with psi=0 have the files, and refuse to read them. */
            kino__collector_miss_errno(metrics, errno, "the kernel does not measure pressure");
            continue;
        }
        kino__thing *thing = kino__metrics_thing(metrics, &pressure, name);
        if (!thing)
            continue;
        if (thing->is_new)
            kino__thing_label(thing, "resource", name);
        kino__parse_pressure(text, &values);
        kino__thing_gauge(thing, SOME_AVG10, values.some_avg10);
        kino__thing_gauge(thing, FULL_AVG10, values.full_avg10);
        kino__thing_count(thing, SOME_TIME, values.some_us);
        kino__thing_count(thing, FULL_TIME, values.full_us);
    }
}

const kino__collector kino__collector_pressure = {
    .name = "pressure",
    .help = "waiting for processors, memory and I/O (/proc/pressure)",
    .classes = classes,
    .state_size = sizeof(state),
    .open = open_pressure,
    .sample = sample_pressure,
    .close = close_pressure,
};
