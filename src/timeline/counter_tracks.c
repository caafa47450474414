/* counter_tracks.c - events of phase C as tracks of their own: one a process, counter and series;
 * and the memory of each device as PyTorch's allocator told it.
 *
 *   {"ph": "C", "pid": 1, "name": "memory", "args": {"used": 5, "free": 7}}
 *   {"ph": "i", "pid": 1, "name": "[memory]", "args": {"Device Type": 1, "Device Id": 0,
 *    "Total Allocated": 512, "Total Reserved": 2048, ...}}
 *
 * give "memory: free" and "memory: used", and "GPU0 memory: allocated bytes" and "... reserved
 * bytes".
 *
 * The values are in the argument texts, which are read once here. Values that are no number leave
 * no point. A pyramid of least and greatest values (as for lines) stands above the points. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/args.h"
#include "store/device_type.h"
#include "timeline/timeline_internal.h"

typedef struct series {
    const kino__track *source;
    kino_str name; /* in the timeline's arena */
    KINO__VEC(kino__tl_point) points;
} series;

typedef struct work {
    kino__timeline *timeline;
    const kino__trace *trace;
    kino__progress *progress;
    KINO__VEC(series) all;
    kino__map places;         /* hash of pid, counter and series -> 1 + first of that hash */
    KINO__VEC(uint32_t) next; /* of the same hash, as 1 + index; 0: none */
    kino__buffer key;
} work;

/* "name: key", or the name alone where the series has no name worth telling. */
static kino_str series_name(work *w, kino_str name, kino_str key)
{
    kino__arena *arena = &w->timeline->arena;
    if (!key.size || kino__str_equal(name, key) || kino__str_is(key, "value"))
        return kino__arena_copy(arena, name);
    return kino__arena_format(arena, "%.*s: %.*s", KINO__STR_ARG(name), KINO__STR_ARG(key));
}

static series *find_series(work *w, const kino__track *source, kino_str name, kino_str key)
{
    kino_str full = series_name(w, name, key);
    if (!full.data)
        return NULL;
    uint64_t hash = kino__hash_bytes(full.data, full.size) ^ kino__label_hash(&source->pid);
    uint32_t *place = kino__map_put(&w->places, hash, 0);
    if (!place)
        return NULL;
    for (uint32_t i = *place; i; i = w->next.items[i - 1]) {
        series *known = &w->all.items[i - 1];
        if (kino__label_equal(&known->source->pid, &source->pid) &&
            kino__str_equal(known->name, full))
            return known;
    }
    uint32_t *next = kino__vec_add(&w->next);
    series *fresh = next ? kino__vec_add(&w->all) : NULL;
    if (!fresh)
        return NULL;
    *next = *place;
    *fresh = (series){.source = source, .name = full};
    *place = (uint32_t)w->all.count;
    return fresh;
}

/* Keeps the name in the arena only when it is new. */
static bool add_point(work *w, const kino__track *source, uint32_t row, kino_str name, kino_str key,
                      double value)
{
    kino__arena_mark mark = kino__arena_get_mark(&w->timeline->arena);
    size_t known = w->all.count;
    series *s = find_series(w, source, name, key);
    if (w->all.count == known)
        kino__arena_rewind(&w->timeline->arena, mark);
    kino__tl_point *point = s ? kino__vec_add(&s->points) : NULL;
    if (!point)
        return false;
    *point = (kino__tl_point){w->trace->ts[row], value};
    return true;
}

static bool add_value(work *w, const kino__track *source, uint32_t row, kino_str key,
                      kino_str value)
{
    double number;
    if (!kino__json_to_double(value, &number))
        return true;
    w->key.size = 0;
    kino__json_unescape(key, &w->key);
    if (w->key.failed)
        return false;
    return add_point(w, source, row, kino__trace_string(w->trace, w->trace->name[row]),
                     kino__buffer_str(&w->key), number);
}

static bool has_time(const work *w, uint32_t row)
{
    return kino__time_is_sane(w->trace->ts[row], 0) && w->trace->ts[row] != KINO_NO_TIME;
}

static bool read_row(work *w, const kino__track *source, uint32_t row, kino__text_cursor *cursor)
{
    if (!has_time(w, row))
        return true;
    kino__args_iter it = kino__args_iter_start(kino__args_text(w->trace, row, cursor));
    kino_str key, value;
    while (kino__args_iter_next(&it, &key, &value))
        if (!add_value(w, source, row, key, value))
            return false;
    return true;
}

static bool read_track(work *w, const kino__track *source, kino__text_cursor *cursor)
{
    const uint8_t *phase = w->trace->phase + source->first, *end = phase + source->count;
    const uint8_t *told = phase;
    for (const uint8_t *at = phase; (at = memchr(at, 'C', (size_t)(end - at))) != NULL; at++) {
        if (!kino__progress_add(w->progress, (uint64_t)(at - told)) ||
            !read_row(w, source, source->first + (uint32_t)(at - phase), cursor))
            return false;
        told = at;
    }
    return kino__progress_add(w->progress, (uint64_t)(end - told));
}

/* Totals that the record does not have leave no point. */
static bool read_memory_row(work *w, const kino__track *source, uint32_t row,
                            kino__text_cursor *cursor)
{
    static const struct {
        const char *key, *series;
    } totals[] = {{"Total Allocated", "allocated bytes"}, {"Total Reserved", "reserved bytes"}};
    if (!has_time(w, row))
        return true;
    kino_str args = kino__args_text(w->trace, row, cursor);
    char device[64], name[80];
    kino__device_type_name(kino__args_int(args, "Device Type"), kino__args_int(args, "Device Id"),
                           device, sizeof device);
    (void)snprintf(name, sizeof name, "%s memory", device);
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        int64_t bytes = kino__args_int(args, totals[i].key);
        if (bytes != KINO_NO_INT && !add_point(w, source, row, kino__str_from(name),
                                               kino__str_from(totals[i].series), (double)bytes))
            return false;
    }
    return true;
}

