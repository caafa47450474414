/* clock_fit.h - how one clock runs against another: a line through points of which many are off.
 *
 * The points are ends of the same collective, read on both clocks. All ranks leave it together but
 * for some microseconds, now and then for much more, so the line comes from medians first and from
 * the points near it then (Tukey's biweight). */
#ifndef KINO__ANALYSIS_CLOCK_FIT_H
#define KINO__ANALYSIS_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <kino/base.h>

typedef struct kino__clock_point {
    int64_t at;   /* on the reference clock, ns */
    int64_t away; /* the other clock less the reference clock, ns */
} kino__clock_point;

/* At a time t of the reference clock the other one shows t + offset + drift * (t - at). */
typedef struct kino__clock_line {
    int64_t at, offset;
    double drift;
    double scatter;     /* ns: half of the points are nearer to the line */
    double bias;        /* ns, that a rank may always leave later: cannot be told from an offset */
    double chance;      /* ns, by which the line may be off anywhere in the given times */
    double drift_error; /* a ratio, as the drift */
} kino__clock_line;

enum { KINO__CLOCK_LEAST_POINTS = 16 };

/* Sorts the points, of which there are at least KINO__CLOCK_LEAST_POINTS. `first` and `last` are
 * the times that the line is wanted for. False when memory is out. */
KINO_NODISCARD bool kino__clock_fit(kino__clock_point *points, size_t count, int64_t first,
                                    int64_t last, kino__clock_line *out);

/* Of times of the other clock on the reference clock. */
static inline double kino__clock_error(const kino__clock_line *line)
{
    return line->bias + line->chance;
}

/* A time of the other clock on the reference clock. Keeps the order of times. */
int64_t kino__clock_to_reference(const kino__clock_line *line, int64_t time);

#endif
