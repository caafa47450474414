/* critical_path_host.c - edges between events of the host: calls that hold the runtime's lock, and
 * the call stack of each thread. */
#include <stdlib.h>

#include "analysis/critical_path/critical_path_internal.h"
#include "base/large.h"

/* -- the runtime's lock -- */

static bool holds_lock(const kino__critical *c, uint32_t node)
{
    return kino__name_flags(c, kino__node_event(c, node)) & KINO__NAME_LOCK;
}

/* An end: of the calls that are open, this one is charged with its time, the others waited for
 * it. */
static bool close_calls(kino__critical *c, uint32_t end, const uint32_t *open, size_t count)
{
    uint32_t at = kino__node_event(c, end);
    while (count-- > 0) {
        uint32_t start = open[count];
        bool is_own = kino__node_event(c, start) == at;
        if (!kino__critical_add(c, start, end, is_own ? KINO__EDGE_OPERATOR : KINO__EDGE_DEPENDENCY,
                                is_own ? kino__time_between(c->node_ts[start], c->node_ts[end]) : 0,
                                is_own ? at : KINO_NO_ROW))
            return false;
    }
    return true;
}

static bool add_lock_edges(kino__critical *c)
{
    KINO__VEC(uint32_t) open = {0};
    uint32_t last = KINO__NO_POINT;
    bool ok = true;
    for (uint32_t n = 0; ok && n < c->node_count; n++) {
        if (!holds_lock(c, n))
            continue;
        if (!kino__node_is_end(c, n)) {
            uint32_t *slot = kino__vec_add(&open);
            ok = slot != NULL;
            if (slot)
                *slot = n;
        } else {
            ok = close_calls(c, n, open.items, open.count);
            open.count = 0;
            if (ok && last != KINO__NO_POINT && kino__node_is_end(c, last))
                ok = kino__critical_add(c, last, n, KINO__EDGE_DEPENDENCY, 0, KINO_NO_ROW);
        }
        last = n;
    }
    kino__vec_deinit(&open);
    return ok;
}

/* -- threads -- */

/* Both have edges already. */
static bool shares_lock(const kino__critical *c, uint32_t a, uint32_t b)
{
    return holds_lock(c, a) && holds_lock(c, b) &&
           (!kino__node_is_end(c, a) || kino__node_is_end(c, b));
}

/* Where the walk through a thread's stack is. */
typedef struct walk {
    uint32_t last;        /* node, or KINO__NO_POINT */
    uint32_t last_parent; /* position of the caller of its event, or KINO_NO_ROW */
    int64_t depth;        /* events with nodes that are open */
    uint32_t lane;
} walk;

static uint32_t charged_to(const kino__critical *c, const walk *w, uint32_t node)
{
    if (!kino__node_is_end(c, w->last))
        return kino__node_event(c, w->last);
    return kino__node_is_end(c, node) ? kino__node_event(c, node) : w->last_parent;
}

/* Between operators, or in one that is there for communication, a thread may wait for it. */
static bool may_rest(const kino__critical *c, const walk *w)
{
    if (w->last == KINO__NO_POINT || w->depth == 0)
        return true;
    uint32_t inside = kino__node_is_end(c, w->last) ? w->last_parent : kino__node_event(c, w->last);
    return inside != KINO_NO_ROW &&
           kino__is_comm_span(c, inside, KINO__NAME_DISPATCHES | KINO__NAME_AWAITS);
}

