/* tile.c - the slices of an area, reduced to what its pixels can show.
 *
 * For every line the walk goes from the left over nodes and events. A node shorter than a pixel is
 * one unit, whatever it stands for; a longer one is taken apart; so is the line:
 *
 *   pixel        |-----|
 *   level 1      [ 16 ][  16  ][            16          ]     the third is taken apart
 *   units        [    ][      ][ ][ ][----][ ][--------][ ]
 *   slices       [    ][      ][    ][----][ ][--------][ ]
 *
 * Neighbouring units are merged as long as the slice stays shorter than a pixel, so two slices that
 * follow each other are together longer than one, and there are at most about two a pixel. Nodes of
 * a level do not overlap, hence at most one a pixel is taken apart in each level: the cost is
 * pixels times levels (at most 7), and never the number of events. Counters go the same way. */

#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/search.h"
#include "timeline/tile_internal.h"

/* What is too short to be told apart. Without length it always is: there may be any number. */
static bool is_small(int64_t extent, int64_t pixel)
{
    return extent < pixel || extent <= 0;
}

typedef struct walk {
    kino__tl_tile *tile;
    const kino__tl_track *track;
    uint16_t line;
    kino__tl_slice slice; /* being merged; count is 0 when there is none */
    int64_t longest_dur;
    double busy;
} walk;

/* -- spans -- */

static bool flush(walk *w)
{
    if (!w->slice.count)
        return true;
    kino__tl_slice *slot = kino__vec_add(&w->tile->slices);
    if (!slot)
        return false;
    double extent = (double)(w->slice.end - w->slice.start);
    *slot = w->slice;
    slot->busy = 1;
    if (slot->count > 1 && extent > 0 && w->busy < extent)
        slot->busy = (float)(w->busy / extent);
    w->slice.count = 0;
    return true;
}

static bool add_unit(walk *w, const kino__tl_node *unit, uint32_t count)
{
    kino__tl_slice *slice = &w->slice;
    int64_t end = slice->count && slice->end > unit->end ? slice->end : unit->end;
    /* Starting before the end of the last: only on the last line. */
    if (slice->count &&
        (is_small(end - slice->start, w->tile->pixel) || unit->start < slice->end)) {
        slice->end = end;
        slice->count += count;
        w->busy += (double)unit->busy;
        if (unit->longest_dur > w->longest_dur) {
            w->longest_dur = unit->longest_dur;
            slice->longest = unit->longest;
        }
        return true;
    }
    if (!flush(w))
        return false;
    *slice = (kino__tl_slice){unit->start, unit->end, count, unit->longest, 1, w->line};
    w->longest_dur = unit->longest_dur;
    w->busy = (double)unit->busy;
    return true;
}

/* The largest node that begins at `at` and is small, or the event there; its level in *level. */
static kino__tl_node unit_at(const walk *w, const kino__tl_line *line,
                             const kino__tl_levels *levels, uint32_t at, unsigned *level)
{
    const kino__tl_track *track = w->track;
    for (*level = kino__tl_level_at(levels, at); *level > 0; --*level) {
        const kino__tl_node *node =
            &track->nodes[levels->first[*level] + (at >> (*level * KINO__TL_BITS))];
        /* On the last line whole nodes may lie within what is merged already. */
        if (node->start >= w->tile->to || is_small(node->end - node->start, w->tile->pixel) ||
            (w->slice.count && node->end <= w->slice.end))
            return *node;
    }
    uint32_t row = track->rows[line->first + at];
    int64_t start = track->trace->ts[row], end = kino__tl_end(track, row);
    return (kino__tl_node){start, end, end - start, row, (float)(end - start)};
}

static bool walk_line(walk *w, const kino__tl_line *line)
{
    kino__tl_levels levels;
    kino__tl_levels_of(line->count, line->node, &levels);
    uint32_t at = kino__tl_line_seek(w->track, line, &levels, w->tile->from);
    while (at < line->count) {
        unsigned level;
        kino__tl_node unit = unit_at(w, line, &levels, at, &level);
        if (unit.start >= w->tile->to)
            break;
        uint32_t size = 1u << (level * KINO__TL_BITS), left = line->count - at;
        uint32_t count = size < left ? size : left;
        /* On the last line something may have ended before. */
        if ((unit.end > w->tile->from || unit.start >= w->tile->from) && !add_unit(w, &unit, count))
            return false;
        at += count;
    }
    return flush(w);
}

/* -- counters -- */

static uint32_t points_before(const kino__tl_track *track, int64_t time)
{
    return KINO__SEARCH(uint32_t, i, 0, track->count, track->points[i].time <= time);
}

/* The largest group of points that begins at `at` and is small, ending before `end`. */
static kino__tl_reduced group_at(const kino__tl_track *track, const kino__tl_levels *levels,
                                 uint32_t at, uint32_t end, int64_t pixel, uint32_t *count)
{
    const kino__tl_point *points = track->points;
    for (unsigned level = kino__tl_level_at(levels, at); level > 0; level--) {
        uint32_t size = 1u << (level * KINO__TL_BITS);
        *count = size < track->count - at ? size : track->count - at;
        if (*count > end - at || !is_small(points[at + *count - 1].time - points[at].time, pixel))
            continue;
        const kino__tl_spread *s =
            &track->spreads[levels->first[level] + (at >> (level * KINO__TL_BITS))];
        return (kino__tl_reduced){points[at].time, s->low, s->high, points[at + *count - 1].value};
    }
    *count = 1;
    double value = points[at].value;
    return (kino__tl_reduced){points[at].time, value, value, value};
}

