/* launch_calls.h - names of calls that put work on a device, or wait for it: one table
 * (launches.def) for all analyses. */
#ifndef KINO__NAMES_LAUNCH_CALLS_H
#define KINO__NAMES_LAUNCH_CALLS_H

#include <kino/base.h>

typedef enum kino__launch_kind {
    KINO__LAUNCH_NONE,
    KINO__LAUNCH_KERNEL,
    KINO__LAUNCH_GRAPH, /* one call, many kernels */
    KINO__LAUNCH_MEMCPY,
    KINO__LAUNCH_MEMSET,
} kino__launch_kind;

/* What else is known about a call. */
enum {
    KINO__CALL_QUEUE = 1 << 0,    /* HTA: a launch in queue lengths and the critical path */
    KINO__CALL_STATS = 1 << 1,    /* HTA: a launch in launch statistics */
    KINO__CALL_LOCK = 1 << 2,     /* holds the runtime's lock */
    KINO__CALL_BLOCKING = 1 << 3, /* waits for the device */
    KINO__CALL_RECORD = 1 << 4,   /* records an event */
    KINO__CALL_WAIT = 1 << 5,     /* makes a stream wait for an event */
    KINO__CALL_NVIDIA = 1 << 6,   /* says what the device is */
    KINO__CALL_AMD = 1 << 7,
    KINO__CALL_MTIA = 1 << 8,
};

/* What a call of this name (of a runtime or driver category) launches. Versioned names
 * ("cudaLaunchKernel_v7000", "_ptsz") count as well. */
kino__launch_kind kino__launch_kind_of(kino_str name);

/* KINO__CALL_ bits of a call of exactly this name. */
unsigned kino__call_marks(kino_str name);

/* The n-th call that has one of these marks, in the table's order; empty at the end. */
kino_str kino__call_with(unsigned marks, size_t index);

#endif
