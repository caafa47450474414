/* area.c - which tracks and which time somebody asks for, checked and closed. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "timeline/timeline_internal.h"

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

static kino_status choose_tracks(const kino__timeline *timeline, const kino_area *given,
                                 kino__tl_area *area, kino_error *err)
{
    size_t all = timeline->tracks.count;
    size_t count = given && given->tracks ? given->track_count : all;
    if (!kino__vec_reserve(&area->tracks, count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = given && given->tracks ? given->tracks[i] : (uint32_t)i;
        if (number >= all)
            return kino__fail(err, KINO_NOT_FOUND, "no track %" PRIu32 ": there are %zu", number,
                              all);
        area->tracks.items[i] = number;
    }
    if (count)
        qsort(area->tracks.items, count, sizeof *area->tracks.items, compare_numbers);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || area->tracks.items[i] != area->tracks.items[i - 1])
            area->tracks.items[area->tracks.count++] = area->tracks.items[i];
    return KINO_OK;
}

/* Open ends: of the tracks chosen; 0 where they are empty. An instant at the very end is inside. */
static void close_ends(const kino__timeline *timeline, kino__tl_area *area)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < area->tracks.count; i++) {
        const kino__tl_track *track = &timeline->tracks.items[area->tracks.items[i]];
        first = track->first < first ? track->first : first;
        last = track->last > last ? track->last : last;
    }
    if (first > last)
        first = last = 0;
    if (area->from == KINO_NO_TIME)
        area->from = area->to == KINO_NO_TIME || first < area->to ? first : area->to;
    if (area->to == KINO_NO_TIME)
        area->to = last >= area->from ? last + 1 : area->from;
}

static kino_status need_columns(const kino__timeline *timeline, const kino__tl_area *area,
                                kino_error *err)
{
    const kino__trace *last = NULL; /* the tracks of a trace stand together */
    for (size_t i = 0; i < area->tracks.count; i++) {
        const kino__trace *trace = timeline->tracks.items[area->tracks.items[i]].trace;
        if (trace != last)
            KINO_TRY(kino__trace_require(trace, KINO__TL_DRAW, NULL, err));
        last = trace;
    }
    return KINO_OK;
}

kino_status kino__tl_area_init(const kino__timeline *timeline, const kino_area *given,
                               kino__tl_area *area, kino_error *err)
{
    const int64_t limit = (int64_t)1 << 61; /* beyond all that is drawn; differences still fit */
    *area = (kino__tl_area){
        given ? given->from_ns : KINO_NO_TIME, given ? given->to_ns : KINO_NO_TIME, {0}};
    if (area->from != KINO_NO_TIME)
        area->from = area->from < -limit ? -limit : area->from > limit ? limit : area->from;
    if (area->to != KINO_NO_TIME)
        area->to = area->to < -limit ? -limit : area->to > limit ? limit : area->to;
    kino_status st = KINO_OK;
    if (area->from != KINO_NO_TIME && area->to != KINO_NO_TIME && area->from > area->to)
        st = kino__fail(err, KINO_ARGUMENT,
                        "the area ends (%" PRId64 " ns) before it starts (%" PRId64 " ns)",
                        area->to, area->from);
    if (st == KINO_OK)
        st = choose_tracks(timeline, given, area, err);
    if (st == KINO_OK) {
        close_ends(timeline, area);
        st = need_columns(timeline, area, err);
    }
    if (st != KINO_OK)
        kino__tl_area_deinit(area);
    return st;
}

void kino__tl_area_deinit(kino__tl_area *area)
{
    kino__vec_deinit(&area->tracks);
}
