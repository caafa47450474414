/* link_steps.c - the steps of a training run, and the step each event belongs to.
 *
 * A step is a span named "ProfilerStep#N" outside device tracks and GPU annotations (which repeat
 * it per stream). An event belongs to the step that starts last among those that contain its start:
 * the start of its launching call for device work whose call is known, its own start for everything
 * else. Steps that overlap (several threads or processes) are cut into pieces of time with one step
 * each:
 *
 *   steps     |--- 1 ---------------|
 *                   |--- 2 ---|          |-- 3 --|
 *   pieces    1     2         1     none 3       none
 *
 * Cost: one test per distinct name, a sort of the steps, one pass with a search where a row enters
 * another piece. */
#include <stdlib.h>

#include "store/link_internal.h"

typedef struct piece {
    int64_t start; /* until the next one's */
    uint32_t step; /* index, or KINO_NO_ROW */
} piece;

typedef struct step_work {
    const kino__trace *trace;
    KINO__VEC(kino__step) steps;
    KINO__VEC(piece) pieces;
} step_work;

/* For each string of the pool the N of a step's name, or KINO_NO_INT; NULL when memory is out. */
static int64_t *step_numbers(const kino__trace *trace, kino__arena *scratch, bool *has_any)
{
    static const kino_str prefix = {"ProfilerStep#", 13};
    size_t count = kino__string_pool_count(&trace->strings);
    int64_t *numbers = kino__link_scratch(scratch, count, sizeof *numbers);
    *has_any = false;
    for (size_t i = 0; numbers && i < count; i++) {
        kino_str name = kino__trace_string(trace, (kino_strid)i);
        numbers[i] = KINO_NO_INT;
        if (!kino__str_starts_with(name, prefix))
            continue;
        kino_str digits = {name.data + prefix.size, name.size - prefix.size};
        if (kino__str_to_int(digits, &numbers[i]))
            *has_any = true;
        else
            numbers[i] = KINO_NO_INT;
    }
    return numbers;
}

static bool collect_track(step_work *w, const kino__track *track, const int64_t *numbers)
{
    const kino__trace *trace = w->trace;
    for (uint32_t row = track->first; row - track->first < track->count; row++) {
        kino_strid name = trace->name[row];
        if (name == KINO_NO_STRING || numbers[name] == KINO_NO_INT ||
            !kino__link_is_span(trace, row) ||
            kino__category_kind(trace->category[row]) == KINO__KIND_GPU_ANNOTATION)
            continue;
        kino__step *step = kino__vec_add(&w->steps);
        if (!step)
            return false;
        *step = (kino__step){numbers[name], trace->ts[row], kino__link_end(trace, row), row};
    }
    return true;
}

