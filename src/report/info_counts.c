/* info_counts.c - how many events of each phase and category, and the tracks they are on. One pass
 * over the columns. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/str.h"
#include "base/string_pool.h"
#include "engine/kino_run.h"
#include "report/info.h"
#include "store/interval.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* -- categories -- */

static const kino_column category_columns[] = {
    {"phase", KINO_TYPE_STRING, NULL,
     "X span, i instant, C counter, M metadata, s t f flow, b e n async"},
    {"category", KINO_TYPE_STRING, NULL, NULL},
    {"events", KINO_TYPE_INT, "count", NULL},
    {"total", KINO_TYPE_DURATION, NULL,
     "sum of the durations; overlapping spans are each counted in full"},
    {"traces", KINO_TYPE_INT, "count", "number of traces with such events"},
};

typedef struct tally {
    uint8_t phase;
    bool has_dur;
    kino_strid category; /* of the pool; KINO_NO_STRING: none */
    int64_t events, total;
    int64_t traces;
    uint32_t last_trace; /* that was counted in traces */
} tally;

typedef struct tallies {
    KINO__VEC(tally) items;
    kino__map by_key;   /* phase and text -> item */
    kino__map by_local; /* phase and id of the current trace -> item */
    kino__string_pool texts;
    bool failed;
} tallies;

/* The tally of a phase and category of a trace, made on first sight; NULL when memory is out. */
static tally *find_tally(tallies *t, const kino__trace *trace, uint8_t phase, uint16_t category)
{
    uint32_t *local = kino__map_put(&t->by_local, (uint64_t)phase << 16 | category, UINT32_MAX);
    if (!local)
        return NULL;
    if (*local != UINT32_MAX)
        return &t->items.items[*local];
    kino_strid text = KINO_NO_STRING;
    if (category != KINO__CATEGORY_NONE) {
        text = kino__string_pool_add(&t->texts, kino__trace_category_text(trace, category));
        if (text == KINO_NO_STRING)
            return NULL;
    }
    uint32_t *shared = kino__map_put(&t->by_key, (uint64_t)phase << 32 | text, UINT32_MAX);
    if (!shared)
        return NULL;
    if (*shared == UINT32_MAX) {
        tally *fresh = kino__vec_add(&t->items);
        if (!fresh)
            return NULL;
        *fresh = (tally){.phase = phase, .category = text, .last_trace = UINT32_MAX};
        *shared = (uint32_t)(t->items.count - 1);
    }
    *local = *shared;
    return &t->items.items[*shared];
}

static void count_trace(tallies *t, const kino__trace *trace)
{
    tally *at = NULL;
    uint32_t key = UINT32_MAX; /* of `at`: neighbours are mostly of one kind */
    kino__map_init(&t->by_local, NULL);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t now = (uint32_t)trace->phase[row] << 16 | trace->category[row];
        if (now != key) {
            at = find_tally(t, trace, trace->phase[row], trace->category[row]);
            key = now;
        }
        if (!at) {
            t->failed = true;
            break;
        }
        at->events++;
        int64_t dur = trace->dur[row];
        if (dur != KINO_NO_TIME) {
            at->has_dur = true;
            if (__builtin_add_overflow(at->total, dur, &at->total))
                at->total = INT64_MAX;
        }
        if (at->last_trace != trace->index) {
            at->last_trace = trace->index;
            at->traces++;
        }
    }
    kino__map_deinit(&t->by_local);
}

/* Most events first. Texts are compared through the pool, which qsort_r hands in. */
static int compare_tallies(const void *a, const void *b, void *context)
{
    const tally *x = a, *y = b;
    const kino__string_pool *texts = context;
    if (x->events != y->events)
        return x->events > y->events ? -1 : 1;
    int order = kino__str_compare(kino__string_pool_text(texts, x->category),
                                  kino__string_pool_text(texts, y->category));
    return order ? order : (x->phase > y->phase) - (x->phase < y->phase);
}

void kino__info_categories(const kino_run *run, kino_result *result)
{
    kino__table *table =
        kino__result_add_table(result, "categories", category_columns, COUNT(category_columns));
    kino__table_describe(table, 0, "Events", "none");
    if (!table)
        return;
    if (run->run.traces.count == 1)
        table->hidden = 1u << 4;
    tallies t = {0};
    kino__map_init(&t.by_key, NULL);
    kino__string_pool_init(&t.texts, NULL);
    for (size_t i = 0; i < run->run.traces.count && !t.failed; i++)
        count_trace(&t, run->run.traces.items[i]);
    if (t.items.count)
        qsort_r(t.items.items, t.items.count, sizeof *t.items.items, compare_tallies, &t.texts);
    for (size_t i = 0; i < t.items.count; i++) {
        const tally *row = &t.items.items[i];
        const char phase = (char)row->phase;
        kino__table_add_text(table, (kino_str){&phase, 1});
        if (row->category == KINO_NO_STRING)
            kino__table_add_null(table);
        else
            kino__table_add_text(table, kino__string_pool_text(&t.texts, row->category));
        KINO__TABLE_ADD(table, row->events, row->has_dur ? row->total : KINO_NO_INT, row->traces);
    }
    if (t.failed)
        result->failed = true;
    kino__vec_deinit(&t.items);
    kino__map_deinit(&t.by_key);
    kino__string_pool_deinit(&t.texts);
}

