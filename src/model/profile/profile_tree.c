/* profile_tree.c - the operator tree of each thread, from sorted spans by one pass with a stack.
 *
 *   spans by start, longer first:     a-----------        a
 *                                       b---- c--          +- b
 *                                        d                 |  +- d
 *                                                          +- c
 *
 * A span that crosses the end of the one it starts in stands beside it, below the innermost one
 * that holds both; where it goes over by a rounding error only, it is below it all the same. (The
 * plugin leaves such spans out.) An operator whose only child has the same name is the same call
 * seen twice: the child is folded into it. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"

/* -- nodes */

/* Does the row become a node? */
static bool is_host_node(const kino__profile *p, uint32_t row)
{
    switch (p->type[row]) {
    case KINO__EVENT_TYPE_OPERATOR:
    case KINO__EVENT_TYPE_PYTHON:
    case KINO__EVENT_TYPE_MODULE:
    case KINO__EVENT_TYPE_STEP:
    case KINO__EVENT_TYPE_PL_MODULE:
        return true;
    case KINO__EVENT_TYPE_ANNOTATION:
        return kino__profile_flags(p, row) &
               (KINO__NAME_LOADER | KINO__NAME_OPTIMIZER | KINO__NAME_COLLECTIVE);
    default:
        return false;
    }
}

static uint8_t class_of(uint8_t type, uint32_t flags)
{
    if (type == KINO__EVENT_TYPE_STEP)
        return KINO__NODE_STEP;
    if (type == KINO__EVENT_TYPE_MODULE)
        return KINO__NODE_MODULE;
    if (type == KINO__EVENT_TYPE_PL_MODULE)
        return KINO__NODE_PL_MODULE;
    if (type == KINO__EVENT_TYPE_PYTHON)
        return KINO__NODE_PYTHON;
    if (flags & KINO__NAME_LOADER)
        return KINO__NODE_LOADER;
    return flags & KINO__NAME_OPTIMIZER ? KINO__NODE_OPTIMIZER : KINO__NODE_OPERATOR;
}

static const kino__node empty = {.parent = KINO__NO_NODE,
                                 .first_child = KINO__NO_NODE,
                                 .next_sibling = KINO__NO_NODE,
                                 .first_launch = KINO__NO_NODE,
                                 .class = KINO__NODE_ROOT};

static uint32_t add_root(kino__profile *p, uint32_t thread)
{
    kino__node root = empty;
    root.thread = thread;
    return kino__node_make(
        p, root, &(kino__node_extra){.start = INT64_MIN, .end = INT64_MAX, .name = KINO_NO_STRING});
}

static uint32_t add_node(kino__profile *p, uint32_t thread, uint32_t row)
{
    kino__node *node = kino__vec_add(&p->nodes);
    if (!node)
        return KINO__NO_NODE;
    uint32_t flags = kino__profile_flags(p, row);
    *node = empty;
    node->row = row;
    node->thread = thread;
    node->type = p->type[row];
    node->class = class_of(node->type, flags);
    node->is_named_eligible = (flags & KINO__NAME_ELIGIBLE) != 0;
    node->is_eligible = node->is_named_eligible && node->type == KINO__EVENT_TYPE_OPERATOR;
    node->is_operator =
        node->class == KINO__NODE_OPERATOR && node->type == KINO__EVENT_TYPE_OPERATOR &&
        !(flags & (KINO__NAME_PARALLEL | KINO__NAME_DISTRIBUTED | KINO__NAME_OPTIMIZER_ANY));
    return (uint32_t)(p->nodes.count - 1);
}

/* -- threads */

typedef struct thread_rows {
    int64_t tid;
    uint32_t track;
    uint32_t first, count; /* in rows; of a track of its own: rows of the trace, not all nodes */
    bool is_shared;        /* several tracks have this tid */
    int64_t first_ts;      /* of the first node, then its number: the order of threads */
    uint32_t first_number;
} thread_rows;

typedef struct growing {
    kino__profile *p;
    KINO__VEC(thread_rows) threads;
    KINO__VEC(uint32_t) rows; /* of the nodes of threads that have several tracks */
} growing;

