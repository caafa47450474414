/* keyed_sort.c - by digits of the key, the least important first; digits that all keys share are
 * left out. */
#include "base/keyed_sort.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static void sort_digit(const kino__keyed *from, kino__keyed *to, size_t count, unsigned shift)
{
    size_t first[DIGITS + 1] = {0};
    for (size_t i = 0; i < count; i++)
        first[((uint64_t)from[i].key >> shift & (DIGITS - 1)) + 1]++;
    for (size_t d = 0; d < DIGITS; d++)
        first[d + 1] += first[d];
    for (size_t i = 0; i < count; i++)
        to[first[(uint64_t)from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

bool kino__keyed_sort(kino__keyed *items, size_t count)
{
    const uint64_t sign = UINT64_C(1) << 63; /* flipped, so that negative keys come first */
    bool is_sorted = true;
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++) {
        is_sorted &= items[i - 1].key <= items[i].key;
        differing |= (uint64_t)items[i].key ^ (uint64_t)items[0].key;
    }
    if (is_sorted)
        return true;
    kino__keyed *other = malloc(count * sizeof *other);
    if (!other)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i].key = (int64_t)((uint64_t)items[i].key ^ sign);
    kino__keyed *from = items, *to = other;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differing >> shift & (DIGITS - 1)) == 0)
            continue;
        sort_digit(from, to, count, shift);
        kino__keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i].key = (int64_t)((uint64_t)items[i].key ^ sign);
    free(other);
    return true;
}