static bool read_memory(work *w, const kino__track *source, kino_strid memory,
                        kino__text_cursor *cursor)
{
    for (uint32_t i = 0; i < source->count; i++)
        if (w->trace->name[source->first + i] == memory &&
            !read_memory_row(w, source, source->first + i, cursor))
            return false;
    return true;
}

/* -- tracks -- */

/* Stable: a counter may be set twice at one time, and the last one counts. */
static void sort_points(kino__tl_point *points, size_t count, kino__tl_point *spare)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t from = 0; from + width < count; from += 2 * width) {
            size_t middle = from + width, end = from + 2 * width < count ? from + 2 * width : count;
            if (points[middle - 1].time <= points[middle].time)
                continue;
            memcpy(spare, points + from, width * sizeof *spare);
            for (size_t a = 0, b = middle, to = from; a < width; to++)
                points[to] = b < end && points[b].time < spare[a].time ? points[b++] : spare[a++];
        }
    }
}

static void fill_spreads(kino__tl_track *track, const kino__tl_levels *levels)
{
    for (unsigned level = 1; level <= levels->count; level++) {
        kino__tl_spread *spreads = &track->spreads[levels->first[level]];
        uint32_t below = level == 1 ? track->count : levels->number[level - 1];
        for (uint32_t i = 0; i < below; i++) {
            double value = track->points[i].value;
            kino__tl_spread one = level == 1 ? (kino__tl_spread){value, value}
                                             : track->spreads[levels->first[level - 1] + i];
            kino__tl_spread *s = &spreads[i >> KINO__TL_BITS];
            if (i % KINO__TL_FAN == 0)
                *s = one;
            s->low = one.low < s->low ? one.low : s->low;
            s->high = one.high > s->high ? one.high : s->high;
        }
    }
}

static kino_str unit_of(kino_str name)
{
    static const struct {
        const char *part, *unit;
    } units[] = {{"bytes", "bytes"}, {"Bytes", "bytes"}, {"%", "%"}, {"percent", "%"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (kino__str_contains(name, kino__str_from(units[i].part)))
            return kino__str_from(units[i].unit);
    return (kino_str){"", 0};
}

static bool add_track(work *w, series *s, kino__tl_point *spare)
{
    kino__tl_track *track = kino__vec_add(&w->timeline->tracks);
    if (!track)
        return false;
    size_t n = s->points.count;
    kino__tl_levels levels;
    uint32_t spreads = kino__tl_levels_of((uint32_t)n, 0, &levels);
    *track = (kino__tl_track){.trace = w->trace,
                              .source = s->source,
                              .kind = KINO__TL_COUNTER,
                              .count = (uint32_t)n,
                              .name = s->name,
                              .unit = unit_of(s->name),
                              .open_end = KINO_NO_TIME};
    if (!kino__tl_block_new(track, n * sizeof *track->points + spreads * sizeof *track->spreads))
        return false;
    track->points = track->block;
    track->spreads = (kino__tl_spread *)(track->points + n);
    sort_points(s->points.items, n, spare);
    memcpy(track->points, s->points.items, n * sizeof *track->points);
    track->first = track->points[0].time;
    track->last = track->points[n - 1].time;
    fill_spreads(track, &levels);
    return true;
}

static bool add_tracks(work *w)
{
    size_t most = 0;
    for (size_t i = 0; i < w->all.count; i++)
        most = w->all.items[i].points.count > most ? w->all.items[i].points.count : most;
    kino__tl_point *spare = malloc((most + 1) * sizeof *spare);
    bool ok = spare != NULL;
    for (size_t i = 0; ok && i < w->all.count; i++)
        ok = add_track(w, &w->all.items[i], spare);
    free(spare);
    return ok;
}

kino_status kino__tl_add_counters(kino__timeline *timeline, const kino__trace *trace,
                                  kino__progress *progress, kino_error *err)
{
    kino_strid memory = kino__string_pool_find(&trace->strings, KINO__STR("[memory]"));
    bool has_memory = memory != KINO_NO_STRING && trace->event_count;
    if (!has_memory && (!trace->event_count || !memchr(trace->phase, 'C', trace->event_count))) {
        (void)kino__progress_add(progress, trace->event_count);
        return KINO_OK;
    }
    KINO_TRY(kino__trace_require(trace, KINO__TL_DRAW | KINO__COLUMN_PLACE, NULL, err));
    work w = {.timeline = timeline, .trace = trace, .progress = progress};
    kino__map_init(&w.places, NULL);
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    bool ok = true;
    for (size_t i = 0; ok && i < trace->tracks.count; i++) {
        const kino__track *source = &trace->tracks.items[i];
        ok = read_track(&w, source, &cursor) &&
             (!has_memory || read_memory(&w, source, memory, &cursor));
    }
    kino__text_cursor_deinit(&cursor);
    ok = ok && add_tracks(&w);
    for (size_t i = 0; i < w.all.count; i++)
        kino__vec_deinit(&w.all.items[i].points);
    kino__vec_deinit(&w.all);
    kino__vec_deinit(&w.next);
    kino__map_deinit(&w.places);
    kino__buffer_deinit(&w.key);
    if (kino__progress_is_cancelled(progress))
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    return ok ? KINO_OK : kino__fail_nomem(err);
}
