/* steps.c - which steps of the training loop are in the trace, when did they run, and when on the
 * device?
 *
 * Method: the steps of store/link.h; device work belongs to the step in which it was launched, so
 * its time may lie after the step's end. HTA's modes find both in the frame.
 * Cost: one pass over the frame, n log n in the number of steps. */
#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"
#include "store/link.h"

enum { P_LAST_STEP };

/* -- what a trace gives: integers -- */

typedef struct row {
    int64_t rank, trace, step;
    int64_t start, end;               /* ns; KINO_NO_TIME: only on the device */
    int64_t device_start, device_end; /* KINO_NO_TIME: no device work */
} row;

typedef struct partial {
    KINO__VEC(row) rows; /* by trace, then step */
    int64_t traces;
    int64_t origin; /* compat: the first start of all traces; KINO_NO_TIME: no rows */
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->rows);
}

/* Makes [*start, *end] hold [from, to] as well. */
static void widen(int64_t *start, int64_t *end, int64_t from, int64_t to)
{
    *start = *start == KINO_NO_TIME || from < *start ? from : *start;
    *end = *end == KINO_NO_TIME || to > *end ? to : *end;
}

static int compare_steps(const void *x, const void *y)
{
    const row *a = x, *b = y;
    return a->step < b->step ? -1 : a->step > b->step;
}

static int compare_rows(const void *x, const void *y)
{
    const row *a = x, *b = y;
    int by_step = compare_steps(x, y);
    return by_step ? by_step : a->start < b->start ? -1 : a->start > b->start;
}

static row new_row(const kino__trace *trace, int64_t number)
{
    return (row){trace->rank, 0, number, KINO_NO_TIME, KINO_NO_TIME, KINO_NO_TIME, KINO_NO_TIME};
}

/* HTA: one row a number, by number. */
static bool find_steps(const kino__frame *f, partial *p)
{
    if (!kino__vec_reserve(&p->rows, f->steps.count))
        return false;
    for (size_t i = 0; i < f->steps.count; i++)
        p->rows.items[p->rows.count++] = new_row(f->trace, f->steps.items[i].number);
    if (p->rows.count)
        qsort(p->rows.items, p->rows.count, sizeof *p->rows.items, compare_steps);
    size_t kept = 0;
    for (size_t i = 0; i < p->rows.count; i++)
        if (kept == 0 || p->rows.items[kept - 1].step != p->rows.items[i].step)
            p->rows.items[kept++] = p->rows.items[i];
    p->rows.count = kept;
    return true;
}

static row *find_row(partial *p, int64_t step)
{
    row key = {.step = step};
    return p->rows.count ? bsearch(&key, p->rows.items, p->rows.count, sizeof key, compare_steps)
                         : NULL;
}

static void add_times(const kino__frame *f, partial *p)
{
    row *r = NULL;
    for (size_t i = 0; i < f->steps.count; i++) {
        uint32_t at = f->steps.items[i].at;
        int64_t start = kino__frame_ns(f, f->ts[at]);
        int64_t end = kino__frame_ns(f, kino__sum(f->ts[at], f->dur[at]));
        kino__kind kind = kino__category_kind(f->trace->category[f->row[at]]);
        r = find_row(p, f->steps.items[i].number);
        if (r && kind != KINO__KIND_GPU_ANNOTATION)
            widen(&r->start, &r->end, start, end);
    }
    for (uint32_t at = 0; at < f->count; at++) {
        p->origin = p->origin == KINO_NO_TIME || f->ts[at] < p->origin ? f->ts[at] : p->origin;
        if (!kino__frame_is_device(f, at) || f->iteration[at] < 0)
            continue;
        if (!r || r->step != f->iteration[at])
            r = find_row(p, f->iteration[at]);
        if (r)
            widen(&r->device_start, &r->device_end, kino__frame_ns(f, f->ts[at]),
                  kino__frame_ns(f, kino__sum(f->ts[at], f->dur[at])));
    }
    if (p->origin != KINO_NO_TIME)
        p->origin = kino__frame_ns(f, p->origin);
}

