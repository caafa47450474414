/* cut.h - which rows of a trace a cut keeps; between cut.c and cut_select.c. */
#ifndef KINO__TRANSFORM_CUT_H
#define KINO__TRANSFORM_CUT_H

#include <kino/engine.h>

#include "store/link.h"
#include "store/trace.h"

typedef struct kino__cut {
    kino_cut_options options;
    int64_t from, to; /* ns of the run; KINO_NO_TIME: open */
    bool has_steps;   /* chosen by steps */
} kino__cut;

/* Marks the rows to keep, adds to the counts, and says whether anything but metadata is kept.
 * is_kept has one byte a row, all 0. KINO_NOMEM when memory is out. */
KINO_NODISCARD kino_status kino__cut_select(const kino__cut *cut, const kino__trace *trace,
                                            uint8_t *is_kept, kino_cut_counts *counts,
                                            bool *has_any, kino_error *err);

#endif
