/* derive_internal.h - between derive.c, which makes the columns, derive_made.c, which puts events
 * that no source has on tracks, and derive_text.c, which reads the texts of the sources. */
#ifndef KINO__STORE_DERIVE_INTERNAL_H
#define KINO__STORE_DERIVE_INTERNAL_H

#include "store/derive.h"

/* The text of an event in its source, for the odd list: its `a` is the index of one of these. */
typedef struct kino__derived_odd {
    uint64_t offset, size; /* in the source's text */
    uint32_t source, row;  /* source = the number of sources: row is that of an event made */
    bool is_end;
} kino__derived_odd;

typedef struct kino__derived_text {
    kino__text text;
    kino__derive_rules rules;
    const kino__trace **sources; /* owned list of borrowed traces */
    size_t source_count;
    const kino__derive_event *made; /* borrowed */
    size_t made_count;
    KINO__VEC(kino__derived_odd) odd;
} kino__derived_text;

/* The text of a derived trace, still without odd entries; NULL when memory is out. */
kino__derived_text *kino__derived_text_new(const kino__derive *derive);

/* Events that no source has, by the track they come on. Slots are the tracks of the first source,
 * then tracks that it does not have. */
typedef struct kino__made_plan {
    uint32_t *order;  /* events by slot, then time, then as given */
    uint32_t *first;  /* of each slot: where it begins in order; one more at the end */
    uint32_t *models; /* of each slot behind the tracks: a track of the same process */
    uint32_t *target; /* of each event: its row */
    size_t slot_count;
} kino__made_plan;

/* False when memory is out; deinitialise also then. */
KINO_NODISCARD bool kino__made_plan_init(kino__made_plan *plan, const kino__derive *derive);
void kino__made_plan_deinit(kino__made_plan *plan);

/* The `place` of a row's arguments. */
static inline uint64_t kino__derived_place(uint32_t source, uint32_t row)
{
    return ((uint64_t)source << 32 | row) + 1;
}

#endif
