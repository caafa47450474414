/* memory_bandwidth.c - how much memory traffic runs at a time: copies and sets by kind.
 *
 * At the start of a copy its bandwidth comes on top of what runs, at its end it goes. The default
 * adds billionths of a GB/s (bytes a second) as integers, so that nothing is left over; HTA adds
 * doubles, whose residue it then counts. */
#include <math.h>
#include <stdlib.h>

#include "analysis/columns.h"
#include "analysis/frame_params.h"
#include "analysis/statistics.h"
#include "base/error.h"
#include "store/args.h"

enum { P_SERIES, P_LAST_STEP };

static const kino_param_info params[] = {
    [P_SERIES] = {"series", KINO_TYPE_BOOL, "no", "also list every change", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

/* A double as the partial keeps it. */
static int64_t bits_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double real_of(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

typedef struct point {
    int64_t rank, ts, event;
    int64_t bandwidth; /* bits of GB/s */
    kino_str name;
} point;

enum { NUMBERS = 7 }; /* mean, std, min, three percentiles, max */

typedef struct summary {
    int64_t rank, count;
    int64_t numbers[NUMBERS]; /* bits */
    kino_str name;
} summary;

typedef struct partial {
    KINO__VEC(summary) kinds;
    KINO__VEC(point) points;
    int64_t unknown; /* copies and sets whose bandwidth the trace does not tell */
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->kinds);
    kino__vec_deinit(&p->points);
}

/* -- one trace */

typedef struct change {
    kino_str kind;
    int64_t ts;
    double bandwidth; /* negative at the end */
    uint32_t at;
    uint32_t order; /* starts before ends, both as in the frame */
} change;

typedef KINO__VEC(change) changes;

static int compare_changes(const void *a, const void *b)
{
    const change *x = a, *y = b;
    int by_kind = kino__str_compare(x->kind, y->kind);
    if (by_kind)
        return by_kind;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* False: the trace does not tell; HTA takes that for 0. */
static bool read_bandwidth(const kino__frame *f, uint32_t at, kino__text_cursor *cursor,
                           double *out)
{
    kino_str args = kino__args_text(f->trace, f->row[at], cursor);
    kino_str text = kino__args_find(args, KINO__STR("memory bandwidth (GB/s)"));
    *out = 0;
    return (text.size && kino__json_to_double(text, out)) || f->mode != KINO__FRAME_DEFAULT;
}

static bool collect(partial *p, const kino__frame *f, changes *out)
{
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, f->trace->text);
    bool ok = true;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!kino__frame_is_device(f, at) || f->type[at] != KINO__KERNEL_MEMORY)
            continue;
        double bandwidth;
        if (!read_bandwidth(f, at, &cursor, &bandwidth)) {
            p->unknown++;
            continue;
        }
        change *slot = kino__vec_add(out);
        ok = slot != NULL;
        if (ok)
            *slot = (change){kino__memory_kind(kino__frame_name(f, at)), f->ts[at], bandwidth, at,
                             (uint32_t)(out->count - 1)};
    }
    kino__text_cursor_deinit(&cursor);
    size_t starts = out->count;
    ok = ok && kino__vec_reserve(out, starts);
    for (size_t i = 0; ok && i < starts; i++) {
        change end = out->items[i];
        end.ts += f->dur[end.at] ? f->dur[end.at] : 1;
        end.bandwidth = -end.bandwidth;
        end.order = (uint32_t)out->count;
        out->items[out->count++] = end;
    }
    if (ok && out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_changes);
    return ok;
}

/* Of a GB/s, so that what is added and taken away leaves nothing. No memory does 10^6 GB/s. */
static int64_t billionths_of(double bandwidth)
{
    const double most = 1e6;
    return llround(fmax(-most, fmin(most, bandwidth)) * 1e9);
}

/* What runs after each change, in place of the change itself. */
static void add_up(changes *all, bool is_hta)
{
    double sum = 0;
    int64_t billionths = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (i == 0 || !kino__str_equal(all->items[i].kind, all->items[i - 1].kind)) {
            sum = 0;
            billionths = 0;
        }
        sum += all->items[i].bandwidth;
        billionths = kino__sum(billionths, billionths_of(all->items[i].bandwidth));
        if (is_hta)
            all->items[i].bandwidth = sum;
        else
            all->items[i].bandwidth = (double)billionths / 1e9;
    }
}

static bool summarize(partial *p, const changes *all, int64_t rank)
{
    double *values = malloc((all->count + 1) * sizeof *values);
    bool ok = values != NULL;
    for (size_t i = 0, next; ok && i < all->count; i = next) {
        size_t count = 0;
        kino_str kind = all->items[i].kind;
        for (next = i; next < all->count && kino__str_equal(all->items[next].kind, kind); next++)
            if (all->items[next].bandwidth > 0)
                values[count++] = all->items[next].bandwidth;
        if (count == 0)
            continue;
        kino__real_description d;
        kino__describe_reals(values, count, &d);
        summary *s = kino__vec_add(&p->kinds);
        ok = s != NULL;
        if (ok)
            *s = (summary){.rank = rank,
                           .count = d.count,
                           .numbers = {bits_of(d.mean), bits_of(d.std), bits_of(d.min),
                                       bits_of(d.percentile[KINO__P25]),
                                       bits_of(d.percentile[KINO__P50]),
                                       bits_of(d.percentile[KINO__P75]), bits_of(d.max)},
                           .name = kind};
    }
    free(values);
    return ok;
}

