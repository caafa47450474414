/* link_flows.c - arrows between events: which flow point leads to which, and what spans they are
 * bound to.
 *
 * Points with the same category, name and id are one group; within it, in order of time (s before t
 * before f at one time, then as in the file):
 *
 *   s       starts a chain
 *   t       continues the chain from the latest s or t before it
 *   f       ends the chain of the latest s or t before it; a further f ends it again (a graph
 *           launch: one s, many f). An f before every s of its group belongs to the first s:
 *           device clocks run a little early.
 *
 * A point is bound to the innermost span around it on its track. Where several spans start exactly
 * there, the one that fits is taken: for launches the one whose correlation is the flow's id, for
 * autograd the innermost op. An f without "bp": "e" that lies at no span's start is bound to the
 * next span of the track, as the format says. Cost: linear but for sorting each group, and groups
 * are small. */
#include <stdlib.h>

#include "base/map.h"
#include "store/link_internal.h"

enum { NONE = UINT32_MAX, NO_GROUP = INT32_MAX, SAME_START_LIMIT = 32, SMALL_GROUP = 16 };

/* Traces have a point for every third event or so: what the row says is not repeated. */
typedef struct point {
    uint32_t row;
    uint32_t group : 31; /* NO_GROUP: without an id */
    uint32_t has_next : 1;
    uint32_t from; /* the point before it in its chain, or NONE */
} point;

typedef struct flow_work {
    const kino__trace *trace;
    kino__arena *scratch;
    point *points;
    uint32_t point_count;
    uint32_t *first; /* of each group: first point, then first member */
    uint32_t group_count;
    uint32_t pair_count;
    kino__map groups; /* hash of the key -> group */
} flow_work;

static uint8_t rank_of(uint8_t phase)
{
    return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

static bool is_point(uint8_t phase)
{
    return phase == 's' || phase == 't' || phase == 'f';
}

static bool is_same_key(const kino__trace *trace, const point *a, const point *b)
{
    return kino__trace_bind_id(trace, a->row) == kino__trace_bind_id(trace, b->row) &&
           trace->category[a->row] == trace->category[b->row] &&
           trace->name[a->row] == trace->name[b->row] &&
           !((trace->flags[a->row] ^ trace->flags[b->row]) & KINO__FLAG_ID_TEXT);
}

/* The group of a point, new or old. Two keys with one hash are told apart by trying the hash's
 * successors. */
static bool find_group(flow_work *w, uint32_t index, int64_t id)
{
    point *p = &w->points[index];
    bool is_text = w->trace->flags[p->row] & KINO__FLAG_ID_TEXT;
    uint64_t hash =
        kino__hash_u64((uint64_t)id) ^ ((uint64_t)w->trace->category[p->row] << 48 |
                                        (uint64_t)is_text << 40 | w->trace->name[p->row]) *
                                           0x9e3779b97f4a7c15u;
    for (;; hash++) {
        uint32_t *group = kino__map_put(&w->groups, hash, w->group_count);
        if (!group)
            return false;
        p->group = *group & NO_GROUP;
        if (*group == w->group_count) {
            if (w->group_count == NO_GROUP)
                return false; /* two billion flows fit into no memory */
            w->first[w->group_count++] = index;
            return true;
        }
        if (is_same_key(w->trace, &w->points[w->first[*group]], p))
            return true;
    }
}

static bool collect_points(flow_work *w)
{
    const kino__trace *trace = w->trace;
    size_t count = 0;
    for (uint32_t row = 0; row < trace->event_count; row++)
        count += is_point(trace->phase[row]);
    w->points = kino__link_scratch(w->scratch, count, sizeof *w->points);
    w->first = kino__link_scratch(w->scratch, count + 1, sizeof *w->first);
    if (!w->points || !w->first)
        return false;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!is_point(trace->phase[row]))
            continue;
        point *p = &w->points[w->point_count];
        *p = (point){.row = row, .group = NO_GROUP, .from = NONE};
        int64_t id = kino__trace_bind_id(trace, row);
        if (id != KINO_NO_INT && !find_group(w, w->point_count, id))
            return false;
        w->point_count++;
    }
    return true;
}