static int compare_steps(const void *left, const void *right)
{
    const kino__step *a = left, *b = right;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Opens a piece; one that would have no length is replaced. */
static bool cut(step_work *w, int64_t start, uint32_t step)
{
    piece *last = w->pieces.count ? &w->pieces.items[w->pieces.count - 1] : NULL;
    if (!last || last->start != start)
        last = kino__vec_add(&w->pieces);
    if (!last)
        return false;
    *last = (piece){start, step};
    return true;
}

/* Closes the steps that have ended by `until`. While stepping down, dur holds a step's end. */
static bool close_steps(step_work *w, uint32_t *stack, size_t *open, int64_t until)
{
    const kino__step *steps = w->steps.items;
    while (*open && steps[stack[*open - 1]].dur <= until) {
        int64_t end = steps[stack[*open - 1]].dur;
        while (*open && steps[stack[*open - 1]].dur <= end)
            --*open;
        if (!cut(w, end, *open ? stack[*open - 1] : KINO_NO_ROW))
            return false;
    }
    return true;
}

static bool cut_pieces(step_work *w, kino__arena *scratch)
{
    uint32_t *stack = kino__link_scratch(scratch, w->steps.count, sizeof *stack);
    size_t open = 0;
    if (!stack)
        return false;
    for (uint32_t i = 0; i < w->steps.count; i++) {
        const kino__step *step = &w->steps.items[i];
        if (!close_steps(w, stack, &open, step->ts))
            return false;
        stack[open++] = i; /* one without length is closed, and its piece replaced, at once */
        if (!cut(w, step->ts, i))
            return false;
    }
    return close_steps(w, stack, &open, INT64_MAX);
}

/* The piece that holds `ts`: SIZE_MAX before the first. `hint` is the answer for an earlier time,
 * or SIZE_MAX. */
static size_t find_piece(const step_work *w, int64_t ts, size_t hint)
{
    size_t low = hint == SIZE_MAX ? 0 : hint, high = w->pieces.count;
    const piece *pieces = w->pieces.items;
    if (low < high && pieces[low].start <= ts && (low + 1 == high || ts < pieces[low + 1].start))
        return low;
    if (low < high && ts < pieces[low].start)
        low = 0;
    while (low < high) { /* the first piece that starts after ts */
        size_t middle = low + (high - low) / 2;
        if (pieces[middle].start <= ts)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1; /* SIZE_MAX when there is none before */
}

static void fill_rows(const step_work *w, const uint32_t *launch, uint32_t *of_row)
{
    const kino__trace *trace = w->trace;
    size_t at = SIZE_MAX;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        of_row[row] = KINO_NO_ROW;
        uint32_t source = row;
        if (launch[row] != KINO_NO_ROW && kino__link_kind_bit(trace, row) & KINO__LINK_KINDS_DEVICE)
            source = launch[row];
        if (trace->ts[source] == KINO_NO_TIME || w->pieces.count == 0)
            continue;
        at = find_piece(w, trace->ts[source], at);
        if (at != SIZE_MAX)
            of_row[row] = w->pieces.items[at].step;
    }
}

static bool collect_steps(step_work *w, kino__arena *scratch)
{
    bool has_any;
    const int64_t *numbers = step_numbers(w->trace, scratch, &has_any);
    if (!numbers)
        return false;
    for (size_t i = 0; has_any && i < w->trace->tracks.count; i++)
        if (w->trace->tracks.items[i].kind != KINO__TRACK_DEVICE &&
            !collect_track(w, &w->trace->tracks.items[i], numbers))
            return false;
    if (w->steps.count)
        qsort(w->steps.items, w->steps.count, sizeof *w->steps.items, compare_steps);
    return cut_pieces(w, scratch);
}

static kino__steps *emit(const step_work *w, size_t *size)
{
    const uint32_t *launch = kino__link_launch(w->trace);
    size_t steps_size = w->steps.count * sizeof(kino__step);
    kino__steps *steps = NULL;
    if (launch)
        steps = kino__link_block(w->trace, sizeof *steps + steps_size, w->trace->event_count,
                                 sizeof(uint32_t), size);
    if (!steps)
        return NULL;
    kino__step *items = (kino__step *)(steps + 1);
    uint32_t *of_row = (uint32_t *)(items + w->steps.count);
    for (size_t i = 0; i < w->steps.count; i++) {
        items[i] = w->steps.items[i];
        items[i].dur = w->trace->dur[items[i].row] > 0 ? w->trace->dur[items[i].row] : 0;
    }
    fill_rows(w, launch, of_row);
    *steps = (kino__steps){items, w->steps.count, of_row};
    return steps;
}

static void *make_steps(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    step_work w = {.trace = trace};
    w.steps.allocator = w.pieces.allocator = scratch->allocator;
    kino__steps *steps = collect_steps(&w, scratch) ? emit(&w, size) : NULL;
    kino__vec_deinit(&w.pieces);
    kino__vec_deinit(&w.steps);
    return steps;
}

const kino__steps *kino__link_steps(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_STEPS, make_steps);
}
