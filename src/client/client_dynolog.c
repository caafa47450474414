/* client_dynolog.c - requests to an unmodified Dynolog daemon (reference: its RPC,
 * setKinetOnDemandRequest).
 *
 * It takes the text for libkineto as it is, so every value is checked here: a line too much in it
 * would be a setting too much in somebody's training. It tells which processes will get the text,
 * and never again anything: the rest is seen from outside, where they run on this machine. */
#include "client/client_dynolog.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_out.h"

enum {
    DEFAULT_DURATION_MS = 500,
    NO_LIMIT = INT32_MAX,
    POLL_MS = 5000,     /* libkineto's interval */
    WARMUP_MS = 5000,   /* its default */
    PATIENCE_MS = 30000 /* for what comes on top: ticks, iterations, writing */
};

/* -- the text -- */

/* Values end at a line's end, '=' splits, '#' begins a comment: none of them may be in a path. */
static kino_status check_value(const char *what, const char *value, kino_error *err)
{
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f || *c == '=' || *c == '#')
            return kino__fail(
                err, KINO_ARGUMENT,
                "%s '%s' contains a character that cannot be sent: '=', '#' or a control character",
                what, value);
    if (strstr(value, ".."))
        return kino__fail(err, KINO_ARGUMENT, "%s '%s' contains '..', which libkineto rejects",
                          what, value);
    return KINO_OK;
}

static const char *yes(bool value)
{
    return value ? "true" : "false";
}

static void add_time(const kino__on_demand_options *o, kino__buffer *out)
{
    int64_t duration = o->duration_ms != KINO_NO_INT ? o->duration_ms : DEFAULT_DURATION_MS;
    if (o->iterations != KINO_NO_INT)
        kino__buffer_printf(out,
                            "PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=%" PRId64
                            "\nACTIVITIES_ITERATIONS=%" PRId64 "\n",
                            o->round_up != KINO_NO_INT ? o->round_up : 1, o->iterations);
    else
        kino__buffer_printf(
            out, "PROFILE_START_TIME=%" PRId64 "\nACTIVITIES_DURATION_MSECS=%" PRId64 "\n",
            o->start_ms != KINO_NO_INT ? o->start_ms : 0, duration);
    if (o->warmup_ms != KINO_NO_INT)
        kino__buffer_printf(out, "ACTIVITIES_WARMUP_PERIOD_SECS=%" PRId64 "\n",
                            (o->warmup_ms + 999) / 1000);
}

/* The text that a Dynolog daemon hands to libkineto. */
static kino_status make_text(const kino__on_demand_options *o, kino__buffer *out, kino_error *err)
{
    static const char *const gpu_types[] = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime",
                                            "cuda_driver"};
    const char *const *types = o->activity_count ? o->activities : o->gpu_only ? gpu_types : NULL;
    size_t count = o->activity_count ? o->activity_count
                   : o->gpu_only     ? sizeof gpu_types / sizeof *gpu_types
                                     : 0;
    KINO_TRY(check_value("the path", o->output, err));
    kino__buffer_printf(out, "ACTIVITIES_LOG_FILE=%s\n", o->output);
    add_time(o, out);
    for (size_t i = 0; i < count; i++) {
        KINO_TRY(check_value("the activity", types[i], err));
        kino__buffer_printf(out, "%s%s", i ? "," : "ACTIVITY_TYPES=", types[i]);
    }
    kino__buffer_printf(out, "%sPROFILE_REPORT_INPUT_SHAPES=%s\n", count ? "\n" : "",
                        yes(o->record_shapes));
    if (o->profile_memory)
        kino__buffer_printf(out, "PROFILE_PROFILE_MEMORY=true\n");
    kino__buffer_printf(out,
                        "PROFILE_WITH_STACK=%s\nPROFILE_WITH_FLOPS=%s\nPROFILE_WITH_MODULES=%s",
                        yes(o->with_stacks), yes(o->with_flops), yes(o->with_modules));
    return out->failed ? kino__fail_nomem(err) : KINO_OK;
}

void kino__on_demand_path(kino__buffer *out, const char *path, int64_t pid)
{
    const char *place = strstr(path, ".pt.trace.json");
    if (!place)
        place = strstr(path, ".json");
    size_t head = place ? (size_t)(place - path) : strlen(path);
    kino__buffer_add(out, (kino_str){path, head});
    if (place)
        kino__buffer_printf(out, "_%" PRId64 "%s", pid, place);
}

