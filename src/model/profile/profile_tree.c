/* profile_tree.c - the operator tree of each thread, from sorted spans by one pass with a stack.
 *
 *   spans by start, longer first:     a-----------        a
 *                                       b---- c--          +- b
 *                                        d                 |  +- d
 *                                                          +- c
 *
 * A span that crosses the end of the one it starts in has no place in the tree and is left out. An
 * operator whose only child has the same name is the same call seen twice: the child is folded into
 * it. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"

/* -- nodes */

void kino__node_append(kino__profile *p, uint32_t parent, uint32_t child)
{
    kino__node *above = &p->nodes.items[parent], *below = &p->nodes.items[child];
    below->parent = parent;
    below->next_sibling = KINO__NO_NODE;
    if (above->last_child == KINO__NO_NODE)
        above->first_child = child;
    else
        p->nodes.items[above->last_child].next_sibling = child;
    above->last_child = child;
}

uint32_t kino__node_next(const kino__profile *p, uint32_t node, uint32_t root)
{
    const kino__node *nodes = p->nodes.items;
    if (nodes[node].first_child != KINO__NO_NODE)
        return nodes[node].first_child;
    while (node != root && nodes[node].next_sibling == KINO__NO_NODE)
        node = nodes[node].parent;
    return node == root ? KINO__NO_NODE : nodes[node].next_sibling;
}

uint32_t kino__node_first_leaf(const kino__profile *p, uint32_t node)
{
    while (p->nodes.items[node].first_child != KINO__NO_NODE)
        node = p->nodes.items[node].first_child;
    return node;
}

uint32_t kino__node_next_up(const kino__profile *p, uint32_t node, uint32_t root)
{
    if (node == root)
        return KINO__NO_NODE;
    uint32_t sibling = p->nodes.items[node].next_sibling;
    return sibling == KINO__NO_NODE ? p->nodes.items[node].parent
                                    : kino__node_first_leaf(p, sibling);
}

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
               (KINO__NAME_LOADER | KINO__NAME_OPTIMIZER | KINO__NAME_NCCL | KINO__NAME_GLOO);
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

static uint32_t add_node(kino__profile *p, uint32_t thread, uint32_t row)
{
    kino__node *node = kino__vec_add(&p->nodes);
    if (!node)
        return KINO__NO_NODE;
    *node = (kino__node){.row = row,
                         .parent = KINO__NO_NODE,
                         .first_child = KINO__NO_NODE,
                         .last_child = KINO__NO_NODE,
                         .next_sibling = KINO__NO_NODE,
                         .thread = thread,
                         .class = KINO__NODE_ROOT,
                         .name = KINO_NO_STRING,
                         .start = INT64_MIN,
                         .end = INT64_MAX};
    if (row != KINO_NO_ROW) {
        uint32_t flags = kino__profile_flags(p, row);
        node->type = p->type[row];
        node->class = class_of(node->type, flags);
        node->name = p->trace->name[row];
        node->start = p->trace->ts[row];
        node->end = kino__row_end(p->trace, row);
        node->is_named_eligible = (flags & KINO__NAME_ELIGIBLE) != 0;
        node->is_eligible = node->is_named_eligible && node->type == KINO__EVENT_TYPE_OPERATOR;
        node->is_operator =
            node->class == KINO__NODE_OPERATOR && node->type == KINO__EVENT_TYPE_OPERATOR &&
            !(flags & (KINO__NAME_PARALLEL | KINO__NAME_DISTRIBUTED | KINO__NAME_OPTIMIZER_ANY));
        p->node_of_row[row] = (uint32_t)(p->nodes.count - 1);
    }
    return (uint32_t)(p->nodes.count - 1);
}

/* -- threads */

typedef struct thread_rows {
    int64_t tid;
    uint32_t track;
    uint32_t first, count; /* in rows */
    int64_t first_ts;      /* of the first node, then its number: the order of threads */
    uint32_t first_number;
} thread_rows;

