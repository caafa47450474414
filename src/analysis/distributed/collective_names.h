/* collective_names.h - what a collective is: operation and process group, from the metadata of the
 * profiler or from the name of a kernel, as one text that is equal for equal ones. */
#ifndef KINO__ANALYSIS_COLLECTIVE_NAMES_H
#define KINO__ANALYSIS_COLLECTIVE_NAMES_H

#include "base/str.h"

typedef struct kino__collective {
    kino_str operation;    /* "all-reduce"; an unknown one as the trace has it */
    kino_str group, ranks; /* size 0: not told */
    int64_t group_size;    /* KINO_NO_INT: not told */
} kino__collective;

/* Appends the text of a collective: `args` has the metadata, or is empty. world_size is the size of
 * the group where nobody tells another one; KINO_NO_INT: not known. */
void kino__collective_text(kino_str kernel, kino_str args, int64_t world_size, kino__buffer *out);

/* Takes such a text apart: views of it. Any text will do. */
kino__collective kino__collective_read(kino_str text);

/* Sends and receives: partners are other ranks, with kernels of their own. */
bool kino__collective_is_point_to_point(const kino__collective *collective);

/* No rank can leave it before all have come. */
bool kino__collective_ends_together(const kino__collective *collective);

/* Bus bandwidth / algorithm bandwidth, as nccl-tests has it; NaN where the size of the group is
 * needed and not known. */
double kino__collective_bus_factor(const kino__collective *collective);

#endif