/* The thread of a track: a number of its own, or in compat mode that of its tid alone. */
static int64_t thread_key(const kino__profile *p, uint32_t track)
{
    const kino__label *tid = &p->trace->tracks.items[track].tid;
    if (p->is_compat && tid->kind == KINO__LABEL_INT)
        return tid->number;
    return INT64_MIN + track;
}

static bool has_nodes(const kino__profile *p, size_t track)
{
    return p->types_of_track[track] & KINO__NODE_TYPES;
}

static bool collect_threads(growing *g)
{
    const kino__trace *trace = g->p->trace;
    for (uint32_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        uint32_t end = track->first + track->count, first = track->first;
        while (has_nodes(g->p, t) && first < end && !is_host_node(g->p, first))
            first++;
        if (!has_nodes(g->p, t) || first == end)
            continue;
        thread_rows *slot = kino__vec_add(&g->threads);
        if (!slot)
            return false;
        *slot = (thread_rows){
            .tid = thread_key(g->p, t), .track = t, .first = first, .count = end - first};
    }
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const thread_rows *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->track < y->track ? -1 : x->track > y->track;
}

static int compare_order(const void *a, const void *b)
{
    const thread_rows *x = a, *y = b;
    if (x->first_ts != y->first_ts)
        return x->first_ts < y->first_ts ? -1 : 1;
    return x->first_number < y->first_number ? -1 : x->first_number > y->first_number;
}

/* When and by which event a thread is first seen: of rows that start together the first in the
 * file counts. */
static void find_first(const growing *g, thread_rows *thread)
{
    const kino__trace *trace = g->p->trace;
    const uint32_t *rows = thread->is_shared ? g->rows.items + thread->first : NULL;
    uint32_t row = rows ? rows[0] : thread->first;
    thread->first_ts = trace->ts[row];
    thread->first_number = trace->number[row];
    for (uint32_t i = 1; i < thread->count; i++) {
        row = rows ? rows[i] : thread->first + i;
        if (!is_host_node(g->p, row))
            continue;
        if (trace->ts[row] != thread->first_ts)
            break;
        uint32_t number = trace->number[row];
        thread->first_number = number < thread->first_number ? number : thread->first_number;
    }
}

/* The rows of several tracks, joined at the end of the list and put in order. */
static bool join_rows(growing *g, const thread_rows *parts, size_t count, thread_rows *out)
{
    out->is_shared = true;
    out->first = (uint32_t)g->rows.count;
    for (size_t i = 0; i < count; i++) {
        if (!kino__vec_reserve(&g->rows, parts[i].count))
            return false;
        g->p->track_nodes[parts[i].track].is_shared = true;
        for (uint32_t row = parts[i].first; row < parts[i].first + parts[i].count; row++)
            if (is_host_node(g->p, row))
                g->rows.items[g->rows.count++] = row;
    }
    out->count = (uint32_t)g->rows.count - out->first;
    qsort_r(g->rows.items + out->first, out->count, sizeof *g->rows.items, kino__compare_node_rows,
            (void *)(uintptr_t)g->p->trace);
    return true;
}

/* Tracks with one tid become one thread. */
static bool join_threads(growing *g)
{
    thread_rows *threads = g->threads.items;
    size_t kept = 0;
    if (g->threads.count)
        qsort(threads, g->threads.count, sizeof *threads, compare_keys);
    for (size_t i = 0, next; i < g->threads.count; i = next) {
        for (next = i + 1; next < g->threads.count && threads[next].tid == threads[i].tid;)
            next++;
        thread_rows thread = threads[i];
        if (next - i > 1 && !join_rows(g, threads + i, next - i, &thread))
            return false;
        find_first(g, &thread);
        threads[kept++] = thread;
    }
    g->threads.count = kept;
    if (kept)
        qsort(threads, kept, sizeof *threads, compare_order);
    return true;
}

/* -- nesting */

/* Decimals of microseconds that went through a double, as JSON libraries do, may move both ends of
 * a span against its neighbours by this much. */
enum { ROUNDING_NS = 1000 };

/* The innermost open node of a thread, and its last child, which is closed. */
typedef struct nesting {
    uint32_t root, top, last;
} nesting;

static void close_top(const kino__profile *p, nesting *at)
{
    at->last = at->top;
    at->top = p->nodes.items[at->top].parent;
}

static int64_t end_of(const kino__profile *p, uint32_t node)
{
    return kino__node_end(p, &p->nodes.items[node]);
}

