/* idle_time.c - how long does each stream have nothing to do, and what does it wait for?
 *
 * Method: the gap before each kernel, copy or set of a stream is put down to the host when its
 * launch came after the end of the work before it, to the device when it is short, else to
 * something else.
 * HTA measures from the end of the previous row, we from the latest end so far: a gap is never
 * negative, and idle time plus time with work is the stream's span.
 * Cost: one pass over the device rows in order of time; with statistics a linear sort of gaps. */
#include <math.h>
#include <stdlib.h>

#include "analysis/device_work.h"
#include "analysis/statistics.h"
#include "base/error.h"

enum { P_STREAMS, P_DELAY, P_STATS, P_LAST_STEP };

typedef enum cause { HOST_WAIT, KERNEL_WAIT, OTHER, CAUSES } cause;
static const char *const cause_names[] = {"host_wait", "kernel_wait", "other"};

/* -- what a trace gives: integers -- */

typedef struct row {
    int64_t rank, stream;
    bool is_there[CAUSES];       /* some row of the stream has this cause */
    kino__description d[CAUSES]; /* of the gaps, ns; percentiles only when asked for */
} row;

typedef struct partial {
    KINO__VEC(row) rows;
    KINO__VEC(int64_t) without; /* ranks of traces without device rows */
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->rows);
    kino__vec_deinit(&p->without);
}

/* -- streams that are asked for -- */

/* The next number of "7,20, 24"; false at the end, or *is_bad. */
static bool next_stream(kino_str *list, int64_t *out, bool *is_bad)
{
    while (list->size && (list->data[0] == ' ' || list->data[0] == ',')) {
        list->data++;
        list->size--;
    }
    size_t size = 0;
    while (size < list->size && list->data[size] != ',' && list->data[size] != ' ')
        size++;
    *is_bad = size && !kino__str_to_int((kino_str){list->data, size}, out);
    list->data += size;
    list->size -= size;
    return size && !*is_bad;
}

static bool is_wanted(const kino__analysis *a, int64_t stream)
{
    kino_str list = kino__param_text(a, P_STREAMS);
    int64_t number;
    bool is_bad, is_any = list.size == 0;
    while (!is_any && next_stream(&list, &number, &is_bad))
        is_any = number == stream;
    return is_any;
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    kino_str list = kino__param_text(a, P_STREAMS);
    int64_t number;
    bool is_bad;
    while (next_stream(&list, &number, &is_bad))
        ;
    if (is_bad)
        return kino__fail(err, KINO_ARGUMENT,
                          "streams must be numbers separated by commas, such as 7,20");
    return KINO_OK;
}

/* -- one trace -- */

typedef struct stream_state {
    int64_t end; /* of the work before */
    bool has_end;
    KINO__VEC(int64_t) gaps[CAUSES];
} stream_state;

typedef struct scan {
    const kino__analysis *a;
    const kino__frame *f;
    partial *p;
    size_t first_row;  /* of this trace in p->rows */
    kino__map streams; /* stream -> number among those of the trace */
    KINO__VEC(stream_state) states;
    bool is_hta, has_stats;
    int64_t first_ts; /* HTA: start of the file's first event; KINO_NO_TIME: not in the frame */
} scan;

/* HTA's list of categories; ours is that of all device work. */
static bool is_work(const scan *s, uint32_t at)
{
    switch (s->f->trace->category[s->f->row[at]]) {
    case KINO__CATEGORY_KERNEL:
    case KINO__CATEGORY_KERNEL_2021:
    case KINO__CATEGORY_GPU_MEMCPY:
    case KINO__CATEGORY_MEMCPY_2021:
    case KINO__CATEGORY_GPU_MEMSET:
    case KINO__CATEGORY_MEMSET_2021:
    case KINO__CATEGORY_MTIA_CCP_EVENTS:
        return true;
    default:
        return !s->is_hta;
    }
}

/* Streams in order of first appearance in the frame. */
static bool find_streams(scan *s)
{
    const kino__frame *f = s->f;
    int64_t last = 0;
    bool has_last = false;
    for (uint32_t at = 0; at < f->count; at++) {
        if (!kino__frame_is_device(f, at) || (has_last && f->stream[at] == last) || !is_work(s, at))
            continue;
        last = f->stream[at];
        has_last = true;
        uint32_t *number = kino__map_get(&s->streams, (uint64_t)last);
        if (number)
            continue;
        bool is_asked = is_wanted(s->a, last);
        number = kino__map_put(&s->streams, (uint64_t)last,
                               is_asked ? (uint32_t)s->states.count : KINO_NO_ROW);
        if (!number)
            return false;
        if (!is_asked)
            continue;
        stream_state *state = kino__vec_add(&s->states);
        row *r = kino__vec_add(&s->p->rows);
        if (!state || !r)
            return false;
        *state = (stream_state){0};
        *r = (row){.rank = f->trace->rank, .stream = last};
    }
    return true;
}

