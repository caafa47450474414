/* requests.c - the life of requests; how states are derived: docs/internals/daemon.md. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "daemon/requests_internal.h"

const char *kino__target_state_word(kino__target_state state)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        KINO__TARGET_STATES(WORD)
#undef WORD
    };
    return words[state];
}

/* -- memory */

void kino__target_leave(kino__target *t)
{
    if (!t->process)
        return;
    kino__target **link = &t->process->target;
    while (*link && *link != t)
        link = &(*link)->older;
    if (*link)
        *link = t->older;
    t->older = NULL;
    t->process = NULL;
}

/* It counts no more in what its user has open. */
static void uncount(kino__requests *rs, const kino__target *t)
{
    kino__user *user = kino__users_get(&rs->users, t->request->uid);
    if (user && user->count > 0)
        user->count--;
}

static void free_target(kino__requests *rs, kino__target *t)
{
    kino__target_leave(t);
    kino__target_unlist(rs, t);
    if (kino__target_is_open(t))
        uncount(rs, t);
    kino__trace_file_deinit(&t->file);
    kino__trace_file_deinit(&t->other);
    free(t->text);
    free(t->message);
    free(t);
}

static void free_request(kino__requests *rs, kino__request *r)
{
    rs->target_count -= r->targets.count;
    for (size_t i = 0; i < r->targets.count; i++)
        free_target(rs, r->targets.items[i]);
    kino__vec_deinit(&r->targets);
    free(r);
}

static void fire(void *context, int64_t now_ns)
{
    (void)now_ns;
    kino__requests_look(context);
}

kino_status kino__requests_init(kino__requests *rs, kino__loop *loop, kino__log *log,
                                const char *state_path, kino_error *err)
{
    struct stat info;
    *rs = (kino__requests){.loop = loop, .log = log, .next_id = 1, .state_path = state_path};
    /* It is replaced, whatever it is; /dev/null, for one, is needed by others. */
    if (state_path && stat(state_path, &info) == 0 && !S_ISREG(info.st_mode))
        return kino__fail(err, KINO_ARGUMENT, "state: '%s' is not a regular file (for none: \"\")",
                          state_path);
    kino__users_init(&rs->users);
    KINO_TRY(kino__loop_add_timer(loop, 0, fire, rs, &rs->timer, err));
    KINO_TRY(kino__file_watches_open(&rs->watches, loop, kino__requests_heard, rs, err));
    kino__requests_load(rs);
    return KINO_OK;
}

void kino__requests_deinit(kino__requests *rs)
{
    while (rs->newest) {
        kino__request *r = rs->newest;
        rs->newest = r->next;
        free_request(rs, r);
    }
    kino__file_watches_close(&rs->watches);
    kino__users_deinit(&rs->users);
    if (rs->timer)
        kino__loop_remove_timer(rs->loop, rs->timer);
    *rs = (kino__requests){0};
}

/* Forgets the oldest that have ended, beyond what is kept. */
static void forget(kino__requests *rs)
{
    size_t ended = 0;
    for (kino__request **link = &rs->newest; *link;) {
        kino__request *r = *link;
        bool is_too_much = r->open == 0 && ++ended > KINO__REQUESTS_KEPT;
        if (r->open == 0 && rs->target_count > KINO__REQUESTS_TARGETS / 2 && ended > 1)
            is_too_much = true;
        if (is_too_much) {
            *link = r->next;
            rs->count--;
            free_request(rs, r);
        } else {
            link = &r->next;
        }
    }
}

/* -- a new one */

kino_status kino__request_new(kino__requests *rs, uid_t uid, kino__request **out, kino_error *err)
{
    size_t open = 0;
    *out = NULL;
    for (const kino__request *r = rs->newest; r; r = r->next)
        open += r->open > 0 && r->uid == uid;
    if (open >= KINO__REQUESTS_OPEN_MAX)
        return kino__fail(err, KINO_LIMIT, "user %u already has %zu open requests", (unsigned)uid,
                          open);
    kino__request *r = calloc(1, sizeof *r);
    if (!r)
        return kino__fail_nomem(err);
    *r = (kino__request){.id = rs->next_id,
                         .uid = uid,
                         .created_ms = kino__clock_ms(CLOCK_REALTIME),
                         .made_ms = kino__requests_now_ms(),
                         .timeout_ms = (int64_t)KINO__REQUEST_TIMEOUT_S * 1000};
    *out = r;
    return KINO_OK;
}

void kino__request_drop(kino__requests *rs, kino__request *r)
{
    if (r)
        free_request(rs, r);
}

