/* critical_path_result.h - what a trace gives to the answer of critical-path: its partial result,
 * shared by the file that makes it and the one that shows it. */
#ifndef KINO__ANALYSIS_CRITICAL_PATH_RESULT_H
#define KINO__ANALYSIS_CRITICAL_PATH_RESULT_H

#include "analysis/critical_path/critical_path_internal.h"

enum {
    KINO__CRITICAL_ANNOTATION,
    KINO__CRITICAL_INSTANCE,
    KINO__CRITICAL_LOADS,
    KINO__CRITICAL_ZERO_EDGES,
    KINO__CRITICAL_GRAPH,
    KINO__CRITICAL_LAST_STEP,
};

/* In the order of their names. */
typedef enum kino__bound {
    KINO__BOUND_NONE,
    KINO__BOUND_CPU,
    KINO__BOUND_CPU_COMMUNICATION,
    KINO__BOUND_LOADING,
    KINO__BOUND_COMMUNICATION,
    KINO__BOUND_COMPUTE,
    KINO__BOUND_KERNEL_DELAY,
    KINO__BOUND_LAUNCH_DELAY,
    KINO__BOUNDS,
} kino__bound;

/* Times are ns; KINO_NO_INT where there is none. */
typedef struct kino__critical_rank {
    int64_t rank, from, to; /* of the region */
    int64_t is_ok, in_cycle, left_out, unlaunched;
    int64_t events, nodes, in_graph, edges; /* in the region, made, with an edge */
    int64_t path_nodes, path_events, path_weight;
    int64_t type_count[KINO__EDGE_TYPES], type_weight[KINO__EDGE_TYPES];
    int64_t bound_count[KINO__BOUNDS], bound_time[KINO__BOUNDS];
} kino__critical_rank;

/* Names are numbers of texts; KINO_NO_STRING: none. */
typedef struct kino__critical_node {
    int64_t rank, event, ts;
    uint32_t node, name;
    bool is_end, is_blocking, on_path;
} kino__critical_node;

typedef struct kino__critical_edge {
    int64_t rank, from, to, event, weight, type;
} kino__critical_edge;

typedef struct kino__critical_part {
    int64_t rank, event, duration;
    int64_t pid, tid, stream;
    uint32_t name, category; /* the name as HTA shortens it */
    uint32_t type, bound;
} kino__critical_part;

typedef struct kino__critical_result {
    KINO__VEC(kino__critical_rank) ranks;
    KINO__VEC(kino__critical_node) nodes; /* of the path; with graph: then all */
    KINO__VEC(kino__critical_edge) edges; /* with graph */
    KINO__VEC(kino__critical_part) parts;
    kino__string_pool texts;
    int64_t missing; /* ranks without the annotation */
    int64_t whole;   /* ranks without steps, taken as a whole */
    bool is_cut;
} kino__critical_result;

extern const kino_table_info kino__critical_tables[];
kino_status kino__critical_finish(const kino__analysis *a, void *partial, kino_result *result,
                                  kino_error *err);

#endif
