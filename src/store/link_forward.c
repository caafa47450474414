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
 * grouped by number by counting; rows ascend by track and start, so members of a group do too. */
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "store/args.h"
#include "store/link_internal.h"

enum { NONE = UINT32_MAX };
#define SEQUENCE_KEY "Sequence number"
#define THREAD_KEY   "Fwd thread id"

typedef struct member {
    int64_t ts;
    uint32_t track, row;
} member;

/* What is known of a forward thread id. */
typedef struct thread_vote {
    uint32_t track; /* NONE: no votes */
    uint32_t count;
} thread_vote;

typedef struct forward_work {
    const kino__trace *trace;
    kino__arena *scratch;
    const int64_t *sequence, *thread; /* columns; NULL: the text has the numbers at hand */
    const kino__flows *flows;         /* NULL: the trace has no autograd flows */
    kino__map groups;                 /* sequence number -> group */
    uint32_t group_count;
    uint32_t *first;   /* group_count + 1 entries: members[first[g] .. first[g + 1]) */
    member *members;   /* of a group: by track, start, row */
    member *by_start;  /* the same groups by start and row; made when a thread id has no votes */
    kino__map threads; /* forward thread id -> index into votes */
    kino__map ballots; /* index << 32 | track -> votes */
    KINO__VEC(thread_vote) votes;
} forward_work;

static int64_t number_of(const forward_work *w, const int64_t *column, const char *key,
                         uint32_t row)
{
    if (column)
        return column[row];
    const kino__text *text = w->trace->text;
    uint64_t place = kino__trace_place(w->trace, row);
    return place ? text->arg_int(text, place, kino__str_from(key)) : KINO_NO_INT;
}

static int64_t sequence_of(const forward_work *w, uint32_t row)
{
    return number_of(w, w->sequence, SEQUENCE_KEY, row);
}

static int64_t thread_of(const forward_work *w, uint32_t row)
{
    return number_of(w, w->thread, THREAD_KEY, row);
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

static bool group_forward_ops(forward_work *w)
{
    const kino__trace *trace = w->trace;
    size_t count = 0;
    for (uint32_t row = 0; row < trace->event_count; row++) {
        if (!is_forward(w, row))
            continue;
        uint32_t *group = kino__map_put(&w->groups, (uint64_t)sequence_of(w, row), w->group_count);
        if (!group)
            return false;
        w->group_count += *group == w->group_count;
        count++;
    }
    w->first = kino__link_scratch(w->scratch, (size_t)w->group_count + 1, sizeof *w->first);
    w->members = kino__link_scratch(w->scratch, count, sizeof *w->members);
    if (!w->first || !w->members)
        return false;
    for (uint32_t g = 0; g <= w->group_count; g++)
        w->first[g] = 0;
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (is_forward(w, row))
            w->first[*kino__map_get(&w->groups, (uint64_t)sequence_of(w, row))]++;
    uint32_t end = 0;
    for (uint32_t g = 0; g <= w->group_count; g++)
        w->first[g] = end +=
            w->first[g]; /* filled from the back, so that it ends as the group's first */
    for (uint32_t t = (uint32_t)trace->tracks.count; t-- > 0;) {
        const kino__track *track = &trace->tracks.items[t];
        for (uint32_t row = track->first + track->count; row-- > track->first;)
            if (is_forward(w, row))
                w->members[--w->first[*kino__map_get(&w->groups, (uint64_t)sequence_of(w, row))]] =
                    (member){trace->ts[row], t, row};
    }
    return true;
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

static bool vote_by_numbers(forward_work *w)
{
    for (uint32_t row = 0; row < w->trace->event_count; row++) {
        if (!is_backward(w, row))
            continue;
        const uint32_t *group = kino__map_get(&w->groups, (uint64_t)sequence_of(w, row));
        if (!group)
            continue;
        uint32_t track = w->members[w->first[*group]].track;
        if (track == w->members[w->first[*group + 1] - 1].track &&
            !vote(w, thread_of(w, row), track))
            return false;
    }
    return true;
}

/* -- the join */

static int compare_start(const void *left, const void *right)
{
    const member *a = left, *b = right;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static bool sort_by_start(forward_work *w)
{
    size_t count = w->first[w->group_count];
    w->by_start = kino__link_scratch(w->scratch, count, sizeof *w->by_start);
    if (!w->by_start)
        return false;
    for (size_t i = 0; i < count; i++)
        w->by_start[i] = w->members[i];
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->first[g + 1] - w->first[g] > 1)
            qsort(w->by_start + w->first[g], w->first[g + 1] - w->first[g], sizeof *w->by_start,
                  compare_start);
    return true;
}

static bool is_behind(const member *m, uint32_t track, int64_t ts)
{
    return track != NONE && m->track != track ? m->track > track : m->ts > ts;
}

/* Of a sorted group the last member of `track` (NONE: any) that starts at `ts` or before, or
 * KINO_NO_ROW. */
static uint32_t last_before(const member *items, size_t count, uint32_t track, int64_t ts)
{
    size_t low = KINO__SEARCH(size_t, i, 0, count, !is_behind(&items[i], track, ts));
    if (low == 0 || (track != NONE && items[low - 1].track != track))
        return KINO_NO_ROW;
    return items[low - 1].row;
}

static bool join_by_numbers(forward_work *w, uint32_t *forward)
{
    for (uint32_t row = 0; row < w->trace->event_count; row++) {
        if (!is_backward(w, row))
            continue;
        const uint32_t *group = kino__map_get(&w->groups, (uint64_t)sequence_of(w, row));
        if (!group)
            continue;
        const uint32_t *index = kino__map_get(&w->threads, (uint64_t)thread_of(w, row));
        uint32_t track = index ? w->votes.items[*index].track : NONE;
        if (track == NONE && !w->by_start && !sort_by_start(w))
            return false;
        const member *items = (track == NONE ? w->by_start : w->members) + w->first[*group];
        forward[row] =
            last_before(items, w->first[*group + 1] - w->first[*group], track, w->trace->ts[row]);
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
    bool is_at_hand = w->trace->text && w->trace->text->arg_int;
    if (is_at_hand && !kino__trace_need(w->trace, KINO__COLUMN_PLACE, NULL))
        return false;
    if (!is_at_hand) {
        if (!kino__args_prepare(w->trace, keys, 2))
            return false;
        w->sequence = kino__args_int_column(w->trace, keys[0]);
        w->thread = kino__args_int_column(w->trace, keys[1]);
    }
    bool has_inputs = is_at_hand || (w->sequence && w->thread);
    for (size_t i = 0; i < w->trace->tracks.count; i++) {
        if (!(w->trace->tracks.items[i].kinds & KINO__KIND_BIT(KINO__KIND_AUTOGRAD_FLOW)))
            continue;
        w->flows = kino__link_flows(w->trace);
        return w->flows && has_inputs;
    }
    return has_inputs;
}

static void *make_forward(const kino__trace *trace, kino__arena *scratch, size_t *size)
{
    forward_work w = {.trace = trace, .scratch = scratch};
    kino__map_init(&w.groups, scratch->allocator);
    kino__map_init(&w.threads, scratch->allocator);
    kino__map_init(&w.ballots, scratch->allocator);
    w.votes.allocator = scratch->allocator;
    uint32_t *forward = kino__link_column(trace, size);
    bool ok = forward && read_inputs(&w) && group_forward_ops(&w) && vote_by_flows(&w) &&
              vote_by_numbers(&w) && join_by_numbers(&w, forward);
    if (ok) {
        join_by_flows(&w, forward);
    } else {
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
