/* row_sort.h - stable, linear sorts of row numbers by a key: what makes GROUP BY cheap.
 *
 * A list that is sorted by its last key first and its first key last is ordered by all of them. */
#ifndef KINO__QUERY_ROW_SORT_H
#define KINO__QUERY_ROW_SORT_H

#include <kino/base.h>

/* Sorts rows[0..count) by keys[0..count), ascending, equal keys in their old order. Keys in a
 * small range are counted (one pass), others sorted by digits. keys is used up. False when memory
 * is out. */
KINO_NODISCARD bool kino__row_sort(uint32_t *rows, int64_t *keys, size_t count);

#endif