/* Where libkineto writes instead when the path is not one that it may use. */
static bool watch_other(kino__target *t, const kino__process *p, const char *path)
{
    char other[64];
    kino_str text = kino__str_from(path);
    kino_str folder = kino__str_from(p->about ? p->about->trace_folder : "");
    while (folder.size > 1 && folder.data[folder.size - 1] == '/')
        folder.size--;
    if (!folder.size)
        folder = KINO__STR("/tmp");
    if (t->is_kino || (kino__str_starts_with(text, folder) && text.data[folder.size] == '/'))
        return true;
    (void)snprintf(other, sizeof other, "/tmp/libkineto_activities_%d.json", p->id.own_pid);
    return kino__trace_file_init(&t->other, &p->id, other);
}

static bool fill_target(kino__target *t, kino__process *p, const kino__target_options *options)
{
    const kino__config *config = options->config;
    bool done =
        kino__trace_file_init(&t->file, &p->id, options->path) && watch_other(t, p, options->path);
    t->has_start = config->has_start_time && config->start_time_ms > 0;
    if (t->has_start)
        t->start_ms =
            kino__requests_now_ms() + (config->start_time_ms - kino__clock_ms(CLOCK_REALTIME));
    t->delay_ms = config->start_delay_ms >= 0 ? config->start_delay_ms
                                              : config->warmup_ms + KINO__CONFIG_LEAD_MS;
    t->duration_ms = config->wants_snapshot ? config->snapshot_ms : config->duration_ms;
    t->is_by_iteration = kino__config_is_by_iteration(config);
    return done;
}

static char *make_text(const kino__request *r, kino_str lines)
{
    kino__buffer text = {0};
    kino__buffer_add(&text, lines);
    kino__buffer_printf(&text, "REQUEST_TRACE_ID=%s%llu-%lld\n", KINO__FABRIC_TRACE_ID,
                        (unsigned long long)r->id, (long long)(r->created_ms / 1000));
    kino__buffer_add(&text, (kino_str){"", 1}); /* terminated */
    if (!text.failed)
        return text.data;
    kino__buffer_deinit(&text);
    return NULL;
}

/* Everybody has a share of what the daemon can follow. */
static kino_status check_limits(kino__requests *rs, const kino__request *r, kino__user **user,
                                kino_error *err)
{
    *user = kino__users_get(&rs->users, r->uid);
    if (!*user)
        return kino__fail_nomem(err);
    if (rs->target_count >= KINO__REQUESTS_TARGETS)
        return kino__fail(err, KINO_LIMIT, "too many requests");
    if (r->uid != 0 && (*user)->count >= KINO__REQUESTS_USER_MAX)
        return kino__fail(err, KINO_LIMIT, "user %u has %zu traces pending (limit: %d)",
                          (unsigned)r->uid, (*user)->count, KINO__REQUESTS_USER_MAX);
    return KINO_OK;
}

kino_status kino__request_add(kino__requests *rs, kino__request *r, kino__process *p,
                              const kino__target_options *options, kino_error *err)
{
    kino__user *user;
    if (!options->is_refused && (kino__requests_is_busy(p) || kino__requests_is_full(p)))
        return kino__fail(err, KINO_ARGUMENT, "the process already has a pending request");
    KINO_TRY(check_limits(rs, r, &user, err));
    kino__target *t = calloc(1, sizeof *t), **slot = t ? kino__vec_add(&r->targets) : NULL;
    if (!slot) {
        free(t);
        return kino__fail_nomem(err);
    }
    *slot = t;
    rs->target_count++;
    *t = (kino__target){.request = r,
                        .process = p,
                        .id = p->id,
                        .place = kino__registry_about(p)->place,
                        .bytes = -1,
                        .is_kino = p->is_kino};
    if (options->message && !(t->message = strdup(options->message)))
        return kino__fail_nomem(err);
    if (options->is_refused) {
        t->state = KINO__TARGET_REFUSED;
        t->process = NULL;
        return KINO_OK;
    }
    t->text = make_text(r, options->text);
    if (!t->text || !fill_target(t, p, options))
        return kino__fail_nomem(err);
    t->older = p->target;
    p->target = t;
    r->open++;
    user->count++;
    return KINO_OK;
}

void kino__request_start(kino__requests *rs, kino__request *r)
{
    r->next = rs->newest;
    rs->newest = r;
    rs->next_id = r->id + 1;
    rs->count++;
    rs->total++;
    rs->open += r->open > 0;
    for (size_t i = 0; i < r->targets.count; i++)
        if (kino__target_is_open(r->targets.items[i]))
            kino__target_list(rs, r->targets.items[i]);
    KINO__LOG(rs->log, KINO__LOG_INFO, "request-made", kino__log_int("request", (int64_t)r->id),
              kino__log_int("uid", r->uid), kino__log_int("targets", (int64_t)r->targets.count));
    forget(rs);
    kino__requests_save(rs);
}