/* -- the request -- */

static bool fits_int32(int64_t value)
{
    return value >= 0 && value <= INT32_MAX;
}

static kino_status check_who(const kino__client *client, const kino__on_demand_options *o,
                             kino_error *err)
{
    if (o->name)
        return kino__fail(err, KINO_ARGUMENT,
                          "the daemon at %s is a Dynolog daemon, which cannot select processes by "
                          "name: use --pids, --job or --all",
                          client->place);
    if (o->job != KINO_NO_INT && !fits_int32(o->job))
        return kino__fail(err, KINO_ARGUMENT,
                          "Dynolog truncates job IDs to 31 bits and would not find job %" PRId64,
                          o->job);
    for (size_t i = 0; i < o->pid_count; i++)
        if (!fits_int32(o->pids[i]))
            return kino__fail(err, KINO_ARGUMENT, "invalid process ID %" PRId64, o->pids[i]);
    return KINO_OK;
}

static void write_request(kino__buffer *out, kino_str text, const kino__on_demand_options *o)
{
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "fn");
    kino__json_text(&json, "setKinetOnDemandRequest");
    kino__json_key(&json, "config");
    kino__json_string(&json, text);
    kino__json_key(&json, "job_id");
    kino__json_int(&json, o->job != KINO_NO_INT ? o->job : 0);
    kino__json_key(&json, "pids");
    kino__json_begin_array(&json);
    for (size_t i = 0; i < o->pid_count; i++)
        kino__json_int(&json, o->pids[i]);
    if (!o->pid_count)
        kino__json_int(&json, 0); /* all of that job */
    kino__json_end_array(&json);
    kino__json_key(&json, "process_limit");
    kino__json_int(&json, o->process_limit == KINO_NO_INT || o->process_limit > NO_LIMIT
                              ? NO_LIMIT
                              : o->process_limit);
    kino__json_end_object(&json);
}

/* -- the targets -- */

static bool file_of(const char *path, struct stat *info)
{
    return path && lstat(path, info) == 0 && S_ISREG(info->st_mode);
}

/* Whose file it will be, by the kernel: Dynolog does not say. */
static kino__collect_from owner_of(int64_t pid)
{
    kino__process_identity id;
    kino__collect_from from = {.pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0,
                               .only_uid = (uid_t)-1};
    from.has_owner = from.pid && kino__process_identify(from.pid, &id);
    if (from.has_owner) {
        from.uid = id.uid;
        from.gid = id.gid;
        from.start_time = id.start_time;
        from.file_space = id.file_space;
    }
    return from;
}

static kino_status add_target(kino__on_demand *t, const char *output, int64_t pid, bool is_local,
                              kino_error *err)
{
    kino__buffer path = {0};
    kino__on_demand_path(&path, output, pid);
    kino_str kept = kino__arena_format(&t->arena, "%.*s", KINO__STR_ARG(kino__buffer_str(&path)));
    bool failed = path.failed || !kept.data;
    kino__buffer_deinit(&path);
    kino__on_demand_target *slot = failed ? NULL : kino__vec_add(&t->targets);
    if (!slot)
        return kino__fail_nomem(err);
    struct stat before;
    *slot = (kino__on_demand_target){.pid = pid,
                                     .rank = KINO_NO_INT,
                                     .own_pid = KINO_NO_INT,
                                     .world_size = KINO_NO_INT,
                                     .local_rank = KINO_NO_INT,
                                     .bytes = KINO_NO_INT,
                                     .state = "queued",
                                     .path = kept.data,
                                     .from = is_local ? owner_of(pid) : (kino__collect_from){0}};
    if (is_local && file_of(slot->path, &before))
        slot->inode_before = before.st_ino;
    return KINO_OK;
}

