/* memory_timeline.c - how much memory is allocated over time, and what for?
 *
 * From PyTorch's memory timeline (the reader memory-timeline): marks of the category
 * memory_timeline, each with signed bytes and what they are for. Every new time opens a point,
 * which has the sizes of the one before and what is added to it; what was there before the profiler
 * is a point of its own. From other traces: what [memory] events say is allocated, which is not
 * split by purpose. Cost: one pass over the records. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/frame_params.h"
#include "base/error.h"
#include "store/args.h"

typedef enum purpose {
    PARAMETER,
    OPTIMIZER_STATE,
    INPUT,
    TEMPORARY,
    ACTIVATION,
    GRADIENT,
    AUTOGRAD,
    UNKNOWN,
    PURPOSES,
} purpose;

static const char *const purpose_names[PURPOSES] = {
    "Parameter",  "Optimizer state", "Input",    "Temporary",
    "Activation", "Gradient",        "Autograd", "Unknown",
};

/* The memory of one device over time: points of the partial, which follow each other. */
typedef struct series {
    int64_t rank;
    int64_t type, device; /* of the device; KINO_NO_INT: the trace does not say */
    int64_t point_count, records;
    int64_t has_purposes;
    int64_t is_relative; /* no totals: counts from 0 at the first record */
    int64_t unknown;     /* records of purposes that are not known here */
} series;

typedef struct point {
    int64_t ts;
    int64_t size[PURPOSES];
} point;

typedef struct partial {
    KINO__VEC(series) series;
    KINO__VEC(point) points;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->series);
    kino__vec_deinit(&p->points);
}

static series *add_series(partial *p, const kino__trace *trace, int64_t type, int64_t device)
{
    series *s = kino__vec_add(&p->series);
    if (s)
        *s = (series){.rank = trace->rank, .type = type, .device = device};
    return s;
}

/* -- the memory timeline -- */

/* What a string of the argument "Category" means; PURPOSES: nothing known. */
static purpose purpose_of(kino_str text)
{
    int i = 0;
    while (i < PURPOSES && !kino__str_is(text, purpose_names[i]))
        i++;
    return (purpose)i;
}

typedef struct columns {
    const int64_t *bytes, *time;
    const kino_strid *category;
    const kino__string_pool *pool;
} columns;

static bool take_columns(const kino__trace *trace, columns *c)
{
    static const char *const keys[] = {"Bytes", "Time"};
    if (!kino__args_prepare(trace, keys, 2))
        return false;
    c->bytes = kino__args_int_column(trace, keys[0]);
    c->time = kino__args_int_column(trace, keys[1]);
    c->category = kino__args_string_column(trace, "Category", &c->pool);
    return c->bytes && c->time && c->category;
}

/* Opens a point where the time is a new one. Records from before the profiler have a time of their
 * own, although they stand at the first one of the trace. */
static bool take_record(partial *p, series *s, const kino__trace *trace, uint32_t row,
                        const columns *c, int64_t *last)
{
    int64_t time = c->time[row] != KINO_NO_INT ? c->time[row] : trace->ts[row];
    if (s->point_count == 0 || time != *last) {
        point *fresh = kino__vec_add(&p->points);
        if (!fresh)
            return false;
        *fresh = s->point_count ? p->points.items[p->points.count - 2] : (point){0};
        fresh->ts = trace->ts[row];
        s->point_count++;
    }
    *last = time;
    kino_strid category = c->category[row];
    purpose to = category == KINO_NO_STRING ? PURPOSES
                                            : purpose_of(kino__string_pool_text(c->pool, category));
    s->unknown += to == PURPOSES;
    int64_t *size = &p->points.items[p->points.count - 1].size[to == PURPOSES ? UNKNOWN : to];
    *size = kino__sum(*size, c->bytes[row]);
    s->records++;
    return true;
}

