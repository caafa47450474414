/* profile.h - one trace as the views of a profiler see it: operator trees, steps, who launched
 * what.
 *
 * The base of overview, operators, kernels, memory, modules, distributed, tensor-cores, diff and
 * the rules. Made once a trace and mode and kept with the trace (kino__profile_of). Definitions:
 * docs/analyses/profile.md; the letters D1 ... D25 are the defects of the TensorBoard plugin listed
 * in docs/analyses/differences.md: `is_compat` reproduces them, the default does not.
 *
 *   rows of a trace -> types -> nodes of each thread, nested -> launches and device work attached
 *                           -> sums from the leaves up -> steps, ranges of each role
 *
 * All times are ns of the run. Everything is linear or n log n; nothing recurses. */
#ifndef KINO__MODEL_PROFILE_H
#define KINO__MODEL_PROFILE_H

#include "store/interval.h"
#include "store/trace.h"

/* -- types of events */

typedef enum kino__event_type {
    KINO__EVENT_TYPE_NONE, /* plays no part */
    KINO__EVENT_TYPE_OPERATOR,
    KINO__EVENT_TYPE_ANNOTATION, /* user annotation that is nothing special */
    KINO__EVENT_TYPE_RUNTIME,
    KINO__EVENT_TYPE_KERNEL,
    KINO__EVENT_TYPE_MEMCPY,
    KINO__EVENT_TYPE_MEMSET,
    KINO__EVENT_TYPE_PYTHON, /* legacy spans of category "python" */
    KINO__EVENT_TYPE_PYTHON_FUNCTION,
    KINO__EVENT_TYPE_MODULE,
    KINO__EVENT_TYPE_TRACE,
    KINO__EVENT_TYPE_STEP,
    KINO__EVENT_TYPE_PL_PROFILE, /* PyTorch Lightning */
    KINO__EVENT_TYPE_PL_MODULE,
    KINO__EVENT_TYPE_MEMORY,
} kino__event_type;

/* What the name of an event says; one word of flags a string (kino__profile.name_flags). */
enum {
    KINO__NAME_STEP = 1 << 0,          /* ProfilerStep# */
    KINO__NAME_LOADER = 1 << 1,        /* enumerate(DataLoader)#...__next__, enumerate(DataPipe)# */
    KINO__NAME_OPTIMIZER = 1 << 2,     /* Optimizer.step */
    KINO__NAME_OPTIMIZER_ANY = 1 << 3, /* Optimizer. */
    KINO__NAME_PARALLEL = 1 << 4,      /* DataParallel.forward */
    KINO__NAME_DISTRIBUTED = 1 << 5,   /* DistributedDataParallel.forward */
    KINO__NAME_NCCL = 1 << 6,          /* collective: nccl: */
    KINO__NAME_GLOO = 1 << 7,          /* collective: gloo: */
    KINO__NAME_BACKWARD_ROOT = 1 << 8, /* autograd::engine::evaluate_function: */
    KINO__NAME_ACCUMULATE = 1 << 9,    /* ... torch::autograd::AccumulateGrad */
    KINO__NAME_TENSOR_CORES = 1 << 10, /* a kernel that uses tensor cores */
    KINO__NAME_ELIGIBLE = 1 << 11,     /* an operator that could */
    KINO__NAME_MODULE = 1 << 12,       /* nn.Module: */
    KINO__NAME_PL_PROFILE = 1 << 13,   /* [pl][profile] */
    KINO__NAME_PL_MODULE = 1 << 14,    /* [pl][module] */
    KINO__NAME_MEMORY = 1 << 15,       /* [memory] */
    KINO__NAME_COMM_KERNEL = 1 << 16,  /* a kernel of a communication library */
};

/* -- operator trees */

#define KINO__NO_NODE UINT32_MAX

typedef enum kino__node_class {
    KINO__NODE_ROOT,
    KINO__NODE_OPERATOR, /* what operator tables list: kino__node_is_operator asks for more */
    KINO__NODE_PYTHON,
    KINO__NODE_MODULE,
    KINO__NODE_STEP,
    KINO__NODE_LOADER,
    KINO__NODE_OPTIMIZER,
    KINO__NODE_BACKWARD, /* made: the backward pass of a module */
    KINO__NODE_PL_MODULE,
} kino__node_class;

