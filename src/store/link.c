/* link.c - the slots in which links are kept: made on first use, published once, freed with the
 * trace.
 *
 * For the link_*.c files (link_internal.h). A loaded trace is shared by threads and handed out as
 * const; the pointer to its links is the one thing in it that changes, once, atomically. */
#include "store/link.h"

#include <string.h>

#include "base/lock.h"
#include "store/link_internal.h"

static kino__links *links_new(const kino__allocator *allocator)
{
    kino__links *links = kino__resize(allocator, NULL, 0, sizeof *links);
    if (!links)
        return NULL;
    links->allocator = allocator;
    for (size_t i = 0; i < KINO__LINK_COUNT; i++) {
        atomic_init(&links->slots[i].value, NULL);
        links->slots[i].size = 0;
        kino__mutex_init(&links->slots[i].lock, (kino__lock_rank)(KINO__LOCK_LINK_LAST - i));
    }
    return links;
}

void kino__links_free(kino__links *links)
{
    if (!links)
        return;
    for (size_t i = 0; i < KINO__LINK_COUNT; i++) {
        kino__link_slot *slot = &links->slots[i];
        /* Relaxed: whoever frees the trace is its last user. */
        void *value = atomic_load_explicit(&slot->value, memory_order_relaxed);
        kino__resize(links->allocator, value, slot->size, 0);
        kino__mutex_destroy(&slot->lock);
    }
    kino__resize(links->allocator, links, sizeof *links, 0);
}

static kino__links *links_of(const kino__trace *trace)
{
    /* The one place where const is cast away: lazily made columns are no part of a trace's visible
     * value. */
    kino__links **place = &((kino__trace *)(uintptr_t)trace)->links;
    /* Acquire pairs with the release of the exchange below: who sees the pointer sees initialised
     * slots. */
    kino__links *links = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (links)
        return links;
    kino__links *fresh = links_new(trace->arena.allocator);
    if (!fresh)
        return NULL;
    if (__atomic_compare_exchange_n(place, &links, fresh, false, __ATOMIC_RELEASE,
                                    __ATOMIC_ACQUIRE))
        return fresh;
    kino__links_free(fresh); /* another thread was first; links is its pointer */
    return links;
}

/* What nests by time needs no ids; nor do forward ops, but for flows, which are a link themselves.
 */
static unsigned columns_of(kino__link_id id)
{
    bool needs_ids = id != KINO__LINK_PARENT && id != KINO__LINK_NESTING &&
                     id != KINO__LINK_PYTHON_PARENT && id != KINO__LINK_MODULE &&
                     id != KINO__LINK_FORWARD;
    return needs_ids ? KINO__COLUMN_ALL
                     : KINO__COLUMN_ALL & ~(unsigned)(KINO__COLUMN_BIND | KINO__COLUMN_EXTERNAL);
}

const void *kino__link_get(const kino__trace *trace, kino__link_id id, kino__link_make make)
{
    kino__links *links = links_of(trace);
    if (!links)
        return NULL;
    kino__link_slot *slot = &links->slots[id];
    /* Acquire pairs with the release store below: who sees the value sees what it holds. */
    void *value = atomic_load_explicit(&slot->value, memory_order_acquire);
    if (value)
        return value;
    kino__mutex_lock(&slot->lock);
    /* Relaxed: if another thread stored it, it did so under this lock. */
    value = atomic_load_explicit(&slot->value, memory_order_relaxed);
    if (!value) {
        kino__arena scratch;
        kino__arena_init(&scratch, links->allocator);
        if (kino__trace_need(trace, columns_of(id), NULL))
            value = make(trace, &scratch, &slot->size);
        kino__arena_deinit(&scratch);
        /* Release pairs with the acquire load above. */
        atomic_store_explicit(&slot->value, value, memory_order_release);
    }
    kino__mutex_unlock(&slot->lock);
    return value;
}

const void *kino__link_peek(const kino__trace *trace, kino__link_id id)
{
    kino__links *links = links_of(trace);
    /* Acquire pairs with the release store above. */
    return links ? atomic_load_explicit(&links->slots[id].value, memory_order_acquire) : NULL;
}

void kino__link_forward_forget(kino__trace *trace)
{
    if (!trace->links)
        return;
    kino__link_slot *slot = &trace->links->slots[KINO__LINK_FORWARD];
    /* Relaxed: nobody else uses the trace. */
    void *value = atomic_exchange_explicit(&slot->value, NULL, memory_order_relaxed);
    kino__resize(trace->links->allocator, value, slot->size, 0);
}

void *kino__link_block(const kino__trace *trace, size_t head, size_t count, size_t item,
                       size_t *size)
{
    size_t bytes;
    if (!kino__mul_size(count, item, &bytes) || __builtin_add_overflow(bytes, head + 1, size))
        return NULL;
    return kino__resize(trace->arena.allocator, NULL, 0, *size); /* never 0: NULL means failure */
}

void kino__link_block_free(const kino__trace *trace, void *block, size_t size)
{
    if (block)
        kino__resize(trace->arena.allocator, block, size, 0);
}

uint32_t *kino__link_column(const kino__trace *trace, size_t *size)
{
    uint32_t *column = kino__link_block(trace, 0, trace->event_count, sizeof *column, size);
    if (column)
        memset(column, 0xff, trace->event_count * sizeof *column); /* KINO_NO_ROW */
    return column;
}

void *kino__link_scratch(kino__arena *scratch, size_t count, size_t item)
{
    size_t bytes;
    return kino__mul_size(count, item, &bytes) ? kino__arena_alloc(scratch, bytes) : NULL;
}

void kino__link_innermost(const kino__trace *trace, const uint32_t *parent,
                          const uint8_t *is_wanted, uint32_t *out)
{
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t p = parent[row];
        out[row] = p == KINO_NO_ROW ? KINO_NO_ROW : is_wanted[p] ? p : out[p];
    }
}
