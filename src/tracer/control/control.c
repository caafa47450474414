/* control.c - see control.h: making it, its thread, fork and exit, and the public functions. */
#include "tracer/control/control.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "tracer/alone.h"

/* -- made when needed */

kino__control *kino__control_peek(kino__tracer *t)
{
    return t ? __atomic_load_n(&t->control, __ATOMIC_ACQUIRE) : NULL;
}

/* The threads, the socket and the event are the parent's; whatever state the struct was in stays
 * behind. */
static void after_fork_child(void)
{
    kino__tracer *t = kino__tracer_get();
    kino__control *k = kino__control_peek(t);
    /* Keeps it reachable. NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables) */
    static kino__control *abandoned;
    if (!k)
        return;
    kino__requests_forked(&k->requests);
    abandoned = k;
    __atomic_store_n(&t->control, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&t->last_step, 0, __ATOMIC_RELAXED);
    (void)abandoned;
}

/* The trace that is being taken is written first; after that, the tracer's own handler finds
 * nothing to do. */
static void at_exit(void)
{
    kino__tracer *t = kino__tracer_get();
    kino__control *k = kino__control_peek(t);
    if (!k || __atomic_load_n(&t->is_quiet, __ATOMIC_RELAXED))
        return; /* the program's filter would end it; our threads have left by then */
    kino_control_stop();
    kino__controller_end(&k->controller);
    pthread_mutex_lock(&k->lock);
    k->ends = true;
    bool joins = k->has_thread && !pthread_equal(k->thread, pthread_self());
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    if (joins)
        (void)pthread_join(k->thread, NULL);
}

static void register_handlers(void)
{
    pthread_atfork(NULL, NULL, after_fork_child);
    (void)atexit(at_exit);
}

