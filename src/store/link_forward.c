/* link_forward.c - which forward op does a backward op belong to?
 *
 * PyTorch gives an op that may be differentiated a sequence number, and its backward op the same
 * number together with "Fwd thread id", a small number of PyTorch's own for the forward thread (0
 * on forward ops). Numbers count per thread, so the pair (thread, number) names a forward op, but
 * nothing in the file says which track a forward thread id is. It is learned: each backward op
 * whose number occurs on one track only votes for that track, and so does each autograd flow; the
 * track with most votes wins (the first to get them, on a tie).
 *
 *   forward of (thread id, number) = of the ops of that track with that number, the one that
 *                                    starts last, but not after the backward op
 *
 * An op that makes no autograd node has the number of the next one that does; "starts last" picks
 * the one that makes it. A thread id without votes looks at all tracks. What numbers leave open,
 * autograd flows decide. Cost: linear, plus a binary search per backward op. Forward ops are
 * grouped by number by counting; rows ascend by track and start, so members of a group do too.
 * Numbers lie close together, so a group is found by its number; only where they do not, by a hash
 * table. */
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "store/args.h"
#include "store/link_internal.h"

enum { NONE = UINT32_MAX };
#define SEQUENCE_KEY "Sequence number"
#define THREAD_KEY   "Fwd thread id"

/* What is known of a forward thread id. */
typedef struct thread_vote {
    uint32_t track; /* NONE: no votes */
    uint32_t count;
} thread_vote;

typedef struct forward_work {
    const kino__trace *trace;
    kino__arena *scratch;
    kino__int_argument sequence, thread;
    const kino__flows *flows; /* NULL: the trace has no autograd flows */
    int64_t lowest;           /* sequence number: that of group 0 */
    bool is_dense;            /* groups are numbers */
    kino__map groups;         /* else: sequence number -> group */
    uint32_t group_count;
    uint32_t *first;    /* group_count + 1 entries: members[first[g] .. first[g + 1]) */
    uint32_t *members;  /* rows; of a group: by track, start, row, which is their order */
    uint32_t *by_start; /* the same groups by start and row; made when a thread id has no votes */
    kino__map threads;  /* forward thread id -> index into votes */
    kino__map ballots;  /* index << 32 | track -> votes */
    KINO__VEC(thread_vote) votes;
} forward_work;

static int64_t sequence_of(const forward_work *w, uint32_t row)
{
    return kino__int_argument_of(&w->sequence, row);
}

static int64_t thread_of(const forward_work *w, uint32_t row)
{
    return kino__int_argument_of(&w->thread, row);
}

static bool is_numbered_op(const forward_work *w, uint32_t row)
{
    return kino__category_kind(w->trace->category[row]) == KINO__KIND_OP &&
           kino__link_is_span(w->trace, row) && sequence_of(w, row) >= 0;
}

static bool is_forward(const forward_work *w, uint32_t row)
{
    return is_numbered_op(w, row) && thread_of(w, row) <= 0; /* absent is the smallest */
}

static bool is_backward(const forward_work *w, uint32_t row)
{
    return is_numbered_op(w, row) && thread_of(w, row) > 0;
}

/* -- forward ops by number */

/* What there is to be joined. */
typedef struct number_range {
    int64_t lowest, highest; /* of forward ops */
    uint64_t count;
    bool has_backward;
} number_range;

static number_range find_range(const forward_work *w)
{
    number_range range = {INT64_MAX, 0, 0, false};
    for (uint32_t row = 0; row < w->trace->event_count; row++) {
        if (!is_numbered_op(w, row))
            continue;
        int64_t number = sequence_of(w, row);
        if (thread_of(w, row) > 0) {
            range.has_backward = true;
            continue;
        }
        range.lowest = number < range.lowest ? number : range.lowest;
        range.highest = number > range.highest ? number : range.highest;
        range.count++;
    }
    return range;
}

/* The group of a number, NONE: no forward op has it. */
static uint32_t group_of(const forward_work *w, int64_t number)
{
    if (w->is_dense) {
        uint64_t at = (uint64_t)number - (uint64_t)w->lowest;
        return at < w->group_count ? (uint32_t)at : NONE;
    }
    const uint32_t *group = kino__map_get(&w->groups, (uint64_t)number);
    return group ? *group : NONE;
}

/* Gives each number a group. */
static bool number_groups(forward_work *w, const number_range *range)
{
    uint64_t width = (uint64_t)range->highest - (uint64_t)range->lowest + 1;
    w->is_dense = range->count && width < 8 * range->count && width < NONE;
    w->lowest = range->lowest;
    w->group_count = w->is_dense ? (uint32_t)width : 0;
    for (uint32_t row = 0; !w->is_dense && row < w->trace->event_count; row++) {
        if (!is_forward(w, row))
            continue;
        uint32_t *group = kino__map_put(&w->groups, (uint64_t)sequence_of(w, row), w->group_count);
        if (!group)
            return false;
        w->group_count += *group == w->group_count;
    }
    return true;
}

