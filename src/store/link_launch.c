/* link_launch.c - which call on the host put which work on a device, and back.
 *
 * The join key is the correlation id, which a call and the work it started share (0 and less mean
 * "none"). A CUDA graph has one launch and many kernels. Where several calls share an id (a runtime
 * call and the driver call inside it, or files glued together), runtime goes before driver, then
 * the earliest counts; work points to that call, and every such call points to the earliest work,
 * device activities before synchronisation records. Work that carries no correlation (traces of
 * 2021) is joined by its launch flow. Cost: passes over the tracks that have calls or work; ids lie
 * close together, so calls are found by an array of them, and only stray ones by a hash table. */
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

/* -- calls by id -- */

typedef struct call_index {
    int64_t first;   /* id of dense[0] */
    uint64_t count;  /* of dense */
    uint32_t *dense; /* rows, KINO_NO_ROW */
    kino__map stray; /* other ids -> row */
} call_index;

/* The place of an id's row, made where the id is new; NULL when memory is out. */
static uint32_t *call_put(call_index *calls, int64_t id)
{
    uint64_t at = (uint64_t)id - (uint64_t)calls->first;
    return at < calls->count ? &calls->dense[at]
                             : kino__map_put(&calls->stray, (uint64_t)id, KINO_NO_ROW);
}

static uint32_t call_get(const call_index *calls, int64_t id)
{
    uint64_t at = (uint64_t)id - (uint64_t)calls->first;
    if (at < calls->count)
        return calls->dense[at];
    const uint32_t *row = kino__map_get(&calls->stray, (uint64_t)id);
    return row ? *row : KINO_NO_ROW;
}

/* The correlation of a span; 0 and less: none. */
static int64_t id_of(const kino__trace *trace, uint32_t row)
{
    uint32_t bind = trace->bind[row];
    if (bind == KINO__BIND_NONE)
        return 0;
    return bind == KINO__BIND_WIDE ? kino__trace_correlation(trace, row) : bind;
}

/* Spans of some kinds, row after row; tracks without them are passed over. */
typedef struct span_walk {
    const kino__trace *trace;
    uint32_t kinds;
    uint8_t is_wanted[KINO__CATEGORY_COUNT]; /* other categories are none of the kinds */
    size_t track;
    uint32_t row, next; /* next: the first one behind row that was not looked at */
} span_walk;

static span_walk walk_start(const kino__trace *trace, uint32_t kinds)
{
    span_walk walk = {.trace = trace, .kinds = kinds};
    for (int id = 0; id < KINO__CATEGORY_COUNT; id++)
        walk.is_wanted[id] = (KINO__KIND_BIT(kino__category_kind((uint16_t)id)) & kinds) != 0;
    return walk;
}

static bool walk_next(span_walk *walk)
{
    const kino__trace *trace = walk->trace;
    for (; walk->track < trace->tracks.count; walk->track++) {
        const kino__track *track = &trace->tracks.items[walk->track];
        if (!(track->kinds & walk->kinds))
            continue;
        uint32_t end = track->first + track->count;
        for (uint32_t row = walk->next > track->first ? walk->next : track->first; row < end;
             row++) {
            uint16_t category = trace->category[row];
            if (category >= KINO__CATEGORY_COUNT || !walk->is_wanted[category] ||
                !kino__link_is_span(trace, row))
                continue;
            walk->row = row;
            walk->next = row + 1;
            return true;
        }
    }
    return false;
}

/* From the lowest id on, as long as that is not much more than there are calls. */
static bool index_init(const kino__trace *trace, kino__arena *scratch, call_index *calls)
{
    int64_t low = INT64_MAX, high = 0;
    uint64_t count = 0;
    kino__map_init(&calls->stray, scratch->allocator);
    span_walk walk = walk_start(trace, KINO__KINDS_LAUNCH);
    while (walk_next(&walk)) {
        int64_t id = id_of(trace, walk.row);
        if (id <= 0)
            continue;
        low = id < low ? id : low;
        high = id > high ? id : high;
        count++;
    }
    if (count == 0)
        return true;
    calls->first = low;
    calls->count = (uint64_t)(high - low) < 8 * count ? (uint64_t)(high - low) + 1 : 8 * count;
    calls->dense = kino__link_scratch(scratch, calls->count, sizeof *calls->dense);
    if (calls->dense)
        memset(calls->dense, 0xff, calls->count * sizeof *calls->dense);
    return calls->dense != NULL;
}

static bool collect_calls(const kino__trace *trace, call_index *calls)
{
    span_walk walk = walk_start(trace, KINO__KINDS_LAUNCH);
    while (walk_next(&walk)) {
        uint32_t row = walk.row;
        int64_t id = id_of(trace, row);
        uint32_t *best = id > 0 ? call_put(calls, id) : NULL;
        if (id > 0 && !best)
            return false;
        if (best && (*best == KINO_NO_ROW || is_better_call(trace, row, *best)))
            *best = row;
    }
    return true;
}

/* -- joining -- */

/* Returns whether work without a correlation was seen. */
static bool join_by_correlation(const kino__trace *trace, const call_index *calls, uint32_t *launch)
{
    bool needs_flows = false;
    span_walk walk = walk_start(trace, KINO__LINK_KINDS_DEVICE);
    while (walk_next(&walk)) {
        uint32_t row = walk.row;
        int64_t id = id_of(trace, row);
        uint32_t call = id > 0 ? call_get(calls, id) : KINO_NO_ROW;
        needs_flows |= id <= 0;
        if (call != KINO_NO_ROW)
            join(trace, launch, row, call);
    }
    return needs_flows;
}

/* Other calls with an id that is already joined point to the same work. */
static void join_other_calls(const kino__trace *trace, const call_index *calls, uint32_t *launch)
{
    span_walk walk = walk_start(trace, KINO__KINDS_LAUNCH);
    while (walk_next(&walk)) {
        uint32_t row = walk.row;
        int64_t id = id_of(trace, row);
        uint32_t call = id > 0 && launch[row] == KINO_NO_ROW ? call_get(calls, id) : KINO_NO_ROW;
        if (call != KINO_NO_ROW)
            launch[row] = launch[call];
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
    call_index calls = {0};
    bool ok = index_init(trace, scratch, &calls) && collect_calls(trace, &calls);
    if (ok) {
        bool needs_flows = join_by_correlation(trace, &calls, launch);
        join_other_calls(trace, &calls, launch);
        if (needs_flows && has_launch_flows(trace))
            ok = join_by_flows(trace, launch);
    }
    kino__map_deinit(&calls.stray);
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