static kino__control *make(kino__tracer *t)
{
    kino__control *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    k->tracer = t;
    kino__requests_clear(&k->requests);
    pthread_mutex_init(&k->lock, NULL);
    pthread_mutex_init(&k->listen_lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&k->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    kino__clients_init(&k->clients);
    kino__loggers_init(&k->loggers);
    kino__controller_ops ops = kino__control_ops(k);
    kino__controller_init(&k->controller, &ops);
    return k;
}

kino__control *kino__control_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    kino__tracer *t = kino__tracer_get();
    kino__control *k = kino__control_peek(t);
    if (k || !t)
        return k;
    kino__control *mine = make(t);
    void *expected = NULL;
    if (!mine)
        return NULL;
    if (!__atomic_compare_exchange_n(&t->control, &expected, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        kino__controller_deinit(&mine->controller);
        free(mine);
        return expected; /* somebody was faster */
    }
    pthread_once(&once, register_handlers);
    /* Steps that were reported before anybody cared. */
    kino__controller_step(&mine->controller, (int64_t)__atomic_load_n(&t->step, __ATOMIC_RELAXED));
    return mine;
}

static kino_status missing(kino_error *err)
{
    return kino__tracer_get() ? kino__fail_nomem(err) : kino__tracer_missing(err);
}

/* -- the thread */

static void *run(void *context)
{
    kino__control *k = context;
    for (;;) {
        int64_t deadline = kino__controller_run(&k->controller);
        kino__control_report(k);
        int64_t look = kino__clock_ns(CLOCK_MONOTONIC) + (int64_t)KINO__ALONE_MS * 1000000;
        if (deadline > look)
            deadline = look;
        struct timespec until = {(time_t)(deadline / 1000000000), (long)(deadline % 1000000000)};
        pthread_mutex_lock(&k->lock);
        if (k->is_paused) {
            pthread_mutex_unlock(&k->lock);
            return NULL;
        }
        if (k->ends) { /* whatever was left to do is done by now */
            pthread_mutex_unlock(&k->lock);
            (void)kino__controller_run(&k->controller);
            return NULL;
        }
        int st = 0;
        while (!k->has_work && !k->ends && !k->is_paused && st == 0)
            st = pthread_cond_timedwait(&k->wake, &k->lock, &until);
        k->has_work = false;
        bool is_idle = st != 0 && !k->ends && !k->is_paused;
        pthread_mutex_unlock(&k->lock);
        if (is_idle && kino__is_alone())
            break; /* the process ends with us */
    }
    kino__controller_end(&k->controller);
    (void)kino__controller_run(&k->controller);
    return NULL;
}

void kino__control_wake(kino__control *k)
{
    pthread_mutex_lock(&k->lock);
    k->has_work = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
}

kino_status kino__control_thread(kino__control *k, kino_error *err)
{
    pthread_mutex_lock(&k->lock);
    if (!k->has_thread && !k->is_paused)
        k->has_thread = kino__tracer_thread(&k->thread, run, k);
    bool there = k->has_thread || k->is_paused;
    pthread_mutex_unlock(&k->lock);
    return there ? KINO_OK : kino__fail(err, KINO_UNAVAILABLE, "cannot start a thread");
}

/* The thread that listens may be about to ask for the other one, so it goes first. */
void kino__control_pause(kino__tracer *t)
{
    kino__control *k = kino__control_peek(t);
    if (!k)
        return;
    pthread_mutex_lock(&k->listen_lock);
    kino__requests_pause(&k->requests);
    pthread_mutex_unlock(&k->listen_lock);
    pthread_mutex_lock(&k->lock);
    bool joins = k->has_thread && !k->ends && !pthread_equal(k->thread, pthread_self());
    k->is_paused = joins;
    k->has_thread = k->has_thread && !joins;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
    if (joins)
        (void)pthread_join(k->thread, NULL);
}

void kino__control_resume(kino__tracer *t)
{
    kino__control *k = kino__control_peek(t);
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    bool begins = k->is_paused && !k->has_thread;
    k->is_paused = false;
    if (begins)
        k->has_thread = kino__tracer_thread(&k->thread, run, k);
    pthread_mutex_unlock(&k->lock);
    pthread_mutex_lock(&k->listen_lock);
    kino__requests_resume(&k->requests);
    pthread_mutex_unlock(&k->listen_lock);
}

/* -- the recorder's calls */

void kino__control_step(kino__tracer *t, uint64_t number)
{
    kino__control *k = kino__control_peek(t);
    if (!k)
        return;
    kino__controller_step(&k->controller, (int64_t)number);
    if (__atomic_load_n(&k->is_collecting, __ATOMIC_RELAXED))
        kino__clients_step(&k->clients, number);
}

static bool is_control_thread(kino__control *k)
{
    pthread_mutex_lock(&k->lock);
    bool is_it = k->has_thread && pthread_equal(k->thread, pthread_self());
    pthread_mutex_unlock(&k->lock);
    return is_it;
}

void kino__control_yield(kino__tracer *t)
{
    kino__control *k = kino__control_peek(t);
    if (k && !kino__clients_is_inside() && !is_control_thread(k))
        kino__controller_preempt(&k->controller);
}

/* -- requests */

static void keep_warnings(kino__control *k, const kino__config *config)
{
    char *text = config->warnings[0] ? strdup(config->warnings) : NULL;
    pthread_mutex_lock(&k->lock);
    char *old = k->warnings;
    k->warnings = text;
    k->warning_count = config->warning_count;
    pthread_mutex_unlock(&k->lock);
    free(old);
}

kino_status kino__control_request(kino__control *k, kino_str text, const char *label,
                                  kino__origin origin, kino_error *err)
{
    kino_error own;
    kino__config config;
    if (!err)
        err = &own;
    kino__now now = k->controller.ops.now(k);
    const char *remote_dir = secure_getenv("KINETO_ONDEMAND_TRACE_DIR");
    kino__config_context context = {
        label, now.wall_ns / 1000000, getpid(), origin == KINO__ORIGIN_DAEMON, remote_dir, NULL};
    kino_status st = kino__config_parse(text, &context, &config, err);
    if (st == KINO_OK)
        st = kino__config_check_request(&config, label, err);
    if (st == KINO_OK) {
        keep_warnings(k, &config);
        st = kino__control_thread(k, err);
    }
    if (st == KINO_OK)
        st = kino__controller_request(&k->controller, &config, origin, err);
    else
        kino__controller_refused(&k->controller, origin, err);
    if (origin == KINO__ORIGIN_DAEMON)
        kino__control_report_taken(k, text, st, err);
    kino__config_deinit(&config);
    return st;
}

kino_status kino_request(const char *config, kino_error *err)
{
    kino__control *k = kino__control_get();
    kino__error_clear(err);
    if (!k)
        return missing(err);
    return kino__control_request(k, kino__str_from(config), "request", KINO__ORIGIN_PROGRAM, err);
}

kino_status kino_cancel(kino_error *err)
{
    kino__control *k = kino__control_peek(kino__tracer_get());
    kino__error_clear(err);
    if (!k)
        return kino__fail(err, KINO_NOT_FOUND, "no request");
    return kino__controller_cancel(&k->controller, err);
}

kino_status kino_request_wait(kino_error *err)
{
    kino__control *k = kino__control_peek(kino__tracer_get());
    kino__error_clear(err);
    if (!k)
        return kino__fail(err, KINO_NOT_FOUND, "no request has been made");
    if (kino__clients_is_inside() || is_control_thread(k))
        return kino__fail(err, KINO_UNAVAILABLE, "cannot wait for the request from a callback");
    kino__controller *c = &k->controller;
    kino__controller_wait_idle(c);
    pthread_mutex_lock(&c->lock);
    kino_status st = c->last.status;
    if (!c->request_count && !c->refused_count)
        st = kino__fail(err, KINO_NOT_FOUND, "no request has been made");
    else if (st != KINO_OK)
        (void)kino__fail(err, st, "%s", c->last.message);
    pthread_mutex_unlock(&c->lock);
    return st;
}

/* -- looking */

static void get_controller(kino__controller *c, kino_control_state *out)
{
    pthread_mutex_lock(&c->lock);
    bool by_iteration = c->has_request && kino__config_is_by_iteration(&c->config);
    out->phase = (kino_control_phase)c->state;
    out->has_request = c->has_request;
    out->request = c->request_count;
    out->start_ms = c->has_request && !by_iteration ? c->config.start_time_ms : 0;
    out->start_step = by_iteration ? c->start_step : -1;
    out->done = c->done_count;
    out->refused = c->refused_count;
    out->failed = c->failed_count;
    out->cancelled = c->cancelled_count;
    out->last_request = c->last.id;
    out->last_origin = (kino_request_origin)c->last.origin;
    out->last_status = c->last.status;
    memcpy(out->last_message, c->last.message, sizeof out->last_message);
    memcpy(out->last_url, c->last.url, sizeof out->last_url);
    pthread_mutex_unlock(&c->lock);
}

static void get_requests(kino__control *k, kino_control_state *out)
{
    pthread_mutex_lock(&k->listen_lock);
    out->is_listening = k->is_listening;
    if (k->is_listening) {
        kino__request_sources *r = &k->requests;
        out->has_daemon = r->has_daemon;
        out->signal = r->signal;
        pthread_mutex_lock(&r->lock);
        out->polls = r->counts.polls;
        out->unanswerable_polls = r->counts.unsent;
        out->replies = r->counts.replies;
        out->bad_replies = r->counts.bad_replies;
        pthread_mutex_unlock(&r->lock);
    }
    pthread_mutex_unlock(&k->listen_lock);
}

void kino_control_get(kino_control_state *out)
{
    static_assert(sizeof out->last_message == sizeof((kino__outcome *)0)->message, "copied");
    static_assert(sizeof out->last_url == sizeof((kino__outcome *)0)->url, "copied");
    kino__control *k = kino__control_peek(kino__tracer_get());
    uint32_t size = out->size;
    kino_control_state state = {.start_step = -1};
    if (k) {
        get_controller(&k->controller, &state);
        get_requests(k, &state);
        pthread_mutex_lock(&k->lock);
        state.warnings = k->warning_count;
        pthread_mutex_unlock(&k->lock);
    }
    state.size = size;
    memcpy(out, &state, size < sizeof state ? size : sizeof state);
}

size_t kino_control_warnings(char *out, size_t size)
{
    kino__control *k = kino__control_peek(kino__tracer_get());
    size_t total = 0;
    if (size)
        out[0] = '\0';
    if (!k)
        return 0;
    pthread_mutex_lock(&k->lock);
    if (k->warnings) {
        total = strlen(k->warnings);
        size_t copied = total < size ? total : size ? size - 1 : 0;
        if (size) {
            memcpy(out, k->warnings, copied);
            out[copied] = '\0';
        }
    }
    pthread_mutex_unlock(&k->lock);
    return total;
}

/* -- clients and loggers */

kino_status kino_client_add(const kino_client *client, uint32_t *out, kino_error *err)
{
    kino__control *k = kino__control_get();
    uint32_t number = 0;
    kino__error_clear(err);
    kino_status st = k ? kino__clients_add(&k->clients, client, &number, err) : missing(err);
    if (out)
        *out = number;
    return st;
}

void kino_client_remove(uint32_t client)
{
    kino__control *k = kino__control_peek(kino__tracer_get());
    if (k)
        kino__clients_remove(&k->clients, client);
}

kino_status kino_logger_set(const kino_logger *logger, kino_error *err)
{
    kino__control *k = kino__control_get();
    kino__error_clear(err);
    return k ? kino__loggers_set(&k->loggers, logger, err) : missing(err);
}

kino_status kino__control_save_check(const char *url, kino_error *err)
{
    kino__control *k = kino__control_get();
    kino__error_clear(err);
    return k ? kino__loggers_check(&k->loggers, url, err) : missing(err);
}

kino_status kino__control_save(const char *url, kino__trace_writer write, void *context,
                               kino_error *err)
{
    kino__control *k = kino__control_get();
    kino__error_clear(err);
    return k ? kino__loggers_save(&k->loggers, url, write, context, err) : missing(err);
}