/* One series a track: a merged trace has one a rank. */
static bool take_timeline(partial *p, const kino__trace *trace, uint16_t category)
{
    columns c;
    if (!take_columns(trace, &c))
        return false;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        series *s = NULL;
        int64_t last = 0;
        for (uint32_t row = track->first; row - track->first < track->count; row++) {
            if (trace->category[row] != category || c.bytes[row] == KINO_NO_INT)
                continue;
            if (!s && !(s = add_series(p, trace, KINO_NO_INT, KINO_NO_INT)))
                return false;
            s->has_purposes = 1;
            if (!take_record(p, s, trace, row, &c, &last))
                return false;
        }
    }
    return true;
}

/* The trace's number of the reader's category; KINO__CATEGORY_NONE: it has none. */
static uint16_t timeline_category(const kino__trace *trace)
{
    for (size_t i = 0; i < trace->own_categories.count; i++)
        if (kino__str_is(kino__trace_string(trace, trace->own_categories.items[i]),
                         "memory_timeline"))
            return (uint16_t)(KINO__CATEGORY_COUNT + i);
    return KINO__CATEGORY_NONE;
}

/* -- [memory] events -- */

enum { DEVICE_CPU = 0, DEVICE_CUDA = 1, DEVICE_HIP = 6 };

typedef struct record {
    int64_t type, device, ts, bytes, total;
    uint32_t number;
} record;

typedef KINO__VEC(record) records;

static int compare_records(const void *a, const void *b)
{
    const record *x = a, *y = b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool collect_memory(const kino__trace *trace, kino_strid name, records *out)
{
    enum { TYPE, DEVICE, BYTES, TOTAL, KEYS };
    static const char *const keys[KEYS] = {"Device Type", "Device Id", "Bytes", "Total Allocated"};
    const int64_t *column[KEYS];
    if (!kino__args_prepare(trace, keys, KEYS))
        return false;
    for (int k = 0; k < KEYS; k++)
        if (!(column[k] = kino__args_int_column(trace, keys[k])))
            return false;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (trace->name[row] != name || trace->ts[row] == KINO_NO_TIME ||
            column[BYTES][row] == KINO_NO_INT)
            continue;
        record *r = kino__vec_add(out);
        if (!r)
            return false;
        *r = (record){column[TYPE][row],  column[DEVICE][row], trace->ts[row],
                      column[BYTES][row], column[TOTAL][row],  trace->number[row]};
        if (r->type == DEVICE_CPU)
            r->device = 0; /* versions differ: -1, 0 */
        if (r->type == DEVICE_HIP)
            r->type = DEVICE_CUDA;
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_records);
    return true;
}

static bool add_point(partial *p, series *s, const record *r, int64_t total)
{
    bool is_new = s->point_count == 0 || p->points.items[p->points.count - 1].ts != r->ts;
    point *at = is_new ? kino__vec_add(&p->points) : &p->points.items[p->points.count - 1];
    if (!at)
        return false;
    *at = (point){.ts = r->ts};
    at->size[UNKNOWN] = total;
    s->point_count += is_new;
    s->records++;
    return true;
}

static bool take_memory(partial *p, const kino__trace *trace, kino_strid name)
{
    records all = {0};
    bool ok = collect_memory(trace, name, &all);
    for (size_t i = 0, next; ok && i < all.count; i = next) {
        const record *first = &all.items[i];
        series *s = add_series(p, trace, first->type, first->device);
        int64_t sum = 0;
        ok = s != NULL;
        for (next = i; ok && next < all.count && all.items[next].type == first->type &&
                       all.items[next].device == first->device;
             next++) {
            const record *r = &all.items[next];
            sum = kino__sum(sum, r->bytes);
            s->is_relative |= r->total < 0;
            ok = add_point(p, s, r, r->total < 0 ? sum : r->total);
        }
    }
    kino__vec_deinit(&all);
    return ok;
}

/* -- the analysis -- */

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    (void)a;
    partial *p = value;
    uint16_t category = timeline_category(trace);
    kino_strid memory = kino__string_pool_find(&trace->strings, KINO__STR("[memory]"));
    bool ok = true;
    if (category != KINO__CATEGORY_NONE)
        ok = take_timeline(p, trace, category);
    else if (memory != KINO_NO_STRING)
        ok = take_memory(p, trace, memory);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_append(&p->series, &more->series) ||
        !kino__vec_append(&p->points, &more->points))
        return kino__fail_nomem(err);
    return KINO_OK;
}