static bool group_forward_ops(forward_work *w, const number_range *range)
{
    const kino__trace *trace = w->trace;
    if (!number_groups(w, range))
        return false;
    w->first = kino__link_scratch(w->scratch, (size_t)w->group_count + 1, sizeof *w->first);
    w->members = kino__link_scratch(w->scratch, range->count, sizeof *w->members);
    if (!w->first || !w->members)
        return false;
    for (uint32_t g = 0; g <= w->group_count; g++)
        w->first[g] = 0;
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (is_forward(w, row))
            w->first[group_of(w, sequence_of(w, row))]++;
    uint32_t end = 0;
    for (uint32_t g = 0; g <= w->group_count; g++)
        w->first[g] = end +=
            w->first[g]; /* filled from the back, so that it ends as the group's first */
    for (uint32_t row = trace->event_count; row-- > 0;)
        if (is_forward(w, row))
            w->members[--w->first[group_of(w, sequence_of(w, row))]] = row;
    return true;
}

/* Does any forward op have the number of this group? Dense ones have gaps. */
static bool has_members(const forward_work *w, uint32_t group)
{
    return group != NONE && w->first[group + 1] > w->first[group];
}

/* -- forward threads */

/* The votes of a forward thread id, made when new; NULL when memory is out. */
static thread_vote *votes_of(forward_work *w, int64_t thread, uint32_t *index)
{
    uint32_t *slot = kino__map_put(&w->threads, (uint64_t)thread, (uint32_t)w->votes.count);
    if (!slot)
        return NULL;
    *index = *slot;
    if (*index == w->votes.count) {
        thread_vote *fresh = kino__vec_add(&w->votes);
        if (!fresh)
            return NULL;
        *fresh = (thread_vote){NONE, 0};
    }
    return &w->votes.items[*index];
}

static bool vote(forward_work *w, int64_t thread, uint32_t track)
{
    uint32_t index;
    thread_vote *best = votes_of(w, thread, &index);
    uint32_t *count = best ? kino__map_put(&w->ballots, (uint64_t)index << 32 | track, 0) : NULL;
    if (!count)
        return false;
    if (++*count > best->count)
        *best = (thread_vote){track, *count};
    return true;
}

static bool vote_by_flows(forward_work *w)
{
    for (size_t i = 0; w->flows && i < w->flows->count; i++) {
        const kino__flow *flow = &w->flows->items[i];
        if (flow->from_span == KINO_NO_ROW || flow->to_span == KINO_NO_ROW ||
            kino__category_kind(w->trace->category[flow->to]) != KINO__KIND_AUTOGRAD_FLOW)
            continue;
        if (is_backward(w, flow->to_span) && is_forward(w, flow->from_span) &&
            !vote(w, thread_of(w, flow->to_span), kino__trace_track_of(w->trace, flow->from_span)))
            return false;
    }
    return true;
}

static bool is_on(const kino__trace *trace, uint32_t track, uint32_t row)
{
    return row - trace->tracks.items[track].first < trace->tracks.items[track].count;
}

static bool vote_by_numbers(forward_work *w)
{
    for (uint32_t row = 0; row < w->trace->event_count; row++) {
        if (!is_backward(w, row))
            continue;
        uint32_t group = group_of(w, sequence_of(w, row));
        if (!has_members(w, group))
            continue;
        uint32_t track = kino__trace_track_of(w->trace, w->members[w->first[group]]);
        uint32_t last = w->members[w->first[group + 1] - 1];
        if (is_on(w->trace, track, last) && !vote(w, thread_of(w, row), track))
            return false;
    }
    return true;
}

/* -- the join */

typedef struct start {
    int64_t ts;
    uint32_t row;
} start;

