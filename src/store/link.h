/* link.h - what belongs to what, worked out once, on demand, in linear time.
 *
 * Every function returns a column of event_count entries owned by the trace (NULL when memory is
 * out); the first caller makes it, concurrent callers wait or make it twice and one wins; any
 * thread. */
#ifndef KINO__STORE_LINK_H
#define KINO__STORE_LINK_H

#include "store/trace.h"

/* Spans (X) and instants nest by time within their track. parent: row of the containing span that
 * starts last, KINO_NO_ROW at the top. depth: 0 at the top. A span that overlaps its
 * neighbour without being contained is no child of it: it gets the parent both share, and its own
 * lane. */
typedef struct kino__nesting {
    const uint32_t *parent;
    const uint16_t *depth;  /* saturates at 65535 */
    const uint16_t *lane;   /* 0 unless spans of one depth overlap */
    uint32_t overlap_count; /* spans that overlap a sibling */
} kino__nesting;
const kino__nesting *kino__link_nesting(const kino__trace *trace);

/* Parents alone, in half the memory. */
const uint32_t *kino__link_parent(const kino__trace *trace);

/* Device activity -> the runtime or driver call with the same correlation, and back (the first one,
 * when a graph launch has many); KINO_NO_ROW where there is none. */
const uint32_t *kino__link_launch(const kino__trace *trace);

/* Device activity, runtime call -> the op it belongs to: by external id, else the innermost op
 * around the launching call. KINO_NO_ROW where there is none. */
const uint32_t *kino__link_op(const kino__trace *trace);

/* Steps: spans named "ProfilerStep#N" on host tracks (annotations; GPU-side copies do not count),
 * in order of start; without any, the iterations of the training loop (find_iterations.c). step
 * column: index into steps of the step an event belongs to, KINO_NO_ROW when none: host events by
 * their start, device events by their launch when it is known, else by their start; those that
 * start before the first step's first kernel were then launched before the recording, and have no
 * step. */
typedef enum kino__step_source {
    KINO__STEP_MARKED,
    KINO__STEP_OPTIMIZER,
    KINO__STEP_LOADER,
    KINO__STEP_FORWARD,
} kino__step_source;
const char *kino__step_source_word(kino__step_source source); /* "Optimizer.step", for people */

typedef struct kino__step {
    int64_t number; /* of iterations: 0, 1, 2, ... */
    int64_t ts, dur;
    uint32_t row; /* the span that is it, or that begins or ends the iteration */
    kino__step_source source;
} kino__step;
typedef KINO__VEC(kino__step) kino__step_list;
/* The steps alone, at once (find_steps.c); the list is emptied first. False when memory is out. */
KINO_NODISCARD bool kino__trace_find_steps(const kino__trace *trace, kino__step_list *steps);

/* Adds the iterations of a trace without marked steps. */
KINO_NODISCARD bool kino__trace_find_iterations(const kino__trace *trace, kino__step_list *steps);

typedef struct kino__steps {
    const kino__step *items;
    size_t count;
    const uint32_t *of_row;
} kino__steps;
const kino__steps *kino__link_steps(const kino__trace *trace);

/* The same without a column of all rows, for those who ask for few: the steps, and the pieces of
 * time that each is in. */
typedef struct kino__step_piece {
    int64_t start; /* until the next one's */
    uint32_t step; /* index, or KINO_NO_ROW */
} kino__step_piece;
typedef struct kino__step_map {
    kino__step_list steps;
    KINO__VEC(kino__step_piece) pieces;
    uint32_t first_kernel; /* that the first step launched, KINO_NO_ROW: none */
    int64_t recorded_from; /* its start: earlier work without a launch was launched before the
                              recording, and is no step's */
} kino__step_map;
/* False when memory is out. */
KINO_NODISCARD bool kino__step_map_init(kino__step_map *map, const kino__trace *trace);
void kino__step_map_deinit(kino__step_map *map);
/* The step of a row; `launch` is kino__link_launch. *hint is where the search begins: SIZE_MAX at
 * first, then what the question before left there. */
uint32_t kino__step_map_find(const kino__step_map *map, const kino__trace *trace,
                             const uint32_t *launch, uint32_t row, size_t *hint);

/* Flow pairs, in order of the ending event: s/t -> t/f with the same category, name and id. from/to
 * are rows of the flow events; from_span/to_span the spans they are bound to (same track, start at
 * or around the point), or KINO_NO_ROW. Points without a partner are counted. */
typedef struct kino__flow {
    int64_t id;
    uint32_t from, to;
    uint32_t from_span, to_span;
} kino__flow;
typedef struct kino__flows {
    const kino__flow *items;
    size_t count;
    uint64_t dangling_starts, dangling_ends;
} kino__flows;
const kino__flows *kino__link_flows(const kino__trace *trace);

/* Calls `see` for every point of a flow, in order of rows: does a point lead to it, does it lead to
 * one? Keeps nothing, and needs neither nesting nor the list above. False when memory is out. */
typedef void (*kino__flow_point_fn)(void *context, uint32_t row, bool has_before, bool has_next);
KINO_NODISCARD bool kino__flow_points_each(const kino__trace *trace, kino__flow_point_fn see,
                                           void *context);

/* Backward op -> forward op by sequence number and forward thread (flows fwdbwd where there are no
 * numbers); KINO_NO_ROW where there is none. */
const uint32_t *kino__link_forward(const kino__trace *trace);
/* Gives it back. Only while nobody else uses the trace. */
void kino__link_forward_forget(kino__trace *trace);

/* Python span -> the Python span that called it ("Python parent id", else nesting), and op/runtime
 * span -> the innermost enclosing Python span; module: row of the innermost enclosing "nn.Module: "
 * span. */
const uint32_t *kino__link_python_parent(const kino__trace *trace);
const uint32_t *kino__link_module(const kino__trace *trace);

void kino__links_free(kino__links *links);

#endif
