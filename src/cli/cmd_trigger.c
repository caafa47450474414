/* cmd_trigger.c - kino trigger: traces from processes that run, through a daemon.
 *
 * Sends one request, waits until every process has written its trace or cannot, and prints what
 * there is: real paths, with rank and size. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/daemon_options.h"
#include "cli/interrupt.h"
#include "cli/trigger_finish.h"
#include "cli/trigger_sidecar.h"
#include "cli/write_out.h"
#include "client/client_request.h"

enum { LOOK_MS = 200, MOST_LOOK_MS = 1000, ABSENT_LOOKS = 20 };

typedef struct trigger_options {
    kino__common_options common;
    kino__daemon_options daemon;
    const char *pids, *name, *duration, *start_at, *warmup, *timeout, *activities, *output, *to;
    const char *cancel;
    uint64_t job, iterations, round_up, process_limit;
    bool all, no_wait, with_metrics;
    bool record_shapes, with_stacks, profile_memory, with_flops, with_modules, gpu_only;
} trigger_options;

#define FIELD(name) offsetof(trigger_options, name)
static const kino__option options_table[] = {
    {"pids", KINO__OPTION_TEXT, "LIST", "trace these processes and their children: 4711,4712",
     FIELD(pids), false},
    {"job", KINO__OPTION_COUNT, "N", "trace the processes of Slurm job N", FIELD(job), false},
    {"name", KINO__OPTION_TEXT, "PATTERN",
     "trace processes whose name or command line matches: 'python*', '*train.py*'", FIELD(name),
     false},
    {"all", KINO__OPTION_FLAG, NULL,
     "trace all your registered processes (as root: those of all users)", FIELD(all), false},
    {"process-limit", KINO__OPTION_COUNT, "N", "trace at most N processes (default: no limit)",
     FIELD(process_limit), false},
    {"duration", KINO__OPTION_TEXT, "TIME", "record for TIME: 500ms, 2s (default: 500ms)",
     FIELD(duration), false},
    {"iterations", KINO__OPTION_COUNT, "N", "record N training steps instead of a duration",
     FIELD(iterations), false},
    {"round-up", KINO__OPTION_COUNT, "N",
     "with --iterations: start at a step that is a multiple of N, the same on all ranks",
     FIELD(round_up), false},
    {"start-at", KINO__OPTION_TEXT, "TIME",
     "start at TIME: +30s, 07:30:00, 2026-11-16T07:30:00Z, @1700000000 (default: as soon as "
     "possible)",
     FIELD(start_at), false},
    {"warmup", KINO__OPTION_TEXT, "TIME",
     "run the profiler for TIME before recording, without keeping events (default: 5s)",
     FIELD(warmup), false},
    {"activities", KINO__OPTION_TEXT, "LIST",
     "record only these activities, named as in a trace: cpu_op,kernel,cuda_runtime",
     FIELD(activities), false},
    {"gpu-only", KINO__OPTION_FLAG, NULL, "record only device work and the calls that launch it",
     FIELD(gpu_only), false},
    {"record-shapes", KINO__OPTION_FLAG, NULL, "record the shapes of operator inputs",
     FIELD(record_shapes), false},
    {"with-stacks", KINO__OPTION_FLAG, NULL, "record Python stacks", FIELD(with_stacks), false},
    {"profile-memory", KINO__OPTION_FLAG, NULL,
     "record allocations (not supported on demand by PyTorch 2.13; see kino-trigger(1))",
     FIELD(profile_memory), false},
    {"with-flops", KINO__OPTION_FLAG, NULL, "record the number of floating-point operations",
     FIELD(with_flops), false},
    {"with-modules", KINO__OPTION_FLAG, NULL, "record modules", FIELD(with_modules), false},
    {"output", KINO__OPTION_TEXT, "PATH",
     "write the traces to this file or directory, adding the process ID to the name (default: the "
     "process's KINETO_ONDEMAND_TRACE_DIR, or /tmp)",
     FIELD(output), false},
    {"to", KINO__OPTION_TEXT, "FORMAT",
     "convert the traces to FORMAT once written: kino, json.gz, sqlite; see 'kino convert --help'",
     FIELD(to), false},
    {"with-metrics", KINO__OPTION_FLAG, NULL,
     "add the daemon's metrics for that time (CPU, memory, GPU, ...) as counter tracks",
     FIELD(with_metrics), false},
    {"no-wait", KINO__OPTION_FLAG, NULL, "do not wait for the traces", FIELD(no_wait), false},
    {"timeout", KINO__OPTION_TEXT, "TIME", "give up after TIME (default: 10m)", FIELD(timeout),
     false},
    {"cancel", KINO__OPTION_TEXT, "ID", "cancel request ID if it has not started", FIELD(cancel),
     false},
    KINO__DAEMON_OPTIONS(trigger_options, daemon),
    {"format", KINO__OPTION_CHOICE, "table|json|csv|md",
     "print results in this format (default: table)", FIELD(common.format), false},
    {0},
};
#undef FIELD

/* NOT_SET: what no option gave. */
#define NOT_SET UINT64_MAX

