/* sweep.c - the events of a track inside an area, each with the time that is its own.
 *
 * For areas and details. Rows are in order of start, so the stack of lines.c gives the parents
 * again; each span on it remembers how far its children have covered it. What began before the area
 * and reaches into it is found through the lines: at most one event of each (but the last). */
#include <stdlib.h>

#include "base/search.h"
#include "timeline/timeline_internal.h"

typedef struct open_span {
    uint32_t row;
    int64_t end;     /* whole */
    int64_t covered; /* by children, up to here */
    kino__tl_span inside;
} open_span;

typedef struct sweep {
    const kino__tl_track *track;
    int64_t from, to;
    kino__tl_visit visit;
    void *context;
    KINO__VEC(open_span) open;
    int64_t busy, covered; /* of the whole track */
} sweep;

/* Takes from *covered what [start, end) adds to it; returns how much. */
static int64_t cover(int64_t *covered, int64_t start, int64_t end)
{
    int64_t first = start > *covered ? start : *covered;
    if (end <= first)
        return 0;
    *covered = end;
    return end - first;
}

static bool pop(sweep *w)
{
    return w->visit(w->context, &w->open.items[--w->open.count].inside);
}

/* Annotations say what is being done; that something runs below them they do not. */
static bool is_work(const sweep *w, uint32_t row)
{
    kino__kind kind = kino__category_kind(w->track->trace->category[row]);
    return kind != KINO__KIND_ANNOTATION && kind != KINO__KIND_GPU_ANNOTATION;
}

static bool add_row(sweep *w, uint32_t row)
{
    int64_t start = w->track->trace->ts[row], end = kino__tl_end(w->track, row);
    while (w->open.count) {
        const open_span *top = &w->open.items[w->open.count - 1];
        if (top->end > start && top->end >= end)
            break;
        if (!pop(w))
            return false;
    }
    kino__tl_span inside = {row, start > w->from ? start : w->from, end < w->to ? end : w->to, 0};
    inside.own = inside.end - inside.start;
    if (is_work(w, row))
        w->busy += cover(&w->covered, inside.start, inside.end);
    if (w->open.count) {
        open_span *parent = &w->open.items[w->open.count - 1];
        parent->inside.own -= cover(&parent->covered, inside.start, inside.end);
    }
    if (end == start)
        return w->visit(w->context, &inside);
    open_span *slot = kino__vec_add(&w->open);
    if (!slot)
        return false;
    *slot = (open_span){row, end, INT64_MIN, inside};
    return true;
}

static int compare_rows(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Rows that began before the area and are not over. */
static bool add_earlier(sweep *w)
{
    kino__tl_rows rows = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < w->track->line_count; i++) {
        const kino__tl_line *line = &w->track->lines[i];
        kino__tl_levels levels;
        kino__tl_levels_of(line->count, line->node, &levels);
        uint32_t at = kino__tl_line_seek(w->track, line, &levels, w->from);
        for (; ok && at < line->count; at++) {
            uint32_t row = w->track->rows[line->first + at];
            if (w->track->trace->ts[row] >= w->from)
                break;
            if (kino__tl_end(w->track, row) <= w->from)
                continue;
            uint32_t *slot = kino__vec_add(&rows);
            ok = slot != NULL;
            if (slot)
                *slot = row;
        }
    }
    if (rows.items)
        qsort(rows.items, rows.count, sizeof *rows.items, compare_rows);
    for (size_t i = 0; ok && i < rows.count; i++)
        ok = add_row(w, rows.items[i]);
    kino__vec_deinit(&rows);
    return ok;
}

/* The first row of the track that starts at `time` or later; rows without a time come first. */
static uint32_t first_from(const kino__tl_track *track, int64_t time)
{
    return KINO__SEARCH(uint32_t, i, track->source->first,
                        track->source->first + track->source->count, track->trace->ts[i] < time);
}

bool kino__tl_sweep(const kino__tl_track *track, int64_t from, int64_t to, kino__tl_visit visit,
                    void *context, int64_t *busy)
{
    const kino__trace *trace = track->trace;
    sweep w = {.track = track, .from = from, .to = to, .visit = visit, .context = context};
    w.covered = INT64_MIN;
    bool ok = from >= to || add_earlier(&w);
    uint32_t end = track->source->first + track->source->count;
    for (uint32_t row = first_from(track, from); ok && row < end && trace->ts[row] < to; row++)
        if (kino__tl_is_drawn(trace->phase[row], trace->ts[row], trace->dur[row]))
            ok = add_row(&w, row);
    while (ok && w.open.count)
        ok = pop(&w);
    kino__vec_deinit(&w.open);
    *busy = w.busy;
    return ok;
}
