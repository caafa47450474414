/* cupti_counters.c - what did the hardware count for each kernel, and which operators launched it?
 *
 * With performance counters the profiler runs kernel by kernel and records ranges of category
 * cuda_profiler_range, which carry counters as arguments but no correlation and no true time. The
 * n-th range belongs to the n-th launch; the operators are those around the launch.
 * Cost: n log n in ranges and launches; each launch goes up its call tree. */
#include <math.h>
#include <stdlib.h>

#include "analysis/call_graph/call_graph.h"
#include "analysis/device_work.h"
#include "base/error.h"
#include "names/launch_calls.h"
#include "store/args.h"

enum { MAX_LEVELS = 1000 }; /* of operators around a launch */

/* Counters of floating point instructions: operations of one. */
static const struct {
    const char *op;
    int64_t flops;
} flop_counters[] = {
    {"ffma", 2}, {"fmul", 1}, {"fadd", 1}, {"hfma", 2}, {"hmul", 1},
    {"hadd", 1}, {"dfma", 2}, {"dmul", 1}, {"dadd", 1},
};

/* -- what a trace gives: integers and texts -- */

typedef struct range {
    int64_t rank, event, launch;
    kino_str name;
    int64_t ts, dur;
    kino_str stack, top, bottom; /* size 0: no operator */
    kino_str counters;           /* the arguments as written */
} range;

/* A rank whose ranges and launches do not pair off. */
typedef struct mismatch {
    int64_t rank, ranges, launches;
} mismatch;

typedef struct partial {
    KINO__VEC(range) ranges;
    kino__string_pool texts;
    KINO__VEC(mismatch) unpaired;
    int64_t origin; /* compat: the first start of all traces; KINO_NO_TIME: no rows */
    bool is_cut;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->ranges);
    kino__vec_deinit(&p->unpaired);
    kino__string_pool_deinit(&p->texts);
}

static kino_str category_of(const kino__frame *f, uint32_t at)
{
    return kino__trace_category_text(f->trace, f->trace->category[f->row[at]]);
}

/* HTA: runtime calls by name. */
static bool is_launch(const kino__frame *f, uint32_t at)
{
    kino__kind kind = kino__category_kind(f->trace->category[f->row[at]]);
    if (!(KINO__KINDS_LAUNCH & KINO__KIND_BIT(kind)))
        return false;
    if (f->mode != KINO__FRAME_DEFAULT)
        return kino__str_starts_with(category_of(f, at), KINO__STR("cuda_runtime")) &&
               kino__str_starts_with(kino__frame_name(f, at), KINO__STR("cudaLaunchKernel"));
    return kino__launch_kind_of(kino__frame_name(f, at)) == KINO__LAUNCH_KERNEL;
}

/* A driver call inside of a runtime call is the same launch. */
static bool is_inner(const kino__call_graph *g, uint32_t at)
{
    return g->frame->mode == KINO__FRAME_DEFAULT && g->parent[at] >= 0 &&
           is_launch(g->frame, (uint32_t)g->parent[at]);
}

typedef KINO__VEC(uint32_t) positions;

static bool collect(const kino__call_graph *g, positions *ranges, positions *launches)
{
    const kino__frame *f = g->frame;
    for (uint32_t at = 0; at < f->count; at++) {
        positions *list = NULL;
        if (f->trace->category[f->row[at]] == KINO__CATEGORY_CUDA_PROFILER_RANGE)
            list = ranges;
        else if (is_launch(f, at) && !is_inner(g, at))
            list = launches;
        uint32_t *slot = list ? kino__vec_add(list) : NULL;
        if (list && !slot)
            return false;
        if (slot)
            *slot = at;
    }
    return true;
}

static kino_str keep(partial *p, kino_str text, bool *ok)
{
    kino_strid id = kino__string_pool_add(&p->texts, text);
    *ok &= id != KINO_NO_STRING;
    return kino__string_pool_text(&p->texts, id);
}

/* The operators around a launch, outermost first. */
static bool find_operators(partial *p, const kino__call_graph *g, uint32_t launch, range *r,
                           uint32_t *path, kino__buffer *text)
{
    const kino__frame *f = g->frame;
    size_t count = 0;
    for (int32_t at = (int32_t)launch; at >= 0 && count < MAX_LEVELS; at = g->parent[at])
        if (kino__str_is(category_of(f, (uint32_t)at), "cpu_op") ||
            (f->mode == KINO__FRAME_DEFAULT &&
             kino__category_kind(f->trace->category[f->row[at]]) == KINO__KIND_OP))
            path[count++] = (uint32_t)at;
    if (count == 0)
        return true;
    r->top = kino__frame_name(f, path[count - 1]);
    r->bottom = kino__frame_name(f, path[0]);
    text->size = 0;
    for (size_t i = count; i-- > 0;) {
        if (text->size)
            kino__buffer_add(text, KINO__STR(" -> "));
        kino__buffer_add(text, kino__frame_name(f, path[i]));
    }
    bool ok = !text->failed;
    r->stack = ok ? keep(p, kino__buffer_str(text), &ok) : r->stack;
    return ok;
}

