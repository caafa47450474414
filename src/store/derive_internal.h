/* derive_internal.h - between derive.c, which makes the columns, and derive_text.c, which reads the
 * texts of the sources. */
#ifndef KINO__STORE_DERIVE_INTERNAL_H
#define KINO__STORE_DERIVE_INTERNAL_H

#include "store/derive.h"

/* The text of an event in its source, for the odd list: its `a` is the index of one of these. */
typedef struct kino__derived_odd {
    uint64_t offset, size; /* in the source's text */
    uint32_t source, row;
    bool is_end;
} kino__derived_odd;

typedef struct kino__derived_text {
    kino__text text;
    kino__derive_rules rules;
    const kino__trace **sources; /* owned list of borrowed traces */
    size_t source_count;
    KINO__VEC(kino__derived_odd) odd;
} kino__derived_text;

/* The text of a derived trace, still without odd entries; NULL when memory is out. */
kino__derived_text *kino__derived_text_new(const kino__derive *derive);

/* The `place` of a row's arguments. */
static inline uint64_t kino__derived_place(uint32_t source, uint32_t row)
{
    return ((uint64_t)source << 32 | row) + 1;
}

#endif