kino__request *kino__requests_find(const kino__requests *rs, uint64_t id)
{
    kino__request *r = rs->newest;
    while (r && r->id != id)
        r = r->next;
    return r;
}

/* -- states */

static void set_message(kino__target *t, const char *message)
{
    char *copy = message ? strdup(message) : NULL;
    if (copy) {
        free(t->message);
        t->message = copy;
    }
}

void kino__target_set_state(kino__requests *rs, kino__target *t, kino__target_state state,
                            const char *message)
{
    if (t->state == state)
        return;
    t->state = state;
    set_message(t, message);
    KINO__LOG(rs->log, KINO__LOG_INFO, "request-state",
              kino__log_int("request", (int64_t)t->request->id), kino__log_int("pid", t->id.pid),
              kino__log_text("state", kino__target_state_word(state)),
              kino__log_text("message", t->message));
    if (kino__target_is_open(t))
        return;
    free(t->text);
    t->text = NULL;
    kino__target_leave(t);
    kino__target_unlist(rs, t);
    uncount(rs, t);
    if (--t->request->open > 0)
        return;
    KINO__LOG(rs->log, KINO__LOG_INFO, "request-ended",
              kino__log_int("request", (int64_t)t->request->id),
              kino__log_text("state", kino__target_state_word(kino__request_state(t->request))));
    rs->open--;
    kino__requests_save(rs);
}

kino__target_state kino__request_state(const kino__request *r)
{
    /* Of ends, the one that says most about what went wrong. */
    static const unsigned char badness[] = {
        [KINO__TARGET_WRITTEN] = 1,   [KINO__TARGET_CANCELLED] = 2, [KINO__TARGET_REFUSED] = 3,
        [KINO__TARGET_TIMED_OUT] = 4, [KINO__TARGET_GONE] = 5,      [KINO__TARGET_LOST] = 6};
    kino__target_state least = KINO__TARGET_WRITTEN, worst = KINO__TARGET_WRITTEN;
    for (size_t i = 0; i < r->targets.count; i++) {
        kino__target_state state = r->targets.items[i]->state;
        if (state < least)
            least = state;
        else if (state >= KINO__TARGET_WRITTEN && badness[state] > badness[worst])
            worst = state;
    }
    return least < KINO__TARGET_WRITTEN ? least : worst;
}

size_t kino__request_cancel(kino__requests *rs, kino__request *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->targets.count; i++) {
        kino__target *t = r->targets.items[i];
        if (t->state == KINO__TARGET_QUEUED) {
            kino__target_set_state(rs, t, KINO__TARGET_CANCELLED, "before the process received it");
            count++;
        } else if (kino__target_is_open(t)) {
            set_message(t, "the process already has the request: too late to cancel");
        }
    }
    return count;
}

/* -- what the fabric hears */

bool kino__requests_is_busy(const kino__process *p)
{
    return p->target && p->target->state == KINO__TARGET_QUEUED;
}

bool kino__requests_is_full(const kino__process *p)
{
    size_t count = 0;
    for (const kino__target *t = p->target; t; t = t->older)
        count++;
    return count >= KINO__REQUESTS_PROCESS_MAX;
}

/* Does the process, which says it is idle, wait for the start of this one? It would throw another
 * away. */
static bool is_waited_for(const kino__target *t)
{
    if (t->is_kino)
        return true; /* it will say how that ends */
    return !t->was_busy && (t->is_by_iteration || t->has_start);
}

kino_str kino__requests_text(const kino__process *p)
{
    const kino__target *t = p->target;
    if (!kino__requests_is_busy(p) || (t->older && is_waited_for(t->older)))
        return (kino_str){"", 0};
    return kino__str_from(t->text);
}

void kino__requests_delivered(kino__requests *rs, kino__process *p)
{
    kino__target *t = p->target;
    t->delivered_ms = kino__requests_now_ms();
    kino__target_watch(rs, t);
    /* What an earlier request has written in the meantime is not this one's. */
    kino__trace_file_restart(&t->file, &t->id);
    kino__trace_file_restart(&t->other, &t->id);
    if (!t->has_start)
        t->start_ms = t->delivered_ms + t->delay_ms;
    free(t->text);
    t->text = NULL;
    kino__target_set_state(rs, t, KINO__TARGET_DELIVERED, NULL);
}

void kino__requests_polled(kino__requests *rs, kino__process *p, int32_t mask)
{
    kino__target *t = p->target;
    bool is_idle = (mask & KINO__FABRIC_ACTIVITIES) != 0;
    if (kino__requests_is_busy(p))
        t = t->older;
    if (!t)
        return;
    if (!is_idle) {
        t->was_busy = true;
        t->idle_since_ms = 0;
    } else if (t->was_busy && !t->idle_since_ms) {
        t->idle_since_ms = kino__requests_now_ms();
        kino__target_make_due(rs, t);
    }
}

