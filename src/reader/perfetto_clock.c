/* perfetto_clock.c - clocks of a trace: each packet states its time on one of many, and snapshots
 * say what several of them showed at the same moment. */
#include "reader/perfetto_internal.h"

enum { FIRST_PRIVATE = 64, LAST_PRIVATE = 127, SETTLE_ROUNDS = 8, CLOCKS_MOST = UINT16_MAX };

static uint64_t key_of(uint32_t id, uint32_t sequence)
{
    bool is_private = id >= FIRST_PRIVATE && id <= LAST_PRIVATE;
    return (uint64_t)(is_private ? sequence : 0) << 32 | id;
}

void kino__perfetto_clocks_init(kino__perfetto_clocks *clocks)
{
    *clocks = (kino__perfetto_clocks){0};
    kino__map_init(&clocks->clock_of, NULL);
    (void)kino__perfetto_clock_of(clocks, KINO__PERFETTO_BOOTTIME, 0);
}

void kino__perfetto_clocks_deinit(kino__perfetto_clocks *clocks)
{
    for (size_t i = 0; i < clocks->clocks.count; i++)
        kino__vec_deinit(&clocks->clocks.items[i].points);
    kino__vec_deinit(&clocks->clocks);
    kino__vec_deinit(&clocks->readings);
    kino__map_deinit(&clocks->clock_of);
}

/* The first is BOOTTIME, which stands in for clocks that there is no room for. */
uint32_t kino__perfetto_clock_of(kino__perfetto_clocks *clocks, uint32_t id, uint32_t sequence)
{
    uint64_t key = key_of(id ? id : KINO__PERFETTO_BOOTTIME, sequence);
    uint32_t fresh = (uint32_t)clocks->clocks.count;
    if (fresh && key == clocks->last_key)
        return clocks->last;
    uint32_t *at = kino__map_get(&clocks->clock_of, key);
    if (!at && fresh < CLOCKS_MOST) {
        kino__perfetto_clock *clock = kino__vec_add(&clocks->clocks);
        at = clock ? kino__map_put(&clocks->clock_of, key, fresh) : NULL;
        clocks->failed |= !at;
        if (clock)
            *clock = (kino__perfetto_clock){
                .id = (uint32_t)key, .sequence = (uint32_t)(key >> 32), .unit = 1};
    }
    if (!at)
        return 0;
    clocks->last_key = key;
    return clocks->last = *at;
}

static bool to_ns(uint64_t value, uint64_t unit, int64_t *out)
{
    uint64_t ns;
    if (__builtin_mul_overflow(value, unit, &ns) || ns > INT64_MAX)
        return false;
    *out = (int64_t)ns;
    return true;
}

static void read_clock(kino__perfetto_clocks *clocks, kino_str message, uint32_t sequence)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    uint64_t id = 0, value = 0, unit = 1;
    bool is_incremental = false;
    int64_t time;
    while (kino__proto_next(&m, &f)) {
        uint64_t number = kino__proto_uint(&f);
        if (f.number == 1)
            id = number;
        else if (f.number == 2)
            value = number;
        else if (f.number == 3)
            is_incremental = number != 0;
        else if (f.number == 4)
            unit = number ? number : 1;
    }
    if (id == 0 || id > UINT32_MAX || !to_ns(value, unit, &time))
        return;
    uint32_t number = kino__perfetto_clock_of(clocks, (uint32_t)id, sequence);
    kino__perfetto_reading *reading = kino__vec_add(&clocks->readings);
    clocks->failed |= !reading || clocks->clocks.count == 0;
    if (clocks->failed)
        return;
    kino__perfetto_clock *clock = &clocks->clocks.items[number];
    clock->unit = unit;
    clock->is_incremental = is_incremental;
    clock->running = value;
    *reading = (kino__perfetto_reading){clocks->snapshots, number, time};
}

void kino__perfetto_clocks_snapshot(kino__perfetto_clocks *clocks, kino_str message,
                                    uint32_t sequence)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f))
        if (f.number == 1)
            read_clock(clocks, kino__proto_text(&f), sequence);
    clocks->snapshots++;
}

bool kino__perfetto_clock_time(kino__perfetto_clocks *clocks, uint32_t number, uint64_t stated,
                               int64_t *out)
{
    kino__perfetto_clock *clock = &clocks->clocks.items[number];
    if (clock->is_incremental) {
        uint64_t next = clock->running + stated;
        if (next < clock->running)
            return false;
        clock->running = stated = next;
    }
    return to_ns(stated, clock->unit, out);
}

