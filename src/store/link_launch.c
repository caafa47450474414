/* link_launch.c - which call on the host put which work on a device, and back.
 *
 * The join key is the correlation id, which a call and the work it started share (0 and less mean
 * "none"). A CUDA graph has one launch and many kernels. Where several calls share an id (a runtime
 * call and the driver call inside it, or files glued together), runtime goes before driver, then
 * the earliest counts; work points to that call, and every such call points to the earliest work,
 * device activities before synchronisation records. Work that carries no correlation (traces of
 * 2021) is joined by its launch flow. Cost: three passes, one hash table of the calls. */
#include "base/map.h"
#include "store/link_internal.h"

/* A call is better than the one found before. */
static bool is_better_call(const kino__trace *trace, uint32_t row, uint32_t than)
{
    bool is_runtime = kino__category_kind(trace->category[row]) == KINO__KIND_RUNTIME;
    bool was_runtime = kino__category_kind(trace->category[than]) == KINO__KIND_RUNTIME;
    if (is_runtime != was_runtime)
        return is_runtime;
    return trace->ts[row] < trace->ts[than];
}

static bool is_better_work(const kino__trace *trace, uint32_t row, uint32_t than)
{
    bool is_sync = kino__category_kind(trace->category[row]) == KINO__KIND_SYNC;
    bool was_sync = kino__category_kind(trace->category[than]) == KINO__KIND_SYNC;
    if (is_sync != was_sync)
        return was_sync;
    return trace->ts[row] < trace->ts[than];
}

static void join(const kino__trace *trace, uint32_t *launch, uint32_t work, uint32_t call)
{
    launch[work] = call;
    if (launch[call] == KINO_NO_ROW || is_better_work(trace, work, launch[call]))
        launch[call] = work;
}

static bool collect_calls(const kino__trace *trace, kino__map *calls)
{
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!(kino__link_kind_bit(trace, row) & KINO__KINDS_LAUNCH) ||
            !kino__link_is_span(trace, row))
            continue;
        int64_t id = kino__trace_correlation(trace, row);
        if (id <= 0)
            continue;
        uint32_t *best = kino__map_put(calls, (uint64_t)id, row);
        if (!best)
            return false;
        if (is_better_call(trace, row, *best))
            *best = row;
    }
    return true;
}

/* Returns whether work without a correlation was seen. */
static bool join_by_correlation(const kino__trace *trace, const kino__map *calls, uint32_t *launch)
{
    bool needs_flows = false;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!(kino__link_kind_bit(trace, row) & KINO__LINK_KINDS_DEVICE) ||
            !kino__link_is_span(trace, row))
            continue;
        int64_t id = kino__trace_correlation(trace, row);
        if (id <= 0) {
            needs_flows = true;
            continue;
        }
        const uint32_t *call = kino__map_get(calls, (uint64_t)id);
        if (call)
            join(trace, launch, row, *call);
    }
    return needs_flows;
}

/* Other calls with an id that is already joined point to the same work. */
static void join_other_calls(const kino__trace *trace, const kino__map *calls, uint32_t *launch)
{
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!(kino__link_kind_bit(trace, row) & KINO__KINDS_LAUNCH) ||
            !kino__link_is_span(trace, row) || launch[row] != KINO_NO_ROW)
            continue;
        int64_t id = kino__trace_correlation(trace, row);
        const uint32_t *call = id > 0 ? kino__map_get(calls, (uint64_t)id) : NULL;
        if (call)
            launch[row] = launch[*call];
    }
}

static bool has_launch_flows(const kino__trace *trace)
{
    for (size_t i = 0; i < trace->tracks.count; i++)
        if (trace->tracks.items[i].kinds & KINO__KIND_BIT(KINO__KIND_LAUNCH_FLOW))
            return true;
    return false;
}

static bool join_by_flows(const kino__trace *trace, uint32_t *launch)
{
    const kino__flows *flows = kino__link_flows(trace);
    if (!flows)
        return false;
    for (size_t i = 0; i < flows->count; i++) {
        uint32_t call = flows->items[i].from_span, work = flows->items[i].to_span;
        if (call == KINO_NO_ROW || work == KINO_NO_ROW || launch[work] != KINO_NO_ROW)
            continue;
        if (!(kino__link_kind_bit(trace, flows->items[i].to) &
              KINO__KIND_BIT(KINO__KIND_LAUNCH_FLOW)))
            continue;
        if ((kino__link_kind_bit(trace, call) & KINO__KINDS_LAUNCH) &&
            (kino__link_kind_bit(trace, work) & KINO__LINK_KINDS_DEVICE) &&
            kino__trace_correlation(trace, work) <= 0)
            join(trace, launch, work, call);
    }
    return true;
}

static void *make_launch(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    uint32_t *launch = kino__link_column(trace, size);
    if (!launch)
        return NULL;
    kino__map calls;
    kino__map_init(&calls, scratch->allocator);
    bool ok = collect_calls(trace, &calls);
    if (ok) {
        bool needs_flows = join_by_correlation(trace, &calls, launch);
        join_other_calls(trace, &calls, launch);
        if (needs_flows && has_launch_flows(trace))
            ok = join_by_flows(trace, launch);
    }
    kino__map_deinit(&calls);
    if (!ok) {
        kino__link_block_free(trace, launch, *size);
        return NULL;
    }
    return launch;
}

const uint32_t *kino__link_launch(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_LAUNCH, make_launch);
}
