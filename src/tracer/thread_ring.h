/* thread_ring.h - a thread's part of the buffer: its slot and its segments.
 *
 * The slow half of recording. A thread joins a session when it records for the first time in it,
 * takes a segment when its last one is full, and gives its segments up when it exits. Nothing here
 * blocks: what cannot be had at once is dropped and counted. */
#ifndef KINO__TRACER_THREAD_RING_H
#define KINO__TRACER_THREAD_RING_H

#include "tracer/tracer.h"

/* The calling thread's segment with room for `need` records, or NULL: nothing is recorded, or they
 * are dropped (and counted). */
kino_impl_v1_segment *kino__ring_room(kino__tracer *t, uint32_t need);

/* Writes a record and its payload of `size` bytes (rounded up to records); returns the span, 0 when
 * it was dropped. `start` of 0 is now, read last. `head` has no `following` yet. */
uint64_t kino__ring_write(kino__tracer *t, uint64_t start, uint64_t end, uint64_t head,
                          uint64_t aux, const void *payload, size_t size);

/* Counts for the calling thread. */
void kino__ring_count(kino__tracer *t, kino__ring_drop reason, uint64_t count);
/* All that was dropped so far; what the flight recorder wrote over is not counted. */
uint64_t kino__ring_dropped(const kino__capture *capture);

/* The thread has another name from now on. */
void kino__ring_rename(kino__tracer *t, const char *name);
/* Names of living threads may have changed: asks the system. */
void kino__ring_refresh_names(kino__capture *capture);

/* The calling thread is in no session any more; its open spans end nowhere. */
void kino__ring_quit(void);
/* In a forked child: the calling thread forgets its ring. Async-signal-safe. */
void kino__ring_forget(void);
/* Once for each copy of the library, when it is loaded. */
void kino__ring_load(void);

/* As the fast path has spans of a good clock. */
static inline uint64_t kino__plain_span(uint64_t span)
{
    if (!(span & KINO_IMPL_V1_SLOW_CLOCK))
        return span;
    return (span ^ (uint64_t)0xffff << 48) & ~(uint64_t)KINO_IMPL_V1_SLOW_CLOCK;
}

#endif