/* -- after all packets -- */

static bool is_trace_clock(const kino__perfetto_clock *clock)
{
    return clock->id == KINO__PERFETTO_BOOTTIME && clock->sequence == 0;
}

static bool add_point(kino__perfetto_clocks *clocks, kino__perfetto_clock *clock, int64_t from,
                      int64_t to)
{
    kino__perfetto_point *point = kino__vec_add(&clock->points);
    clocks->failed |= !point;
    if (point)
        *point = (kino__perfetto_point){from, to};
    return point != NULL;
}

/* The readings of a snapshot against one of them whose clock is settled; false: there is none. */
static bool settle_snapshot(kino__perfetto_clocks *clocks, size_t first, size_t end, bool *has_new)
{
    const kino__perfetto_reading *known = NULL;
    for (size_t i = first; i < end; i++) {
        const kino__perfetto_reading *r = &clocks->readings.items[i];
        if (clocks->clocks.items[r->clock].is_settled &&
            (!known || is_trace_clock(&clocks->clocks.items[r->clock])))
            known = r;
    }
    if (!known)
        return false;
    int64_t to = kino__perfetto_clock_convert(&clocks->clocks.items[known->clock], known->time);
    for (size_t i = first; i < end; i++) {
        const kino__perfetto_reading *r = &clocks->readings.items[i];
        kino__perfetto_clock *clock = &clocks->clocks.items[r->clock];
        if (r != known && !is_trace_clock(clock) && add_point(clocks, clock, r->time, to)) {
            *has_new |= !clock->is_settled;
            clock->is_settled = true;
        }
    }
    return true;
}

/* Where no snapshot has BOOTTIME, the clock of the first one is the trace's. */
static void settle_first(kino__perfetto_clocks *clocks)
{
    for (size_t i = 0; i < clocks->readings.count; i++)
        if (is_trace_clock(&clocks->clocks.items[clocks->readings.items[i].clock]))
            return;
    for (size_t i = 0; i < clocks->readings.count; i++)
        if (clocks->clocks.items[clocks->readings.items[i].clock].id == KINO__PERFETTO_MONOTONIC) {
            clocks->clocks.items[clocks->readings.items[i].clock].is_settled = true;
            return;
        }
}

void kino__perfetto_clocks_settle(kino__perfetto_clocks *clocks)
{
    bool has_new = true;
    for (size_t i = 0; i < clocks->clocks.count; i++)
        clocks->clocks.items[i].is_settled = is_trace_clock(&clocks->clocks.items[i]);
    settle_first(clocks);
    for (int round = 0; round < SETTLE_ROUNDS && has_new && !clocks->failed; round++) {
        has_new = false;
        for (size_t i = 0; i < clocks->clocks.count; i++)
            clocks->clocks.items[i].points.count = 0;
        for (size_t i = 0, end; i < clocks->readings.count; i = end) {
            uint32_t snapshot = clocks->readings.items[i].snapshot;
            for (end = i;
                 end < clocks->readings.count && clocks->readings.items[end].snapshot == snapshot;)
                end++;
            (void)settle_snapshot(clocks, i, end, &has_new);
        }
    }
}

/* By the latest point at or before the time, else by the first. */
int64_t kino__perfetto_clock_convert(const kino__perfetto_clock *clock, int64_t time)
{
    size_t low = 0, high = clock->points.count;
    int64_t offset, out;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clock->points.items[middle].from <= time)
            low = middle + 1;
        else
            high = middle;
    }
    if (!clock->points.count)
        return time;
    const kino__perfetto_point *point = &clock->points.items[low ? low - 1 : 0];
    if (__builtin_sub_overflow(point->to, point->from, &offset) ||
        __builtin_add_overflow(time, offset, &out))
        return time;
    return out;
}

bool kino__perfetto_clocks_epoch(const kino__perfetto_clocks *clocks, int64_t *boot, int64_t *epoch)
{
    for (size_t i = 0; i < clocks->clocks.count; i++) {
        const kino__perfetto_clock *clock = &clocks->clocks.items[i];
        if (clock->id == KINO__PERFETTO_REALTIME && clock->sequence == 0 && clock->points.count) {
            *boot = clock->points.items[0].to;
            *epoch = clock->points.items[0].from;
            return true;
        }
    }
    return false;
}
