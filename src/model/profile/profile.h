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

#include "base/row_rank.h"
#include "store/interval.h"
#include "store/link.h"
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
    KINO__NAME_COLLECTIVE = 1 << 17,   /* a span that carries out a collective, or launches it */
    KINO__NAME_ON_HOST = 1 << 18,      /* ... and data moves on the host, within the span */
    KINO__NAME_COMM_CALL = 1 << 19,    /* an operator that asks for a collective */
    KINO__NAME_COMM_WAIT = 1 << 20,    /* an operator that waits for one */
    KINO__NAME_CONTAINER = 1 << 21,    /* a range around other work, whatever its category */
    KINO__NAME_LOADER_FRAME = 1 << 22, /* a data loader's __next__, as a Python function */
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

/* Two of five events or so are nodes: a node has no more than its row does not say. */
typedef struct kino__node {
    uint32_t row;                               /* KINO_NO_ROW: made */
    uint32_t parent, first_child, next_sibling; /* KINO__NO_NODE: none */
    uint32_t first_launch; /* in kino__profile.launches, or KINO__NO_NODE: kino__node_launches */
    uint32_t thread;
    uint8_t class;              /* kino__node_class */
    uint8_t type;               /* kino__event_type */
    bool is_operator : 1;       /* counts in operator tables */
    bool is_eligible : 1;       /* for tensor cores: by name, through a child or a kernel seen */
    bool is_named_eligible : 1; /* by name alone */
    bool has_eligible_below : 1;
    bool is_dropped : 1; /* was folded into its equal parent; compat: or crossed its parent's end */
    /* how its sums are kept, see kino__node_sums_of */
    bool has_extra : 1, is_all_own : 1, is_tensor : 1, is_own_tensor : 1;
    int32_t self_host;
    uint32_t device; /* device_total; of one with an extra: its place there */
} kino__node;

typedef struct kino__node_sums {
    int64_t self_host;                 /* without children and launches; compat: may be negative */
    int64_t device_total, device_self; /* device work launched below, and here */
    int64_t tensor_total, tensor_self; /* the part of it that used tensor cores */
} kino__node_sums;

/* Of a node that was made, and of one whose sums do not fit into it. */
typedef struct kino__node_extra {
    int64_t start, end; /* these three: only of one that was made */
    kino_strid name;    /* of a BACKWARD node: that of its module (".backward" is to be added) */
    kino__node_sums sums;
} kino__node_extra;

/* A call that puts work on a device. */
typedef struct kino__launch {
    uint32_t row;                    /* KINO_NO_ROW: made, for device work that nothing launched */
    uint32_t node;                   /* that it belongs to; KINO__NO_NODE: none */
    uint32_t first_work, work_count; /* in kino__profile.work */
} kino__launch;

/* Nodes of a track: of its own thread in order of rows, of one that several tracks share in the
 * order of all their rows. */
typedef struct kino__track_nodes {
    uint32_t first, count; /* count 0: it has none */
    bool is_shared;
} kino__track_nodes;

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

struct kino__profile;
/* The role of a row; KERNEL stands for all kernels, KINO__ROLE_COUNT for none. */
kino__role kino__profile_role(const struct kino__profile *p, uint32_t row);
/* In which order roles take their parts of the steps: all but OTHER, which has the rest. */
const uint8_t *kino__profile_role_order(const struct kino__profile *p);
const char *kino__role_name(kino__role role); /* "Kernel", "Memcpy", ... as the plugin has them */

