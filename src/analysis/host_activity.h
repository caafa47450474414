/* host_activity.h - what a host thread did in a stretch of time: waiting for the device, loading
 * data, operators, Python, nothing that was recorded.
 *
 * Time belongs to the innermost span that covers it; below a data loader or a garbage collection
 * everything is theirs. Spans of a thread nest (kino__link_nesting); of spans that cross each other
 * one that began before the stretch may be missed. */
#ifndef KINO__ANALYSIS_HOST_ACTIVITY_H
#define KINO__ANALYSIS_HOST_ACTIVITY_H

#include "names/host_kind.h"
#include "store/link.h"
#include "store/trace.h"

typedef struct kino__host_span {
    uint32_t row;
    uint8_t kind;
    int64_t self; /* ns of the stretch that are its own */
} kino__host_span;

/* Reads one trace; belongs to one thread. */
typedef struct kino__host {
    const kino__trace *trace;
    const kino__nesting *nesting;
    uint8_t *kind_of_name; /* KINO__HOST_KINDS: the name says nothing */
    KINO__VEC(kino__host_span) spans;
} kino__host;

KINO_NODISCARD bool kino__host_init(kino__host *host, const kino__trace *trace);
void kino__host_deinit(kino__host *host);

typedef struct kino__host_activity {
    int64_t time[KINO__HOST_KINDS]; /* ns; their sum is the stretch where spans nest */
    uint32_t top[KINO__HOST_KINDS]; /* the span with most of it, KINO_NO_ROW: none */
} kino__host_activity;

/* Of a track from start to end; false when memory is out. */
KINO_NODISCARD bool kino__host_look(kino__host *host, uint32_t track, int64_t start, int64_t end,
                                    kino__host_activity *out);

/* The call that waits for the device and is under way on the track at this time, or ends then;
 * KINO_NO_ROW. */
uint32_t kino__host_sync_at(const kino__host *host, uint32_t track, int64_t time);

/* The innermost span of these kinds (KINO__KIND_BITs), steps and the like left out, among a row and
 * those around it; KINO_NO_ROW. */
uint32_t kino__host_around(const kino__host *host, uint32_t row, uint32_t kinds);

#endif
