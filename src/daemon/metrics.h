/* metrics.h - monitoring: what the host, its devices and the registered processes are doing,
 * sampled at an interval, remembered for a while, and written as Prometheus text, JSON and
 * counter tracks.
 *
 *   kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
 *   kino__metrics_new(&settings, &metrics, err);
 *   every settings.interval_ns:      kino__metrics_set_processes(metrics, list, count);
 *                                    kino__metrics_set_daemon(metrics, &numbers);
 *                                    kino__metrics_sample(metrics, now_ns);
 *   whenever somebody asks:          kino__metrics_prometheus / _json / _trace
 *
 * All of one thread: the loop's. A sample opens nothing and allocates nothing once everything
 * that is there has been seen. What cannot be known is missing, with a reason; it is never 0.
 * How it works: docs/internals/monitoring.md; the names: docs/formats/metrics.md. */
#ifndef KINO__DAEMON_METRICS_H
#define KINO__DAEMON_METRICS_H

#include <sys/types.h>

#include "base/json_out.h"
#include "base/str.h"

typedef struct kino__metrics kino__metrics;

typedef struct kino__metrics_settings {
    int64_t interval_ns;      /* between two samples; 1 s */
    unsigned history_samples; /* how many are remembered; 600; 0: only the newest */
    const char *without;      /* collectors to leave out, "gpu,pmu"; NULL: none */
    const char *proc, *sys;   /* where /proc and /sys are: for tests */
} kino__metrics_settings;

#define KINO__METRICS_SETTINGS_INIT                                                                \
    {                                                                                              \
        1000000000, 600, NULL, "/proc", "/sys"                                                     \
    }

/* KINO_ARGUMENT: a name in `without` is no collector. A collector that finds nothing on this
 * host is no failure: its reason is told by the outputs. */
KINO_NODISCARD kino_status kino__metrics_new(const kino__metrics_settings *settings,
                                             kino__metrics **out, kino_error *err);
void kino__metrics_free(kino__metrics *metrics);

/* A registered process whose tree (itself and its descendants) is to be watched. */
typedef struct kino__metrics_process {
    int32_t pid;
    uint64_t start_time; /* field 22 of /proc/PID/stat, in clock ticks; 0: not known */
    int64_t job;         /* as the client says it, or KINO_NO_INT */
    int64_t rank;        /* or KINO_NO_INT: then RANK or SLURM_PROCID of its environment */
    uid_t uid;           /* whose it is: others are not shown it */
} kino__metrics_process;

/* The registered processes as of now, the whole list; copied. At most KINO__METRICS_PROCESSES are
 * watched, the first ones. Cheap when nothing has changed. */
void kino__metrics_set_processes(kino__metrics *metrics, const kino__metrics_process *processes,
                                 size_t count);
enum { KINO__METRICS_PROCESSES = 256 };

/* What the daemon counts itself, from its start. */
typedef struct kino__metrics_daemon {
    int64_t processes, endpoints, requests_running; /* now */
    int64_t datagrams, datagrams_bad, replies, replies_dropped, requests, rpc_calls, rpc_refused;
} kino__metrics_daemon;
void kino__metrics_set_daemon(kino__metrics *metrics, const kino__metrics_daemon *numbers);

/* Takes a sample. now_ns: CLOCK_MONOTONIC. Never blocks on a device (GPUs have their own
 * thread). */
void kino__metrics_sample(kino__metrics *metrics, int64_t now_ns);

/* Leaves the profiling counters of GPUs (DCGM's) to others for so many seconds; 0: takes them back.
 * False: there are none to leave, or none had been left. For dcgmProfPause and dcgmProfResume. */
bool kino__metrics_pause_profiling(kino__metrics *metrics, int64_t seconds);

/* Who looks is a user: everybody sees what is the host's, and of processes and their cgroups only
 * his own, as with getProcesses; root sees all, KINO__METRICS_STRANGER no process. */
#define KINO__METRICS_ALL      ((uid_t)0)
#define KINO__METRICS_STRANGER ((uid_t)-1)

/* The newest sample in Prometheus' text format 0.0.4. Check out->failed. */
void kino__metrics_prometheus(const kino__metrics *metrics, uid_t viewer, kino__buffer *out);

/* The newest sample as one JSON object on one line with '\n' (--metrics-json); all of it. */
void kino__metrics_json_line(const kino__metrics *metrics, kino__buffer *out);

/* A part of the history: the last seconds (0: any age), between two times on CLOCK_REALTIME in ns
 * (KINO_NO_TIME: open). */
typedef struct kino__metrics_window {
    int64_t seconds, from_ns, to_ns;
} kino__metrics_window;

/* For getMetrics: adds the members "sample" (the newest values) and, when the window has a limit,
 * "history" (what there is of it) to the object that is open in `json`. */
void kino__metrics_json(const kino__metrics *metrics, uid_t viewer,
                        const kino__metrics_window *window, kino__json *json);

#endif
