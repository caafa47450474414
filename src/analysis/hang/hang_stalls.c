/* hang_stalls.c - finds the first operation of each process group that not all ranks have ended.
 *
 * Entries are sorted by group, pair of ranks, sequence number and rank, and walked once. Members of
 * a group who have no entry are missing, unless their ring has lost it. An operation that hangs is
 * somebody's fault only if he does not wait in another group himself: the walk ends with who waits
 * for whom. */
#include "analysis/hang/hang_stalls.h"

#include <stdlib.h>

#include "base/compare.h"

typedef struct finder {
    const kino__hang_facts *facts;
    const kino__hang_entry **sorted;
    size_t count;
    kino__hang_ranks dumps;   /* ranks that have one, sorted */
    kino__hang_ranks members; /* of what is looked at, sorted */
    KINO__VEC(int64_t) first; /* the first sequence number of each there; KINO_NO_INT: none */
    kino__hang_ranks missing, absent;
    kino__stalls *out;
} finder;

static bool add_rank(kino__hang_ranks *ranks, int64_t rank)
{
    int64_t *slot = kino__vec_add(ranks);
    if (slot)
        *slot = rank;
    return slot != NULL;
}

static bool has_rank(const kino__hang_ranks *ranks, int64_t rank)
{
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->items[i] == rank)
            return true;
    return false;
}

static void sort_ranks(kino__hang_ranks *ranks)
{
    size_t kept = 0;
    if (ranks->count == 0)
        return;
    qsort(ranks->items, ranks->count, sizeof *ranks->items, kino__compare_ints);
    for (size_t i = 1; i < ranks->count; i++)
        if (ranks->items[i] != ranks->items[kept])
            ranks->items[++kept] = ranks->items[i];
    ranks->count = kept + 1;
}

/* -- order -- */

static bool is_same_line(const kino__hang_entry *a, const kino__hang_entry *b)
{
    return a->group == b->group && a->from == b->from && a->to == b->to;
}

