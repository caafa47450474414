/* requests.c - the life of requests; how states are derived: docs/internals/daemon.md. */
#include "daemon/requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"

enum {
    LOOK_NS = 250000000,
    WARMUP_SLACK_MS = 2000,   /* libkineto's clock ticks once a second */
    REFUSED_AFTER_MS = 10000, /* the expected end: two polls */
    FILE_AFTER_MS = 10000,    /* the process is idle again */
};

static int64_t now_ms(void)
{
    return kino__clock_ms(CLOCK_MONOTONIC);
}

const char *kino__target_state_word(kino__target_state state)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        KINO__TARGET_STATES(WORD)
#undef WORD
    };
    return words[state];
}

static bool is_open(const kino__target *t)
{
    return t->state < KINO__TARGET_WRITTEN;
}

/* -- memory */

/* The process has nothing to do with it any more. */
static void leave_process(kino__target *t)
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

static void free_target(kino__target *t)
{
    leave_process(t);
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
        free_target(r->targets.items[i]);
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
        return kino__fail(err, KINO_ARGUMENT, "state: '%s' is no plain file (for none: \"\")",
                          state_path);
    KINO_TRY(kino__loop_add_timer(loop, 0, fire, rs, &rs->timer, err));
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
        return kino__fail(err, KINO_LIMIT, "%zu requests of user %u are open already", open,
                          (unsigned)uid);
    kino__request *r = calloc(1, sizeof *r);
    if (!r)
        return kino__fail_nomem(err);
    *r = (kino__request){.id = rs->next_id,
                         .uid = uid,
                         .created_ms = kino__clock_ms(CLOCK_REALTIME),
                         .made_ms = now_ms(),
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
        t->start_ms = now_ms() + (config->start_time_ms - kino__clock_ms(CLOCK_REALTIME));
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

kino_status kino__request_add(kino__requests *rs, kino__request *r, kino__process *p,
                              const kino__target_options *options, kino_error *err)
{
    if (kino__requests_is_busy(p) && !options->is_refused)
        return kino__fail(err, KINO_ARGUMENT, "a request waits for the process already");
    if (rs->target_count >= KINO__REQUESTS_TARGETS)
        return kino__fail(err, KINO_LIMIT, "there are too many requests");
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
                        .rank = kino__registry_about(p)->rank,
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
    return KINO_OK;
}

void kino__request_start(kino__requests *rs, kino__request *r)
{
    r->next = rs->newest;
    rs->newest = r;
    rs->next_id = r->id + 1;
    rs->count++;
    rs->total++;
    if (r->open && rs->open++ == 0)
        kino__loop_set_timer(rs->loop, rs->timer, LOOK_NS);
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

static void set_state(kino__requests *rs, kino__target *t, kino__target_state state,
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
    if (is_open(t))
        return;
    free(t->text);
    t->text = NULL;
    leave_process(t);
    if (--t->request->open > 0)
        return;
    KINO__LOG(rs->log, KINO__LOG_INFO, "request-ended",
              kino__log_int("request", (int64_t)t->request->id),
              kino__log_text("state", kino__target_state_word(kino__request_state(t->request))));
    if (--rs->open == 0)
        kino__loop_set_timer(rs->loop, rs->timer, 0);
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
            set_state(rs, t, KINO__TARGET_CANCELLED, "before the process took it");
            count++;
        } else if (is_open(t)) {
            set_message(t, "the process has the request already: it cannot be taken back");
        }
    }
    return count;
}

/* -- what the fabric hears */

bool kino__requests_is_busy(const kino__process *p)
{
    return p->target && p->target->state == KINO__TARGET_QUEUED;
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
    t->delivered_ms = now_ms();
    /* What an earlier request has written in the meantime is not this one's. */
    kino__trace_file_restart(&t->file, &t->id);
    kino__trace_file_restart(&t->other, &t->id);
    if (!t->has_start)
        t->start_ms = t->delivered_ms + t->delay_ms;
    free(t->text);
    t->text = NULL;
    set_state(rs, t, KINO__TARGET_DELIVERED, NULL);
}

void kino__requests_polled(kino__requests *rs, kino__process *p, int32_t mask)
{
    kino__target *t = p->target;
    bool is_idle = (mask & KINO__FABRIC_ACTIVITIES) != 0;
    (void)rs;
    if (kino__requests_is_busy(p))
        t = t->older;
    if (!t)
        return;
    if (!is_idle) {
        t->was_busy = true;
        t->idle_since_ms = 0;
    } else if (t->was_busy && !t->idle_since_ms) {
        t->idle_since_ms = now_ms();
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
    set_state(rs, t, KINO__TARGET_WRITTEN, NULL);
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
        set_state(rs, t, KINO__TARGET_REFUSED, message ? message : "by the process");
        break;
    case KINO__FABRIC_WARMING_UP:
        set_state(rs, t, KINO__TARGET_WARMING_UP, message);
        break;
    case KINO__FABRIC_RECORDING:
        set_state(rs, t, KINO__TARGET_RECORDING, message);
        break;
    case KINO__FABRIC_WRITTEN:
        note_written(rs, t, report);
        break;
    case KINO__FABRIC_CANCELLED:
        set_state(rs, t, KINO__TARGET_CANCELLED, message ? message : "by the process");
        break;
    case KINO__FABRIC_EVENT_END:
        break;
    }
    return true;
}

/* -- files and the clock */

/* The file is there: at the path, or where libkineto writes instead. */
static bool find_file(kino__requests *rs, kino__target *t)
{
    int64_t bytes;
    if (kino__trace_file_look(&t->file, &t->id, &bytes)) {
        t->bytes = bytes;
        set_state(rs, t, KINO__TARGET_WRITTEN, NULL);
        return true;
    }
    if (!kino__trace_file_look(&t->other, &t->id, &bytes))
        return false;
    t->bytes = bytes;
    char *wanted = t->file.path;
    t->file.path = t->other.path;
    t->other.path = wanted;
    set_state(rs, t, KINO__TARGET_WRITTEN,
              "the process writes to /tmp only (or to its KINETO_ONDEMAND_TRACE_DIR)");
    return true;
}

static void look_at_queued(kino__requests *rs, kino__target *t, int64_t now)
{
    int64_t silent_ms = (kino__loop_now(rs->loop) - t->process->last_seen_ns) / 1000000;
    if (silent_ms > (int64_t)KINO__REQUEST_SILENCE_S * 1000)
        set_state(rs, t, KINO__TARGET_TIMED_OUT, "the process does not ask the daemon any more");
    else if (now - t->request->made_ms > t->request->timeout_ms)
        set_state(rs, t, KINO__TARGET_TIMED_OUT,
                  t->process->mask & KINO__FABRIC_ACTIVITIES
                      ? "the process did not take the request"
                      : "the process was busy with another trace all the time");
}

/* What follows from polls and the clock, for a process that does not tell. */
static void look_at_quiet(kino__requests *rs, kino__target *t, int64_t now)
{
    int64_t end = t->start_ms + t->duration_ms;
    if (t->was_busy && !t->idle_since_ms) {
        bool records = t->is_by_iteration || now >= t->start_ms;
        if (t->state != KINO__TARGET_RECORDING)
            set_state(rs, t, records ? KINO__TARGET_RECORDING : KINO__TARGET_WARMING_UP, NULL);
    } else if (t->idle_since_ms && now - t->idle_since_ms > FILE_AFTER_MS) {
        set_state(rs, t, KINO__TARGET_TIMED_OUT, "the trace has ended, but there is no file");
    } else if (!t->was_busy && !t->is_by_iteration &&
               now > end + WARMUP_SLACK_MS + REFUSED_AFTER_MS) {
        set_state(rs, t, KINO__TARGET_REFUSED,
                  "the process took the request and did not record (too late for its start, or "
                  "another trace was faster)");
    }
}

static void look_at(kino__requests *rs, kino__target *t, int64_t now)
{
    if (!is_open(t))
        return;
    if (t->state == KINO__TARGET_QUEUED) {
        look_at_queued(rs, t, now);
        return;
    }
    if (find_file(rs, t))
        return;
    int64_t wait_ms = t->start_ms > now ? t->start_ms - now : 0;
    if (!t->has_reports)
        look_at_quiet(rs, t, now);
    if (is_open(t) && wait_ms == 0 &&
        now - t->delivered_ms > t->request->timeout_ms + t->duration_ms)
        set_state(rs, t, KINO__TARGET_TIMED_OUT, "no file has appeared");
}

void kino__requests_look(kino__requests *rs)
{
    int64_t now = now_ms();
    for (kino__request *r = rs->newest; r; r = r->next)
        for (size_t i = 0; r->open && i < r->targets.count; i++)
            look_at(rs, r->targets.items[i], now);
}

void kino__requests_gone(kino__requests *rs, kino__process *p, bool has_ended)
{
    while (p->target) {
        kino__target *t = p->target;
        /* Twice: a file counts when it does not change any more. */
        bool is_written = t->state != KINO__TARGET_QUEUED && (find_file(rs, t) || find_file(rs, t));
        if (!is_written && is_open(t))
            set_state(rs, t, KINO__TARGET_GONE,
                      has_ended ? "the process has ended" : "the process is silent");
        leave_process(t);
    }
}

/* -- showing */

static void target_json(const kino__target *t, kino__json *json)
{
    kino__json_begin_object(json);
    kino__json_key(json, "pid");
    kino__json_int(json, t->id.pid);
    kino__json_key(json, "rank");
    if (t->rank == KINO_NO_INT)
        kino__json_null(json);
    else
        kino__json_int(json, t->rank);
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
