/* call_graph.c - who called whom in each thread, and how much device work is below each call?
 *
 * Method: call_graph_build.c; here the graph becomes tables; that of the
 * nodes is made when it is read (call_graph_rows.h). Cost: linear in the spans. */
#include <stdlib.h>

#include "analysis/call_graph/call_graph_rows.h"
#include "analysis/device_work.h"
#include "base/error.h"

enum { P_LAST_STEP };

static const kino_param_info params[] = {[P_LAST_STEP] = KINO__PARAM_LAST_STEP, {0}};

/* -- what a trace gives: integers and texts -- */

typedef struct stack {
    int64_t rank, pid, tid;
    kino_str label;
    int64_t stack_root;
    int64_t events, max_depth, num_kernels, kernel_dur;
} stack;

typedef struct partial {
    KINO__VEC(stack) stacks;
    kino__call_rows rows;
    int64_t origin; /* compat: the first start of all traces; KINO_NO_TIME: no rows */
    bool is_cut, has_device;
    int64_t alone; /* the default: device work in no tree */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->stacks);
    kino__call_rows_deinit(&p->rows);
}

static int64_t label_number(const kino__label *label)
{
    return label->kind == KINO__LABEL_INT ? label->number : KINO_NO_INT;
}

static bool add_stacks(const kino__call_graph *g, partial *p)
{
    const kino__frame *f = g->frame;
    if (!kino__vec_reserve(&p->stacks, g->lanes.count))
        return false;
    for (size_t i = 0; i < g->lanes.count; i++) {
        const kino__call_lane *lane = &g->lanes.items[i];
        const kino__track *track = &f->trace->tracks.items[lane->track];
        p->stacks.items[p->stacks.count++] = (stack){f->trace->rank,
                                                     label_number(&track->pid),
                                                     label_number(&track->tid),
                                                     lane->label,
                                                     lane->stack_root,
                                                     lane->count,
                                                     lane->count ? 0 : KINO_NO_INT,
                                                     0,
                                                     0};
    }
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t at = g->order[i];
        stack *s = &p->stacks.items[g->lane[at]];
        s->max_depth = g->depth[at] > s->max_depth ? g->depth[at] : s->max_depth;
        if (g->height[at] != 0)
            continue;
        s->num_kernels++;
        s->kernel_dur = kino__sum(s->kernel_dur, kino__frame_ns(f, g->kernel_dur[at]));
    }
    return true;
}

/* What is told besides the rows. */
static void look_at_spans(const kino__call_graph *g, partial *p)
{
    const kino__frame *f = g->frame;
    bool is_hta = f->mode != KINO__FRAME_DEFAULT;
    p->origin = KINO_NO_TIME;
    for (uint32_t at = 0; at < f->count; at++) {
        int64_t start = kino__frame_start(f, at);
        p->origin = p->origin == KINO_NO_TIME || start < p->origin ? start : p->origin;
        p->alone += !is_hta && !kino__call_graph_has(g, at) && kino__frame_is_device(f, at);
    }
    if (p->origin != KINO_NO_TIME)
        p->origin = kino__frame_ns(f, p->origin);
    p->is_cut = f->is_cut;
    p->has_device = kino__frame_has_device(f);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    kino__call_graph *g = kino__call_graph_new(
        trace, kino__frame_mode_of(a), kino__param_bool(a, P_LAST_STEP), a->is_last, a->pool);
    bool ok = g && add_stacks(g, p);
    if (ok) {
        look_at_spans(g, p);
        ok = kino__call_rows_take(&p->rows, g);
    }
    kino__call_graph_free(g);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    if (!kino__vec_append(&into->stacks, &from->stacks) ||
        !kino__call_rows_append(&into->rows, &from->rows))
        return kino__fail_nomem(err);
    if (from->origin != KINO_NO_TIME &&
        (into->origin == KINO_NO_TIME || from->origin < into->origin))
        into->origin = from->origin;
    into->is_cut |= from->is_cut;
    into->has_device |= from->has_device;
    into->alone = kino__sum(into->alone, from->alone);
    return KINO_OK;
}

static void pack_stack(kino__pack *pack, stack *s)
{
    KINO__PACK(pack, &s->rank, &s->pid, &s->tid, &s->label, &s->stack_root, &s->events,
               &s->max_depth, &s->num_kernels, &s->kernel_dur);
}

