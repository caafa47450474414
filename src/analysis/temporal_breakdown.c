/* temporal_breakdown.c - how much of its time does each device compute, do something else, or
 * nothing?
 *
 * Method: the time covered by all device rows of a rank, and that covered by computation; what is
 * left over is idle, or copies and communication that no computation hides.
 * Cost: one pass over the device rows in order of time. */
#include <math.h>

#include "analysis/device_work.h"
#include "analysis/statistics.h"
#include "base/error.h"

enum { P_LAST_STEP };

/* -- what a trace gives: integers -- */

typedef struct row {
    int64_t rank;
    int64_t idle, compute, non_compute, kernel_time; /* ns */
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

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool has_last_step = kino__param_bool(a, P_LAST_STEP);
    const kino__frame *f = kino__frame_of(trace, kino__frame_mode_of(a), has_last_step, a->pool);
    const kino__device_work *w = f ? kino__device_work_of(f, has_last_step) : NULL;
    if (!w)
        return kino__fail_nomem(err);
    p->is_cut = f->is_cut;
    if (w->count == 0) {
        int64_t *rank = kino__vec_add(&p->without);
        if (!rank)
            return kino__fail_nomem(err);
        *rank = trace->rank;
        return KINO_OK;
    }
    row *r = kino__vec_add(&p->rows);
    if (!r)
        return kino__fail_nomem(err);
    const kino__intervals *all = &w->all, *compute = &w->of_type[KINO__KERNEL_COMPUTATION];
    int64_t span = kino__difference(all->items[all->count - 1].end, all->items[0].start);
    int64_t idle = kino__difference(span, kino__intervals_total(all->items, all->count));
    int64_t busy = kino__intervals_total(compute->items, compute->count);
    *r = (row){trace->rank, kino__frame_ns(f, idle), kino__frame_ns(f, busy),
               kino__frame_ns(f, kino__difference(kino__difference(span, busy), idle)),
               kino__frame_ns(f, span)};
    return KINO_OK;
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
    KINO__PACK(pack, &r->rank, &r->idle, &r->compute, &r->non_compute, &r->kernel_time);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_VEC(pack, &p->without, kino__pack_int);
    kino__pack_bool(pack, &p->is_cut);
}

/* -- the answer -- */

static const kino_param_info params[] = {[P_LAST_STEP] = KINO__PARAM_LAST_STEP, {0}};

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"idle_time", KINO_TYPE_DURATION, NULL, "time in which nothing runs on the device"},
    {"compute_time", KINO_TYPE_DURATION, NULL, "computation runs"},
    {"non_compute_time", KINO_TYPE_DURATION, NULL,
     "time in which only copies, memsets or communication run"},
    {"kernel_time", KINO_TYPE_DURATION, NULL,
     "from the first start to the last end: the sum of all three"},
    {"idle_time_pctg", KINO_TYPE_PERCENT, NULL, "share of kernel_time"},
    {"compute_time_pctg", KINO_TYPE_PERCENT, NULL, "share of kernel_time"},
    {"non_compute_time_pctg", KINO_TYPE_PERCENT, NULL, "share of kernel_time"},
    {0},
};

static const kino_table_info tables[] = {
    {"temporal_breakdown", "one row per rank", columns, NULL,
     "not available: no device work was recorded"},
    {0},
};

static void add_percent(const kino__analysis *a, kino__table *table, int64_t part, int64_t of)
{
    double percent = of > 0 ? 100 * (double)part / (double)of : NAN;
    kino__table_add_real(table, a->compat ? kino__round(percent, 2) : percent);
}

static void add_row(const kino__analysis *a, kino__table *table, const row *r)
{
    KINO__TABLE_ADD(table, r->rank, r->idle, r->compute,
                    r->non_compute < 0 ? KINO_NO_INT : r->non_compute, r->kernel_time);
    add_percent(a, table, r->idle, r->kernel_time);
    add_percent(a, table, r->compute, r->kernel_time);
    if (r->non_compute < 0)
        kino__table_add_null(table);
    else
        add_percent(a, table, r->non_compute, r->kernel_time);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    size_t impossible = 0;
    for (size_t i = 0; i < p->rows.count; i++) {
        add_row(a, table, &p->rows.items[i]);
        impossible += p->rows.items[i].non_compute < 0;
    }
    if (impossible)
        kino__result_lacks(result, "non_compute_time",
                           " in %zu traces: negative durations make it negative", impossible);
    kino__note_without_device(result, "temporal breakdown", p->without.items, p->without.count,
                              p->rows.count);
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_temporal_breakdown = {
    .name = "temporal-breakdown",
    .help = "how much of the time each device computes, does other work, or is idle",
    .description =
        "Divides the time from a rank's first device activity to its last into idle\n"
        "(nothing runs), compute (computation runs) and non-compute (only copies, memsets\n"
        "or communication run). Concurrent work counts once; communication hidden by\n"
        "computation is compute time.\n",
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