static int compare_start(const void *left, const void *right)
{
    const start *a = left, *b = right;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Puts the members of a group in order of their starts. */
static void sort_group(forward_work *w, uint32_t group, start *space)
{
    uint32_t first = w->first[group], count = w->first[group + 1] - first;
    for (uint32_t i = 0; i < count; i++)
        space[i] = (start){w->trace->ts[w->members[first + i]], w->members[first + i]};
    if (count > 1)
        qsort(space, count, sizeof *space, compare_start);
    for (uint32_t i = 0; i < count; i++)
        w->by_start[first + i] = space[i].row;
}

static bool sort_by_start(forward_work *w)
{
    uint32_t most = 0;
    for (uint32_t g = 0; g < w->group_count; g++)
        most = w->first[g + 1] - w->first[g] > most ? w->first[g + 1] - w->first[g] : most;
    start *space = kino__link_scratch(w->scratch, most, sizeof *space);
    w->by_start = kino__link_scratch(w->scratch, w->first[w->group_count], sizeof *w->by_start);
    for (uint32_t g = 0; space && w->by_start && g < w->group_count; g++)
        sort_group(w, g, space);
    return space && w->by_start;
}

/* Is a member of a group behind the last one of `track` (NONE: any) that starts at `ts`? */
static bool is_behind(const kino__trace *trace, uint32_t row, uint32_t track, int64_t ts)
{
    if (track != NONE && !is_on(trace, track, row))
        return row > trace->tracks.items[track].first;
    return trace->ts[row] > ts;
}

/* Of a sorted group the last member of `track` (NONE: any) that starts at `ts` or before, or
 * KINO_NO_ROW. */
static uint32_t last_before(const kino__trace *trace, const uint32_t *rows, size_t count,
                            uint32_t track, int64_t ts)
{
    size_t low = KINO__SEARCH(size_t, i, 0, count, !is_behind(trace, rows[i], track, ts));
    if (low == 0 || (track != NONE && !is_on(trace, track, rows[low - 1])))
        return KINO_NO_ROW;
    return rows[low - 1];
}

static bool join_by_numbers(forward_work *w, uint32_t *forward)
{
    for (uint32_t row = 0; row < w->trace->event_count; row++) {
        if (!is_backward(w, row))
            continue;
        uint32_t group = group_of(w, sequence_of(w, row));
        if (!has_members(w, group))
            continue;
        const uint32_t *index = kino__map_get(&w->threads, (uint64_t)thread_of(w, row));
        uint32_t track = index ? w->votes.items[*index].track : NONE;
        if (track == NONE && !w->by_start && !sort_by_start(w))
            return false;
        const uint32_t *rows = (track == NONE ? w->by_start : w->members) + w->first[group];
        forward[row] = last_before(w->trace, rows, w->first[group + 1] - w->first[group], track,
                                   w->trace->ts[row]);
    }
    return true;
}

static void join_by_flows(const forward_work *w, uint32_t *forward)
{
    for (size_t i = 0; w->flows && i < w->flows->count; i++) {
        const kino__flow *flow = &w->flows->items[i];
        uint32_t to = flow->to_span;
        if (kino__category_kind(w->trace->category[flow->to]) == KINO__KIND_AUTOGRAD_FLOW &&
            to != KINO_NO_ROW && to != flow->from_span && forward[to] == KINO_NO_ROW)
            forward[to] = flow->from_span;
    }
}

static bool read_inputs(forward_work *w)
{
    static const char *const keys[] = {SEQUENCE_KEY, THREAD_KEY};
    if (!kino__int_arguments_init(w->trace, keys, 2,
                                  (kino__int_argument *[]){&w->sequence, &w->thread}))
        return false;
    for (size_t i = 0; i < w->trace->tracks.count; i++) {
        if (!(w->trace->tracks.items[i].kinds & KINO__KIND_BIT(KINO__KIND_AUTOGRAD_FLOW)))
            continue;
        w->flows = kino__link_flows(w->trace);
        return w->flows != NULL;
    }
    return true;
}

/* Nothing is grouped where nothing asks for it. */
static bool join_all(forward_work *w, uint32_t *forward)
{
    number_range range = find_range(w);
    if (range.has_backward && !(group_forward_ops(w, &range) && vote_by_flows(w) &&
                                vote_by_numbers(w) && join_by_numbers(w, forward)))
        return false;
    join_by_flows(w, forward);
    return true;
}

static void *make_forward(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    forward_work w = {.trace = trace, .scratch = scratch};
    kino__map_init(&w.groups, scratch->allocator);
    kino__map_init(&w.threads, scratch->allocator);
    kino__map_init(&w.ballots, scratch->allocator);
    w.votes.allocator = scratch->allocator;
    uint32_t *forward = kino__link_column(trace, size);
    if (forward && !(read_inputs(&w) && join_all(&w, forward))) {
        kino__link_block_free(trace, forward, *size);
        forward = NULL;
    }
    kino__vec_deinit(&w.votes);
    kino__map_deinit(&w.ballots);
    kino__map_deinit(&w.threads);
    kino__map_deinit(&w.groups);
    return forward;
}

const uint32_t *kino__link_forward(const kino__trace *trace)
{
    return kino__link_get(trace, KINO__LINK_FORWARD, make_forward);
}
