/* metrics_trace.c - a window of the history as a trace of counters: Chrome's JSON with one "C"
 * event per known value, times on CLOCK_REALTIME (baseTimeNanoseconds), which is the clock of
 * the traces that libkineto and libkino write. kino_run_merge then has it on the common axis. */
#include <stdio.h>
#include <unistd.h>

#include "daemon/metrics_internal.h"

typedef struct writer {
    const kino__metrics *metrics;
    kino__buffer *out;
    int64_t base_ns;
    size_t oldest, newest; /* samples back from the newest one; both within the window */
    int pid;
} writer;

/* False: no sample is in the window. */
static bool find_window(const kino__metrics *metrics, int64_t from_ns, int64_t to_ns, writer *out)
{
    bool is_any = false;
    for (size_t back = kino__history_count(metrics); back-- > 0;) {
        int64_t time = metrics->real_times_ns[kino__history_slot(metrics, back)];
        if ((from_ns != KINO_NO_TIME && time < from_ns) || (to_ns != KINO_NO_TIME && time > to_ns))
            continue;
        if (!is_any)
            out->oldest = back;
        out->newest = back;
        is_any = true;
    }
    return is_any;
}

/* "disk sda read_bytes_per_second": the class, what tells the thing from others, the number. */
static void name_track(const kino__thing *thing, unsigned index, kino__buffer *name)
{
    const kino__metric *metric = &thing->class->metrics[index];
    name->size = 0;
    kino__buffer_printf(name, "%s ", thing->class->name);
    if (thing->title[0] != '\0')
        kino__buffer_printf(name, "%s ", thing->title);
    kino__buffer_printf(name, "%s%s", metric->key,
                        metric->kind == KINO__GAUGE ? "" : "_per_second");
}

static void add_event(const writer *self, int64_t time_ns, kino_str name, const char *value)
{
    int64_t ns = time_ns - self->base_ns;
    char ts[32];
    (void)kino__fixed_to_text(ns, 3, ts);
    kino__buffer_printf(self->out,
                        ",\n{\"ph\":\"C\",\"pid\":%d,\"tid\":0,\"ts\":%s,\"name\":", self->pid, ts);
    kino__json_add_string(self->out, name);
    kino__buffer_printf(self->out, ",\"args\":{\"value\":%s}}", value);
}

static void add_track(const writer *self, const kino__thing *thing, unsigned index,
                      kino__buffer *name)
{
    const kino__metric *metric = &thing->class->metrics[index];
    const int64_t *ring = kino__thing_history(self->metrics, thing, index);
    if (!ring)
        return;
    unsigned digits =
        metric->kind == KINO__GAUGE ? metric->digits : kino__metric_rate_digits(metric);
    name_track(thing, index, name);
    for (size_t back = self->oldest + 1; back-- > self->newest;) {
        size_t slot = kino__history_slot(self->metrics, back);
        int64_t time = self->metrics->real_times_ns[slot];
        char value[32];
        if (ring[slot] == KINO_NO_INT || time < self->base_ns)
            continue;
        (void)kino__fixed_to_text(ring[slot], digits, value);
        add_event(self, time, kino__buffer_str(name), value);
    }
}

void kino__metrics_trace(const kino__metrics *metrics, uid_t viewer, int64_t from_ns, int64_t to_ns,
                         kino__buffer *out)
{
    writer self = {.metrics = metrics, .out = out, .pid = (int)getpid()};
    kino__buffer name = {0};
    bool is_any = metrics->samples > 0 && find_window(metrics, from_ns, to_ns, &self);
    if (is_any)
        self.base_ns = metrics->real_times_ns[kino__history_slot(metrics, self.oldest)];
    kino__buffer_printf(out,
                        "{\"schemaVersion\":1,\"baseTimeNanoseconds\":%lld,\"displayTimeUnit\":"
                        "\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"ts\":0,"
                        "\"name\":\"process_name\",\"args\":{\"name\":\"host metrics\"}}",
                        (long long)self.base_ns, self.pid);
    for (size_t c = 0; is_any && c < metrics->classes.count; c++)
        for (size_t i = 0; i < metrics->things[c].count; i++)
            for (unsigned k = 0; k < metrics->classes.items[c]->count; k++)
                if (kino__thing_is_for(metrics->things[c].items[i], viewer))
                    add_track(&self, metrics->things[c].items[i], k, &name);
    kino__buffer_printf(out, "\n]}\n");
    out->failed |= name.failed;
    kino__buffer_deinit(&name);
}
