/* row_rank.h - a set of rows that knows the place of each: for tables with an entry for some rows
 * of a trace, which would be mostly empty with one for all. A bit a row, and a count for 64 of
 * them. */
#ifndef KINO__BASE_ROW_RANK_H
#define KINO__BASE_ROW_RANK_H

#include <kino/base.h>

typedef struct kino__row_rank {
    uint64_t *bits;
    uint32_t *before; /* rows of the set before these 64 */
    size_t words;
} kino__row_rank;

/* An empty set of rows below `count`; false when memory is out. */
KINO_NODISCARD bool kino__row_rank_init(kino__row_rank *set, uint32_t count);
void kino__row_rank_deinit(kino__row_rank *set);

static inline void kino__row_rank_add(kino__row_rank *set, uint32_t row)
{
    set->bits[row / 64] |= (uint64_t)1 << row % 64;
}

/* When all rows are there, before the first question for a place. Returns how many there are. */
uint32_t kino__row_rank_count(kino__row_rank *set);

static inline bool kino__row_rank_has(const kino__row_rank *set, uint32_t row)
{
    return set->bits[row / 64] >> row % 64 & 1;
}

/* How many rows of the set stand before this one. */
static inline uint32_t kino__row_rank_of(const kino__row_rank *set, uint32_t row)
{
    uint64_t below = set->bits[row / 64] & (((uint64_t)1 << row % 64) - 1);
    return set->before[row / 64] + (uint32_t)__builtin_popcountll(below);
}

#endif