typedef struct kino__node {
    uint32_t row;                                           /* KINO_NO_ROW: made */
    uint32_t parent, first_child, last_child, next_sibling; /* KINO__NO_NODE: none */
    uint32_t first_launch, launch_count;                    /* in kino__profile.launches */
    uint32_t thread;
    uint8_t class;    /* kino__node_class */
    uint8_t type;     /* kino__event_type */
    bool is_operator; /* counts in operator tables */
    bool is_eligible; /* for tensor cores: by name, through a child or a kernel that was seen */
    bool is_named_eligible; /* by name alone */
    bool has_eligible_below;
    bool is_dropped; /* crossed its parent's end, or was folded into its equal parent */
    kino_strid name; /* of a BACKWARD node: that of its module (".backward" is to be added) */
    int64_t start, end;
    int64_t self_host;                 /* without children and launches; compat: may be negative */
    int64_t device_total, device_self; /* device work launched below, and here */
    int64_t tensor_total, tensor_self; /* the part of it that used tensor cores */
} kino__node;

/* A call that puts work on a device. */
typedef struct kino__launch {
    uint32_t row;                    /* KINO_NO_ROW: made, for device work that nothing launched */
    uint32_t node;                   /* that it belongs to; KINO__NO_NODE: none */
    uint32_t first_work, work_count; /* in kino__profile.work */
} kino__launch;

typedef struct kino__profile_thread {
    uint32_t root;  /* node */
    int64_t tid;    /* number, or that of the track where there is none */
    uint32_t track; /* the first one, when several have this tid */
    bool has_steps;
} kino__profile_thread;

/* -- steps and ranges */

typedef enum kino__role {
    KINO__ROLE_KERNEL,
    KINO__ROLE_MEMCPY,
    KINO__ROLE_MEMSET,
    KINO__ROLE_COMMUNICATION,
    KINO__ROLE_RUNTIME,
    KINO__ROLE_LOADER,
    KINO__ROLE_CPU,
    KINO__ROLE_OTHER,
    KINO__ROLE_COUNT,
} kino__role;

const char *kino__role_name(kino__role role); /* "Kernel", "Memcpy", ... as the plugin has them */

typedef struct kino__profile_step {
    kino_str name;      /* "5"; "0" when the trace has no steps */
    int64_t number;     /* KINO_NO_INT when the name is no number */
    uint32_t row;       /* KINO_NO_ROW: the made one */
    int64_t start, end; /* with the device work it launched */
    int64_t host_start, host_end;
    uint32_t work_count; /* device events launched inside */
    int64_t cost[KINO__ROLE_COUNT];
    /* computation and communication on the device; overlap of both */
    int64_t computation, communication, overlap;
} kino__profile_step;

/* A collective: its host span and its kernels. */
typedef struct kino__comm_record {
    uint32_t row;    /* the host's span; where there is none, the kernel */
    uint32_t kernel; /* the first one that carries it out, or KINO_NO_ROW */
    kino_strid name;
    int64_t external;
    uint32_t first_range, range_count; /* in kino__profile.comm_ranges, by start, longer first */
    uint32_t step;                     /* index of the one that `row` lies in, or KINO_NO_ROW */
} kino__comm_record;

/* Arguments of kernels; one entry a kernel, in order of rows. NaN and KINO_NO_INT: absent. */
typedef struct kino__kernel_info {
    uint32_t row;
    uint32_t node; /* that launched it, KINO__NO_NODE: none, or its launch has none */
    bool is_communication;
    int64_t device;
    double occupancy, blocks_per_sm;
    int64_t registers, shared_memory;
    kino_strid grid, block; /* JSON text, in kino__profile.texts */
} kino__kernel_info;

