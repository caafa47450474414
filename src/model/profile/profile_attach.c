/* profile_attach.c - which operator launched what: launches to nodes, device work to launches.
 *
 * By external id: the first node that has it takes all launches with that id. A launch without
 * one, or whose id nobody has, belongs to the innermost node around it in its thread. (The
 * TensorBoard plugin gives launches without an id to the first node without one, D13, and those of
 * id 0 to the root of their thread, sometimes twice, D12.) */
#include <stdlib.h>

#include "model/profile/profile_internal.h"
#include "store/link.h"

typedef struct work_span {
    uint32_t first, count;
} work_span;

typedef struct attaching {
    kino__profile *p;
    kino__ids by_external; /* external id + 1, or 0 for "none" -> node */
    kino__map root_of_tid; /* compat: tid -> root */
    const uint32_t *launch_of_row;
    kino__row_rank calls; /* rows of launches */
    work_span *spans;     /* of each, in p->work */
} attaching;

static work_span *span_of(const attaching *a, uint32_t row)
{
    return &a->spans[kino__row_rank_of(&a->calls, row)];
}

/* -- device work by launch: counting sort of device rows by the row of their launch */

static uint32_t launch_of(const attaching *a, uint32_t row)
{
    uint32_t launch = a->launch_of_row[row];
    bool is_launch = launch != KINO_NO_ROW && a->p->type[launch] == KINO__EVENT_TYPE_RUNTIME;
    return is_launch ? launch : KINO_NO_ROW;
}

static int compare_start(const void *x, const void *y, void *context)
{
    const kino__trace *trace = context;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    if (trace->ts[a] != trace->ts[b])
        return trace->ts[a] < trace->ts[b] ? -1 : 1;
    return trace->number[a] < trace->number[b] ? -1 : trace->number[a] > trace->number[b];
}

/* The next row from here on that is device work, or event_count. */
static uint32_t next_work(const kino__profile *p, uint32_t row)
{
    while (row < p->trace->event_count && !kino__type_is_device(p->type[row]))
        row++;
    return row;
}

/* Returns how many there are. */
static bool collect_calls(attaching *a, uint32_t *count)
{
    const kino__profile *p = a->p;
    if (!kino__row_rank_init(&a->calls, p->trace->event_count))
        return false;
    for (uint32_t row = 0; row < p->trace->event_count; row++)
        if (p->type[row] == KINO__EVENT_TYPE_RUNTIME)
            kino__row_rank_add(&a->calls, row);
    *count = kino__row_rank_count(&a->calls);
    a->spans = calloc((size_t)*count + 1, sizeof *a->spans);
    return a->spans != NULL;
}

static bool collect_work(attaching *a)
{
    kino__profile *p = a->p;
    uint32_t events = p->trace->event_count, total = 0, calls;
    if (!collect_calls(a, &calls))
        return false;
    for (uint32_t row = next_work(p, 0); row < events; row = next_work(p, row + 1)) {
        uint32_t launch = launch_of(a, row);
        if (launch != KINO_NO_ROW) {
            span_of(a, launch)->count++;
            total++;
        } else if (p->type[row] == KINO__EVENT_TYPE_KERNEL) {
            uint32_t *slot = kino__vec_add(&p->stale);
            if (!slot)
                return false;
            *slot = row;
        }
    }
    if (!kino__vec_reserve(&p->work, (size_t)total + p->stale.count + 1))
        return false;
    p->work.count = total;
    uint32_t first = 0;
    for (uint32_t i = 0; i < calls; i++) {
        a->spans[i].first = first;
        first += a->spans[i].count;
        a->spans[i].count = 0;
    }
    for (uint32_t row = next_work(p, 0); row < events; row = next_work(p, row + 1)) {
        uint32_t launch = launch_of(a, row);
        if (launch == KINO_NO_ROW)
            continue;
        work_span *span = span_of(a, launch);
        p->work.items[span->first + span->count++] = row;
    }
    if (!kino__vec_reserve(&p->launches, calls + p->threads.count + 1))
        return false;
    if (p->stale.count)
        qsort_r(p->stale.items, p->stale.count, sizeof *p->stale.items, compare_start,
                (void *)(uintptr_t)p->trace);
    return true;
}

/* -- nodes by external id */

static uint64_t external_key(const kino__profile *p, uint32_t row)
{
    /* Modules have none, whatever they carry. */
    int64_t external =
        p->type[row] == KINO__EVENT_TYPE_MODULE ? KINO_NO_INT : kino__trace_external(p->trace, row);
    return external == KINO_NO_INT ? 0 : (uint64_t)external + 1;
}

/* Of nodes that start together the first in the file counts, not the longest. */
static bool is_earlier(const kino__profile *p, uint32_t node, uint32_t than)
{
    const kino__node *a = &p->nodes.items[node], *b = &p->nodes.items[than];
    return a->thread == b->thread && p->trace->ts[a->row] == p->trace->ts[b->row] &&
           p->trace->number[a->row] < p->trace->number[b->row];
}

