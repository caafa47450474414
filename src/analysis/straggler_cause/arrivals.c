/* arrivals.c - see the header. Linear in the calls, once they are matched, but for the calls of
 * other groups between two of one group. */
#include "analysis/straggler_cause/arrivals.h"

#include <stdlib.h>

enum { MOST_BACK = 1024 }; /* calls that are looked at before a call */

typedef struct work {
    const kino__clock_facts *facts;
    const kino__clocks *clocks;
    kino__clock_matches matches;
    int64_t *wait;        /* of each call of the facts */
    uint32_t *arrival_of; /* of each call: its arrival, UINT32_MAX: nobody else has it */
    uint32_t *from;       /* of each arrival: the one it is late from, itself: from nothing */
    uint32_t *last_call;  /* of each arrival: the call that comes last */
    kino__arrivals *out;
} work;

static const kino__clock_call *call_at(const work *w, uint32_t call)
{
    return &w->facts->calls.items[call];
}

/* -- who comes when -- */

static bool are_aligned(const work *w, const uint32_t *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!w->clocks ||
            !kino__clock_is_known(&w->clocks->items.items[call_at(w, members[i])->trace]))
            return false;
    return true;
}

/* On one axis for all members: the reference clock, or before their common end. */
static int64_t arrival_time(const work *w, uint32_t call, bool is_aligned)
{
    const kino__clock_call *c = call_at(w, call);
    if (!is_aligned)
        return c->start - c->end;
    return kino__clock_to_reference(&w->clocks->items.items[c->trace].line, c->start);
}

static void settle(work *w, const uint32_t *members, size_t count, kino__arrival *a,
                   uint32_t *last_call)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    a->is_aligned = are_aligned(w, members, count);
    a->ranks = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        int64_t time = arrival_time(w, members[i], a->is_aligned);
        first = time < first ? time : first;
        if (time > last) {
            last = time;
            *last_call = members[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        w->wait[members[i]] = last - arrival_time(w, members[i], a->is_aligned);
        a->waited = kino__sum(a->waited, w->wait[members[i]]);
    }
    const kino__clock_call *c = call_at(w, *last_call);
    a->skew = last - first;
    a->kind = c->kind;
    a->step = c->step;
    a->series = c->series;
    a->event = c->event;
    a->start = c->start;
    a->last = a->cause = c->trace;
}

static bool find_arrivals(work *w)
{
    size_t calls = w->facts->calls.count;
    for (size_t i = 0, next; i < calls; i = next) {
        next = kino__clock_matches_next(&w->matches, w->facts, i);
        if (next - i < 2)
            continue;
        kino__arrival *a = kino__vec_add(&w->out->items);
        if (!a)
            return false;
        uint32_t number = (uint32_t)w->out->items.count - 1;
        *a = (kino__arrival){0};
        settle(w, w->matches.by_call + i, next - i, a, &w->last_call[number]);
        for (size_t k = i; k < next; k++)
            w->arrival_of[w->matches.by_call[k]] = number;
    }
    return true;
}

/* -- where it comes from -- */

/* The group's call before: was the same rank as late there? Then it has not caught up since. */
static bool was_late(const work *w, const kino__arrival *a, uint32_t before)
{
    if (before == UINT32_MAX || w->arrival_of[before] == UINT32_MAX)
        return false;
    const kino__arrival *b = &w->out->items.items[w->arrival_of[before]];
    return b->last == a->last && b->skew >= a->skew / 2;
}

/* Waiting of the one that comes last, since the group's call before, in calls of others. */
static void find_from(work *w, uint32_t arrival)
{
    const kino__arrival *a = &w->out->items.items[arrival];
    uint32_t call = w->last_call[arrival], longest = UINT32_MAX, before = UINT32_MAX;
    const kino__clock_call *c = call_at(w, call);
    int64_t sum = 0, most = 0;
    for (uint32_t back = 1; back <= call && back <= MOST_BACK && before == UINT32_MAX; back++) {
        const kino__clock_call *d = call_at(w, call - back);
        if (d->trace != c->trace)
            break;
        if (d->kind == c->kind)
            before = call - back;
        if (before != UINT32_MAX || d->end > c->start || w->arrival_of[call - back] == UINT32_MAX)
            continue;
        int64_t wait = w->wait[call - back];
        sum = kino__sum(sum, wait);
        longest = wait > most ? call - back : longest;
        most = wait > most ? wait : most;
    }
    if (a->skew <= 0)
        return;
    if (longest != UINT32_MAX && sum >= a->skew / 2)
        w->from[arrival] = w->arrival_of[longest];
    else if (was_late(w, a, before))
        w->from[arrival] = w->arrival_of[before];
}

/* The one at the end of the chain, which all on the way then come from at once. Chains do not turn
 * back, unless traces are damaged: such a one ends where it was followed to. */
static uint32_t root_of(work *w, uint32_t arrival)
{
    size_t count = w->out->items.count;
    uint32_t root = arrival;
    for (size_t i = 0; i < count && w->from[root] != root; i++)
        root = w->from[root];
    w->from[root] = root;
    while (arrival != root) {
        uint32_t next = w->from[arrival];
        w->from[arrival] = root;
        arrival = next;
    }
    return root;
}

static void hand_on(work *w)
{
    for (uint32_t i = 0; i < w->out->items.count; i++) {
        w->from[i] = i;
        find_from(w, i);
    }
    for (uint32_t i = 0; i < w->out->items.count; i++)
        w->out->items.items[i].cause = w->out->items.items[root_of(w, i)].last;
}

bool kino__arrivals_find(const kino__clock_facts *facts, const kino__clocks *clocks,
                         kino__arrivals *out)
{
    size_t count = facts->calls.count + 1;
    *out = (kino__arrivals){0};
    work w = {.facts = facts, .clocks = clocks, .out = out};
    w.wait = calloc(count, sizeof *w.wait);
    w.arrival_of = malloc(count * sizeof *w.arrival_of);
    w.from = malloc(count * sizeof *w.from);
    w.last_call = malloc(count * sizeof *w.last_call);
    bool ok =
        w.wait && w.arrival_of && w.from && w.last_call && kino__clock_match(facts, &w.matches);
    if (ok)
        memset(w.arrival_of, 0xff, count * sizeof *w.arrival_of);
    ok = ok && find_arrivals(&w);
    if (ok)
        hand_on(&w);
    kino__clock_matches_deinit(&w.matches);
    free(w.wait);
    free(w.arrival_of);
    free(w.from);
    free(w.last_call);
    return ok;
}

void kino__arrivals_deinit(kino__arrivals *arrivals)
{
    kino__vec_deinit(&arrivals->items);
}
