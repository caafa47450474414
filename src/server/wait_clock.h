/* wait_clock.h - times that only count forwards, in ms, for waits and limits. */
#ifndef KINO__SERVER_WAIT_CLOCK_H
#define KINO__SERVER_WAIT_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/clock.h"

static inline int64_t kino__now_ms(void)
{
    return kino__clock_ms(CLOCK_MONOTONIC);
}

/* In so many ms, for waiting at a condition that goes by the same clock. */
static inline struct timespec kino__after_ms(int64_t ms)
{
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

#endif
