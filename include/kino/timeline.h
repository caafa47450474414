/* kino/timeline.h - a run for display: tracks, and slices reduced to what a screen can show.
 *
 * Example: list the tracks, then write the slices of all of them in a form for drawing.
 *
 *   static kino_status draw(kino_run *run, kino_write_fn write, void *context, kino_error *err)
 *   {
 *       kino_timeline *timeline = NULL;
 *       kino_result *tracks = NULL;
 *       kino_area area = KINO_AREA_INIT;
 *       kino_status st = kino_timeline_new(run, NULL, &timeline, err);
 *       if (st == KINO_OK)
 *           st = kino_timeline_tracks(timeline, &tracks, err);
 *       if (st == KINO_OK)
 *           st = kino_timeline_tile(timeline, &area, 1920, write, context, err);
 *       kino_result_free(tracks);
 *       kino_timeline_free(timeline);
 *       return st;
 *   }
 *
 * The levels of detail are built once, so that the cost of a tile depends on its pixels and not on
 * the events below them. A timeline never changes and may be used by any thread. Every function
 * that gives a kino_result gives tables like any analysis. */
#ifndef KINO_TIMELINE_H
#define KINO_TIMELINE_H

#include <kino/base.h>
#include <kino/engine.h>
#include <kino/table.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kino_timeline kino_timeline;

typedef struct kino_timeline_options {
    uint32_t size;
    unsigned jobs; /* 0 = all processors */
    kino_progress_fn progress;
    void *progress_context;
} kino_timeline_options;
#define KINO_TIMELINE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(kino_timeline_options), 0, NULL, NULL                                               \
    }

/* Builds the tracks of all traces of a run, which must outlive it. KINO_CANCELLED: progress said
 * so. */
KINO_API KINO_NODISCARD kino_status kino_timeline_new(kino_run *run,
                                                      const kino_timeline_options *options,
                                                      kino_timeline **out, kino_error *err);
KINO_API void kino_timeline_free(kino_timeline *timeline);
/* Memory that it holds beyond the run, in bytes; the room of the last tile (up to 24 MB) apart. */
KINO_API uint64_t kino_timeline_bytes(const kino_timeline *timeline);

/* What there is to draw. Tables: tracks (in the order to be shown), steps, lost (stretches of time
 * in which events are known to be missing). */
KINO_API KINO_NODISCARD kino_status kino_timeline_tracks(const kino_timeline *timeline,
                                                         kino_result **out, kino_error *err);

typedef struct kino_area {
    uint32_t size;
    const uint32_t *tracks; /* numbers from the table; NULL: all */
    size_t track_count;
    int64_t from_ns, to_ns; /* since the run's origin */
} kino_area;
#define KINO_AREA_INIT                                                                             \
    {                                                                                              \
        sizeof(kino_area), NULL, 0, KINO_NO_TIME, KINO_NO_TIME                                     \
    }

/* The slices of an area for this many pixels, at most a few each, as bytes (docs/formats/tile.md),
 * in one call of write. KINO_NOT_FOUND: no such track; KINO_ARGUMENT: no pixels, or an area that
 * ends before it starts; KINO_LIMIT: too many slices. area may be NULL:
 * everything. */
KINO_API KINO_NODISCARD kino_status kino_timeline_tile(const kino_timeline *timeline,
                                                       const kino_area *area, unsigned pixels,
                                                       kino_write_fn write, void *context,
                                                       kino_error *err);

/* Everything known about one event. Tables: event (one row), args, stack (its parents, outermost
 * first), links (launch, kernels, op, module, Python, forward, backward, flows: each with where it
 * is drawn). KINO_NOT_FOUND: no event has this id. */
KINO_API KINO_NODISCARD kino_status kino_timeline_event(const kino_timeline *timeline, int64_t id,
                                                        kino_result **out, kino_error *err);

/* Makes what details of events need of whole traces (flows) before anybody asks; without it the
 * first one who does waits for it. May be called from any thread, concurrently with all others. */
KINO_API KINO_NODISCARD kino_status kino_timeline_prepare(const kino_timeline *timeline,
                                                          kino_error *err);

typedef struct kino_search {
    uint32_t size;
    /* part of the name, any case; words "cat:kernel" choose categories, "id:12,15"
     * events */
    const char *text;
    kino_area area; /* where to look; open where it is KINO_NO_TIME */
    size_t limit;   /* rows given, from the first in time; the total is returned, too */
} kino_search;
#define KINO_SEARCH_INIT                                                                           \
    {                                                                                              \
        sizeof(kino_search), NULL, KINO_AREA_INIT, 1000                                            \
    }

/* Tables: found (in order of time), count (one row: all that match). KINO_ARGUMENT: an
 * invalid word. */
KINO_API KINO_NODISCARD kino_status kino_timeline_search(const kino_timeline *timeline,
                                                         const kino_search *search,
                                                         kino_result **out, kino_error *err);

/* What lies in an area. Tables: slices (by name and category: count, time inside the area, own
 * time), categories, tracks (busy time and utilization), counters. area may be NULL: everything. */
KINO_API KINO_NODISCARD kino_status kino_timeline_aggregate(const kino_timeline *timeline,
                                                            const kino_area *area,
                                                            kino_result **out, kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
