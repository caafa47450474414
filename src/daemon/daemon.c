/* daemon.c - putting the parts together: settings, sockets, timers, signals. */
#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "daemon/access.h"
#include "daemon/daemon_internal.h"
#include "daemon/service.h"

#define SWEEP_NS ((int64_t)10000000000)
enum { LOOKED_UP_MAX = 16 };

static const int64_t ms_ns = 1000000;

/* -- timers */

static void sweep(void *context, int64_t now_ns)
{
    kino__daemon *d = context;
    kino__registry_sweep(&d->registry, now_ns, d->settings.silence_ms * ms_ns);
}

static void process_gone(void *context, kino__process *process, bool has_ended)
{
    kino__daemon *d = context;
    kino__requests_gone(&d->requests, process, has_ended);
}

static void beat(void *context, int64_t now_ns)
{
    (void)context;
    (void)now_ns;
    kino__service_notify("WATCHDOG=1");
}

/* -- monitoring */

static void tell_metrics(kino__daemon *d)
{
    const kino__fabric_statistics *s = &d->fabric.statistics;
    kino__metrics_process list[KINO__METRICS_PROCESSES];
    size_t count = 0, fresh = 0;
    for (kino__process *p = kino__registry_next(&d->registry, NULL);
         p && count < KINO__METRICS_PROCESSES; p = kino__registry_next(&d->registry, p))
        /* Looking somebody up takes its time: the others are for the next rounds. */
        if (p->polls > 0 && (p->about || fresh++ < LOOKED_UP_MAX))
            list[count++] =
                (kino__metrics_process){.pid = p->id.pid,
                                        .uid = p->id.uid,
                                        .start_time = p->id.start_time,
                                        .job = p->job,
                                        .rank = kino__process_rank(kino__registry_about(p))};
    kino__metrics_set_processes(d->metrics, list, count);
    const kino__metrics_daemon numbers = {.processes = (int64_t)d->registry.count,
                                          .endpoints = (int64_t)d->registry.endpoint_count,
                                          .requests_running = (int64_t)d->requests.open,
                                          .datagrams = (int64_t)s->datagrams,
                                          .datagrams_bad = (int64_t)s->bad,
                                          .replies = (int64_t)s->replies,
                                          .replies_dropped = (int64_t)(s->dropped + s->late),
                                          .requests = (int64_t)d->requests.total,
                                          .rpc_calls = (int64_t)d->rpc.calls,
                                          .rpc_refused = (int64_t)d->rpc.refused};
    kino__metrics_set_daemon(d->metrics, &numbers);
}

static void measure(void *context, int64_t now_ns)
{
    kino__daemon *d = context;
    kino_error err;
    tell_metrics(d);
    kino__metrics_sample(d->metrics, now_ns);
    if (!d->metrics_lines)
        return;
    bool has_failed = kino__metrics_lines_write(d->metrics_lines, d->metrics, &err) != KINO_OK;
    if (has_failed && !d->has_failed_lines)
        KINO__LOG(&d->log, KINO__LOG_WARNING, "metrics-not-written",
                  kino__log_text("reason", err.message));
    d->has_failed_lines = has_failed;
}

static kino_status open_metrics(kino__daemon *d, kino_error *err)
{
    const kino__settings *s = &d->settings;
    kino__metrics_settings settings = KINO__METRICS_SETTINGS_INIT;
    if (s->metrics_interval_ms == 0)
        return KINO_OK;
    settings.interval_ns = s->metrics_interval_ms * ms_ns;
    settings.history_samples = (unsigned)s->metrics_history;
    settings.without = s->metrics_without[0] ? s->metrics_without : NULL;
    KINO_TRY(kino__metrics_new(&settings, &d->metrics, err));
    KINO_TRY(
        kino__loop_add_timer(d->loop, settings.interval_ns, measure, d, &d->metrics_timer, err));
    const kino__metrics_http_options http = {.address = s->metrics_address,
                                             .hosts = s->metrics_hosts,
                                             .token_file = s->metrics_token_file};
    if (s->metrics_address[0])
        KINO_TRY(kino__metrics_http_open(d->loop, d->metrics, &http, &d->metrics_http, err));
    if (s->metrics_json[0])
        KINO_TRY(kino__metrics_lines_open(s->metrics_json, &d->metrics_lines, err));
    measure(d, kino__loop_now(d->loop));
    return KINO_OK;
}

/* -- opening and closing */

/* Each process has a descriptor here (pidfd). Answers are wanted within 50 ms, also on a machine
 * that has more to do than it can; they cost it next to nothing. */
