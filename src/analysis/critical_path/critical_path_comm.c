/* critical_path_comm.c - edges of collectives that the host carries out (gloo, MPI, UCC).
 *
 * An operator asks for the collective and returns; a thread of the library carries it out; the
 * thread that asked waits for it later, where it does nothing else:
 *
 *   main   c10d::allreduce_      other operators               (waits)   next operator
 *               |                                                  ^
 *   gloo        +--> gloo:all_reduce ------------------------------+
 *
 * Libraries take what they are asked for in this order, so of each operation the first call that
 * is left belongs to the collective that starts next. All edges lead forwards in time. */
#include "analysis/critical_path/critical_path_internal.h"
#include "base/large.h"
#include "names/communication.h"

/* Calls of one operation that no collective took yet. */
typedef struct call_queue {
    uint32_t first, last; /* positions; KINO_NO_ROW */
} call_queue;

/* What is known of a position. */
enum {
    MARK_OTHER = 1, /* a call: it went to a device */
    MARK_NEEDED = 2 /* a collective: something waited for it */
};

typedef struct comm {
    kino__critical *c;
    uint32_t *call;     /* by position of a collective: what asked for it; + 1, 0: unknown */
    uint32_t *next;     /* by position of a call: the next in its queue */
    uint8_t *marks;     /* by position */
    uint32_t *open;     /* by track: the latest call; + 1, 0: none */
    kino__map queue_of; /* operation -> its place among queues */
    KINO__VEC(call_queue) queues;
    uint32_t *near;     /* by lane: the node before, or behind, where a sweep is */
    uint32_t *beside;   /* by track: the same of collectives */
    uint32_t main_lane; /* of the thread that does most */
    bool has_calls;
} comm;

static int64_t end_of(const kino__frame *f, uint32_t at)
{
    return kino__sum(f->ts[at], f->dur[at] > 0 ? f->dur[at] : 0);
}

static uint32_t track_of(const comm *m, uint32_t at)
{
    return kino__trace_track_of(m->c->f->trace, m->c->f->row[at]);
}

/* -- who asked for what -- */

static call_queue *queue_for(comm *m, uint32_t at)
{
    const kino__frame *f = m->c->f;
    const kino__comm_operation *operation =
        kino__comm_operation_of(kino__trace_string(f->trace, f->trace->name[f->row[at]]));
    uint32_t *place =
        kino__map_put(&m->queue_of, (uint64_t)(uintptr_t)operation, (uint32_t)m->queues.count);
    if (!place)
        return NULL;
    if (*place == m->queues.count) {
        call_queue *added = kino__vec_add(&m->queues);
        if (!added)
            return NULL;
        *added = (call_queue){KINO_NO_ROW, KINO_NO_ROW};
    }
    return &m->queues.items[*place];
}

static uint32_t open_call(const comm *m, uint32_t at)
{
    uint32_t open = m->open[track_of(m, at)];
    return open && m->c->f->ts[at] < end_of(m->c->f, open - 1) ? open - 1 : KINO_NO_ROW;
}

/* Of calls within calls the outermost counts. */
static bool see_call(comm *m, uint32_t at)
{
    if (open_call(m, at) != KINO_NO_ROW)
        return true;
    call_queue *queue = queue_for(m, at);
    if (!queue)
        return false;
    m->open[track_of(m, at)] = at + 1;
    m->next[at] = KINO_NO_ROW;
    if (queue->first == KINO_NO_ROW)
        queue->first = at;
    else
        m->next[queue->last] = at;
    queue->last = at;
    m->has_calls = true;
    return true;
}

static bool see_collective(comm *m, uint32_t at)
{
    call_queue *queue = queue_for(m, at);
    if (!queue)
        return false;
    while (queue->first != KINO_NO_ROW && m->marks[queue->first] & MARK_OTHER)
        queue->first = m->next[queue->first];
    if (queue->first == KINO_NO_ROW)
        return true;
    m->call[at] = queue->first + 1;
    queue->first = m->next[queue->first];
    return true;
}

