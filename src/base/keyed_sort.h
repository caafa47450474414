/* keyed_sort.h - sorting by an integer key: linear, where qsort is not. */
#ifndef KINO__BASE_KEYED_SORT_H
#define KINO__BASE_KEYED_SORT_H

#include <kino/base.h>

/* A key and what it belongs to. */
typedef struct kino__keyed {
    int64_t key;
    uint32_t value;
} kino__keyed;

/* By key, stable; linear in count. False when memory is out. */
KINO_NODISCARD bool kino__keyed_sort(kino__keyed *items, size_t count);

#endif
