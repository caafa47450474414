/* profile_node.c - nodes of the operator trees: what they hold, what is kept beside them, and the
 * way from a row to its node. */
#include <stdlib.h>

#include "base/search.h"
#include "model/profile/profile_internal.h"

_Static_assert(sizeof(kino__node) == 36, "there are very many");

/* -- walks */

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

uint32_t kino__node_last_child(const kino__profile *p, const kino__node *node)
{
    uint32_t last = KINO__NO_NODE;
    for (uint32_t c = node->first_child; c != KINO__NO_NODE; c = p->nodes.items[c].next_sibling)
        last = c;
    return last;
}

/* Launches of one node stand together and name the same node. */
const kino__launch *kino__node_launches(const kino__profile *p, const kino__node *node,
                                        uint32_t *count)
{
    *count = 0;
    if (node->first_launch == KINO__NO_NODE)
        return NULL;
    const kino__launch *first = &p->launches.items[node->first_launch];
    size_t most = p->launches.count - node->first_launch;
    while (*count < most && first[*count].node == first->node)
        ++*count;
    return first;
}

/* -- sums */

uint32_t kino__node_make(kino__profile *p, kino__node node, const kino__node_extra *extra)
{
    kino__node_extra *beside = kino__vec_add(&p->extras);
    kino__node *slot = beside ? kino__vec_add(&p->nodes) : NULL;
    if (!slot)
        return KINO__NO_NODE;
    *beside = *extra;
    *slot = node;
    slot->row = KINO_NO_ROW;
    slot->has_extra = true;
    slot->device = (uint32_t)(p->extras.count - 1);
    return (uint32_t)(p->nodes.count - 1);
}

static bool is_none_or(int64_t part, int64_t all)
{
    return part == 0 || part == all;
}

/* Most nodes launch all of their work themselves, or none, and all of it is for tensor cores, or
 * none; and few take seconds. */
static bool do_fit(const kino__node_sums *s)
{
    return s->self_host >= INT32_MIN && s->self_host <= INT32_MAX && s->device_total >= 0 &&
           s->device_total <= UINT32_MAX && is_none_or(s->device_self, s->device_total) &&
           is_none_or(s->tensor_total, s->device_total) &&
           is_none_or(s->tensor_self, s->device_self);
}

bool kino__node_set_sums(kino__profile *p, uint32_t node, const kino__node_sums *sums)
{
    kino__node *n = &p->nodes.items[node];
    if (!n->has_extra && do_fit(sums)) {
        n->self_host = (int32_t)sums->self_host;
        n->device = (uint32_t)sums->device_total;
        n->is_all_own = sums->device_self != 0;
        n->is_tensor = sums->tensor_total != 0;
        n->is_own_tensor = sums->tensor_self != 0;
        return true;
    }
    if (!n->has_extra) {
        kino__node_extra *extra = kino__vec_add(&p->extras);
        if (!extra)
            return false;
        *extra = (kino__node_extra){0};
        n->has_extra = true;
        n->device = (uint32_t)(p->extras.count - 1);
    }
    p->extras.items[n->device].sums = *sums;
    return true;
}

/* -- from rows to nodes */

bool kino__profile_index_nodes(kino__profile *p)
{
    if (!kino__row_rank_init(&p->node_rows, p->trace->event_count))
        return false;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (p->nodes.items[i].row != KINO_NO_ROW)
            kino__row_rank_add(&p->node_rows, p->nodes.items[i].row);
    (void)kino__row_rank_count(&p->node_rows);
    return true;
}

int kino__compare_node_rows(const void *a, const void *b, void *context)
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

static uint32_t search(const kino__profile *p, const kino__track_nodes *nodes, uint32_t row)
{
    void *trace = (void *)(uintptr_t)p->trace;
    return KINO__SEARCH(uint32_t, i, nodes->first, nodes->first + nodes->count - 1,
                        kino__compare_node_rows(&p->nodes.items[i].row, &row, trace) < 0);
}

uint32_t kino__profile_node_of(const kino__profile *p, uint32_t row)
{
    if (!kino__row_rank_has(&p->node_rows, row))
        return KINO__NO_NODE;
    uint32_t track = kino__trace_track_of(p->trace, row);
    const kino__track_nodes *nodes = &p->track_nodes[track];
    if (nodes->is_shared)
        return search(p, nodes, row);
    uint32_t before = kino__row_rank_of(&p->node_rows, p->trace->tracks.items[track].first);
    return nodes->first + kino__row_rank_of(&p->node_rows, row) - before;
}