static bool walk_points(kino__tl_tile *tile, const kino__tl_track *track)
{
    kino__tl_levels levels;
    kino__tl_levels_of(track->count, 0, &levels);
    uint32_t at = points_before(track, tile->from), end = points_before(track, tile->to - 1);
    if (at > 0) { /* what holds when the area begins */
        double value = track->points[at - 1].value;
        kino__tl_reduced *slot = kino__vec_add(&tile->points);
        if (!slot)
            return false;
        *slot = (kino__tl_reduced){track->points[at - 1].time, value, value, value};
    }
    size_t first = tile->points.count;
    for (uint32_t count; at < end; at += count) {
        kino__tl_reduced next = group_at(track, &levels, at, end, tile->pixel, &count);
        kino__tl_reduced *last =
            tile->points.count > first ? &tile->points.items[tile->points.count - 1] : NULL;
        if (last && is_small(track->points[at + count - 1].time - last->time, tile->pixel)) {
            last->low = next.low < last->low ? next.low : last->low;
            last->high = next.high > last->high ? next.high : last->high;
            last->last = next.last;
            continue;
        }
        kino__tl_reduced *slot = kino__vec_add(&tile->points);
        if (!slot)
            return false;
        *slot = next;
    }
    return true;
}

/* -- tracks -- */

static kino_status add_track(kino__tl_tile *tile, uint32_t number, kino_error *err)
{
    const kino__tl_track *track = &tile->timeline->tracks.items[number];
    bool is_counter = track->kind == KINO__TL_COUNTER;
    kino__tl_tile_track *entry = kino__vec_add(&tile->tracks);
    if (!entry)
        return kino__fail_nomem(err);
    *entry = (kino__tl_tile_track){number, is_counter, 0, 0};
    entry->first = (uint32_t)(is_counter ? tile->points.count : tile->slices.count);
    bool ok = true;
    if (tile->from >= tile->to || track->first >= tile->to ||
        (track->last < tile->from && !is_counter))
        return KINO_OK;
    if (is_counter)
        ok = walk_points(tile, track);
    walk w = {.tile = tile, .track = track};
    for (uint32_t i = 0; ok && i < track->line_count; i++) {
        w.line = (uint16_t)i;
        ok = walk_line(&w, &track->lines[i]);
        if (tile->slices.count > KINO__TL_MOST_SLICES)
            break;
    }
    if (!ok)
        return kino__fail_nomem(err);
    if (tile->slices.count > KINO__TL_MOST_SLICES || tile->points.count > KINO__TL_MOST_SLICES)
        return kino__fail(err, KINO_LIMIT,
                          "more than %d slices or points: request fewer tracks or pixels",
                          (int)KINO__TL_MOST_SLICES);
    entry->count = (uint32_t)(is_counter ? tile->points.count : tile->slices.count) - entry->first;
    return KINO_OK;
}

/* -- memory -- */

void kino__tl_tile_free(kino__tl_tile *tile)
{
    if (!tile)
        return;
    kino__vec_deinit(&tile->slices);
    kino__vec_deinit(&tile->points);
    kino__vec_deinit(&tile->tracks);
    free(tile);
}

/* The place is no part of a timeline's visible value, hence the cast. */
static _Atomic(kino__tl_tile *) *spare_of(const kino__timeline *timeline)
{
    return &((kino__timeline *)(uintptr_t)timeline)->spare;
}

/* The spare one, emptied, or a new one; NULL when memory is out. */
static kino__tl_tile *take_tile(const kino__timeline *timeline)
{
    /* Acquire pairs with the release in give_tile: its arrays are seen as they were left. */
    kino__tl_tile *tile = atomic_exchange_explicit(spare_of(timeline), NULL, memory_order_acquire);
    if (!tile)
        tile = calloc(1, sizeof *tile);
    if (tile)
        tile->slices.count = tile->points.count = tile->tracks.count = 0;
    return tile;
}

static void give_tile(const kino__timeline *timeline, kino__tl_tile *tile)
{
    if (tile->slices.capacity <= KINO__TL_SPARE_SLICES &&
        tile->points.capacity <= KINO__TL_SPARE_SLICES)
        tile = atomic_exchange_explicit(spare_of(timeline), tile, memory_order_acq_rel);
    kino__tl_tile_free(tile); /* too large, or the one of another thread that was faster */
}

kino_status kino__timeline_tile(const kino__timeline *timeline, const kino_area *given,
                                unsigned pixels, kino__buffer *bytes, kino_error *err)
{
    if (pixels == 0)
        return kino__fail(err, KINO_ARGUMENT, "a tile needs at least one pixel");
    kino__tl_area area;
    KINO_TRY(kino__tl_area_init(timeline, given, &area, err));
    kino__tl_tile *tile = take_tile(timeline);
    kino_status st = tile ? KINO_OK : kino__fail_nomem(err);
    if (tile) {
        tile->timeline = timeline;
        tile->from = area.from;
        tile->to = area.to;
        tile->pixels = pixels < KINO__TL_MOST_PIXELS ? pixels : KINO__TL_MOST_PIXELS;
        tile->pixel = (area.to - area.from) / tile->pixels;
        for (size_t i = 0; st == KINO_OK && i < area.tracks.count; i++)
            st = add_track(tile, area.tracks.items[i], err);
        if (st == KINO_OK)
            st = kino__tl_tile_write(tile, bytes, err);
        give_tile(timeline, tile);
    }
    kino__tl_area_deinit(&area);
    return st;
}
