/* demo_model.h - a training step on one rank, acted out: what the host did when, and the device
 * behind it.
 *
 * The model keeps clocks (host, one per stream) and counters (ids), and appends events of one step
 * at a time, hosts in order of start. It is pure integer arithmetic over its own random numbers, so
 * that replaying it gives the same step again: the writer runs it once for each class of events
 * that a file holds in one piece. */
#ifndef KINO__DEMO_MODEL_H
#define KINO__DEMO_MODEL_H

#include <kino/base.h>

#include "base/vec.h"
#include "demo/demo_tables.h"

typedef enum kino__demo_kind {
    KINO__DEMO_OP,         /* name: kino__demo_op */
    KINO__DEMO_COMMS,      /* the op record_param_comms; a: elements, b: number of the collective */
    KINO__DEMO_ANNOTATION, /* name: kino__demo_annotation; a: number behind the name */
    KINO__DEMO_MEMORY,     /* a: address, b: bytes (negative when freed), c: allocated in total */
    KINO__DEMO_PYTHON,     /* name: kino__demo_python; id, parent; a: number of the module */
    KINO__DEMO_CALL,       /* name: kino__demo_call; id: correlation; external */
    KINO__DEMO_KERNEL,     /* name: kino__demo_kernel; id: correlation; external */
    KINO__DEMO_COLLECTIVE, /* a kernel with the arguments of KINO__DEMO_COMMS */
    KINO__DEMO_COPY,       /* name: kino__demo_copy; b: bytes */
    KINO__DEMO_SET,        /* b: bytes */
} kino__demo_kind;

enum { KINO__DEMO_THREAD_MAIN, KINO__DEMO_THREAD_AUTOGRAD, KINO__DEMO_THREAD_COUNT };
enum {
    KINO__DEMO_STREAM_COMPUTE,
    KINO__DEMO_STREAM_COPY,
    KINO__DEMO_STREAM_NCCL,
    KINO__DEMO_STREAM_COUNT
};
enum { KINO__DEMO_MAX_LAYERS = 48, KINO__DEMO_PARAMETERS_PER_LAYER = 50358272 };

typedef struct kino__demo_event {
    int64_t ts, dur;
    int64_t a, b, c;
    uint32_t id;       /* correlation, Python id, record function id */
    uint32_t parent;   /* Python parent id; for ops the op around it */
    uint32_t external; /* own id of ops and annotations; that of the launching op elsewhere */
    uint32_t sequence; /* autograd sequence number, 0 = none */
    uint32_t flow;     /* fwdbwd flow, 0 = none */
    uint8_t kind;
    uint8_t name;
    uint8_t thread; /* of host events */
    uint8_t stream; /* of device events */
} kino__demo_event;

/* An annotation's shadow on a stream: from the first to the last work launched inside it. */
typedef struct kino__demo_shadow {
    int64_t start, end;
    int64_t number;
    uint32_t external;
    uint8_t name, stream;
} kino__demo_shadow;

typedef struct kino__demo_shape {
    unsigned ranks, layers, steps;
    uint64_t seed;
    int64_t start_ns;               /* of the recording */
    unsigned stall_step, straggler; /* UINT_MAX: none */
} kino__demo_shape;

/* A node of the autograd graph waiting for its backward. */
typedef struct kino__demo_node_ref {
    uint32_t sequence, flow;
    uint32_t blocks; /* allocated before it ran: backward frees down to there */
    uint8_t function;
} kino__demo_node_ref;

typedef struct kino__demo_block {
    int64_t address, bytes;
} kino__demo_block;

typedef struct kino__demo_open_annotation {
    kino__demo_shadow shadows[KINO__DEMO_STREAM_COUNT];
    uint32_t external;
} kino__demo_open_annotation;

typedef struct kino__demo_model {
    kino__demo_shape shape;
    unsigned rank, step;
    uint64_t random;
    int64_t now; /* of the thread that runs */
    int64_t stream_end[KINO__DEMO_STREAM_COUNT];
    uint8_t thread;
    uint32_t next_external, next_python, next_sequence, next_flow, next_correlation,
        next_collective;
    uint32_t python_parent, current_op;
    unsigned module_count[KINO__DEMO_PYTHON_COUNT];
    int64_t allocated, next_address;
    uint32_t open_count[KINO__DEMO_THREAD_COUNT];
    kino__demo_open_annotation open[KINO__DEMO_THREAD_COUNT][4];
    int64_t ready[KINO__DEMO_MAX_LAYERS + 2]; /* when each collective could start */
    size_t collective_event[KINO__DEMO_MAX_LAYERS + 2];
    size_t collective_shadow[KINO__DEMO_MAX_LAYERS + 2];
    unsigned collectives;
    size_t step_python, step_annotation;
    bool has_failed;                      /* memory ran out; sticks */
    KINO__VEC(kino__demo_event) events;   /* host events of this step, by start */
    KINO__VEC(kino__demo_event) device;   /* calls and device events of this step, by launch */
    KINO__VEC(kino__demo_shadow) shadows; /* of this step */
    KINO__VEC(kino__demo_node_ref) graph;
    KINO__VEC(kino__demo_block) blocks;
} kino__demo_model;

/* Collectives of a step: one bucket a layer, one for the rest. */
static inline unsigned kino__demo_collectives(const kino__demo_shape *shape)
{
    return shape->layers + 1;
}

void kino__demo_model_init(kino__demo_model *model, const kino__demo_shape *shape, unsigned rank);
void kino__demo_model_deinit(kino__demo_model *model);

/* Acts out the next step up to the end of backward and sets ready[]; the events of the step before
 * are gone. */
void kino__demo_model_begin(kino__demo_model *model);

/* Ends the step, given when each collective was over (the same on all ranks). */
void kino__demo_model_finish(kino__demo_model *model, const int64_t *ends);

/* When each collective of a step is over, given when each rank could start it: one row of
 * kino__demo_collectives numbers a rank. */
void kino__demo_agree(const kino__demo_shape *shape, const kino__demo_model *ranks, int64_t *ends);

/* Puts the collectives of the step where `ends` says; for demo_step.c, as all below. */
void kino__demo_settle(kino__demo_model *m, const int64_t *ends);

/* One span of work on a stream, launched now: for demo_step.c. */
typedef struct kino__demo_work {
    kino__demo_kind kind;
    uint8_t name;
    uint8_t stream;
    kino__demo_call call;
    int64_t ns, bytes;
    int64_t not_before; /* when what it waits for is over, or 0 */
} kino__demo_work;

/* The verbs in which demo_step.c tells its story. */
size_t kino__demo_python_open(kino__demo_model *m, kino__demo_python name);
void kino__demo_python_close(kino__demo_model *m, size_t event);
size_t kino__demo_op_open(kino__demo_model *m, kino__demo_op op);
void kino__demo_close(kino__demo_model *m, size_t event);
size_t kino__demo_annotation_open(kino__demo_model *m, kino__demo_annotation name, int64_t number);
void kino__demo_annotation_close(kino__demo_model *m, size_t event);
void kino__demo_make_call(kino__demo_model *m, kino__demo_call call, int64_t ns);
/* The place of the device event in m->device. */
size_t kino__demo_launch(kino__demo_model *m, const kino__demo_work *work);
void kino__demo_allocate(kino__demo_model *m, int64_t bytes);
void kino__demo_release(kino__demo_model *m);
void kino__demo_spend(kino__demo_model *m, int64_t ns); /* about that much host time */
int64_t kino__demo_vary(kino__demo_model *m, int64_t ns);

#endif
