/* call_graph.c - who called whom in each thread, and how much device work is below each call?
 *
 * Method: call_graph_build.c; here the graph becomes tables. Cost: linear in the spans. */
#include "analysis/call_graph/call_graph.h"

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

typedef struct node {
    int64_t rank, event;
    kino_str name;
    int64_t parent, depth, height; /* KINO_NO_INT: in no tree */
    int64_t num_kernels, kernel_dur;
    int64_t kernel_start, kernel_end; /* KINO_NO_TIME: no kernels */
} node;

typedef struct partial {
    KINO__VEC(stack) stacks;
    KINO__VEC(node) nodes;
    int64_t origin; /* compat: the first start of all traces; KINO_NO_TIME: no rows */
    bool is_cut, has_device;
    int64_t alone; /* the default: device work in no tree */
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__vec_deinit(&p->stacks);
    kino__vec_deinit(&p->nodes);
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

static int64_t parent_of(const kino__call_graph *g, uint32_t at)
{
    const kino__frame *f = g->frame;
    if (g->parent[at] == KINO__CALL_NONE)
        return KINO_NO_INT;
    if (g->parent[at] == KINO__CALL_TOP)
        return g->lanes.items[g->lane[at]].root;
    return kino__trace_event_id(f->trace, f->row[g->parent[at]]);
}

static int64_t time_of(const kino__frame *f, int64_t units)
{
    return units == KINO_NO_TIME ? KINO_NO_TIME : kino__frame_ns(f, units);
}

/* HTA lists rows outside of all trees too. */
static bool add_nodes(const kino__call_graph *g, partial *p)
{
    const kino__frame *f = g->frame;
    bool is_hta = f->mode != KINO__FRAME_DEFAULT;
    if (!kino__vec_reserve(&p->nodes, is_hta ? f->count : g->count))
        return false;
    p->origin = KINO_NO_TIME;
    for (uint32_t at = 0; at < f->count; at++) {
        bool is_in = kino__call_graph_has(g, at);
        p->origin = p->origin == KINO_NO_TIME || f->ts[at] < p->origin ? f->ts[at] : p->origin;
        if (!is_in && !is_hta) {
            p->alone += kino__frame_is_device(f, at);
            continue;
        }
        p->nodes.items[p->nodes.count++] = (node){
            .rank = f->trace->rank,
            .event = kino__trace_event_id(f->trace, f->row[at]),
            .name = kino__frame_name(f, at),
            .parent = parent_of(g, at),
            .depth = is_in ? g->depth[at] : KINO_NO_INT,
            .height = is_in ? g->height[at] : KINO_NO_INT,
            .num_kernels = g->num_kernels[at],
            .kernel_dur = kino__frame_ns(f, g->kernel_dur[at]),
            .kernel_start = time_of(f, g->kernel_start[at]),
            .kernel_end = time_of(f, g->kernel_end[at]),
        };
    }
    p->origin = time_of(f, p->origin);
    return true;
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    const kino__call_graph *g = kino__call_graph_of(trace, kino__frame_mode_of(a),
                                                    kino__param_bool(a, P_LAST_STEP), a->pool);
    if (!g || !add_stacks(g, p) || !add_nodes(g, p))
        return kino__fail_nomem(err);
    p->is_cut = g->frame->is_cut;
    p->has_device = kino__frame_has_device(g->frame);
    return KINO_OK;
}

static kino_status merge(const kino__analysis *a, void *value, void *other, kino_error *err)
{
    (void)a;
    partial *into = value;
    const partial *from = other;
    if (!kino__vec_append(&into->stacks, &from->stacks) ||
        !kino__vec_append(&into->nodes, &from->nodes))
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
    kino__pack_int(pack, &s->rank);
    kino__pack_int(pack, &s->pid);
    kino__pack_int(pack, &s->tid);
    kino__pack_str(pack, &s->label);
    kino__pack_int(pack, &s->stack_root);
    kino__pack_int(pack, &s->events);
    kino__pack_int(pack, &s->max_depth);
    kino__pack_int(pack, &s->num_kernels);
    kino__pack_int(pack, &s->kernel_dur);
}

static void pack_node(kino__pack *pack, node *n)
{
    kino__pack_int(pack, &n->rank);
    kino__pack_int(pack, &n->event);
    kino__pack_str(pack, &n->name);
    kino__pack_int(pack, &n->parent);
    kino__pack_int(pack, &n->depth);
    kino__pack_int(pack, &n->height);
    kino__pack_int(pack, &n->num_kernels);
    kino__pack_int(pack, &n->kernel_dur);
    kino__pack_int(pack, &n->kernel_start);
    kino__pack_int(pack, &n->kernel_end);
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    KINO__PACK_VEC(pack, &p->stacks, pack_stack);
    KINO__PACK_VEC(pack, &p->nodes, pack_node);
    kino__pack_int(pack, &p->origin);
    kino__pack_bool(pack, &p->is_cut);
    kino__pack_bool(pack, &p->has_device);
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

static const kino_column node_columns[] = {
    {"rank", KINO_TYPE_INT, NULL, "null: unknown"},
    {"event", KINO_TYPE_INT, NULL, "id of the event"},
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

static void add_stack_row(kino__table *table, const stack *s, bool has_device)
{
    kino__table_add_int(table, s->rank);
    kino__table_add_int(table, s->pid);
    kino__table_add_int(table, s->tid);
    kino__table_add_text(table, s->label);
    kino__table_add_int(table, s->stack_root);
    kino__table_add_int(table, s->events);
    kino__table_add_int(table, s->max_depth);
    kino__table_add_int(table, has_device ? s->num_kernels : KINO_NO_INT);
    kino__table_add_int(table, has_device ? s->kernel_dur : KINO_NO_INT);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    (void)err;
    const partial *p = value;
    kino__table *table = kino__analysis_table(result, 0);
    bool has_device = p->has_device || a->compat;
    for (size_t i = 0; i < p->stacks.count; i++)
        add_stack_row(table, &p->stacks.items[i], has_device);
    table = kino__analysis_table(result, 1);
    bool has_kernels = false;
    for (size_t i = 0; i < p->nodes.count; i++) {
        const node *n = &p->nodes.items[i];
        bool has_any = n->kernel_start != KINO_NO_TIME && n->kernel_end != KINO_NO_TIME;
        kino__table_add_int(table, n->rank);
        kino__table_add_int(table, n->event);
        kino__table_add_text(table, n->name);
        kino__table_add_int(table, n->parent);
        kino__table_add_int(table, n->depth);
        kino__table_add_int(table, n->height);
        kino__table_add_int(table, has_device ? n->num_kernels : KINO_NO_INT);
        kino__table_add_int(table, has_device ? n->kernel_dur : KINO_NO_INT);
        kino__table_add_int(table, has_any ? kino__difference(n->kernel_end, n->kernel_start)
                                           : KINO_NO_INT);
        add_time(p, a->compat != NULL, table, n->kernel_start);
        add_time(p, a->compat != NULL, table, n->kernel_end);
        has_kernels |= has_any;
    }
    if (p->stacks.count == 0)
        kino__result_lacks(result, "call stacks", ": no spans of host threads");
    else if (!has_device)
        kino__result_lacks(result, "kernels", ": no device work was recorded");
    else if (!has_kernels)
        kino__result_lacks(result, "kernel times", ": no launch could be matched to device work");
    if (p->alone)
        kino__result_note(result,
                          "%lld spans are not in any call stack: the launch of this device work is "
                          "not in the trace",
                          (long long)p->alone);
    kino__note_cut(result, p->is_cut);
    return KINO_OK;
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
    .partial_size = sizeof(partial),
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
