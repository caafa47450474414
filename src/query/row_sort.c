/* row_sort.c - counting sort and radix sort. */
#include "query/row_sort.h"

#include <stdlib.h>
#include <string.h>

enum {
    DIGIT_BITS = 11,
    DIGIT_COUNT = 1 << DIGIT_BITS,
    COUNTING_LIMIT = 1 << 22, /* distinct keys a table of counts is made for */
};

/* Keys are offsets from the smallest one, below `range`. */
static bool counting_sort(uint32_t *rows, const int64_t *keys, int64_t least, size_t range,
                          size_t count)
{
    uint32_t *starts = calloc(range + 1, sizeof *starts);
    uint32_t *sorted = malloc(count * sizeof *sorted);
    if (starts && sorted) {
        for (size_t i = 0; i < count; i++)
            starts[(uint64_t)keys[i] - (uint64_t)least + 1]++;
        for (size_t i = 1; i < range; i++)
            starts[i + 1] += starts[i];
        for (size_t i = 0; i < count; i++)
            sorted[starts[(uint64_t)keys[i] - (uint64_t)least]++] = rows[i];
        memcpy(rows, sorted, count * sizeof *rows);
    }
    bool done = starts && sorted;
    free(starts);
    free(sorted);
    return done;
}

/* One digit of the radix sort, from one pair of arrays into the other. */
static void radix_pass(const uint64_t *keys, const uint32_t *rows, uint64_t *keys_out,
                       uint32_t *rows_out, size_t count, unsigned shift)
{
    size_t starts[DIGIT_COUNT + 1] = {0};
    for (size_t i = 0; i < count; i++)
        starts[(keys[i] >> shift & (DIGIT_COUNT - 1)) + 1]++;
    for (size_t i = 1; i < DIGIT_COUNT; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++) {
        size_t at = starts[keys[i] >> shift & (DIGIT_COUNT - 1)]++;
        keys_out[at] = keys[i];
        rows_out[at] = rows[i];
    }
}

static bool radix_sort(uint32_t *rows, int64_t *keys, int64_t least, uint64_t widest, size_t count)
{
    uint64_t *from = (uint64_t *)keys;
    uint64_t *keys_spare = malloc(count * sizeof *keys_spare);
    uint32_t *rows_spare = malloc(count * sizeof *rows_spare);
    bool done = keys_spare && rows_spare;
    if (done) {
        for (size_t i = 0; i < count; i++)
            from[i] -= (uint64_t)least;
        uint64_t *to = keys_spare;
        uint32_t *rows_from = rows, *rows_to = rows_spare;
        for (unsigned shift = 0; shift < 64 && widest >> shift; shift += DIGIT_BITS) {
            radix_pass(from, rows_from, to, rows_to, count, shift);
            uint64_t *swap_keys = from;
            from = to;
            to = swap_keys;
            uint32_t *swap_rows = rows_from;
            rows_from = rows_to;
            rows_to = swap_rows;
        }
        if (rows_from != rows)
            memcpy(rows, rows_from, count * sizeof *rows);
    }
    free(keys_spare);
    free(rows_spare);
    return done;
}

bool kino__row_sort(uint32_t *rows, int64_t *keys, size_t count)
{
    if (count < 2)
        return true;
    int64_t least = keys[0], most = keys[0];
    bool is_sorted = true;
    for (size_t i = 1; i < count; i++) {
        is_sorted &= keys[i - 1] <= keys[i];
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
    }
    if (is_sorted)
        return true;
    uint64_t widest = (uint64_t)most - (uint64_t)least;
    if (widest < COUNTING_LIMIT && widest < 4 * (uint64_t)count + 65536)
        return counting_sort(rows, keys, least, (size_t)widest + 1, count);
    return radix_sort(rows, keys, least, widest, count);
}