static bool see(comm *m, uint32_t at)
{
    uint16_t flags = kino__name_flags(m->c, at);
    if (flags & KINO__NAME_DISPATCHES)
        return see_call(m, at);
    if (flags & KINO__NAME_CARRIES)
        return see_collective(m, at);
    uint32_t call = open_call(m, at);
    if (call != KINO_NO_ROW)
        m->marks[call] |= MARK_OTHER;
    return true;
}

/* In the whole trace: what starts in the region may have been asked for before. */
static bool match_calls(comm *m)
{
    const uint16_t flags = KINO__NAME_CARRIES | KINO__NAME_DISPATCHES | KINO__NAME_ON_DEVICE;
    const kino__frame *f = m->c->f;
    uint32_t *order = kino__large_new((size_t)f->count + 1, sizeof *order);
    int64_t *times = kino__large_new((size_t)f->count + 1, sizeof *times);
    bool ok = order && times;
    size_t count = 0;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        if (!kino__is_comm_span(m->c, at, flags))
            continue;
        order[count] = at;
        times[count++] = f->ts[at];
    }
    ok = ok && kino__sort_by_time(times, order, count);
    for (size_t i = 0; ok && i < count; i++)
        ok = see(m, order[i]);
    kino__large_free(order);
    kino__large_free(times);
    return ok;
}

/* -- edges -- */

static uint32_t call_of(const comm *m, uint32_t at)
{
    return m->call[at] ? m->call[at] - 1 : KINO_NO_ROW;
}

/* The thread that asked, as far as it is known. */
static uint32_t lane_of(const comm *m, uint32_t at)
{
    uint32_t call = call_of(m, at);
    uint32_t node = call == KINO_NO_ROW ? KINO__NO_POINT : kino__start_node(m->c, call);
    uint32_t lane = node == KINO__NO_POINT ? KINO__NO_POINT : m->c->node_lane[node];
    return lane == KINO__NO_POINT ? m->main_lane : lane;
}

/* From inside an event its time until then counts. */
static bool add_part(comm *m, uint32_t from, uint32_t to)
{
    const int64_t *ts = m->c->node_ts;
    if (kino__node_is_end(m->c, from))
        return kino__critical_add(m->c, from, to, KINO__EDGE_DEPENDENCY, 0, KINO_NO_ROW);
    return kino__critical_add(m->c, from, to, KINO__EDGE_OPERATOR,
                              kino__time_between(ts[from], ts[to]), kino__node_event(m->c, from));
}

/* A collective may start before the call for it returns. Where the trace has no calls (old
 * versions of PyTorch), the thread asked at the latest where it is then. */
static bool add_launch(comm *m, uint32_t at, uint32_t start)
{
    uint32_t call = call_of(m, at);
    if (call == KINO_NO_ROW) {
        uint32_t before =
            m->has_calls || m->main_lane == KINO__NO_POINT ? KINO__NO_POINT : m->near[m->main_lane];
        return before == KINO__NO_POINT || add_part(m, before, start);
    }
    uint32_t from = kino__end_node(m->c, call);
    if (from == KINO__NO_POINT || from > start)
        from = kino__start_node(m->c, call);
    return from == KINO__NO_POINT || from > start || add_part(m, from, start);
}

static bool is_collective(const kino__critical *c, uint32_t node)
{
    return kino__is_comm_span(c, kino__node_event(c, node), KINO__NAME_CARRIES);
}

/* Where a sweep is; true at a collective's start (or end). */
static bool pass(comm *m, uint32_t node, bool is_end)
{
    const kino__critical *c = m->c;
    if (c->node_lane[node] != KINO__NO_POINT)
        m->near[c->node_lane[node]] = node;
    return kino__node_is_end(c, node) == is_end && is_collective(c, node);
}

/* Backwards: who waited for it. A thread that was at work did not; what comes next in the same
 * thread of the library did. */
