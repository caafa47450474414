/* find_steps.c - the steps of a trace: the one place that says what a step is.
 *
 * A step is a span named "ProfilerStep#N" outside device tracks and GPU annotations (which repeat
 * it per stream), at a time that can be (interval.h). Spans of one number that overlap, on several
 * threads, are one step. A trace without any has the iterations that find_iterations.c sees. Cost:
 * one test per distinct name, and one pass over the host's rows where a name is one: what a screen
 * shows first must be there at once. */
#include <stdlib.h>

#include "store/interval.h"
#include "store/link_internal.h"

/* The N of a step's name, KINO_NO_INT for other names. */
static int64_t step_number(kino_str name)
{
    static const kino_str prefix = {"ProfilerStep#", 13};
    int64_t number;
    if (!kino__str_starts_with(name, prefix) ||
        !kino__str_to_int((kino_str){name.data + prefix.size, name.size - prefix.size}, &number))
        return KINO_NO_INT;
    return number;
}

/* By string of the pool; NULL: no name is one, or memory is out. */
static int64_t *step_numbers(const kino__trace *trace, bool *failed)
{
    size_t count = kino__string_pool_count(&trace->strings);
    int64_t *numbers = NULL;
    for (size_t i = 0; i < count && !*failed; i++) {
        int64_t number = step_number(kino__trace_string(trace, (kino_strid)i));
        if (number == KINO_NO_INT)
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
    const kino__step *a = left, *b = right;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if ((a->dur == 0) != (b->dur == 0)) /* one without length is over at once */
        return a->dur == 0 ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool collect(const kino__trace *trace, const kino__track *track, const int64_t *numbers,
                    kino__step_list *steps)
{
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        kino_strid name = trace->name[row];
        if (name == KINO_NO_STRING || numbers[name] == KINO_NO_INT ||
            !kino__link_is_span(trace, row) ||
            !kino__time_is_sane(trace->ts[row], trace->dur[row]) ||
            kino__category_kind(trace->category[row]) == KINO__KIND_GPU_ANNOTATION)
            continue;
        kino__step *slot = kino__vec_add(steps);
        if (!slot)
            return false;
        int64_t end = kino__link_end(trace, row), dur;
        if (__builtin_sub_overflow(end, trace->ts[row], &dur))
            dur = INT64_MAX;
        *slot = (kino__step){numbers[name], trace->ts[row], dur, row, KINO__STEP_MARKED};
    }
    return true;
}

static int compare_numbers(const void *left, const void *right)
{
    const kino__step *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return compare_steps(left, right);
}

static void sort(kino__step_list *steps, int (*compare)(const void *, const void *))
{
    if (steps->count)
        qsort(steps->items, steps->count, sizeof *steps->items, compare);
}

static void unite_numbers(kino__step_list *steps)
{
    size_t kept = 0;
    sort(steps, compare_numbers);
    for (size_t i = 0; i < steps->count; i++) {
        const kino__step *step = &steps->items[i];
        kino__step *last = kept ? &steps->items[kept - 1] : NULL;
        int64_t end = kino__sum(step->ts, step->dur);
        int64_t last_end = last ? kino__sum(last->ts, last->dur) : 0;
        if (!last || last->number != step->number || last_end <= step->ts)
            steps->items[kept++] = *step;
        else if (end > last_end)
            last->dur = kino__difference(end, last->ts);
    }
    steps->count = kept;
    sort(steps, compare_steps);
}

bool kino__trace_find_steps(const kino__trace *trace, kino__step_list *steps)
{
    bool failed = false;
    int64_t *numbers = step_numbers(trace, &failed);
    steps->count = 0;
    for (size_t i = 0; numbers && !failed && i < trace->tracks.count; i++)
        if (trace->tracks.items[i].kind != KINO__TRACK_DEVICE)
            failed = !collect(trace, &trace->tracks.items[i], numbers, steps);
    unite_numbers(steps);
    free(numbers);
    if (!failed && steps->count == 0)
        failed = !kino__trace_find_iterations(trace, steps);
    return !failed;
}
