/* clock.h - a clock of the system as one number: CLOCK_MONOTONIC for waits and limits,
 * CLOCK_REALTIME for Unix time. */
#ifndef KINO__BASE_CLOCK_H
#define KINO__BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t kino__clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t kino__clock_ms(clockid_t clock)
{
    return kino__clock_ns(clock) / 1000000;
}

#endif
