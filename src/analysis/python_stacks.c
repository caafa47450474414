/* python_stacks.c - where does time go by call stack? The tree behind a flame graph.
 *
 * Method: the spans of each track as strictly nested lanes (store/stacks.h), walked once into a
 * tree of distinct stacks; own time is a span's length less those directly on it.
 * Cost: linear in the spans, plus a sort of the distinct stacks. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/map.h"
#include "store/stacks.h"

enum { P_STACKS, P_WHERE, P_THREADS, P_STEPS_APART, P_MIN_SHARE };
#define NO_NODE UINT32_MAX

/* -- what a trace gives: integers and texts -- */

/* A distinct stack: a name on another stack. A parent has a smaller number. */
typedef struct node {
    uint32_t parent; /* NO_NODE: nothing below it */
    kino_strid name;
    int64_t calls, total, children; /* children: time of those directly on it */
} node;

typedef struct partial {
    kino__string_pool names;
    KINO__VEC(node) nodes;
    kino__map index; /* parent << 32 | name -> node; made on first use */
    int64_t traces, without;
} partial;

static void deinit(void *value)
{
    partial *p = value;
    kino__string_pool_deinit(&p->names);
    kino__vec_deinit(&p->nodes);
    kino__map_deinit(&p->index);
}

/* The node of a name on another; NO_NODE when memory is out. */
static uint32_t find_node(partial *p, uint32_t parent, kino_strid name)
{
    if (name == KINO_NO_STRING || p->nodes.count >= NO_NODE)
        return NO_NODE;
    uint32_t *slot = kino__map_put(&p->index, (uint64_t)parent << 32 | name, NO_NODE);
    if (!slot)
        return NO_NODE;
    if (*slot == NO_NODE) {
        node *fresh = kino__vec_add(&p->nodes);
        if (!fresh)
            return NO_NODE;
        *fresh = (node){.parent = parent, .name = name};
        *slot = (uint32_t)(p->nodes.count - 1);
    }
    return *slot;
}

/* Adds a call of this length to a node. */
static void add_call(partial *p, uint32_t at, int64_t calls, int64_t length)
{
    node *n = &p->nodes.items[at];
    n->calls = kino__sum(n->calls, calls);
    n->total = kino__sum(n->total, length);
    if (n->parent != NO_NODE)
        p->nodes.items[n->parent].children = kino__sum(p->nodes.items[n->parent].children, length);
}

/* -- one trace -- */

typedef struct reading {
    partial *p;
    const kino__trace *trace;
    kino_strid *names; /* by the trace's string ids: of the partial's pool */
    kino_strid unnamed;
    bool steps_apart;
    KINO__VEC(uint32_t) open; /* nodes */
} reading;

static kino_strid name_of(reading *r, uint32_t row)
{
    kino_strid own = r->trace->name[row];
    kino_strid *name = own == KINO_NO_STRING ? &r->unnamed : &r->names[own];
    if (*name == KINO_NO_STRING) {
        const kino_str step = KINO__STR("ProfilerStep#");
        kino_str text = kino__trace_string(r->trace, own);
        if (!r->steps_apart && kino__str_starts_with(text, step))
            text = (kino_str){step.data, step.size - 1};
        *name =
            kino__string_pool_add_borrowed(&r->p->names, text.size ? text : KINO__STR("(no name)"));
    }
    return *name;
}

static bool push(reading *r, kino_strid name)
{
    uint32_t below = r->open.count ? r->open.items[r->open.count - 1] : NO_NODE;
    uint32_t at = find_node(r->p, below, name);
    uint32_t *slot = at == NO_NODE ? NULL : kino__vec_add(&r->open);
    if (slot)
        *slot = at;
    return slot != NULL;
}

/* A lane on `bottom` nodes that stay open. */
static bool add_lane(reading *r, const uint32_t *rows, size_t count, size_t bottom)
{
    kino__stack_walk walk = {.trace = r->trace, .rows = rows, .count = count};
    kino__stack_event event;
    bool ok = true;
    r->open.count = bottom;
    while (ok && kino__stack_walk_next(&walk, &event)) {
        if (!event.is_open) {
            r->open.count--;
            continue;
        }
        int64_t length, end = kino__stack_end(r->trace, event.row);
        if (__builtin_sub_overflow(end, r->trace->ts[event.row], &length))
            length = INT64_MAX;
        ok = push(r, name_of(r, event.row));
        if (ok)
            add_call(r->p, r->open.items[r->open.count - 1], 1, length);
    }
    ok = ok && !walk.failed;
    kino__stack_walk_deinit(&walk);
    return ok;
}

