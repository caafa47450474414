/* plant_shape.h - what one planted run is like: everything that kind and seed decide. */
#ifndef KINO__DEMO_PLANT_SHAPE_H
#define KINO__DEMO_PLANT_SHAPE_H

#include <kino/engine.h>

#include "base/str.h"

typedef enum kino__plant_kind {
#define PLANT(id, name, what) KINO__PLANT_##id,
#include "demo/plant_kinds.def"
#undef PLANT
    KINO__PLANT_COUNT,
} kino__plant_kind;

enum { KINO__PLANT_MAX_RANKS = 64, KINO__PLANT_WARM_UP = 3 };

/* Why one rank is later than the others. */
typedef enum kino__plant_cause {
    KINO__CAUSE_NONE,
    KINO__CAUSE_KERNELS,
    KINO__CAUSE_LAUNCHES, /* each operator takes long on the host */
    KINO__CAUSE_PYTHON,   /* a long Python function */
    KINO__CAUSE_SLEEP,    /* nothing that is recorded */
    KINO__CAUSE_OPERATORS,
    KINO__CAUSE_LOADER,
    KINO__CAUSE_COPIES,
    KINO__CAUSE_KERNEL,    /* one kernel of each step */
    KINO__CAUSE_OPERATOR,  /* one operator on the host */
    KINO__CAUSE_GC,        /* a garbage collection */
    KINO__CAUSE_PREEMPTED, /* another process has the processor */
} kino__plant_cause;

/* How traces of a version of PyTorch (and of Kineto in it) look. */
typedef enum kino__plant_era {
    KINO__ERA_2_6,  /* ncclDevKernel_, arguments of collectives on kernels too */
    KINO__ERA_2_1,  /* ncclKernel_, record_param_comms without a process group */
    KINO__ERA_1_12, /* nccl:all_reduce alone, whole microseconds */
    KINO__ERA_1_8,  /* categories in capitals, annotations are operators */
    KINO__ERA_ROCM, /* HIP calls, kernels of rocBLAS and RCCL */
    KINO__ERA_COUNT,
} kino__plant_era;

/* The same run, but ... */
typedef enum kino__plant_change {
    KINO__CHANGE_NONE,
    KINO__CHANGE_COLLECTIVES, /* transfers take no time */
    KINO__CHANGE_KERNELS,     /* kernels of the first name take half of it */
    KINO__CHANGE_LAUNCHES,    /* operators cost the host nothing */
    KINO__CHANGE_LOADER,      /* batches are there */
    KINO__CHANGE_STRAGGLER,   /* nobody is slow */
} kino__plant_change;

typedef struct kino__plant_shape {
    kino__plant_kind kind;
    uint64_t seed;
    kino__plant_era era;
    unsigned ranks, steps, first_step;
    unsigned layers, kernels; /* per layer and direction */
    unsigned buckets;
    unsigned tp, pp, dp, microbatches;
    unsigned noise;      /* of each duration, in tenths of a percent */
    unsigned strength;   /* of the plant, in tenths of a percent of the step */
    int64_t step_ns;     /* computation per step without the plant */
    int64_t host_op_ns;  /* host time of an operator */
    int64_t transfer_ns; /* communication per step without waiting */
    int64_t loader_ns, copy_ns;
    unsigned queue; /* launches that the host may be ahead */
    kino__plant_cause cause;
    unsigned slow_rank; /* UINT_MAX: none */
    int64_t excess_ns;  /* planted per step: on the slow rank, or on all */
    bool is_cpu, has_sync, has_stacks, has_device_steps, has_copy_stream, has_backward_thread;
    bool has_flows, is_multiprocess_loader, has_comm_shadows;
    unsigned missing_rank, missing_steps; /* UINT_MAX: none */
    unsigned family;                      /* of kernel and operator names */
    kino__plant_change change;
    int64_t clock[KINO__PLANT_MAX_RANKS]; /* offsets */
} kino__plant_shape;

typedef struct kino__plant_random {
    uint64_t state;
} kino__plant_random;

uint64_t kino__plant_next(kino__plant_random *random);
/* A number of [least, most]. */
int64_t kino__plant_between(kino__plant_random *random, int64_t least, int64_t most);

const char *kino__plant_name(kino__plant_kind kind);

/* KINO_ARGUMENT: no such kind, or a number that the kind cannot have. */
KINO_NODISCARD kino_status kino__plant_choose(kino__plant_shape *shape,
                                              const kino_demo_options *options, kino_error *err);

/* Is what the run would gain without its slow rank enough for a profiler to accuse it; and is it
 * clearly more or clearly less than that? */
bool kino__plant_is_accused(int64_t gain_ns, int64_t step_ns);
bool kino__plant_is_certain(int64_t gain_ns, int64_t step_ns);

/* Of a rank in a run with tensor, data and pipeline parallelism. */
static inline unsigned kino__plant_stage(const kino__plant_shape *s, unsigned rank)
{
    return rank / (s->tp * s->dp);
}

#endif
