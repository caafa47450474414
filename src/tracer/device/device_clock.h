/* device_clock.h - from a device's clock to CLOCK_MONOTONIC_RAW of the host.
 *
 * All that is known are observations: the device's clock showed `time` at some instant between two
 * readings of the host's. Each says that the offset (device - host) lies in an interval. As long as
 * one offset fits all observations, it is used: the middle of what they have in common. The first
 * one that contradicts begins a new piece; between the middles of two pieces the offset changes
 * evenly. So times are never wrong by more than the observations allow, durations within a piece
 * are exact, and a clock that runs at another rate is followed.
 *
 *   offset  ┌──┐  ┌────┐
 *           │  ├──┤    │    ┌──          intervals of observations
 *           └──┴──┴────┴────┴──
 *           one piece   | the next
 *
 * A clock for which 0 was possible all the time is taken to be the host's own: exact. */
#ifndef KINO__TRACER_DEVICE_CLOCK_H
#define KINO__TRACER_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { KINO__DEVICE_CLOCK_PIECES = 256 };

typedef struct kino__device_piece {
    int64_t first_ns, last_ns; /* host */
    int64_t low, high;         /* the offset is in here */
} kino__device_piece;

/* A zeroed struct knows nothing yet. One thread at a time. */
typedef struct kino__device_clock {
    kino__device_piece pieces[KINO__DEVICE_CLOCK_PIECES];
    uint32_t count;
    bool is_foreign; /* an observation ruled out that it is the host's clock */
} kino__device_clock;

/* False: `before` is behind `after`, nothing is learnt. */
bool kino__device_clock_observe(kino__device_clock *clock, int64_t time_ns, int64_t before_ns,
                                int64_t after_ns);

/* The host's time; KINO_NO_TIME when nothing is known of the clock. */
int64_t kino__device_clock_convert(const kino__device_clock *clock, int64_t time_ns);

#endif
