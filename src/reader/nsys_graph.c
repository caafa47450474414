/* nsys_graph.c - where the nodes of CUDA graphs come from.
 *
 * The kernels of a replay share the launch of the graph, so their launch does not say which op they
 * belong to. Their node does: CUDA_GRAPH_NODE_EVENTS has when and on which thread it was made, and
 * of which node it is a copy. The innermost range that was open there then is its op: both get the
 * same "External id".
 *
 *   kernel ─ graphNodeId ─► node ─ originalGraphNodeId ─► ... ─► node ─ thread, time ─► range */
#include <stdlib.h>

#include "reader/nsys_internal.h"

enum { COPIES_MOST = 64 };

typedef struct open_range {
    uint64_t thread;
    int64_t start, end;
    uint64_t position; /* of its row */
} open_range;

static void fail(kino__nsys *n)
{
    n->activities.events.part.failed = true;
}

static uint64_t node_key(uint64_t process, int64_t id)
{
    return kino__hash_u64(process) ^ (uint64_t)id;
}

static void read_events(kino__nsys *n)
{
    enum { START, THREAD, NODE, ORIGINAL, COLUMNS };
    static const char *const columns[COLUMNS] = {"start", "globalTid", "graphNodeId",
                                                 "originalGraphNodeId"};
    kino__sqlite_scan scan;
    kino__sqlite_scan_init(&scan, &n->db, "CUDA_GRAPH_NODE_EVENTS", columns, COLUMNS);
    while (kino__nsys_next(n, &scan)) {
        kino__nsys_node node = {.thread = (uint64_t)kino__sqlite_scan_int(&scan, THREAD),
                                .time = kino__sqlite_scan_int(&scan, START),
                                .id = kino__sqlite_scan_int(&scan, NODE),
                                .original = kino__sqlite_scan_int(&scan, ORIGINAL)};
        if (node.id == KINO_NO_INT || node.time == KINO_NO_INT)
            continue;
        node.process = kino__nsys_process((int64_t)node.thread);
        kino__nsys_node *slot = kino__vec_add(&n->nodes);
        uint32_t *at =
            slot ? kino__map_put(&n->node_of, node_key(node.process, node.id), UINT32_MAX) : NULL;
        if (!at) {
            fail(n);
            break;
        }
        *slot = node;
        *at = (uint32_t)n->nodes.count - 1;
    }
    kino__sqlite_rows_deinit(&scan.rows);
}

static int compare_ranges(const void *a, const void *b)
{
    const open_range *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

typedef struct node_time {
    uint64_t thread;
    int64_t time;
    uint32_t node;
} node_time;

static int compare_times(const void *a, const void *b)
{
    const node_time *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

/* Ranges of threads that made nodes. */
static open_range *read_ranges(kino__nsys *n, kino__map *threads, size_t *count)
{
    KINO__VEC(open_range) ranges = {0};
    kino__sqlite_scan scan;
    kino__nsys_scan_ranges(n, &scan);
    while (kino__nsys_next(n, &scan)) {
        uint64_t thread = (uint64_t)kino__sqlite_scan_int(&scan, KINO__NVTX_THREAD);
        int64_t end = kino__sqlite_scan_int(&scan, KINO__NVTX_END);
        if (!kino__nsys_is_range(&scan) || !kino__map_get(threads, thread))
            continue;
        open_range *slot = kino__vec_add(&ranges);
        if (!slot) {
            fail(n);
            break;
        }
        *slot = (open_range){thread, kino__sqlite_scan_int(&scan, KINO__NVTX_START),
                             end == KINO_NO_INT ? INT64_MAX : end, scan.rows.position};
    }
    kino__sqlite_rows_deinit(&scan.rows);
    *count = ranges.count;
    if (ranges.count)
        qsort(ranges.items, ranges.count, sizeof *ranges.items, compare_ranges);
    return ranges.items;
}

/* Goes through both in order of time, with the open ranges of the thread on a stack. */
static void find_ranges(kino__nsys *n, const node_time *times, const open_range *ranges,
                        size_t range_count)
{
    size_t next = 0;
    KINO__VEC(const open_range *) open = {0};
    for (size_t i = 0; i < n->nodes.count; i++) {
        const node_time *t = &times[i];
        while (next < range_count &&
               (ranges[next].thread < t->thread ||
                (ranges[next].thread == t->thread && ranges[next].start <= t->time))) {
            const open_range *range = &ranges[next++];
            while (open.count && (open.items[open.count - 1]->thread != range->thread ||
                                  open.items[open.count - 1]->end <= range->start))
                open.count--;
            const open_range **slot = kino__vec_add(&open);
            if (!slot) {
                fail(n);
                goto done;
            }
            *slot = range;
        }
        while (open.count && (open.items[open.count - 1]->thread != t->thread ||
                              open.items[open.count - 1]->end < t->time))
            open.count--;
        n->nodes.items[t->node].range = open.count ? open.items[open.count - 1]->position : 0;
    }
done:
    kino__vec_deinit(&open);
}

/* Each range that has nodes gets an id. */
static void number_ranges(kino__nsys *n)
{
    for (size_t i = 0; i < n->nodes.count; i++) {
        uint64_t range = n->nodes.items[i].range;
        uint32_t fresh = (uint32_t)n->external_of.count + 1;
        if (range && !kino__map_put(&n->external_of, range, fresh))
            fail(n);
    }
}

void kino__nsys_read_nodes(kino__nsys *n)
{
    kino__map threads;
    size_t range_count = 0;
    read_events(n);
    if (!n->nodes.count)
        return;
    kino__map_init(&threads, NULL);
    node_time *times = malloc(n->nodes.count * sizeof *times);
    for (size_t i = 0; times && i < n->nodes.count; i++) {
        const kino__nsys_node *node = &n->nodes.items[i];
        times[i] = (node_time){node->thread, node->time, (uint32_t)i};
        if (!kino__map_put(&threads, node->thread, 1))
            fail(n);
    }
    open_range *ranges = times ? read_ranges(n, &threads, &range_count) : NULL;
    if (times) {
        qsort(times, n->nodes.count, sizeof *times, compare_times);
        find_ranges(n, times, ranges, range_count);
        number_ranges(n);
    } else {
        fail(n);
    }
    free(ranges);
    free(times);
    kino__map_deinit(&threads);
}

static const kino__nsys_node *find_node(const kino__nsys *n, uint64_t process, int64_t id)
{
    const uint32_t *at = kino__map_get(&n->node_of, node_key(process, id));
    const kino__nsys_node *node = at ? &n->nodes.items[*at] : NULL;
    return node && node->process == process && node->id == id ? node : NULL;
}

int64_t kino__nsys_node_external(const kino__nsys *n, uint64_t process, int64_t id)
{
    if (id == KINO_NO_INT || !n->nodes.count)
        return KINO_NO_INT;
    const kino__nsys_node *node = find_node(n, process, id), *next = node;
    for (int copies = 0; next && copies < COPIES_MOST; copies++) {
        node = next;
        bool is_copy = node->original != KINO_NO_INT && node->original != node->id;
        next = is_copy ? find_node(n, process, node->original) : NULL;
    }
    const uint32_t *external =
        node && node->range ? kino__map_get(&n->external_of, node->range) : NULL;
    return external ? (int64_t)*external : KINO_NO_INT;
}
