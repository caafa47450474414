/* rpc_kino.c - Kino's own functions, on the unix socket. Answers are objects with "status": "ok" or
 * "error", and then "error": why. docs/formats/daemon.md */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/glob.h"
#include "daemon/access.h"
#include "daemon/daemon_internal.h"
#include "daemon/trigger.h"

typedef kino_status function_fn(const kino__rpc_call *call, kino__json *json, kino_error *err);

/* -- arguments */

/* A member that is absent is fine; one of another kind is not. */
static kino_status get_int(const kino__rpc_call *call, const char *key, int64_t min, int64_t max,
                           int64_t *out, kino_error *err)
{
    const kino__json_in *member = kino__json_in_member(call->request, key);
    if (!member || member->kind == KINO__JSON_IN_NULL)
        return KINO_OK;
    if (member->kind != KINO__JSON_IN_NUMBER || !member->is_int || member->integer < min ||
        member->integer > max)
        return kino__fail(err, KINO_ARGUMENT, "\"%s\" must be an integer from %lld to %lld", key,
                          (long long)min, (long long)max);
    *out = member->integer;
    return KINO_OK;
}

static kino_status get_bool(const kino__rpc_call *call, const char *key, bool *out, kino_error *err)
{
    const kino__json_in *member = kino__json_in_member(call->request, key);
    if (!member || member->kind == KINO__JSON_IN_NULL)
        return KINO_OK;
    if (member->kind != KINO__JSON_IN_BOOL)
        return kino__fail(err, KINO_ARGUMENT, "\"%s\" must be true or false", key);
    *out = member->is_true;
    return KINO_OK;
}

static kino_status get_text(const kino__rpc_call *call, const char *key, kino_str *out,
                            kino_error *err)
{
    const kino__json_in *member = kino__json_in_member(call->request, key);
    if (!member || member->kind == KINO__JSON_IN_NULL)
        return KINO_OK;
    if (member->kind != KINO__JSON_IN_STRING || member->text.size > KINO__TRIGGER_TEXT_MAX)
        return kino__fail(err, KINO_ARGUMENT, "\"%s\" must be a string", key);
    *out = member->text;
    return KINO_OK;
}

/* -- getProcesses */

static const char *library_of(const kino__process *p)
{
    if (p->is_kino)
        return "libkino";
    return p->has_events ? "libkineto before July 2026" : "libkineto";
}

static const char *state_of(const kino__process *p)
{
    if (p->target)
        return kino__target_state_word(p->target->state);
    return p->mask & KINO__FABRIC_ACTIVITIES ? "idle" : "busy";
}

static void put_process(kino__process *p, const char *user, int64_t now_ns, kino__json *json)
{
    const kino__process_description *about = kino__registry_about(p);
    kino__json_begin_object(json);
    kino__json_key(json, "pid");
    kino__json_int(json, p->id.pid);
    kino__json_key(json, "own_pid");
    kino__json_int(json, p->id.own_pid);
    kino__json_key(json, "command");
    kino__json_text(json, about->command);
    kino__json_key(json, "uid");
    kino__json_uint(json, p->id.uid);
    kino__json_key(json, "user");
    kino__json_text(json, user);
    kino__json_key(json, "job");
    kino__json_int(json, p->job);
    kino__json_key(json, "rank");
    if (about->place.rank < 0)
        kino__json_null(json);
    else
        kino__json_int(json, about->place.rank);
    kino__json_key(json, "last_seen_ms");
    kino__json_int(json, (now_ns - p->last_seen_ns) / 1000000);
    kino__json_key(json, "library");
    kino__json_text(json, library_of(p));
    kino__json_key(json, "state");
    kino__json_text(json, state_of(p));
    kino__json_key(json, "endpoints");
    kino__json_uint(json, p->endpoints.count);
    kino__json_key(json, "start_time");
    kino__json_uint(json, p->id.start_time);
    kino__json_end_object(json);
}

