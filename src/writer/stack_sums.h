/* stack_sums.h - the spans of a run as distinct call stacks, with calls and own time: what writers of
 * collapsed stacks and of pprof begin with.
 *
 * One pass over the spans, track by track and lane by lane (store/stacks.h), into a tree of
 * distinct stacks. In a lane spans nest strictly, so own time is a span's length less the lengths
 * of those directly on it: each length is added to one node and taken from the node below, and what
 * remains adds up to the lengths of the spans at the bottom, exactly. Memory: the tree, and 16
 * bytes a span of the largest track. */
#ifndef KINO__WRITER_STACK_SUMS_H
#define KINO__WRITER_STACK_SUMS_H

#include "base/map.h"
#include "writer/writer.h"

#define KINO__NO_SUM UINT32_MAX

/* A distinct stack: a frame on another stack, which comes before it. Times may be sums of absurd
 * durations. */
typedef struct kino__stack_sum {
    uint32_t parent; /* KINO__NO_SUM: the frame is a track */
    kino_strid frame;
    uint64_t calls;
    __int128 own_ns;
} kino__stack_sum;

typedef struct kino__stack_sums {
    const kino__run *run;
    const kino__write_context *context;
    kino__stack_frames frames;
    kino__map children; /* parent << 32 | frame -> node */
    KINO__VEC(kino__stack_sum) nodes;
    KINO__VEC(uint32_t) open; /* the nodes of the spans that are open, the track below them */
    uint64_t event_count;
    bool by_rank;
} kino__stack_sums;

/* Adds up the run; `is_collapsed` as of kino__stack_frames. Fails also where there are no such
 * spans. Deinitialise also after a failure. */
KINO_NODISCARD kino_status kino__stack_sums_init(kino__stack_sums *sums, const kino__run *run,
                                                 const kino__write_context *context,
                                                 bool is_collapsed, kino_error *err);
void kino__stack_sums_deinit(kino__stack_sums *sums);

/* Work done while writing; KINO_CANCELLED when the job should stop. */
KINO_NODISCARD kino_status kino__stack_sums_progress(const kino__stack_sums *sums, size_t amount,
                                                     kino_error *err);

#endif
