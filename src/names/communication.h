/* communication.h - is this communication? The one place that decides it, by name.
 *
 * A kernel is asked about with kino__comm_of_kernel, a span of the host (operator, annotation) with
 * kino__comm_of_span: the caller knows from the event's category which of both it has. Other events
 * (copies, calls of runtimes, Python frames) are never communication. */
#ifndef KINO__NAMES_COMMUNICATION_H
#define KINO__NAMES_COMMUNICATION_H

#include "base/str.h"

typedef enum kino__comm_library {
    KINO__COMM_UNKNOWN,
#define COMM_LIBRARY(id, name, is_host) KINO__COMM_##id,
#include "names/communication.def"
    KINO__COMM_LIBRARIES,
} kino__comm_library;

typedef enum kino__comm_kind {
    KINO__COMM_NONE,       /* not communication */
    KINO__COMM_CARRIES,    /* carries out a collective, or (library of a device) launches it */
    KINO__COMM_DISPATCHES, /* asks a library to do so */
    KINO__COMM_WAITS,      /* returns when it is done */
} kino__comm_kind;

typedef struct kino__comm {
    kino__comm_kind kind;
    kino__comm_library library;
} kino__comm;

kino__comm kino__comm_of_kernel(kino_str name);
kino__comm kino__comm_of_span(kino_str name);

const char *kino__comm_library_name(kino__comm_library library);
/* Moves data on the host: its spans are as long as its collectives. */
bool kino__comm_library_is_host(kino__comm_library library);

typedef enum kino__bus_factor { KINO__BUS_ONE, KINO__BUS_PART, KINO__BUS_TWICE } kino__bus_factor;

/* A collective operation; NULL where the text names none. */
typedef struct kino__comm_operation {
    const char *part, *name; /* "allreduce", "all-reduce" */
    kino__bus_factor factor;
} kino__comm_operation;

const kino__comm_operation *kino__comm_operation_of(kino_str text);
/* By its name, "all-reduce". */
const kino__comm_operation *kino__comm_operation_find(kino_str name);
/* Sends and receives, by the text of a span, a kernel or a collective's metadata: partners are
 * other ranks, each with a call of its own. */
bool kino__comm_is_point_to_point(kino_str text);

#endif
