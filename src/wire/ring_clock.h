/* ring_clock.h - from a recorder's ticks to nanoseconds, by anchors over the whole recording.
 *
 * Between two anchors the line through them; before the first and behind the last the nearest
 * line. CLOCK_MONOTONIC_RAW gives the rate, CLOCK_REALTIME at the first anchor the date: so
 * durations do not change when somebody sets the clock. */
#ifndef KINO__WIRE_RING_CLOCK_H
#define KINO__WIRE_RING_CLOCK_H

#include "base/vec.h"
#include "wire/ring_format.h"

typedef struct kino__ring_line {
    uint64_t ticks; /* from here on */
    int64_t raw_ns;
    uint64_t rate; /* ns per tick, times 2^KINO__RING_RATE_BITS */
} kino__ring_line;

enum { KINO__RING_RATE_BITS = 48 };

typedef struct kino__ring_clock {
    KINO__VEC(kino__ring_line) lines; /* at least one */
    int64_t real_minus_raw;
} kino__ring_clock;

/* Anchors that go back in time, or are too close to tell a rate, are passed over. False: memory is
 * out. */
bool kino__ring_clock_init(kino__ring_clock *clock, uint32_t kind, const kino__ring_anchor *anchors,
                           size_t count);
void kino__ring_clock_deinit(kino__ring_clock *clock);

/* CLOCK_MONOTONIC_RAW at these ticks. `hint` is any number at first; makes rising ticks quick. */
int64_t kino__ring_clock_raw(const kino__ring_clock *clock, uint64_t ticks, size_t *hint);

#endif
