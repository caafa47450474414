/* frame_internal.h - shared by the files that make frames. */
#ifndef KINO__ANALYSIS_FRAME_INTERNAL_H
#define KINO__ANALYSIS_FRAME_INTERNAL_H

#include "analysis/frame.h"

kino__kernel_type kino__kernel_type_of(kino_str name, bool is_hta);

/* frame_steps.c: iterations of all rows (before anything is cut), then the cut. False when memory
 * is out. */
bool kino__frame_find_iterations(kino__frame *f);
bool kino__frame_cut(kino__frame *f, bool has_last_step);

/* The number of "ProfilerStep#5" (HTA also takes blanks around the mark), KINO_NO_INT for other
 * names. */
int64_t kino__step_number(kino_str name, bool is_strict);

static inline bool kino__frame_is_hta(const kino__frame *f)
{
    return f->mode != KINO__FRAME_DEFAULT;
}

#endif
