/* record_function.c - a function that runs: who takes part, start, end.
 *
 * Opening copies what is needed of each callback into the function itself, so what happens to the
 * lists afterwards does not concern it: a callback that is removed still gets its end, and no
 * entry is touched after the lock is free. Only callbacks that want to be told when they are no
 * longer used (release) are counted per function. */
#include <stdlib.h>

#include "tracer/function/record_function_internal.h"

enum {
    SPILLED = KINO__RECORD_ROWS - KINO_IMPL_RECORD_INLINE,
};

static kino_impl_v1_record_slot *slot_of(kino_record_function *fn, uint32_t i)
{
    return i < KINO_IMPL_RECORD_INLINE ? &fn->slots[i] : &fn->more[i - KINO_IMPL_RECORD_INLINE];
}

/* -- open */

static void take_part(kino_record_function *fn, kino__record_entry *entry)
{
    const kino_record_callback *callback = &entry->callback;
    if (fn->callback_count == KINO_IMPL_RECORD_INLINE && !fn->more)
        return; /* there was no memory for more */
    kino__record_entry *pinned = callback->release ? entry : NULL;
    if (pinned)
        kino__record_ref(pinned);
    *slot_of(fn, fn->callback_count++) =
        (kino_impl_v1_record_slot){callback->start, callback->end, callback->user, NULL, pinned};
    fn->needs |= callback->needs;
}

static void choose(kino__record_thread *thread, kino_record_function *fn, uint32_t scope)
{
    bool is_sample = kino__record_count_down(thread, scope);
    for (uint32_t i = 0; i < thread->row_count; i++) {
        kino__record_row *row = &thread->rows[i];
        const kino_record_callback *callback = &row->entry->callback;
        if (!(callback->scopes >> scope & 1))
            continue;
        if (callback->probability < 1) {
            if (!is_sample || row->tries[scope] != 0)
                continue;
            row->tries[scope] = kino__record_tries(&thread->random, callback->probability);
        }
        take_part(fn, row->entry);
    }
    if (is_sample)
        kino__record_wind_up(thread, scope);
}

/* Sets all fields but name and slots. */
static void describe(kino_record_function *fn, const kino__record_thread *thread)
{
    fn->is_async = fn->is_started = false;
    fn->name = "";
    fn->site = NULL;
    fn->id = 0;
    if (fn->needs & KINO_RECORD_IDS)
        fn->id = __atomic_add_fetch(&kino__record_registry_get()->next_id, 1, __ATOMIC_RELAXED);
    fn->sequence = fn->debug_handle = -1;
    fn->thread = thread->id;
    fn->forward_thread = 0;
    fn->inputs = fn->outputs = NULL;
    fn->input_count = fn->output_count = 0;
}

bool kino_impl_v1_record_open(kino_record_function *fn, kino_record_scope scope)
{
    kino__record_thread *thread = kino__record_thread_get();
    fn->callback_count = fn->needs = 0;
    fn->scope = scope;
    fn->more = NULL;
    if (!thread || thread->is_calling || (uint32_t)scope >= KINO_SCOPE_COUNT)
        return false;
    kino__record_lock(thread);
    if (thread->row_count > KINO_IMPL_RECORD_INLINE) {
        kino__record_unlock(thread); /* nobody waits for the allocator */
        fn->more = malloc(SPILLED * sizeof *fn->more);
        kino__record_lock(thread);
    }
    if (thread->is_enabled && thread->scopes >> (uint32_t)scope & 1)
        choose(thread, fn, (uint32_t)scope);
    kino__record_unlock(thread);
    if (fn->callback_count == 0) {
        free(fn->more);
        return false;
    }
    describe(fn, thread);
    return true;
}

/* -- start */

static void run_starts(kino_record_function *fn)
{
    kino__record_thread *thread = kino__record_thread_get();
    if (!thread)
        return;
    bool was_calling = thread->is_calling;
    fn->is_started = true;
    thread->is_calling = true;
    for (uint32_t i = 0; i < fn->callback_count; i++) {
        kino_impl_v1_record_slot *slot = slot_of(fn, i);
        if (slot->start)
            slot->context = slot->start(fn, slot->user);
    }
    thread->is_calling = was_calling;
    fn->inputs = NULL;
    fn->input_count = 0;
}

void kino_record_start(kino_record_function *fn, const kino_record_details *details)
{
    if (fn->callback_count == 0 || fn->is_started || details->size < sizeof *details)
        return;
    fn->name = details->name ? details->name : "";
    fn->site = details->site;
    fn->is_async = details->is_async;
    fn->sequence = details->sequence;
    fn->forward_thread = details->forward_thread;
    fn->debug_handle = details->debug_handle;
    if (fn->needs & KINO_RECORD_INPUTS && details->inputs) {
        fn->inputs = details->inputs;
        fn->input_count = details->input_count;
    }
    run_starts(fn);
}

void kino_record_start_named(kino_record_function *fn, const char *name)
{
    if (fn->callback_count == 0 || fn->is_started)
        return;
    fn->name = name ? name : "";
    run_starts(fn);
}

void kino_impl_v1_record_start_site(kino_record_function *fn, kino_impl_v1_site *site)
{
    fn->site = site;
    kino_record_start_named(fn, site->name);
}

/* -- end */

void kino_record_set_outputs(kino_record_function *fn, const kino_record_value *outputs,
                             uint32_t count)
{
    if (fn->callback_count == 0 || !(fn->needs & KINO_RECORD_OUTPUTS))
        return;
    fn->outputs = outputs;
    fn->output_count = outputs ? count : 0;
}

static void run_ends(kino_record_function *fn)
{
    kino__record_thread *thread = kino__record_thread_get(); /* perhaps not the one that began */
    if (!thread)
        return;
    bool was_calling = thread->is_calling;
    thread->is_calling = true;
    for (uint32_t i = 0; i < fn->callback_count; i++) {
        kino_impl_v1_record_slot *slot = slot_of(fn, i);
        if (slot->end)
            slot->end(fn, slot->context, slot->user);
    }
    thread->is_calling = was_calling;
}

void kino_impl_v1_record_end(kino_record_function *fn)
{
    if (fn->is_started)
        run_ends(fn);
    for (uint32_t i = 0; i < fn->callback_count; i++)
        kino__record_unref(slot_of(fn, i)->pinned);
    free(fn->more);
    fn->callback_count = 0;
}

/* -- threads */

uint64_t kino_record_thread(void)
{
    const kino__record_thread *thread = kino__record_thread_get();
    return thread ? thread->id : 0;
}

int64_t kino_sequence_peek(void)
{
    const kino__record_thread *thread = kino__record_thread_get();
    return thread ? thread->sequence : 0;
}

int64_t kino_sequence_next(void)
{
    kino__record_thread *thread = kino__record_thread_get();
    return thread ? thread->sequence++ : 0;
}
