/* find_iterations.c - steps of a trace in which nobody marked any: what a training loop does once
 * in each iteration tells where one ends and the next one begins.
 *
 * Kineto's traces on demand, and profilers without step(), have no ProfilerStep#N. But PyTorch
 * itself marks the calls that make an iteration. The first of these that comes often enough counts:
 *
 *   Optimizer.step#...                an iteration ends where it ends
 *   enumerate(DataLoader)#...         one begins where it begins (inference, evaluation)
 *   ...DataParallel.forward           likewise
 *
 *       |opt|        ...        |opt|        ...        |opt|  ...
 *           |------ step 0 ---------|------ step 1 ---------|
 *
 * Only what lies between two marks of one thread is a step: what comes before the first and after
 * the last is a part of an iteration, unless the recording is known to begin with one
 * (begins_with_step). A mark inside of another (an optimizer that wraps one) does not count; of
 * several optimizers the one that comes least often does, but at least twice. */
#include <stdlib.h>

#include "store/link_internal.h"

static const struct mark_kind {
    kino__step_source source;
    kino_str text;
    bool is_whole; /* the name is this, else it begins with it */
    bool is_end;   /* of an iteration, else its begin */
} kinds[] = {
    {KINO__STEP_OPTIMIZER, {"Optimizer.step#", 15}, false, true},
    {KINO__STEP_LOADER, {"enumerate(DataLoader)#", 22}, false, false},
    {KINO__STEP_FORWARD, {"DistributedDataParallel.forward", 31}, true, false},
    {KINO__STEP_FORWARD, {"FullyShardedDataParallel.forward", 32}, true, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *kino__step_source_word(kino__step_source source)
{
    static const char *const words[] = {"ProfilerStep#N", "Optimizer.step", "the data loader",
                                        "the forward pass"};
    return words[source];
}

static bool is_mark(const struct mark_kind *kind, kino_str name)
{
    return kind->is_whole ? kino__str_equal(name, kind->text)
                          : kino__str_starts_with(name, kind->text);
}

/* -- marks of one name on one track */

typedef struct mark {
    kino_strid name;
    uint32_t track, row;
} mark;
typedef KINO__VEC(mark) mark_list;

static bool collect_track(const kino__trace *trace, uint32_t track, const uint8_t *is_name,
                          mark_list *marks)
{
    const kino__track *t = &trace->tracks.items[track];
    int64_t covered = INT64_MIN; /* rows come by start: what ends before this is inside of one */
    for (uint32_t row = t->first; row - t->first < t->count; row++) {
        kino_strid name = trace->name[row];
        if (name == KINO_NO_STRING || !is_name[name] || !kino__link_is_span(trace, row) ||
            kino__category_kind(trace->category[row]) == KINO__KIND_GPU_ANNOTATION)
            continue;
        int64_t end = kino__link_end(trace, row);
        if (end <= covered)
            continue;
        covered = end;
        mark *slot = kino__vec_add(marks);
        if (!slot)
            return false;
        *slot = (mark){name, track, row};
    }
    return true;
}

static bool collect_marks(const kino__trace *trace, const struct mark_kind *kind, mark_list *marks)
{
    size_t count = kino__string_pool_count(&trace->strings);
    uint8_t *is_name = NULL;
    bool ok = true;
    marks->count = 0;
    for (size_t i = 0; i < count && ok; i++) {
        if (!is_mark(kind, kino__trace_string(trace, (kino_strid)i)))
            continue;
        is_name = is_name ? is_name : calloc(count, 1);
        ok = is_name != NULL;
        if (ok)
            is_name[i] = 1;
    }
    for (uint32_t t = 0; t < trace->tracks.count && is_name && ok; t++)
        if (trace->tracks.items[t].kind != KINO__TRACK_DEVICE)
            ok = collect_track(trace, t, is_name, marks);
    free(is_name);
    return ok;
}

static int compare_marks(const void *left, const void *right)
{
    const mark *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* The group to go by: enough marks, and the fewest of these; of equals the one that comes first. */
static bool choose(mark_list *marks, size_t least, size_t *first, size_t *count)
{
    *count = 0;
    if (marks->count)
        qsort(marks->items, marks->count, sizeof *marks->items, compare_marks);
    for (size_t i = 0, end; i < marks->count; i = end) {
        const mark *m = &marks->items[i];
        for (end = i + 1; end < marks->count && marks->items[end].name == m->name &&
                          marks->items[end].track == m->track;)
            end++;
        if (end - i < least || (*count && end - i >= *count))
            continue;
        *first = i;
        *count = end - i;
    }
    return *count > 0;
}

/* -- steps */

/* Where the host's first event starts. */
static int64_t first_start(const kino__trace *trace)
{
    int64_t first = INT64_MAX;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        for (uint32_t i = 0; track->kind != KINO__TRACK_DEVICE && i < track->count; i++)
            if (kino__link_is_span(trace, track->first + i)) {
                int64_t ts = trace->ts[track->first + i];
                first = ts < first ? ts : first;
                break; /* rows come by start */
            }
    }
    return first;
}

static bool add_step(kino__step_list *steps, const struct mark_kind *kind, int64_t from, int64_t to,
                     uint32_t row)
{
    int64_t dur;
    if (to <= from || __builtin_sub_overflow(to, from, &dur))
        return true; /* marks that overlap: not an iteration */
    kino__step *slot = kino__vec_add(steps);
    if (slot)
        *slot = (kino__step){(int64_t)steps->count - 1, from, dur, row, kind->source};
    return slot != NULL;
}

static bool add_steps(const kino__trace *trace, const struct mark_kind *kind, const mark *marks,
                      size_t count, kino__step_list *steps)
{
    bool ok = true;
    int64_t before = KINO_NO_TIME;
    if (kind->is_end && trace->begins_with_step)
        before = first_start(trace);
    for (size_t i = 0; i < count && ok; i++) {
        uint32_t row = marks[i].row;
        int64_t edge = kind->is_end ? kino__link_end(trace, row) : trace->ts[row];
        if (before != KINO_NO_TIME)
            ok = add_step(steps, kind, before, edge, kind->is_end ? row : marks[i - 1].row);
        before = edge;
    }
    return ok;
}

bool kino__trace_find_iterations(const kino__trace *trace, kino__step_list *steps)
{
    mark_list marks = {0};
    bool ok = true;
    for (size_t k = 0; k < KINDS && ok && steps->count == 0; k++) {
        const struct mark_kind *kind = &kinds[k];
        size_t first, count;
        ok = collect_marks(trace, kind, &marks);
        if (ok && choose(&marks, kind->is_end && trace->begins_with_step ? 1 : 2, &first, &count))
            ok = add_steps(trace, kind, &marks.items[first], count, steps);
    }
    kino__vec_deinit(&marks);
    return ok;
}
