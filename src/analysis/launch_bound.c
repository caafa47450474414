/* launch_bound.c - operator by operator: does the device wait for the host, or the host for the
 * device?
 *
 * Method: work whose launch began after everything before it on its stream had ended found the
 * stream starved: the host was too slow. Work that was launched earlier stood in a queue: the
 * device is the limit.
 *
 *   thread   | op A  launch |        | op B  launch |
 *   stream        ####A####..........idle.............####B####     B is host-bound
 *
 * Cost: one pass over the device rows. */
#include <math.h>
#include <stdlib.h>

#include "analysis/device_work.h"
#include "base/error.h"
#include "store/link.h"

/* -- what a trace gives -- */

typedef struct row {
    int64_t rank;
    kino_strid op; /* KINO_NO_STRING: work of no operator */
    int64_t calls, kernels;
    int64_t starved, queued; /* kernels; those that are neither: the first, or without a launch */
    int64_t host, launch, device, idle;
} row;

typedef struct partial {
    kino__string_pool names;
    KINO__VEC(row) rows;        /* of each trace: most idle time first */
    KINO__VEC(int64_t) without; /* ranks of traces without device work */
    int64_t trace_count;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->names);
    kino__vec_deinit(&p->rows);
    kino__vec_deinit(&p->without);
}

typedef struct scan {
    const kino__analysis *a;
    const kino__trace *trace;
    partial *p;
    const uint32_t *launch_of, *op_of;
    const kino__steps *steps;
    uint32_t *place;  /* of each name in rows, the last one is of no name; KINO_NO_ROW: none yet */
    uint8_t *is_seen; /* rows of operators and launches that were counted */
} scan;

static row *row_of(scan *s, uint32_t op)
{
    partial *p = s->p;
    kino_strid name = op == KINO_NO_ROW ? KINO_NO_STRING : s->trace->name[op];
    size_t names = kino__string_pool_count(&s->trace->strings);
    uint32_t *place = &s->place[name == KINO_NO_STRING ? names : name];
    if (*place == KINO_NO_ROW) {
        kino_strid text = KINO_NO_STRING;
        if (name != KINO_NO_STRING) {
            text = kino__string_pool_add_borrowed(&p->names, kino__trace_string(s->trace, name));
            if (text == KINO_NO_STRING)
                return NULL;
        }
        row *fresh = kino__vec_add(&p->rows);
        if (!fresh)
            return NULL;
        *fresh = (row){.rank = s->trace->rank, .op = text};
        *place = (uint32_t)(p->rows.count - 1);
    }
    return &p->rows.items[*place];
}

/* The duration of a host row the first time it is asked for, else 0. */
static int64_t first_time(scan *s, uint32_t host_row, int64_t *count)
{
    if (host_row == KINO_NO_ROW || s->is_seen[host_row])
        return 0;
    s->is_seen[host_row] = 1;
    ++*count;
    return s->trace->dur[host_row] > 0 ? s->trace->dur[host_row] : 0;
}

/* `before`: when the stream's work so far had ended; KINO_NO_TIME: this is the first. */
static bool add_work(scan *s, uint32_t work, int64_t before)
{
    const kino__trace *trace = s->trace;
    uint32_t step = s->steps->of_row[work], launch = s->launch_of[work], op = s->op_of[work];
    if (!kino__analysis_wants_step(s->a, step == KINO_NO_ROW ? KINO_NO_INT
                                                             : s->steps->items[step].number))
        return true;
    row *r = row_of(s, op);
    if (!r)
        return false;
    int64_t launches = 0;
    r->host = kino__sum(r->host, first_time(s, op, &r->calls));
    r->launch = kino__sum(r->launch, first_time(s, launch, &launches));
    r->kernels++;
    r->device = kino__sum(r->device, trace->dur[work] > 0 ? trace->dur[work] : 0);
    if (before == KINO_NO_TIME || launch == KINO_NO_ROW || trace->ts[launch] == KINO_NO_TIME)
        return true;
    if (trace->ts[launch] < before) {
        r->queued++;
        return true;
    }
    r->starved++;
    if (trace->ts[work] > before)
        r->idle = kino__sum(r->idle, kino__difference(trace->ts[work], before));
    return true;
}

/* True: memory is not out. */
static bool read_stream(scan *s, const kino__track *track, bool *has_work)
{
    const kino__trace *trace = s->trace;
    int64_t before = KINO_NO_TIME;
    for (uint32_t i = track->first; i < track->first + track->count; i++) {
        uint32_t kind = KINO__KIND_BIT(kino__category_kind(trace->category[i]));
        if (!(KINO__KINDS_DEVICE & kind) || trace->phase[i] != 'X' ||
            trace->ts[i] == KINO_NO_TIME || trace->dur[i] == KINO_NO_TIME)
            continue;
        *has_work = true;
        if (!add_work(s, i, before))
            return false;
        int64_t end = kino__interval_of(trace->ts[i], trace->dur[i]).end;
        before = end > before ? end : before; /* KINO_NO_TIME is the least */
    }
    return true;
}