/* -- tracks -- */

enum {
    K_TRACE,
    K_RANK,
    K_KIND,
    K_NAME,
    K_EVENTS,
    K_BUSY,
    K_DEVICE,
    K_STREAM,
    K_PID,
    K_TID,
    K_PROCESS
};

static const kino_column track_columns[] = {
    [K_TRACE] = {"trace", KINO_TYPE_INT, NULL, NULL},
    [K_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [K_KIND] = {"kind", KINO_TYPE_STRING, NULL, "thread, stream, or other: spans, marks, counters"},
    [K_NAME] = {"name", KINO_TYPE_STRING, NULL, NULL},
    [K_EVENTS] = {"events", KINO_TYPE_INT, "count", "without metadata"},
    [K_BUSY] = {"busy", KINO_TYPE_DURATION, NULL, "time covered by at least one span"},
    [K_DEVICE] = {"device", KINO_TYPE_INT, NULL, NULL},
    [K_STREAM] = {"stream", KINO_TYPE_INT, NULL, NULL},
    [K_PID] = {"pid", KINO_TYPE_STRING, NULL, "as written"},
    [K_TID] = {"tid", KINO_TYPE_STRING, NULL, "as written"},
    [K_PROCESS] = {"process", KINO_TYPE_STRING, NULL, NULL},
};

static void add_label(kino__table *table, const kino__trace *trace, const kino__label *label)
{
    if (label->kind == KINO__LABEL_NONE)
        kino__table_add_null(table);
    else if (label->kind == KINO__LABEL_INT)
        kino__table_add_format(table, "%" PRId64, label->number);
    else
        kino__table_add_text(table, kino__trace_string(trace, label->text));
}

static void add_string(kino__table *table, const kino__trace *trace, kino_strid id)
{
    if (id == KINO_NO_STRING)
        kino__table_add_null(table);
    else
        kino__table_add_text(table, kino__trace_string(trace, id));
}

/* Events that are not metadata, and the union of the spans: rows are sorted by start, so one pass
 * does it. */
static int64_t scan_track(const kino__trace *trace, const kino__track *track, int64_t *busy)
{
    int64_t events = 0, end = INT64_MIN;
    *busy = KINO_NO_INT;
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        if (trace->phase[row] == 'M')
            continue;
        events++;
        int64_t ts = trace->ts[row], dur = trace->dur[row], last;
        if (ts == KINO_NO_TIME || dur == KINO_NO_TIME || dur < 0 ||
            __builtin_add_overflow(ts, dur, &last))
            continue;
        *busy = *busy == KINO_NO_INT ? 0 : *busy;
        if (last > end)
            *busy = kino__sum(*busy, last - (ts > end ? ts : end));
        end = last > end ? last : end;
    }
    return events;
}

static void add_track(kino__table *table, const kino__trace *trace, const kino__track *track)
{
    static const char *const kinds[KINO__TRACK_KIND_COUNT] = {"thread", "stream", "other"};
    int64_t busy, events = scan_track(trace, track, &busy);
    if (events == 0)
        return; /* names and sort orders of rows that nothing happened on */
    KINO__TABLE_ADD(table, trace->index, trace->rank, kino__str_from(kinds[track->kind]));
    add_string(table, trace, track->name);
    KINO__TABLE_ADD(table, events, busy, track->device, track->stream);
    add_label(table, trace, &track->pid);
    add_label(table, trace, &track->tid);
    add_string(table, trace, track->process_name);
}

void kino__info_tracks(const kino_run *run, kino_result *result)
{
    kino__table *table =
        kino__result_add_table(result, "tracks", track_columns, COUNT(track_columns));
    kino__table_describe(table, 0, "Tracks", "none");
    for (size_t i = 0; i < run->run.traces.count; i++) {
        const kino__trace *trace = run->run.traces.items[i];
        for (size_t k = 0; k < trace->tracks.count; k++)
            add_track(table, trace, &trace->tracks.items[k]);
    }
    if (!table)
        return;
    table->optional = 1u << K_DEVICE | 1u << K_STREAM | 1u << K_PROCESS;
    if (run->run.traces.count == 1)
        table->hidden = 1u << K_TRACE | 1u << K_RANK;
}
