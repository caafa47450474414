/* record_function_callbacks.c - adding, removing, carrying over: the public functions that change
 * who listens. All of them change lists under the registry's lock and have the tables made anew. */
#include <stdlib.h>

#include "base/error.h"
#include "tracer/function/record_function_internal.h"

struct kino_record_state {
    kino__record_list locals; /* holds references */
    bool is_enabled;
};

static kino_status begin(kino__record_registry **r, kino_error *err)
{
    kino__error_clear(err);
    *r = kino__record_registry_get();
    return *r ? KINO_OK : kino__tracer_missing(err);
}

static void rebuild(kino__record_registry *r, kino__record_thread *thread)
{
    kino__record_lock(thread);
    kino__record_rebuild(r, thread);
    kino__record_unlock(thread);
}

/* -- adding and removing */

/* `thread` NULL: to the global list. */
static kino_status add(kino__record_registry *r, kino__record_thread *thread,
                       const kino_record_callback *callback, uint64_t *handle, kino_error *err)
{
    kino__record_entry *entry;
    KINO_TRY(kino__record_entry_new(callback, &entry, err));
    uint64_t made = __atomic_add_fetch(&r->next_handle, 1, __ATOMIC_RELAXED);
    entry->handle = made;
    pthread_mutex_lock(&r->lock);
    bool has_room = kino__record_append(thread ? &thread->locals : &r->globals, entry);
    if (has_room && thread)
        rebuild(r, thread);
    else if (has_room)
        kino__record_rebuild_all(r);
    pthread_mutex_unlock(&r->lock);
    if (!has_room) {
        free(entry); /* not released: what it points to is the caller's still */
        return kino__fail(err, KINO_LIMIT, "too many callbacks (limit: %d)",
                          (int)KINO_RECORD_CALLBACKS_MAX);
    }
    if (handle)
        *handle = made;
    return KINO_OK;
}

kino_status kino_record_add_global(const kino_record_callback *callback, uint64_t *handle,
                                   kino_error *err)
{
    kino__record_registry *r;
    if (handle)
        *handle = 0;
    KINO_TRY(begin(&r, err));
    return add(r, NULL, callback, handle, err);
}

kino_status kino_record_add_local(const kino_record_callback *callback, uint64_t *handle,
                                  kino_error *err)
{
    kino__record_registry *r;
    if (handle)
        *handle = 0;
    KINO_TRY(begin(&r, err));
    kino__record_thread *thread = kino__record_thread_get();
    return thread ? add(r, thread, callback, handle, err) : kino__fail_nomem(err);
}

static kino_status fail_handle(uint64_t handle, kino_error *err)
{
    return kino__fail(err, KINO_NOT_FOUND, "no callback %llu in this process or thread",
                      (unsigned long long)handle);
}

/* The references of what is taken out are dropped when the lock is free: `release` is not ours. */
kino_status kino_record_remove(uint64_t handle, kino_error *err)
{
    kino__record_registry *r;
    kino__record_entry *entry = NULL;
    KINO_TRY(begin(&r, err));
    kino__record_thread *thread = kino__record_thread_get();
    pthread_mutex_lock(&r->lock);
    if (thread)
        entry = kino__record_cut_out(&thread->locals, handle);
    if (entry) {
        rebuild(r, thread);
    } else if (handle != r->spans_handle) {
        entry = kino__record_cut_out(&r->globals, handle);
        if (entry)
            kino__record_rebuild_all(r);
    }
    pthread_mutex_unlock(&r->lock);
    if (!entry)
        return fail_handle(handle, err);
    kino__record_unref(entry);
    return KINO_OK;
}

kino_status kino_record_set_enabled(uint64_t handle, bool is_enabled, kino_error *err)
{
    kino__record_registry *r;
    KINO_TRY(begin(&r, err));
    kino__record_thread *thread = kino__record_thread_get();
    pthread_mutex_lock(&r->lock);
    int local = thread ? kino__record_find(&thread->locals, handle) : -1;
    int global = kino__record_find(&r->globals, handle);
    if (local >= 0) {
        thread->locals.items[local].is_enabled = is_enabled;
        rebuild(r, thread);
    } else if (global >= 0) {
        r->globals.items[global].is_enabled = is_enabled;
        kino__record_rebuild_all(r);
    }
    pthread_mutex_unlock(&r->lock);
    return local >= 0 || global >= 0 ? KINO_OK : fail_handle(handle, err);
}