static int compare_entries(const void *a, const void *b)
{
    const kino__hang_entry *x = *(const kino__hang_entry *const *)a;
    const kino__hang_entry *y = *(const kino__hang_entry *const *)b;
    const int64_t left[] = {x->group, x->from, x->to, x->seq, x->rank, x->created};
    const int64_t right[] = {y->group, y->from, y->to, y->seq, y->rank, y->created};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool sort_entries(finder *f)
{
    f->sorted = malloc((f->facts->entries.count + 1) * sizeof *f->sorted);
    if (!f->sorted)
        return false;
    for (size_t i = 0; i < f->facts->entries.count; i++)
        if (f->facts->entries.items[i].seq != KINO_NO_INT)
            f->sorted[f->count++] = &f->facts->entries.items[i];
    qsort(f->sorted, f->count, sizeof *f->sorted, compare_entries);
    for (size_t i = 0; i < f->facts->ranks.count; i++)
        if (!add_rank(&f->dumps, f->facts->ranks.items[i].rank))
            return false;
    sort_ranks(&f->dumps);
    return true;
}

/* -- who takes part -- */

/* A rank of a group by its number in it. */
static int64_t rank_in(const kino__hang_facts *facts, const kino__hang_group *g, int64_t number)
{
    return number >= 0 && number < (int64_t)g->count ? facts->members.items[g->first + number]
                                                     : number;
}

/* Of a group whose members were not recorded: whoever used it; of the default group all. */
static bool guess_members(finder *f, const kino__hang_group *g)
{
    const kino__hang_ranks *all = &f->dumps;
    bool is_default = kino__str_is(kino__hang_text(f->facts, g->description), "default_pg");
    for (size_t i = 0; i < (is_default ? all->count : f->count); i++) {
        if (!is_default && f->sorted[i]->group != g->name)
            continue;
        if (!add_rank(&f->members, is_default ? all->items[i] : f->sorted[i]->rank))
            return false;
    }
    return true;
}

static bool find_members(finder *f, const kino__hang_entry *e)
{
    const kino__hang_group *g = kino__hang_group_of(f->facts, e->group);
    bool ok = true;
    f->members.count = 0;
    if (e->from != KINO_NO_INT)
        ok = add_rank(&f->members, rank_in(f->facts, g, e->from)) &&
             add_rank(&f->members, rank_in(f->facts, g, e->to));
    else if (g->count == 0)
        ok = guess_members(f, g);
    for (uint32_t i = 0; i < g->count && ok && e->from == KINO_NO_INT; i++)
        ok = add_rank(&f->members, f->facts->members.items[g->first + i]);
    sort_ranks(&f->members);
    return ok;
}

static const int64_t *find_rank(const kino__hang_ranks *sorted, int64_t rank)
{
    return sorted->count
               ? bsearch(&rank, sorted->items, sorted->count, sizeof rank, kino__compare_ints)
               : NULL;
}

/* Of each member, the first operation that its ring still has of a line. */
static bool find_first(finder *f, size_t line, size_t line_end)
{
    f->first.count = 0;
    if (!kino__vec_reserve(&f->first, f->members.count))
        return false;
    for (size_t i = 0; i < f->members.count; i++)
        f->first.items[f->first.count++] = KINO_NO_INT;
    for (size_t i = line; i < line_end; i++) {
        const int64_t *member = find_rank(&f->members, f->sorted[i]->rank);
        int64_t *first = member ? &f->first.items[member - f->members.items] : NULL;
        if (first && (*first == KINO_NO_INT || f->sorted[i]->seq < *first))
            *first = f->sorted[i]->seq;
    }
    return true;
}

/* Has the ring of a member that lacks this operation lost it? Then it begins with a later one. */
static bool has_lost(const finder *f, size_t member, int64_t seq)
{
    const kino__hang_rank *known = kino__hang_rank_of(f->facts, f->members.items[member]);
    return known && known->first_record > 0 && f->first.items[member] != KINO_NO_INT &&
           f->first.items[member] > seq;
}

/* Members without an entry in sorted[first, end): those with a dump, and those without. */
static bool find_missing(finder *f, size_t first, size_t end)
{
    size_t at = first;
    bool ok = true;
    f->missing.count = f->absent.count = 0;
    for (size_t i = 0; i < f->members.count && ok; i++) {
        int64_t rank = f->members.items[i];
        while (at < end && f->sorted[at]->rank < rank)
            at++;
        if (at < end && f->sorted[at]->rank == rank)
            continue;
        if (!find_rank(&f->dumps, rank))
            ok = add_rank(&f->absent, rank);
        else if (!has_lost(f, i, f->sorted[first]->seq))
            ok = add_rank(&f->missing, rank);
    }
    return ok;
}

/* -- an operation that has not ended -- */

/* Must sizes be the same on all ranks? Those of the others may differ. */
static bool is_even(kino_str operation)
{
    static const char *const even[] = {"all_reduce", "broadcast", "reduce", "allreduce"};
    for (size_t i = 0; i < sizeof even / sizeof *even; i++)
        if (kino__str_is(operation, even[i]))
            return true;
    return false;
}

static bool agree(const finder *f, const kino__hang_entry *a, const kino__hang_entry *b)
{
    if (a->from != KINO_NO_INT)
        return true; /* a send and its receive */
    return a->operation == b->operation &&
           (a->shape == b->shape || !is_even(kino__hang_text(f->facts, a->operation)));
}

/* The entry that most others agree with; NULL: there is none. */
static const kino__hang_entry *find_majority(const finder *f, size_t first, size_t end)
{
    const kino__hang_entry *best = NULL;
    size_t most = 0;
    bool is_tie = false;
    for (size_t i = first; i < end; i++) {
        size_t count = 0;
        bool is_new = true;
        for (size_t k = first; k < end; k++) {
            bool is_same = agree(f, f->sorted[i], f->sorted[k]);
            count += is_same;
            is_new &= !is_same || k >= i;
        }
        if (!is_new)
            continue;
        is_tie = count == most || (count < most && is_tie);
        if (count > most)
            best = f->sorted[i];
        most = count > most ? count : most;
    }
    return is_tie ? NULL : best;
}

/* Those whose entry fits go to the waiting, the others to the culprits. */
typedef bool (*fits_fn)(const finder *f, const kino__hang_entry *e, const kino__hang_entry *with);

static bool fits_majority(const finder *f, const kino__hang_entry *e, const kino__hang_entry *with)
{
    return with && agree(f, e, with);
}

static bool fits_started(const finder *f, const kino__hang_entry *e, const kino__hang_entry *with)
{
    (void)f;
    (void)with;
    return e->state != KINO__HANG_SCHEDULED;
}

static bool fits_any(const finder *f, const kino__hang_entry *e, const kino__hang_entry *with)
{
    (void)f;
    (void)e;
    (void)with;
    return true;
}

static bool split(const finder *f, size_t first, size_t end, fits_fn fits,
                  const kino__hang_entry *with, kino__stall *s)
{
    bool ok = true;
    for (size_t i = first; i < end && ok; i++) {
        const kino__hang_entry *e = f->sorted[i];
        kino__hang_ranks *to = fits(f, e, with) ? &s->waiting : &s->culprits;
        if (e->state != KINO__HANG_DONE || to == &s->culprits)
            ok = has_rank(to, e->rank) || add_rank(to, e->rank);
    }
    return ok;
}

static kino__stall_cause cause_of(const finder *f, size_t first, size_t end)
{
    size_t started = 0, scheduled = 0;
    bool do_agree = true;
    for (size_t i = first; i < end; i++) {
        started += f->sorted[i]->state != KINO__HANG_SCHEDULED;
        scheduled += f->sorted[i]->state == KINO__HANG_SCHEDULED;
        do_agree &= agree(f, f->sorted[first], f->sorted[i]);
    }
    if (f->missing.count)
        return KINO__STALL_MISSING;
    if (!do_agree)
        return KINO__STALL_MISMATCH;
    if (f->absent.count)
        return KINO__STALL_NO_DUMP;
    return started && scheduled ? KINO__STALL_NOT_STARTED : KINO__STALL_STUCK;
}

static bool add_all(kino__hang_ranks *to, const kino__hang_ranks *from)
{
    bool ok = true;
    for (size_t i = 0; i < from->count && ok; i++)
        ok = add_rank(to, from->items[i]);
    return ok;
}

static bool add_stall(finder *f, size_t first, size_t end)
{
    const kino__hang_entry *e = f->sorted[first];
    const kino__hang_group *g = kino__hang_group_of(f->facts, e->group);
    kino__stall *s = kino__vec_add(&f->out->items);
    if (!s)
        return false;
    *s = (kino__stall){.group = e->group,
                       .operation = e->operation,
                       .source = e->source,
                       .seq = e->seq,
                       .from = e->from == KINO_NO_INT ? KINO_NO_INT : rank_in(f->facts, g, e->from),
                       .to = e->to == KINO_NO_INT ? KINO_NO_INT : rank_in(f->facts, g, e->to),
                       .since = e->created,
                       .cause = cause_of(f, first, end),
                       .caused_by = KINO__NO_STALL};
    for (size_t i = first; i < end; i++)
        s->since = f->sorted[i]->created < s->since ? f->sorted[i]->created : s->since;
    switch (s->cause) {
    case KINO__STALL_MISSING:
        return add_all(&s->culprits, &f->missing) && split(f, first, end, fits_any, NULL, s);
    case KINO__STALL_NO_DUMP:
        return add_all(&s->culprits, &f->absent) && split(f, first, end, fits_any, NULL, s);
    case KINO__STALL_MISMATCH:
        return split(f, first, end, fits_majority, find_majority(f, first, end), s);
    case KINO__STALL_NOT_STARTED:
        return split(f, first, end, fits_started, NULL, s);
    case KINO__STALL_STUCK:
        break;
    }
    return split(f, first, end, fits_any, NULL, s);
}

/* -- the walk -- */

/* The operations of a group, or of a pair of ranks in it; the first that hangs is the one. */
static bool look_at_line(finder *f, size_t line, size_t line_end)
{
    size_t end;
    if (!find_members(f, f->sorted[line]) || !find_first(f, line, line_end))
        return false;
    for (size_t first = line; first < line_end; first = end) {
        bool has_ended = true;
        for (end = first; end < line_end && f->sorted[end]->seq == f->sorted[first]->seq; end++)
            has_ended &= f->sorted[end]->state == KINO__HANG_DONE;
        if (has_ended && end - first >= f->members.count)
            continue;
        if (!find_missing(f, first, end))
            return false;
        if (!has_ended)
            return add_stall(f, first, end);
        f->out->ahead += f->missing.count > 0;
    }
    return true;
}

/* -- who waits for whom -- */

/* The stall in which all culprits of one wait themselves, without being to blame there. */
static int find_cause(const kino__stalls *stalls, const kino__stall *s)
{
    for (size_t i = 0; i < stalls->items.count; i++) {
        const kino__stall *other = &stalls->items.items[i];
        size_t waiting = 0;
        for (size_t k = 0; k < s->culprits.count; k++)
            waiting += has_rank(&other->waiting, s->culprits.items[k]);
        if (other != s && waiting && waiting == s->culprits.count)
            return (int)i;
    }
    return KINO__NO_STALL;
}

static void connect(kino__stalls *stalls)
{
    size_t count = stalls->items.count;
    for (size_t i = 0; i < count; i++)
        stalls->items.items[i].caused_by = find_cause(stalls, &stalls->items.items[i]);
    for (size_t i = 0; i < count; i++) {
        int at = stalls->items.items[i].caused_by;
        for (size_t steps = 0; at != KINO__NO_STALL && steps < count && at != (int)i; steps++)
            at = stalls->items.items[at].caused_by;
        stalls->items.items[i].is_cycle = at == (int)i;
    }
}

static bool is_before(const kino__stall *a, const kino__stall *b)
{
    bool is_cause = a->caused_by == KINO__NO_STALL || a->is_cycle;
    bool is_other = b->caused_by == KINO__NO_STALL || b->is_cycle;
    return is_cause != is_other ? is_cause : a->since < b->since;
}

/* Causes first, the earliest first; there are few. */
static bool order(kino__stalls *stalls)
{
    size_t count = stalls->items.count;
    int *place = malloc((count + 1) * sizeof *place);
    kino__stall *sorted = malloc((count + 1) * sizeof *sorted);
    bool ok = place && sorted;
    for (size_t i = 0; i < count && ok; i++) {
        place[i] = 0;
        for (size_t k = 0; k < count; k++)
            place[i] +=
                k != i && (is_before(&stalls->items.items[k], &stalls->items.items[i]) ||
                           (k < i && !is_before(&stalls->items.items[i], &stalls->items.items[k])));
    }
    for (size_t i = 0; i < count && ok; i++) {
        kino__stall *s = &sorted[place[i]];
        *s = stalls->items.items[i];
        if (s->caused_by != KINO__NO_STALL)
            s->caused_by = place[s->caused_by];
    }
    if (ok && count)
        memcpy(stalls->items.items, sorted, count * sizeof *sorted);
    free(place);
    free(sorted);
    return ok;
}

bool kino__stalls_find(const kino__hang_facts *facts, kino__stalls *out)
{
    finder f = {.facts = facts, .out = out};
    size_t end;
    *out = (kino__stalls){0};
    bool ok = sort_entries(&f);
    for (size_t line = 0; line < f.count && ok; line = end) {
        for (end = line; end < f.count && is_same_line(f.sorted[line], f.sorted[end]);)
            end++;
        ok = look_at_line(&f, line, end);
    }
    if (ok) {
        connect(out);
        ok = order(out);
    }
    free(f.sorted);
    kino__vec_deinit(&f.dumps);
    kino__vec_deinit(&f.members);
    kino__vec_deinit(&f.first);
    kino__vec_deinit(&f.missing);
    kino__vec_deinit(&f.absent);
    return ok;
}

void kino__stalls_deinit(kino__stalls *stalls)
{
    for (size_t i = 0; i < stalls->items.count; i++) {
        kino__vec_deinit(&stalls->items.items[i].culprits);
        kino__vec_deinit(&stalls->items.items[i].waiting);
    }
    kino__vec_deinit(&stalls->items);
}
