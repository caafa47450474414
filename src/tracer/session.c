/* session.c - prepare, start, step, stop: the life of a recording. Whoever drives sessions (the
 * program, a controller) calls these public functions; they take turns under the tracer's lock. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kino/record_function.h>

#include "base/error.h"
#include "base/json_out.h"
#include "tracer/control/control.h"
#include "tracer/device/device.h"
#include "tracer/own_process.h"
#include "tracer/thread_ring.h"
#include "tracer/ticks.h"

enum {
    SLOW_BIT = (int)0x80000000u, /* of the active flag: no counter to read directly */
    CALIBRATION_NS = 2000000,    /* between the first two anchors, at least */
};

static kino_status fail_phase(const kino__tracer *t, const char *what, kino_error *err)
{
    static const char *const phases[] = {"no session is prepared", "the session is not started",
                                         "a session is being recorded", "the session is stopped"};
    return kino__fail(err, KINO_UNAVAILABLE, "cannot %s: %s", what, phases[t->phase]);
}

/* Takes the buffers out of the session, which is over; the lock is held, nothing is recorded, nobody
 * saves. NULL: there are none. */
static kino__capture *take_out(kino__tracer *t)
{
    kino__capture *c = t->capture;
    if (t->phase == KINO_SESSION_PREPARED)
        kino__devices_stop(t); /* they have prepared in vain */
    kino__texts_attach(&t->texts, NULL);
    __atomic_store_n(&t->capture, NULL, __ATOMIC_RELEASE);
    free(t->exit_path);
    t->exit_path = NULL;
    t->phase = KINO_SESSION_IDLE;
    return c;
}

static void release(kino__tracer *t, kino__capture *c)
{
    if (!c)
        return;
    kino__capture_release(c);
    c->older = t->released;
    t->released = c;
}

static void wait_for_saver(kino__tracer *t)
{
    while (t->saver.is_running || t->saver.is_pending)
        pthread_cond_wait(&t->saved, &t->lock);
}

/* -- prepare */

/* Two anchors far enough apart to know the rate of the counter before anything is recorded. */
static void calibrate(kino__tracer *t, kino__capture *c)
{
    c->meta->clock = kino__clock_choose();
    kino__clock_note(t, c);
    struct timespec pause = {0, CALIBRATION_NS};
    nanosleep(&pause, NULL);
    kino__clock_note(t, c);
}

static kino_status add_metadata(kino__tracer *t, const kino_session_options *options,
                                kino_error *err)
{
    KINO_TRY(kino__process_metadata(&t->texts, kino__devices_have_groups(t), err));
    if (!options->trace_id) {
        if (t->has_trace_id) /* an earlier session's */
            kino__texts_forget(&t->texts, KINO__STR("trace_id"), false);
        t->has_trace_id = false;
        return KINO_OK;
    }
    kino__buffer json = {0};
    t->has_trace_id = true;
    kino__json_add_string(&json, kino__str_from(options->trace_id));
    kino_status st = json.failed ? kino__fail_nomem(err)
                                 : kino__texts_metadata(&t->texts, KINO__STR("trace_id"),
                                                        kino__buffer_str(&json), false, err);
    kino__buffer_deinit(&json);
    return st;
}

/* Those of the last session where that is possible: it takes no time then. */
static kino_status open_capture(kino__tracer *t, const kino_session_options *options, bool is_soon,
                                kino__capture **out, kino_error *err)
{
    uint32_t session = t->session_count + 1;
    kino__capture *last = take_out(t);
    kino__ring_quit();
    kino_status st = add_metadata(t, options, err);
    if (st == KINO_OK && last && kino__capture_renew(last, options, session, is_soon)) {
        *out = last;
        return KINO_OK;
    }
    release(t, last);
    return st == KINO_OK ? kino__capture_open(options, session, is_soon, &t->released, out, err)
                         : st;
}

static kino_status prepare(kino__tracer *t, const kino_session_options *options, bool is_soon,
                           kino_error *err)
{
    if (t->phase == KINO_SESSION_RECORDING)
        return fail_phase(t, "prepare", err);
    wait_for_saver(t);
    char *exit_path = NULL;
    if (options->exit_path && !(exit_path = strdup(options->exit_path)))
        return kino__fail_nomem(err);
    kino__capture *c = NULL;
    kino_status st = open_capture(t, options, is_soon, &c, err);
    if (st != KINO_OK) {
        free(exit_path);
        return st;
    }
    t->session_count++;
    t->exit_path = exit_path;
    calibrate(t, c);
    kino__texts_attach(&t->texts, c);
    __atomic_store_n(&t->capture, c, __ATOMIC_RELEASE);
    t->phase = KINO_SESSION_PREPARED;
    kino__devices_prepare(t);
    return KINO_OK;
}