static bool add_ranges(partial *p, const kino__call_graph *g, const uint32_t *ranges,
                       const uint32_t *launches, size_t count)
{
    const kino__frame *f = g->frame;
    kino__text_cursor cursor;
    kino__buffer text = {0};
    uint32_t *path = malloc(MAX_LEVELS * sizeof *path);
    bool ok = path && kino__vec_reserve(&p->ranges, count);
    kino__text_cursor_init(&cursor, f->trace->text);
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t at = ranges[i];
        range r = {
            .rank = f->trace->rank,
            .event = kino__trace_event_id(f->trace, f->row[at]),
            .launch = kino__trace_event_id(f->trace, f->row[launches[i]]),
            .name = kino__frame_name(f, at),
            .ts = kino__frame_ns(f, f->ts[at]),
            .dur = kino__frame_ns(f, f->dur[at]),
        };
        r.counters = keep(p, kino__args_text(f->trace, f->row[at], &cursor), &ok);
        ok = ok && find_operators(p, g, launches[i], &r, path, &text);
        if (ok)
            p->ranges.items[p->ranges.count++] = r;
    }
    free(path);
    kino__buffer_deinit(&text);
    kino__text_cursor_deinit(&cursor);
    return ok;
}

static bool pair_off(partial *p, const kino__call_graph *g)
{
    positions ranges = {0}, launches = {0};
    uint32_t *by_ts[2] = {NULL, NULL};
    bool ok = collect(g, &ranges, &launches);
    if (ok && ranges.count && ranges.count == launches.count) {
        by_ts[0] = kino__frame_by_ts(g->frame, ranges.items, ranges.count);
        by_ts[1] = kino__frame_by_ts(g->frame, launches.items, launches.count);
        ok = by_ts[0] && by_ts[1] && add_ranges(p, g, by_ts[0], by_ts[1], ranges.count);
    } else if (ok && ranges.count) {
        mismatch *slot = kino__vec_add(&p->unpaired);
        ok = slot != NULL;
        if (ok)
            *slot =
                (mismatch){g->frame->trace->rank, (int64_t)ranges.count, (int64_t)launches.count};
    }
    free(by_ts[0]);
    free(by_ts[1]);
    kino__vec_deinit(&ranges);
    kino__vec_deinit(&launches);
    return ok;
}

/* The cut of the last step goes by time, which ranges do not have: only HTA makes it. */
static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    kino__frame_mode mode = kino__frame_mode_of(a);
    const kino__call_graph *g =
        kino__call_graph_of(trace, mode, mode == KINO__FRAME_DEFAULT, a->pool);
    kino__string_pool_init(&p->texts, NULL);
    p->origin = KINO_NO_TIME;
    if (!g || !pair_off(p, g))
        return kino__fail_nomem(err);
    const kino__frame *f = g->frame;
    for (uint32_t at = 0; at < f->count; at++)
        p->origin = p->origin == KINO_NO_TIME || f->ts[at] < p->origin ? f->ts[at] : p->origin;
    if (p->origin != KINO_NO_TIME)
        p->origin = kino__frame_ns(f, p->origin);
    p->is_cut = f->is_cut;
    return KINO_OK;
}

static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    bool ok = kino__vec_reserve(&p->ranges, more->ranges.count) &&
              kino__vec_reserve(&p->unpaired, more->unpaired.count);
    for (size_t i = 0; ok && i < more->ranges.count; i++) {
        range r = more->ranges.items[i];
        r.stack = r.stack.size ? keep(p, r.stack, &ok) : r.stack;
        r.counters = keep(p, r.counters, &ok);
        p->ranges.items[p->ranges.count++] = r;
    }
    for (size_t i = 0; ok && i < more->unpaired.count; i++)
        p->unpaired.items[p->unpaired.count++] = more->unpaired.items[i];
    if (more->origin != KINO_NO_TIME && (p->origin == KINO_NO_TIME || more->origin < p->origin))
        p->origin = more->origin;
    p->is_cut |= more->is_cut;
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_range(kino__pack *pack, range *r)
{
    KINO__PACK(pack, &r->rank, &r->name, &r->dur, &r->stack, &r->top, &r->bottom, &r->counters);
    KINO__PACK_EVENTS(pack, &r->event, &r->launch);
    KINO__PACK_FRAME_TIMES(pack, &r->ts);
}

static void pack_mismatch(kino__pack *pack, mismatch *m)
{
    KINO__PACK(pack, &m->rank, &m->ranges, &m->launches);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->ranges, pack_range);
    KINO__PACK_VEC(pack, &p->unpaired, pack_mismatch);
    KINO__PACK(pack, &p->is_cut);
    KINO__PACK_FRAME_TIMES(pack, &p->origin);
}

