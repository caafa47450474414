/* distributed_match.c - the transfer of each call of a collective, from its partners on the other
 * workers (collective_match.h).
 *
 * The time that all partners need is the shortest of theirs; whoever takes longer has waited.
 *
 *   worker 0   |wait wait|transfer|         the j-th range of each partner; the transfer is put
 *   worker 1             |transfer|         at the end, as long as the shortest
 *
 * Linear in the records and ranges, once they are matched. */
#include <stdlib.h>

#include "analysis/distributed/collective_match.h"
#include "analysis/distributed/distributed.h"
#include "names/communication.h"

typedef struct match {
    uint32_t worker;      /* the first one that has it */
    uint32_t record;      /* its record */
    uint32_t count;       /* workers that have it */
    uint32_t range_count; /* largest */
    size_t first;         /* of its shortest ranges */
} match;

typedef struct matching {
    const kino__dist *d;
    uint32_t *match_of; /* of each record */
    KINO__VEC(match) matches;
} matching;

static bool is_point_to_point(const kino__dist *d, const kino__dist_record *r)
{
    return kino__comm_is_point_to_point(kino__string_pool_text(&d->texts, r->name));
}

static bool add_record(matching *m, uint32_t worker, uint32_t record)
{
    const kino__dist_record *r = &m->d->records.items[record];
    while (m->match_of[record] >= m->matches.count) {
        match *fresh = kino__vec_add(&m->matches);
        if (!fresh)
            return false;
        *fresh = (match){.worker = worker, .record = record};
    }
    match *known = &m->matches.items[m->match_of[record]];
    known->count++;
    known->range_count = r->range_count > known->range_count ? r->range_count : known->range_count;
    return true;
}

/* What tells calls apart: name and group; a send or receive is like no other. False when memory is
 * out. */
static bool find_kind(const kino__dist *d, uint32_t record, kino__map *kinds, uint32_t *out)
{
    const kino__dist_record *r = &d->records.items[record];
    uint64_t key = is_point_to_point(d, r) ? (uint64_t)UINT32_MAX << 32 | record
                                           : (uint64_t)r->name << 32 | r->group;
    const uint32_t *slot = kino__map_put(kinds, key, (uint32_t)kinds->count);
    if (slot)
        *out = *slot;
    return slot != NULL;
}

/* Record by record, as kino__match_calls wants them. The caller frees it; NULL when memory is
 * out. */
static kino__match_entry *make_entries(const kino__dist *d)
{
    kino__match_entry *entries = malloc((d->records.count + 1) * sizeof *entries);
    kino__map kinds;
    kino__map_init(&kinds, NULL);
    uint32_t record = 0;
    size_t step = 0;
    bool ok = entries != NULL;
    for (uint32_t w = 0; ok && w < d->workers.count; w++) {
        const kino__dist_worker *worker = &d->workers.items[w];
        for (uint32_t i = 0; ok && i < worker->record_count; i++, record++) {
            uint32_t of = d->records.items[record].step;
            entries[record].worker = w;
            entries[record].series =
                of == KINO_NO_ROW ? KINO_NO_INT : d->steps.items[step + of].name;
            ok = find_kind(d, record, &kinds, &entries[record].kind);
        }
        step += worker->step_count;
    }
    kino__map_deinit(&kinds);
    if (!ok) {
        free(entries);
        return NULL;
    }
    return entries;
}

/* compat: by place in the trace alone. */
static uint32_t *number_by_place(const kino__dist *d)
{
    uint32_t *numbers = malloc((d->records.count + 1) * sizeof *numbers), record = 0;
    for (size_t w = 0; numbers && w < d->workers.count; w++)
        for (uint32_t i = 0; i < d->workers.items[w].record_count; i++)
            numbers[record++] = i;
    return numbers;
}

static bool match_records(matching *m, bool is_compat, kino__dist_matches *out)
{
    const kino__dist *d = m->d;
    kino__match_entry *entries = is_compat ? NULL : make_entries(d);
    m->match_of = is_compat ? number_by_place(d)
                  : entries ? kino__match_calls(entries, d->records.count)
                            : NULL;
    free(entries);
    uint32_t record = 0;
    for (uint32_t w = 0; m->match_of && w < d->workers.count; w++)
        for (uint32_t i = 0; i < d->workers.items[w].record_count; i++, record++) {
            out->point_to_point += !is_compat && is_point_to_point(d, &d->records.items[record]);
            if (!add_record(m, w, record))
                return false;
        }
    return m->match_of != NULL;
}

static void count_alone(const matching *m, kino__dist_matches *out)
{
    for (size_t i = 0; i < m->matches.count; i++) {
        const match *one = &m->matches.items[i];
        if (one->count > 1 || is_point_to_point(m->d, &m->d->records.items[one->record]))
            continue;
        if (out->alone++ == 0) {
            out->first_alone = one->record;
            out->alone_of = one->worker;
        }
    }
}

static bool find_shortest(matching *m, kino__dist_matches *out)
{
    const kino__dist *d = m->d;
    size_t total = 0;
    for (size_t i = 0; i < m->matches.count; i++) {
        m->matches.items[i].first = total;
        total += m->matches.items[i].range_count;
    }
    int64_t *shortest = calloc(total + 1, sizeof *shortest);
    if (!shortest)
        return false;
    for (size_t i = 0; i < total; i++)
        shortest[i] = INT64_MAX;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t range = 0;
        for (size_t i = 0; i < d->records.count; i++) {
            int64_t *of_match = shortest + m->matches.items[m->match_of[i]].first;
            out->first_range[i] = range;
            for (uint32_t j = 0; j < d->records.items[i].range_count; j++, range++) {
                kino__interval r = d->ranges.items[range];
                if (pass == 0 && r.end - r.start < of_match[j])
                    of_match[j] = r.end - r.start;
                else if (pass == 1)
                    out->transfer[range] = of_match[j];
            }
        }
    }
    free(shortest);
    return true;
}

bool kino__dist_match(const kino__dist *d, bool is_compat, kino__dist_matches *out)
{
    *out = (kino__dist_matches){0};
    matching m = {.d = d};
    out->transfer = malloc((d->ranges.count + 1) * sizeof *out->transfer);
    out->first_range = malloc((d->records.count + 1) * sizeof *out->first_range);
    bool ok = out->transfer && out->first_range && match_records(&m, is_compat, out) &&
              find_shortest(&m, out);
    if (ok)
        count_alone(&m, out);
    kino__vec_deinit(&m.matches);
    free(m.match_of);
    return ok;
}

void kino__dist_matches_deinit(kino__dist_matches *matches)
{
    free(matches->transfer);
    free(matches->first_range);
    *matches = (kino__dist_matches){0};
}