/* The recorder's own callback stays: it is the session's. */
void kino_record_clear_global(void)
{
    kino__record_registry *r = kino__record_registry_get();
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    kino__record_list all = r->globals, gone = {0};
    r->globals.count = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        bool is_ours = all.items[i].entry->handle == r->spans_handle;
        kino__record_list *to = is_ours ? &r->globals : &gone;
        to->items[to->count++] = all.items[i];
    }
    kino__record_rebuild_all(r);
    pthread_mutex_unlock(&r->lock);
    kino__record_drop_all(&gone);
}

uint32_t kino_record_count_global(void)
{
    kino__record_registry *r = kino__record_registry_get();
    if (!r)
        return 0;
    pthread_mutex_lock(&r->lock);
    uint32_t count = r->globals.count - (r->spans_handle ? 1 : 0);
    pthread_mutex_unlock(&r->lock);
    return count;
}

uint32_t kino_record_count_local(void)
{
    const kino__record_thread *thread = kino__record_thread_get();
    return thread ? thread->locals.count : 0; /* only this thread changes them */
}

void kino_record_set_seed(uint64_t seed)
{
    kino__record_registry *r = kino__record_registry_get();
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->seed = seed;
    for (kino__record_thread *thread = r->threads; thread; thread = thread->next) {
        kino__record_lock(thread);
        thread->random = kino__record_seed(r, thread);
        kino__record_rebuild(r, thread);
        kino__record_unlock(thread);
    }
    pthread_mutex_unlock(&r->lock);
}

/* -- guards */

bool kino_record_enable(bool is_enabled)
{
    kino__record_thread *thread = kino__record_thread_get();
    if (!thread)
        return false;
    kino__record_lock(thread);
    bool before = thread->is_enabled;
    thread->is_enabled = is_enabled;
    kino__record_publish(thread);
    kino__record_unlock(thread);
    return before;
}

bool kino_record_is_enabled(void)
{
    const kino__record_thread *thread = kino__record_thread_get();
    return thread && thread->is_enabled; /* only this thread changes it */
}

/* -- the state of a thread */

kino_record_state *kino_record_state_capture(void)
{
    const kino__record_thread *thread = kino__record_thread_get();
    kino_record_state *state = thread ? malloc(sizeof *state) : NULL;
    if (!state)
        return NULL;
    *state = (kino_record_state){thread->locals, thread->is_enabled};
    for (uint32_t i = 0; i < state->locals.count; i++)
        kino__record_ref(state->locals.items[i].entry);
    return state;
}

static void install(kino__record_registry *r, kino__record_thread *thread,
                    const kino__record_list *locals, bool is_enabled)
{
    for (uint32_t i = 0; i < locals->count; i++)
        kino__record_ref(locals->items[i].entry);
    pthread_mutex_lock(&r->lock);
    kino__record_list before = thread->locals;
    kino__record_lock(thread);
    thread->locals = *locals;
    thread->is_enabled = is_enabled;
    kino__record_rebuild(r, thread);
    kino__record_unlock(thread);
    pthread_mutex_unlock(&r->lock);
    kino__record_drop_all(&before);
}

void kino_record_state_install(const kino_record_state *state)
{
    kino__record_thread *thread = state ? kino__record_thread_get() : NULL;
    if (thread)
        install(kino__record_registry_get(), thread, &state->locals, state->is_enabled);
}

void kino_record_state_free(kino_record_state *state)
{
    if (!state)
        return;
    kino__record_drop_all(&state->locals);
    free(state);
}

void kino_record_clear_local(void)
{
    static const kino__record_list none;
    kino__record_thread *thread = kino__record_thread_get();
    if (thread)
        install(kino__record_registry_get(), thread, &none, thread->is_enabled);
}