/* -- the answer -- */

static const kino_column range_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"name", KINO_TYPE_STRING, NULL, "name of the range in the profiler: the kernel"},
    {"ts", KINO_TYPE_TIME, NULL, "start of the range; the kernel ran at another time"},
    {"dur", KINO_TYPE_DURATION, NULL, "of the range"},
    {"op_stack", KINO_TYPE_STRING, NULL, "operators enclosing the launch, outermost first"},
    {"top_level_op", KINO_TYPE_STRING, NULL, "the outermost"},
    {"bottom_level_op", KINO_TYPE_STRING, NULL, "the innermost"},
    {"flop", KINO_TYPE_FLOAT, "count",
     "floating-point operations of the instructions counted; null: none counted"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the range"},
    {"launch_event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the launch"},
    {0},
};

static const kino_column value_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the range"},
    {"counter", KINO_TYPE_STRING, NULL, "name of the counter"},
    {"value", KINO_TYPE_FLOAT, NULL, NULL},
    {0},
};

static const kino_table_info tables[] = {
    {"counters_by_kernel", "one row per range, by start", range_columns, NULL,
     "not available: the trace has no hardware counters"},
    {"counter_values", "one row per range and counter, in trace order", value_columns, NULL, NULL},
    {0},
};

/* Operations that one of this counter stands for; 0: it counts something else. */
static int64_t flops_of(kino_str counter)
{
    static const char prefix[] = "smsp__sass_thread_inst_executed_op_";
    const size_t size = sizeof prefix - 1;
    if (counter.size != size + 4 + 12 || memcmp(counter.data, prefix, size) != 0 ||
        memcmp(counter.data + size + 4, "_pred_on.sum", 12) != 0)
        return 0;
    for (size_t i = 0; i < sizeof flop_counters / sizeof *flop_counters; i++)
        if (memcmp(counter.data + size, flop_counters[i].op, 4) == 0)
            return flop_counters[i].flops;
    return 0;
}

/* The values of a range as rows; its operations, NaN without. */
static double add_values(const range *r, kino__table *values, kino__buffer *name)
{
    kino__args_iter it = kino__args_iter_start(r->counters);
    kino_str key, value;
    double flop = NAN, number;
    while (kino__args_iter_next(&it, &key, &value)) {
        if (!kino__json_to_double(value, &number))
            continue;
        if (flops_of(key))
            flop = (isnan(flop) ? 0 : flop) + number * (double)flops_of(key);
        name->size = 0;
        kino__json_unescape(key, name);
        KINO__TABLE_ADD(values, r->rank, r->event, kino__buffer_str(name), number);
    }
    return flop;
}

static void add_text(kino__table *table, kino_str text)
{
    if (text.size)
        kino__table_add_text(table, text);
    else
        kino__table_add_null(table);
}

static void add_notes(const partial *p, kino_result *result)
{
    for (size_t i = 0; i < p->unpaired.count; i++) {
        const mismatch *m = &p->unpaired.items[i];
        kino__result_note(result,
                          "counters of rank %lld not available: %lld ranges, but %lld launches",
                          m->rank == KINO_NO_INT ? 0LL : (long long)m->rank, (long long)m->ranges,
                          (long long)m->launches);
    }
    if (p->ranges.count == 0 && p->unpaired.count == 0)
        kino__result_lacks(result, "counters", ": no events of category cuda_profiler_range");
    kino__note_cut(result, p->is_cut);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    kino__table *values = kino__analysis_table(result, 1);
    kino__buffer name = {0};
    bool is_compat = a->compat != NULL && p->origin != KINO_NO_TIME;
    for (size_t i = 0; i < p->ranges.count; i++) {
        const range *r = &p->ranges.items[i];
        KINO__TABLE_ADD(table, r->rank, r->name);
        /* HTA's times count from the first event of all ranks. */
        KINO__TABLE_ADD(table, is_compat ? kino__difference(r->ts, p->origin) : r->ts, r->dur);
        add_text(table, r->stack);
        add_text(table, r->top);
        add_text(table, r->bottom);
        KINO__TABLE_ADD(table, add_values(r, values, &name), r->event, r->launch);
    }
    bool ok = !name.failed;
    kino__buffer_deinit(&name);
    add_notes(p, result);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_cupti_counters = {
    .name = "cupti-counters",
    .help = "hardware counters of each kernel, with the operators that launched it",
    .description =
        "Ranges with counters (category cuda_profiler_range) and kernel launches are\n"
        "paired one to one in order of their start; a rank that has different numbers of\n"
        "them is left out. The operators are those enclosing the launch. FLOP: 2 for each\n"
        "fused multiply-add instruction counted, 1 for each add or multiply.\n",
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