typedef struct kino__profile_step {
    kino_str name;      /* "5"; "0" when the trace has no steps */
    int64_t number;     /* KINO_NO_INT when the name is no number */
    uint32_t row;       /* KINO_NO_ROW: the made one */
    int64_t start, end; /* with the device work it launched */
    int64_t host_start, host_end;
    int64_t device_start, device_end; /* of its device work; KINO_NO_TIME: none */
    uint32_t work_count;              /* device events launched inside */
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

/* Arguments of kernels; NaN and KINO_NO_INT: absent. The same ones come again and again. */
typedef struct kino__kernel_shape {
    int64_t device;
    double occupancy, blocks_per_sm;
    int64_t registers, shared_memory;
    kino_strid grid, block; /* JSON text, in kino__profile.texts */
} kino__kernel_shape;

/* One entry a kernel, in order of rows. */
typedef struct kino__kernel_info {
    uint32_t row;
    uint32_t node;       /* that launched it, KINO__NO_NODE: none, or its launch has none */
    uint32_t shape : 31; /* kino__profile_shape */
    uint32_t is_communication : 1;
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

    KINO__VEC(kino__profile_thread) threads; /* in order of their first event */
    KINO__VEC(kino__node) nodes;             /* of one thread: in order of start, longer first */
    KINO__VEC(kino__node_extra) extras;
    kino__row_rank node_rows;         /* rows that are nodes */
    kino__track_nodes *track_nodes;   /* of each track: where they stand */
    KINO__VEC(kino__launch) launches; /* grouped by node, each group in order of time */
    KINO__VEC(uint32_t) work;         /* rows of device events, grouped by launch */
    KINO__VEC(uint32_t) stale;        /* kernels that nothing launched */
    size_t crossing_count; /* spans that cross the end of one they start in: they stand beside it */
    bool has_overlaps;     /* there are such, or spans that do so by a rounding error */
    size_t folded_count;   /* calls that are one with the call of the same name around them */

    KINO__VEC(kino__profile_step) steps; /* those that are kept */
    size_t step_count_found;             /* before the tail was removed */
    bool has_step_events;                /* or iterations */
    kino__step_source step_source;
    kino__step_map step_map;                  /* the default: the step of any row */
    kino__intervals ranges[KINO__ROLE_COUNT]; /* united, whole trace; OTHER is empty */
    int64_t first_ts;                         /* of all events that play a part */
    int64_t window_start, window_end;         /* of the utilisation series */

    KINO__VEC(kino__comm_record) comm; /* in order of start, longer first */
    kino__intervals comm_ranges;
    KINO__VEC(kino__kernel_info) kernels;
    KINO__VEC(kino__kernel_shape) shapes;
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
    uint32_t seen_names;       /* flags of operators' and annotations' names together */
    uint32_t collective_flags; /* a span whose name has one of these is a collective */
} kino__profile;

/* The profile of a trace in one of the two modes, made on first use and kept with the trace; NULL
 * when memory is out. Any thread. `pool` may be NULL. */
const kino__profile *kino__profile_of(const kino__trace *trace, bool is_compat, kino__pool *pool);

/* The same for a trace that nobody else uses: with the stages that need little memory it does
 * `beside(context)`, and it gives links back when they have been used; when this is its last use, the
 * ids too. */
const kino__profile *kino__profile_alone(kino__trace *trace, bool is_compat, kino__pool *pool,
                                         bool is_last, void (*beside)(void *context),
                                         void *context);

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

static inline const kino__kernel_shape *kino__profile_shape(const kino__profile *profile,
                                                            const kino__kernel_info *kernel)
{
    return &profile->shapes.items[kernel->shape];
}

/* -- what a node does not hold itself; `node` is one of profile->nodes */

static inline int64_t kino__node_start(const kino__profile *profile, const kino__node *node)
{
    return node->row == KINO_NO_ROW ? profile->extras.items[node->device].start
                                    : profile->trace->ts[node->row];
}

static inline int64_t kino__node_end(const kino__profile *profile, const kino__node *node)
{
    const kino__trace *trace = profile->trace;
    return node->row == KINO_NO_ROW
               ? profile->extras.items[node->device].end
               : kino__interval_of(trace->ts[node->row], trace->dur[node->row]).end;
}

static inline int64_t kino__node_length(const kino__profile *p, const kino__node *n)
{
    return kino__node_end(p, n) - kino__node_start(p, n);
}

static inline kino_strid kino__node_name_id(const kino__profile *profile, const kino__node *node)
{
    return node->row == KINO_NO_ROW ? profile->extras.items[node->device].name
                                    : profile->trace->name[node->row];
}

static inline kino_str kino__node_name(const kino__profile *profile, const kino__node *node)
{
    return kino__trace_string(profile->trace, kino__node_name_id(profile, node));
}

static inline kino__node_sums kino__node_sums_of(const kino__profile *profile,
                                                 const kino__node *node)
{
    if (node->has_extra)
        return profile->extras.items[node->device].sums;
    int64_t own = node->is_all_own ? node->device : 0;
    return (kino__node_sums){node->self_host, node->device, own, node->is_tensor ? node->device : 0,
                             node->is_own_tensor ? own : 0};
}

/* The first of its launches; *count is how many there are. */
const kino__launch *kino__node_launches(const kino__profile *profile, const kino__node *node,
                                        uint32_t *count);
uint32_t kino__node_last_child(const kino__profile *profile, const kino__node *node);
/* The node of a row, KINO__NO_NODE: none. */
uint32_t kino__profile_node_of(const kino__profile *profile, uint32_t row);

/* Visits the nodes of a thread, parents before children:
 *   for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) ... */
uint32_t kino__node_next(const kino__profile *profile, uint32_t node, uint32_t root);
/* The same, children before parents: starts with kino__node_first_leaf, ends behind root. */
uint32_t kino__node_first_leaf(const kino__profile *profile, uint32_t node);
uint32_t kino__node_next_up(const kino__profile *profile, uint32_t node, uint32_t root);

/* What the name of a row says. */
static inline uint32_t kino__profile_flags(const kino__profile *p, uint32_t row)
{
    kino_strid name = p->trace->name[row];
    return name == KINO_NO_STRING ? 0 : p->name_flags[name];
}

static inline int64_t kino__row_end(const kino__trace *trace, uint32_t row)
{
    return kino__interval_of(trace->ts[row], trace->dur[row]).end;
}

#endif