kino_status kino__session_prepare(const kino_session_options *options, bool is_soon,
                                  kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    kino_session_options defaults = KINO_SESSION_OPTIONS_INIT;
    kino__error_clear(err);
    if (!t)
        return kino__tracer_missing(err);
    if (!options)
        options = &defaults;
    if (options->size < sizeof *options || options->mode > KINO_MODE_FLIGHT)
        return kino__fail(err, KINO_ARGUMENT, "session options not initialized");
    kino__control_yield(t);
    pthread_mutex_lock(&t->lock);
    kino_status st = prepare(t, options, is_soon, err);
    pthread_mutex_unlock(&t->lock);
    return st;
}

kino_status kino_prepare(const kino_session_options *options, kino_error *err)
{
    return kino__session_prepare(options, false, err);
}

/* -- start, stop */

static kino_status start(kino__tracer *t, kino_error *err)
{
    kino__capture *c = t->capture;
    if (t->phase != KINO_SESSION_PREPARED)
        return fail_phase(t, "start", err);
    kino__clock_note(t, c);
    c->meta->first_step = __atomic_load_n(&t->step, __ATOMIC_RELAXED);
    __atomic_store_n(&c->meta->start_ticks, kino__clock_ticks(c->meta->clock), __ATOMIC_RELEASE);
    __atomic_store_n(&c->meta->state, KINO__RING_RECORDING, __ATOMIC_RELEASE);
    if (!c->is_guest)
        kino__clock_thread_start(t);
    t->phase = KINO_SESSION_RECORDING;
    t->is_saved = false;
    kino__tracer_activate(t, c->session |
                                 (c->meta->clock == KINO__RING_CLOCK_TSC ? 0 : (uint32_t)SLOW_BIT));
    kino__devices_start(t);
    return KINO_OK;
}

kino_status kino_start(kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    kino__error_clear(err);
    if (!t)
        return kino__tracer_missing(err);
    pthread_mutex_lock(&t->lock);
    kino_status st = start(t, err);
    pthread_mutex_unlock(&t->lock);
    if (st == KINO_OK)
        kino_record_spans_enable(true); /* record functions become spans */
    return st;
}

static kino_status stop(kino__tracer *t, kino_error *err)
{
    kino__capture *c = t->capture;
    if (t->phase != KINO_SESSION_RECORDING)
        return fail_phase(t, "stop", err);
    kino__devices_stop(t); /* they hand over what they have: recording is still on */
    kino__tracer_activate(t, 0);
    __atomic_store_n(&c->meta->stop_ticks, kino__clock_ticks(c->meta->clock), __ATOMIC_RELEASE);
    kino__clock_thread_stop(t);
    kino__clock_note(t, c);
    if (!__atomic_load_n(&t->is_quiet, __ATOMIC_RELAXED))
        kino__ring_refresh_names(c);
    __atomic_store_n(&c->meta->state, KINO__RING_STOPPED, __ATOMIC_RELEASE);
    t->phase = KINO_SESSION_STOPPED;
    kino__capture_settle_now(c);
    return KINO_OK;
}

kino_status kino_stop(kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    kino__error_clear(err);
    if (!t)
        return kino__tracer_missing(err);
    pthread_mutex_lock(&t->lock);
    kino_status st = stop(t, err);
    pthread_mutex_unlock(&t->lock);
    if (st == KINO_OK)
        kino_record_spans_enable(false);
    return st;
}

bool kino__session_is_paused(void)
{
    const kino__tracer *t = kino__tracer_get();
    return t && __atomic_load_n(&t->is_paused, __ATOMIC_RELAXED);
}

void kino__session_pause(bool is_paused)
{
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return;
    if (is_paused)
        kino__devices_flush(t); /* what devices have done until now is part of it */
    pthread_mutex_lock(&t->lock);
    __atomic_store_n(&t->is_paused, is_paused, __ATOMIC_RELAXED);
    kino__tracer_activate(t, t->wanted);
    pthread_mutex_unlock(&t->lock);
}

