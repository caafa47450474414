/* host_kind.h - what a thread of the host is doing, and what the name of its event says about it:
 * host_names.def and the launches of launches.def. */
#ifndef KINO__NAMES_HOST_KIND_H
#define KINO__NAMES_HOST_KIND_H

#include <kino/base.h>

typedef enum kino__host_kind {
    KINO__HOST_SYNC,       /* a call that waits for the device */
    KINO__HOST_LOADER,     /* fetching a batch */
    KINO__HOST_GC,         /* Python's garbage collection */
    KINO__HOST_ALLOCATION, /* memory of the device or pinned memory */
    KINO__HOST_LAUNCH,     /* calls that put work on a device */
    KINO__HOST_RUNTIME,    /* other calls of runtime and driver */
    KINO__HOST_OPERATOR,   /* in an operator, outside such calls */
    KINO__HOST_PYTHON,     /* in a Python function, outside operators */
    KINO__HOST_ANNOTATION, /* in an annotation (a step, the optimizer), outside all of these */
    KINO__HOST_OVERHEAD,   /* the profiler's own */
    KINO__HOST_OTHER,      /* spans of other categories */
    KINO__HOST_UNTRACED,   /* no span */
    KINO__HOST_KINDS,
} kino__host_kind;

const char *kino__host_kind_name(kino__host_kind kind); /* "sync", "data-loader", ... */

/* KINO__HOST_KINDS: the name says nothing. Names of calls count for calls only: ask the category
 * too. */
kino__host_kind kino__host_kind_of(kino_str name);

#endif
