/* record_sort.h - sorting many records that have an integer key: linear, where qsort is not. */
#ifndef KINO__BASE_RECORD_SORT_H
#define KINO__BASE_RECORD_SORT_H

#include <kino/base.h>

typedef int64_t (*kino__record_key)(const void *record);

/* Sorts by the keys, the most important one first, and by `compare` where all of them are equal;
 * compare also knows the keys: it alone says what the order is, the keys make it quick. Records
 * that are in order already cost one pass. False when memory is out. */
KINO_NODISCARD bool kino__records_sort(void *records, size_t count, size_t size,
                                       const kino__record_key *keys, size_t key_count,
                                       int (*compare)(const void *a, const void *b));

#endif
