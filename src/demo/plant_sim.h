/* plant_sim.h - runs the programs of all ranks of a planted run against each other.
 *
 * A program is a list of instructions for one step of one rank. A rank runs until it needs the end
 * of a collective that somebody has not reached; then the next rank runs. Times follow from the
 * rules of a device: a launch reaches its stream a little later, streams work in order, the host
 * may be a queue of launches ahead, a collective ends a transfer after the last rank has reached
 * it. */
#ifndef KINO__DEMO_PLANT_SIM_H
#define KINO__DEMO_PLANT_SIM_H

#include "base/vec.h"
#include "demo/plant_shape.h"

typedef enum kino__plant_thread {
    KINO__PLANT_MAIN,
    KINO__PLANT_AUTOGRAD,
    KINO__PLANT_GLOO_0,
    KINO__PLANT_GLOO_1,
    KINO__PLANT_THREADS,
} kino__plant_thread;

typedef enum kino__plant_stream {
    KINO__PLANT_COMPUTE,
    KINO__PLANT_COPY,
    KINO__PLANT_DP, /* communicators have a stream each */
    KINO__PLANT_TP,
    KINO__PLANT_SEND,
    KINO__PLANT_RECV,
    KINO__PLANT_STREAMS,
} kino__plant_stream;

typedef enum kino__plant_verb {
    KINO__VERB_OPEN,   /* an annotation; number behind the name, or -1 */
    KINO__VERB_PYTHON, /* opens a Python function */
    KINO__VERB_CLOSE,
    KINO__VERB_OP,     /* an operator: a kernel on the device, or time on the host */
    KINO__VERB_SPEND,  /* host time that nothing records */
    KINO__VERB_LOSE,   /* the same, without the processor */
    KINO__VERB_COPY,   /* a batch to the device */
    KINO__VERB_POST,   /* starts a collective */
    KINO__VERB_JOIN,   /* the compute stream waits for collectives of a stream */
    KINO__VERB_WAIT,   /* the host waits for them */
    KINO__VERB_ITEM,   /* the host waits for the device */
    KINO__VERB_THREAD, /* goes on in another thread */
} kino__plant_verb;

typedef struct kino__plant_code {
    uint8_t verb, stream, thread;
    bool is_pageable;
    kino_str name, inner, kernel;
    int64_t host_ns, device_ns; /* of a collective: device_ns is its transfer */
    int64_t number;
    unsigned peer; /* of send and recv */
} kino__plant_code;

typedef enum kino__plant_event_kind {
    KINO__PLANT_OP,
    KINO__PLANT_ANNOTATION,
    KINO__PLANT_PYTHON,
    KINO__PLANT_CALL,
    KINO__PLANT_KERNEL,
    KINO__PLANT_MEMCPY,
    KINO__PLANT_COMMS,      /* record_param_comms */
    KINO__PLANT_COLLECTIVE, /* its kernel */
    KINO__PLANT_SHADOW,     /* of an annotation on the device */
    KINO__PLANT_OFF_CPU,    /* the thread had no processor */
} kino__plant_event_kind;

typedef struct kino__plant_event {
    uint8_t kind, thread, stream;
    kino_str name;
    int64_t ts, dur, number, bytes;
    uint32_t id, external, parent;
    unsigned peer, sequence; /* of collectives */
    bool is_early;           /* launched before the recording began */
} kino__plant_event;

typedef struct kino__plant_post {
    unsigned group, sequence;
    size_t event, shadow; /* SIZE_MAX: not recorded */
} kino__plant_post;

typedef struct kino__plant_open {
    size_t event;
    int64_t first, last; /* of its kernels on the compute stream */
} kino__plant_open;

enum { KINO__PLANT_DEPTH = 16 };

typedef struct kino__plant_rank {
    unsigned rank, step;
    int64_t now, stream_end[KINO__PLANT_STREAMS];
    uint8_t thread;
    uint32_t next_id, next_external, python_parent, next_python;
    kino__plant_random random;
    KINO__VEC(kino__plant_event) events;
    KINO__VEC(kino__plant_code) program;
    size_t at; /* in the program */
    KINO__VEC(kino__plant_post) posts;
    size_t last_post[KINO__PLANT_STREAMS];     /* SIZE_MAX: none */
    unsigned sequence[KINO__PLANT_STREAMS][2]; /* of a stream, to lower and to higher ranks */
    unsigned gloo_count;
    kino__plant_open open[KINO__PLANT_DEPTH];
    unsigned open_count;
    KINO__VEC(int64_t) starts; /* of all launches, for the queue's limit */
    int64_t record_ns;         /* when the recording begins */
    bool has_failed;
} kino__plant_rank;

/* Device work that was launched before the recording began is in it when it starts after that. */
static inline bool kino__plant_is_written(const kino__plant_rank *rank,
                                          const kino__plant_event *event)
{
    return !event->is_early || event->ts >= rank->record_ns;
}

typedef struct kino__plant_instance {
    unsigned posted;
    int64_t ready, end, transfer;
    bool is_over;
} kino__plant_instance;

typedef struct kino__plant_group {
    KINO__VEC(kino__plant_instance) list;
} kino__plant_group;

typedef struct kino__plant_sim {
    kino__plant_shape shape;
    kino__plant_rank ranks[KINO__PLANT_MAX_RANKS];
    kino__plant_group groups[KINO__PLANT_MAX_RANKS * 4];
    int64_t start_ns;
} kino__plant_sim;

/* Runs all steps. The caller frees with _deinit in any case. */
KINO_NODISCARD kino_status kino__plant_run(kino__plant_sim *sim, kino_error *err);
void kino__plant_sim_deinit(kino__plant_sim *sim);

/* Writes the program of a rank's next step: plant_step.c. */
void kino__plant_program(const kino__plant_sim *sim, kino__plant_rank *rank);

#endif
