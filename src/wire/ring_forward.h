/* ring_forward.h - forward and backward functions of a recording that belong together.
 *
 * Spans say a sequence number, the logical thread they ran on and, backward ones, the logical
 * thread of the forward one. The pair (forward thread, number) names a forward function; a flow
 * "fwdbwd" leads from it to the backward function, as PyTorch makes them. Nothing of this is done
 * while recording. */
#ifndef KINO__WIRE_RING_FORWARD_H
#define KINO__WIRE_RING_FORWARD_H

#include "wire/ring.h"

/* A span with a sequence number. */
typedef struct kino__forward_op {
    uint64_t start, end; /* ticks, or any other time */
    int64_t sequence;    /* not negative */
    uint64_t thread;     /* logical, its own */
    uint64_t forward;    /* logical, of the forward function; 0: it is one */
} kino__forward_op;

typedef struct kino__forward_link {
    uint32_t forward, backward; /* indexes of ops */
} kino__forward_link;

typedef struct kino__forward_links {
    kino__forward_link *items; /* free() */
    size_t count;
} kino__forward_links;

/* In the order in which functions end: a forward function is remembered under its thread and
 * number, and replaces one that did not start later (so the innermost stays); the first backward
 * function that finds it takes it. Links are in the order in which their backward functions end:
 * flow ids are 1, 2, 3, ... False: memory is out. */
bool kino__forward_match(const kino__forward_op *ops, size_t count, kino__forward_links *out);

/* The flows of an image as events: an `s` and an `f` for each link. False: the visitor said so.
 * There are none when memory is out; the numbers are in the spans still. */
bool kino__ring_each_forward(const kino__ring_image *image, kino__ring_visit visit, void *context);

#endif
