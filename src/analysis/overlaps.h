/* overlaps.h - spans of a host thread that begin inside another one and end after it, counted once
 * for all who show the number. */
#ifndef KINO__ANALYSIS_OVERLAPS_H
#define KINO__ANALYSIS_OVERLAPS_H

#include "store/trace.h"

typedef enum kino__overlap {
    KINO__OVERLAP_NONE,
    /* Of the two one is a Python function and the other is not. PyTorch takes their times by
     * different paths: record_function's __enter__ and __exit__ cross the annotation they make. */
    KINO__OVERLAP_PYTHON,
    KINO__OVERLAP_OTHER,
} kino__overlap;

/* Calls `see` for each span of a host thread, in order of rows; false when memory is out. Cost: the
 * logarithm of the nesting depth for each. */
bool kino__overlaps_each(const kino__trace *trace,
                         void (*see)(void *context, uint32_t row, kino__overlap overlap),
                         void *context);

/* How many are OTHER, KINO_NO_INT when memory is out. */
int64_t kino__overlaps_count(const kino__trace *trace);

#endif
