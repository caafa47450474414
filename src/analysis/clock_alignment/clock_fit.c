/* clock_fit.c - a robust line; see the header.
 *
 * The first slope is the median of the slopes between points half of the list apart (Theil and Sen
 * take all pairs; these are as many as a sort can carry, and as long as can be). Cost: sorts. */
#include "analysis/clock_alignment/clock_fit.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/statistics.h"
#include "store/interval.h"

enum { ROUNDS = 30, SCALE_ROUNDS = 4 };
#define MAD_TO_DEVIATION 1.4826
#define BIWEIGHT         4.685 /* deviations: 95 % as good as least squares where nothing is off */
#define LEAST_SCALE      0.5
#define DEVIATIONS       3.5 /* of the line, that its error covers */
#define SCATTERS         1.2 /* that a rank may leave collectives later than the others, always */

typedef struct fit {
    size_t count;
    double *x, *y, *scratch; /* x from the middle, y from the first offset */
    double base, slope;
    double scale;      /* a deviation of the points */
    double mean, wide; /* weighted: mean of x, sum of squares around it */
} fit;

static int compare_points(const void *a, const void *b)
{
    const kino__clock_point *p = a, *q = b;
    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    return p->away < q->away ? -1 : p->away > q->away;
}

static double median(double *values, size_t count)
{
    kino__sort_reals(values, count);
    return kino__percentile(values, count, 0.5);
}

static double residual(const fit *f, size_t i)
{
    return f->y[i] - f->base - f->slope * f->x[i];
}

static double median_residual(const fit *f)
{
    for (size_t i = 0; i < f->count; i++)
        f->scratch[i] = fabs(residual(f, i));
    return median(f->scratch, f->count);
}

static void set_scale(fit *f)
{
    f->scale = fmax(MAD_TO_DEVIATION * median_residual(f), LEAST_SCALE);
}

static void begin(fit *f)
{
    size_t half = f->count / 2, found = 0;
    for (size_t i = 0; i + half < f->count; i++)
        if (f->x[i + half] > f->x[i])
            f->scratch[found++] = (f->y[i + half] - f->y[i]) / (f->x[i + half] - f->x[i]);
    f->slope = found ? median(f->scratch, found) : 0;
    for (size_t i = 0; i < f->count; i++)
        f->scratch[i] = f->y[i] - f->slope * f->x[i];
    f->base = median(f->scratch, f->count);
}

static double weight(const fit *f, size_t i)
{
    double u = residual(f, i) / (BIWEIGHT * f->scale), rest = 1 - u * u;
    return rest > 0 ? rest * rest : 0;
}

/* Least squares with the weights of the line so far. */
static void improve(fit *f)
{
    double sum = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < f->count; i++) {
        double w = weight(f, i);
        sum += w;
        x += w * f->x[i];
        y += w * f->y[i];
    }
    if (sum <= 0)
        return;
    x /= sum;
    y /= sum;
    for (size_t i = 0; i < f->count; i++) {
        double w = weight(f, i);
        xx += w * (f->x[i] - x) * (f->x[i] - x);
        xy += w * (f->x[i] - x) * (f->y[i] - y);
    }
    f->mean = x;
    f->wide = xx;
    f->slope = xx > 0 ? xy / xx : 0;
    f->base = y - f->slope * x;
}

/* The variance of a point's part in the line (Huber's for an estimate of this kind). */
static double variance(const fit *f)
{
    double squares = 0, slopes = 0, n = (double)f->count;
    for (size_t i = 0; i < f->count; i++) {
        double r = residual(f, i), u = r / (BIWEIGHT * f->scale), rest = 1 - u * u;
        if (rest <= 0)
            continue;
        squares += r * r * rest * rest * rest * rest;
        slopes += rest * (1 - 5 * u * u);
    }
    return slopes > 0 ? squares * n * n / ((n - 2) * slopes * slopes) : INFINITY;
}

static void conclude(const fit *f, int64_t first, int64_t last, kino__clock_line *out)
{
    double n = (double)f->count, of_point = variance(f);
    double left = fabs((double)(first - out->at) - f->mean);
    double right = fabs((double)(last - out->at) - f->mean), far = fmax(left, right);
    double of_slope = f->wide > 0 ? of_point / f->wide : INFINITY;
    out->scatter = median_residual(f);
    out->offset += llround(f->base);
    out->drift = f->slope;
    out->drift_error = DEVIATIONS * sqrt(of_slope);
    out->bias = SCATTERS * out->scatter;
    out->chance = DEVIATIONS * sqrt(of_point / n + of_slope * far * far);
}

static bool init(fit *f, const kino__clock_point *points, size_t count, kino__clock_line *out)
{
    *f = (fit){.count = count, .x = malloc(3 * count * sizeof(double))};
    if (!f->x)
        return false;
    f->y = f->x + count;
    f->scratch = f->y + count;
    *out = (kino__clock_line){.offset = points[0].away};
    out->at = points[0].at + (points[count - 1].at - points[0].at) / 2;
    for (size_t i = 0; i < count; i++) {
        f->x[i] = (double)(points[i].at - out->at);
        f->y[i] = (double)(points[i].away - out->offset);
    }
    return true;
}

bool kino__clock_fit(kino__clock_point *points, size_t count, int64_t first, int64_t last,
                     kino__clock_line *out)
{
    fit f;
    qsort(points, count, sizeof *points, compare_points);
    if (!init(&f, points, count, out))
        return false;
    begin(&f);
    for (int round = 0; round < ROUNDS; round++) {
        if (round < SCALE_ROUNDS)
            set_scale(&f);
        improve(&f);
    }
    conclude(&f, first, last, out);
    free(f.x);
    return true;
}

int64_t kino__clock_to_reference(const kino__clock_line *line, int64_t time)
{
    int64_t moved;
    if (__builtin_sub_overflow(time, line->offset, &moved))
        return time;
    double since = (double)moved - (double)line->at;
    return kino__difference(moved, llround(since * line->drift / (1 + line->drift)));
}