static void put_daemon(const kino__daemon *d, kino__json *json)
{
    int64_t now_ns = kino__loop_now(d->loop);
    kino__json_key(json, "daemon");
    kino__json_begin_object(json);
    kino__json_key(json, "pid");
    kino__json_int(json, getpid());
    kino__json_key(json, "version");
    kino__json_text(json, kino_version());
    kino__json_key(json, "uptime_ms");
    kino__json_int(json, (now_ns - d->started_ns) / 1000000);
    kino__json_key(json, "uid");
    kino__json_uint(json, geteuid());
    kino__json_key(json, "socket_dir");
    kino__json_text(json, d->settings.socket_dir[0] ? d->settings.socket_dir : NULL);
    kino__json_key(json, "abstract");
    kino__json_bool(json, d->settings.abstract);
    kino__json_key(json, "port");
    kino__json_uint(json, d->rpc.port);
    kino__json_key(json, "metrics_port");
    kino__json_uint(json, d->metrics_http ? kino__metrics_http_port(d->metrics_http) : 0);
    kino__json_end_object(json);
}

static int compare_pids(const void *a, const void *b)
{
    int32_t x = (*(kino__process *const *)a)->id.pid, y = (*(kino__process *const *)b)->id.pid;
    return (x > y) - (x < y);
}

/* One sees one's own processes; root sees all. */
static kino_status get_processes(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    kino__daemon *d = call->daemon;
    kino_str filter = {"", 0};
    KINO__VEC(kino__process *) shown = {0};
    size_t others = 0;
    KINO_TRY(get_text(call, "filter", &filter, err));
    for (kino__process *p = kino__registry_next(&d->registry, NULL); p;
         p = kino__registry_next(&d->registry, p)) {
        if (p->polls == 0)
            continue;
        if (call->uid != 0 && call->uid != p->id.uid) {
            others++;
            continue;
        }
        const kino__process_description *about = kino__registry_about(p);
        if (filter.size && !kino__glob_match(filter, kino__str_from(about->name)) &&
            !kino__glob_match(filter, kino__str_from(about->command)))
            continue;
        kino__process **slot = kino__vec_add(&shown);
        if (!slot) {
            kino__vec_deinit(&shown);
            return kino__fail_nomem(err);
        }
        *slot = p;
    }
    if (shown.count)
        qsort(shown.items, shown.count, sizeof *shown.items, compare_pids);
    kino__json_key(json, "processes");
    kino__json_begin_array(json);
    char user[64] = "";
    for (size_t i = 0; i < shown.count; i++) {
        uid_t uid = shown.items[i]->id.uid;
        if (i == 0 || uid != shown.items[i - 1]->id.uid) /* mostly there is one */
            kino__user_name(uid, user);
        put_process(shown.items[i], user, kino__loop_now(d->loop), json);
    }
    kino__json_end_array(json);
    kino__vec_deinit(&shown);
    kino__json_key(json, "others");
    kino__json_uint(json, others);
    put_daemon(d, json);
    return KINO_OK;
}

/* -- trigger */

static kino_status put_activities(const kino__rpc_call *call, kino__buffer *text, kino_error *err)
{
    const kino__json_in *list = kino__json_in_member(call->request, "activities");
    bool gpu_only = false;
    KINO_TRY(get_bool(call, "gpu_only", &gpu_only, err));
    bool has_list = list && list->kind != KINO__JSON_IN_NULL;
    if (has_list && list->kind != KINO__JSON_IN_ARRAY)
        return kino__fail(err, KINO_ARGUMENT, "\"activities\" must be an array");
    if (has_list && gpu_only && list->count)
        return kino__fail(err, KINO_ARGUMENT, "\"activities\" and \"gpu_only\" cannot be combined");
    if (gpu_only)
        kino__buffer_add(text, KINO__STR("ACTIVITY_TYPES=kernel,gpu_memcpy,gpu_memset,"
                                         "gpu_user_annotation\n"));
    if (!has_list || !list->count)
        return KINO_OK;
    kino__buffer_add(text, KINO__STR("ACTIVITY_TYPES="));
    for (const kino__json_in *item = list->first; item; item = item->next) {
        bool is_word = item->kind == KINO__JSON_IN_STRING && item->text.size > 0;
        for (size_t i = 0; is_word && i < item->text.size; i++)
            is_word = item->text.data[i] == '_' ||
                      (item->text.data[i] >= '0' && item->text.data[i] <= '9') ||
                      ((item->text.data[i] | 0x20) >= 'a' && (item->text.data[i] | 0x20) <= 'z');
        if (!is_word)
            return kino__fail(err, KINO_ARGUMENT, "\"activities\" must be activity names");
        kino__buffer_printf(text, "%s%.*s", item == list->first ? "" : ",",
                            KINO__STR_ARG(item->text));
    }
    kino__buffer_add(text, KINO__STR("\n"));
    return KINO_OK;
}