/* Threads and nodes stand in the order in which the first one counts. */
static bool index_nodes(attaching *a)
{
    const kino__profile *p = a->p;
    uint64_t largest = 0;
    for (uint32_t row = 0; row < p->trace->event_count; row++) {
        uint32_t external = p->trace->external[row];
        largest = external < KINO__BIND_WIDE && external > largest ? external : largest;
    }
    if (!kino__ids_init(&a->by_external, largest + 1, p->nodes.count))
        return false;
    for (uint32_t i = 0; i < p->nodes.count; i++) {
        uint32_t row = p->nodes.items[i].row;
        if (row == KINO_NO_ROW)
            continue;
        uint64_t key = external_key(p, row);
        if (key == 0 && !p->is_compat)
            continue;
        uint32_t first = kino__ids_get(&a->by_external, key);
        if ((first == KINO__NO_NODE || is_earlier(p, i, first)) &&
            !kino__ids_set(&a->by_external, key, i))
            return false;
    }
    for (size_t t = 0; t < p->threads.count; t++)
        if (!kino__map_put(&a->root_of_tid, (uint64_t)p->threads.items[t].tid,
                           p->threads.items[t].root))
            return false;
    return true;
}

/* -- launches */

static bool add_launch(attaching *a, uint32_t row, uint32_t node)
{
    kino__launch *launch = kino__vec_add(&a->p->launches);
    if (!launch)
        return false;
    const work_span *span = span_of(a, row);
    *launch = (kino__launch){row, node, span->first, span->count};
    return true;
}

static bool add_compat(attaching *a, uint32_t row, const kino__track *track)
{
    const kino__trace *trace = a->p->trace;
    uint64_t key = external_key(a->p, row);
    bool ok = true;
    if (key == 1 && track->tid.kind == KINO__LABEL_INT &&
        !(trace->flags[row] & KINO__FLAG_TID_TEXT)) {
        const uint32_t *root = kino__map_get(&a->root_of_tid, (uint64_t)track->tid.number);
        ok = !root || add_launch(a, row, *root);
    }
    return ok && add_launch(a, row, kino__ids_get(&a->by_external, key));
}

/* Innermost node around each launch of a thread, in order of start: nodes stand in that order too,
 * so one pass over both finds them. */
typedef struct sweep {
    const kino__profile *p;
    uint32_t root, next, end; /* nodes of the thread are (root, end) */
    uint32_t open;            /* the node that started last and has not ended */
} sweep;

static uint32_t find_around(sweep *s, uint32_t row)
{
    const kino__node *nodes = s->p->nodes.items;
    int64_t start = s->p->trace->ts[row], end = kino__row_end(s->p->trace, row);
    for (; s->next < s->end && kino__node_start(s->p, &nodes[s->next]) <= start; s->next++)
        if (!nodes[s->next].is_dropped)
            s->open = s->next;
    while (s->open != s->root && kino__node_end(s->p, &nodes[s->open]) <= start)
        s->open = nodes[s->open].parent;
    uint32_t n = s->open;
    while (n != s->root && kino__node_end(s->p, &nodes[n]) < end)
        n = nodes[n].parent;
    return n;
}

/* The root of each track's thread, KINO__NO_NODE where it has no nodes. */
static uint32_t *roots_of_tracks(const kino__profile *p)
{
    size_t count = p->trace->tracks.count;
    uint32_t *roots = malloc((count + 1) * sizeof *roots);
    if (!roots)
        return NULL;
    memset(roots, 0xff, count * sizeof *roots);
    for (size_t t = 0; t < p->threads.count; t++)
        roots[p->threads.items[t].track] = p->threads.items[t].root;
    return roots;
}

static uint32_t end_of_thread(const kino__profile *p, uint32_t root)
{
    uint32_t next = p->nodes.items[root].thread + 1;
    return next < p->threads.count ? p->threads.items[next].root : (uint32_t)p->nodes.count;
}

static bool add_track(attaching *a, const kino__track *track, uint32_t root)
{
    const kino__profile *p = a->p;
    sweep s = {.p = p, .root = root, .next = root + 1, .open = root};
    if (root != KINO__NO_NODE)
        s.end = end_of_thread(p, root);
    for (uint32_t row = track->first; row < track->first + track->count; row++) {
        if (p->type[row] != KINO__EVENT_TYPE_RUNTIME)
            continue;
        if (p->is_compat) {
            if (!add_compat(a, row, track))
                return false;
            continue;
        }
        uint64_t key = external_key(p, row);
        uint32_t node = key > 1 ? kino__ids_get(&a->by_external, key) : KINO__NO_NODE;
        if (node == KINO__NO_NODE && root != KINO__NO_NODE)
            node = find_around(&s, row);
        if (!add_launch(a, row, node))
            return false;
    }
    return true;
}