static int compare_members(const void *left, const void *right, void *context)
{
    const flow_work *w = context;
    const kino__trace *trace = w->trace;
    uint32_t a = w->points[*(const uint32_t *)left].row,
             b = w->points[*(const uint32_t *)right].row;
    if (trace->ts[a] != trace->ts[b])
        return trace->ts[a] < trace->ts[b] ? -1 : 1;
    uint8_t a_rank = rank_of(trace->phase[a]), b_rank = rank_of(trace->phase[b]);
    if (a_rank != b_rank)
        return a_rank < b_rank ? -1 : 1;
    return trace->number[a] < trace->number[b] ? -1 : trace->number[a] > trace->number[b];
}

static void sort_members(flow_work *w, uint32_t *items, size_t count)
{
    if (count > SMALL_GROUP) {
        qsort_r(items, count, sizeof *items, compare_members, w);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        uint32_t moved = items[i];
        size_t at = i;
        for (; at > 0 && compare_members(&items[at - 1], &moved, w) > 0; at--)
            items[at] = items[at - 1];
        items[at] = moved;
    }
}

static void connect(flow_work *w, uint32_t from, uint32_t to)
{
    w->points[to].from = from;
    w->points[from].has_next = true;
    w->pair_count++;
}

static void match_group(flow_work *w, const uint32_t *items, size_t count)
{
    const uint8_t *phase = w->trace->phase;
    uint32_t first_start = NONE, last = NONE;
    for (size_t i = 0; i < count && first_start == NONE; i++)
        if (phase[w->points[items[i]].row] == 's')
            first_start = items[i];
    for (size_t i = 0; i < count; i++) {
        uint8_t rank = rank_of(phase[w->points[items[i]].row]);
        uint32_t from = last;
        if (from == NONE && rank == 2)
            from = first_start;
        if (rank != 0 && from != NONE)
            connect(w, from, items[i]);
        if (rank != 2)
            last = items[i];
    }
}

/* Puts the points into their groups by counting, and matches each group. */
static bool match_points(flow_work *w)
{
    uint32_t *members = kino__link_scratch(w->scratch, w->point_count, sizeof *members);
    if (!members)
        return false;
    for (uint32_t g = 0; g <= w->group_count; g++)
        w->first[g] = 0;
    for (uint32_t i = 0; i < w->point_count; i++)
        if (w->points[i].group != NO_GROUP)
            w->first[w->points[i].group]++;
    uint32_t end = 0;
    for (uint32_t g = 0; g <= w->group_count; g++) {
        end += w->first[g];
        w->first[g] = end; /* filled from the back, so that it ends as the group's first */
    }
    for (uint32_t i = w->point_count; i-- > 0;) {
        if (w->points[i].group != NO_GROUP)
            members[--w->first[w->points[i].group]] = i;
    }
    for (uint32_t g = 0; g < w->group_count; g++) {
        uint32_t *items = members + w->first[g];
        size_t count = w->first[g + 1] - w->first[g];
        sort_members(w, items, count);
        match_group(w, items, count);
    }
    return true;
}

/* The span that starts where the point lies and fits its kind, or KINO_NO_ROW. The walk is bounded:
 * more spans than that with one start are nobody's call stack. */
