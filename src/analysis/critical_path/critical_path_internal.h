/* critical_path_internal.h - the graph of what waited for what, shared by the files that make it.
 *
 *   region   critical_path_region.c  the events of one or more annotations, and their nodes
 *   host     critical_path_host.c    edges inside threads and of the runtime's lock
 *   comm     critical_path_comm.c    edges of collectives that threads of the host carry out
 *   device   critical_path_device.c  edges of launches, streams and synchronisation
 *   search   critical_path_search.c  the longest path
 *
 * Every event of the region that takes part has two nodes, its start and its end. Nodes are
 * numbered by time; events are named by their position in the frame. */
#ifndef KINO__ANALYSIS_CRITICAL_PATH_INTERNAL_H
#define KINO__ANALYSIS_CRITICAL_PATH_INTERNAL_H

#include "analysis/frame_params.h"

#define KINO__NO_POINT UINT32_MAX

typedef enum kino__edge_type {
    KINO__EDGE_OPERATOR,     /* the span of an event, or a part of it */
    KINO__EDGE_DEPENDENCY,   /* order of operators; the runtime's lock */
    KINO__EDGE_LAUNCH_DELAY, /* start of a launch to start of its work */
    KINO__EDGE_KERNEL_DELAY, /* end of the work before to start of the next */
    KINO__EDGE_SYNC,         /* the device is waited for */
    KINO__EDGE_TYPES,
} kino__edge_type;

enum {
    KINO__NAME_MATCH = 1, /* contains the annotation's text */
    KINO__NAME_LOAD = 2,  /* contains the text of a data loader's events */
    KINO__NAME_LOCK = 4,  /* holds the runtime's lock */
    KINO__NAME_BLOCKING = 8,
    KINO__NAME_LAUNCH = 16,
    KINO__NAME_FORWARD = 32,
    KINO__NAME_AUTOGRAD = 64,
    /* never in the modes of HTA, which knows communication by kernels only */
    KINO__NAME_CARRIES = 128,    /* carries out a collective on the host */
    KINO__NAME_DISPATCHES = 256, /* asks for one */
    KINO__NAME_AWAITS = 512,     /* returns when it is done */
    KINO__NAME_ON_DEVICE = 1024, /* puts a collective on a device */
};

/* Names that mean something to the device's edges. */
typedef enum kino__sync_name {
    KINO__SYNC_NONE,
    KINO__SYNC_STREAM_WAIT, /* "Stream Wait Event", on the device */
    KINO__SYNC_EVENT,       /* "Event Sync" */
    KINO__SYNC_STREAM,      /* "Stream Sync" */
    KINO__SYNC_CONTEXT,     /* "Context Sync" */
    KINO__SYNC_RECORD,      /* cudaEventRecord, on the host */
    KINO__SYNC_WAIT,        /* cudaStreamWaitEvent, on the host */
} kino__sync_name;

typedef struct kino__edge {
    uint32_t from, to; /* nodes */
    int64_t weight;    /* units of the frame */
    uint32_t event;    /* whom the time is charged to: a position, KINO_NO_ROW */
    kino__edge_type type;
} kino__edge;

typedef KINO__VEC(kino__edge) kino__edges;

/* What is asked for. */
typedef struct kino__critical_request {
    kino_str annotation;   /* size 0: the whole trace */
    int64_t first, last;   /* instances, from 0 */
    const kino_str *loads; /* texts of data loaders' events */
    size_t load_count;
    bool has_zero_edges; /* launch edges of weight 0 where the launch did not matter */
} kino__critical_request;

