/* build.c - making a timeline: every track of every trace at once, then counters, names and order.
 *
 * The tracks are shared out, the largest first, so that many small ones fill the gaps at the
 * end. */
#include <stdlib.h>

#include "base/error.h"
#include "timeline/timeline_internal.h"

/* From here on whole pages, which come zeroed and in large pieces. */
enum { PAGES_FROM = 1 << 20 };

bool kino__tl_block_new(kino__tl_track *track, size_t size)
{
    track->block = size >= PAGES_FROM ? kino__pages_new(size) : malloc(size ? size : 1);
    track->block_size = size;
    return track->block != NULL;
}

static void block_free(kino__tl_track *track)
{
    if (track->block_size >= PAGES_FROM)
        kino__pages_free(track->block, track->block_size);
    else
        free(track->block);
    track->block = NULL;
}

typedef struct build {
    kino__timeline *timeline;
    kino__progress *progress;
    kino__tl_scratch **scratch; /* one a worker, made on first use */
    atomic_bool failed;
} build;

static void build_track(void *context, unsigned worker, size_t index)
{
    build *b = context;
    kino__tl_track *track = &b->timeline->tracks.items[index];
    track->count = 0;
    if (kino__progress_is_cancelled(b->progress) || atomic_load(&b->failed))
        return;
    if (!b->scratch[worker])
        b->scratch[worker] = calloc(1, sizeof *b->scratch[worker]);
    if (!b->scratch[worker] || !kino__tl_make_lines(track, b->scratch[worker]))
        atomic_store(&b->failed, true);
    else
        kino__progress_add(b->progress, track->source->count);
}

static int compare_sizes(const void *left, const void *right)
{
    const kino__tl_track *a = left, *b = right;
    if (a->source->count != b->source->count)
        return a->source->count > b->source->count ? -1 : 1;
    if (a->trace->index != b->trace->index)
        return a->trace->index < b->trace->index ? -1 : 1;
    return a->source->first < b->source->first ? -1 : a->source->first > b->source->first;
}

static bool list_tracks(kino__timeline *timeline)
{
    for (size_t i = 0; i < timeline->run->traces.count; i++) {
        const kino__trace *trace = timeline->run->traces.items[i];
        for (size_t k = 0; k < trace->tracks.count; k++) {
            const kino__track *source = &trace->tracks.items[k];
            if (source->count == 0)
                continue;
            kino__tl_track *track = kino__vec_add(&timeline->tracks);
            if (!track)
                return false;
            *track = (kino__tl_track){.trace = trace, .source = source};
            track->kind = source->kind == KINO__TRACK_HOST     ? KINO__TL_THREAD
                          : source->kind == KINO__TRACK_DEVICE ? KINO__TL_STREAM
                                                               : KINO__TL_OTHER;
        }
    }
    if (timeline->tracks.count)
        qsort(timeline->tracks.items, timeline->tracks.count, sizeof *timeline->tracks.items,
              compare_sizes);
    return true;
}

/* Tracks of metadata and flow points alone are not shown. */
static void drop_empty(kino__timeline *timeline)
{
    size_t kept = 0;
    for (size_t i = 0; i < timeline->tracks.count; i++)
        if (timeline->tracks.items[i].count)
            timeline->tracks.items[kept++] = timeline->tracks.items[i];
    timeline->tracks.count = kept;
}

static kino_status build_lines(kino__timeline *timeline, kino__pool *pool, kino__progress *progress,
                               kino_error *err)
{
    unsigned jobs = kino__pool_jobs(pool);
    build b = {.timeline = timeline, .progress = progress};
    b.scratch = calloc(jobs, sizeof *b.scratch);
    if (!b.scratch)
        return kino__fail_nomem(err);
    kino__pool_run(pool, timeline->tracks.count, build_track, &b);
    for (unsigned i = 0; i < jobs; i++) {
        if (b.scratch[i])
            kino__vec_deinit(&b.scratch[i]->line_of);
        free(b.scratch[i]);
    }
    free(b.scratch);
    if (atomic_load(&b.failed))
        return kino__fail_nomem(err);
    if (kino__progress_is_cancelled(progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    drop_empty(timeline);
    return KINO_OK;
}

static kino_status build_all(kino__timeline *timeline, kino__pool *pool, kino__progress *progress,
                             kino_error *err)
{
    KINO_TRY(kino__run_require(timeline->run, KINO__TL_DRAW, pool, err));
    if (!list_tracks(timeline))
        return kino__fail_nomem(err);
    KINO_TRY(build_lines(timeline, pool, progress, err));
    for (size_t i = 0; i < timeline->run->traces.count; i++)
        KINO_TRY(kino__tl_add_counters(timeline, timeline->run->traces.items[i], progress, err));
    for (size_t i = 0; i < timeline->tracks.count; i++)
        if (!kino__tl_name_track(timeline, &timeline->tracks.items[i]))
            return kino__fail_nomem(err);
    kino__tl_sort_tracks(timeline);
    return kino__tl_sort_rows(timeline) ? KINO_OK : kino__fail_nomem(err);
}

kino_status kino__timeline_new(const kino__run *run, kino__pool *pool, kino__progress *progress,
                               kino__timeline **out, kino_error *err)
{
    *out = NULL;
    kino__timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return kino__fail_nomem(err);
    timeline->run = run;
    kino__arena_init(&timeline->arena, NULL);
    uint64_t events = 0;
    for (size_t i = 0; i < run->traces.count; i++)
        events += run->traces.items[i]->event_count;
    kino__progress_stage(progress, "building the timeline", 2 * events); /* spans, counters */
    kino_status st = build_all(timeline, pool, progress, err);
    if (st == KINO_OK)
        *out = timeline;
    else
        kino__timeline_free(timeline);
    return st;
}

void kino__timeline_free(kino__timeline *timeline)
{
    if (!timeline)
        return;
    for (size_t i = 0; i < timeline->tracks.count; i++)
        block_free(&timeline->tracks.items[i]);
    /* Relaxed: whoever frees the timeline is its last user. */
    kino__tl_tile_free(atomic_load_explicit(&timeline->spare, memory_order_relaxed));
    kino__vec_deinit(&timeline->tracks);
    kino__vec_deinit(&timeline->by_row);
    kino__arena_deinit(&timeline->arena);
    free(timeline);
}

uint64_t kino__timeline_bytes(const kino__timeline *timeline)
{
    uint64_t bytes = sizeof *timeline + timeline->arena.total +
                     timeline->tracks.capacity * sizeof *timeline->tracks.items +
                     timeline->by_row.capacity * sizeof *timeline->by_row.items;
    for (size_t i = 0; i < timeline->tracks.count; i++)
        bytes += timeline->tracks.items[i].block_size;
    return bytes;
}
