/* memory_nodes.c - in which operator was memory allocated or released?
 *
 * A record belongs to the innermost node of its thread with start <= ts < end, when that is an
 * operator. Records and nodes of a thread are walked side by side in order of time. The default
 * nests all nodes of a thread, so that backward passes count where they ran; compat mode goes down
 * the tree as the plugin does, from which passes that belong to no module were cut. */
#include <stdlib.h>

#include "analysis/memory/memory_internal.h"

/* -- records of each thread */

/* The default goes by tracks: the profile has no threads any more whose nodes were all moved. */
typedef struct grouping {
    uint32_t *records; /* grouped by thread or track, in order of time */
    uint32_t *first;   /* of each of them; one more at the end */
} grouping;

/* The thread of each track, UINT32_MAX: none. All tracks with one tid are one thread. */
static bool threads_of_tracks(const kino__profile *p, uint32_t *thread_of)
{
    const kino__trace *trace = p->trace;
    kino__map by_tid;
    kino__map_init(&by_tid, NULL);
    bool ok = true;
    memset(thread_of, 0xff, trace->tracks.count * sizeof *thread_of);
    for (uint32_t t = 0; ok && t < p->threads.count; t++) {
        const kino__profile_thread *thread = &p->threads.items[t];
        thread_of[thread->track] = t;
        if (trace->tracks.items[thread->track].tid.kind == KINO__LABEL_INT)
            ok = kino__map_put(&by_tid, (uint64_t)thread->tid, t) != NULL;
    }
    for (uint32_t i = 0; ok && i < trace->tracks.count; i++) {
        const kino__label *tid = &trace->tracks.items[i].tid;
        const uint32_t *found =
            tid->kind == KINO__LABEL_INT ? kino__map_get(&by_tid, (uint64_t)tid->number) : NULL;
        if (found)
            thread_of[i] = *found;
    }
    kino__map_deinit(&by_tid);
    return ok;
}

static uint32_t group_of(const kino__memory_records *m, const uint32_t *thread_of, size_t record)
{
    uint32_t track = kino__trace_track_of(m->profile->trace, m->items.items[record].row);
    return thread_of ? thread_of[track] : track;
}

static void fill_groups(const kino__memory_records *m, const uint32_t *thread_of, size_t count,
                        grouping *g)
{
    /* counted one place further on, so that filling turns ends into starts */
    for (size_t i = 0; i < m->items.count; i++) {
        uint32_t at = group_of(m, thread_of, i);
        if (at < count)
            g->first[at + 2]++;
    }
    for (size_t i = 2; i < count + 2; i++)
        g->first[i] += g->first[i - 1];
    for (size_t i = 0; i < m->items.count; i++) {
        uint32_t at = group_of(m, thread_of, i);
        if (at < count)
            g->records[g->first[at + 1]++] = (uint32_t)i;
    }
}

static bool group(const kino__memory_records *m, grouping *g)
{
    const kino__profile *p = m->profile;
    size_t tracks = p->trace->tracks.count, count = p->is_compat ? p->threads.count : tracks;
    uint32_t *thread_of = p->is_compat ? malloc((tracks + 1) * sizeof *thread_of) : NULL;
    g->records = malloc((m->items.count + 1) * sizeof *g->records);
    g->first = calloc(count + 2, sizeof *g->first);
    bool ok =
        g->records && g->first && (!p->is_compat || (thread_of && threads_of_tracks(p, thread_of)));
    if (ok)
        fill_groups(m, thread_of, count, g);
    free(thread_of);
    return ok;
}

static void enter(kino__memory_records *m, uint32_t record, uint32_t node)
{
    if (m->profile->nodes.items[node].is_operator) {
        m->items.items[record].node = node;
        m->items.items[record].source = node;
    }
}

/* -- default: all nodes of a thread, nested by time */

typedef struct walk {
    uint32_t track;
    uint32_t next; /* record of the track, in grouping.records */
    uint32_t top;  /* innermost node that is open, KINO__NO_NODE: none */
} walk;

/* Records before `until` go to the innermost node that is open at their time. */
static void take_records(kino__memory_records *m, const grouping *g, walk *w, int64_t until)
{
    const kino__node *nodes = m->profile->nodes.items;
    for (; w->next < g->first[w->track + 1]; w->next++) {
        int64_t ts = m->items.items[g->records[w->next]].ts;
        if (ts >= until)
            return;
        while (w->top != KINO__NO_NODE && ts >= kino__node_end(m->profile, &nodes[w->top]))
            w->top = m->parent[w->top];
        if (w->top == KINO__NO_NODE)
            continue;
        enter(m, g->records[w->next], w->top);
    }
}