void kino__session_freeze(void)
{
    kino__tracer *t = kino__tracer_get();
    kino__capture *c = t ? __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE) : NULL;
    if (!c || pthread_mutex_trylock(&t->lock) != 0)
        return;
    if (t->phase == KINO_SESSION_RECORDING) {
        kino__tracer_activate(t, 0);
        __atomic_store_n(&c->meta->stop_ticks, kino__clock_ticks(c->meta->clock), __ATOMIC_RELEASE);
        __atomic_store_n(&c->meta->state, KINO__RING_STOPPED, __ATOMIC_RELEASE);
        t->phase = KINO_SESSION_STOPPED;
    }
    pthread_mutex_unlock(&t->lock);
}

void kino_discard(void)
{
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->phase == KINO_SESSION_RECORDING)
        (void)stop(t, NULL);
    wait_for_saver(t);
    release(t, take_out(t));
    pthread_mutex_unlock(&t->lock);
    kino_record_spans_enable(false);
}

/* -- steps */

/* The step that ends is closed, or written whole when the session began in the middle of it. */
static void turn_step(kino__tracer *t, kino__capture *c, uint64_t ended)
{
    uint32_t text = kino__texts_find(&t->texts, "ProfilerStep#", "user_annotation");
    uint32_t flags = KINO_IMPL_V1_FLAG_NUMBERED | KINO_IMPL_V1_FLAG_STEP;
    uint64_t head = kino_impl_v1_head(text, KINO_IMPL_V1_SPAN, flags, 0);
    uint32_t session = kino__capture_session(c);
    if (t->step_session == session)
        kino_end(t->step_span);
    else
        (void)kino__ring_write(t, c->meta->start_ticks, kino__clock_ticks(c->meta->clock), head,
                               ended, NULL, 0);
    t->step_span.id = 0;
    t->step_session = session;
    if (ended + 1 != __atomic_load_n(&t->last_step, __ATOMIC_RELAXED)) /* it is over otherwise */
        t->step_span.id = kino__ring_write(t, 0, 0, head, ended + 1, NULL, 0);
}

static void record_step(kino__tracer *t, uint64_t ended)
{
    while (__atomic_exchange_n(&t->step_lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
    kino__capture *c = __atomic_load_n(&t->capture, __ATOMIC_ACQUIRE);
    if (c && __atomic_load_n(&c->meta->start_ticks, __ATOMIC_ACQUIRE))
        turn_step(t, c, ended);
    __atomic_store_n(&t->step_lock, 0, __ATOMIC_RELEASE);
}

uint64_t kino_step(void)
{
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return 0;
    uint64_t ended = __atomic_fetch_add(&t->step, 1, __ATOMIC_RELAXED);
    if (kino_is_recording())
        record_step(t, ended);
    kino__control_step(t, ended + 1);
    return ended + 1;
}

/* -- state */

/* Weak, because the engine has it too, and both may be linked into one program. */
__attribute__((weak)) const char *kino_version(void)
{
    return KINO_VERSION;
}

void kino_session_get(kino_session_state *out)
{
    kino__tracer *t = kino__tracer_get();
    uint32_t size = out->size;
    kino_session_state state = {.size = size};
    if (t) {
        pthread_mutex_lock(&t->lock);
        const kino__capture *c = t->capture;
        state.phase = t->phase;
        state.is_saving = t->saver.is_running;
        state.step = __atomic_load_n(&t->step, __ATOMIC_RELAXED);
        if (c) {
            state.mode = c->mode;
            state.budget_bytes = c->budget;
            state.used_bytes = (uint64_t)__atomic_load_n(&c->next_segment, __ATOMIC_RELAXED) *
                               KINO_IMPL_V1_SEGMENT_SIZE;
            state.dropped = kino__ring_dropped(c);
            state.threads = __atomic_load_n(&c->next_slot, __ATOMIC_RELAXED);
        }
        pthread_mutex_unlock(&t->lock);
    }
    memcpy(out, &state, size < sizeof state ? size : sizeof state);
}

void kino_session_directory(char *out, size_t size)
{
    kino__tracer *t = kino__tracer_get();
    if (!size)
        return;
    out[0] = '\0';
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->capture) {
        size_t length = strnlen(t->capture->directory, size - 1);
        memcpy(out, t->capture->directory, length);
        out[length] = '\0';
    }
    pthread_mutex_unlock(&t->lock);
}
