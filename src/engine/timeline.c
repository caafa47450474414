/* timeline.c - thin bodies of <kino/timeline.h>; the work is in src/timeline. */
#include "timeline/timeline.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <kino/timeline.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/thread.h"
#include "engine/kino_run.h"

enum { SPARE_BYTES = 16 << 20 }; /* a tile of more is not kept */

struct kino_timeline {
    const kino_run *run;
    kino__timeline *timeline;
    /* The bytes of an earlier tile, for the next one; taken and given back whole. */
    _Atomic(kino__buffer *) spare;
};

kino_status kino_timeline_new(kino_run *run, const kino_timeline_options *options,
                              kino_timeline **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_timeline_options given = KINO_TIMELINE_OPTIONS_INIT;
    KINO__TAKE_OPTIONS(given, options);
    kino_timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return kino__fail_nomem(err);
    timeline->run = run;
    kino__progress progress;
    kino__progress_init(&progress, given.progress, given.progress_context);
    kino__pool *pool = NULL;
    kino_status st = kino__pool_new(given.jobs, &pool, err);
    if (st == KINO_OK)
        st = kino__timeline_new(&run->run, pool, &progress, &timeline->timeline, err);
    kino__pool_free(pool);
    if (st == KINO_OK)
        *out = timeline;
    else
        free(timeline);
    return st;
}

static void buffer_free(kino__buffer *buffer)
{
    if (buffer)
        kino__buffer_deinit(buffer);
    free(buffer);
}

void kino_timeline_free(kino_timeline *timeline)
{
    if (!timeline)
        return;
    /* Relaxed: whoever frees the timeline is its last user. */
    buffer_free(atomic_load_explicit(&timeline->spare, memory_order_relaxed));
    kino__timeline_free(timeline->timeline);
    free(timeline);
}

uint64_t kino_timeline_bytes(const kino_timeline *timeline)
{
    return kino__timeline_bytes(timeline->timeline);
}

/* Every answer in tables is made the same way. */
static kino_status answer(const kino_timeline *timeline, const char *name,
                          kino_status (*fill)(const kino__timeline *timeline, const void *request,
                                              kino_result *result, kino_error *err),
                          const void *request, kino_result **out, kino_error *err)
{
    *out = NULL;
    kino__error_clear(err);
    kino_result *result = kino__result_new(name);
    if (!result)
        return kino__fail_nomem(err);
    kino__run_describe(timeline->run, result);
    kino_status st = fill(timeline->timeline, request, result, err);
    if (st == KINO_OK)
        return kino__result_finish(result, out, err);
    kino_result_free(result);
    return st;
}

static kino_status fill_tracks(const kino__timeline *timeline, const void *request,
                               kino_result *result, kino_error *err)
{
    (void)request;
    return kino__timeline_tracks(timeline, result, err);
}

kino_status kino_timeline_tracks(const kino_timeline *timeline, kino_result **out, kino_error *err)
{
    return answer(timeline, "timeline-tracks", fill_tracks, NULL, out, err);
}

static kino_area area_of(const kino_area *area)
{
    kino_area given = KINO_AREA_INIT;
    KINO__TAKE_OPTIONS(given, area);
    return given;
}

kino_status kino_timeline_tile(const kino_timeline *timeline, const kino_area *area,
                               unsigned pixels, kino_write_fn write, void *context, kino_error *err)
{
    kino__error_clear(err);
    kino_area given = area_of(area);
    /* The place is no part of a timeline's visible value, hence the cast. Acquire pairs with the
     * release below: the buffer is seen as it was left. */
    _Atomic(kino__buffer *) *spare = &((kino_timeline *)(uintptr_t)timeline)->spare;
    kino__buffer *bytes = atomic_exchange_explicit(spare, NULL, memory_order_acquire);
    if (!bytes)
        bytes = calloc(1, sizeof *bytes);
    if (!bytes)
        return kino__fail_nomem(err);
    bytes->size = 0;
    bytes->failed = false;
    kino_status st = kino__timeline_tile(timeline->timeline, &given, pixels, bytes, err);
    if (st == KINO_OK && !write(context, bytes->data, bytes->size))
        st = kino__fail(err, KINO_IO, "cannot write the tile");
    if (bytes->capacity <= SPARE_BYTES)
        bytes = atomic_exchange_explicit(spare, bytes, memory_order_acq_rel);
    buffer_free(bytes); /* too large, or the one of another thread that was faster */
    return st;
}

static kino_status fill_event(const kino__timeline *timeline, const void *request,
                              kino_result *result, kino_error *err)
{
    return kino__timeline_event(timeline, *(const int64_t *)request, result, err);
}

kino_status kino_timeline_event(const kino_timeline *timeline, int64_t id, kino_result **out,
                                kino_error *err)
{
    return answer(timeline, "timeline-event", fill_event, &id, out, err);
}

kino_status kino_timeline_prepare(const kino_timeline *timeline, kino_error *err)
{
    kino__error_clear(err);
    return kino__timeline_prepare(timeline->timeline, err);
}

static kino_status fill_search(const kino__timeline *timeline, const void *request,
                               kino_result *result, kino_error *err)
{
    return kino__timeline_search(timeline, request, result, err);
}

kino_status kino_timeline_search(const kino_timeline *timeline, const kino_search *search,
                                 kino_result **out, kino_error *err)
{
    kino_search given = KINO_SEARCH_INIT;
    KINO__TAKE_OPTIONS(given, search);
    return answer(timeline, "timeline-search", fill_search, &given, out, err);
}

static kino_status fill_area(const kino__timeline *timeline, const void *request,
                             kino_result *result, kino_error *err)
{
    return kino__timeline_aggregate(timeline, request, result, err);
}

kino_status kino_timeline_aggregate(const kino_timeline *timeline, const kino_area *area,
                                    kino_result **out, kino_error *err)
{
    kino_area given = area_of(area);
    return answer(timeline, "timeline-area", fill_area, &given, out, err);
}
