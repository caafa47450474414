/* find.c - from events to where they are drawn, and what stands around them.
 *
 * Lines hold rows in order, so a row is found by one search in each line of its track; and at most
 * one event of a line contains another, so the stack around it needs no links either. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/search.h"
#include "timeline/timeline_internal.h"

/* How many rows of a line come before `row`. */
static uint32_t rows_before(const kino__tl_track *track, const kino__tl_line *line, uint32_t row)
{
    const uint32_t *rows = track->rows + line->first;
    return KINO__SEARCH(uint32_t, i, 0, line->count, rows[i] < row);
}

bool kino__tl_find_line(const kino__tl_track *track, uint32_t row, uint32_t *line_number)
{
    for (uint32_t i = 0; i < track->line_count; i++) {
        const kino__tl_line *line = &track->lines[i];
        uint32_t at = rows_before(track, line, row);
        if (at < line->count && track->rows[line->first + at] == row) {
            *line_number = i;
            return true;
        }
    }
    return false;
}

static int compare_rows_of(const void *left, const void *right)
{
    const kino__tl_rows_of *a = left, *b = right;
    if (a->trace != b->trace)
        return a->trace < b->trace ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

bool kino__tl_sort_rows(kino__timeline *timeline)
{
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const kino__tl_track *track = &timeline->tracks.items[i];
        if (track->kind == KINO__TL_COUNTER)
            continue;
        kino__tl_rows_of *slot = kino__vec_add(&timeline->by_row);
        if (!slot)
            return false;
        *slot = (kino__tl_rows_of){track->trace->index, track->source->first, (uint32_t)i};
    }
    if (timeline->by_row.count)
        qsort(timeline->by_row.items, timeline->by_row.count, sizeof *timeline->by_row.items,
              compare_rows_of);
    return true;
}

bool kino__tl_find(const kino__timeline *timeline, const kino__trace *trace, uint32_t row,
                   kino__tl_place *place)
{
    const kino__tl_rows_of *items = timeline->by_row.items, wanted = {trace->index, row, 0};
    /* before low: all that begin at the row or before it */
    size_t low = KINO__SEARCH(size_t, i, 0, timeline->by_row.count,
                              compare_rows_of(&items[i], &wanted) <= 0);
    if (low == 0)
        return false;
    const kino__tl_track *track = &timeline->tracks.items[items[low - 1].track];
    if (track->trace != trace || row - track->source->first >= track->source->count)
        return false;
    place->track = items[low - 1].track;
    return kino__tl_find_line(track, row, &place->line);
}

/* By its number: in a part of a run it is not the position. */
static const kino__trace *find_trace(const kino__run *run, uint64_t index)
{
    for (size_t i = 0; i < run->traces.count; i++)
        if (run->traces.items[i]->index == index)
            return run->traces.items[i];
    return NULL;
}

kino_status kino__tl_find_id(const kino__timeline *timeline, int64_t id, const kino__trace **trace,
                             uint32_t *row, kino_error *err)
{
    const kino__trace *t = find_trace(timeline->run, (uint64_t)id >> 32);
    *trace = NULL;
    *row = KINO_NO_ROW;
    if (t) {
        KINO_TRY(kino__trace_require(t, KINO__TL_DRAW, NULL, err));
        for (uint32_t i = 0; i < t->event_count; i++) {
            if (t->number[i] == (uint32_t)id) {
                *trace = t;
                *row = i;
                return KINO_OK;
            }
        }
    }
    return kino__fail(err, KINO_NOT_FOUND, "no event %" PRId64, id);
}

/* -- the stack -- */

static bool contains(const kino__tl_track *track, uint32_t outer, uint32_t inner)
{
    int64_t start = track->trace->ts[inner], end = kino__tl_end(track, outer);
    return track->trace->ts[outer] <= start && end > start && end >= kino__tl_end(track, inner);
}

static int compare_rows(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

bool kino__tl_stack(const kino__tl_track *track, uint32_t row, kino__tl_rows *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < track->line_count; i++) {
        const kino__tl_line *line = &track->lines[i];
        uint32_t at = rows_before(track, line, row);
        /* Instants may stand between it and the span around. */
        while (at > 0 && kino__tl_end(track, track->rows[line->first + at - 1]) ==
                             track->trace->ts[track->rows[line->first + at - 1]])
            at--;
        uint32_t candidate = at > 0 ? track->rows[line->first + at - 1] : row;
        if (candidate == row || !contains(track, candidate, row))
            continue;
        uint32_t *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = candidate;
    }
    if (out->items)
        qsort(out->items, out->count, sizeof *out->items, compare_rows);
    /* From the inside out, keep what contains the one kept before. */
    size_t kept = out->count;
    uint32_t inner = row;
    for (size_t i = out->count; i > 0; i--) {
        if (!contains(track, out->items[i - 1], inner))
            continue;
        inner = out->items[i - 1];
        out->items[--kept] = inner;
    }
    size_t count = out->count - kept;
    if (count)
        memmove(out->items, out->items + kept, count * sizeof *out->items);
    out->count = count;
    return true;
}
