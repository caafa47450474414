/* metrics_self.c - the daemon about itself: what it costs, what it counted, which collectors
 * work. */
#include "base/clock.h"
#include "base/str.h"
#include "daemon/metrics_internal.h"
#include "daemon/metrics_text.h"

enum {
    PROCESSES,
    ENDPOINTS,
    RUNNING,
    DATAGRAMS,
    DATAGRAMS_BAD,
    REPLIES,
    REPLIES_DROPPED,
    REQUESTS,
    RPC_CALLS,
    RPC_REFUSED,
    CPU_TIME,
    RESIDENT,
    SAMPLE_TIME,
    LEFT_OUT,
    COUNT
};

static const kino__metric metrics_of[COUNT] = {
    [PROCESSES] = {"processes", "daemon_processes", NULL, "Registered processes.", KINO__GAUGE, 0,
                   false},
    [ENDPOINTS] = {"endpoints", "daemon_endpoints", NULL,
                   "Sockets from which registered processes poll for requests.", KINO__GAUGE, 0,
                   false},
    [RUNNING] = {"requests_running", "daemon_requests_running", NULL, "Open requests for traces.",
                 KINO__GAUGE, 0, true},
    [DATAGRAMS] = {"datagrams", "daemon_datagrams_total", NULL, "Datagrams received.",
                   KINO__COUNTER, 0, false},
    [DATAGRAMS_BAD] = {"datagrams_bad", "daemon_datagrams_bad_total", NULL, "Invalid datagrams.",
                       KINO__COUNTER, 0, false},
    [REPLIES] = {"replies", "daemon_replies_total", NULL, "Answers sent.", KINO__COUNTER, 0, false},
    [REPLIES_DROPPED] = {"replies_dropped", "daemon_replies_dropped_total", NULL,
                         "Answers that could not be sent immediately.", KINO__COUNTER, 0, false},
    [REQUESTS] = {"requests", "daemon_requests_total", NULL, "Requests for traces.", KINO__COUNTER,
                  0, false},
    [RPC_CALLS] = {"rpc_calls", "daemon_rpc_calls_total", NULL, "Function calls.", KINO__COUNTER, 0,
                   false},
    [RPC_REFUSED] = {"rpc_refused", "daemon_rpc_refused_total", NULL, "Function calls refused.",
                     KINO__COUNTER, 0, false},
    [CPU_TIME] = {"cpu_seconds", "daemon_cpu_seconds_total", NULL, "CPU time of the daemon itself.",
                  KINO__COUNTER, 6, true},
    [RESIDENT] = {"resident_bytes", "daemon_resident_bytes", NULL, "Memory of the daemon itself.",
                  KINO__GAUGE, 0, false},
    [SAMPLE_TIME] = {"sample_seconds", "daemon_sample_seconds", NULL,
                     "Time taken by the newest sample.", KINO__GAUGE, 9, false},
    [LEFT_OUT] = {"things_left_out", "daemon_things_left_out", NULL,
                  "Devices or processes without metrics because a limit was reached.", KINO__GAUGE,
                  0, false},
};
static const kino__metric_class daemon_class = {"daemon", metrics_of, COUNT, 1};

static const kino__metric collector_metrics[] = {
    {"available", "collector_available", NULL, "1 if this collector has values, otherwise 0.",
     KINO__GAUGE, 0, false},
};
static const kino__metric_class collector_class = {"collector", collector_metrics, 1,
                                                   KINO__COLLECTOR_COUNT};
static const kino__metric_class *const classes[] = {&daemon_class, &collector_class, NULL};

typedef struct state {
    kino__proc_file statm;
} state;

static bool open_self(void *context, kino__metrics *metrics)
{
    state *self = context;
    (void)kino__proc_open(&self->statm, metrics->proc, "self/statm");
    return true;
}

static void close_self(void *context)
{
    kino__proc_close(&((state *)context)->statm);
}

static void set_numbers(kino__thing *thing, const kino__metrics_daemon *numbers)
{
    kino__thing_gauge(thing, PROCESSES, numbers->processes);
    kino__thing_gauge(thing, ENDPOINTS, numbers->endpoints);
    kino__thing_gauge(thing, RUNNING, numbers->requests_running);
    kino__thing_count(thing, DATAGRAMS, numbers->datagrams);
    kino__thing_count(thing, DATAGRAMS_BAD, numbers->datagrams_bad);
    kino__thing_count(thing, REPLIES, numbers->replies);
    kino__thing_count(thing, REPLIES_DROPPED, numbers->replies_dropped);
    kino__thing_count(thing, REQUESTS, numbers->requests);
    kino__thing_count(thing, RPC_CALLS, numbers->rpc_calls);
    kino__thing_count(thing, RPC_REFUSED, numbers->rpc_refused);
}

static void sample_collectors(kino__metrics *metrics)
{
    for (unsigned i = 0; i < KINO__COLLECTOR_COUNT; i++) {
        kino_str name = kino__str_from(kino__collectors[i]->name);
        kino__thing *thing = kino__metrics_thing(metrics, &collector_class, name);
        if (!thing)
            return;
        if (thing->is_new)
            kino__thing_label(thing, "collector", name);
        const kino__collector_slot *slot = &metrics->slots[i];
        kino__thing_gauge(thing, 0, slot->is_open && slot->reason[0] == '\0');
    }
}

static void sample_self(void *context, kino__metrics *metrics)
{
    state *self = context;
    kino__thing *thing = kino__metrics_thing(metrics, &daemon_class, KINO__STR("self"));
    if (!thing)
        return;
    set_numbers(thing, &metrics->daemon);
    kino_str text;
    if (kino__proc_read(&self->statm, metrics, &text)) {
        (void)kino__text_number(&text);
        int64_t pages = kino__text_number(&text);
        if (pages != KINO_NO_INT && pages < INT64_MAX / metrics->page_bytes)
            kino__thing_gauge(thing, RESIDENT, pages * metrics->page_bytes);
    }
    kino__thing_count(thing, CPU_TIME, kino__clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000);
    kino__thing_gauge(thing, SAMPLE_TIME, kino__clock_ns(CLOCK_MONOTONIC) - metrics->began_ns);
    kino__thing_gauge(thing, LEFT_OUT, (int64_t)metrics->left_out);
    sample_collectors(metrics);
}

const kino__collector kino__collector_self = {
    .name = "self",
    .help = "the daemon itself",
    .classes = classes,
    .state_size = sizeof(state),
    .open = open_self,
    .sample = sample_self,
    .close = close_self,
};