static void init(void *options)
{
    trigger_options *o = options;
    o->job = o->iterations = o->round_up = o->process_limit = NOT_SET;
}

/* -- from options to a request -- */

typedef struct request {
    kino__on_demand_options options;
    kino__pid_list pids;
    kino__text_list activities;
    char output[PATH_MAX];
} request;

static void request_deinit(request *r)
{
    kino__vec_deinit(&r->pids.items);
    kino__text_list_deinit(&r->activities);
}

static int64_t number(uint64_t value)
{
    return value == NOT_SET ? KINO_NO_INT : (int64_t)(value > INT64_MAX ? INT64_MAX : value);
}

/* A duration of an option; false (and a usage message) when it is none. */
static bool take_time(const char *option, const char *text, int64_t *out)
{
    if (!text || kino__parse_duration(text, out))
        return true;
    (void)kino__report_usage(
        &kino__command_trigger,
        "invalid value '%s' for --%s (expected: a time such as 500ms, 2s or 1m)", text, option);
    return false;
}

static bool take_times(const trigger_options *given, kino__on_demand_options *o)
{
    if (!take_time("duration", given->duration, &o->duration_ms) ||
        !take_time("warmup", given->warmup, &o->warmup_ms) ||
        !take_time("timeout", given->timeout, &o->timeout_ms))
        return false;
    if (o->duration_ms == 0) {
        (void)kino__report_usage(&kino__command_trigger,
                                 "invalid value for --duration (expected: more than 0)");
        return false;
    }
    if (given->start_at &&
        !kino__parse_start(given->start_at, kino__clock_ms(CLOCK_REALTIME), &o->start_ms)) {
        (void)kino__report_usage(&kino__command_trigger,
                                 "invalid value '%s' for --start-at (expected: a time such as "
                                 "+30s, 07:30:00, 2026-11-16T07:30:00Z or @1700000000)",
                                 given->start_at);
        return false;
    }
    return true;
}

/* Where the traces go is meant from here, not from where the daemon runs. */
static bool take_output(const char *path, char out[PATH_MAX], const char **absolute)
{
    char here[PATH_MAX] = "";
    if (!path)
        return true;
    if (*path != '/' && !getcwd(here, sizeof here))
        here[0] = 0;
    int size = snprintf(out, PATH_MAX, "%s%s%s", here, *path == '/' ? "" : "/", path);
    *absolute = out;
    if (size > 0 && size < PATH_MAX)
        return true;
    (void)kino__report_usage(&kino__command_trigger, "invalid value for --output: path too long");
    return false;
}