/* Up to the node that a span hangs below. Returns whether it crosses the end of one. */
static bool find_parent(const kino__profile *p, nesting *at, int64_t start, int64_t end)
{
    bool is_crossing = false;
    for (; at->top != at->root && end > end_of(p, at->top); close_top(p, at)) {
        int64_t over = end - end_of(p, at->top), inside = end_of(p, at->top) - start;
        if (over <= ROUNDING_NS && over < inside)
            break;
        is_crossing |= inside > ROUNDING_NS;
    }
    return is_crossing;
}

/* Below the top, behind its last child. */
static void open_node(kino__profile *p, nesting *at, uint32_t node)
{
    kino__node *nodes = p->nodes.items;
    nodes[node].parent = at->top;
    if (at->last == KINO__NO_NODE)
        nodes[at->top].first_child = node;
    else
        nodes[at->last].next_sibling = node;
    at->top = node;
    at->last = KINO__NO_NODE;
}

static void nest(kino__profile *p, nesting *at, uint32_t node)
{
    kino__node *n = &p->nodes.items[node];
    int64_t start = kino__node_start(p, n), end = kino__node_end(p, n);
    while (at->top != at->root && start >= end_of(p, at->top))
        close_top(p, at);
    bool is_crossing = end > end_of(p, at->top);
    if (is_crossing && p->is_compat) {
        n->is_dropped = true;
        return;
    }
    p->has_overlaps |= is_crossing;
    p->crossing_count += is_crossing && find_parent(p, at, start, end);
    open_node(p, at, node);
}

static bool nest_thread(growing *g, uint32_t thread, const thread_rows *from)
{
    kino__profile *p = g->p;
    uint32_t root = add_root(p, thread);
    kino__profile_thread *slot = kino__vec_add(&p->threads);
    if (root == KINO__NO_NODE || !slot)
        return false;
    const kino__label *tid = &p->trace->tracks.items[from->track].tid;
    *slot = (kino__profile_thread){.root = root,
                                   .tid = tid->kind == KINO__LABEL_INT ? tid->number
                                                                       : (int64_t)from->track,
                                   .track = from->track};
    nesting at = {root, root, KINO__NO_NODE};
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t row = from->is_shared ? g->rows.items[from->first + i] : from->first + i;
        if (!is_host_node(p, row))
            continue;
        uint32_t node = add_node(p, thread, row);
        if (node == KINO__NO_NODE)
            return false;
        slot->has_steps |= p->nodes.items[node].class == KINO__NODE_STEP;
        nest(p, &at, node);
    }
    p->track_nodes[from->track].first = root + 1;
    p->track_nodes[from->track].count = (uint32_t)p->nodes.count - root - 1;
    return true;
}

/* Tracks of one thread have its nodes in common. */
static bool share_nodes(growing *g)
{
    kino__profile *p = g->p;
    kino__map tracks; /* the first one, by the thread's key */
    kino__map_init(&tracks, NULL);
    bool ok = true;
    for (size_t i = 0; ok && i < g->threads.count; i++) {
        const thread_rows *thread = &g->threads.items[i];
        ok = !thread->is_shared || kino__map_put(&tracks, (uint64_t)thread->tid, thread->track);
    }
    for (uint32_t t = 0; ok && t < p->trace->tracks.count; t++)
        if (p->track_nodes[t].is_shared)
            p->track_nodes[t] = p->track_nodes[*kino__map_get(&tracks, (uint64_t)thread_key(p, t))];
    kino__map_deinit(&tracks);
    return ok;
}

/* The root spans from its first child's start to its last child's end. */
static void bound_root(kino__profile *p, uint32_t root)
{
    const kino__node *r = &p->nodes.items[root];
    kino__node_extra *extra = &p->extras.items[r->device];
    extra->start = extra->end = 0;
    if (r->first_child == KINO__NO_NODE)
        return;
    extra->start = kino__node_start(p, &p->nodes.items[r->first_child]);
    extra->end = INT64_MIN;
    for (uint32_t c = r->first_child; c != KINO__NO_NODE; c = p->nodes.items[c].next_sibling)
        extra->end = end_of(p, c) > extra->end ? end_of(p, c) : extra->end;
}