static bool add_waits(comm *m)
{
    kino__critical *c = m->c;
    for (uint32_t n = c->node_count; n-- > 0;) {
        if (!pass(m, n, true))
            continue;
        uint32_t at = kino__node_event(c, n), lane = lane_of(m, at);
        uint32_t next = lane == KINO__NO_POINT ? KINO__NO_POINT : m->near[lane];
        uint32_t *beside = &m->beside[track_of(m, at)];
        bool is_needed = next == KINO__NO_POINT || c->after_rest[next] ||
                         (*beside != KINO__NO_POINT && *beside > n &&
                          m->marks[kino__node_event(c, *beside)] & MARK_NEEDED);
        if (next != KINO__NO_POINT && c->after_rest[next] &&
            !kino__critical_add(c, n, next, KINO__EDGE_DEPENDENCY, 0, KINO_NO_ROW))
            return false;
        m->marks[at] |= is_needed ? MARK_NEEDED : 0;
        *beside = kino__start_node(c, at);
    }
    return true;
}

/* Forwards: what a collective had to wait for, and its time. One that nobody waited for has its
 * time only: no path leads into it, as it would end there. */
static bool add_starts(comm *m)
{
    kino__critical *c = m->c;
    for (uint32_t n = 0; n < c->node_count; n++) {
        if (!pass(m, n, false))
            continue;
        uint32_t at = kino__node_event(c, n), end = kino__end_node(c, at);
        uint32_t *beside = &m->beside[track_of(m, at)];
        if (!kino__critical_add(c, n, end, KINO__EDGE_OPERATOR,
                                kino__time_between(c->node_ts[n], c->node_ts[end]), at))
            return false;
        if (m->marks[at] & MARK_NEEDED &&
            (!add_launch(m, at, n) || (*beside < n && !add_part(m, *beside, n))))
            return false;
        *beside = end;
    }
    return true;
}

static void find_main_lane(comm *m, uint32_t *counts)
{
    m->main_lane = KINO__NO_POINT;
    for (uint32_t n = 0; n < m->c->node_count; n++) {
        uint32_t lane = m->c->node_lane[n];
        if (lane == KINO__NO_POINT)
            continue;
        counts[lane]++;
        if (m->main_lane == KINO__NO_POINT || counts[lane] > counts[m->main_lane])
            m->main_lane = lane;
    }
}

static void forget_places(comm *m, size_t tracks)
{
    memset(m->near, 0xff, tracks * sizeof *m->near);
    memset(m->beside, 0xff, tracks * sizeof *m->beside);
}

static bool add_edges(comm *m, size_t tracks)
{
    find_main_lane(m, m->near);
    forget_places(m, tracks);
    if (!add_waits(m))
        return false;
    forget_places(m, tracks);
    return add_starts(m);
}

static bool has_collectives(const kino__critical *c)
{
    for (uint32_t i = 0; i < c->event_count; i++)
        if (kino__is_comm_span(c, c->events[i], KINO__NAME_CARRIES))
            return true;
    return false;
}

bool kino__critical_comm(kino__critical *c)
{
    if (!has_collectives(c))
        return true;
    size_t events = (size_t)c->f->count + 1, tracks = c->f->trace->tracks.count + 1;
    comm m = {.c = c,
              .call = kino__large_new(events, sizeof *m.call),
              .next = kino__large_new(events, sizeof *m.next),
              .marks = kino__large_new(events, sizeof *m.marks),
              .open = kino__large_new(tracks, sizeof *m.open),
              .near = kino__large_new(tracks, sizeof *m.near),
              .beside = kino__large_new(tracks, sizeof *m.beside)};
    kino__map_init(&m.queue_of, NULL);
    bool ok = m.call && m.next && m.marks && m.open && m.near && m.beside && match_calls(&m) &&
              add_edges(&m, tracks);
    kino__map_deinit(&m.queue_of);
    kino__vec_deinit(&m.queues);
    kino__large_free(m.call);
    kino__large_free(m.next);
    kino__large_free(m.marks);
    kino__large_free(m.open);
    kino__large_free(m.near);
    kino__large_free(m.beside);
    return ok;
}