/* The steps that all pages have (store/link.h), but those that were cut off. */
static bool take_steps(const kino__frame *f, partial *p)
{
    const kino__trace *trace = f->trace;
    const kino__steps *steps = kino__link_steps(trace);
    if (!steps || !kino__vec_reserve(&p->rows, steps->count))
        return false;
    for (size_t i = 0; i < steps->count; i++) {
        row r = new_row(trace, steps->items[i].number);
        widen(&r.start, &r.end, steps->items[i].ts, steps->items[i].ts + steps->items[i].dur);
        p->rows.items[p->rows.count++] = r;
    }
    for (uint32_t at = 0; at < f->count && steps->count; at++) {
        uint32_t step = steps->of_row[f->row[at]];
        if (step != KINO_NO_ROW && kino__frame_is_device(f, at))
            widen(&p->rows.items[step].device_start, &p->rows.items[step].device_end, f->ts[at],
                  kino__sum(f->ts[at], f->dur[at]));
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (f->at_of_row[steps->items[i].row] != KINO_NO_ROW)
            p->rows.items[kept++] = p->rows.items[i];
    p->rows.count = kept;
    if (kept)
        qsort(p->rows.items, kept, sizeof *p->rows.items, compare_rows);
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__frame *f = kino__frame_asked(a, trace, P_LAST_STEP);
    bool is_hta = a->compat != NULL;
    if (!f || !(is_hta ? find_steps(f, p) : take_steps(f, p)))
        return kino__fail_nomem(err);
    p->traces = 1;
    p->origin = KINO_NO_TIME;
    p->is_cut = f->is_cut;
    if (is_hta)
        add_times(f, p);
    return KINO_OK;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    if (!kino__vec_reserve(&into->rows, from->rows.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < from->rows.count; i++) {
        row r = from->rows.items[i];
        r.trace = kino__sum(r.trace, into->traces);
        into->rows.items[into->rows.count++] = r;
    }
    into->traces = kino__sum(into->traces, from->traces);
    if (from->origin != KINO_NO_TIME &&
        (into->origin == KINO_NO_TIME || from->origin < into->origin))
        into->origin = from->origin;
    into->is_cut |= from->is_cut;
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->trace, &r->step);
    KINO__PACK_FRAME_TIMES(pack, &r->start, &r->end, &r->device_start, &r->device_end);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    kino__pack_tally(pack, &p->traces);
    KINO__PACK(pack, &p->is_cut);
    KINO__PACK_FRAME_TIMES(pack, &p->origin);
}

/* -- the answer -- */

static const kino_param_info params[] = {[P_LAST_STEP] = KINO__PARAM_LAST_STEP, {0}};

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"step", KINO_TYPE_INT, NULL, "step number, as in ProfilerStep#5"},
    {"start", KINO_TYPE_TIME, NULL, "on the host"},
    {"dur", KINO_TYPE_DURATION, NULL, "on the host"},
    {"device_start", KINO_TYPE_TIME, NULL, "on the device: start of its first work; null: none"},
    {"device_end", KINO_TYPE_TIME, NULL, "on the device: end of its last work"},
    {0},
};

static const kino_table_info tables[] = {
    {"steps", "one row per rank and step", columns, NULL, "not available: no step annotations"},
    {0},
};

/* HTA's times count from the first event of all ranks. */
static void add_time(const partial *p, bool is_compat, kino__table *table, int64_t time)
{
    if (time == KINO_NO_TIME)
        kino__table_add_null(table);
    else
        kino__table_add_int(table, is_compat && p->origin != KINO_NO_TIME
                                       ? kino__difference(time, p->origin)
                                       : time);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    bool is_compat = a->compat != NULL, has_device = false;
    for (size_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.items[i];
        KINO__TABLE_ADD(table, r->rank, r->step);
        add_time(p, is_compat, table, r->start);
        kino__table_add_int(table, r->start == KINO_NO_TIME ? KINO_NO_INT
                                                            : kino__difference(r->end, r->start));
        add_time(p, is_compat, table, r->device_start);
        add_time(p, is_compat, table, r->device_end);
        has_device |= r->device_start != KINO_NO_TIME;
    }
    if (p->rows.count == 0)
        kino__result_lacks(result, "steps", ": no ProfilerStep#N annotations and no iterations");
    else if (!has_device)
        kino__result_lacks(result, "device extents", ": no device work was recorded in a step");
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_steps = {
    .name = "steps",
    .help = "which steps are in the trace, and when they ran on host and device",
    .description =
        "The steps marked by the training loop (ProfilerStep#N): their extent on the\n"
        "host, and their extent on the device, which covers the work launched in them and\n"
        "may end after the step does on the host. Device work whose launch is not in the\n"
        "trace belongs to the step it starts in; work that starts before the first step's\n"
        "first kernel was launched before the recording and does not belong to any step.\n",
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