/* Kernels that nothing launched hang under the root of the threads that have steps; the plugin
 * lists them under each of those (D3). */
static bool add_stale(attaching *a)
{
    kino__profile *p = a->p;
    if (p->stale.count == 0)
        return true;
    uint32_t first = (uint32_t)p->work.count;
    memcpy(p->work.items + first, p->stale.items, p->stale.count * sizeof *p->stale.items);
    p->work.count += p->stale.count;
    for (size_t t = 0; t < p->threads.count; t++) {
        if (!p->threads.items[t].has_steps)
            continue;
        kino__launch *launch = kino__vec_add(&p->launches);
        if (!launch)
            return false;
        *launch =
            (kino__launch){KINO_NO_ROW, p->threads.items[t].root, first, (uint32_t)p->stale.count};
        if (!p->is_compat)
            break;
    }
    return true;
}

/* -- launches by node */

static int compare_launches(const void *x, const void *y, void *context)
{
    const kino__trace *trace = context;
    const kino__launch *a = x, *b = y;
    if (a->row == KINO_NO_ROW || b->row == KINO_NO_ROW)
        return (a->row == KINO_NO_ROW) - (b->row == KINO_NO_ROW);
    if (trace->ts[a->row] != trace->ts[b->row])
        return trace->ts[a->row] < trace->ts[b->row] ? -1 : 1;
    int64_t a_end = kino__row_end(trace, a->row), b_end = kino__row_end(trace, b->row);
    return a_end > b_end ? -1 : a_end < b_end;
}

/* The launches of one node, [first, end). */
static void set_launches(kino__profile *p, kino__launch *all, size_t first, size_t end)
{
    kino__node *n = &p->nodes.items[all[first].node];
    void *trace = (void *)(uintptr_t)p->trace;
    n->first_launch = (uint32_t)first;
    for (size_t i = first + 1; i < end; i++) {
        if (compare_launches(&all[i - 1], &all[i], trace) <= 0)
            continue;
        qsort_r(all + first, end - first, sizeof *all, compare_launches, trace);
        break;
    }
}

/* Where each launch goes: by node, of one node as they are, those of no node last. Counts in
 * first_launch of the nodes. */
static void find_places(kino__profile *p, uint32_t *places)
{
    kino__node *nodes = p->nodes.items;
    uint32_t next = 0;
    for (size_t n = 0; n < p->nodes.count; n++)
        nodes[n].first_launch = 0;
    for (size_t i = 0; i < p->launches.count; i++)
        if (p->launches.items[i].node != KINO__NO_NODE)
            nodes[p->launches.items[i].node].first_launch++;
    for (size_t n = 0; n < p->nodes.count; n++) {
        uint32_t count = nodes[n].first_launch;
        nodes[n].first_launch = next;
        next += count;
    }
    for (size_t i = 0; i < p->launches.count; i++) {
        uint32_t node = p->launches.items[i].node;
        places[i] = node == KINO__NO_NODE ? next++ : nodes[node].first_launch++;
    }
    for (size_t n = 0; n < p->nodes.count; n++)
        nodes[n].first_launch = KINO__NO_NODE;
}

/* Moves every launch to its place, along the cycles of the exchange. */
static void move_to_places(kino__launch *launches, uint32_t *places, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (places[i] != i) {
            uint32_t to = places[i];
            kino__launch moved = launches[to];
            launches[to] = launches[i];
            launches[i] = moved;
            places[i] = places[to];
            places[to] = to;
        }
    }
}

static bool group_launches(kino__profile *p)
{
    size_t count = p->launches.count;
    kino__launch *all = p->launches.items;
    uint32_t *places = malloc((count + 1) * sizeof *places);
    if (!places)
        return false;
    find_places(p, places);
    move_to_places(all, places, count);
    free(places);
    for (size_t i = 0, next; i < count && all[i].node != KINO__NO_NODE; i = next) {
        for (next = i + 1; next < count && all[next].node == all[i].node;)
            next++;
        set_launches(p, all, i, next);
    }
    return true;
}

bool kino__profile_attach(kino__profile *p)
{
    attaching a = {.p = p, .launch_of_row = kino__link_launch(p->trace)};
    uint32_t *roots = roots_of_tracks(p);
    kino__map_init(&a.root_of_tid, NULL);
    bool ok = a.launch_of_row && roots && collect_work(&a) && index_nodes(&a);
    for (size_t t = 0; ok && t < p->trace->tracks.count; t++)
        ok = !(p->types_of_track[t] & 1u << KINO__EVENT_TYPE_RUNTIME) ||
             add_track(&a, &p->trace->tracks.items[t], roots[t]);
    ok = ok && add_stale(&a);
    kino__ids_deinit(&a.by_external);
    kino__map_deinit(&a.root_of_tid);
    kino__row_rank_deinit(&a.calls);
    free(a.spans);
    free(roots);
    return ok && group_launches(p);
}