/* Start of the call that launched it; KINO_NO_TIME: not known. HTA's number of no partner is 0,
 * which it then takes for the file's first event. */
static int64_t launch_ts(const scan *s, uint32_t at)
{
    int32_t link = s->f->link[at];
    if (link >= 0)
        return s->f->ts[link];
    return s->is_hta && link == KINO__LINK_MISSING ? s->first_ts : KINO_NO_TIME;
}

static bool add_gap(scan *s, size_t stream, uint32_t at)
{
    const kino__frame *f = s->f;
    stream_state *state = &s->states.items[stream];
    row *r = &s->p->rows.items[s->first_row + stream];
    int64_t start = f->ts[at], end = kino__sum(start, f->dur[at]);
    if (!state->has_end) {
        r->is_there[OTHER] = true;
        state->has_end = true;
        state->end = end;
        return true;
    }
    int64_t launched = launch_ts(s, at);
    int64_t gap = kino__frame_ns(f, kino__difference(start, state->end));
    bool is_late = launched != KINO_NO_TIME && launched > state->end;
    if (!s->is_hta && gap < 0)
        gap = 0;
    cause why = is_late ? HOST_WAIT : gap < kino__param_int(s->a, P_DELAY) ? KERNEL_WAIT : OTHER;
    state->end = s->is_hta || end > state->end ? end : state->end;
    r->is_there[why] = true;
    if (!s->has_stats) {
        kino__moments_add(&r->d[why].moments, gap);
        return true;
    }
    int64_t *slot = kino__vec_add(&state->gaps[why]);
    if (slot)
        *slot = gap;
    return slot != NULL;
}

static bool add_gaps(scan *s, const kino__device_work *w)
{
    const uint32_t *number = NULL;
    int64_t last = 0;
    for (size_t i = 0; i < w->count; i++) {
        uint32_t at = w->rows[i];
        if (!is_work(s, at))
            continue;
        if (!number || s->f->stream[at] != last)
            number = kino__map_get(&s->streams, (uint64_t)s->f->stream[at]);
        last = s->f->stream[at];
        if (number && *number != KINO_NO_ROW && !add_gap(s, *number, at))
            return false;
    }
    for (size_t i = 0; s->has_stats && i < s->states.count; i++) {
        row *r = &s->p->rows.items[s->first_row + i];
        for (size_t c = 0; c < CAUSES; c++)
            if (!kino__describe(s->states.items[i].gaps[c].items, s->states.items[i].gaps[c].count,
                                &r->d[c]))
                return false;
    }
    return true;
}

static int64_t find_first_ts(const kino__frame *f)
{
    for (uint32_t at = 0; at < f->count; at++)
        if (f->trace->number[f->row[at]] == 0)
            return f->ts[at];
    return KINO_NO_TIME;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool has_last_step = kino__param_bool(a, P_LAST_STEP);
    scan s = {
        .a = a, .p = p, .first_row = p->rows.count, .has_stats = kino__param_bool(a, P_STATS)};
    s.f = kino__frame_of(trace, kino__frame_mode_of(a), has_last_step, a->pool);
    const kino__device_work *w = s.f ? kino__device_work_of(s.f, has_last_step) : NULL;
    if (!w)
        return kino__fail_nomem(err);
    p->is_cut = s.f->is_cut;
    s.is_hta = s.f->mode != KINO__FRAME_DEFAULT;
    s.first_ts = s.is_hta ? find_first_ts(s.f) : KINO_NO_TIME;
    kino__map_init(&s.streams, NULL);
    bool ok = find_streams(&s) && add_gaps(&s, w);
    if (ok && s.streams.count == 0) {
        int64_t *rank = kino__vec_add(&p->without);
        ok = rank != NULL;
        if (rank)
            *rank = trace->rank;
    }
    for (size_t i = 0; i < s.states.count; i++)
        for (size_t c = 0; c < CAUSES; c++)
            kino__vec_deinit(&s.states.items[i].gaps[c]);
    kino__vec_deinit(&s.states);
    kino__map_deinit(&s.streams);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    if (!kino__vec_append(&into->rows, &from->rows) ||
        !kino__vec_append(&into->without, &from->without))
        return kino__fail_nomem(err);
    into->is_cut |= from->is_cut;
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->stream);
    for (size_t c = 0; c < CAUSES; c++) {
        kino__pack_bool(pack, &r->is_there[c]);
        kino__pack_description(pack, &r->d[c]);
    }
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_VEC(pack, &p->without, kino__pack_int);
    kino__pack_bool(pack, &p->is_cut);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_STREAMS] = {"streams", KINO_TYPE_STRING, NULL, "only these streams, separated by commas",
                   NULL},
    [P_DELAY] = {"delay", KINO_TYPE_DURATION, "30us",
                 "attribute shorter gaps with work queued to the device itself (kernel_wait)",
                 NULL},
    [P_STATS] = {"stats", KINO_TYPE_BOOL, "no", "also show the distribution of the gaps", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

static const kino_column idle_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"stream", KINO_TYPE_INT, NULL, "of the device"},
    {"idle_category", KINO_TYPE_STRING, NULL,
     "host_wait: nothing had been launched yet; kernel_wait: shorter than delay; other"},
    {"idle_time", KINO_TYPE_DURATION, NULL, "sum of the gaps"},
    {"idle_time_ratio", KINO_TYPE_FLOAT, NULL,
     "share of the stream's idle time; null: no idle time"},
    {0},
};

