/* frame_params.h - what analyses that stand on frames have in common: parameters and notes. */
#ifndef KINO__ANALYSIS_FRAME_PARAMS_H
#define KINO__ANALYSIS_FRAME_PARAMS_H

#include "analysis/analysis.h"
#include "model/frame/frame.h"

/* The mode that the parameter "compat" asks for. */
kino__frame_mode kino__frame_mode_of(const kino__analysis *a);
/* The frame of a trace in that mode, with the last step where the BOOL parameter says so; NULL when
 * memory is out. */
const kino__frame *kino__frame_asked(const kino__analysis *a, const kino__trace *trace,
                                     size_t last_step);
/* For .compat of definitions: "hta", "hta-ns". */
extern const char *const kino__frame_compat[];

/* The parameter by which an analysis keeps the last step. */
#define KINO__PARAM_LAST_STEP                                                                      \
    {                                                                                              \
        "include_last_step", KINO_TYPE_BOOL, "yes",                                                \
            "include the last step; with compat: no, as HTA does", NULL                            \
    }

/* The note that belongs under an answer from frames whose last step was cut off. */
void kino__note_cut(kino_result *result, bool is_cut);

#endif
