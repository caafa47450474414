/* annotation_breakdown.c - how long do annotated parts of the program take, on the devices or on
 * the host?
 *
 * Method: durations of annotations added up by name for each rank, the small ones folded
 * (name_sums.h). An annotation on a device lasts from the first kernel launched inside it to the
 * last, gaps included.
 * Cost: one pass over the frame; n log n in the number of names. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "analysis/name_sums.h"
#include "base/error.h"

enum { P_GPU, P_RATIO, P_NUM, P_ALLOW, P_LAST_STEP };
enum { MAX_ALLOW = 256 };

/* -- what a trace gives: integers and texts -- */

typedef struct partial {
    kino__name_sums sums;
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__name_sums_deinit(&p->sums);
}

/* HTA knows one spelling of each category. */
static bool is_annotation(const kino__analysis *a, uint16_t category)
{
    bool is_gpu = kino__param_bool(a, P_GPU);
    if (a->compat)
        return category ==
               (is_gpu ? KINO__CATEGORY_GPU_USER_ANNOTATION : KINO__CATEGORY_USER_ANNOTATION);
    return kino__category_kind(category) ==
           (is_gpu ? KINO__KIND_GPU_ANNOTATION : KINO__KIND_ANNOTATION);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    uint32_t *rows = f ? malloc(((size_t)f->count + 1) * sizeof *rows) : NULL;
    if (!rows)
        return kino__fail_nomem(err);
    size_t count = 0;
    for (uint32_t at = 0; at < f->count; at++)
        if (is_annotation(a, trace->category[f->row[at]]))
            rows[count++] = at;
    bool ok = kino__name_sums_add(&p->sums, f, rows, count, false);
    free(rows);
    p->is_cut = f->is_cut;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    into->is_cut |= from->is_cut;
    return kino__name_sums_merge(&into->sums, &from->sums) ? KINO_OK : kino__fail_nomem(err);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_name_sums(pack, &p->sums);
    kino__pack_bool(pack, &p->is_cut);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_GPU] = {"use_gpu", KINO_TYPE_BOOL, "yes",
               "use the annotations on the devices; no: those on the host", NULL},
    [P_RATIO] = {"duration_ratio", KINO_TYPE_FLOAT, "0.8",
                 "fold annotations beyond this fraction of the cumulative sum, 0 to 1", NULL},
    [P_NUM] = {"num", KINO_TYPE_INT, "1000", "keep this many annotations per rank by name", NULL},
    [P_ALLOW] = {"allow", KINO_TYPE_STRING, NULL,
                 "never fold names that contain one of these strings, separated by commas", NULL},
    [P_LAST_STEP] = KINO__PARAM_LAST_STEP,
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
    C_COUNT,
    C_NAMES,
    C_EVENT_MAX,
    C_EVENT_MIN,
    C_EVENT_STDDEV,
    C_EVENT_MEAN
};

static const kino_column columns[] = {
    [C_RANK] = {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    [C_NAME] = {"name", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME,
                "name of the annotation; others: the folded ones"},
    [C_SUM] = {"sum", KINO_TYPE_DURATION, NULL, "sum of the durations"},
    [C_MAX] = {"max", KINO_TYPE_DURATION, NULL, "longest; with compat: see the documentation"},
    [C_MIN] = {"min", KINO_TYPE_DURATION, NULL, "shortest"},
    [C_STDDEV] = {"stddev", KINO_TYPE_FLOAT, "ns", "sample standard deviation; 0 for a single one"},
    [C_MEAN] = {"mean", KINO_TYPE_FLOAT, "ns", "sum / count"},
    [C_COUNT] = {"count", KINO_TYPE_INT, "count", "number of occurrences"},
    [C_NAMES] = {"names", KINO_TYPE_INT, "count",
                 "annotations in this row: 1, or the number folded"},
    [C_EVENT_MAX] = {"event_max", KINO_TYPE_DURATION, NULL, "longest, also with compat"},
    [C_EVENT_MIN] = {"event_min", KINO_TYPE_DURATION, NULL, "shortest"},
    [C_EVENT_STDDEV] = {"event_stddev", KINO_TYPE_FLOAT, "ns",
                        "sample standard deviation; 0 for a single one"},
    [C_EVENT_MEAN] = {"event_mean", KINO_TYPE_FLOAT, "ns", "sum / count"},
    {0},
};

static const kino_table_info tables[] = {
    {"annotations", "one row per rank and annotation, by rank and name", columns, NULL,
     "not available: no such annotations"},
    {0},
};

static kino_status check(const kino__analysis *a, kino_error *err)
{
    return kino__fold_check(a, P_RATIO, P_NUM, err);
}

/* "Optimizer,nccl:" as texts; those behind the last place are one. */
static size_t split(kino_str list, kino_str *out)
{
    size_t count = 0;
    while (list.size && count < MAX_ALLOW) {
        const char *comma = memchr(list.data, ',', list.size);
        size_t size = comma && count + 1 < MAX_ALLOW ? (size_t)(comma - list.data) : list.size;
        if (size)
            out[count++] = (kino_str){list.data, size};
        size += size < list.size;
        list.data += size;
        list.size -= size;
    }
    return count;
}

static int compare_ranks(const void *x, const void *y)
{
    const kino__folded *a = x, *b = y;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->trace != b->trace)
        return a->trace < b->trace ? -1 : 1;
    return kino__str_compare(a->name, b->name);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    partial *p = value;
    kino_str allow[MAX_ALLOW];
    kino__folded_rows rows = {0};
    kino__fold how = {.ratio = kino__param_real(a, P_RATIO),
                      .wanted = kino__param_int(a, P_NUM),
                      .allow = allow,
                      .allow_count = split(kino__param_text(a, P_ALLOW), allow)};
    bool ok = kino__name_sums_fold(&p->sums, &how, &rows);
    if (ok && rows.count)
        qsort(rows.items, rows.count, sizeof *rows.items, compare_ranks);
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; ok && i < rows.count; i++) {
        kino__folded_add_sums(table, &rows.items[i], a->compat != NULL);
        kino__folded_add_events(table, &rows.items[i]);
    }
    if (table && !a->compat)
        table->hidden |=
            1u << C_EVENT_MAX | 1u << C_EVENT_MIN | 1u << C_EVENT_STDDEV | 1u << C_EVENT_MEAN;
    if (p->sums.rows.count == 0)
        kino__result_lacks(result, "annotations", ": the trace has none on the %s",
                           kino__param_bool(a, P_GPU) ? "devices (use_gpu no: those on the host)"
                                                      : "host");
    kino__note_cut(result, p->is_cut);
    kino__vec_deinit(&rows);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_annotation_breakdown = {
    .name = "annotation-breakdown",
    .help = "how long annotated parts of the program take, on the devices or on the host",
    .description =
        "Sums the durations of annotations by name for each rank. On a device, an\n"
        "annotation lasts from the first kernel launched inside it to the end of the last\n"
        "one, including gaps. If a rank has more than num names, small ones are folded\n"
        "into 'others'. Nested annotations are each counted in full.\n",
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
