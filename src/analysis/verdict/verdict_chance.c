/* verdict_chance.c - how much slower than its peers a rank may look by chance; see the header.
 *
 * Method: what is left of the peers' times without the mean of each step and of each rank (two-way
 * analysis of variance) gives a deviation, s, with f degrees of freedom. It is joined with the usual
 * one, u, which counts as USUAL_FREEDOM more: s'^2 = (USUAL_FREEDOM u^2 + f s^2) / (USUAL_FREEDOM +
 * f). The limit is t s' sqrt(1/n + 1/(n peers)) for n steps, times 1.2533 for a median.
 *
 *   without one step    one pause makes a deviation of few steps large: the limit without the step
 *                       that fits least counts too, at a chance divided by the steps to choose from
 *   median              from 10 degrees of freedom on, so does that of the median distance
 *   changes that last   steps that are like those before them are as good as fewer steps: by the
 *                       correlation of neighbours */
#include "analysis/verdict/verdict_chance.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"

enum { USUAL_FREEDOM = 4, LEAST_FREEDOM = 10, LEAST_STEPS = 4 };
#define CHANCE 0.001 /* for all ranks together */

typedef struct table {
    double *at; /* ranks x steps */
    size_t ranks, steps;
} table;

static size_t freedom_of(const table *t)
{
    return (t->ranks > 1 ? t->ranks - 1 : 1) * (t->steps - 1);
}

static void take_off(double *at, size_t count, size_t stride, double value)
{
    for (size_t i = 0; i < count; i++)
        at[i * stride] -= value;
}

static double mean_of(const double *at, size_t count, size_t stride)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += at[i * stride];
    return sum / (double)count;
}

static double median_of(const double *at, size_t count, size_t stride, double *room)
{
    for (size_t i = 0; i < count; i++)
        room[i] = at[i * stride];
    kino__sort_reals(room, count);
    return kino__percentile(room, count, 0.5);
}

/* Takes off what is usual in a step, and for a rank: means, or medians where there is room. Of one
 * rank alone a step has nothing usual. */
static void take_off_usual(table *t, double *room)
{
    for (size_t s = 0; t->ranks > 1 && s < t->steps; s++)
        take_off(t->at + s, t->ranks, t->steps,
                 room ? median_of(t->at + s, t->ranks, t->steps, room)
                      : mean_of(t->at + s, t->ranks, t->steps));
    for (size_t r = 0; r < t->ranks; r++) {
        double *row = t->at + r * t->steps;
        take_off(row, t->steps, 1,
                 room ? median_of(row, t->steps, 1, room) : mean_of(row, t->steps, 1));
    }
}

static double squares_of_step(const table *t, size_t step)
{
    double sum = 0;
    for (size_t r = 0; r < t->ranks; r++)
        sum += t->at[r * t->steps + step] * t->at[r * t->steps + step];
    return sum;
}

static double variance_of(const table *t)
{
    double sum = 0;
    for (size_t s = 0; s < t->steps; s++)
        sum += squares_of_step(t, s);
    return sum / (double)freedom_of(t);
}

/* The number of equal steps that one step's news is worth, 1 where neighbours have nothing in
 * common. The mean of few values makes neighbours look unlike: + 1 and - 3 correct that; a likeness
 * within its own error is none. */
static double lasting_of(const table *t)
{
    enum { LEAST_NEIGHBOURS = 8 };
    double freedom = (double)freedom_of(t), products = 0, squares = variance_of(t) * freedom;
    if (t->steps < LEAST_NEIGHBOURS || squares <= 0)
        return 1;
    for (size_t r = 0; r < t->ranks; r++)
        for (size_t s = 1; s < t->steps; s++)
            products += t->at[r * t->steps + s] * t->at[r * t->steps + s - 1];
    double steps = (double)t->steps;
    double likeness = (steps * (products / squares - 1 / sqrt(freedom)) + 1) / (steps - 3);
    likeness = likeness < 0 ? 0 : likeness > 0.9 ? 0.9 : likeness;
    return (1 + likeness) / (1 - likeness);
}

static double limit_of(double variance, double freedom, double usual, double chance)
{
    double joined =
        (USUAL_FREEDOM * usual * usual + freedom * variance) / (USUAL_FREEDOM + freedom);
    return kino__student_t(chance, (size_t)freedom + USUAL_FREEDOM) * sqrt(joined);
}

static void copy_without(const double *own, const table *whole, size_t left_out, table *out)
{
    size_t at = 0;
    for (size_t i = 0; i < whole->ranks * whole->steps; i++)
        if (i % whole->steps != left_out)
            out->at[at++] = own[i];
    *out = (table){out->at, whole->ranks, whole->steps - 1};
}

static double limit_without_a_step(const double *own, table *t, double usual)
{
    size_t worst = 0, steps = t->steps;
    for (size_t s = 1; s < steps; s++)
        if (squares_of_step(t, s) > squares_of_step(t, worst))
            worst = s;
    table rest = *t;
    copy_without(own, t, worst, &rest);
    take_off_usual(&rest, NULL);
    double chance = CHANCE / (double)((t->ranks + 1) * steps);
    return limit_of(variance_of(&rest), (double)freedom_of(&rest), usual, chance) *
           sqrt((double)steps / (double)(steps - 1));
}

/* A median knows as much as the mean of 0.37 times as many values. The distances that are fitted
 * away come first. */
static double limit_of_median(const double *own, table *t, double usual, double *room)
{
    size_t count = t->ranks * t->steps, freedom = freedom_of(t);
    memcpy(t->at, own, count * sizeof *own);
    take_off_usual(t, room);
    for (size_t i = 0; i < count; i++)
        t->at[i] = fabs(t->at[i]);
    kino__sort_reals(t->at, count);
    double deviation = 1.4826 * t->at[count - freedom + (freedom - 1) / 2];
    return limit_of(deviation * deviation, floor(0.37 * (double)freedom), usual,
                    CHANCE / (double)(t->ranks + 1));
}

double kino__verdict_chance(const double *own, size_t peers, size_t steps, double usual,
                            double *room)
{
    table t = {room, peers, steps};
    memcpy(t.at, own, peers * steps * sizeof *own);
    take_off_usual(&t, NULL);
    double lasting = lasting_of(&t);
    double limit =
        limit_of(variance_of(&t), (double)freedom_of(&t), usual, CHANCE / (double)(peers + 1));
    if (steps >= LEAST_STEPS)
        limit = fmin(limit, limit_without_a_step(own, &t, usual));
    if (freedom_of(&t) >= LEAST_FREEDOM)
        limit = fmin(limit, limit_of_median(own, &t, usual, room + peers * steps));
    double of_median = steps > 2 ? 1.2533 : 1;
    return limit * of_median * sqrt((1 + 1 / (double)peers) * lasting / (double)steps);
}
