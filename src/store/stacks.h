/* stacks.h - the spans of a track as call stacks; for whoever shows stacks (speedscope, collapsed,
 * flame graphs).
 *
 * Stacks want spans that open and close in strict order. Spans of a track nearly
 * always do; where two overlap and neither contains the other, the later one goes to another lane:
 *
 *   lane 0   |------ a ------|   |-- d --|     A span stands on the span that contains it and
 *              |- b -|                         starts last, if that is the innermost one open in
 *   lane 1            |------ c ------|        its lane; else in the first lane in which nothing
 *                       |- e -|                is open.
 *
 * So within a lane spans are strictly nested, every span is in exactly one lane, and none is cut. A
 * span without a duration (or with a negative one) has the length 0; spans without a start are left
 * out, and so is all that is no span. Only the spans that were asked for count: what is left out by
 * its kind neither contains nor overlaps anything. */
#ifndef KINO__STORE_STACKS_H
#define KINO__STORE_STACKS_H

#include "base/str.h"
#include "base/string_pool.h"
#include "base/vec.h"
#include "store/run.h"
#include "store/trace.h"

/* What stacks are made of. */
typedef enum kino__stack_kind {
    KINO__STACK_COMBINED, /* Python and ops */
    KINO__STACK_PYTHON,
    KINO__STACK_OP,
} kino__stack_kind;

/* Is the row a span that belongs to stacks of this kind? PYTHON: the spans of the Python tracer.
 * OP: all others. COMBINED: all. */
static inline bool kino__stack_has(const kino__trace *trace, uint32_t row, kino__stack_kind kind)
{
    if (trace->phase[row] != 'X' || trace->ts[row] == KINO_NO_TIME)
        return false;
    return kind == KINO__STACK_COMBINED || (kino__category_kind(trace->category[row]) ==
                                            KINO__KIND_PYTHON) == (kind == KINO__STACK_PYTHON);
}

/* Where a span ends. */
static inline int64_t kino__stack_end(const kino__trace *trace, uint32_t row)
{
    int64_t dur = trace->dur[row], end;
    if (dur <= 0)
        return trace->ts[row];
    return __builtin_add_overflow(trace->ts[row], dur, &end) ? INT64_MAX : end;
}

/* The spans of a track, lane by lane: lane l is rows[starts[l]] .. rows[starts[l + 1] - 1], in
 * order of start. */
typedef struct kino__stack_lanes {
    uint32_t *rows;
    size_t row_count;
    uint32_t *starts; /* lane_count + 1 */
    size_t lane_count;
} kino__stack_lanes;

/* False when memory is out. Cost: linear, plus the logarithm of the number of lanes for each span
 * that starts one. 16 bytes a span while it runs. */
KINO_NODISCARD bool kino__stack_lanes_init(kino__stack_lanes *lanes, const kino__trace *trace,
                                           const kino__track *track, kino__stack_kind kind);
void kino__stack_lanes_deinit(kino__stack_lanes *lanes);

/* Walks through a lane: spans open and close in order of time, at equal times as they are nested.
 *   kino__stack_walk walk = {.trace = trace, .rows = rows, .count = count};
 *   while (kino__stack_walk_next(&walk, &event)) ...
 *   ok = !walk.failed;                           memory
 *   kino__stack_walk_deinit(&walk); */
typedef struct kino__stack_walk {
    const kino__trace *trace;
    const uint32_t *rows;
    size_t count, at;
    KINO__VEC(uint32_t) open; /* rows */
    bool failed;
} kino__stack_walk;
typedef struct kino__stack_event {
    uint32_t row;
    bool is_open;
    int64_t time;
} kino__stack_event;
bool kino__stack_walk_next(kino__stack_walk *walk, kino__stack_event *out);
void kino__stack_walk_deinit(kino__stack_walk *walk);

/* Distinct frames over all traces, numbered in order of first use. */
typedef struct kino__stack_frames {
    kino__string_pool texts;
    bool is_collapsed;        /* texts are made fit for a line of collapsed stacks */
    const kino__trace *trace; /* the one that of_name is for */
    uint32_t *of_name;        /* by the trace's string ids; KINO_NO_STRING: not used yet */
    uint32_t unnamed;
    kino__buffer scratch;
} kino__stack_frames;
void kino__stack_frames_init(kino__stack_frames *frames, bool is_collapsed);
void kino__stack_frames_deinit(kino__stack_frames *frames);
/* Frames are asked for trace by trace; false when memory is out. */
KINO_NODISCARD bool kino__stack_frames_start(kino__stack_frames *frames, const kino__trace *trace);
/* The frame of a row of that trace; KINO_NO_STRING when memory is out. */
kino_strid kino__stack_frame(kino__stack_frames *frames, uint32_t row);
/* The frame of any text. */
kino_strid kino__stack_frame_of_text(kino__stack_frames *frames, kino_str text);

/* Do ranks tell the traces of the run apart? True for a single trace, else when all are known and
 * different. */
bool kino__stack_ranks_tell(const kino__run *run);
/* What a track is called: "rank 0, python 100, thread 101 (main)", "rank 0, device 0, stream 7";
 * not by_rank: "trace 0, ...". */
void kino__stack_label(const kino__trace *trace, const kino__track *track, bool by_rank,
                       kino__buffer *out);

/* Why a run has no such spans: a half sentence. */
const char *kino__stack_why_empty(kino__stack_kind kind);

#endif
