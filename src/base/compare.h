/* compare.h - orders for qsort. */
#ifndef KINO__BASE_COMPARE_H
#define KINO__BASE_COMPARE_H

#include <stdint.h>

/* Ascending int64_t. */
static inline int kino__compare_ints(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Ascending uint32_t. */
static inline int kino__compare_uint32s(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

#endif