/* In front of the bytes: rows were saved in another form before. */
enum { FORM = 0x63670002 };

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    uint32_t form = FORM;
    kino__pack_u32(pack, &form);
    pack->is_damaged |= form != FORM && !pack->is_out_of_memory;
    KINO__PACK_VEC(pack, &p->stacks, pack_stack);
    kino__call_rows_pack(pack, &p->rows);
    KINO__PACK(pack, &p->is_cut, &p->has_device);
    KINO__PACK_FRAME_TIMES(pack, &p->origin);
    kino__pack_tally(pack, &p->alone);
}

/* -- the answer -- */

static const kino_column stack_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"pid", KINO_TYPE_INT, NULL, "process ID; null: not a number"},
    {"tid", KINO_TYPE_INT, NULL, "thread ID; null: not a number"},
    {"label", KINO_TYPE_STRING, NULL,
     "main: the thread with the steps; bwd: the thread that runs autograd; otherwise its first "
     "name"},
    {"stack_root", KINO_TYPE_INT, NULL,
     "represents the thread as a parent; bwd continues the tree of main"},
    {"events", KINO_TYPE_INT, "count", "number of spans"},
    {"max_depth", KINO_TYPE_INT, NULL,
     "depth of the spans and the device work below them; 0 at the top"},
    {"num_kernels", KINO_TYPE_INT, "count", "number of kernels, copies and memsets it launched"},
    {"kernel_dur_sum", KINO_TYPE_DURATION, NULL, "sum of its durations"},
    {0},
};

enum {
    NODE_RANK,
    NODE_EVENT,
    NODE_NAME,
    NODE_PARENT,
    NODE_DEPTH,
    NODE_HEIGHT,
    NODE_KERNELS,
    NODE_KERNEL_DUR,
    NODE_KERNEL_SPAN,
    NODE_FIRST_START,
    NODE_LAST_END,
};

static const kino_column node_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"event", KINO_TYPE_INT, KINO_UNIT_EVENT, "id of the event"},
    {"name", KINO_TYPE_STRING, NULL, NULL},
    {"parent", KINO_TYPE_INT, NULL,
     "calling event, or the launch for device work; negative: the thread, see stack_root"},
    {"depth", KINO_TYPE_INT, NULL, "0 on top"},
    {"height", KINO_TYPE_INT, NULL,
     "0 for device work, 1 for a leaf call, otherwise 1 more than its tallest child"},
    {"num_kernels", KINO_TYPE_INT, "count", "device work at and below it"},
    {"kernel_dur_sum", KINO_TYPE_DURATION, NULL, "sum of its durations"},
    {"kernel_span", KINO_TYPE_DURATION, NULL, "from its first start to its last end"},
    {"first_kernel_start", KINO_TYPE_TIME, NULL, NULL},
    {"last_kernel_end", KINO_TYPE_TIME, NULL, NULL},
    {0},
};

static const kino_table_info tables[] = {
    {"stacks", "one row per rank and thread", stack_columns, NULL,
     "not available: no spans of host threads"},
    {"nodes", "one row per span, in file order", node_columns, NULL, NULL},
    {0},
};

static void add_stack_row(kino__table *table, const stack *s, bool has_device)
{
    KINO__TABLE_ADD(table, s->rank, s->pid, s->tid, s->label, s->stack_root, s->events,
                    s->max_depth, has_device ? s->num_kernels : KINO_NO_INT,
                    has_device ? s->kernel_dur : KINO_NO_INT);
}

/* -- the nodes, made when they are read -- */

typedef struct nodes {
    kino__call_rows rows;
    const kino_str *names; /* in the result's arena */
    int64_t origin;        /* HTA's times count from the first event of all ranks; else 0 */
    bool has_device;
} nodes;

static void nodes_free(void *context)
{
    nodes *n = context;
    kino__call_rows_deinit(&n->rows);
    free(n);
}

static kino_cell int_cell(int64_t value)
{
    return value == KINO_NO_INT ? kino__cell_null() : kino__cell_int(value);
}

static kino_cell time_cell(const nodes *n, int64_t time)
{
    return time == KINO_NO_TIME ? kino__cell_null() : int_cell(kino__difference(time, n->origin));
}