static void pack_series(kino__pack *pack, series *s)
{
    int64_t *values[] = {&s->rank,    &s->type,         &s->device,      &s->point_count,
                         &s->records, &s->has_purposes, &s->is_relative, &s->unknown};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        kino__pack_int(pack, values[i]);
}

static void pack_point(kino__pack *pack, point *q)
{
    kino__pack_time(pack, &q->ts);
    for (int i = 0; i < PURPOSES; i++)
        kino__pack_int(pack, &q->size[i]);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->series, pack_series);
    KINO__PACK_VEC(pack, &p->points, pack_point);
    uint64_t left = p->points.count; /* series must not claim points that are not there */
    for (size_t i = 0; i < p->series.count; i++) {
        int64_t count = p->series.items[i].point_count;
        if (count < 1 || (uint64_t)count > left)
            pack->is_damaged = true;
        left -= (uint64_t)count;
    }
}

/* -- the answer -- */

static const kino_column point_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, "empty: not in the memory timeline"},
    {"ts", KINO_TYPE_TIME, NULL, NULL},
    {"parameter", KINO_TYPE_BYTES, NULL, "allocated for parameters from then on"},
    {"optimizer_state", KINO_TYPE_BYTES, NULL, NULL},
    {"input", KINO_TYPE_BYTES, NULL, NULL},
    {"temporary", KINO_TYPE_BYTES, NULL, NULL},
    {"activation", KINO_TYPE_BYTES, NULL, NULL},
    {"gradient", KINO_TYPE_BYTES, NULL, NULL},
    {"autograd", KINO_TYPE_BYTES, NULL, "details of autograd"},
    {"unknown", KINO_TYPE_BYTES, NULL, "everything else"},
    {"total", KINO_TYPE_BYTES, NULL, NULL},
    {0},
};

static const kino_column peak_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"peak", KINO_TYPE_BYTES, NULL, "maximum allocated at one time"},
    {"ts", KINO_TYPE_TIME, NULL, "when the maximum was first reached"},
    {"final", KINO_TYPE_BYTES, NULL, "allocated at the end"},
    {"points", KINO_TYPE_INT, "count", "number of changes"},
    {"records", KINO_TYPE_INT, "count", NULL},
    {0},
};

static const kino_column purpose_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"device", KINO_TYPE_STRING, NULL, NULL},
    {"category", KINO_TYPE_STRING, NULL, "what the memory is for"},
    {"at_peak", KINO_TYPE_BYTES, NULL, "size at the peak of the total"},
    {"percent", KINO_TYPE_PERCENT, NULL, "share of the peak"},
    {"max", KINO_TYPE_BYTES, NULL, "maximum at any time"},
    {"final", KINO_TYPE_BYTES, NULL, "at the end"},
    {0},
};

enum { T_TIMELINE, T_PEAK, T_CATEGORIES };

static const kino_table_info tables[] = {
    [T_TIMELINE] = {"memory_timeline", "one row per time at which memory changed", point_columns,
                    NULL, NULL},
    [T_PEAK] = {"memory_peak", "one row per rank and device", peak_columns, NULL,
                "not available: no memory timeline and no [memory] events"},
    [T_CATEGORIES] = {"memory_categories", "one row per category: its share of the peak",
                      purpose_columns, NULL, "not available"},
    {0},
};

static int64_t total_of(const point *q)
{
    int64_t total = 0;
    for (int i = 0; i < PURPOSES; i++)
        total = kino__sum(total, q->size[i]);
    return total;
}

static void add_head(kino__table *table, const series *s)
{
    kino__table_add_int(table, s->rank);
    if (s->type == KINO_NO_INT)
        kino__table_add_null(table);
    else if (s->type == DEVICE_CPU)
        kino__table_add_text(table, KINO__STR("CPU"));
    else if (s->type == DEVICE_CUDA)
        kino__table_add_format(table, "GPU%lld", (long long)s->device);
    else
        kino__table_add_format(table, "type%lld:%lld", (long long)s->type, (long long)s->device);
}

