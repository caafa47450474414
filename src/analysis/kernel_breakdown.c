/* kernel_breakdown.c - what kind of work takes the time of the devices, and which kernels?
 *
 * Method: by type, the time that computation, communication and copies cover, alone and at the same
 * time, from a sweep over the edges of what each covers; by kernel, durations added up by name, the
 * small ones folded (name_sums.h).
 * Cost: one pass over the device rows in order of time; n log n in the number of names. */
#include <math.h>
#include <stdlib.h>

#include "analysis/device_work.h"
#include "analysis/name_sums.h"
#include "base/error.h"
#include "base/keyed_sort.h"

enum { P_RATIO, P_NUM_KERNELS, P_MEMORY, P_LAST_STEP };
enum { MASKS = 8 }; /* sets of COMPUTATION 1, COMMUNICATION 2, MEMORY 4 */

/* -- what a trace gives: integers and texts -- */

typedef struct partial {
    int64_t of_mask[MASKS]; /* ns, over all ranks */
    kino__name_sums sums;
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__name_sums_deinit(&p->sums);
}

static int64_t types_of(const kino__analysis *a)
{
    return kino__param_bool(a, P_MEMORY) ? 3 : 2;
}

/* Edges of all types by time; between two of them the types whose bits are set run. Bits are added
 * and taken away as numbers: intervals that end before they start, which only HTA's rounding makes,
 * then give what they give there. */
static bool sweep(const kino__frame *f, const kino__device_work *w, int64_t types,
                  int64_t of_mask[MASKS])
{
    size_t room = 0, count = 0;
    for (int64_t t = 0; t < types; t++)
        room += 2 * w->of_type[t].count;
    kino__keyed *edges = malloc((room + 1) * sizeof *edges);
    if (!edges)
        return false;
    for (int64_t t = 0; t < types; t++) {
        const kino__intervals *set = &w->of_type[t];
        for (size_t i = 0; i < set->count; i++) {
            edges[count++] = (kino__keyed){set->items[i].start, 1u << t};
            edges[count++] = (kino__keyed){set->items[i].end, 0u - (1u << t)};
        }
    }
    bool ok = kino__keyed_sort(edges, count);
    uint32_t mask = 0;
    for (size_t i = 0; ok && i + 1 < count; i++) {
        mask += edges[i].value;
        int64_t length = kino__difference(edges[i + 1].key, edges[i].key);
        if (mask > 0 && mask < MASKS)
            of_mask[mask] = kino__sum(of_mask[mask], kino__frame_ns(f, length));
    }
    free(edges);
    return ok;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    bool has_last_step = kino__param_bool(a, P_LAST_STEP);
    const kino__frame *f = kino__frame_of(trace, kino__frame_mode_of(a), has_last_step, a->pool);
    const kino__device_work *w = f ? kino__device_work_of(f, has_last_step) : NULL;
    uint32_t *rows = w ? malloc((w->count + 1) * sizeof *rows) : NULL;
    if (!rows)
        return kino__fail_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++)
        if (f->type[w->rows[i]] < types_of(a))
            rows[count++] = w->rows[i];
    bool ok =
        sweep(f, w, types_of(a), p->of_mask) && kino__name_sums_add(&p->sums, f, rows, count, true);
    free(rows);
    p->is_cut = f->is_cut;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    for (size_t mask = 0; mask < MASKS; mask++)
        into->of_mask[mask] = kino__sum(into->of_mask[mask], from->of_mask[mask]);
    into->is_cut |= from->is_cut;
    return kino__name_sums_merge(&into->sums, &from->sums) ? KINO_OK : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    for (size_t mask = 0; mask < MASKS; mask++)
        kino__pack_int(pack, &p->of_mask[mask]);
    kino__pack_name_sums(pack, &p->sums);
    kino__pack_bool(pack, &p->is_cut);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_RATIO] = {"duration_ratio", KINO_TYPE_FLOAT, "0.8",
                 "fold kernels beyond this fraction of the cumulative sum, 0 to 1", NULL},
    [P_NUM_KERNELS] = {"num_kernels", KINO_TYPE_INT, "10",
                       "keep this many kernels per rank and type by name", NULL},
    [P_MEMORY] = {"include_memory", KINO_TYPE_BOOL, "yes", "include copies and memsets", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
    {0},
};

static const kino_column type_columns[] = {
    {"kernel_type", KINO_TYPE_STRING, NULL, "types that run at the same time"},
    {"sum", KINO_TYPE_DURATION, NULL, "time, over all ranks"},
    {"percentage", KINO_TYPE_PERCENT, NULL, "share of the sum"},
    {0},
};

enum {
    C_RANK,
    C_NAME,
    C_SUM,
    C_MAX,
    C_MIN,
    C_STDDEV,
    C_MEAN,
    C_TYPE,
    C_COUNT,
    C_NAMES,
    C_EVENT_MAX,
    C_EVENT_MIN,
    C_EVENT_STDDEV,
    C_EVENT_MEAN
};

