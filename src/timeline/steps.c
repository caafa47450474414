/* steps.c - the profiler steps of a trace, as store/link_steps.c defines them, without the work of
 * giving every event its step: what a screen shows first must be there at once. */
#include <stdlib.h>

#include "timeline/timeline_internal.h"

/* The N of "ProfilerStep#N" for each string of the pool; NULL: none is one, or memory is out. */
static int64_t *step_numbers(const kino__trace *trace, bool *failed)
{
    static const kino_str prefix = {"ProfilerStep#", 13};
    size_t count = kino__string_pool_count(&trace->strings);
    int64_t *numbers = NULL;
    for (size_t i = 0; i < count && !*failed; i++) {
        kino_str name = kino__trace_string(trace, (kino_strid)i);
        int64_t number;
        if (!kino__str_starts_with(name, prefix) ||
            !kino__str_to_int((kino_str){name.data + prefix.size, name.size - prefix.size},
                              &number))
            continue;
        if (!numbers) {
            numbers = malloc(count * sizeof *numbers);
            *failed = !numbers;
            for (size_t k = 0; numbers && k < count; k++)
                numbers[k] = KINO_NO_INT;
        }
        if (numbers)
            numbers[i] = number;
    }
    return numbers;
}

static int compare_steps(const void *left, const void *right)
{
    const kino__tl_step *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool collect(const kino__trace *trace, const kino__track *track, const int64_t *numbers,
                    kino__tl_steps *steps)
{
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        kino_strid name = trace->name[row];
        if (name == KINO_NO_STRING || numbers[name] == KINO_NO_INT || trace->phase[row] != 'X' ||
            trace->ts[row] == KINO_NO_TIME ||
            kino__category_kind(trace->category[row]) == KINO__KIND_GPU_ANNOTATION)
            continue;
        kino__tl_step *slot = kino__vec_add(steps);
        if (!slot)
            return false;
        kino__interval time = kino__interval_of(trace->ts[row], trace->dur[row]);
        *slot = (kino__tl_step){numbers[name], time.start, time.end, row};
    }
    return true;
}

bool kino__tl_find_steps(const kino__trace *trace, kino__tl_steps *steps)
{
    bool failed = false;
    int64_t *numbers = step_numbers(trace, &failed);
    steps->count = 0;
    for (size_t i = 0; numbers && !failed && i < trace->tracks.count; i++)
        if (trace->tracks.items[i].kind != KINO__TRACK_DEVICE)
            failed = !collect(trace, &trace->tracks.items[i], numbers, steps);
    if (steps->count)
        qsort(steps->items, steps->count, sizeof *steps->items, compare_steps);
    free(numbers);
    return !failed;
}

bool kino__tl_step_at(const kino__trace *trace, int64_t time, int64_t *number)
{
    kino__tl_steps steps = {0};
    bool ok = kino__tl_find_steps(trace, &steps);
    *number = KINO_NO_INT;
    for (size_t i = 0; i < steps.count; i++)
        if (steps.items[i].start <= time && time < steps.items[i].end)
            *number = steps.items[i].number; /* the one that starts last stays */
    kino__vec_deinit(&steps);
    return ok;
}