/* A path that the process says it wrote is only shown. */
static void note_written(kino__requests *rs, kino__target *t, const kino__fabric_report *report)
{
    kino_str text = report->text;
    char *path = text.size ? strndup(text.data, text.size) : NULL;
    if (path) {
        free(t->file.path);
        t->file.path = path;
    }
    t->bytes = report->bytes;
    kino__target_set_state(rs, t, KINO__TARGET_WRITTEN, NULL);
}

bool kino__requests_report(kino__requests *rs, kino__process *p, const kino__fabric_report *report)
{
    kino__target *t = p->target;
    char text[240];
    while (t && t->request->id != report->request)
        t = t->older;
    if (!t || t->state == KINO__TARGET_QUEUED)
        return false;
    t->has_reports = true;
    (void)snprintf(text, sizeof text, "%.*s", KINO__STR_ARG(report->text));
    const char *message = text[0] ? text : NULL;
    switch ((kino__fabric_event)report->event) {
    case KINO__FABRIC_ACCEPTED:
        break;
    case KINO__FABRIC_REFUSED:
    case KINO__FABRIC_FAILED:
        kino__target_set_state(rs, t, KINO__TARGET_REFUSED, message ? message : "by the process");
        break;
    case KINO__FABRIC_WARMING_UP:
        kino__target_set_state(rs, t, KINO__TARGET_WARMING_UP, message);
        break;
    case KINO__FABRIC_RECORDING:
        kino__target_set_state(rs, t, KINO__TARGET_RECORDING, message);
        break;
    case KINO__FABRIC_WRITTEN:
        note_written(rs, t, report);
        break;
    case KINO__FABRIC_CANCELLED:
        kino__target_set_state(rs, t, KINO__TARGET_CANCELLED, message ? message : "by the process");
        break;
    case KINO__FABRIC_EVENT_END:
        break;
    }
    return true;
}

/* -- showing */

static void put_number(kino__json *json, const char *key, int64_t number)
{
    kino__json_key(json, key);
    if (number < 0)
        kino__json_null(json);
    else
        kino__json_int(json, number);
}

static void put_place(const kino__target *t, kino__json *json)
{
    kino__json_key(json, "own_pid");
    kino__json_int(json, t->id.own_pid);
    put_number(json, "rank", t->place.rank);
    put_number(json, "world_size", t->place.world_size);
    put_number(json, "local_rank", t->place.local_rank);
    kino__json_key(json, "job_name");
    kino__json_text(json, t->place.job[0] ? t->place.job : NULL);
    kino__json_key(json, "role");
    kino__json_text(json, kino__process_role_word(t->role));
}

static void target_json(const kino__target *t, kino__json *json)
{
    kino__json_begin_object(json);
    kino__json_key(json, "pid");
    kino__json_int(json, t->id.pid);
    put_place(t, json);
    kino__json_key(json, "uid");
    kino__json_uint(json, t->id.uid);
    kino__json_key(json, "gid");
    kino__json_uint(json, t->id.gid);
    kino__json_key(json, "start_time");
    kino__json_uint(json, t->id.start_time);
    kino__json_key(json, "file_space");
    kino__json_uint(json, t->id.file_space);
    kino__json_key(json, "state");
    kino__json_text(json, kino__target_state_word(t->state));
    kino__json_key(json, "path");
    kino__json_text(json, t->file.path);
    kino__json_key(json, "bytes");
    if (t->bytes < 0)
        kino__json_null(json);
    else
        kino__json_int(json, t->bytes);
    kino__json_key(json, "message");
    kino__json_text(json, t->message);
    kino__json_end_object(json);
}

void kino__request_json(const kino__request *r, bool with_targets, kino__json *json)
{
    kino__json_key(json, "request");
    kino__json_uint(json, r->id);
    kino__json_key(json, "state");
    kino__json_text(json, kino__target_state_word(kino__request_state(r)));
    kino__json_key(json, "time_ms");
    kino__json_int(json, r->created_ms);
    kino__json_key(json, "uid");
    kino__json_uint(json, r->uid);
    if (!with_targets) {
        kino__json_key(json, "count");
        kino__json_uint(json, r->targets.count);
        kino__json_key(json, "open");
        kino__json_uint(json, r->open);
        return;
    }
    kino__json_key(json, "targets");
    kino__json_begin_array(json);
    for (size_t i = 0; i < r->targets.count; i++)
        target_json(r->targets.items[i], json);
    kino__json_end_array(json);
}