static void add_points(kino__table *table, const series *s, const point *points)
{
    for (int64_t i = 0; i < s->point_count; i++) {
        add_head(table, s);
        kino__table_add_int(table, points[i].ts);
        for (int c = 0; c < PURPOSES; c++)
            kino__table_add_int(table,
                                s->has_purposes || c == UNKNOWN ? points[i].size[c] : KINO_NO_INT);
        kino__table_add_int(table, total_of(&points[i]));
    }
}

static const point *find_peak(const series *s, const point *points)
{
    const point *peak = &points[0];
    for (int64_t i = 1; i < s->point_count; i++)
        if (total_of(&points[i]) > total_of(peak))
            peak = &points[i];
    return peak;
}

static void add_categories(kino__table *table, const series *s, const point *points,
                           const point *peak)
{
    double total = (double)total_of(peak);
    for (int c = s->has_purposes ? 0 : UNKNOWN; c < PURPOSES; c++) {
        int64_t most = points[0].size[c];
        for (int64_t i = 1; i < s->point_count; i++)
            most = points[i].size[c] > most ? points[i].size[c] : most;
        add_head(table, s);
        KINO__TABLE_ADD(table, kino__str_from(purpose_names[c]), peak->size[c]);
        if (total > 0)
            kino__table_add_real(table, 100 * (double)peak->size[c] / total);
        else
            kino__table_add_null(table);
        KINO__TABLE_ADD(table, most, points[s->point_count - 1].size[c]);
    }
}

static void add_peak(kino__table *table, const series *s, const point *points, const point *peak)
{
    add_head(table, s);
    KINO__TABLE_ADD(table, total_of(peak), peak->ts, total_of(&points[s->point_count - 1]),
                    s->point_count, s->records);
}

static void add_notes(const partial *p, kino_result *result)
{
    bool has_plain = false, is_relative = false;
    long long unknown = 0;
    for (size_t i = 0; i < p->series.count; i++) {
        has_plain |= !p->series.items[i].has_purposes;
        is_relative |= p->series.items[i].is_relative;
        unknown += p->series.items[i].unknown;
    }
    if (p->series.count == 0)
        kino__result_lacks(result, "memory",
                           ": neither a memory timeline nor a trace with "
                           "[memory] events (profile_memory)");
    if (has_plain)
        kino__result_lacks(result, "categories",
                           ": [memory] events do not say what memory is used for; use "
                           "export_memory_timeline (a .raw.json.gz file)");
    if (is_relative)
        kino__result_lacks(result, "totals", ": sizes are relative to the first record");
    if (unknown)
        kino__result_note(result, "%lld records of unrecognized categories count as Unknown",
                          unknown);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a, (void)err;
    const partial *p = value;
    const point *points = p->points.items;
    kino__table *timeline = kino__analysis_table(result, T_TIMELINE);
    for (size_t i = 0; i < p->series.count; i++) {
        const series *s = &p->series.items[i];
        const point *peak = find_peak(s, points);
        add_points(timeline, s, points);
        add_peak(kino__analysis_table(result, T_PEAK), s, points, peak);
        add_categories(kino__analysis_table(result, T_CATEGORIES), s, points, peak);
        points += s->point_count;
    }
    kino__table_describe(timeline, KINO__TABLE_QUIET, NULL, NULL);
    add_notes(p, result);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_memory_timeline = {
    .name = "memory-timeline",
    .help = "how much memory is allocated over time, and for what",
    .description =
        "Reads PyTorch's raw memory timeline (export_memory_timeline to a file\n"
        "*.raw.json.gz): sizes by category at every time at which memory changed, the\n"
        "peak and its composition. The first point is what was allocated before the\n"
        "profiler started. For other traces, shows the totals of their [memory] events.\n",
    .tables = tables,
    .compat = kino__frame_compat,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