static kino_status take_answer(const kino__client *client, const kino__on_demand_options *o,
                               const kino__json_in *root, kino__on_demand *t, kino_error *err)
{
    const kino__json_in *matched = kino__json_in_member(root, "processesMatched");
    if (!matched || matched->kind != KINO__JSON_IN_ARRAY)
        return kino__fail(err, KINO_FORMAT, "the daemon at %s did not report a result",
                          client->place);
    t->matched = (int64_t)matched->count;
    t->denied = 0;
    (void)kino__json_in_get_int(root, "activityProfilersBusy", &t->busy);
    const kino__json_in *one = kino__json_in_get_array(root, "activityProfilersTriggered");
    for (; one; one = one->next)
        if (one->kind == KINO__JSON_IN_NUMBER && one->is_int)
            KINO_TRY(add_target(t, o->output, one->integer, client->is_local, err));
    if (!t->matched)
        t->reason = o->job == KINO_NO_INT && !o->pid_count
                        ? "Dynolog has no process outside a Slurm job: specify the job with --job, "
                          "and start programs with KINETO_USE_DAEMON=1"
                        : "Dynolog has no such process: was it started with KINETO_USE_DAEMON=1?";
    else if (!t->targets.count)
        t->reason = t->busy ? "all of them have a pending request"
                            : "--process-limit excludes all matching processes";
    return KINO_OK;
}

kino_status kino__dynolog_send(const kino__client *client, const kino__on_demand_options *given,
                               kino__on_demand *out, kino_error *err)
{
    kino__on_demand_options o = *given;
    char path[64];
    if (!o.output) {
        (void)snprintf(path, sizeof path, "/tmp/kino_trace_%" PRId64 ".json",
                       kino__clock_ms(CLOCK_REALTIME) / 1000);
        o.output = path;
    }
    kino__buffer text = {0}, request = {0};
    kino__client_answer answer;
    kino_status st = check_who(client, &o, err);
    if (st == KINO_OK)
        st = make_text(&o, &text, err);
    if (st == KINO_OK) {
        write_request(&request, kino__buffer_str(&text), &o);
        st = request.failed ? kino__fail_nomem(err)
                            : kino__client_call(client, kino__buffer_str(&request), &answer, err);
    }
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&request);
    KINO_TRY(st);
    st = take_answer(client, &o, answer.root, out, err);
    kino__client_answer_deinit(&answer);
    int64_t length = o.duration_ms != KINO_NO_INT ? o.duration_ms : DEFAULT_DURATION_MS;
    int64_t lead =
        o.start_ms != KINO_NO_INT ? o.start_ms - kino__clock_ms(CLOCK_REALTIME) : POLL_MS;
    int64_t warmup = o.warmup_ms != KINO_NO_INT ? o.warmup_ms : WARMUP_MS;
    int64_t patience =
        o.timeout_ms != KINO_NO_INT ? o.timeout_ms : length + lead + warmup + PATIENCE_MS;
    out->give_up_ms = kino__clock_ms(CLOCK_MONOTONIC) + patience;
    return st;
}

/* -- what became of it -- */

static bool is_there(int64_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

static void end_target(kino__on_demand_target *t, const char *state, const char *message)
{
    t->state = state;
    t->message = message;
    t->has_ended = true;
}

/* A file counts when it is new, and has the same size in two looks: libkineto renames a finished
 * one, older versions write in place. */
static void look_at_target(kino__on_demand_target *t, bool is_late)
{
    struct stat info;
    bool is_new = file_of(t->path, &info) && info.st_ino != t->inode_before && info.st_size > 0;
    if (is_new && t->size_seen == (uint64_t)info.st_size) {
        t->bytes = info.st_size;
        end_target(t, "written", NULL);
    } else if (is_new) {
        t->size_seen = (uint64_t)info.st_size;
    } else if (!is_there(t->pid)) {
        end_target(t, "gone", "the process ended before the trace was written");
    } else if (is_late) {
        end_target(t, "timed-out",
                   "no file appeared; libkineto may have written to "
                   "/tmp/libkineto_activities_PID.json instead, or refused the request");
    }
}

kino_status kino__dynolog_look(const kino__client *client, kino__on_demand *trigger,
                               kino_error *err)
{
    if (!client->is_local)
        return kino__fail(err, KINO_ARGUMENT,
                          "the daemon at %s is a Dynolog daemon on another machine: its traces "
                          "cannot be seen from here",
                          client->place);
    bool is_late = kino__clock_ms(CLOCK_MONOTONIC) > trigger->give_up_ms;
    for (size_t i = 0; i < trigger->targets.count; i++)
        if (!trigger->targets.items[i].has_ended)
            look_at_target(&trigger->targets.items[i], is_late);
    return KINO_OK;
}
