/* statistics.h - sums, deviations and percentiles of durations, in exact integers until the end.
 *
 * Conventions (those of pandas, which HTA reports with):
 *   std          of the sample (n - 1); NaN for fewer than two values
 *   percentile p linear: sorted v, h = (n - 1) p, i = floor h: v[i] + (h - i) (v[i + 1] - v[i])
 *   rounding     half to even
 *
 * kino__moments are for partials: they hold integers, and adding them is exact and associative, so
 * they can be merged. Percentiles need all values at once: kino__describe takes those of one trace
 * and leaves the few integers that finish needs. */
#ifndef KINO__ANALYSIS_STATISTICS_H
#define KINO__ANALYSIS_STATISTICS_H

#include "analysis/pack.h"

/* Zeroed: of no values. Sums stay at their limits. */
typedef struct kino__moments {
    int64_t count, sum;
    int64_t min, max; /* 0 while there are no values */
    unsigned __int128 squares;
} kino__moments;

void kino__moments_add(kino__moments *m, int64_t value);
void kino__moments_merge(kino__moments *m, const kino__moments *more);
double kino__moments_mean(const kino__moments *m); /* NaN of none */
double kino__moments_std(const kino__moments *m);
/* Loaded ones always make sense: a negative count is damage. */
void kino__pack_moments(kino__pack *pack, kino__moments *m);

enum { KINO__P25, KINO__P50, KINO__P75, KINO__QUARTILES };

typedef struct kino__description {
    kino__moments moments;
    int64_t around[KINO__QUARTILES][2]; /* the values below and above a percentile */
} kino__description;

/* Of these values, which it sorts. False when memory is out. */
KINO_NODISCARD bool kino__describe(int64_t *values, size_t count, kino__description *out);
/* NaN of none. */
double kino__description_percentile(const kino__description *d, int quartile);
void kino__pack_description(kino__pack *pack, kino__description *d);

/* The same of numbers that are no integers to begin with (bandwidths); sorts them. NaN of none. */
typedef struct kino__real_description {
    int64_t count;
    double mean, std, min, percentile[KINO__QUARTILES], max;
} kino__real_description;
void kino__describe_reals(double *values, size_t count, kino__real_description *out);

void kino__sort_reals(double *values, size_t count);
/* Percentile p (0 to 1) of sorted values; NaN of none. */
double kino__percentile(const double *sorted, size_t count, double p);

/* What a value with Student's t distribution exceeds with this chance (at most a half); from 200
 * degrees of freedom on the value for 200. Freedom is at least 1. */
double kino__student_t(double chance, size_t freedom);

/* Ascending; linear in count. False when memory is out (the values are then as they were). */
KINO_NODISCARD bool kino__sort_ints(int64_t *values, size_t count);

/* Half to even at this many decimals. */
double kino__round(double value, int decimals);
/* A time in ns, rounded to two decimals of the unit (in ns), as HTA rounds what it prints. */
double kino__round_time(double ns, int64_t unit_ns);

#endif