static bool add_series(partial *p, const kino__frame *f, const changes *all)
{
    const kino__trace *trace = f->trace;
    for (size_t i = 0; i < all->count; i++) {
        const change *c = &all->items[i];
        point *to = kino__vec_add(&p->points);
        if (!to)
            return false;
        int64_t ts = c->ts * f->unit_ns;
        if (f->mode != KINO__FRAME_DEFAULT) /* from the file's clock to the run's */
            ts = (int64_t)((uint64_t)ts + (uint64_t)trace->base_ns - (uint64_t)trace->origin_ns);
        *to = (point){trace->rank, ts, kino__trace_event_id(trace, f->row[c->at]),
                      bits_of(c->bandwidth), c->kind};
    }
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    changes all = {0};
    bool ok = f && collect(p, f, &all);
    if (ok) {
        p->is_cut = f->is_cut;
        add_up(&all, f->mode != KINO__FRAME_DEFAULT);
        ok = summarize(p, &all, trace->rank) &&
             (!kino__param_bool(a, P_SERIES) || add_series(p, f, &all));
    }
    kino__vec_deinit(&all);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* Names are literals or texts of traces, which outlive partials. */
static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_append(&p->kinds, &more->kinds) || !kino__vec_append(&p->points, &more->points))
        return kino__fail_nomem(err);
    p->unknown = kino__sum(p->unknown, more->unknown);
    p->is_cut |= more->is_cut;
    return KINO_OK;
}

static void pack_summary(kino__pack *pack, summary *s)
{
    KINO__PACK(pack, &s->rank, &s->count);
    for (int i = 0; i < NUMBERS; i++)
        kino__pack_int(pack, &s->numbers[i]);
    kino__pack_str(pack, &s->name);
}

static void pack_point(kino__pack *pack, point *q)
{
    KINO__PACK(pack, &q->rank, &q->bandwidth, &q->name);
    KINO__PACK_FRAME_TIMES(pack, &q->ts);
    KINO__PACK_EVENTS(pack, &q->event);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->kinds, pack_summary);
    KINO__PACK_VEC(pack, &p->points, pack_point);
    kino__pack_tally(pack, &p->unknown);
    kino__pack_bool(pack, &p->is_cut);
}

/* -- the answer */

static const kino_column summary_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, NULL},
    {"name", KINO_TYPE_STRING, NULL, "kind of copy, or Memset"},
    {"count", KINO_TYPE_INT, "count", "changes after which something was running"},
    {"mean", KINO_TYPE_FLOAT, "GB/s", NULL},
    {"std", KINO_TYPE_FLOAT, "GB/s", "sample standard deviation"},
    {"min", KINO_TYPE_FLOAT, "GB/s", NULL},
    {"p25", KINO_TYPE_FLOAT, "GB/s", NULL},
    {"p50", KINO_TYPE_FLOAT, "GB/s", "median"},
    {"p75", KINO_TYPE_FLOAT, "GB/s", NULL},
    {"max", KINO_TYPE_FLOAT, "GB/s", NULL},
    {0},
};

static const kino_column series_columns[] = {
    [KINO__BANDWIDTH_RANK] = {"rank", KINO_TYPE_INT, NULL, NULL},
    [KINO__BANDWIDTH_TS] = {"ts", KINO_TYPE_TIME, NULL, "when it changed"},
    [KINO__BANDWIDTH_NAME] = {"name", KINO_TYPE_STRING, NULL, "kind of copy, or Memset"},
    [KINO__BANDWIDTH_VALUE] = {"memory_bw", KINO_TYPE_FLOAT, "GB/s",
                               "total bandwidth from then on"},
    [KINO__BANDWIDTH_EVENT] = {"event", KINO_TYPE_INT, KINO_UNIT_EVENT,
                               "id of the copy that starts or ends here"},
    {0},
};

static const kino_table_info tables[] = {
    [KINO__MEMORY_BANDWIDTH_SUMMARY] = {"memory_bw_summary", "one row per rank and kind",
                                        summary_columns, NULL,
                                        "not available: no copies or memsets with a bandwidth"},
    [KINO__MEMORY_BANDWIDTH_SERIES] = {"memory_bw_series",
                                       "one row per change, by kind and time, if series is set",
                                       series_columns, NULL, NULL},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->kinds.count; i++) {
        const summary *s = &p->kinds.items[i];
        KINO__TABLE_ADD(table, s->rank, s->name, s->count);
        for (int n = 0; n < NUMBERS; n++)
            kino__table_add_real(table, real_of(s->numbers[n]));
    }
    kino__table *series = kino__analysis_table(result, 1);
    for (size_t i = 0; i < p->points.count; i++) {
        const point *q = &p->points.items[i];
        KINO__TABLE_ADD(series, q->rank, q->ts, q->name, real_of(q->bandwidth), q->event);
    }
    if (!kino__param_bool(a, P_SERIES))
        kino__table_describe(series, KINO__TABLE_QUIET, NULL, NULL);
    if (p->kinds.count == 0)
        kino__result_lacks(result, "memory bandwidth", ": no copies or memsets with a bandwidth");
    if (p->unknown)
        kino__result_note(result, "%lld copies and memsets have no bandwidth and are left out",
                          (long long)p->unknown);
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_memory_bandwidth = {
    .name = "memory-bandwidth",
    .help = "memory traffic of copies and memsets over time, by kind",
    .description =
        "Sums the bandwidths of the copies of one kind that run at the same time, as\n"
        "recorded in the trace. The summary is over the changes after which something\n"
        "runs, not weighted by time. A copy without a duration counts as one nanosecond\n"
        "(with compat hta: one microsecond).\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
