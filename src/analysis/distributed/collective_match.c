/* collective_match.c - which calls of collectives on different workers are the same call.
 *
 * Workers of a process group call its collectives in the same order. Where all workers that have a
 * kind of call have as many of them, the k-th of one is the k-th of the other, unless their series
 * (steps, sequence numbers) contradict: so a worker that lacks a step's mark keeps its partners.
 * Else a call is the k-th of its kind and series, so that a call that one trace lacks spoils no
 * more than its step.
 *
 *   worker 0   | step 1: a a | step 2: a a |       4 and 4, no contradiction: by order
 *   worker 1   | step 1: a a |         a a
 *
 * Cost: two sorts of the entries. */
#include "analysis/distributed/collective_match.h"

#include <stdlib.h>

typedef struct matching {
    const kino__match_entry *entries;
    uint32_t *order; /* entries of a kind together */
    uint32_t *call;  /* of each entry */
    uint32_t count;  /* calls so far */
} matching;

static int compare_numbers(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

/* By kind, then worker, then time. */
static int compare_by_worker(const void *a, const void *b, void *context)
{
    const matching *m = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int by_kind = compare_numbers(m->entries[x].kind, m->entries[y].kind);
    return by_kind ? by_kind : compare_numbers(x, y);
}

/* By series, then worker, then time. */
static int compare_by_series(const void *a, const void *b, void *context)
{
    const matching *m = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t of_x = m->entries[x].series, of_y = m->entries[y].series;
    return of_x != of_y ? (of_x < of_y ? -1 : 1) : compare_numbers(x, y);
}

/* The length of a run of one worker. */
static size_t run_of(const matching *m, const uint32_t *order, size_t count)
{
    size_t end = 1;
    while (end < count && m->entries[order[end]].worker == m->entries[order[0]].worker)
        end++;
    return end;
}

/* Does no worker have more calls than another, and none of them in another series? */
static bool is_by_order(const matching *m, const uint32_t *order, size_t count)
{
    size_t turns = run_of(m, order, count);
    for (size_t i = turns; i < count; i += turns)
        if (count - i < turns || run_of(m, order + i, count - i) != turns)
            return false;
    for (size_t turn = 0; turn < turns; turn++) {
        int64_t known = KINO_NO_INT;
        for (size_t i = turn; i < count; i += turns) {
            int64_t series = m->entries[order[i]].series;
            if (series != KINO_NO_INT && known != KINO_NO_INT && series != known)
                return false;
            known = series == KINO_NO_INT ? known : series;
        }
    }
    return true;
}

/* The k-th of each worker is one call. */
static void number_turns(matching *m, const uint32_t *order, size_t count)
{
    size_t most = 0;
    for (size_t i = 0, turns; i < count; i += turns) {
        turns = run_of(m, order + i, count - i);
        most = turns > most ? turns : most;
        for (size_t turn = 0; turn < turns; turn++)
            m->call[order[i + turn]] = m->count + (uint32_t)turn;
    }
    m->count += (uint32_t)most;
}

static void number_kind(matching *m, uint32_t *order, size_t count)
{
    if (is_by_order(m, order, count)) {
        number_turns(m, order, count);
        return;
    }
    qsort_r(order, count, sizeof *order, compare_by_series, m);
    for (size_t i = 0, next; i < count; i = next) {
        int64_t series = m->entries[order[i]].series;
        for (next = i + 1; next < count && m->entries[order[next]].series == series; next++)
            ;
        number_turns(m, order + i, next - i);
    }
}

/* In order of first appearance. */
static bool renumber(matching *m, size_t count)
{
    uint32_t *fresh = malloc((m->count + (size_t)1) * sizeof *fresh), used = 0;
    if (!fresh)
        return false;
    memset(fresh, 0xff, m->count * sizeof *fresh);
    for (size_t i = 0; i < count; i++) {
        if (fresh[m->call[i]] == UINT32_MAX)
            fresh[m->call[i]] = used++;
        m->call[i] = fresh[m->call[i]];
    }
    free(fresh);
    return true;
}

uint32_t *kino__match_calls(const kino__match_entry *entries, size_t count)
{
    matching m = {.entries = entries,
                  .order = malloc((count + 1) * sizeof(uint32_t)),
                  .call = malloc((count + 1) * sizeof(uint32_t))};
    bool ok = m.order && m.call;
    for (size_t i = 0; ok && i < count; i++)
        m.order[i] = (uint32_t)i;
    if (ok && count)
        qsort_r(m.order, count, sizeof *m.order, compare_by_worker, &m);
    for (size_t i = 0, next; ok && i < count; i = next) {
        uint32_t kind = entries[m.order[i]].kind;
        for (next = i + 1; next < count && entries[m.order[next]].kind == kind; next++)
            ;
        number_kind(&m, m.order + i, next - i);
    }
    ok = ok && renumber(&m, count);
    free(m.order);
    if (!ok) {
        free(m.call);
        return NULL;
    }
    return m.call;
}
