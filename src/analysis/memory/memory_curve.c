/* memory_curve.c - fewer points of a curve: largest triangle, three buckets.
 *
 * The arithmetic is that of the TensorBoard plugin step by step, in doubles, because which of
 * nearly equal triangles is the largest depends on it. */
#include <math.h>

#include "analysis/memory/memory_internal.h"

/* Points [first, first + size) of the n-th run of `inner` points cut into `runs`. */
typedef struct run {
    size_t first, size;
} run;

static run run_at(size_t index, size_t inner, size_t runs)
{
    size_t size = inner / runs, longer = inner % runs;
    size_t before = index < longer ? index : longer;
    return (run){1 + index * size + before, size + (index < longer)};
}

static kino__memory_point mean_of(const kino__memory_point *points, run r)
{
    kino__memory_point sum = {0, 0};
    for (size_t i = r.first; i < r.first + r.size; i++) {
        sum.x += points[i].x;
        sum.y += points[i].y;
    }
    return (kino__memory_point){sum.x / (double)r.size, sum.y / (double)r.size};
}

static size_t largest(const kino__memory_point *points, run r, kino__memory_point a,
                      kino__memory_point c)
{
    size_t best = r.first;
    double best_area = -1;
    for (size_t i = r.first; i < r.first + r.size; i++) {
        /* two products, then their difference: never fused, so that all machines agree */
        volatile double up = (a.x - c.x) * (points[i].y - a.y);
        volatile double down = (a.x - points[i].x) * (c.y - a.y);
        double area = 0.5 * fabs(up - down);
        if (area > best_area) {
            best_area = area;
            best = i;
        }
    }
    return best;
}

void kino__memory_thin(const kino__memory_point *points, size_t count, size_t wanted, size_t kept,
                       size_t *places)
{
    size_t runs = wanted - 2, inner = count - 2;
    places[0] = 0;
    for (size_t i = 0; i < runs; i++) {
        run this = run_at(i, inner, runs);
        run next = i + 1 < runs ? run_at(i + 1, inner, runs) : (run){count - 1, 1};
        if (kept >= this.first && kept - this.first < this.size)
            places[i + 1] = kept;
        else
            places[i + 1] = largest(points, this, points[places[i]], mean_of(points, next));
    }
    places[wanted - 1] = count - 1;
}
