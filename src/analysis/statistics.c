/* statistics.c - moments, percentiles, rounding; see the header.
 *
 * A deviation is the root of (S2 - S1 * S1 / n) / (n - 1), the sums being integers: the division
 * leaves a remainder, so nothing cancels, however long the durations are. */
#include "analysis/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

typedef unsigned __int128 wide;

static wide wide_sum(wide a, wide b)
{
    wide sum;
    return __builtin_add_overflow(a, b, &sum) ? ~(wide)0 : sum;
}

static wide square(int64_t value)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    return (wide)size * size;
}

/* -- moments */

void kino__moments_add(kino__moments *m, int64_t value)
{
    m->min = m->count == 0 || value < m->min ? value : m->min;
    m->max = m->count == 0 || value > m->max ? value : m->max;
    m->count++;
    m->sum = kino__sum(m->sum, value);
    m->squares = wide_sum(m->squares, square(value));
}

void kino__moments_merge(kino__moments *m, const kino__moments *more)
{
    if (more->count == 0)
        return;
    m->min = m->count == 0 || more->min < m->min ? more->min : m->min;
    m->max = m->count == 0 || more->max > m->max ? more->max : m->max;
    m->count = kino__sum(m->count, more->count);
    m->sum = kino__sum(m->sum, more->sum);
    m->squares = wide_sum(m->squares, more->squares);
}

double kino__moments_mean(const kino__moments *m)
{
    return m->count > 0 ? (double)m->sum / (double)m->count : NAN;
}

double kino__moments_std(const kino__moments *m)
{
    if (m->count < 2 || m->sum == INT64_MAX || m->sum <= INT64_MIN + 1)
        return NAN; /* none, or a sum at its limit */
    wide count = (wide)m->count, of_sum = square(m->sum);
    wide whole = of_sum / count, rest = of_sum % count;
    if (whole > m->squares) /* a partial from elsewhere may say anything */
        return NAN;
    double spread = (double)(m->squares - whole) - (double)rest / (double)m->count;
    return spread <= 0 ? 0 : sqrt(spread / (double)(m->count - 1));
}

void kino__pack_moments(kino__pack *pack, kino__moments *m)
{
    uint64_t high = (uint64_t)(m->squares >> 64), low = (uint64_t)m->squares;
    KINO__PACK(pack, &m->count, &m->sum, &m->min, &m->max, &high, &low);
    m->squares = (wide)high << 64 | low;
    if (m->count < 0)
        pack->is_damaged = true;
}

/* -- percentiles */

/* Places a byte at a time, from the lowest; bytes that all values share cost a look. */
bool kino__sort_ints(int64_t *values, size_t count)
{
    bool is_sorted = true;
    uint64_t differing = 0;
    for (size_t i = 1; i < count; i++) {
        is_sorted &= values[i - 1] <= values[i];
        differing |= (uint64_t)values[i] ^ (uint64_t)values[0];
    }
    if (is_sorted)
        return true;
    uint64_t *from = malloc(count * sizeof *from), *to = malloc(count * sizeof *to);
    bool ok = from && to;
    for (size_t i = 0; ok && i < count; i++)
        from[i] = (uint64_t)values[i] ^ (UINT64_C(1) << 63); /* negative ones first */
    for (unsigned shift = 0; ok && shift < 64; shift += 8) {
        if ((differing >> shift & 0xff) == 0)
            continue;
        size_t first[257] = {0};
        for (size_t i = 0; i < count; i++)
            first[(from[i] >> shift & 0xff) + 1]++;
        for (size_t b = 0; b < 256; b++)
            first[b + 1] += first[b];
        for (size_t i = 0; i < count; i++)
            to[first[from[i] >> shift & 0xff]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; ok && i < count; i++)
        values[i] = (int64_t)(from[i] ^ (UINT64_C(1) << 63));
    free(from);
    free(to);
    return ok;
}

bool kino__describe(int64_t *values, size_t count, kino__description *out)
{
    *out = (kino__description){0};
    if (!kino__sort_ints(values, count))
        return false;
    for (size_t i = 0; i < count; i++)
        kino__moments_add(&out->moments, values[i]);
    for (size_t q = 0; q < KINO__QUARTILES && count; q++) {
        size_t below = (count - 1) * (q + 1) / 4;
        out->around[q][0] = values[below];
        out->around[q][1] = values[below + 1 < count ? below + 1 : below];
    }
    return true;
}

double kino__description_percentile(const kino__description *d, int quartile)
{
    if (d->moments.count <= 0)
        return NAN;
    int64_t quarters = (d->moments.count - 1) % 4 * (quartile + 1) % 4;
    const int64_t *around = d->around[quartile];
    return (double)around[0] + (double)quarters / 4 * ((double)around[1] - (double)around[0]);
}

void kino__pack_description(kino__pack *pack, kino__description *d)
{
    kino__pack_moments(pack, &d->moments);
    for (int q = 0; q < KINO__QUARTILES; q++) {
        KINO__PACK(pack, &d->around[q][0], &d->around[q][1]);
    }
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

void kino__sort_reals(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, compare_reals);
}

double kino__percentile(const double *sorted, size_t count, double p)
{
    if (count == 0)
        return NAN;
    double place = (double)(count - 1) * p;
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

void kino__describe_reals(double *values, size_t count, kino__real_description *out)
{
    *out = (kino__real_description){.count = (int64_t)count, .mean = NAN, .std = NAN};
    double sum = 0, spread = 0;
    for (size_t i = 0; i < count; i++) /* in the order given: left to right, as the definition */
        sum += values[i];
    if (count)
        out->mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        spread += (values[i] - out->mean) * (values[i] - out->mean);
    if (count > 1)
        out->std = sqrt(spread / (double)(count - 1));
    kino__sort_reals(values, count);
    out->min = count ? values[0] : NAN;
    out->max = count ? values[count - 1] : NAN;
    for (int q = 0; q < KINO__QUARTILES; q++)
        out->percentile[q] = kino__percentile(values, count, (q + 1) / 4.0);
}

/* -- Student's t */

/* The chance of a value between -t and t: the finite sums for odd and even degrees of freedom
 * (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
static double chance_within(double t, size_t freedom)
{
    double angle = atan(t / sqrt((double)freedom)), cosine = cos(angle);
    bool is_odd = freedom % 2;
    double term = is_odd ? cosine : 1, sum = 0;
    for (size_t k = is_odd ? 3 : 2; k <= freedom; k += 2) {
        sum += term;
        term *= cosine * cosine * (double)(k - 1) / (double)k;
    }
    return is_odd ? (angle + sin(angle) * sum) * 2 / acos(-1) : sin(angle) * sum;
}

double kino__student_t(double chance, size_t freedom)
{
    enum { MOST = 200, HALVINGS = 100 };
    freedom = freedom < MOST ? freedom : MOST;
    double low = 0, high = 1;
    while ((1 - chance_within(high, freedom)) / 2 > chance && high < 1e12)
        high *= 2;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        bool is_above = (1 - chance_within(middle, freedom)) / 2 > chance;
        *(is_above ? &low : &high) = middle;
    }
    return high;
}

/* -- rounding */

double kino__round(double value, int decimals)
{
    double scale = pow(10, decimals), scaled = rint(value * scale);
    return isfinite(scaled) ? scaled / scale : value;
}

double kino__round_time(double ns, int64_t unit_ns)
{
    return kino__round(ns / (double)unit_ns, 2) * (double)unit_ns;
}