/* Numbers of one device within [first step's start, last step's end]. */
typedef struct kino__device_metrics {
    int64_t device;
    double utilization;       /* 0 ... 1 */
    double sm_efficiency;     /* 0 ... 1; NaN: not available */
    double occupancy_percent; /* NaN: not available */
    double tensor_ratio;      /* 0 ... 1; NaN: not available */
    int64_t operator_time,
        tensor_time; /* of kernels launched by operators; those with tensor cores */
} kino__device_metrics;

typedef struct kino__profile {
    const kino__trace *trace;
    bool is_compat;
    bool is_lightning;
    uint8_t *type;            /* of each row, kino__event_type */
    uint32_t *types_of_track; /* bits: 1 << kino__event_type */
    uint32_t *name_flags;     /* of each string */
    uint32_t *node_of_row;    /* KINO__NO_NODE: none */

    KINO__VEC(kino__profile_thread) threads; /* in order of their first event */
    KINO__VEC(kino__node) nodes;             /* of one thread: in order of start, longer first */
    KINO__VEC(kino__launch) launches;        /* grouped by node, each group in order of time */
    KINO__VEC(uint32_t) work;                /* rows of device events, grouped by launch */
    KINO__VEC(uint32_t) stale;               /* kernels that nothing launched */

    KINO__VEC(kino__profile_step) steps; /* those that are kept */
    size_t step_count_found;             /* before the tail was removed */
    bool has_step_events;
    kino__intervals ranges[KINO__ROLE_COUNT]; /* united, whole trace; OTHER is empty */
    int64_t first_ts;                         /* of all events that play a part */
    int64_t window_start, window_end;         /* of the utilisation series */

    KINO__VEC(kino__comm_record) comm; /* in order of start, longer first */
    kino__intervals comm_ranges;
    KINO__VEC(kino__kernel_info) kernels;
    KINO__VEC(int64_t)
    devices; /* used ones, ascending: pid of device events, as the plugin has it */
    KINO__VEC(kino__device_metrics) metrics; /* by device */
    int64_t kernel_time, tensor_time;        /* of all kernels; of those that use tensor cores */
    double tensor_used_ratio;                /* of both; NaN without kernels */
    int64_t operator_time, eligible_time; /* of operators' kernels; of the lowest eligible ones */
    double tensor_eligible_ratio;         /* of both; NaN without */
    kino__string_pool texts;

    bool has_runtime, has_kernel, has_communication, has_copies; /* copies: or sets */
    bool has_memory, has_modules;
    bool has_backward_flows; /* fwdbwd */
    bool uses_dp, uses_ddp, saw_nccl, saw_gloo;
    uint32_t seen_names; /* flags of operators' and annotations' names together */
} kino__profile;

/* The profile of a trace in one of the two modes, made on first use and kept with the trace; NULL
 * when memory is out. Any thread. `pool` may be NULL. */
const kino__profile *kino__profile_of(const kino__trace *trace, bool is_compat, kino__pool *pool);

/* -- series of a device; out is emptied first; false when memory is out */

/* When kernels ran on it, united. */
bool kino__profile_busy(const kino__profile *profile, int64_t device, kino__intervals *out);

enum { KINO__SM_SCALE = 1000000000 };
/* Between the edges of its kernels: min(1, blocks per SM of all that ran), in parts of
 * KINO__SM_SCALE. */
typedef struct kino__sm_piece {
    int64_t start, end, value;
} kino__sm_piece;
typedef KINO__VEC(kino__sm_piece) kino__sm_pieces;
bool kino__profile_sm_pieces(const kino__profile *profile, int64_t device, kino__sm_pieces *out);

/* The place in kernels of a row that is one. */
size_t kino__profile_kernel_at(const kino__profile *profile, uint32_t row);

static inline kino_str kino__node_name(const kino__profile *profile, const kino__node *node)
{
    return kino__trace_string(profile->trace, node->name);
}

/* Visits the nodes of a thread, parents before children:
 *   for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) ... */
uint32_t kino__node_next(const kino__profile *profile, uint32_t node, uint32_t root);
/* The same, children before parents: starts with kino__node_first_leaf, ends behind root. */
uint32_t kino__node_first_leaf(const kino__profile *profile, uint32_t node);
uint32_t kino__node_next_up(const kino__profile *profile, uint32_t node, uint32_t root);

#endif
