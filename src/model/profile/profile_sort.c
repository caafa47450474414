/* profile_sort.c - sorting lists that consist of a few sorted runs: one run a track.
 *
 *   1 4 9 | 2 3 8 | 5 7      runs are found,
 *   1 2 3 4 8 9 | 5 7        and neighbours merged until one is left
 *
 * Linear for a fixed number of runs, n log n at worst; equals keep their order. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"

typedef KINO__VEC(size_t) bounds;

/* Where runs begin, and the end. */
static bool find_runs(const kino__interval *items, size_t count, bounds *runs)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && items[i - 1].start <= items[i].start)
            continue;
        size_t *slot = kino__vec_add(runs);
        if (!slot)
            return false;
        *slot = i;
    }
    size_t *slot = kino__vec_add(runs);
    if (slot)
        *slot = count;
    return slot != NULL;
}

static void merge(const kino__interval *a, size_t a_count, const kino__interval *b, size_t b_count,
                  kino__interval *out)
{
    size_t i = 0, j = 0;
    while (i < a_count && j < b_count)
        *out++ = b[j].start < a[i].start ? b[j++] : a[i++];
    memcpy(out, a + i, (a_count - i) * sizeof *out);
    memcpy(out + (a_count - i), b + j, (b_count - j) * sizeof *out);
}

bool kino__sort_runs(kino__interval *items, size_t count)
{
    bounds runs = {0};
    kino__interval *spare = NULL, *from = items, *to;
    bool ok = find_runs(items, count, &runs);
    if (ok && runs.count > 2) {
        spare = malloc(count * sizeof *spare);
        ok = spare != NULL;
    }
    for (to = spare; ok && runs.count > 2;) {
        size_t kept = 0;
        for (size_t r = 0; r + 1 < runs.count; r += 2) {
            size_t first = runs.items[r], middle = runs.items[r + 1];
            size_t end = r + 2 < runs.count ? runs.items[r + 2] : middle;
            merge(from + first, middle - first, from + middle, end - middle, to + first);
            runs.items[kept++] = first;
        }
        runs.items[kept++] = count;
        runs.count = kept;
        kino__interval *swap = from;
        from = to;
        to = swap;
    }
    if (ok && from != items)
        memcpy(items, from, count * sizeof *items);
    free(spare);
    kino__vec_deinit(&runs);
    return ok;
}
