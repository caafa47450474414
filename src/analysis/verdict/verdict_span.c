/* verdict_span.c - the first span of a slow rank that differs from its peers at the same place.
 *
 * Of the places that are of the cause's kind, those count that take at least half as much more than
 * on the peers as the one that takes most more; the first of them in the step is the answer. Where
 * places explain too little of what the host takes more, nothing that is recorded has the time. */
#include <stdlib.h>

#include "analysis/verdict/verdict.h"
#include "base/compare.h"

enum { EXPLAINED_PERCENT = 40 };

typedef struct comparison {
    const kino__verdict_facts *facts;
    const uint32_t *peers;
    size_t count;
    const kino__verdict_place **first; /* of each rank of the facts */
    int64_t *values;                   /* one a peer */
} comparison;

const char *kino__place_kind_name(kino__place_kind kind)
{
    static const char *const names[KINO__PLACES] = {
        "unknown",          "kernel",          "data loader",        "copy",
        "operator",         "Python function", "garbage collection", "runtime call",
        "preempted thread", "unrecorded"};
    return names[kind < KINO__PLACES ? kind : KINO__PLACE_NONE];
}

static const kino__verdict_place *find_place(const comparison *c, uint32_t rank,
                                             const kino__verdict_place *like)
{
    const kino__verdict_place *place = c->first[rank];
    for (uint32_t i = 0; i < c->facts->ranks.items[rank].place_count; i++)
        if (place[i].name == like->name && place[i].shape == like->shape &&
            place[i].kind == like->kind)
            return &place[i];
    return NULL;
}

/* How much longer per step than the median of the peers. */
static int64_t more_of(const comparison *c, const kino__verdict_place *place)
{
    for (size_t i = 0; i < c->count; i++) {
        const kino__verdict_place *other = find_place(c, c->peers[i], place);
        c->values[i] = other ? other->time : 0;
    }
    qsort(c->values, c->count, sizeof *c->values, kino__compare_ints);
    return place->time - (c->values[(c->count - 1) / 2] + c->values[c->count / 2]) / 2;
}

/* Does the usual peer have it, and as often per step? */
static bool is_same_shape(const comparison *c, const kino__verdict_place *place, uint32_t steps)
{
    size_t alike = 0;
    for (size_t i = 0; i < c->count; i++) {
        const kino__verdict_place *other = find_place(c, c->peers[i], place);
        double own = (double)place->calls / steps;
        uint32_t others = c->facts->ranks.items[c->peers[i]].step_count;
        alike += other && others && own <= 1.1 * (double)other->calls / others;
    }
    return 2 * alike > c->count;
}

/* What takes most more, what all of the cause take more, and the first that has a part of it. */
typedef struct candidates {
    const kino__verdict_place *first;
    int64_t most, sum, first_more;
} candidates;

static candidates find_candidates(const comparison *c, uint32_t rank, kino__slow_cause cause)
{
    const kino__verdict_place *place = c->first[rank];
    uint32_t count = c->facts->ranks.items[rank].place_count;
    candidates found = {0};
    for (uint32_t i = 0; i < count; i++) {
        int64_t more = place[i].cause == cause ? more_of(c, &place[i]) : 0;
        found.most = more > found.most ? more : found.most;
        found.sum = more > 0 ? kino__sum(found.sum, more) : found.sum;
    }
    for (uint32_t i = 0; i < count; i++) {
        int64_t more = place[i].cause == cause ? more_of(c, &place[i]) : 0;
        if (more <= 0 || 2 * more < found.most ||
            (found.first && found.first->offset <= place[i].offset))
            continue;
        found.first = &place[i];
        found.first_more = more;
    }
    return found;
}

/* Time without the processor lies within other places. */
static const kino__verdict_place *find_preempted(const comparison *c, uint32_t rank, int64_t least)
{
    const kino__verdict_place *place = c->first[rank];
    for (uint32_t i = 0; i < c->facts->ranks.items[rank].place_count; i++)
        if (place[i].kind == KINO__PLACE_PREEMPTED && more_of(c, &place[i]) >= least)
            return &place[i];
    return NULL;
}

static void conclude(const comparison *c, uint32_t rank, kino__slow_rank *slow)
{
    int64_t least = slow->more / 100 * EXPLAINED_PERCENT;
    candidates found = find_candidates(c, rank, slow->cause);
    const kino__verdict_place *preempted =
        slow->cause == KINO__SLOW_HOST ? find_preempted(c, rank, least) : NULL;
    if (preempted) {
        found.first = preempted;
        found.first_more = more_of(c, preempted);
    } else if (slow->cause == KINO__SLOW_HOST && found.sum < least) {
        slow->what = KINO__PLACE_UNRECORDED;
        slow->event = slow->first_step;
        return;
    }
    if (!found.first)
        return;
    slow->what = (kino__place_kind)found.first->kind;
    slow->span = kino__string_pool_text(&c->facts->texts, found.first->name);
    slow->span_more = found.first_more;
    slow->event = found.first->event;
    slow->is_same_shape = slow->what == KINO__PLACE_KERNEL &&
                          is_same_shape(c, found.first, c->facts->ranks.items[rank].step_count);
}

bool kino__verdict_find_span(const kino__verdict_facts *facts, const uint32_t *peers, size_t count,
                             uint32_t rank, kino__slow_rank *slow)
{
    comparison c = {.facts = facts, .peers = peers, .count = count};
    slow->what = KINO__PLACE_NONE;
    slow->span = (kino_str){"", 0};
    slow->span_more = slow->event = KINO_NO_INT;
    if (count == 0)
        return true;
    c.first = malloc((facts->ranks.count + 1) * sizeof *c.first);
    c.values = malloc((count + 1) * sizeof *c.values);
    const kino__verdict_place *next = facts->places.items;
    for (size_t i = 0; c.first && i < facts->ranks.count; i++) {
        c.first[i] = next;
        next += facts->ranks.items[i].place_count;
    }
    bool ok = c.first && c.values;
    if (ok)
        conclude(&c, rank, slow);
    free(c.first);
    free(c.values);
    return ok;
}
