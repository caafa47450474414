/* frame_params.c - see the header. */
#include "analysis/frame_params.h"

const char *const kino__frame_compat[] = {"hta", "hta-ns", NULL};

kino__frame_mode kino__frame_mode_of(const kino__analysis *a)
{
    if (kino__analysis_is_compat(a, "hta"))
        return KINO__FRAME_HTA;
    return kino__analysis_is_compat(a, "hta-ns") ? KINO__FRAME_HTA_NS : KINO__FRAME_DEFAULT;
}

const kino__frame *kino__frame_asked(const kino__analysis *a, const kino__trace *trace,
                                     size_t last_step)
{
    return kino__frame_of(trace, kino__frame_mode_of(a), kino__param_bool(a, last_step), a->pool);
}

void kino__note_cut(kino_result *result, bool is_cut)
{
    if (is_cut)
        kino__result_note_hinted(result,
                                 kino__hint(KINO_HINT_PARAMETER, "include_last_step", "yes"),
                                 "the last step is left out: set " KINO__HERE " to include it");
}