static const kino_column kernel_columns[] = {
    [C_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [C_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME,
                "name of the kernel; others: the folded ones"},
    [C_SUM] = {"sum", KINO_TYPE_DURATION, NULL, "sum of the durations"},
    [C_MAX] = {"max", KINO_TYPE_DURATION, NULL, "longest; with compat: see the documentation"},
    [C_MIN] = {"min", KINO_TYPE_DURATION, NULL, "shortest"},
    [C_STDDEV] = {"stddev", KINO_TYPE_FLOAT, "ns", "sample standard deviation; 0 for a single one"},
    [C_MEAN] = {"mean", KINO_TYPE_FLOAT, "ns", "sum / count"},
    [C_TYPE] = {"kernel_type", KINO_TYPE_STRING, NULL, "COMPUTATION, COMMUNICATION or MEMORY"},
    [C_COUNT] = {"count", KINO_TYPE_INT, "count", "number of runs"},
    [C_NAMES] = {"names", KINO_TYPE_INT, "count", "kernels in this row: 1, or the number folded"},
    [C_EVENT_MAX] = {"event_max", KINO_TYPE_DURATION, NULL, "longest, also with compat"},
    [C_EVENT_MIN] = {"event_min", KINO_TYPE_DURATION, NULL, "shortest"},
    [C_EVENT_STDDEV] = {"event_stddev", KINO_TYPE_FLOAT, "ns",
                        "sample standard deviation; 0 for a single one"},
    [C_EVENT_MEAN] = {"event_mean", KINO_TYPE_FLOAT, "ns", "sum / count"},
    {0},
};

static const kino_table_info tables[] = {
    {"kernel_type", "one row per combination of types, most time first; all ranks combined",
     type_columns, "Device time by kind of work", "not available: no device work was recorded"},
    {"kernel", "one row per rank and kernel, by type, name and rank", kernel_columns, "Kernels",
     "not available: no device work was recorded"},
    {0},
};

static kino_status check(const kino__analysis *a, kino_error *err)
{
    return kino__fold_check(a, P_RATIO, P_NUM_KERNELS, err);
}

static void add_types(const kino__analysis *a, const partial *p, kino__table *table)
{
    int64_t total = 0;
    bool is_done[MASKS] = {true};
    for (size_t mask = 1; mask < MASKS; mask++) {
        total = kino__sum(total, p->of_mask[mask]);
        is_done[mask] = p->of_mask[mask] <= 0;
    }
    for (;;) { /* the largest that is left */
        size_t best = 0;
        for (size_t mask = 1; mask < MASKS; mask++)
            if (!is_done[mask] && (best == 0 || p->of_mask[mask] > p->of_mask[best]))
                best = mask;
        if (best == 0)
            return;
        is_done[best] = true;
        const char *parts[3] = {"", "", ""};
        size_t count = 0;
        for (unsigned t = 0; t < 3; t++)
            if (best >> t & 1)
                parts[count++] = kino__kernel_type_name((kino__kernel_type)t);
        kino__table_add_format(table, "%s%s%s%s%s", parts[0], count > 1 ? " overlapping " : "",
                               parts[1], count > 2 ? " overlapping " : "", parts[2]);
        kino__table_add_int(table, p->of_mask[best]);
        double percent = 100 * (double)p->of_mask[best] / (double)total;
        kino__table_add_real(table, a->compat ? kino__round(percent, 1) : percent);
    }
}

static void add_kernel(const kino__analysis *a, kino__table *table, const kino__folded *r)
{
    kino__folded_add_sums(table, r, a->compat != NULL);
    kino__table_add_text(table,
                         kino__str_from(kino__kernel_type_name((kino__kernel_type)r->group)));
    kino__folded_add_events(table, r);
}

static int compare_kernels(const void *x, const void *y)
{
    const kino__folded *a = x, *b = y;
    if (a->group != b->group)
        return strcmp(kino__kernel_type_name((kino__kernel_type)a->group),
                      kino__kernel_type_name((kino__kernel_type)b->group));
    int by_name = kino__str_compare(a->name, b->name);
    if (by_name)
        return by_name;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->trace < b->trace ? -1 : a->trace > b->trace;
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    partial *p = value;
    kino__folded_rows rows = {0};
    kino__fold how = {.ratio = kino__param_real(a, P_RATIO),
                      .wanted = kino__param_int(a, P_NUM_KERNELS)};
    bool ok = kino__name_sums_fold(&p->sums, &how, &rows);
    if (ok && rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, compare_kernels);
    kino__table *table = kino__analysis_table(result, 1);
    add_types(a, p, kino__analysis_table(result, 0));
    for (size_t i = 0; ok && i < rows.count; i++)
        add_kernel(a, table, &rows.items[i]);
    if (table)
        table->hidden |= (a->compat ? 0u
                                    : 1u << C_EVENT_MAX | 1u << C_EVENT_MIN | 1u << C_EVENT_STDDEV |
                                          1u << C_EVENT_MEAN);
    if (p->sums.rows.count == 0)
        kino__result_lacks(result, "kernel breakdown", ": no device work was recorded");
    kino__note_cut(result, p->is_cut);
    kino__vec_deinit(&rows);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_kernel_breakdown = {
    .name = "kernel-breakdown",
    .help = "what kind of work the devices spend their time on, and in which kernels",
    .description =
        "By type: how long computation, communication and copies run, alone and at the\n"
        "same time; each instant of a rank counts in exactly one row. By kernel:\n"
        "durations summed by name for each rank and type; if a type has more than\n"
        "num_kernels names, small ones are folded into 'others'. Overlapping kernels are\n"
        "each counted in full there.\n",
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