static bool step_to(kino__critical *c, walk *w, uint32_t node, uint32_t parent)
{
    bool is_end = kino__node_is_end(c, node), ok = true;
    c->node_lane[node] = w->lane;
    c->after_rest[node] = may_rest(c, w);
    if (w->last != KINO__NO_POINT && !shares_lock(c, w->last, node)) {
        uint16_t flags = kino__name_flags(c, kino__node_event(c, node));
        int64_t between = kino__time_between(c->node_ts[w->last], c->node_ts[node]);
        if (!is_end && w->depth == 0)
            ok = kino__critical_add(c, w->last, node, KINO__EDGE_DEPENDENCY, 0, KINO_NO_ROW);
        else
            ok = kino__critical_add(c, w->last, node, KINO__EDGE_OPERATOR,
                                    is_end && flags & KINO__NAME_BLOCKING ? 0 : between,
                                    charged_to(c, w, node));
    }
    w->last = node;
    w->last_parent = parent;
    w->depth += is_end ? -1 : 1;
    return ok;
}

/* Collectives are no part of a thread's stack: they may run beside what their thread does. */
static bool walk_lane(kino__critical *c, uint32_t lane, const uint64_t *marks, size_t count,
                      uint32_t *stack)
{
    walk w = {KINO__NO_POINT, KINO_NO_ROW, 0, lane};
    size_t open = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        uint32_t at = (uint32_t)(marks[i] >> 1);
        bool is_end = marks[i] & 1;
        open -= is_end;
        uint32_t parent = open ? stack[open - 1] : KINO_NO_ROW;
        uint32_t node = is_end ? kino__end_node(c, at) : kino__start_node(c, at);
        if (node != KINO__NO_POINT && !kino__is_comm_span(c, at, KINO__NAME_CARRIES))
            ok = step_to(c, &w, node, parent);
        if (!is_end)
            stack[open++] = at;
    }
    return ok;
}

/* -- which thread -- */

typedef struct lane_key {
    kino__label pid, tid;
    uint32_t track;
} lane_key;

static int compare_labels(const kino__trace *trace, const kino__label *a, const kino__label *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == KINO__LABEL_INT)
        return a->number < b->number ? -1 : a->number > b->number;
    if (a->kind == KINO__LABEL_NONE)
        return 0;
    return kino__str_compare(kino__trace_string(trace, a->text),
                             kino__trace_string(trace, b->text));
}

static int compare_lanes(const void *a, const void *b, void *context)
{
    const lane_key *x = a, *y = b;
    int order = compare_labels(context, &x->pid, &y->pid);
    if (!order)
        order = compare_labels(context, &x->tid, &y->tid);
    return order ? order : x->track < y->track ? -1 : x->track > y->track;
}

/* The only thread with an operator or annotation of such a name; NULL: none, or several. */
static const kino__label *only_thread(const kino__critical *c, const uint32_t *track_of,
                                      uint16_t flag)
{
    const kino__trace *trace = c->f->trace;
    const kino__label *found = NULL;
    for (uint32_t i = 0; i < c->event_count; i++) {
        uint32_t at = c->events[i];
        if (!(kino__name_flags(c, at) & flag))
            continue;
        kino__kind kind = kino__category_kind(trace->category[c->f->row[at]]);
        if (kind != KINO__KIND_OP && kind != KINO__KIND_ANNOTATION)
            continue;
        const kino__label *tid = &trace->tracks.items[track_of[i]].tid;
        if (found && !kino__label_equal(found, tid))
            return NULL;
        found = tid;
    }
    return found;
}

/* Numbers of lanes by track, in order of process and thread; the backward thread is one with the
 * forward thread where each is known. */
static uint32_t *number_lanes(const kino__critical *c, const uint32_t *track_of)
{
    const kino__trace *trace = c->f->trace;
    const kino__label *forward = only_thread(c, track_of, KINO__NAME_FORWARD);
    const kino__label *backward = only_thread(c, track_of, KINO__NAME_AUTOGRAD);
    size_t count = trace->tracks.count;
    lane_key *keys = malloc((count + 1) * sizeof *keys);
    uint32_t *lane = calloc(count + 1, sizeof *lane);
    if (!keys || !lane) {
        free(keys);
        free(lane);
        return NULL;
    }
    for (uint32_t t = 0; t < count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        keys[t] = (lane_key){track->pid, track->tid, t};
        if (forward && backward && kino__label_equal(&track->tid, backward))
            keys[t].tid = *forward;
    }
    if (count)
        qsort_r(keys, count, sizeof *keys, compare_lanes, (void *)(uintptr_t)trace);
    uint32_t number = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && (!kino__label_equal(&keys[i].pid, &keys[i - 1].pid) ||
                  !kino__label_equal(&keys[i].tid, &keys[i - 1].tid)))
            number++;
        lane[keys[i].track] = number;
    }
    free(keys);
    return lane;
}

