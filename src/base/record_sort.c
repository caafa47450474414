/* record_sort.c - records by integer keys; see the header.
 *
 * Keys and places are sorted (stable, the least important key first), the records moved once, and
 * what is equal in all keys put in order behind that. */
#include "base/record_sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed_sort.h"
#include "base/large.h"

typedef int (*comparison)(const void *a, const void *b);

static bool is_sorted(const char *records, size_t count, size_t size, comparison compare)
{
    for (size_t i = 1; i < count; i++)
        if (compare(records + (i - 1) * size, records + i * size) > 0)
            return false;
    return true;
}

static bool sort_places(const char *records, size_t count, size_t size,
                        const kino__record_key *keys, size_t key_count, kino__keyed *places)
{
    for (size_t i = 0; i < count; i++)
        places[i].value = (uint32_t)i;
    for (size_t k = key_count; k-- > 0;) {
        for (size_t i = 0; i < count; i++)
            places[i].key = keys[k](records + places[i].value * size);
        if (!kino__keyed_sort(places, count))
            return false;
    }
    return true;
}

static bool is_tie(const char *a, const char *b, const kino__record_key *keys, size_t key_count)
{
    for (size_t k = 0; k < key_count; k++)
        if (keys[k](a) != keys[k](b))
            return false;
    return true;
}

static void sort_ties(char *records, size_t count, size_t size, const kino__record_key *keys,
                      size_t key_count, comparison compare)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && is_tie(records + first * size, records + end * size, keys, key_count);)
            end++;
        if (!is_sorted(records + first * size, end - first, size, compare))
            qsort(records + first * size, end - first, size, compare);
    }
}

bool kino__records_sort(void *records, size_t count, size_t size, const kino__record_key *keys,
                        size_t key_count, comparison compare)
{
    enum { FEW = 64 };
    if (count < 2 || is_sorted(records, count, size, compare))
        return true;
    if (count <= FEW || count > UINT32_MAX) {
        qsort(records, count, size, compare);
        return true;
    }
    kino__keyed *places = kino__large_new(count, sizeof *places);
    char *moved = kino__large_new(count, size);
    bool ok = places && moved && sort_places(records, count, size, keys, key_count, places);
    if (ok) {
        for (size_t i = 0; i < count; i++)
            memcpy(moved + i * size, (char *)records + places[i].value * size, size);
        sort_ties(moved, count, size, keys, key_count, compare);
        memcpy(records, moved, count * size);
    }
    kino__large_free(places);
    kino__large_free(moved);
    return ok;
}