/* The thread's own node, where stacks begin with their thread. */
static bool push_thread(reading *r, const kino__track *track)
{
    kino__buffer label = {0};
    kino__stack_label(r->trace, track, r->trace->rank != KINO_NO_INT, &label);
    r->open.count = 0;
    bool ok =
        !label.failed && push(r, kino__string_pool_add(&r->p->names, kino__buffer_str(&label)));
    if (ok)
        r->p->nodes.items[r->open.items[0]].calls = 1;
    kino__buffer_deinit(&label);
    return ok;
}

static bool add_track(reading *r, const kino__track *track, kino__stack_kind kind, bool threads)
{
    kino__stack_lanes lanes;
    if (!kino__stack_lanes_init(&lanes, r->trace, track, kind))
        return false;
    bool ok = true;
    r->open.count = 0;
    if (threads && lanes.row_count)
        ok = push_thread(r, track);
    for (size_t lane = 0; lane < lanes.lane_count && ok; lane++) {
        uint32_t first = lanes.starts[lane];
        ok = add_lane(r, lanes.rows + first, lanes.starts[lane + 1] - first, threads ? 1 : 0);
    }
    if (threads && lanes.row_count && ok) { /* a thread has no time of its own */
        node *thread = &r->p->nodes.items[r->open.items[0]];
        thread->total = thread->children;
    }
    kino__stack_lanes_deinit(&lanes);
    return ok;
}

static kino__stack_kind kind_of(const kino__analysis *a)
{
    kino_str text = kino__param_text(a, P_STACKS);
    if (kino__str_equal(text, KINO__STR("python")))
        return KINO__STACK_PYTHON;
    return kino__str_equal(text, KINO__STR("op")) ? KINO__STACK_OP : KINO__STACK_COMBINED;
}

static bool wants_track(const kino__analysis *a, const kino__track *track)
{
    kino_str where = kino__param_text(a, P_WHERE);
    bool is_device = kino__str_equal(where, KINO__STR("device"));
    return kino__str_equal(where, KINO__STR("all")) ||
           track->kind == (is_device ? KINO__TRACK_DEVICE : KINO__TRACK_HOST);
}