static const char *contradiction(const trigger_options *g)
{
    int who = (g->pids != NULL) + (g->job != NOT_SET) + (g->name != NULL) + g->all;
    if (who == 0)
        return "no processes selected: use --pids, --job, --name or --all ('kino status' lists the "
               "processes)";
    if (who > 1 && g->all)
        return "--all cannot be combined with --pids, --job or --name";
    if (g->duration && g->iterations != NOT_SET)
        return "--duration and --iterations cannot be combined";
    if (g->iterations == 0)
        return "invalid value for --iterations (expected: at least 1)";
    if (g->round_up != NOT_SET && g->iterations == NOT_SET)
        return "--round-up requires --iterations";
    if (g->start_at && g->iterations != NOT_SET)
        return "--start-at cannot be combined with --iterations: use --round-up to choose the "
               "first step";
    if (g->gpu_only && g->activities)
        return "--gpu-only and --activities cannot be combined";
    if (g->no_wait && (g->to || g->with_metrics))
        return "--no-wait cannot be combined with --to or --with-metrics";
    return NULL;
}

/* 0, or an exit code (already reported). */
static int make_request(const trigger_options *given, request *r)
{
    *r = (request){.options = KINO__ON_DEMAND_OPTIONS_INIT};
    kino__on_demand_options *o = &r->options;
    kino_error err;
    bool has_list = kino__text_list_init(&r->activities, given->activities);
    const char *wrong = contradiction(given);
    if (wrong)
        return kino__report_usage(&kino__command_trigger, "%s", wrong);
    if (!kino__pid_list_parse(&kino__command_trigger, given->pids, &r->pids) ||
        !take_times(given, o) || !take_output(given->output, r->output, &o->output))
        return KINO__EXIT_USAGE;
    char name[64];
    (void)snprintf(name, sizeof name, "x.%s", given->to ? given->to : "json");
    if (kino_writer_check(name, NULL, &err) != KINO_OK)
        return kino__report_usage(
            &kino__command_trigger,
            "invalid value '%s' for --to (see 'kino convert --help' for the formats)", given->to);
    if (!has_list) {
        (void)kino__fail_nomem(&err);
        return kino__report_error(&err, KINO__EXIT_FAILED);
    }
    o->pids = r->pids.items.items;
    o->pid_count = r->pids.items.count;
    o->activities = r->activities.items.items;
    o->activity_count = r->activities.items.count;
    o->job = number(given->job);
    o->name = given->name;
    o->all = given->all;
    o->process_limit = number(given->process_limit);
    o->iterations = number(given->iterations);
    o->round_up = number(given->round_up);
    o->record_shapes = given->record_shapes;
    o->with_stacks = given->with_stacks;
    o->profile_memory = given->profile_memory;
    o->with_flops = given->with_flops;
    o->with_modules = given->with_modules;
    o->gpu_only = given->gpu_only;
    o->wants_kino = given->to && strcmp(given->to, "kino") == 0;
    return KINO__EXIT_OK;
}

/* -- waiting -- */

/* "request 3: 2 written, 5 recording, 1 queued" */
static void describe_states(const kino__on_demand *t, char *text, size_t size)
{
    static const char *const states[] = {"written", "recording", "warming-up", "delivered",
                                         "queued",  "refused",   "timed-out",  "cancelled",
                                         "gone",    "lost"};
    int used = t->request[0] ? snprintf(text, size, "request %s: ", t->request) : 0;
    const char *gap = "";
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        size_t count = kino__on_demand_count(t, states[i]);
        if (!count || used < 0 || (size_t)used >= size)
            continue;
        used += snprintf(text + used, size - (size_t)used, "%s%zu %s", gap, count, states[i]);
        gap = ", ";
    }
}

/* Looks again and again until all have ended. KINO_CANCELLED when the user asks for the end. */
static kino_status wait_for_end(const trigger_options *given, const kino__client *client,
                                kino__on_demand *t, kino_error *err)
{
    kino__progress_bar bar;
    kino__progress_bar_init(&bar, !given->common.quiet && !given->common.no_progress);
    kino_status st = KINO_OK;
    int pause = LOOK_MS, absent = 0;
    while (st == KINO_OK && kino__on_demand_open_count(t) > 0) {
        char text[256] = "";
        describe_states(t, text, sizeof text);
        size_t open = kino__on_demand_open_count(t);
        if (!kino__progress_bar_report(&bar, text, t->targets.count - open, t->targets.count)) {
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
            break;
        }
        (void)poll(NULL, 0, pause); /* a signal ends it early */
        pause = pause < MOST_LOOK_MS ? pause + LOOK_MS / 4 : MOST_LOOK_MS;
        st = kino__on_demand_look(client, t, err);
        absent = st == KINO_NOT_FOUND ? absent + 1 : 0;
        if (absent && absent < ABSENT_LOOKS) /* it may be restarting */
            st = KINO_OK;
    }
    kino__progress_bar_end(&bar);
    return st;
}