/* Events by lane: first[n] .. first[n + 1]. Lanes with work of a device are none. */
typedef struct lanes {
    uint32_t *lane_of_track, *track_of; /* track_of: of events, by their place in c->events */
    uint32_t *first, *events;
    uint8_t *is_device;
} lanes;

static void lanes_deinit(lanes *l)
{
    free(l->lane_of_track);
    kino__large_free(l->track_of);
    free(l->first);
    kino__large_free(l->events);
    free(l->is_device);
}

static bool lanes_init(lanes *l, const kino__critical *c)
{
    const kino__trace *trace = c->f->trace;
    size_t count = trace->tracks.count;
    l->track_of = kino__large_new((size_t)c->event_count + 1, sizeof *l->track_of);
    for (uint32_t i = 0, hint = 0; l->track_of && i < c->event_count; i++) {
        uint32_t row = c->f->row[c->events[i]];
        if (row - trace->tracks.items[hint].first >= trace->tracks.items[hint].count)
            hint = kino__trace_track_of(trace, row);
        l->track_of[i] = hint;
    }
    l->lane_of_track = l->track_of ? number_lanes(c, l->track_of) : NULL;
    l->first = calloc(count + 2, sizeof *l->first);
    l->is_device = calloc(count + 1, 1);
    l->events = kino__large_new((size_t)c->event_count + 1, sizeof *l->events);
    if (!l->lane_of_track || !l->first || !l->is_device || !l->events)
        return false;
    for (uint32_t i = 0; i < c->event_count; i++) {
        uint32_t lane = l->lane_of_track[l->track_of[i]];
        l->first[lane + 2]++;
        l->is_device[lane] |= c->stream[c->events[i]] >= 0;
    }
    for (size_t n = 2; n < count + 2; n++)
        l->first[n] += l->first[n - 1];
    for (uint32_t i = 0; i < c->event_count; i++)
        l->events[l->first[l->lane_of_track[l->track_of[i]] + 1]++] = c->events[i];
    return true;
}

bool kino__critical_host(kino__critical *c)
{
    lanes l = {0};
    uint64_t *marks = kino__large_new(2 * (size_t)c->event_count + 1, sizeof *marks);
    uint32_t *stack = kino__large_new((size_t)c->event_count + 1, sizeof *stack);
    c->node_lane = kino__large_new((size_t)c->node_count + 1, sizeof *c->node_lane);
    c->after_rest = kino__large_new((size_t)c->node_count + 1, sizeof *c->after_rest);
    bool ok = marks && stack && c->node_lane && c->after_rest &&
              kino__vec_reserve(&c->edges, (size_t)c->node_count * 5 / 4) && add_lock_edges(c) &&
              lanes_init(&l, c);
    if (c->node_lane)
        memset(c->node_lane, 0xff, (size_t)c->node_count * sizeof *c->node_lane);
    for (uint32_t n = 0; ok && n < c->f->trace->tracks.count; n++) {
        size_t count = l.first[n + 1] - l.first[n];
        if (count == 0 || l.is_device[n])
            continue;
        ok = kino__call_stack_marks(c->f, l.events + l.first[n], count, marks) &&
             walk_lane(c, n, marks, 2 * count, stack);
    }
    lanes_deinit(&l);
    kino__large_free(marks);
    kino__large_free(stack);
    return ok;
}
