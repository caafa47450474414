/* stack_sums.c - see the header. */
#include "writer/stack_sums.h"

#include "base/error.h"

enum { PROGRESS_STEP = 4096 };

kino_status kino__stack_sums_progress(const kino__stack_sums *sums, size_t amount, kino_error *err)
{
    if (kino__progress_add(sums->context->progress, amount))
        return KINO_OK;
    return kino__fail(err, KINO_CANCELLED, "interrupted");
}

/* The node of a frame on another; KINO__NO_SUM when memory is out. */
static uint32_t find_node(kino__stack_sums *sums, uint32_t parent, kino_strid frame)
{
    if (frame == KINO_NO_STRING || sums->nodes.count >= KINO__NO_SUM)
        return KINO__NO_SUM;
    uint32_t *slot = kino__map_put(&sums->children, (uint64_t)parent << 32 | frame, KINO__NO_SUM);
    if (!slot)
        return KINO__NO_SUM;
    if (*slot == KINO__NO_SUM) {
        kino__stack_sum *fresh = kino__vec_add(&sums->nodes);
        if (!fresh)
            return KINO__NO_SUM;
        *fresh = (kino__stack_sum){.parent = parent, .frame = frame};
        *slot = (uint32_t)(sums->nodes.count - 1);
    }
    return *slot;
}

/* Opens a frame on those that are open. */
static bool push(kino__stack_sums *sums, kino_strid frame)
{
    uint32_t below = sums->open.count ? sums->open.items[sums->open.count - 1] : KINO__NO_SUM;
    uint32_t on = find_node(sums, below, frame);
    uint32_t *slot = on == KINO__NO_SUM ? NULL : kino__vec_add(&sums->open);
    if (slot)
        *slot = on;
    return slot != NULL;
}

static void weigh(kino__stack_sums *sums, const kino__trace *trace, uint32_t row)
{
    uint32_t on = sums->open.items[sums->open.count - 1];
    sums->nodes.items[on].calls++;
    __int128 length = (__int128)kino__stack_end(trace, row) - trace->ts[row];
    sums->nodes.items[on].own_ns += length;
    if (sums->open.count > 2) /* the lowest is the track, which has no time of its own */
        sums->nodes.items[sums->open.items[sums->open.count - 2]].own_ns -= length;
}

static kino_status add_lane(kino__stack_sums *sums, kino__stack_walk *walk, kino_error *err)
{
    kino__stack_event event;
    size_t reported = 0;
    while (kino__stack_walk_next(walk, &event)) {
        if (!event.is_open) {
            sums->open.count--;
            continue;
        }
        if (!push(sums, kino__stack_frame(&sums->frames, event.row)))
            return kino__fail_nomem(err);
        weigh(sums, walk->trace, event.row);
        if (walk->at - reported >= PROGRESS_STEP) {
            KINO_TRY(kino__stack_sums_progress(sums, walk->at - reported, err));
            reported = walk->at;
        }
    }
    return walk->failed ? kino__fail_nomem(err)
                        : kino__stack_sums_progress(sums, walk->at - reported, err);
}

static bool push_track(kino__stack_sums *sums, const kino__trace *trace, const kino__track *track)
{
    kino__buffer name = {0};
    kino__stack_label(trace, track, sums->by_rank, &name);
    sums->open.count = 0;
    bool ok = !name.failed &&
              push(sums, kino__stack_frame_of_text(&sums->frames, kino__buffer_str(&name)));
    kino__buffer_deinit(&name);
    return ok;
}

static kino_status add_track(kino__stack_sums *sums, const kino__trace *trace,
                             const kino__track *track, kino_error *err)
{
    kino__stack_lanes lanes;
    if (!kino__stack_lanes_init(&lanes, trace, track, sums->context->stack_kind))
        return kino__fail_nomem(err);
    kino_status st = KINO_OK;
    if (lanes.row_count && !push_track(sums, trace, track))
        st = kino__fail_nomem(err);
    for (size_t lane = 0; lane < lanes.lane_count && st == KINO_OK; lane++) {
        uint32_t first = lanes.starts[lane];
        kino__stack_walk walk = {
            .trace = trace, .rows = lanes.rows + first, .count = lanes.starts[lane + 1] - first};
        st = add_lane(sums, &walk, err);
        kino__stack_walk_deinit(&walk);
    }
    if (st == KINO_OK)
        st = kino__stack_sums_progress(sums, track->count - lanes.row_count, err);
    kino__stack_lanes_deinit(&lanes);
    return st;
}

static kino_status add_run(kino__stack_sums *sums, kino_error *err)
{
    for (size_t i = 0; i < sums->run->traces.count; i++)
        sums->event_count += sums->run->traces.items[i]->event_count;
    kino__progress_stage(sums->context->progress, "writing", sums->event_count);
    for (size_t i = 0; i < sums->run->traces.count; i++) {
        const kino__trace *trace = sums->run->traces.items[i];
        if (!kino__stack_frames_start(&sums->frames, trace))
            return kino__fail_nomem(err);
        for (size_t t = 0; t < trace->tracks.count; t++)
            KINO_TRY(add_track(sums, trace, &trace->tracks.items[t], err));
    }
    return sums->nodes.count ? KINO_OK : kino__writer_fail_empty(sums->context, err);
}

kino_status kino__stack_sums_init(kino__stack_sums *sums, const kino__run *run,
                                  const kino__write_context *context, bool is_collapsed,
                                  kino_error *err)
{
    *sums =
        (kino__stack_sums){.run = run, .context = context, .by_rank = kino__stack_ranks_tell(run)};
    kino__stack_frames_init(&sums->frames, is_collapsed);
    kino__map_init(&sums->children, NULL);
    return add_run(sums, err);
}

void kino__stack_sums_deinit(kino__stack_sums *sums)
{
    kino__map_deinit(&sums->children);
    kino__vec_deinit(&sums->nodes);
    kino__vec_deinit(&sums->open);
    kino__stack_frames_deinit(&sums->frames);
}