static void raise_limits(void)
{
    struct rlimit limit;
    (void)setpriority(PRIO_PROCESS, 0, -10); /* where that is allowed */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Opens everything. To be closed also after a failure. */
static kino_status open_all(kino__daemon *d, kino_error *err)
{
    const kino__settings *s = &d->settings;
    KINO_TRY(kino__loop_new(&d->loop, err));
    d->started_ns = kino__loop_now(d->loop);
    kino__registry_init(&d->registry, d->loop, &d->log);
    d->registry.user_max = (size_t)s->user_processes;
    d->registry.gone = process_gone;
    d->registry.context = d;
    /* The unix socket first: whoever has it, has the state file, too. */
    KINO_TRY(kino__rpc_open(&d->rpc, d, d->loop, &d->log, s->socket, s->port, err));
    KINO_TRY(
        kino__requests_init(&d->requests, d->loop, &d->log, s->state[0] ? s->state : NULL, err));
    const kino__fabric_server_options fabric = {s->abstract, s->socket_dir};
    KINO_TRY(kino__fabric_server_open(&d->fabric, &fabric, d->loop, &d->log, &d->registry,
                                      &d->requests, err));
    KINO_TRY(kino__loop_add_timer(d->loop, SWEEP_NS, sweep, d, NULL, err));
    return open_metrics(d, err);
}

static void close_all(kino__daemon *d)
{
    kino__metrics_lines_close(d->metrics_lines);
    kino__metrics_http_close(d->metrics_http);
    kino__metrics_free(d->metrics);
    kino__fabric_server_close(&d->fabric);
    kino__rpc_close(&d->rpc);
    if (d->loop) {
        kino__requests_deinit(&d->requests);
        d->registry.gone = NULL;
        kino__registry_deinit(&d->registry);
    }
    kino__loop_free(d->loop);
    d->loop = NULL;
}

/* -- reload */

static void apply(kino__daemon *d, kino__settings *fresh)
{
    for (int i = 0; i < KINO__SETTING_COUNT; i++) {
        if (strcmp(fresh->texts[i], d->settings.texts[i]) == 0)
            continue;
        bool is_live = kino__setting_is_live(i);
        /* Measuring cannot begin later. */
        if (i == KINO__SETTING_metrics_interval_ms &&
            (!d->metrics || fresh->metrics_interval_ms == 0))
            is_live = false;
        KINO__LOG(&d->log, is_live ? KINO__LOG_INFO : KINO__LOG_WARNING,
                  is_live ? "setting-changed" : "setting-needs-restart",
                  kino__log_text("name", kino__setting_name(i)),
                  kino__log_text("value", fresh->texts[i]));
    }
    d->log.level = fresh->log_level;
    d->log.is_json = fresh->log_json;
    /* The old texts stay in use by what is open: only numbers move over. */
    d->settings.silence_ms = fresh->silence_ms;
    d->settings.user_processes = fresh->user_processes;
    d->registry.user_max = (size_t)fresh->user_processes;
    if (d->metrics && fresh->metrics_interval_ms &&
        fresh->metrics_interval_ms != d->settings.metrics_interval_ms) {
        d->settings.metrics_interval_ms = fresh->metrics_interval_ms;
        kino__loop_set_timer(d->loop, d->metrics_timer, fresh->metrics_interval_ms * ms_ns);
    }
}

static void reload(kino__daemon *d)
{
    kino__settings fresh;
    kino_error err;
    char lines[64];
    (void)snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)(kino__loop_now(d->loop) / 1000));
    kino__service_notify(lines);
    if (kino__settings_load(d->sources, &fresh, &err) == KINO_OK) {
        apply(d, &fresh);
        KINO__LOG(&d->log, KINO__LOG_INFO, "reloaded", kino__log_text("file", d->settings.file));
    } else {
        KINO__LOG(&d->log, KINO__LOG_ERROR, "reload-refused",
                  kino__log_text("reason", err.message));
    }
    kino__settings_deinit(&fresh);
    kino__service_notify("READY=1");
}

/* -- signals */

static void signal_ready(void *context, uint32_t events)
{
    kino__daemon *d = context;
    struct signalfd_siginfo info;
    (void)events;
    while (read(d->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            reload(d);
            continue;
        }
        KINO__LOG(&d->log, KINO__LOG_INFO, "stopping", kino__log_int("signal", info.ssi_signo));
        kino__loop_stop(d->loop);
    }
}

static kino_status open_signals(kino__daemon *d, kino_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* NOLINT(concurrency-mt-unsafe): one thread yet */
    (void)signal(SIGPIPE, SIG_IGN);
    d->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (d->signals < 0)
        return kino__fail_errno(err, errno, "cannot wait for signals");
    return KINO_OK;
}

/* -- running */

static void say_ready(kino__daemon *d)
{
    char lines[256];
    const kino__settings *s = &d->settings;
    KINO__LOG(&d->log, KINO__LOG_INFO, "ready", kino__log_int("pid", getpid()),
              kino__log_text("version", kino_version()), kino__log_text("socket", s->socket),
              kino__log_text("fabric", s->abstract ? "@" KINO__FABRIC_DAEMON : ""),
              kino__log_text("socket_dir", s->socket_dir), kino__log_int("port", d->rpc.port),
              kino__log_int("metrics_port",
                            d->metrics_http ? kino__metrics_http_port(d->metrics_http) : 0),
              kino__log_text("file", s->file));
    (void)snprintf(lines, sizeof lines, "READY=1\nSTATUS=listening at %.150s", s->socket);
    kino__service_notify(lines);
}

static kino_status run(kino__daemon *d, kino_error *err)
{
    int64_t watchdog = kino__service_watchdog_ns();
    raise_limits();
    KINO_TRY(open_all(d, err));
    KINO_TRY(kino__loop_add_fd(d->loop, d->signals, EPOLLIN, signal_ready, d, NULL, err));
    if (watchdog)
        KINO_TRY(kino__loop_add_timer(d->loop, watchdog / 2, beat, d, NULL, err));
    KINO_TRY(kino__access_drop(err));
    say_ready(d);
    KINO_TRY(kino__loop_run(d->loop, err));
    kino__service_notify("STOPPING=1");
    return KINO_OK;
}

kino_status kino__daemon_run(const kino__settings_sources *sources, kino_error *err)
{
    kino__daemon d = {.sources = sources, .signals = -1};
    kino_status st = kino__settings_load(sources, &d.settings, err);
    if (st == KINO_OK) {
        d.log = (kino__log){
            .fd = STDERR_FILENO, .level = d.settings.log_level, .is_json = d.settings.log_json};
        (void)umask(0022);
        st = open_signals(&d, err);
    }
    if (st == KINO_OK)
        st = run(&d, err);
    close_all(&d);
    if (d.signals >= 0)
        (void)close(d.signals);
    kino__settings_deinit(&d.settings);
    return st;
}
