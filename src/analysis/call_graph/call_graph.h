/* call_graph.h - who called whom: the rows of a frame as trees, one a thread, with the device work
 * below the calls that launched it.
 *
 *   thread 1   ProfilerStep#1 ------------------------------   depth 0
 *                aten::mm ----------                           depth 1
 *                  cudaLaunchKernel --                         depth 2
 *   stream 7                     gemm -----                    depth 3, child of the launch
 *
 * Made once a trace, mode and cut, and kept with the trace; or for oneself, in less memory. Rows
 * are named by their position in the frame. */
#ifndef KINO__ANALYSIS_CALL_GRAPH_H
#define KINO__ANALYSIS_CALL_GRAPH_H

#include "analysis/frame_params.h"

enum {
    KINO__CALL_TOP = -1,  /* parent: the root of its thread */
    KINO__CALL_NONE = -2, /* parent: none, the row is in no tree */
};

/* A thread. */
typedef struct kino__call_lane {
    uint32_t track;
    kino_str label;        /* "main": has the steps; "bwd": has autograd; else its first name */
    int64_t root;          /* a negative number that stands for the thread as a parent */
    int64_t stack_root;    /* the same, or that of the thread in which it continues */
    uint32_t first, count; /* its rows in `order` */
} kino__call_lane;

typedef struct kino__call_graph {
    const kino__frame *frame;
    kino__frame *own_frame; /* the same where nobody else has it: without links. Or NULL */
    KINO__VEC(kino__call_lane) lanes; /* by pid, then tid */
    /* Rows that are in a tree, parents before children; those of a lane by start, device work
     * last. */
    uint32_t *order;
    uint32_t count;
    /* one entry a position */
    int32_t *parent;       /* position, or KINO__CALL_ */
    uint32_t *lane;        /* of `lanes`; device work has that of its launch. KINO_NO_ROW: none */
    uint32_t *depth;       /* 0 on top */
    uint32_t *height;      /* device work 0, else 1 + the largest of the children's (0 without) */
    uint32_t *num_kernels; /* device rows at and below it */
    int64_t *kernel_dur;   /* sum of their durations, units of the frame */
    /* That of them which starts first and that which ends last: position + 1, 0 without. */
    uint32_t *first_kernel, *last_kernel;
} kino__call_graph;

/* Is the row in a tree? */
static inline bool kino__call_graph_has(const kino__call_graph *g, uint32_t at)
{
    return g->parent[at] != KINO__CALL_NONE;
}

/* NULL when memory is out. Any thread. */
const kino__call_graph *kino__call_graph_of(const kino__trace *trace, kino__frame_mode mode,
                                            bool has_last_step, kino__pool *pool);

/* One that is not kept: to be freed, or taken apart. is_last: nobody needs the trace afterwards but
 * for what rows of the graph tell, so its other columns go as soon as they can. NULL when memory is
 * out. */
kino__call_graph *kino__call_graph_new(const kino__trace *trace, kino__frame_mode mode,
                                       bool has_last_step, bool is_last, kino__pool *pool);
void kino__call_graph_free(kino__call_graph *graph);

static inline int64_t kino__call_end(const kino__frame *f, uint32_t at)
{
    return kino__sum(kino__frame_start(f, at), kino__frame_length(f, at));
}

#endif
