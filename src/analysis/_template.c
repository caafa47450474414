/* _template.c - to be copied: what does it answer, for whom?
 *
 * Method: the idea in a few lines; here: kernels are counted and their durations added by name.
 * Cost: what grows with what; here: one pass over the device tracks. */
#include "analysis/analysis.h"
#include "base/error.h"

/* -- what a trace gives: integers and texts -- */

typedef struct row {
    int64_t count;
    int64_t total_ns;
} row;

/* rows[i] belongs to names[i]: the pool's numbers are the rows' places. */
typedef struct partial {
    kino__string_pool names;
    KINO__VEC(row) rows;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->names);
    kino__vec_deinit(&p->rows);
}

/* The row of a name, made on first sight; NULL when memory is out. */
static row *find_row(partial *p, kino_str name)
{
    kino_strid id = kino__string_pool_add_borrowed(&p->names, name);
    if (id == KINO_NO_STRING)
        return NULL;
    if (id == p->rows.count) {
        row *fresh = kino__vec_add(&p->rows);
        if (!fresh)
            return NULL;
        *fresh = (row){0};
    }
    return &p->rows.items[id];
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    (void)a;
    partial *p = value;
    for (uint32_t i = 0; i < trace->event_count; i++) {
        if (kino__category_kind(trace->category[i]) != KINO__KIND_KERNEL || trace->phase[i] != 'X')
            continue;
        row *r = find_row(p, kino__trace_string(trace, trace->name[i]));
        if (!r)
            return kino__fail_nomem(err);
        r->count++;
        if (trace->dur[i] != KINO_NO_TIME)
            r->total_ns = kino__sum(r->total_ns, trace->dur[i]);
    }
    return KINO_OK;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    for (size_t i = 0; i < more->rows.count; i++) {
        row *r = find_row(p, kino__string_pool_text(&more->names, (kino_strid)i));
        if (!r)
            return kino__fail_nomem(err);
        r->count = kino__sum(r->count, more->rows.items[i].count);
        r->total_ns = kino__sum(r->total_ns, more->rows.items[i].total_ns);
    }
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->count, &r->total_ns);
}

/* A loaded partial may come from anywhere: what the code relies on is checked here. */
static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->names);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    if (p->rows.count != kino__string_pool_count(&p->names))
        pack->is_damaged = true;
}

/* -- the answer -- */

enum { P_MIN_COUNT };

static const kino_param_info params[] = {
    [P_MIN_COUNT] = {"min_count", KINO_TYPE_INT, "1", "leave out kernels with fewer runs", NULL},
    {0},
};

static const kino_column kernel_columns[] = {
    {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME, "as in the trace"},
    {"count", KINO_TYPE_INT, "count", "number of runs, over all ranks"},
    {"total", KINO_TYPE_DURATION, NULL, "sum of its durations"},
    {"mean", KINO_TYPE_FLOAT, "ns", "total / count"},
    {0},
};

static const kino_table_info tables[] = {
    {"kernel", "one row per kernel name, in order of first appearance", kernel_columns, NULL,
     "not available: the trace has no kernels"},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.items[i];
        if (r->count < kino__param_int(a, P_MIN_COUNT))
            continue;
        KINO__TABLE_ADD(table, kino__string_pool_text(&p->names, (kino_strid)i), r->count,
                        r->total_ns, (double)r->total_ns / (double)r->count);
    }
    if (p->rows.count == 0)
        kino__result_lacks(result, "kernels", ": the trace has none");
    return KINO_OK;
}

const kino__analysis_def kino__analysis_template = {
    .name = "template",
    .help = "kernels by name, with count and time",
    .description = "Counts kernels by name over all ranks and sums their durations. Concurrent\n"
                   "kernels are each counted in full.\n",
    .params = params,
    .tables = tables,
    .needs = KINO__COLUMN_CATEGORY | KINO__COLUMN_PHASE | KINO__COLUMN_NAME | KINO__COLUMN_DUR,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
