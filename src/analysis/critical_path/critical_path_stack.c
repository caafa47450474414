/* critical_path_stack.c - the call stack of one thread from the times of its events alone. */
#include <stdlib.h>

#include "analysis/critical_path/critical_path_internal.h"
#include "base/large.h"

static int64_t length_of(const kino__frame *f, uint32_t at)
{
    return f->dur[at] > 0 ? f->dur[at] : 0;
}

static int64_t end_of(const kino__frame *f, uint32_t at)
{
    return kino__sum(f->ts[at], length_of(f, at));
}

static uint32_t number_of(const kino__frame *f, uint32_t at)
{
    return f->trace->number[f->row[at]];
}

/* The longer first, then as in the file. */
static int compare_starts(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (f->ts[x] != f->ts[y])
        return f->ts[x] < f->ts[y] ? -1 : 1;
    int64_t dx = length_of(f, x), dy = length_of(f, y);
    if (dx != dy)
        return dx > dy ? -1 : 1;
    uint32_t nx = number_of(f, x), ny = number_of(f, y);
    return nx < ny ? -1 : nx > ny;
}

/* The shorter first, then against the order of the file. */
static int compare_ends(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t ex = end_of(f, x), ey = end_of(f, y);
    if (ex != ey)
        return ex < ey ? -1 : 1;
    int64_t dx = length_of(f, x), dy = length_of(f, y);
    if (dx != dy)
        return dx < dy ? -1 : 1;
    uint32_t nx = number_of(f, x), ny = number_of(f, y);
    return nx > ny ? -1 : nx < ny;
}

typedef int (*comparison)(const void *a, const void *b, void *frame);

static bool is_sorted(const kino__frame *f, const uint32_t *events, size_t count,
                      comparison compare)
{
    for (size_t i = 1; i < count; i++)
        if (compare(&events[i - 1], &events[i], (void *)(uintptr_t)f) > 0)
            return false;
    return true;
}

static void sort_unless_sorted(const kino__frame *f, uint32_t *events, size_t count,
                               comparison compare)
{
    if (!is_sorted(f, events, count, compare))
        qsort_r(events, count, sizeof *events, compare, (void *)(uintptr_t)f);
}

/* Stable, by the row in the store or by start. */
static bool sort_by(const kino__frame *f, uint32_t *events, size_t count, bool is_row)
{
    int64_t *keys = kino__large_new(count, sizeof *keys);
    for (size_t i = 0; i < count && keys; i++)
        keys[i] = is_row ? (int64_t)f->row[events[i]] : f->ts[events[i]];
    bool ok = keys && kino__sort_by_time(keys, events, count);
    kino__large_free(keys);
    return ok;
}

/* The store has the rows of a thread in this very order, so its row numbers sort them; threads that
 * were joined are then sorted by start too. What is left are times that were rounded. */
static bool sort_starts(const kino__frame *f, uint32_t *events, size_t count)
{
    for (int is_row = 1; is_row >= 0; is_row--) {
        if (is_sorted(f, events, count, compare_starts))
            return true;
        if (!sort_by(f, events, count, is_row))
            return false;
    }
    sort_unless_sorted(f, events, count, compare_starts);
    return true;
}

/* Ends, but of events without length, in the order in which well nested events end, which is nearly
 * always the right one. How many there are. */
static size_t guess_ends(const kino__frame *f, const uint32_t *starts, size_t count, uint32_t *ends,
                         uint32_t *stack)
{
    size_t open = 0, ended = 0;
    for (size_t i = 0; i < count; i++) {
        if (length_of(f, starts[i]) == 0)
            continue;
        while (open && end_of(f, stack[open - 1]) <= f->ts[starts[i]])
            ends[ended++] = stack[--open];
        stack[open++] = starts[i];
    }
    while (open)
        ends[ended++] = stack[--open];
    return ended;
}

/* At one time an end comes before a start, but not before that of an event without length, which
 * lies inside what ends there. */
static bool is_start_first(const kino__frame *f, uint32_t start, uint32_t end)
{
    int64_t from = f->ts[start], to = end_of(f, end);
    return from < to || (from == to && length_of(f, start) == 0);
}

bool kino__call_stack_marks(const kino__frame *f, uint32_t *events, size_t count, uint64_t *out)
{
    uint32_t *ends = kino__large_new(count + 1, sizeof *ends);
    uint32_t *stack = kino__large_new(count + 1, sizeof *stack);
    bool ok = ends && stack && sort_starts(f, events, count);
    size_t end_count = 0;
    if (ok) {
        end_count = guess_ends(f, events, count, ends, stack);
        sort_unless_sorted(f, ends, end_count, compare_ends);
    }
    size_t open = 0, started = 0, ended = 0;
    while (ok && (started < count || ended < end_count)) {
        if (ended < end_count && open > 0 &&
            (started == count || !is_start_first(f, events[started], ends[ended]))) {
            *out++ = (uint64_t)stack[--open] << 1 | 1;
            ended++;
            continue;
        }
        uint32_t event = events[started++];
        *out++ = (uint64_t)event << 1;
        if (length_of(f, event) == 0)
            *out++ = (uint64_t)event << 1 | 1;
        else
            stack[open++] = event;
    }
    kino__large_free(ends);
    kino__large_free(stack);
    return ok;
}