/* -- results -- */

static int show(const trigger_options *given, const kino__on_demand *t)
{
    kino__own_tables tables = {0};
    kino__own_tables_add_traces(&tables, t, true);
    kino__own_tables_last(&tables)->hidden = 1u << KINO__TRACES_REQUEST;
    kino__own_tables_hide_nulls(&tables, 1u << KINO__TRACES_RANK | 1u << KINO__TRACES_SIZE |
                                             1u << KINO__TRACES_MESSAGE);
    kino__common_options common = given->common;
    common.limit = 0; /* all of them are wanted */
    int code = kino__own_tables_show(&tables, "trigger", NULL, &common);
    kino__own_tables_deinit(&tables);
    return code;
}

/* What was not as wished. */
static void tell(const trigger_options *given, const kino__on_demand *t)
{
    size_t written = kino__on_demand_count(t, "written");
    if (t->denied > 0)
        kino__report_note("%lld more process%s belong%s to other users", (long long)t->denied,
                          t->denied == 1 ? "" : "es", t->denied == 1 ? "s" : "");
    if (t->matched != KINO_NO_INT && t->matched > (int64_t)t->targets.count + t->busy)
        kino__report_note("%lld processes matched, %zu traced (--process-limit)",
                          (long long)t->matched, t->targets.count);
    if (t->busy)
        kino__report_note("%lld process%s skipped: already part of another request",
                          (long long)t->busy, t->busy == 1 ? "" : "es");
    if (!given->no_wait && !given->cancel && written < t->targets.count)
        kino__report_note("%zu of %zu traces written", written, t->targets.count);
}

/* PyTorch keeps a profile on demand for all threads at once, but its allocators look for one of
 * their own thread only: c10::memoryProfilingEnabled(). */
static void tell_memory(size_t missing)
{
    if (missing == 0)
        return;
    kino__report_note("no memory events in %zu trace%s: PyTorch does not report allocations to a "
                      "profiler that was started on demand",
                      missing, missing == 1 ? "" : "s");
    kino__report_note("hint: record them in the program, with "
                      "torch.profiler.profile(profile_memory=True)");
}

/* After Ctrl+C: what has not begun is not wanted any more. */
static void give_up(const kino__client *client, const kino__on_demand *t)
{
    kino_error err;
    if (client->kind == KINO__CLIENT_DYNOLOG)
        kino__report_note("the request continues: Dynolog cannot cancel requests");
    else if (kino__on_demand_cancel(client, t->request, &err) != KINO_OK)
        kino__report_note("the request continues: %s", kino__error_text(&err));
    else
        kino__report_note("request %s canceled; traces already started are still written",
                          t->request);
}

static int follow(const trigger_options *given, const kino__client *client, const request *r,
                  kino__on_demand *t)
{
    kino_error err;
    kino__error_clear(&err);
    bool can_wait = client->kind == KINO__CLIENT_KINO || client->is_local;
    if (!can_wait && !given->no_wait)
        kino__report_note("the processes are on another machine and Dynolog does not report on "
                          "them: expect these files there");
    kino_status st = KINO_OK;
    if (!given->no_wait && can_wait)
        st = wait_for_end(given, client, t, &err);
    if (st == KINO_CANCELLED) {
        give_up(client, t);
        return KINO__EXIT_INTERRUPTED;
    }
    if (st != KINO_OK) {
        (void)kino__report_error(&err, KINO__EXIT_FAILED);
        kino__report_note(
            "lost the connection to the daemon: traces already requested may still be written");
        (void)show(given, t);
        return KINO__EXIT_FAILED;
    }
    size_t missing = given->no_wait ? 0 : kino__finish_look(t, given->profile_memory);
    const kino__finish finish = {given->to, given->with_metrics, r->options.output,
                                 number(given->iterations)};
    size_t failed = given->no_wait ? 0 : kino__finish_traces(&finish, client, t, &given->common);
    if (!given->no_wait)
        kino__trigger_write_sidecars(t, finish.output, finish.iterations);
    int code = show(given, t);
    tell(given, t);
    tell_memory(missing);
    if (given->no_wait && t->request[0] && !given->common.quiet)
        kino__report_note("request %s: see 'kino status --request %s'", t->request, t->request);
    bool is_done =
        given->no_wait || !can_wait || kino__on_demand_count(t, "written") == t->targets.count;
    return code == KINO__EXIT_OK && (!is_done || failed) ? KINO__EXIT_FAILED : code;
}

