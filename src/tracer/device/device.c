/* device.c - the registry of backends, and their part in sessions. See device.h. */
#include "tracer/device/device.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json_out.h"
#include "tracer/ticks.h"

/* -- the registry */

static void init_locks(kino__devices *all)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&all->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_mutex_init(&all->clock_lock, NULL);
    pthread_mutex_init(&all->add_lock, NULL);
    pthread_mutex_init(&all->groups.lock, NULL);
}

static kino__devices *find(const kino__tracer *t)
{
    return __atomic_load_n(&t->devices, __ATOMIC_ACQUIRE); /* pairs with kino__devices_get */
}

kino__devices *kino__devices_get(kino__tracer *t)
{
    kino__devices *all = find(t);
    if (all)
        return all;
    all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    init_locks(all);
    all->phase = KINO_DEVICE_IDLE;
    all->kinds = UINT32_MAX;
    all->counters_device = -1;
    all->pid = getpid();
    kino__devices_anchor(all, kino__clock_choose());
    void *other = NULL;
    if (__atomic_compare_exchange_n(&t->devices, &other, all, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return all;
    free(all); /* somebody was faster */
    return other;
}

/* -- one backend in a session; the lock is held */

static void exclude(kino__backend *b, const char *what, const kino_error *err)
{
    kino_error text;
    (void)kino__fail(&text, KINO_UNAVAILABLE, "%s: %s", what,
                     err->message[0] ? err->message : kino_status_text(err->code));
    memcpy(b->error, text.message, sizeof b->error);
    b->is_excluded = true;
}

static void prepare_backend(kino__devices *all, kino__backend *b)
{
    kino_device_request request = {sizeof request, all->kinds & b->def.kinds, all->buffer_mb,
                                   all->counters_device, all->counters[0] ? all->counters : NULL};
    kino_error err = {0};
    if (b->phase != KINO_DEVICE_IDLE || b->is_excluded)
        return;
    b->error[0] = '\0';
    if (b->sessions++ > 0) /* what the entry had to say is of the first one */
        __atomic_store_n(&b->problem_state, KINO__PROBLEM_NONE, __ATOMIC_RELAXED);
    __atomic_store_n(&b->activities, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&b->lost, 0, __ATOMIC_RELAXED);
    if (!request.kinds)
        return;
    err.code = b->def.prepare ? b->def.prepare(b->def.context, &request, &err) : KINO_OK;
    if (err.code != KINO_OK) {
        exclude(b, "cannot prepare", &err);
        return;
    }
    b->phase = KINO_DEVICE_PREPARED;
    kino__device_sample(b);
}

/* It may record from the begin of its start on: a thread that it makes there is at work already. */
static void start_backend(kino__backend *b)
{
    kino_error err = {0};
    if (b->phase != KINO_DEVICE_PREPARED)
        return;
    __atomic_store_n(&b->is_on, true, __ATOMIC_RELAXED);
    err.code = b->def.start ? b->def.start(b->def.context, &err) : KINO_OK;
    if (err.code == KINO_OK) {
        b->phase = KINO_DEVICE_RECORDING;
        kino__device_sample(b);
        return;
    }
    __atomic_store_n(&b->is_on, false, __ATOMIC_RELAXED);
    exclude(b, "cannot start", &err);
    if (b->def.stop)
        b->def.stop(b->def.context);
    b->phase = KINO_DEVICE_IDLE;
}

static uint64_t now_ns(void)
{
    return (uint64_t)kino__clock_ns(CLOCK_MONOTONIC_RAW);
}

static void stop_backend(kino__backend *b, uint64_t deadline_ns)
{
    if (b->phase != KINO_DEVICE_PREPARED && b->phase != KINO_DEVICE_RECORDING)
        return;
    if (b->phase == KINO_DEVICE_RECORDING)
        kino__device_sample(b);
    __atomic_store_n(&b->is_on, false, __ATOMIC_RELAXED);
    if (b->def.stop)
        b->def.stop(b->def.context);
    if (b->def.flush && b->phase == KINO_DEVICE_RECORDING)
        b->def.flush(b->def.context, deadline_ns);
    b->phase = KINO_DEVICE_IDLE;
}

/* -- what the trace says of them */

static const char *error_of(const kino__backend *b)
{
    if (!b->error[0] && __atomic_load_n(&b->problem_state, __ATOMIC_ACQUIRE) == KINO__PROBLEM_SAID)
        return b->problem;
    return b->error;
}

static void write_backend(kino__json *json, const kino__devices *all, const kino__backend *b)
{
    kino__json_begin_object(json);
    kino__json_key(json, "name");
    kino__json_string(json, kino__str_from(b->name));
    if (b->version[0]) {
        kino__json_key(json, "version");
        kino__json_string(json, kino__str_from(b->version));
    }
    if (b->phase != KINO_DEVICE_FAILED) {
        kino__json_key(json, "devices");
        kino__json_begin_array(json);
        for (uint32_t i = 0; i < all->device_count; i++)
            if (all->devices[i]->backend == b)
                kino__json_uint(json, i);
        kino__json_end_array(json);
        kino__json_key(json, "activities");
        kino__json_uint(json, __atomic_load_n(&b->activities, __ATOMIC_RELAXED));
        kino__json_key(json, "lost");
        kino__json_uint(json, __atomic_load_n(&b->lost, __ATOMIC_RELAXED));
    }
    if (error_of(b)[0]) {
        kino__json_key(json, "error");
        kino__json_string(json, kino__str_from(error_of(b)));
    }
    kino__json_end_object(json);
}

static void write_metadata(kino__tracer *t, const kino__devices *all)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    if (all->backend_count == 0)
        return;
    kino__json_begin_array(&json);
    for (size_t i = 0; i < all->backend_count; i++)
        write_backend(&json, all, all->backends[i]);
    kino__json_end_array(&json);
    /* without memory the trace lacks it, and nothing else */
    bool is_there =
        !text.failed && kino__texts_metadata(&t->texts, KINO__STR("kino_devices"),
                                             kino__buffer_str(&text), false, NULL) == KINO_OK;
    (void)is_there;
    kino__buffer_deinit(&text);
}

/* -- sessions */

void kino__devices_prepare(kino__tracer *t)
{
    const char *list = secure_getenv("KINO_PLUGINS");
    kino__devices *all = kino__devices_get(t); /* for those that come while it is recorded */
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    kino__devices_anchor(all, t->capture->meta->clock);
    if (list && !all->has_loaded) {
        all->has_loaded = true;
        kino__devices_load(all, list);
    }
    kino__devices_look(all);
    all->phase = KINO_DEVICE_PREPARED;
    for (size_t i = 0; i < all->backend_count; i++) {
        stop_backend(all->backends[i], 0); /* of a session that was prepared and given up */
        all->backends[i]->is_excluded = false;
        prepare_backend(all, all->backends[i]);
    }
    kino__groups_reset(&all->groups);
    write_metadata(t, all);
    pthread_mutex_unlock(&all->lock);
}

bool kino__devices_have_groups(kino__tracer *t)
{
    kino__devices *all = find(t);
    if (!all)
        return false;
    pthread_mutex_lock(&all->groups.lock);
    bool is_told = all->groups.is_told;
    pthread_mutex_unlock(&all->groups.lock);
    return is_told;
}

void kino__devices_start(kino__tracer *t)
{
    kino__devices *all = find(t);
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    kino__devices_anchor(all, t->capture->meta->clock);
    all->phase = KINO_DEVICE_RECORDING;
    for (size_t i = 0; i < all->backend_count; i++)
        start_backend(all->backends[i]);
    pthread_mutex_unlock(&all->lock);
}

void kino__devices_stop(kino__tracer *t)
{
    kino__devices *all = find(t);
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    if (all->phase != KINO_DEVICE_IDLE) {
        uint64_t deadline_ns = now_ns() + KINO__DEVICE_FLUSH_NS;
        all->phase = KINO_DEVICE_IDLE;
        for (size_t i = 0; i < all->backend_count; i++)
            stop_backend(all->backends[i], deadline_ns);
        write_metadata(t, all);
        kino__groups_tell(&all->groups, &t->texts);
    }
    pthread_mutex_unlock(&all->lock);
}

void kino__devices_flush(kino__tracer *t)
{
    kino__devices *all = find(t);
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->backend_count; i++) {
        kino__backend *b = all->backends[i];
        if (b->phase == KINO_DEVICE_RECORDING && b->def.flush)
            b->def.flush(b->def.context, now_ns()); /* what is done now, no waiting */
    }
    write_metadata(t, all);
    kino__groups_tell(&all->groups, &t->texts);
    pthread_mutex_unlock(&all->lock);
}

