/* interval.h - algebra of half-open intervals of time [start, end): union, intersection,
 * subtraction, total.
 *
 * A list in *normal form* is sorted, its intervals are not empty and neither overlap nor touch; so
 * equal sets of time are equal lists. kino__intervals_unite makes it from any list that is sorted
 * by start; the other functions take and give it. All are linear; nothing is shared, so any thread
 * may work on its own lists.
 *
 *   kino__intervals busy = {0};
 *   ... kino__interval *slot = kino__vec_add(&busy); ...
 *   kino__intervals_sort(busy.items, busy.count);
 *   busy.count = kino__intervals_unite(busy.items, busy.count);
 *   int64_t busy_ns = kino__intervals_total(busy.items, busy.count);
 *   kino__vec_deinit(&busy); */
#ifndef KINO__STORE_INTERVAL_H
#define KINO__STORE_INTERVAL_H

#include <kino/base.h>

#include "base/vec.h"

typedef struct kino__interval {
    int64_t start, end; /* empty when end <= start */
} kino__interval;

typedef KINO__VEC(kino__interval) kino__intervals;

/* The interval of an event. Absent and negative durations count as 0; saturates at the largest
 * time. */
static inline kino__interval kino__interval_of(int64_t ts, int64_t dur)
{
    int64_t end;
    if (dur <= 0)
        return (kino__interval){ts, ts};
    return (kino__interval){ts, __builtin_add_overflow(ts, dur, &end) ? INT64_MAX : end};
}

/* Times that can be added up without care: within 36 years of the run's origin, shorter than 104
 * days. Damaged traces have others; analyses leave them out, and completeness counts them. */
static inline bool kino__time_is_sane(int64_t ts, int64_t dur)
{
    const int64_t farthest = (int64_t)1 << 60, longest = (int64_t)1 << 53;
    return ts > -farthest && ts < farthest && dur > -longest && dur < longest;
}

/* A sum that stays at the limit instead of going over it: a trace, or a partial from elsewhere, may
 * hold any number. */
static inline int64_t kino__sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN + 1 : INT64_MAX) : sum;
}

/* The same for a difference and a product. */
static inline int64_t kino__difference(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? (a < b ? INT64_MIN + 1 : INT64_MAX)
                                                     : difference;
}

static inline int64_t kino__product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN + 1)
                                                  : product;
}

/* Sorts by start, then end; for lists that do not come sorted. Nothing happens to one that is. */
void kino__intervals_sort(kino__interval *items, size_t count);

/* Brings a list sorted by start into normal form, in place; returns the new count. */
size_t kino__intervals_unite(kino__interval *items, size_t count);

/* The following append to nothing: *out is emptied first and keeps its memory. It must be neither a
 * nor b. False when memory is out (*out is then empty). */
bool kino__intervals_union(const kino__intervals *a, const kino__intervals *b,
                           kino__intervals *out);
bool kino__intervals_intersect(const kino__intervals *a, const kino__intervals *b,
                               kino__intervals *out);
/* What of a is not in b. */
bool kino__intervals_subtract(const kino__intervals *a, const kino__intervals *b,
                              kino__intervals *out);

/* The time covered by a list in normal form; saturates. */
int64_t kino__intervals_total(const kino__interval *items, size_t count);

#endif
