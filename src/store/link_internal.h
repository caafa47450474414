/* link_internal.h - how links are kept and published; for the link_*.c files only.
 *
 * Each link has a slot: an atomic pointer and a lock. The first caller makes the value under the
 * slot's lock and publishes it; later callers see it without locking. A value is one block of
 * memory, so that freeing needs no knowledge of it.
 *
 * Locks: a maker may ask for links that stand above its own in the enum, and for argument columns,
 * never for one below. So locks are always taken in one order, bottom to top, argument columns
 * last. */
#ifndef KINO__STORE_LINK_INTERNAL_H
#define KINO__STORE_LINK_INTERNAL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/lock.h"
#include "store/link.h"

typedef enum kino__link_id {
    KINO__LINK_PARENT,
    KINO__LINK_NESTING,
    KINO__LINK_FLOWS,
    KINO__LINK_LAUNCH,
    KINO__LINK_OP,
    KINO__LINK_STEPS,
    KINO__LINK_FORWARD,
    KINO__LINK_PYTHON_PARENT,
    KINO__LINK_MODULE,
    KINO__LINK_COUNT,
} kino__link_id;

typedef struct kino__link_slot {
    _Atomic(void *) value; /* NULL until made; then never changes */
    size_t size;           /* of the block; guarded by lock */
    kino__mutex lock;      /* held while the value is made */
} kino__link_slot;

struct kino__links {
    const kino__allocator *allocator;
    kino__link_slot slots[KINO__LINK_COUNT];
};

/* A new value: one block from kino__link_block, its size in *size. `scratch` is freed afterwards.
 * NULL: memory is out. */
typedef void *(*kino__link_make)(const kino__trace *trace, kino__arena *scratch, size_t *size);

/* The link, made on first use; NULL when memory is out (the next call tries again). Any thread. */
const void *kino__link_get(const kino__trace *trace, kino__link_id id, kino__link_make make);

/* The same if it was made already, else NULL. */
const void *kino__link_peek(const kino__trace *trace, kino__link_id id);

/* A block for a link's value: `head` bytes, then `count` items of `item` bytes. NULL on overflow or
 * without memory. Not initialised. A maker that fails later gives it back with
 * kino__link_block_free. */
void *kino__link_block(const kino__trace *trace, size_t head, size_t count, size_t item,
                       size_t *size);
void kino__link_block_free(const kino__trace *trace, void *block, size_t size);

/* A column of event_count rows, all KINO_NO_ROW; a block as above. */
uint32_t *kino__link_column(const kino__trace *trace, size_t *size);

/* count items of scratch memory, not initialised; NULL on overflow or without memory. */
void *kino__link_scratch(kino__arena *scratch, size_t count, size_t item);

/* For each row the innermost span around it (by nesting) that `is_wanted` marks, or KINO_NO_ROW:
 * one pass, because a parent stands before its children. */
void kino__link_innermost(const kino__trace *trace, const uint32_t *parent,
                          const uint8_t *is_wanted, uint32_t *out);

/* The end of a row's span. Absent and negative durations count as 0; saturates. */
static inline int64_t kino__link_end(const kino__trace *trace, uint32_t row)
{
    int64_t dur = trace->dur[row], end;
    if (dur <= 0)
        return trace->ts[row];
    return __builtin_add_overflow(trace->ts[row], dur, &end) ? INT64_MAX : end;
}

static inline bool kino__link_is_span(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'X' && trace->ts[row] != KINO_NO_TIME;
}

static inline uint32_t kino__link_kind_bit(const kino__trace *trace, uint32_t row)
{
    return KINO__KIND_BIT(kino__category_kind(trace->category[row]));
}

/* What counts as device work here: activities on a stream, and the synchronisation records beside
 * them. */
#define KINO__LINK_KINDS_DEVICE (KINO__KINDS_DEVICE | KINO__KIND_BIT(KINO__KIND_SYNC))

#endif