static kino_cell span_cell(const kino__call_row *r)
{
    bool has_any = r->kernel_start != KINO_NO_TIME && r->kernel_end != KINO_NO_TIME;
    return has_any ? int_cell(kino__difference(r->kernel_end, r->kernel_start)) : kino__cell_null();
}

static kino_cell node_cell(const void *context, size_t row, size_t column)
{
    const nodes *n = context;
    kino__call_row r = kino__call_rows_at(&n->rows, row);
    switch (column) {
    case NODE_RANK:
        return int_cell(r.rank);
    case NODE_EVENT:
        return int_cell(r.event);
    case NODE_NAME:
        return kino__cell_text(n->names[r.name]);
    case NODE_PARENT:
        return int_cell(r.parent);
    case NODE_DEPTH:
        return int_cell(r.depth);
    case NODE_HEIGHT:
        return int_cell(r.height);
    case NODE_KERNELS:
        return int_cell(n->has_device ? r.num_kernels : KINO_NO_INT);
    case NODE_KERNEL_DUR:
        return int_cell(n->has_device ? r.kernel_dur : KINO_NO_INT);
    case NODE_KERNEL_SPAN:
        return span_cell(&r);
    case NODE_FIRST_START:
        return time_cell(n, r.kernel_start);
    default:
        return time_cell(n, r.kernel_end);
    }
}

/* The texts of names may end with the trace. */
static const kino_str *keep_names(const kino__string_pool *names, kino__arena *arena)
{
    size_t count = kino__string_pool_count(names);
    kino_str *kept = kino__arena_alloc(arena, (count + 1) * sizeof *kept);
    for (kino_strid id = 0; kept && id < count; id++) {
        kept[id] = kino__arena_copy(arena, kino__string_pool_text(names, id));
        if (!kept[id].data)
            return NULL;
    }
    return kept;
}

/* Takes the rows of the partial. */
static bool add_nodes(const kino__analysis *a, partial *p, bool has_device, kino_result *result)
{
    kino__table *table = kino__analysis_table(result, 1);
    nodes *n = table ? calloc(1, sizeof *n) : NULL;
    if (!n)
        return false;
    n->rows = p->rows;
    p->rows = (kino__call_rows){0};
    n->names = keep_names(&n->rows.names, &result->arena);
    n->origin = a->compat && p->origin != KINO_NO_TIME ? p->origin : 0;
    n->has_device = has_device;
    bool ok = n->names != NULL;
    kino__table_set_maker(
        table, (kino__row_maker){node_cell, nodes_free, n, kino__call_rows_count(&n->rows)});
    return ok;
}

static bool has_kernels(const kino__call_rows *rows)
{
    for (size_t i = 0; i < rows->kernels.count; i++)
        if (rows->kernels.items[i].start != KINO_NO_TIME &&
            rows->kernels.items[i].end != KINO_NO_TIME)
            return true;
    return false;
}

static void add_notes(const partial *p, bool has_device, kino_result *result)
{
    if (p->stacks.count == 0)
        kino__result_lacks(result, "call stacks", ": no spans of host threads");
    else if (!has_device)
        kino__result_lacks(result, "kernels", ": no device work was recorded");
    else if (!has_kernels(&p->rows))
        kino__result_lacks(result, "kernel times", ": no launch could be matched to device work");
    if (p->alone)
        kino__result_note(result,
                          "%lld spans are not in any call stack: the launch of this device work is "
                          "not in the trace",
                          (long long)p->alone);
    kino__note_cut(result, p->is_cut);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    bool has_device = p->has_device || a->compat;
    for (size_t i = 0; i < p->stacks.count; i++)
        add_stack_row(table, &p->stacks.items[i], has_device);
    add_notes(p, has_device, result);
    return add_nodes(a, p, has_device, result) ? KINO_OK : kino__fail_nomem(err);
}

const kino__analysis_def kino__analysis_call_graph = {
    .name = "call-graph",
    .help = "who called whom in each thread, with the device work below each call",
    .description = "Spans of a thread nest by time; device work is placed below the call that\n"
                   "launched it. The thread of the backward pass is attached to the steps of the\n"
                   "main thread, or to its annotations '## backward ##'. Each span has its depth,\n"
                   "its height and the device work below it.\n",
    .params = params,
    .tables = tables,
    .compat = kino__frame_compat,
    .needs = KINO__FRAME_NARROW_COLUMNS,
    .grows = true,
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