static uint32_t fitting_span(const kino__trace *trace, const uint32_t *parent, const point *p)
{
    kino__kind kind = kino__category_kind(trace->category[p->row]);
    uint32_t span = parent[p->row];
    for (int i = 0; i < SAME_START_LIMIT; i++) {
        if (span == KINO_NO_ROW || trace->ts[span] != trace->ts[p->row])
            return KINO_NO_ROW;
        if (kind == KINO__KIND_LAUNCH_FLOW &&
            kino__trace_correlation(trace, span) == kino__trace_bind_id(trace, p->row))
            return span;
        if (kind == KINO__KIND_AUTOGRAD_FLOW &&
            kino__link_kind_bit(trace, span) == KINO__KIND_BIT(KINO__KIND_OP))
            return span;
        span = parent[span];
    }
    return KINO_NO_ROW;
}

/* The first span of the track behind a row. *next remembers the answer for the rows up to it. */
static uint32_t next_span(const kino__trace *trace, uint32_t row, uint32_t *next)
{
    if (*next == KINO_NO_ROW || *next <= row) {
        *next = row + 1;
        while (*next < trace->event_count && !kino__link_is_span(trace, *next))
            ++*next;
    }
    if (*next >= trace->event_count ||
        kino__trace_track_of(trace, *next) != kino__trace_track_of(trace, row))
        return KINO_NO_ROW;
    return *next;
}

static uint32_t bound_span(const kino__trace *trace, const uint32_t *parent, const point *p,
                           uint32_t *next)
{
    uint32_t fitting = fitting_span(trace, parent, p);
    uint32_t around = parent[p->row];
    if (fitting != KINO_NO_ROW)
        return fitting;
    bool is_at_start = around != KINO_NO_ROW && trace->ts[around] == trace->ts[p->row];
    if (trace->phase[p->row] != 'f' || trace->flags[p->row] & KINO__FLAG_BP || is_at_start)
        return around;
    return next_span(trace, p->row, next);
}

static kino__flows *emit(const flow_work *w, const kino__nesting *nesting, size_t *size)
{
    kino__flows *flows =
        kino__link_block(w->trace, sizeof *flows, w->pair_count, sizeof(kino__flow), size);
    if (!flows)
        return NULL;
    kino__flow *items = (kino__flow *)(flows + 1);
    *flows = (kino__flows){.items = items};
    uint32_t next = KINO_NO_ROW, unused = KINO_NO_ROW;
    for (uint32_t i = 0; i < w->point_count; i++) {
        const point *to = &w->points[i];
        uint8_t phase = w->trace->phase[to->row];
        if (to->from == NONE) {
            flows->dangling_starts += phase == 's' && !to->has_next;
            flows->dangling_ends += phase == 'f' || (phase == 't' && !to->has_next);
            continue;
        }
        const point *from = &w->points[to->from];
        items[flows->count++] = (kino__flow){
            .id = kino__trace_bind_id(w->trace, to->row),
            .from = from->row,
            .to = to->row,
            .from_span = bound_span(w->trace, nesting->parent, from, &unused),
            .to_span = bound_span(w->trace, nesting->parent, to, &next),
        };
    }
    return flows;
}

/* Which point leads to which, without the spans they are bound to. */
static bool match_all(flow_work *w)
{
    kino__map_init(&w->groups, w->scratch->allocator);
    bool ok = collect_points(w) && match_points(w);
    kino__map_deinit(&w->groups);
    return ok;
}

static void *make_flows(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    const kino__nesting *nesting = kino__link_nesting(trace);
    flow_work w = {.trace = trace, .scratch = scratch};
    return nesting && match_all(&w) ? emit(&w, nesting, size) : NULL;
}

const kino__flows *kino__link_flows(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_FLOWS, make_flows);
}

bool kino__flow_points_each(const kino__trace *trace, kino__flow_point_fn see, void *context)
{
    kino__arena scratch;
    kino__arena_init(&scratch, trace->arena.allocator);
    flow_work w = {.trace = trace, .scratch = &scratch};
    bool ok = match_all(&w);
    for (uint32_t i = 0; ok && i < w.point_count; i++)
        see(context, w.points[i].row, w.points[i].from != NONE, w.points[i].has_next);
    kino__arena_deinit(&scratch);
    return ok;
}
