/* control_session.c - the controller's functions on the recorder's sessions. They use the public
 * session functions, as the program does; that a session is ours is known by its number. */
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "tracer/control/control.h"
#include "tracer/device/device.h"

static kino__now op_now(void *context)
{
    (void)context;
    return (kino__now){kino__clock_ns(CLOCK_REALTIME), kino__clock_ns(CLOCK_MONOTONIC)};
}

static void op_wake(void *context)
{
    kino__control_wake(context);
}

static kino_session_phase phase_of(kino__tracer *t)
{
    pthread_mutex_lock(&t->lock);
    kino_session_phase phase = t->phase;
    pthread_mutex_unlock(&t->lock);
    return phase;
}

bool kino__control_session_is_free(kino__tracer *t)
{
    pthread_mutex_lock(&t->lock);
    bool is_free = t->phase == KINO_SESSION_IDLE ||
                   (t->phase == KINO_SESSION_STOPPED && t->is_saved && !t->saver.is_running);
    pthread_mutex_unlock(&t->lock);
    return is_free;
}

/* The session that is there is the request's. */
static bool is_ours(kino__control *k)
{
    kino__tracer *t = k->tracer;
    pthread_mutex_lock(&t->lock);
    bool ours = k->session && t->session_count == k->session && t->phase != KINO_SESSION_IDLE;
    pthread_mutex_unlock(&t->lock);
    return ours;
}

static const char *op_refusal(void *context, const kino__config *config)
{
    kino__control *k = context;
    kino_session_phase phase = phase_of(k->tracer);
    if (config->wants_snapshot)
        return kino__clients_have_snapshot(&k->clients) ? NULL
                                                        : "no client supports memory snapshots";
    if (config->wants_dump)
        return phase == KINO_SESSION_RECORDING || phase == KINO_SESSION_STOPPED
                   ? NULL
                   : "nothing to dump: no recording in progress";
    if (kino__control_session_is_free(k->tracer))
        return NULL;
    return phase == KINO_SESSION_STOPPED ? "the program has an unsaved session of its own"
                                         : "the program is recording a session of its own";
}

/* -- prepare */

static kino_status prepare_session(kino__control *k, const kino__config *config, kino_error *err)
{
    kino_session_options options = KINO_SESSION_OPTIONS_INIT;
    options.budget_bytes = (uint64_t)config->budget_mb << 20;
    options.exit_path = kino__loggers_file_path(config->url);
    options.trace_id = config->trace_id[0] ? config->trace_id : NULL;
    kino__devices_select(k->tracer,
                         config->has_activity_types ? config->activity_types : UINT32_MAX);
    bool has_buffers = config->gpu_buffer_mb > 0 && config->gpu_buffer_mb < UINT32_MAX;
    bool has_counters = config->cupti_pm_device >= 0 && config->cupti_pm_device < INT32_MAX;
    kino__devices_configure(k->tracer, has_buffers ? (uint32_t)config->gpu_buffer_mb : 0,
                            has_counters ? (int32_t)config->cupti_pm_device : -1,
                            config->cupti_pm_metrics);
    KINO_TRY(kino_prepare(&options, err));
    pthread_mutex_lock(&k->tracer->lock);
    k->session = k->tracer->session_count;
    pthread_mutex_unlock(&k->tracer->lock);
    return KINO_OK;
}

static void give_up(kino__control *k)
{
    __atomic_store_n(&k->is_collecting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&k->tracer->last_step, 0, __ATOMIC_RELAXED);
    if (is_ours(k))
        kino_discard();
    k->session = 0;
    kino__devices_select(k->tracer, UINT32_MAX);
    kino__devices_configure(k->tracer, 0, -1, NULL);
}

static kino_status op_prepare(void *context, const kino__config *config, kino_error *err)
{
    kino__control *k = context;
    const char *refusal = op_refusal(k, config); /* much may have happened since the request */
    if (refusal)
        return kino__fail(err, KINO_UNAVAILABLE, "%s", refusal);
    KINO_TRY(kino__loggers_check(&k->loggers, config->url, err));
    kino_status st = prepare_session(k, config, err);
    if (st == KINO_OK)
        st = kino__clients_prepare(&k->clients, config, err);
    if (st != KINO_OK) {
        kino__clients_stop(&k->clients, true);
        give_up(k);
    }
    return st;
}

/* -- start, stop */

