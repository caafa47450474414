/* step_at.c - the step at a moment of a trace. */
#include "timeline/timeline_internal.h"

bool kino__tl_step_at(const kino__trace *trace, int64_t time, int64_t *number)
{
    kino__step_list steps = {0};
    bool ok = kino__trace_find_steps(trace, &steps);
    *number = KINO_NO_INT;
    for (size_t i = 0; i < steps.count; i++)
        if (steps.items[i].ts <= time && time < steps.items[i].ts + steps.items[i].dur)
            *number = steps.items[i].number; /* the one that starts last stays */
    kino__vec_deinit(&steps);
    return ok;
}