/* By the idle time they cause, then by device time, then as they came. */
static int compare_rows(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->idle != y->idle)
        return x->idle > y->idle ? -1 : 1;
    if (x->device != y->device)
        return x->device > y->device ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    scan s = {.a = a, .trace = trace, .p = p};
    size_t names = kino__string_pool_count(&trace->strings);
    s.launch_of = kino__link_launch(trace);
    s.op_of = kino__link_op(trace);
    s.steps = kino__link_steps(trace);
    s.place = malloc((names + 1) * sizeof *s.place);
    s.is_seen = calloc((size_t)trace->event_count + 1, 1);
    bool ok = s.launch_of && s.op_of && s.steps && s.place && s.is_seen, has_work = false;
    if (ok)
        memset(s.place, 0xff, (names + 1) * sizeof *s.place);
    for (size_t t = 0; ok && t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kinds & KINO__KINDS_DEVICE)
            ok = read_stream(&s, &trace->tracks.items[t], &has_work);
    if (ok && p->rows.count)
        qsort(p->rows.items, p->rows.count, sizeof *p->rows.items, compare_rows);
    p->trace_count = 1;
    if (ok && !has_work) {
        int64_t *rank = kino__vec_add(&p->without);
        ok = rank != NULL;
        if (ok)
            *rank = trace->rank;
    }
    free(s.place);
    free(s.is_seen);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    if (!kino__vec_reserve(&p->rows, more->rows.count) ||
        !kino__vec_reserve(&p->without, more->without.count))
        return kino__fail_nomem(err);
    for (size_t i = 0; i < more->rows.count; i++) {
        row r = more->rows.items[i];
        if (r.op != KINO_NO_STRING) {
            r.op = kino__string_pool_add(&p->names, kino__string_pool_text(&more->names, r.op));
            if (r.op == KINO_NO_STRING)
                return kino__fail_nomem(err);
        }
        p->rows.items[p->rows.count++] = r;
    }
    for (size_t i = 0; i < more->without.count; i++)
        p->without.items[p->without.count++] = more->without.items[i];
    p->trace_count = kino__sum(p->trace_count, more->trace_count);
    return KINO_OK;
}

static void pack_row(kino__pack *pack, row *r)
{
    KINO__PACK(pack, &r->rank, &r->op, &r->calls, &r->kernels, &r->starved, &r->queued, &r->host,
               &r->launch, &r->device, &r->idle);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->names);
    KINO__PACK_VEC(pack, &p->rows, pack_row);
    KINO__PACK_VEC(pack, &p->without, kino__pack_int);
    kino__pack_int(pack, &p->trace_count);
    for (size_t i = 0; i < p->rows.count; i++)
        if (p->rows.items[i].op != KINO_NO_STRING &&
            p->rows.items[i].op >= kino__string_pool_count(&p->names))
            pack->is_damaged = true;
}

/* -- the answer -- */

static const kino_column columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"op", KINO_TYPE_STRING, KINO_UNIT_EVENT_NAME,
     "innermost operator; null: work outside operators"},
    {"bound", KINO_TYPE_STRING, NULL, "host: the stream had run dry for most kernels; or device"},
    {"calls", KINO_TYPE_INT, "count", "calls of the operator with work on a device"},
    {"kernels", KINO_TYPE_INT, "count", "including copies and memsets"},
    {"starved", KINO_TYPE_INT, "count", "kernels whose stream had run dry when they were launched"},
    {"queued", KINO_TYPE_INT, "count", "kernels launched while their stream still had work"},
    {"idle", KINO_TYPE_DURATION, NULL, "idle time of the streams before the starved kernels"},
    {"host", KINO_TYPE_DURATION, NULL, "host time of the calls"},
    {"launch", KINO_TYPE_DURATION, NULL,
     "part of it, or of the time outside operators, in launch calls"},
    {"device", KINO_TYPE_DURATION, NULL, "device time of the kernels"},
    {"host_per_device", KINO_TYPE_FLOAT, NULL, "above 1: the device finishes before the host"},
    {0},
};

static const kino_table_info tables[] = {
    {"launch_bound", "one row per rank and operator, most idle time first", columns,
     "Operators: bound by host or device", "not available: no device work was recorded"},
    {0},
};

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)a;
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    for (size_t i = 0; i < p->rows.count; i++) {
        const row *r = &p->rows.items[i];
        kino__table_add_int(table, r->rank);
        if (r->op == KINO_NO_STRING)
            kino__table_add_null(table);
        else
            kino__table_add_text(table, kino__string_pool_text(&p->names, r->op));
        if (r->starved == 0 && r->queued == 0)
            kino__table_add_null(table);
        else
            kino__table_add_text(table,
                                 r->starved > r->queued ? KINO__STR("host") : KINO__STR("device"));
        KINO__TABLE_ADD(table, r->calls, r->kernels, r->starved, r->queued, r->idle, r->host,
                        r->launch, r->device,
                        r->calls && r->device > 0 ? (double)r->host / (double)r->device : NAN);
    }
    if (p->without.count)
        kino__note_without_device(result, "launch-bound operators", p->without.items,
                                  p->without.count, (size_t)p->trace_count - p->without.count);
    return KINO_OK;
}

const kino__analysis_def kino__analysis_launch_bound = {
    .name = "launch-bound",
    .help = "whether each operator is bound by the host or by the device",
    .description =
        "Work whose launch began after all earlier work of its stream had ended was\n"
        "starved: the host is too slow there. Work launched earlier was queued: the\n"
        "device is the limit. An operator is bound by the host if more of its kernels\n"
        "were starved than queued. The first work of a stream and work without a launch\n"
        "in the trace count as neither.\n",
    .tables = tables,
    .takes_steps = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