static kino_status op_start(void *context, kino_error *err)
{
    kino__control *k = context;
    if (!is_ours(k))
        return kino__fail(err, KINO_UNAVAILABLE, "the program discarded the session");
    KINO_TRY(kino_start(err));
    bool by_iteration = kino__config_is_by_iteration(&k->controller.config);
    if (by_iteration)
        __atomic_store_n(&k->tracer->last_step, (uint64_t)k->controller.end_step, __ATOMIC_RELAXED);
    kino__clients_start(&k->clients);
    __atomic_store_n(&k->is_collecting, 1, __ATOMIC_RELAXED);
    return KINO_OK;
}

/* Clients may have something to hand in, for which recording must go on. */
static void op_pause(void *context)
{
    kino__control *k = context;
    __atomic_store_n(&k->is_collecting, 0, __ATOMIC_RELAXED);
    if (kino__clients_have_stop(&k->clients) || !is_ours(k))
        return;
    pthread_mutex_lock(&k->tracer->lock);
    if (k->tracer->phase == KINO_SESSION_RECORDING)
        kino__tracer_activate(k->tracer, 0);
    pthread_mutex_unlock(&k->tracer->lock);
}

static kino_status op_stop(void *context, kino_error *err)
{
    kino__control *k = context;
    __atomic_store_n(&k->is_collecting, 0, __ATOMIC_RELAXED);
    kino__clients_stop(&k->clients, false);
    __atomic_store_n(&k->tracer->last_step, 0, __ATOMIC_RELAXED);
    if (!is_ours(k))
        return kino__fail(err, KINO_UNAVAILABLE, "the program discarded the session");
    /* The program may have stopped it: what was recorded until then is the trace. */
    return phase_of(k->tracer) == KINO_SESSION_STOPPED ? KINO_OK : kino_stop(err);
}

static void op_discard(void *context)
{
    kino__control *k = context;
    __atomic_store_n(&k->is_collecting, 0, __ATOMIC_RELAXED);
    kino__clients_stop(&k->clients, true);
    give_up(k);
}

static bool op_is_full(void *context)
{
    kino__control *k = context;
    kino__tracer *t = k->tracer;
    kino_session_state state = {.size = sizeof state};
    kino_session_get(&state);
    pthread_mutex_lock(&t->lock);
    const kino__capture *c = t->capture;
    bool no_segment = c && __atomic_load_n(&c->next_segment, __ATOMIC_RELAXED) >= c->segment_count;
    pthread_mutex_unlock(&t->lock);
    return no_segment && state.mode == KINO_MODE_CAPTURE && state.dropped > 0;
}

/* -- the trace */

static kino_status write_trace(void *context, const char *path, kino_error *err)
{
    (void)context;
    return kino_save(path, err);
}

static kino_status op_process(void *context, const kino__config *config, kino_error *err)
{
    kino__control *k = context;
    kino_status st = KINO_OK;
    if (is_ours(k))
        st = kino__loggers_save(&k->loggers, config->url, write_trace, NULL, err);
    else
        st = kino__fail(err, KINO_UNAVAILABLE, "the program discarded the session");
    give_up(k);
    return st;
}

static kino_status write_dump(void *context, const char *path, kino_error *err)
{
    const kino__config *config = context;
    return kino_dump(path, (uint64_t)config->dump_last_ms * 1000000, err);
}

static kino_status op_dump(void *context, const kino__config *config, kino_error *err)
{
    kino__control *k = context;
    return kino__loggers_save(&k->loggers, config->url, write_dump, (void *)(uintptr_t)config, err);
}

static kino_status op_snapshot(void *context, const kino__config *config, kino_error *err)
{
    kino__control *k = context;
    const char *path = kino__loggers_file_path(config->url);
    if (!path)
        return kino__fail(err, KINO_UNAVAILABLE, "a memory snapshot can only be written to a file");
    return kino__clients_snapshot(&k->clients, path, config->snapshot_ms, err);
}

kino__controller_ops kino__control_ops(kino__control *k)
{
    return (kino__controller_ops){
        .context = k,
        .now = op_now,
        .wake = op_wake,
        .refusal = op_refusal,
        .prepare = op_prepare,
        .start = op_start,
        .pause = op_pause,
        .stop = op_stop,
        .process = op_process,
        .discard = op_discard,
        .is_full = op_is_full,
        .snapshot = op_snapshot,
        .dump = op_dump,
    };
}