/* The child has one thread; locks may have been held by others. */
void kino__devices_forked(kino__tracer *t)
{
    kino__devices *all = find(t);
    if (!all)
        return;
    init_locks(all);
    for (uint32_t i = 0; i < all->device_count; i++)
        pthread_mutex_init(&all->devices[i]->lock, NULL);
    all->phase = KINO_DEVICE_IDLE;
    __atomic_store_n(&all->pid, getpid(), __ATOMIC_RELAXED);
    for (size_t i = 0; i < all->backend_count; i++) {
        kino__backend *b = all->backends[i];
        if (b->phase != KINO_DEVICE_FAILED)
            b->phase = KINO_DEVICE_IDLE;
        b->is_on = false;
        if (b->def.forked)
            b->def.forked(b->def.context);
    }
}

void kino__devices_select(kino__tracer *t, uint32_t kinds)
{
    kino__devices *all = kino__devices_get(t);
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->kinds = kinds;
    pthread_mutex_unlock(&all->lock);
}

void kino__devices_configure(kino__tracer *t, uint32_t buffer_mb, int32_t device,
                             const char *counters)
{
    kino__devices *all = kino__devices_get(t);
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->buffer_mb = buffer_mb;
    all->counters_device = device;
    size_t size = counters ? strnlen(counters, sizeof all->counters - 1) : 0;
    if (size)
        memcpy(all->counters, counters, size);
    all->counters[size] = '\0';
    pthread_mutex_unlock(&all->lock);
}

