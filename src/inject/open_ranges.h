/* open_ranges.h - the calling thread's open ranges and the names it used before, and the short way
 * through both: what a push and a pop of the default domain cost. open_ranges.c has everything
 * else. */
#ifndef KINO__INJECT_OPEN_RANGES_H
#define KINO__INJECT_OPEN_RANGES_H

#include <string.h>
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

#include "inject/inject.h"

enum {
    KINO__LANE_NAMES = 128,     /* that a thread keeps */
    KINO__LANE_NAME_BYTES = 88, /* of each, with its zero */
    KINO__LANE_PAGE = 4096,     /* the smallest there is */
    KINO__LANE_FREE = 1,        /* nobody's address, and not NULL */
};

/* A name by the address of its text; the text itself is compared, because programs make texts in
 * the same place. */
typedef struct kino__lane_name {
    uintptr_t key; /* the address when the short way may be taken; KINO__LANE_FREE: none */
    uint64_t head; /* of records: text, kind, flags */
    uint64_t number;
    uint32_t text;
    uint32_t size; /* of the text with its zero */
    uint32_t rest; /* a bit for each of the first 32 bytes that are not of the text */
    bool is_mark, is_numbered;
    char copy[KINO__LANE_NAME_BYTES] __attribute__((aligned(8)));
} kino__lane_name;
_Static_assert(sizeof(kino__lane_name) == 128, "found by a shift");

/* An open range. */
typedef struct kino__lane_range {
    kino_impl_v1_segment *segment; /* of its record; NULL: `place` is a span, or 0 */
    uint64_t stamp;                /* of the segment */
    uint64_t place;                /* address of the record */
    uint64_t reserved;
} kino__lane_range;
_Static_assert(sizeof(kino__lane_range) == 32, "found by a shift");

/* While more ranges are open than there is room for, depth is 0: so the short ways need no test for
 * that. */
typedef struct kino__lane_stack {
    kino__lane_range *open;
    uint32_t depth, room;
    uint32_t beyond; /* ranges that are counted only */
} kino__lane_stack;

typedef struct kino__open_ranges {
    kino__lane_stack ranges;  /* of the default domain */
    kino__lane_stack *stacks; /* of the others, by number */
    uint32_t stack_count;
    kino__lane_name names[KINO__LANE_NAMES];
} kino__open_ranges;

/* The thread's; an empty one that nobody writes until it has its own.
 * NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables) */
extern __thread kino__open_ranges *kino__lane_mine __attribute__((tls_model("initial-exec")));

static inline kino__lane_name *kino__lane_place(kino__open_ranges *lane, const char *message)
{
    uintptr_t address = (uintptr_t)message;
    return &lane->names[address / 8 % KINO__LANE_NAMES];
}

#if defined(__SSE2__)
/* Can the text be compared at once, 32 bytes of it, without touching another page? */
static inline bool kino__lane_is_short(const char *message, size_t size)
{
    return size <= 32 && (uintptr_t)message % KINO__LANE_PAGE <= KINO__LANE_PAGE - 32;
}

/* Bytes behind the text may be read, and do not count. */
__attribute__((no_sanitize("address", "thread"))) static inline bool
kino__lane_is_same(const kino__lane_name *name, const char *message)
{
    const __m128i *theirs = (const __m128i *)(const void *)message;
    const __m128i *ours = (const __m128i *)(const void *)name->copy;
    __m128i low = _mm_cmpeq_epi8(_mm_loadu_si128(theirs), _mm_loadu_si128(ours));
    __m128i high = _mm_cmpeq_epi8(_mm_loadu_si128(theirs + 1), _mm_loadu_si128(ours + 1));
    uint32_t same = (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << 16;
    return (same | name->rest) == UINT32_MAX;
}
#else
static inline bool kino__lane_is_short(const char *message, size_t size)
{
    return message != NULL && size > 0;
}

static inline bool kino__lane_is_same(const kino__lane_name *name, const char *message)
{
    return strcmp(name->copy, message) == 0;
}
#endif

/* The long ways. */
int kino__lane_push_slow(const char *message);
int kino__lane_pop_slow(void);

/* kino_impl_v1_begin for a name that is known: the same record. The clock is read before the name
 * is looked at: both then happen at the same time, and the span is a few ns longer for it. */
static inline int kino__lane_push(const char *message)
{
    kino__open_ranges *lane = kino__lane_mine;
    const kino__lane_name *name = kino__lane_place(lane, message);
    uint32_t depth = lane->ranges.depth;
    kino_impl_v1_segment *segment =
        kino_impl_v1_room(__atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED), 1, 1);
    if (__builtin_expect(!segment || name->key != (uintptr_t)message || depth >= lane->ranges.room,
                         0))
        return kino__lane_push_slow(message);
    uint64_t now = kino_impl_v1_ticks();
    if (__builtin_expect(!kino__lane_is_same(name, message), 0))
        return kino__lane_push_slow(message);
    uint32_t count = segment->count;
    kino_impl_v1_record *record = kino_impl_v1_next(segment, count);
    kino__lane_range *range = &lane->ranges.open[depth];
    range->segment = segment;
    range->stamp = segment->stamp;
    range->place = (uint64_t)(uintptr_t)record;
    lane->ranges.depth = depth + 1;
    kino_impl_v1_fill(record, now, 0, name->head, name->number);
    __atomic_store_n(&segment->count, count + 1, __ATOMIC_RELEASE);
    return (int)depth;
}

/* kino_impl_v1_end for a span of the same thread: nobody else takes its segment, so that an
 * unchanged stamp says enough. */
static inline int kino__lane_pop(void)
{
    kino__open_ranges *lane = kino__lane_mine;
    uint32_t depth = lane->ranges.depth - 1;
    if (__builtin_expect(depth == UINT32_MAX, 0))
        return kino__lane_pop_slow();
    const kino__lane_range *range = &lane->ranges.open[depth];
    const kino_impl_v1_segment *segment = range->segment;
    if (__builtin_expect(
            !segment || __atomic_load_n(&segment->stamp, __ATOMIC_RELAXED) != range->stamp, 0))
        return kino__lane_pop_slow();
    uint64_t now = kino_impl_v1_ticks();
    kino_impl_v1_record *record = (kino_impl_v1_record *)(uintptr_t)range->place;
    lane->ranges.depth = depth;
    __atomic_store_n(&record->end, now, __ATOMIC_RELAXED);
    return (int)depth;
}

#endif
