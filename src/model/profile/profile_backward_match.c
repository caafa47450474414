/* profile_backward_match.c - which spans of the autograd engine answer which operators: flows from
 * file, joined by id, from the start of an operator to a moment below an engine's span. */
#include <stdlib.h>

#include "base/search.h"
#include "model/profile/profile_backward.h"

typedef struct pair {
    int64_t forward, backward; /* KINO_NO_TIME: not seen */
} pair;

/* -- flows */

/* Points of the flows in file order: start is the number, end the row. */
static bool collect_points(const kino__trace *trace, kino__intervals *out, uint64_t *largest)
{
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (trace->category[row] != KINO__CATEGORY_FWDBWD || trace->ts[row] == KINO_NO_TIME ||
            (trace->phase[row] != 's' && trace->phase[row] != 'f'))
            continue;
        kino__interval *slot = kino__vec_add(out);
        if (!slot)
            return false;
        *slot = (kino__interval){trace->number[row], row};
        if (trace->bind[row] < KINO__BIND_WIDE && trace->bind[row] > *largest)
            *largest = trace->bind[row];
    }
    return kino__sort_runs(out->items, out->count);
}

typedef KINO__VEC(pair) pairs;

static bool add_forward(kino__ids *by_id, pairs *out, int64_t id, int64_t ts)
{
    uint32_t known = kino__ids_get(by_id, (uint64_t)id), fresh = (uint32_t)out->count;
    pair *slot = known < out->count ? &out->items[known] : kino__vec_add(out);
    if (!slot || (known == KINO__NO_NODE && !kino__ids_set(by_id, (uint64_t)id, fresh)))
        return false;
    if (known == KINO__NO_NODE)
        slot->backward = KINO_NO_TIME;
    slot->forward = ts;
    return true;
}

/* In the order of the forward points; of points with one id the last counts. */
static bool find_pairs(const kino__trace *trace, pairs *out)
{
    kino__intervals points = {0};
    kino__ids by_id = {0};
    uint64_t largest = 0;
    bool ok =
        collect_points(trace, &points, &largest) && kino__ids_init(&by_id, largest, points.count);
    for (int is_end = 0; is_end < 2; is_end++) {
        for (size_t i = 0; ok && i < points.count; i++) {
            uint32_t row = (uint32_t)points.items[i].end;
            int64_t id = kino__trace_bind_id(trace, row);
            if ((trace->phase[row] == 'f') != is_end || id == KINO_NO_INT)
                continue;
            uint32_t known = is_end ? kino__ids_get(&by_id, (uint64_t)id) : KINO__NO_NODE;
            if (!is_end)
                ok = add_forward(&by_id, out, id, trace->ts[row]);
            else if (out->items && known < out->count)
                out->items[known].backward = trace->ts[row];
        }
    }
    kino__ids_deinit(&by_id);
    kino__vec_deinit(&points);
    return ok;
}

/* -- modules and spans of the engine */

/* The next node at the top of a thread or of a step of it, KINO__NO_NODE at the end. */
static uint32_t next_top(const kino__profile *p, uint32_t node, uint32_t root)
{
    const kino__node *nodes = p->nodes.items;
    bool is_open = node == root || nodes[node].class == KINO__NODE_STEP;
    if (is_open && nodes[node].first_child != KINO__NO_NODE)
        return nodes[node].first_child;
    while (node != root && nodes[node].next_sibling == KINO__NO_NODE)
        node = nodes[node].parent;
    return node == root ? KINO__NO_NODE : nodes[node].next_sibling;
}