/* To the track of a row; the rest of the records of the last one are taken first. */
static void go_to_track(kino__memory_records *m, const grouping *g, walk *w, uint32_t row)
{
    const kino__trace *trace = m->profile->trace;
    if (w->track != UINT32_MAX && row >= trace->tracks.items[w->track].first &&
        row - trace->tracks.items[w->track].first < trace->tracks.items[w->track].count)
        return;
    if (w->track != UINT32_MAX)
        take_records(m, g, w, INT64_MAX);
    w->track = kino__trace_track_of(trace, row);
    w->next = g->first[w->track];
    w->top = KINO__NO_NODE;
}

static void walk_by_time(kino__memory_records *m, const grouping *g)
{
    const kino__profile *p = m->profile;
    walk w = {.track = UINT32_MAX};
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        const kino__node *n = &p->nodes.items[i];
        if (n->is_dropped || n->row == KINO_NO_ROW)
            continue;
        go_to_track(m, g, &w, n->row);
        int64_t start = kino__node_start(p, n);
        take_records(m, g, &w, start);
        while (w.top != KINO__NO_NODE && start >= kino__node_end(p, &p->nodes.items[w.top]))
            w.top = m->parent[w.top];
        m->parent[i] = w.top;
        w.top = i;
    }
    if (w.track != UINT32_MAX)
        take_records(m, g, &w, INT64_MAX);
}

/* -- compat: down the tree, as the plugin does */

/* One record of a thread after the other. `at` is where the last one ended, `child` the next child
 * of it to look at. */
static void walk_tree(kino__memory_records *m, const grouping *g, uint32_t thread)
{
    const kino__profile *p = m->profile;
    const kino__node *nodes = p->nodes.items;
    uint32_t root = p->threads.items[thread].root, at = root;
    uint32_t child = nodes[root].first_child;
    m->is_entered[root] = true;
    for (uint32_t i = g->first[thread]; i < g->first[thread + 1]; i++) {
        int64_t ts = m->items.items[g->records[i]].ts;
        while (ts >= kino__node_start(p, &nodes[at]) && ts >= kino__node_end(p, &nodes[at])) {
            if (at == root)
                return; /* behind everything */
            child = nodes[at].next_sibling;
            at = nodes[at].parent;
        }
        if (ts < kino__node_start(p, &nodes[at]))
            continue;
        while (child != KINO__NO_NODE && ts >= kino__node_start(p, &nodes[child])) {
            if (ts >= kino__node_end(p, &nodes[child])) {
                child = nodes[child].next_sibling;
                continue;
            }
            m->is_entered[child] = true;
            at = child;
            child = nodes[at].first_child;
        }
        enter(m, g->records[i], at);
    }
}

static void list_tree(kino__memory_records *m, uint32_t thread)
{
    const kino__profile *p = m->profile;
    uint32_t root = p->threads.items[thread].root;
    for (uint32_t n = root; n != KINO__NO_NODE; n = kino__node_next(p, n, root)) {
        m->parent[n] = p->nodes.items[n].parent;
        m->visited[m->visited_count++] = n;
    }
}

bool kino__memory_find_nodes(kino__memory_records *m)
{
    const kino__profile *p = m->profile;
    size_t count = p->nodes.count + 1;
    grouping g = {0};
    m->parent = malloc(count * sizeof *m->parent);
    m->visited = malloc((p->is_compat ? count : 1) * sizeof *m->visited);
    m->is_entered = calloc(p->is_compat ? count : 1, sizeof *m->is_entered);
    bool ok = m->parent && m->visited && m->is_entered && group(m, &g);
    if (ok)
        memset(m->parent, 0xff, count * sizeof *m->parent);
    if (ok && !p->is_compat)
        walk_by_time(m, &g);
    for (uint32_t t = 0; ok && p->is_compat && t < p->threads.count; t++) {
        walk_tree(m, &g, t);
        list_tree(m, t);
    }
    free(g.records);
    free(g.first);
    return ok;
}

size_t kino__memory_node_count(const kino__memory_records *m)
{
    return m->profile->is_compat ? m->visited_count : m->profile->nodes.count;
}

uint32_t kino__memory_node_at(const kino__memory_records *m, size_t place)
{
    if (m->profile->is_compat)
        return m->visited[place];
    const kino__node *n = &m->profile->nodes.items[place];
    return n->is_dropped || n->row == KINO_NO_ROW ? KINO__NO_NODE : (uint32_t)place;
}
