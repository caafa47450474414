/* interval.c - algebra of half-open intervals; see the header.
 *
 * Every operation is a merge of two sorted lists with one finger in each. */
#include "store/interval.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const kino__interval *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

void kino__intervals_sort(kino__interval *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (compare(&items[i - 1], &items[i]) > 0) {
            qsort(items, count, sizeof *items, compare);
            return;
        }
    }
}

size_t kino__intervals_unite(kino__interval *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kino__interval next = items[i];
        if (next.end <= next.start)
            continue;
        if (kept && next.start <= items[kept - 1].end) {
            if (next.end > items[kept - 1].end)
                items[kept - 1].end = next.end;
        } else {
            items[kept++] = next;
        }
    }
    return kept;
}

/* Appends; intervals come sorted by start, and what touches the last one joins it. */
static bool add(kino__intervals *out, int64_t start, int64_t end)
{
    kino__interval *last = out->count ? &out->items[out->count - 1] : NULL;
    if (last && start <= last->end) {
        if (end > last->end)
            last->end = end;
        return true;
    }
    kino__interval *slot = kino__vec_add(out);
    if (!slot) {
        out->count = 0;
        return false;
    }
    *slot = (kino__interval){start, end};
    return true;
}

bool kino__intervals_union(const kino__intervals *a, const kino__intervals *b, kino__intervals *out)
{
    size_t i = 0, j = 0;
    out->count = 0;
    while (i < a->count || j < b->count) {
        bool is_a = j == b->count || (i < a->count && a->items[i].start <= b->items[j].start);
        const kino__interval *next = is_a ? &a->items[i++] : &b->items[j++];
        if (!add(out, next->start, next->end))
            return false;
    }
    return true;
}

bool kino__intervals_intersect(const kino__intervals *a, const kino__intervals *b,
                               kino__intervals *out)
{
    size_t i = 0, j = 0;
    out->count = 0;
    while (i < a->count && j < b->count) {
        const kino__interval *x = &a->items[i], *y = &b->items[j];
        int64_t start = x->start > y->start ? x->start : y->start;
        int64_t end = x->end < y->end ? x->end : y->end;
        if (start < end && !add(out, start, end))
            return false;
        if (x->end < y->end)
            i++;
        else
            j++;
    }
    return true;
}

bool kino__intervals_subtract(const kino__intervals *a, const kino__intervals *b,
                              kino__intervals *out)
{
    size_t j = 0;
    out->count = 0;
    for (size_t i = 0; i < a->count; i++) {
        int64_t start = a->items[i].start, end = a->items[i].end;
        while (j < b->count && b->items[j].end <= start)
            j++;
        /* b[j] may reach into the next interval of a as well, so the finger stays on it. */
        for (size_t k = j; k < b->count && b->items[k].start < end; k++) {
            if (b->items[k].start > start && !add(out, start, b->items[k].start))
                return false;
            if (b->items[k].end > start)
                start = b->items[k].end;
            j = k;
        }
        if (start < end && !add(out, start, end))
            return false;
    }
    return true;
}

int64_t kino__intervals_total(const kino__interval *items, size_t count)
{
    int64_t total = 0, length;
    for (size_t i = 0; i < count; i++)
        if (__builtin_sub_overflow(items[i].end, items[i].start, &length) ||
            __builtin_add_overflow(total, length, &total))
            return INT64_MAX;
    return total;
}