typedef struct ranked {
    uint32_t rank, order, node;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Spans of one parent stay together, parents in the order in which they have their first. */
static bool collect_roots(kino__moving *m, const kino__indexes *found)
{
    ranked *sorted = malloc((found->count + 1) * sizeof *sorted);
    kino__map ranks;
    kino__map_init(&ranks, NULL);
    bool ok = sorted && kino__vec_reserve(&m->roots, found->count + 1);
    for (uint32_t i = 0; ok && i < found->count; i++) {
        const kino__node *n = &m->p->nodes.items[found->items[i]];
        const uint32_t *rank = kino__map_put(&ranks, n->parent, i);
        ok = rank != NULL;
        if (ok)
            sorted[i] = (ranked){*rank, i, found->items[i]};
    }
    if (ok && found->count)
        qsort(sorted, found->count, sizeof *sorted, compare_ranked);
    for (size_t i = 0; ok && i < found->count; i++)
        m->roots.items[m->roots.count++] = sorted[i].node;
    kino__map_deinit(&ranks);
    free(sorted);
    return ok;
}

bool kino__backward_collect(kino__moving *m)
{
    const kino__profile *p = m->p;
    kino__indexes found = {0};
    bool ok = true;
    for (size_t t = 0; ok && t < p->threads.count; t++) {
        uint32_t root = p->threads.items[t].root, n = root;
        while (ok && (n = next_top(p, n, root)) != KINO__NO_NODE) {
            if (p->nodes.items[n].class == KINO__NODE_MODULE)
                ok = kino__indexes_add(&m->modules, n);
            else if (p->nodes.items[n].class != KINO__NODE_STEP &&
                     kino__node_is_backward_root(p, n))
                ok = kino__indexes_add(&found, n);
        }
    }
    ok = ok && collect_roots(m, &found);
    kino__vec_deinit(&found);
    return ok;
}

static bool index_roots(kino__moving *m)
{
    const kino__profile *p = m->p;
    m->group = malloc((m->roots.count + 1) * sizeof *m->group);
    m->state = calloc(m->roots.count + 1, 1);
    m->place = calloc(p->nodes.count + 1, sizeof *m->place);
    if (!m->group || !m->state || !m->place)
        return false;
    for (uint32_t i = 0; i < m->roots.count; i++) {
        uint32_t root = m->roots.items[i];
        bool joins = i > 0 && p->name_flags[kino__node_name_id(p, &p->nodes.items[root])] &
                                  KINO__NAME_ACCUMULATE;
        m->group[i] = joins ? m->group[i - 1] : i;
        m->place[root] = i + 1;
    }
    return true;
}

/* The place of the root that a node lies below, KINO__NO_NODE: none. */
static uint32_t root_above(const kino__moving *m, uint32_t node)
{
    if (m->p->nodes.items[node].is_dropped)
        return KINO__NO_NODE;
    while ((node = m->p->nodes.items[node].parent) != KINO__NO_NODE)
        if (m->place[node])
            return m->place[node] - 1;
    return KINO__NO_NODE;
}

/* The first node from here on that starts at the moment or later; a thread's nodes stand in order
 * of start. */
static uint32_t first_node(const kino__profile *p, uint32_t low, uint32_t high, int64_t moment)
{
    return KINO__SEARCH(uint32_t, i, low, high, kino__node_start(p, &p->nodes.items[i]) < moment);
}

/* The place of the root above a moment of the backward pass, KINO__NO_NODE: none. */
static uint32_t find_root(const kino__moving *m, int64_t moment)
{
    const kino__profile *p = m->p;
    for (size_t t = 0; t < p->threads.count; t++) {
        uint32_t first = p->threads.items[t].root + 1;
        uint32_t end =
            t + 1 < p->threads.count ? p->threads.items[t + 1].root : (uint32_t)p->nodes.count;
        const kino__node *root = &p->nodes.items[first - 1];
        if (!m->has_roots[t] || moment < kino__node_start(p, root) ||
            moment > kino__node_end(p, root))
            continue;
        for (uint32_t n = first_node(p, first, end, moment);
             n < end && kino__node_start(p, &p->nodes.items[n]) == moment; n++) {
            uint32_t place = root_above(m, n);
            if (place != KINO__NO_NODE)
                return place;
        }
    }
    return KINO__NO_NODE;
}

static int compare_leads(const void *a, const void *b)
{
    const kino__lead *x = a, *y = b;
    if (x->forward != y->forward)
        return x->forward < y->forward ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* In order of start; of two flows from one start the later counts. */
static void sort_leads(kino__leads *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_leads);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && list->items[kept - 1].forward == list->items[i].forward)
            kept--;
        list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

bool kino__backward_match(kino__moving *m)
{
    pairs found = {0};
    m->has_roots = calloc(m->p->threads.count + 1, 1);
    bool ok = m->has_roots && index_roots(m) && find_pairs(m->p->trace, &found);
    for (size_t i = 0; ok && i < m->roots.count; i++)
        m->has_roots[m->p->nodes.items[m->roots.items[i]].thread] = true;
    for (size_t i = 0; ok && i < found.count; i++) {
        const pair *f = &found.items[i];
        uint32_t place = f->backward == KINO_NO_TIME ? KINO__NO_NODE : find_root(m, f->backward);
        if (place == KINO__NO_NODE || m->state[m->group[place]] != KINO__GROUP_ALONE)
            continue;
        kino__lead *slot = kino__vec_add(&m->leads);
        ok = slot != NULL;
        if (ok)
            *slot = (kino__lead){f->forward, (uint32_t)i, m->group[place]};
        m->state[m->group[place]] = KINO__GROUP_REACHED;
    }
    sort_leads(&m->leads);
    kino__vec_deinit(&found);
    return ok;
}

uint32_t kino__backward_group(kino__moving *m, const kino__node *n)
{
    const kino__lead *all = m->leads.items;
    int64_t start = kino__node_start(m->p, n);
    if (!n->is_operator)
        return KINO__NO_NODE;
    if (m->cursor > 0 && all[m->cursor - 1].forward >= start) { /* back: begin anew */
        size_t low = KINO__SEARCH(size_t, i, 0, m->cursor, all[i].forward < start);
        m->cursor = low;
    }
    while (m->cursor < m->leads.count && all[m->cursor].forward < start)
        m->cursor++;
    bool is_found = m->cursor < m->leads.count && all[m->cursor].forward == start;
    return is_found ? all[m->cursor].group : KINO__NO_NODE;
}
