/* rpc_dynolog.c - the five functions of Dynolog, as dyno expects them: the same keys in the same
 * order. What is new is in further keys, which dyno does not look at but shows. */
#include "daemon/access.h"
#include "daemon/daemon_internal.h"
#include "daemon/trigger.h"

static void put_failed(kino__json *json, const char *text)
{
    kino__json_begin_object(json);
    kino__json_key(json, "status");
    kino__json_text(json, text);
    kino__json_end_object(json);
}

/* dyno needs the arrays in every answer. */
static void put_triggered(kino__json *json, const kino__trigger_result *r, const char *problem)
{
    kino__json_begin_object(json);
    kino__json_key(json, "activityProfilersBusy");
    kino__json_uint(json, r->busy.count);
    kino__rpc_put_pids(json, "activityProfilersTriggered", r->triggered.items, r->triggered.count);
    if (problem) {
        kino__json_key(json, "error");
        kino__json_text(json, problem);
    }
    kino__json_key(json, "eventProfilersBusy");
    kino__json_int(json, 0);
    kino__rpc_put_pids(json, "eventProfilersTriggered", NULL, 0);
    kino__rpc_put_pids(json, "processesMatched", r->matched.items, r->matched.count);
    if (r->request) {
        kino__json_key(json, "request");
        kino__json_uint(json, r->request->id);
    }
    kino__json_end_object(json);
}

/* The numbers of an array; false: it is none, or too long. {0} and {} mean all. */
static bool read_pids(const kino__json_in *array, int64_t *out, size_t *count)
{
    *count = 0;
    if (array->kind != KINO__JSON_IN_ARRAY || array->count > KINO__TRIGGER_PIDS_MAX)
        return false;
    for (const kino__json_in *pid = array->first; pid; pid = pid->next) {
        if (pid->kind != KINO__JSON_IN_NUMBER || !pid->is_int)
            return false;
        out[(*count)++] = pid->integer;
    }
    if (*count == 1 && out[0] == 0)
        *count = 0;
    return true;
}

/* dyno takes any number of 64 bits, with a sign or without: the same bits are the same job. */
static bool read_job(const kino__json_in *job, int64_t *out)
{
    uint64_t number = 0;
    if (job->kind != KINO__JSON_IN_NUMBER)
        return false;
    *out = job->integer;
    for (size_t i = 0; i < job->text.size && !job->is_int; i++) {
        char c = job->text.data[i];
        uint64_t digit = (uint64_t)(c - '0');
        if (c < '0' || c > '9' || number > (UINT64_MAX - digit) / 10)
            return false;
        number = 10 * number + digit;
        *out = (int64_t)number;
    }
    return true;
}

static void on_demand(const kino__rpc_call *call, kino__json *json)
{
    kino__daemon *d = call->daemon;
    static int64_t pids[KINO__TRIGGER_PIDS_MAX]; /* the daemon has one thread */
    const kino__json_in *config = kino__json_in_member(call->request, "config");
    const kino__json_in *list = kino__json_in_member(call->request, "pids");
    const kino__json_in *job = kino__json_in_member(call->request, "job_id");
    const kino__json_in *limit = kino__json_in_member(call->request, "process_limit");
    kino__trigger trigger = {.caller = call->uid, .has_job = true, .limit = 1000, .has_path = true};
    kino__trigger_result result = {0};
    kino_error err;
    if (!config || !list) {
        put_failed(json, "failed");
        return;
    }
    if (config->kind != KINO__JSON_IN_STRING || !read_pids(list, pids, &trigger.pid_count) ||
        (job && !read_job(job, &trigger.job)) ||
        (limit && (limit->kind != KINO__JSON_IN_NUMBER || !limit->is_int))) {
        put_failed(json, "failed with exception = a value of another type than expected");
        return;
    }
    trigger.text = config->text;
    trigger.pids = pids;
    trigger.limit = limit ? limit->integer : trigger.limit;
    kino_status st = kino__trigger_run(&d->registry, &d->requests, &trigger, &result, &err);
    const char *problem = NULL;
    if (st != KINO_OK)
        problem = err.message;
    else if (result.matched.count == 0 && result.denied)
        problem = result.reason.message;
    if (problem) {
        d->rpc.refused++;
        KINO__LOG(&d->log, KINO__LOG_WARNING, "trigger-refused",
                  kino__log_int("uid", (int32_t)call->uid), kino__log_text("reason", problem));
    }
    put_triggered(json, &result, problem);
    kino__trigger_result_deinit(&result);
}

static void put_status(kino__json *json, bool is_good)
{
    kino__json_begin_object(json);
    kino__json_key(json, "status");
    kino__json_bool(json, is_good);
    kino__json_end_object(json);
}

/* 0 seconds: takes them back. */
static bool pause_profiling(const kino__rpc_call *call, int64_t seconds)
{
    kino__metrics *metrics = call->daemon->metrics;
    return metrics && call->uid != KINO__NOBODY && kino__metrics_pause_profiling(metrics, seconds);
}

static void pause_dcgm(const kino__rpc_call *call, kino__json *json)
{
    int64_t seconds;
    if (kino__json_in_get_int(call->request, "duration_s", &seconds))
        put_status(json, seconds > 0 && pause_profiling(call, seconds));
    else
        put_failed(json, "failed");
}

bool kino__rpc_dynolog(const kino__rpc_call *call, kino_str function, kino__json *json)
{
    if (kino__str_is(function, "getStatus")) {
        kino__json_begin_object(json);
        kino__json_key(json, "status");
        kino__json_int(json, 1);
        kino__json_end_object(json);
    } else if (kino__str_is(function, "getVersion")) {
        kino__json_begin_object(json);
        kino__json_key(json, "version");
        kino__json_text(json, kino_version());
        kino__json_end_object(json);
    } else if (kino__str_is(function, "setKinetOnDemandRequest")) {
        on_demand(call, json);
    } else if (kino__str_is(function, "dcgmProfPause")) {
        pause_dcgm(call, json);
    } else if (kino__str_is(function, "dcgmProfResume")) {
        put_status(json, pause_profiling(call, 0));
    } else {
        return false;
    }
    return true;
}