/* An operator around nothing but itself. */
static bool is_doubled(const kino__profile *p, const kino__node *n)
{
    if (n->first_child == KINO__NO_NODE)
        return false;
    const kino__node *child = &p->nodes.items[n->first_child];
    return child->next_sibling == KINO__NO_NODE && n->type == KINO__EVENT_TYPE_OPERATOR &&
           child->type == KINO__EVENT_TYPE_OPERATOR &&
           kino__node_name_id(p, n) == kino__node_name_id(p, child);
}

static void move_launches(kino__profile *p, const kino__node *from, uint32_t to)
{
    uint32_t count;
    (void)kino__node_launches(p, from, &count);
    for (uint32_t l = 0; l < count; l++)
        p->launches.items[from->first_launch + l].node = to;
}

static void fold(kino__profile *p)
{
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        kino__node *n = &p->nodes.items[i];
        if (n->is_dropped || !is_doubled(p, n))
            continue;
        while (is_doubled(p, n)) {
            kino__node *child = &p->nodes.items[n->first_child];
            child->is_dropped = true;
            p->folded_count++;
            move_launches(p, n, KINO__NO_NODE);
            move_launches(p, child, i);
            n->first_launch = child->first_launch;
            n->first_child = child->first_child;
        }
        for (uint32_t c = n->first_child; c != KINO__NO_NODE; c = p->nodes.items[c].next_sibling)
            p->nodes.items[c].parent = i;
    }
}

/* -- sums */

/* Where a walk through the children of a node stands: launches mostly come in order of time. */
typedef struct child_walk {
    uint32_t child;
    int64_t last; /* start of the launch before */
} child_walk;

static kino__interval common(kino__interval a, int64_t start, int64_t end)
{
    a.start = a.start > start ? a.start : start;
    a.end = a.end < end ? a.end : end;
    a.end = a.end > a.start ? a.end : a.start;
    return a;
}

/* The part of a launch that is the node's own: inside of it, and of none of its children, which
 * have been taken off already. The plugin takes off everything. */
static int64_t own_launch_time(const kino__profile *p, const kino__node *n, uint32_t row,
                               child_walk *walk)
{
    int64_t start = p->trace->ts[row], end = kino__row_end(p->trace, row);
    if (p->is_compat)
        return end - start;
    if (start < walk->last)
        walk->child = n->first_child;
    walk->last = start;
    kino__interval rest =
        common((kino__interval){start, end}, kino__node_start(p, n), kino__node_end(p, n));
    int64_t own = rest.end - rest.start;
    const kino__node *nodes = p->nodes.items;
    while (walk->child != KINO__NO_NODE && end_of(p, walk->child) <= start)
        walk->child = nodes[walk->child].next_sibling;
    for (uint32_t c = walk->child; c != KINO__NO_NODE && kino__node_start(p, &nodes[c]) < end;
         c = nodes[c].next_sibling) {
        kino__interval part = common(rest, kino__node_start(p, &nodes[c]), end_of(p, c));
        own -= part.end - part.start;
        rest.start = part.end > part.start ? part.end : rest.start; /* siblings may overlap */
    }
    return own;
}

/* Its own device work, and what launching took. Returns the time of its kernels. */
static int64_t sum_launches(const kino__profile *p, const kino__node *n, kino__node_sums *sums)
{
    const kino__trace *trace = p->trace;
    int64_t kernels = 0;
    uint32_t count;
    const kino__launch *launch = kino__node_launches(p, n, &count);
    child_walk walk = {n->first_child, INT64_MIN};
    for (uint32_t i = 0; i < count; i++, launch++) {
        if (launch->row != KINO_NO_ROW)
            sums->self_host -= own_launch_time(p, n, launch->row, &walk);
        for (uint32_t w = launch->first_work; w < launch->first_work + launch->work_count; w++) {
            uint32_t row = p->work.items[w];
            int64_t dur = kino__row_end(trace, row) - trace->ts[row];
            sums->device_self += dur;
            if (p->type[row] != KINO__EVENT_TYPE_KERNEL)
                continue;
            kernels += dur;
            sums->tensor_self += kino__profile_flags(p, row) & KINO__NAME_TENSOR_CORES ? dur : 0;
        }
    }
    return kernels;
}

