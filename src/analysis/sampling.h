/* sampling.h - what a trace says about how its call stacks were sampled: its key "kino_sampling",
 * written by `kino record`. */
#ifndef KINO__ANALYSIS_SAMPLING_H
#define KINO__ANALYSIS_SAMPLING_H

#include "store/trace.h"

typedef struct kino__sampling {
    int64_t stacks;    /* that were sampled; 0: the trace does not say */
    int64_t broken;    /* that do not reach the function in which their thread began */
    bool has_pointers; /* some were walked by frame pointers */
    kino_str module;   /* in which most of these end, as JSON text; empty: unknown */
} kino__sampling;

/* Of a merged trace: of all its parts. Anything may be in the file: broken <= stacks, none is
 * negative. */
kino__sampling kino__sampling_of(const kino__trace *trace);
/* More than a tenth are broken: times with callees would be too low. */
bool kino__stacks_are_broken(int64_t stacks, int64_t broken);

#endif