typedef struct kino__critical {
    const kino__frame *f;
    kino__critical_request request;
    uint16_t *name_flags; /* of each string */
    uint8_t *sync_names;  /* of each string: kino__sync_name */
    int64_t *stream;      /* by position: -1 on the host; sync records have the one they name */
    bool is_comm_on_host; /* collectives are spans of the host: some are, or no device is there */
    bool has_region;
    int64_t from, to; /* of the region, inclusive */
    uint32_t *events; /* positions, in file order */
    uint32_t event_count;
    uint32_t *node; /* by position: two entries, start and end, or KINO__NO_POINT */
    uint32_t node_count;
    uint32_t *node_event; /* by node: position << 1 | is end */
    int64_t *node_ts;
    uint32_t *node_lane; /* by node: the thread whose edges lead to it, KINO__NO_POINT: none */
    uint8_t *after_rest; /* by node: its thread may have waited until then, see the host's edges */
    kino__edges edges;
    int64_t unlaunched;      /* device records in the region whose call is not in the trace */
    uint64_t edges_left_out; /* of synchronisation with very many streams */
    /* found by the search */
    bool is_ok;               /* no cycle, no wait of a stream for itself */
    uint32_t in_graph;        /* nodes with an edge */
    uint32_t in_cycle;        /* nodes that no order reaches */
    KINO__VEC(uint32_t) path; /* edges, in order of time */
    uint32_t path_start;      /* node; KINO__NO_POINT: no path */
} kino__critical;

/* All of it. False when memory is out; deinitialise also then. */
KINO_NODISCARD bool kino__critical_make(kino__critical *c, const kino__frame *f,
                                        const kino__critical_request *request);
void kino__critical_deinit(kino__critical *c);

/* The steps after the region; false when memory is out. */
KINO_NODISCARD bool kino__critical_host(kino__critical *c);
KINO_NODISCARD bool kino__critical_comm(kino__critical *c);
KINO_NODISCARD bool kino__critical_device(kino__critical *c);
KINO_NODISCARD bool kino__critical_search(kino__critical *c);

/* Events of one thread as marks in the order of their call stack: position << 1 | is end. The end
 * of an event is where it leaves the stack: an end takes whatever is on top. `out` has room for
 * twice `count`. Reorders events. False when memory is out. */
KINO_NODISCARD bool kino__call_stack_marks(const kino__frame *f, uint32_t *events, size_t count,
                                           uint64_t *out);

/* Adds an edge; false when memory is out. */
KINO_NODISCARD bool kino__critical_add(kino__critical *c, uint32_t from, uint32_t to,
                                       kino__edge_type type, int64_t weight, uint32_t event);

/* Sorts values by their keys, stable, in linear time; false when memory is out. */
KINO_NODISCARD bool kino__sort_by_time(int64_t *keys, uint32_t *values, size_t count);

/* Differences that stay at the limit. */
static inline int64_t kino__time_between(int64_t from, int64_t to)
{
    int64_t between;
    return __builtin_sub_overflow(to, from, &between) ? (to < from ? INT64_MIN + 1 : INT64_MAX)
                                                      : between;
}

static inline uint32_t kino__start_node(const kino__critical *c, uint32_t at)
{
    return c->node[2 * (size_t)at];
}

static inline uint32_t kino__end_node(const kino__critical *c, uint32_t at)
{
    return c->node[2 * (size_t)at + 1];
}

static inline uint32_t kino__node_event(const kino__critical *c, uint32_t node)
{
    return c->node_event[node] >> 1;
}

static inline bool kino__node_is_end(const kino__critical *c, uint32_t node)
{
    return c->node_event[node] & 1;
}

static inline uint16_t kino__name_flags(const kino__critical *c, uint32_t at)
{
    kino_strid name = c->f->trace->name[c->f->row[at]];
    return name == KINO_NO_STRING ? 0 : c->name_flags[name];
}

/* A span of the host that is one of these (KINO__NAME_CARRIES ...) by name and category. */
static inline bool kino__is_comm_span(const kino__critical *c, uint32_t at, uint16_t flags)
{
    kino__kind kind = kino__category_kind(c->f->trace->category[c->f->row[at]]);
    return kino__name_flags(c, at) & flags && c->stream[at] == -1 &&
           (kind == KINO__KIND_OP || kind == KINO__KIND_ANNOTATION);
}

static inline kino__sync_name kino__sync_name_of(const kino__critical *c, uint32_t at)
{
    kino_strid name = c->f->trace->name[c->f->row[at]];
    return name == KINO_NO_STRING ? KINO__SYNC_NONE : (kino__sync_name)c->sync_names[name];
}

/* HTA: has an index of a partner, be it that of nobody. */
static inline bool kino__has_correlation(const kino__frame *f, uint32_t at)
{
    return f->link[at] != KINO__LINK_NONE;
}

#endif