/* The time of a node without its children is its length without theirs (add_child): takes back
 * what of a child lies outside of the node, or in the children before it. */
static int64_t settle(const kino__profile *p, const kino__node *n)
{
    int64_t reached = kino__node_start(p, n), node_end = kino__node_end(p, n), back = 0;
    for (uint32_t c = n->first_child; c != KINO__NO_NODE; c = p->nodes.items[c].next_sibling) {
        const kino__node *child = &p->nodes.items[c];
        int64_t child_start = kino__node_start(p, child), child_end = kino__node_end(p, child);
        int64_t start = child_start > reached ? child_start : reached;
        int64_t end = child_end < node_end ? child_end : node_end;
        back += child_end - child_start - (end > start ? end - start : 0);
        reached = end > reached ? end : reached;
    }
    return back;
}

/* What a node has from one below it. Returns the device work of operators right below a module. */
static int64_t add_child(const kino__profile *p, kino__node *n, const kino__node *child,
                         kino__node_sums *sums)
{
    kino__node_sums below = kino__node_sums_of(p, child);
    sums->self_host -= kino__node_length(p, child);
    sums->device_total += below.device_total;
    sums->tensor_total += below.tensor_total;
    n->is_eligible |= n->type == KINO__EVENT_TYPE_OPERATOR && child->is_eligible;
    n->has_eligible_below |= child->is_eligible || child->has_eligible_below;
    bool is_module = n->class == KINO__NODE_MODULE || n->class == KINO__NODE_PL_MODULE;
    return child->is_operator && is_module ? below.device_total : 0;
}

static bool sum_node(kino__profile *p, uint32_t index)
{
    kino__node *n = &p->nodes.items[index];
    kino__node_sums sums = {.self_host = kino__node_length(p, n)};
    int64_t from_operators = 0;
    if (p->has_overlaps)
        sums.self_host += settle(p, n);
    for (uint32_t c = n->first_child; c != KINO__NO_NODE; c = p->nodes.items[c].next_sibling)
        from_operators += add_child(p, n, &p->nodes.items[c], &sums);
    int64_t kernels = sum_launches(p, n, &sums);
    sums.device_total += sums.device_self;
    sums.tensor_total += sums.tensor_self;
    sums.device_self += from_operators;
    n->is_eligible |= n->type == KINO__EVENT_TYPE_OPERATOR && sums.tensor_self > 0;
    p->operator_time += n->is_operator ? kernels : 0;
    p->eligible_time += n->is_eligible && !n->has_eligible_below ? kernels : 0;
    return kino__node_set_sums(p, index, &sums);
}

/* Children stand behind their parents, so the list backwards goes from the leaves up. */
static bool sum(kino__profile *p)
{
    bool ok = true;
    for (size_t i = p->nodes.count; ok && i-- > 0;)
        ok = p->nodes.items[i].is_dropped || sum_node(p, (uint32_t)i);
    return ok;
}

/* So many nodes will there be: room for all at once. */
static size_t count_nodes(const growing *g)
{
    size_t count = 0;
    for (size_t t = 0; t < g->threads.count; t++) {
        const thread_rows *from = &g->threads.items[t];
        for (uint32_t i = 0; i < from->count && !from->is_shared; i++)
            count += is_host_node(g->p, from->first + i);
    }
    return count + g->rows.count + g->threads.count;
}

bool kino__profile_nest(kino__profile *p)
{
    growing g = {.p = p};
    p->track_nodes = calloc(p->trace->tracks.count + 1, sizeof *p->track_nodes);
    bool ok = p->track_nodes && collect_threads(&g) && join_threads(&g) &&
              kino__vec_reserve(&p->nodes, count_nodes(&g) + 1);
    for (uint32_t t = 0; ok && t < g.threads.count; t++)
        ok = nest_thread(&g, t, &g.threads.items[t]);
    ok = ok && share_nodes(&g);
    kino__vec_deinit(&g.threads);
    kino__vec_deinit(&g.rows);
    return ok && kino__profile_index_nodes(p);
}

bool kino__profile_grow_trees(kino__profile *p)
{
    if (!kino__profile_attach(p))
        return false;
    fold(p);
    for (size_t t = 0; t < p->threads.count; t++)
        bound_root(p, p->threads.items[t].root);
    return sum(p);
}