/* -- public */

/* What a backend of this name is, or NULL. */
static kino__backend *find_backend(const kino__devices *all, const char *name)
{
    for (size_t i = 0; i < all->backend_count; i++)
        if (strcmp(all->backends[i]->name, name) == 0)
            return all->backends[i];
    return NULL;
}

/* Those that are new take part in what is going on. The lock is held. */
static void join_all(kino__devices *all)
{
    for (size_t i = 0; i < all->backend_count; i++) {
        if (all->phase != KINO_DEVICE_IDLE)
            prepare_backend(all, all->backends[i]);
        if (all->phase == KINO_DEVICE_RECORDING)
            start_backend(all->backends[i]);
    }
}

/* The lock is held. */
static kino_status add_backend(kino__devices *all, const char *name, kino_device_entry entry,
                               kino_error *err)
{
    kino__backend *b = find_backend(all, name);
    if (b && b->phase == KINO_DEVICE_FAILED)
        return kino__fail(err, KINO_UNAVAILABLE, "'%s': %s", name, b->error);
    if (b)
        return KINO_OK;
    KINO_TRY(kino__devices_add(all, name, entry, err));
    join_all(all);
    return KINO_OK;
}

kino_status kino_device_register(const char *name, kino_device_entry entry, kino_error *err)
{
    kino__tracer *t = kino__tracer_get();
    kino__error_clear(err);
    if (!t)
        return kino__tracer_missing(err);
    if (!name || !entry)
        return kino__fail(err, KINO_ARGUMENT, "a backend requires a name and an entry point");
    kino__devices *all = kino__devices_get(t);
    if (!all)
        return kino__fail_nomem(err);
    pthread_mutex_lock(&all->lock);
    kino_status st = add_backend(all, name, entry, err);
    pthread_mutex_unlock(&all->lock);
    return st;
}

void kino_device_look(void)
{
    kino__tracer *t = kino__tracer_get();
    kino__devices *all = t ? kino__devices_get(t) : NULL;
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    if (all->phase != KINO_DEVICE_IDLE) { /* else the next session looks */
        kino__devices_look(all);
        join_all(all);
    }
    pthread_mutex_unlock(&all->lock);
}

kino_status kino_device_get(size_t index, kino_device_state *out)
{
    kino_device_state state = {.size = out ? out->size : 0};
    if (!out || out->size < sizeof state)
        return KINO_ARGUMENT;
    kino__tracer *t = kino__tracer_get();
    kino__devices *all = t ? find(t) : NULL;
    kino_status st = KINO_NOT_FOUND;
    if (!all)
        return st;
    pthread_mutex_lock(&all->lock);
    if (index < all->backend_count) {
        const kino__backend *b = all->backends[index];
        state.phase = b->phase;
        memcpy(state.name, b->name, sizeof state.name);
        memcpy(state.version, b->version, sizeof state.version);
        memcpy(state.error, error_of(b), sizeof state.error);
        for (uint32_t i = 0; i < all->device_count; i++)
            state.devices += all->devices[i]->backend == b;
        state.activities = __atomic_load_n(&b->activities, __ATOMIC_RELAXED);
        state.lost = __atomic_load_n(&b->lost, __ATOMIC_RELAXED);
        *out = state;
        st = KINO_OK;
    }
    pthread_mutex_unlock(&all->lock);
    return st;
}