static kino_status put_switches(const kino__rpc_call *call, kino__buffer *text, kino_error *err)
{
    static const char *const names[][2] = {{"record_shapes", "PROFILE_REPORT_INPUT_SHAPES"},
                                           {"profile_memory", "PROFILE_PROFILE_MEMORY"},
                                           {"with_stacks", "PROFILE_WITH_STACK"},
                                           {"with_flops", "PROFILE_WITH_FLOPS"},
                                           {"with_modules", "PROFILE_WITH_MODULES"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool is_on = false;
        KINO_TRY(get_bool(call, names[i][0], &is_on, err));
        if (is_on)
            kino__buffer_printf(text, "%s=true\n", names[i][1]);
    }
    return KINO_OK;
}

/* How long, and when. */
static kino_status put_times(const kino__rpc_call *call, kino__buffer *text, kino_error *err)
{
    int64_t duration = -1, iterations = -1, start = 0, warmup = -1, roundup = 1;
    KINO_TRY(get_int(call, "duration_ms", 1, INT32_MAX, &duration, err));
    KINO_TRY(get_int(call, "iterations", 1, INT32_MAX, &iterations, err));
    KINO_TRY(get_int(call, "start_ms", 0, INT64_MAX, &start, err));
    KINO_TRY(get_int(call, "warmup_ms", 0, 3600000, &warmup, err));
    KINO_TRY(get_int(call, "iteration_roundup", 1, INT32_MAX, &roundup, err));
    if (iterations > 0 && (duration > 0 || start > 0))
        return kino__fail(err, KINO_ARGUMENT,
                          "\"iterations\" cannot be combined with \"duration_ms\" or \"start_ms\"");
    if (iterations > 0)
        kino__buffer_printf(text,
                            "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=%lld\n"
                            "ACTIVITIES_ITERATIONS=%lld\n",
                            (long long)roundup, (long long)iterations);
    else
        kino__buffer_printf(text, "PROFILE_START_TIME=%lld\nACTIVITIES_DURATION_MSECS=%lld\n",
                            (long long)start, (long long)(duration > 0 ? duration : 500));
    if (warmup >= 0)
        kino__buffer_printf(text, "ACTIVITIES_WARMUP_PERIOD_SECS=%lld\nKINO_WARMUP_MSECS=%lld\n",
                            (long long)((warmup + 999) / 1000), (long long)warmup);
    return KINO_OK;
}

static kino_status read_selection(const kino__rpc_call *call, kino__trigger *t, int64_t *pids,
                                  kino_error *err)
{
    const kino__json_in *list = kino__json_in_member(call->request, "pids");
    const kino__json_in *job = kino__json_in_member(call->request, "job");
    bool all = false;
    KINO_TRY(get_bool(call, "all", &all, err));
    KINO_TRY(get_text(call, "name", &t->name, err));
    KINO_TRY(get_int(call, "job", INT64_MIN, INT64_MAX, &t->job, err));
    t->has_job = job && job->kind != KINO__JSON_IN_NULL;
    if (list && list->kind != KINO__JSON_IN_NULL) {
        if (list->kind != KINO__JSON_IN_ARRAY || list->count == 0 ||
            list->count > KINO__TRIGGER_PIDS_MAX)
            return kino__fail(err, KINO_ARGUMENT, "\"pids\" must be an array of 1 to %d numbers",
                              KINO__TRIGGER_PIDS_MAX);
        for (const kino__json_in *pid = list->first; pid; pid = pid->next) {
            if (pid->kind != KINO__JSON_IN_NUMBER || !pid->is_int || pid->integer <= 0 ||
                pid->integer > INT32_MAX)
                return kino__fail(err, KINO_ARGUMENT, "\"pids\" must be process IDs");
            pids[t->pid_count++] = pid->integer;
        }
        t->pids = pids;
    }
    if (!all && !t->has_job && !t->pid_count && !t->name.size)
        return kino__fail(err, KINO_ARGUMENT,
                          "no processes selected: specify \"pids\", \"job\", \"name\" or \"all\"");
    return KINO_OK;
}

static kino_status read_trigger(const kino__rpc_call *call, kino__trigger *t, int64_t *pids,
                                kino__buffer *text, kino_error *err)
{
    kino_str format = {"", 0};
    KINO_TRY(read_selection(call, t, pids, err));
    KINO_TRY(get_int(call, "process_limit", 0, INT32_MAX, &t->limit, err));
    KINO_TRY(get_int(call, "timeout_ms", 1000, 86400000, &t->timeout_ms, err));
    KINO_TRY(get_text(call, "output", &t->output, err));
    KINO_TRY(get_text(call, "format", &format, err));
    t->wants_kino = kino__str_is(format, "kino");
    if (format.size && !t->wants_kino && !kino__str_is(format, "json"))
        return kino__fail(err, KINO_ARGUMENT, "\"format\" must be \"json\" or \"kino\"");
    KINO_TRY(put_times(call, text, err));
    KINO_TRY(put_activities(call, text, err));
    KINO_TRY(put_switches(call, text, err));
    t->text = kino__buffer_str(text);
    return text->failed ? kino__fail_nomem(err) : KINO_OK;
}

static kino_status trigger(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    kino__daemon *d = call->daemon;
    static int64_t pids[KINO__TRIGGER_PIDS_MAX]; /* the daemon has one thread */
    kino__trigger t = {.caller = call->uid, .limit = -1};
    kino__trigger_result result = {0};
    kino__buffer text = {0};
    kino_status st = read_trigger(call, &t, pids, &text, err);
    if (st == KINO_OK)
        st = kino__trigger_run(&d->registry, &d->requests, &t, &result, err);
    if (st == KINO_OK) {
        if (result.request)
            kino__request_json(result.request, true, json);
        kino__rpc_put_pids(json, "busy", result.busy.items, result.busy.count);
        kino__json_key(json, "matched");
        kino__json_uint(json, result.matched.count);
        kino__json_key(json, "denied");
        kino__json_uint(json, result.denied);
        if (result.matched.count == 0) {
            kino__json_key(json, "reason");
            kino__json_text(json, result.reason.message);
        }
    }
    kino__trigger_result_deinit(&result);
    kino__buffer_deinit(&text);
    return st;
}

/* -- requests */

static kino_status find_request(const kino__rpc_call *call, kino__request **out, kino_error *err)
{
    int64_t id = 0;
    KINO_TRY(get_int(call, "request", 1, INT64_MAX, &id, err));
    *out = kino__requests_find(&call->daemon->requests, (uint64_t)id);
    /* Others' requests are nobody's business: not even that they are there. */
    if (!*out || (call->uid != 0 && call->uid != (*out)->uid))
        return kino__fail(err, KINO_NOT_FOUND, "no such request: %lld (or no longer known)",
                          (long long)id);
    return KINO_OK;
}

static kino_status get_request(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    kino__request *r;
    KINO_TRY(find_request(call, &r, err));
    kino__request_json(r, true, json);
    return KINO_OK;
}

static kino_status get_requests(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    (void)err;
    kino__json_key(json, "requests");
    kino__json_begin_array(json);
    for (const kino__request *r = call->daemon->requests.newest; r; r = r->next) {
        if (call->uid != 0 && call->uid != r->uid)
            continue;
        kino__json_begin_object(json);
        kino__request_json(r, false, json);
        kino__json_end_object(json);
    }
    kino__json_end_array(json);
    return KINO_OK;
}

static kino_status cancel(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    kino__request *r;
    KINO_TRY(find_request(call, &r, err));
    size_t count = kino__request_cancel(&call->daemon->requests, r);
    kino__json_key(json, "cancelled");
    kino__json_uint(json, count);
    kino__request_json(r, true, json);
    return KINO_OK;
}

/* -- the daemon itself */

/* The time that is not exceeded by this part of the answers: an upper bound, in us. */
static uint64_t reply_time(const kino__fabric_statistics *s, double part)
{
    uint64_t all = 0, sum = 0;
    for (size_t i = 0; i < KINO__FABRIC_DELAYS; i++)
        all += s->delays[i];
    for (size_t i = 0; i < KINO__FABRIC_DELAYS; i++) {
        sum += s->delays[i];
        if (sum > 0 && (double)sum >= (double)all * part)
            return (uint64_t)1 << i;
    }
    return 0;
}

static void put_number(kino__json *json, const char *key, uint64_t value)
{
    kino__json_key(json, key);
    kino__json_uint(json, value);
}

static kino_status get_statistics(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    const kino__daemon *d = call->daemon;
    const kino__fabric_statistics *s = &d->fabric.statistics;
    (void)err;
    put_number(json, "processes", d->registry.count);
    put_number(json, "endpoints", d->registry.endpoint_count);
    put_number(json, "datagrams", s->datagrams);
    put_number(json, "datagrams_bad", s->bad);
    put_number(json, "replies", s->replies);
    put_number(json, "replies_late", s->late);
    put_number(json, "replies_dropped", s->dropped);
    put_number(json, "texts", s->texts);
    put_number(json, "reports", s->reports);
    put_number(json, "reply_p50_us", reply_time(s, 0.5));
    put_number(json, "reply_p99_us", reply_time(s, 0.99));
    kino__json_key(json, "replies_below_us"); /* 2^0, 2^1, ...: each answer in one of them */
    kino__json_begin_array(json);
    for (size_t i = 0; i < KINO__FABRIC_DELAYS; i++)
        kino__json_uint(json, s->delays[i]);
    kino__json_end_array(json);
    put_number(json, "requests", d->requests.total);
    put_number(json, "requests_open", d->requests.open);
    put_number(json, "file_looks", d->requests.looks);
    put_number(json, "file_watches", d->requests.watches.count);
    put_number(json, "rpc_calls", d->rpc.calls);
    put_number(json, "rpc_refused", d->rpc.refused);
    put_number(json, "connections", d->rpc.count);
    put_number(json, "log_lines_lost", d->log.lost);
    return KINO_OK;
}

/* -- monitoring */

static kino_status get_metrics(const kino__rpc_call *call, kino__json *json, kino_error *err)
{
    kino__daemon *d = call->daemon;
    kino__metrics_window window = {0, KINO_NO_TIME, KINO_NO_TIME};
    KINO_TRY(get_int(call, "seconds", 0, 1000000, &window.seconds, err));
    KINO_TRY(get_int(call, "from_ns", INT64_MIN, INT64_MAX, &window.from_ns, err));
    KINO_TRY(get_int(call, "to_ns", INT64_MIN, INT64_MAX, &window.to_ns, err));
    if (!d->metrics)
        return kino__fail(err, KINO_UNAVAILABLE,
                          "the daemon does not collect metrics (see metrics-interval)");
    kino__metrics_json(d->metrics, call->uid, &window, json);
    return KINO_OK;
}

/* -- all of them */

bool kino__rpc_kino(const kino__rpc_call *call, kino_str name, kino__json *json)
{
    static const struct {
        const char *name;
        function_fn *run;
    } functions[] = {
        {"getProcesses", get_processes},  {"trigger", trigger}, {"getRequest", get_request},
        {"getRequests", get_requests},    {"cancel", cancel},   {"getMetrics", get_metrics},
        {"getStatistics", get_statistics}};
    kino_error err;
    kino_status st = KINO_NOT_FOUND;
    size_t start = json->out->size, i = 0;
    while (i < sizeof functions / sizeof *functions && !kino__str_is(name, functions[i].name))
        i++;
    kino__json_begin_object(json);
    kino__json_key(json, "status");
    kino__json_text(json, "ok");
    if (i < sizeof functions / sizeof *functions)
        st = functions[i].run(call, json, &err);
    else
        (void)kino__fail(&err, KINO_NOT_FOUND, "unknown function '%.*s'",
                         (int)(name.size > 60 ? 60 : name.size), name.data);
    if (st != KINO_OK) {
        call->daemon->rpc.refused++;
        KINO__LOG(&call->daemon->log, KINO__LOG_INFO, "rpc-error",
                  kino__log_int("uid", (int32_t)call->uid), kino__log_str("function", name),
                  kino__log_text("reason", err.message));
        json->out->size = start;
        *json = (kino__json){.out = json->out};
        kino__json_begin_object(json);
        kino__json_key(json, "status");
        kino__json_text(json, "error");
        kino__json_key(json, "error");
        kino__json_text(json, err.message);
    }
    kino__json_end_object(json);
    return true;
}