typedef struct growing {
    kino__profile *p;
    KINO__VEC(thread_rows) threads;
    KINO__VEC(uint32_t) rows; /* of nodes, grouped by thread */
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

static bool collect_rows(growing *g)
{
    const kino__trace *trace = g->p->trace;
    size_t most = 0;
    for (size_t t = 0; t < trace->tracks.count; t++)
        most += has_nodes(g->p, t) ? trace->tracks.items[t].count : 0;
    if (!kino__vec_reserve(&g->rows, most + 1) || !g->rows.items)
        return false;
    for (uint32_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        if (!has_nodes(g->p, t))
            continue;
        thread_rows thread = {
            .tid = thread_key(g->p, t), .track = t, .first = (uint32_t)g->rows.count};
        for (uint32_t row = track->first; row < track->first + track->count; row++)
            if (is_host_node(g->p, row))
                g->rows.items[g->rows.count++] = row;
        thread.count = (uint32_t)g->rows.count - thread.first;
        thread_rows *slot = thread.count ? kino__vec_add(&g->threads) : NULL;
        if (thread.count && !slot)
            return false;
        if (slot)
            *slot = thread;
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

/* By start, longer first, then as in the file. */
static int compare_rows(const void *a, const void *b, void *context)
{
    const kino__trace *trace = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (trace->ts[x] != trace->ts[y])
        return trace->ts[x] < trace->ts[y] ? -1 : 1;
    int64_t x_end = kino__row_end(trace, x), y_end = kino__row_end(trace, y);
    if (x_end != y_end)
        return x_end > y_end ? -1 : 1;
    return trace->number[x] < trace->number[y] ? -1 : trace->number[x] > trace->number[y];
}

/* When and by which event a thread is first seen: of rows that start together the first in the
 * file counts. */
static void find_first(const kino__trace *trace, thread_rows *thread, const uint32_t *rows)
{
    thread->first_ts = trace->ts[rows[0]];
    thread->first_number = trace->number[rows[0]];
    for (uint32_t i = 1; i < thread->count && trace->ts[rows[i]] == thread->first_ts; i++) {
        uint32_t number = trace->number[rows[i]];
        thread->first_number = number < thread->first_number ? number : thread->first_number;
    }
}

/* The rows of several tracks, joined at the end of the list and put in order. */
static bool join_rows(growing *g, const thread_rows *parts, size_t count, thread_rows *out)
{
    out->first = (uint32_t)g->rows.count;
    for (size_t i = 0; i < count; i++) {
        if (!kino__vec_reserve(&g->rows, parts[i].count))
            return false;
        memcpy(g->rows.items + g->rows.count, g->rows.items + parts[i].first,
               parts[i].count * sizeof *g->rows.items);
        g->rows.count += parts[i].count;
    }
    out->count = (uint32_t)g->rows.count - out->first;
    qsort_r(g->rows.items + out->first, out->count, sizeof *g->rows.items, compare_rows,
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
        find_first(g->p->trace, &thread, g->rows.items + thread.first);
        threads[kept++] = thread;
    }
    g->threads.count = kept;
    if (kept)
        qsort(threads, kept, sizeof *threads, compare_order);
    return true;
}

/* -- nesting */

static bool nest_thread(growing *g, uint32_t thread, const thread_rows *from)
{
    kino__profile *p = g->p;
    uint32_t root = add_node(p, thread, KINO_NO_ROW);
    kino__profile_thread *slot = kino__vec_add(&p->threads);
    if (root == KINO__NO_NODE || !slot)
        return false;
    const kino__label *tid = &p->trace->tracks.items[from->track].tid;
    *slot = (kino__profile_thread){.root = root,
                                   .tid = tid->kind == KINO__LABEL_INT ? tid->number
                                                                       : (int64_t)from->track,
                                   .track = from->track};
    uint32_t top = root;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t node = add_node(p, thread, g->rows.items[from->first + i]);
        if (node == KINO__NO_NODE)
            return false;
        kino__node *n = &p->nodes.items[node];
        slot->has_steps |= n->class == KINO__NODE_STEP;
        while (top != root && n->start >= p->nodes.items[top].end)
            top = p->nodes.items[top].parent;
        if (n->end <= p->nodes.items[top].end) {
            kino__node_append(p, top, node);
            top = node;
        } else {
            n->is_dropped = true;
        }
    }
    return true;
}

/* The root spans from its first child's start to its last child's end. */
static void bound_root(kino__profile *p, uint32_t root)
{
    kino__node *r = &p->nodes.items[root];
    if (r->first_child == KINO__NO_NODE) {
        r->start = r->end = 0;
        return;
    }
    r->start = p->nodes.items[r->first_child].start;
    r->end = p->nodes.items[r->last_child].end;
}

/* An operator around nothing but itself. */
static bool is_doubled(const kino__profile *p, const kino__node *n)
{
    if (n->first_child == KINO__NO_NODE || n->first_child != n->last_child)
        return false;
    const kino__node *child = &p->nodes.items[n->first_child];
    return n->type == KINO__EVENT_TYPE_OPERATOR && child->type == KINO__EVENT_TYPE_OPERATOR &&
           n->name == child->name;
}

static void move_launches(kino__profile *p, const kino__node *from, uint32_t to)
{
    for (uint32_t l = from->first_launch; l < from->first_launch + from->launch_count; l++)
        p->launches.items[l].node = to;
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
            move_launches(p, n, KINO__NO_NODE);
            move_launches(p, child, i);
            n->first_launch = child->first_launch;
            n->launch_count = child->launch_count;
            n->first_child = child->first_child;
            n->last_child = child->last_child;
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

static int64_t common_time(int64_t start, int64_t end, const kino__node *n)
{
    start = start > n->start ? start : n->start;
    end = end < n->end ? end : n->end;
    return end > start ? end - start : 0;
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
    int64_t own = common_time(start, end, n);
    while (walk->child != KINO__NO_NODE && p->nodes.items[walk->child].end <= start)
        walk->child = p->nodes.items[walk->child].next_sibling;
    for (uint32_t c = walk->child; c != KINO__NO_NODE && p->nodes.items[c].start < end;
         c = p->nodes.items[c].next_sibling)
        own -= common_time(start, end, &p->nodes.items[c]);
    return own > 0 ? own : 0;
}

/* Returns the time of its kernels. */
static int64_t sum_launches(kino__profile *p, kino__node *n)
{
    const kino__trace *trace = p->trace;
    int64_t kernels = 0;
    child_walk walk = {n->first_child, INT64_MIN};
    for (uint32_t i = n->first_launch; i < n->first_launch + n->launch_count; i++) {
        const kino__launch *launch = &p->launches.items[i];
        if (launch->row != KINO_NO_ROW)
            n->self_host -= own_launch_time(p, n, launch->row, &walk);
        for (uint32_t w = launch->first_work; w < launch->first_work + launch->work_count; w++) {
            uint32_t row = p->work.items[w];
            int64_t dur = kino__row_end(trace, row) - trace->ts[row];
            n->device_self += dur;
            if (p->type[row] != KINO__EVENT_TYPE_KERNEL)
                continue;
            kernels += dur;
            n->tensor_self += kino__profile_flags(p, row) & KINO__NAME_TENSOR_CORES ? dur : 0;
        }
    }
    return kernels;
}

/* What a node adds to the one above it. */
static void add_to_parent(kino__profile *p, const kino__node *n)
{
    kino__node *above = &p->nodes.items[n->parent];
    above->self_host -= n->end - n->start;
    above->device_total += n->device_total;
    above->tensor_total += n->tensor_total;
    above->is_eligible |= above->type == KINO__EVENT_TYPE_OPERATOR && n->is_eligible;
    above->has_eligible_below |= n->is_eligible || n->has_eligible_below;
    if (n->is_operator &&
        (above->class == KINO__NODE_MODULE || above->class == KINO__NODE_PL_MODULE))
        above->device_self += n->device_total;
}

/* Children stand behind their parents, so the list backwards goes from the leaves up. */
static void sum(kino__profile *p)
{
    for (size_t i = p->nodes.count; i-- > 0;) {
        kino__node *n = &p->nodes.items[i];
        if (n->is_dropped)
            continue;
        int64_t from_operators = n->device_self, kernels = 0;
        n->device_self = 0;
        n->self_host += n->end - n->start;
        if (n->launch_count)
            kernels = sum_launches(p, n);
        n->device_total += n->device_self;
        n->tensor_total += n->tensor_self;
        n->device_self += from_operators;
        n->is_eligible |= n->type == KINO__EVENT_TYPE_OPERATOR && n->tensor_self > 0;
        p->operator_time += n->is_operator ? kernels : 0;
        p->eligible_time += n->is_eligible && !n->has_eligible_below ? kernels : 0;
        if (n->parent != KINO__NO_NODE)
            add_to_parent(p, n);
    }
}

bool kino__profile_nest(kino__profile *p)
{
    growing g = {.p = p};
    p->node_of_row = malloc(((size_t)p->trace->event_count + 1) * sizeof *p->node_of_row);
    bool ok = p->node_of_row != NULL;
    if (ok)
        memset(p->node_of_row, 0xff, (size_t)p->trace->event_count * sizeof *p->node_of_row);
    ok = ok && collect_rows(&g) && join_threads(&g) &&
         kino__vec_reserve(&p->nodes, g.rows.count + g.threads.count + 1);
    for (uint32_t t = 0; ok && t < g.threads.count; t++)
        ok = nest_thread(&g, t, &g.threads.items[t]);
    kino__vec_deinit(&g.threads);
    kino__vec_deinit(&g.rows);
    return ok;
}

bool kino__profile_grow_trees(kino__profile *p)
{
    if (!kino__profile_attach(p))
        return false;
    fold(p);
    for (size_t t = 0; t < p->threads.count; t++)
        bound_root(p, p->threads.items[t].root);
    sum(p);
    return true;
}