static const kino_column stats_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"stream", KINO_TYPE_INT, NULL, "of the device"},
    {"idle_category", KINO_TYPE_STRING, NULL, "as above"},
    {"count", KINO_TYPE_INT, "count", "gaps"},
    {"mean", KINO_TYPE_FLOAT, "ns", "null: no gaps"},
    {"std", KINO_TYPE_FLOAT, "ns", "sample standard deviation; null: fewer than two"},
    {"min", KINO_TYPE_DURATION, NULL, "shortest"},
    {"p25", KINO_TYPE_FLOAT, "ns", "a quarter is shorter"},
    {"p50", KINO_TYPE_FLOAT, "ns", "median"},
    {"p75", KINO_TYPE_FLOAT, "ns", "a quarter is longer"},
    {"max", KINO_TYPE_DURATION, NULL, "longest"},
    {0},
};

static const kino_table_info tables[] = {
    {"idle", "one row per rank, stream and cause", idle_columns, "Idle time of streams",
     "not available: no device work was recorded"},
    {"interval_stats", "the gaps of each of them; requires stats", stats_columns, "Gaps", NULL},
    {0},
};

static void add_idle(const kino__analysis *a, kino__table *table, const row *r)
{
    int64_t total = 0;
    for (size_t c = 0; c < CAUSES; c++)
        total = kino__sum(total, r->d[c].moments.sum);
    for (size_t c = 0; c < CAUSES; c++) {
        if (!r->is_there[c])
            continue;
        double ratio = total != 0 ? (double)r->d[c].moments.sum / (double)total : NAN;
        KINO__TABLE_ADD(table, r->rank, r->stream, kino__str_from(cause_names[c]),
                        r->d[c].moments.sum, a->compat ? kino__round(ratio, 2) : ratio);
    }
}

static void add_time(const kino__analysis *a, kino__table *table, double ns)
{
    int64_t unit = kino__frame_mode_of(a) == KINO__FRAME_HTA ? 1000 : 1;
    kino__table_add_real(table, a->compat ? kino__round_time(ns, unit) : ns);
}

static void add_stats(const kino__analysis *a, kino__table *table, const row *r)
{
    for (size_t c = 0; c < CAUSES; c++) {
        if (!r->is_there[c])
            continue;
        const kino__description *d = &r->d[c];
        bool is_empty = d->moments.count == 0;
        KINO__TABLE_ADD(table, r->rank, r->stream, kino__str_from(cause_names[c]),
                        d->moments.count);
        add_time(a, table, kino__moments_mean(&d->moments));
        add_time(a, table, kino__moments_std(&d->moments));
        kino__table_add_int(table, is_empty ? KINO_NO_INT : d->moments.min);
        for (int q = 0; q < KINO__QUARTILES; q++)
            add_time(a, table, kino__description_percentile(d, q));
        kino__table_add_int(table, is_empty ? KINO_NO_INT : d->moments.max);
    }
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    bool has_stats = kino__param_bool(a, P_STATS);
    kino__table *idle = kino__analysis_table(result, 0), *stats = kino__analysis_table(result, 1);
    for (size_t i = 0; i < p->rows.count; i++) {
        add_idle(a, idle, &p->rows.items[i]);
        if (has_stats)
            add_stats(a, stats, &p->rows.items[i]);
    }
    if (stats && !has_stats)
        stats->flags |= KINO__TABLE_QUIET;
    kino__note_without_device(result, "idle time", p->without.items, p->without.count,
                              p->rows.count);
    if (p->rows.count == 0 && p->without.count == 0)
        kino__result_lacks(result, "idle time", ": none of the streams are in the trace");
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_idle_time = {
    .name = "idle-time",
    .help = "how long each stream is idle, and what it waits for",
    .description =
        "Sums the gaps between the kernels, copies and memsets of each stream. A gap is\n"
        "host_wait if the work after it was launched after the work before it had ended\n"
        "(the host is too slow); otherwise kernel_wait if it is shorter than delay\n"
        "(overhead of the device itself); otherwise other (mostly waiting for another\n"
        "stream).\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
