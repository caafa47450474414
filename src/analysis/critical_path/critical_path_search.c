/* critical_path_search.c - the longest path through the graph.
 *
 * Nodes in an order in which every edge leads forwards (first those without a predecessor, then
 * those whose last predecessor was seen); each node keeps the best edge into it. Of equal ones the
 * edge that was made first wins, and of equal ends the first in this order, so that the answer is
 * always the same. Linear in nodes and edges. */
#include "analysis/critical_path/critical_path_internal.h"
#include "base/large.h"

typedef struct search {
    kino__critical *c;
    uint32_t *first; /* edges from node n: from[first[n]] .. from[first[n + 1]] */
    uint32_t *from;
    uint32_t *waits;   /* edges into a node that were not seen */
    uint32_t *order;   /* nodes */
    int64_t *distance; /* longest way to a node so far */
    uint32_t *best;    /* edge it comes by; KINO__NO_POINT: starts here */
    uint8_t *is_in;    /* has an edge */
} search;

/* Edges by their source, in the order they were made. */
static void sort_edges(search *s)
{
    const kino__edges *edges = &s->c->edges;
    for (size_t e = 0; e < edges->count; e++)
        s->first[edges->items[e].from + 2]++;
    for (uint32_t n = 2; n < s->c->node_count + 2; n++)
        s->first[n] += s->first[n - 1];
    for (size_t e = 0; e < edges->count; e++)
        s->from[s->first[edges->items[e].from + 1]++] = (uint32_t)e;
}

/* An edge that was made twice stays where it was, with what was said last. */
static bool join_doubles(search *s)
{
    kino__edges *edges = &s->c->edges;
    uint32_t nodes = s->c->node_count;
    uint32_t *seen = kino__large_new((size_t)nodes + 1, sizeof *seen);
    if (!seen)
        return false;
    memset(seen, 0xff, (size_t)nodes * sizeof *seen);
    bool has_doubles = false;
    for (uint32_t n = 0; n < nodes; n++) {
        for (uint32_t i = s->first[n]; i < s->first[n + 1]; i++) {
            kino__edge *edge = &edges->items[s->from[i]];
            kino__edge *before =
                seen[edge->to] == UINT32_MAX ? NULL : &edges->items[seen[edge->to]];
            if (before && before->from == n) {
                *before = *edge;
                edge->from = KINO__NO_POINT;
                has_doubles = true;
            } else {
                seen[edge->to] = s->from[i];
            }
        }
    }
    kino__large_free(seen);
    size_t count = 0;
    for (size_t e = 0; has_doubles && e < edges->count; e++)
        if (edges->items[e].from != KINO__NO_POINT)
            edges->items[count++] = edges->items[e];
    if (has_doubles) {
        edges->count = count;
        memset(s->first, 0, ((size_t)nodes + 2) * sizeof *s->first);
        sort_edges(s);
    }
    return true;
}

/* HTA counts what is shorter than minus one microsecond as nothing; so do we with anything that
 * is negative, but for waits, which only we give a weight when they go back in time. */
static int64_t path_weight(const kino__critical *c, const kino__edge *edge)
{
    if (edge->type == KINO__EDGE_SYNC)
        return edge->weight;
    int64_t least = c->f->mode == KINO__FRAME_HTA_NS ? -999 : 0;
    return edge->weight < least ? 0 : edge->weight;
}

/* Both ends of the edges in order of their first appearance. */
static uint32_t find_starts(search *s)
{
    const kino__edges *edges = &s->c->edges;
    uint32_t count = 0;
    for (size_t e = 0; e < edges->count; e++)
        s->waits[edges->items[e].to]++;
    for (size_t e = 0; e < edges->count; e++) {
        uint32_t ends[2] = {edges->items[e].from, edges->items[e].to};
        for (int i = 0; i < 2; i++) {
            if (s->is_in[ends[i]])
                continue;
            s->is_in[ends[i]] = 1;
            s->c->in_graph++;
            if (s->waits[ends[i]] == 0)
                s->order[count++] = ends[i];
        }
    }
    return count;
}

static void visit(search *s, uint32_t node, uint32_t *count)
{
    const kino__critical *c = s->c;
    if (s->best[node] == KINO__NO_POINT || s->distance[node] < 0) {
        s->best[node] = KINO__NO_POINT;
        s->distance[node] = 0;
    }
    for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
        uint32_t e = s->from[i];
        const kino__edge *edge = &c->edges.items[e];
        int64_t way = kino__sum(s->distance[node], path_weight(c, edge));
        uint32_t best = s->best[edge->to];
        if (best == KINO__NO_POINT || way > s->distance[edge->to] ||
            (way == s->distance[edge->to] && e < best)) {
            s->distance[edge->to] = way;
            s->best[edge->to] = e;
        }
        if (--s->waits[edge->to] == 0)
            s->order[(*count)++] = edge->to;
    }
}

static bool keep_path(search *s, uint32_t count)
{
    kino__critical *c = s->c;
    if (count == 0)
        return true;
    uint32_t node = s->order[0];
    for (uint32_t i = 1; i < count; i++)
        if (s->distance[s->order[i]] > s->distance[node])
            node = s->order[i];
    for (; s->best[node] != KINO__NO_POINT; node = c->edges.items[s->best[node]].from) {
        uint32_t *slot = kino__vec_add(&c->path);
        if (!slot)
            return false;
        *slot = s->best[node];
    }
    c->path_start = node;
    for (size_t i = 0; i < c->path.count / 2; i++) {
        uint32_t other = c->path.items[c->path.count - 1 - i];
        c->path.items[c->path.count - 1 - i] = c->path.items[i];
        c->path.items[i] = other;
    }
    return true;
}

/* A stream that waits for itself makes no sense. */
static bool has_odd_sync(const kino__critical *c)
{
    for (size_t e = 0; e < c->edges.count; e++) {
        const kino__edge *edge = &c->edges.items[e];
        int64_t stream = c->stream[kino__node_event(c, edge->from)];
        if (edge->type == KINO__EDGE_SYNC && stream != -1 &&
            stream == c->stream[kino__node_event(c, edge->to)])
            return true;
    }
    return false;
}

bool kino__critical_search(kino__critical *c)
{
    size_t nodes = (size_t)c->node_count + 2;
    search s = {.c = c,
                .first = kino__large_new(nodes, sizeof *s.first),
                .from = kino__large_new(c->edges.count + 1, sizeof *s.from),
                .waits = kino__large_new(nodes, sizeof *s.waits),
                .order = kino__large_new(nodes, sizeof *s.order),
                .distance = kino__large_new(nodes, sizeof *s.distance),
                .best = kino__large_new(nodes, sizeof *s.best),
                .is_in = kino__large_new(nodes, sizeof *s.is_in)};
    bool ok = s.first && s.from && s.waits && s.order && s.distance && s.best && s.is_in;
    if (ok) {
        memset(s.best, 0xff, nodes * sizeof *s.best);
        sort_edges(&s);
        ok = join_doubles(&s);
    }
    uint32_t count = ok ? find_starts(&s) : 0;
    for (uint32_t i = 0; ok && i < count; i++)
        visit(&s, s.order[i], &count);
    c->in_cycle = c->in_graph - count;
    ok = ok && keep_path(&s, count);
    c->is_ok = ok && c->in_cycle == 0 && !has_odd_sync(c);
    kino__large_free(s.first);
    kino__large_free(s.from);
    kino__large_free(s.waits);
    kino__large_free(s.order);
    kino__large_free(s.distance);
    kino__large_free(s.best);
    kino__large_free(s.is_in);
    return ok;
}