static const char *why_nothing(const kino__on_demand *t)
{
    if (t->reason)
        return t->reason;
    if (t->busy)
        return "all matching processes already have a request (see 'kino status')";
    return t->matched != KINO_NO_INT && t->matched > 0
               ? "--process-limit excludes all matching processes"
               : "no process matches";
}

static int trigger(const trigger_options *given, const kino__client *client, const request *r)
{
    kino__on_demand t;
    kino_error err;
    int code;
    if (given->with_metrics && client->kind == KINO__CLIENT_DYNOLOG)
        return kino__report_usage(
            &kino__command_trigger,
            "--with-metrics requires a Kino daemon; the one at %s is a Dynolog daemon",
            client->place);
    if (kino__on_demand_send(client, &r->options, &t, &err) != KINO_OK) {
        code = kino__report_error(&err, KINO__EXIT_FAILED);
    } else if (t.targets.count == 0) {
        kino__report_note("nothing to trace: %s", why_nothing(&t));
        code = KINO__EXIT_FAILED;
    } else {
        code = follow(given, client, r, &t);
    }
    kino__on_demand_deinit(&t);
    return code;
}

static int cancel(const trigger_options *given, const kino__client *client)
{
    kino__on_demand t = {0};
    kino_error err;
    kino_status st = kino__on_demand_cancel(client, given->cancel, &err);
    if (st == KINO_OK)
        st = kino__on_demand_find(client, given->cancel, &t, &err);
    int code = st == KINO_OK ? show(given, &t) : kino__report_error(&err, KINO__EXIT_FAILED);
    kino__on_demand_deinit(&t);
    return code;
}

static int run_trigger(void *options, char **arguments, size_t count)
{
    const trigger_options *given = options;
    kino__client client;
    request r = {0};
    if (count)
        return kino__report_usage(
            &kino__command_trigger,
            "unexpected argument '%s' (select processes with --pids or --name)", arguments[0]);
    int64_t id;
    if (given->cancel && (!kino__str_to_int(kino__str_from(given->cancel), &id) || id <= 0))
        return kino__report_usage(&kino__command_trigger,
                                  "invalid value '%s' for --cancel (expected: a request ID)",
                                  given->cancel);
    int code = given->cancel ? KINO__EXIT_OK : make_request(given, &r);
    if (code == KINO__EXIT_OK)
        code = kino__daemon_connect(&kino__command_trigger, &given->daemon, &client);
    if (code == KINO__EXIT_OK)
        code = given->cancel ? cancel(given, &client) : trigger(given, &client, &r);
    request_deinit(&r);
    return code;
}

const kino__command kino__command_trigger = {
    .name = "trigger",
    .arguments = "",
    .summary = "record traces of running processes",
    .description = "Asks running processes to record a trace, through 'kino daemon' (or Dynolog's\n"
                   "daemon), waits for the files, and prints their paths with rank and size.\n"
                   "PyTorch programs take part if started with KINETO_USE_DAEMON=1, programs with\n"
                   "libkino if started with KINO_USE_DAEMON=1; they poll for requests every 5\n"
                   "seconds. 'kino status' lists them.\n",
    .options = options_table,
    .limits_memory = true,
    .options_size = sizeof(trigger_options),
    .init = init,
    .run = run_trigger,
};