static kino_status map(const kino__analysis *a, const kino__trace *trace, void *value,
                       kino_error *err)
{
    partial *p = value;
    size_t count = kino__string_pool_count(&trace->strings);
    reading r = {.p = p,
                 .trace = trace,
                 .unnamed = KINO_NO_STRING,
                 .steps_apart = kino__param_bool(a, P_STEPS_APART)};
    r.names = malloc((count + 1) * sizeof *r.names);
    bool ok = r.names != NULL;
    for (size_t i = 0; i < count && ok; i++)
        r.names[i] = KINO_NO_STRING;
    kino_status st = KINO_OK;
    for (size_t t = 0; t < trace->tracks.count && ok && st == KINO_OK; t++) {
        const kino__track *track = &trace->tracks.items[t];
        if (wants_track(a, track))
            ok = add_track(&r, track, kind_of(a), kino__param_bool(a, P_THREADS));
        if (kino__progress_is_cancelled(a->progress))
            st = kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    p->traces = 1;
    p->without = p->nodes.count == 0;
    kino__vec_deinit(&r.open);
    free(r.names);
    return ok ? st : kino__fail_nomem(err);
}

/* Parents stand before their children, so one pass finds where each node goes. */
static kino_status merge(const kino__analysis *a, void *into, void *from, kino_error *err)
{
    (void)a;
    partial *p = into, *more = from;
    uint32_t *place = malloc((more->nodes.count + 1) * sizeof *place);
    bool ok = place != NULL;
    for (size_t i = 0; i < more->nodes.count && ok; i++) {
        const node *n = &more->nodes.items[i];
        kino_strid name = kino__string_pool_add_borrowed(
            &p->names, kino__string_pool_text(&more->names, n->name));
        place[i] = find_node(p, n->parent == NO_NODE ? NO_NODE : place[n->parent], name);
        ok = place[i] != NO_NODE;
        if (!ok)
            break;
        node *to = &p->nodes.items[place[i]];
        to->calls = kino__sum(to->calls, n->calls);
        to->total = kino__sum(to->total, n->total);
        to->children = kino__sum(to->children, n->children);
    }
    free(place);
    p->traces = kino__sum(p->traces, more->traces);
    p->without = kino__sum(p->without, more->without);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static void pack_node(kino__pack *pack, node *n)
{
    KINO__PACK(pack, &n->parent, &n->name, &n->calls, &n->total, &n->children);
}

/* A loaded partial may come from anywhere: what the code relies on. */
static void check_nodes(kino__pack *pack, partial *p)
{
    size_t names = kino__string_pool_count(&p->names);
    for (size_t i = 0; i < p->nodes.count && !pack->is_damaged; i++) {
        const node *n = &p->nodes.items[i];
        uint32_t *slot = kino__map_put(&p->index, (uint64_t)n->parent << 32 | n->name, (uint32_t)i);
        if (!slot) {
            pack->is_out_of_memory = true;
            return;
        }
        pack->is_damaged =
            n->name >= names || (n->parent != NO_NODE && n->parent >= i) || *slot != i;
    }
}

static void pack(kino__pack *pack, void *value)
{
    partial *p = value;
    kino__pack_pool(pack, &p->names);
    KINO__PACK_VEC(pack, &p->nodes, pack_node);
    KINO__PACK_TALLIES(pack, &p->traces, &p->without);
    if (!pack->out)
        check_nodes(pack, p);
}

/* -- the answer -- */

static const kino_param_info params[] = {
    [P_STACKS] = {"stacks", KINO_TYPE_STRING, "combined",
                  "python: spans of the Python tracer; op: all others; combined: both",
                  "combined|python|op"},
    [P_WHERE] = {"where", KINO_TYPE_STRING, "host", "stacks of threads, of device streams, or all",
                 "host|device|all"},
    [P_THREADS] = {"threads", KINO_TYPE_BOOL, "no", "stacks begin with their thread", NULL},
    [P_STEPS_APART] = {"steps_apart", KINO_TYPE_BOOL, "no",
                       "keep ProfilerStep#1, ProfilerStep#2, ... as separate stacks", NULL},
    [P_MIN_SHARE] = {"min_share", KINO_TYPE_PERCENT, "0",
                     "leave out stacks with less than this share of the total time", NULL},
    {0},
};

static const kino_column flame_columns[] = {
    {"node", KINO_TYPE_INT, NULL, "index of the row, from 0"},
    {"parent", KINO_TYPE_INT, NULL, "row of the caller; null: none"},
    {"depth", KINO_TYPE_INT, NULL, "0 at the root of the stack"},
    {"name", KINO_TYPE_STRING, NULL, "number of spans"},
    {"total", KINO_TYPE_DURATION, NULL, "time of the spans of this stack"},
    {"self", KINO_TYPE_DURATION, NULL, "total less the callees"},
    {"calls", KINO_TYPE_INT, "count", "spans"},
    {0},
};

static const kino_table_info tables[] = {
    {"flame",
     "one row per distinct stack, all ranks combined; callers before callees, longest first",
     flame_columns, NULL, "not available: there are no matching spans"},
    {0},
};

/* Siblings next to each other, the longest first. The places of the nodes are in `order`. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const partial *p = context;
    const node *x = &p->nodes.items[*(const uint32_t *)a];
    const node *y = &p->nodes.items[*(const uint32_t *)b];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return kino__str_compare(kino__string_pool_text(&p->names, x->name),
                             kino__string_pool_text(&p->names, y->name));
}

/* The tree being written: the nodes on node n are order[first[n]] .. order[first[n + 1] - 1], those
 * at the bottom come last, as if they stood on node `count`. */
typedef struct tree {
    uint32_t *order, *first;
    KINO__VEC(uint32_t) stack; /* places in order, of the stack at hand */
    uint32_t *row;             /* of a node in the table */
    int64_t least;             /* shorter stacks are left out */
    uint32_t rows;
} tree;

static bool tree_init(tree *t, partial *p)
{
    size_t count = p->nodes.count;
    t->order = malloc((count + 1) * sizeof *t->order);
    t->first = calloc(count + 2, sizeof *t->first);
    t->row = malloc((count + 1) * sizeof *t->row);
    if (!t->order || !t->first || !t->row)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t parent = p->nodes.items[i].parent;
        t->order[i] = (uint32_t)i;
        t->first[(parent == NO_NODE ? count : parent) + 1]++;
    }
    for (size_t i = 1; i <= count + 1; i++)
        t->first[i] += t->first[i - 1];
    qsort_r(t->order, count, sizeof *t->order, compare_nodes, p);
    return true;
}

static void tree_deinit(tree *t)
{
    free(t->order);
    free(t->first);
    free(t->row);
    kino__vec_deinit(&t->stack);
}

static void add_row(tree *t, const partial *p, uint32_t at, kino__table *table)
{
    const node *n = &p->nodes.items[at];
    t->row[at] = t->rows;
    KINO__TABLE_ADD(table, t->rows++,
                    n->parent == NO_NODE ? KINO_NO_INT : (int64_t)t->row[n->parent],
                    (int64_t)t->stack.count, kino__string_pool_text(&p->names, n->name), n->total,
                    n->total > n->children ? n->total - n->children : 0, n->calls);
}

/* Depth first: to the first node on this one, else to the next beside it, else beside one below. */
static bool write_tree(tree *t, const partial *p, kino__table *table)
{
    size_t on = p->nodes.count;
    uint32_t place = t->first[on];
    for (;;) {
        /* The longest come first, so behind one that is left out are only others. */
        if (place < t->first[on + 1] && p->nodes.items[t->order[place]].total >= t->least) {
            uint32_t at = t->order[place];
            add_row(t, p, at, table);
            uint32_t *slot = kino__vec_add(&t->stack);
            if (!slot)
                return false;
            *slot = place;
            on = at;
            place = t->first[on];
        } else if (t->stack.count == 0) {
            return true;
        } else {
            place = t->stack.items[--t->stack.count] + 1;
            uint32_t parent = p->nodes.items[t->order[place - 1]].parent;
            on = parent == NO_NODE ? p->nodes.count : parent;
        }
    }
}

static void add_notes(const kino__analysis *a, const partial *p, const tree *t, kino_result *result)
{
    if (p->nodes.count == 0)
        kino__result_lacks(result, "flame", ": %s", kino__stack_why_empty(kind_of(a)));
    else if (p->without)
        kino__result_note(result, "%lld of %lld traces have no matching spans",
                          (long long)p->without, (long long)p->traces);
    if (t->rows < p->nodes.count)
        kino__result_note(result, "%zu of %zu stacks are below min_share and left out",
                          p->nodes.count - t->rows, p->nodes.count);
}

static kino_status finish(const kino__analysis *a, void *value, kino_result *result,
                          kino_error *err)
{
    partial *p = value;
    tree t = {0};
    int64_t all = 0;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (p->nodes.items[i].parent == NO_NODE)
            all = kino__sum(all, p->nodes.items[i].total);
    double least = (double)all * kino__param_real(a, P_MIN_SHARE) / 100;
    t.least = least >= 0x1p62 ? INT64_MAX : (int64_t)least;
    bool ok = tree_init(&t, p) && write_tree(&t, p, kino__analysis_table(result, 0));
    if (ok)
        add_notes(a, p, &t, result);
    tree_deinit(&t);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

static kino_status check(const kino__analysis *a, kino_error *err)
{
    double share = kino__param_real(a, P_MIN_SHARE);
    if (share >= 0 && share <= 100)
        return KINO_OK;
    return kino__fail(
        err, KINO_ARGUMENT,
        "invalid value for parameter 'min_share' (expected: a percentage from 0 to 100)");
}

const kino__analysis_def kino__analysis_python_stacks = {
    .name = "python-stacks",
    .help = "time by call stack: the data of a flame graph",
    .description =
        "A span that lies inside another one on the same thread is its callee; spans with\n"
        "the same names from the root up share one stack, over all threads and ranks.\n"
        "total sums the spans of a stack; self is the part that its callees do not cover.\n"
        "If two spans overlap and neither contains the other, the later one starts a\n"
        "stack of its own. With --stacks python, only the spans of PyTorch's Python\n"
        "tracer are used; with op, all others, which skips the Python frames between two\n"
        "operators.\n",
    .params = params,
    .tables = tables,
    .needs = KINO__COLUMN_TS | KINO__COLUMN_DUR | KINO__COLUMN_NAME | KINO__COLUMN_CATEGORY |
             KINO__COLUMN_PHASE,
    .partial_size = sizeof(partial),
    .check = check,
    .map = map,
    .merge = merge,
    .finish = finish,
    .pack = pack,
    .deinit = deinit,
};
