/* distributed_match.c - which calls of collectives on different workers are the same call.
 *
 * A call is the k-th of its name, process group and step: so a call that one trace lacks spoils no
 * more than its step. The time that all partners need is the shortest of theirs; whoever takes
 * longer has waited.
 *
 *   worker 0   |wait wait|transfer|         the j-th range of each partner; the transfer is put
 *   worker 1             |transfer|         at the end, as long as the shortest
 *
 * Linear in the records and ranges. */
#include <stdlib.h>

#include "analysis/distributed/distributed.h"

typedef struct match {
    uint32_t worker;      /* the first one that has it */
    uint32_t record;      /* its record */
    uint32_t count;       /* workers that have it */
    uint32_t range_count; /* largest */
    size_t first;         /* of its shortest ranges */
} match;

typedef struct matching {
    const kino__dist *d;
    kino__map pairs;   /* name, group -> number */
    kino__map series;  /* pair, step -> number */
    kino__map calls;   /* series, k -> match */
    uint32_t *seen;    /* of each series: the worker counted last, + 1 */
    uint32_t *counted; /* and its calls so far */
    uint32_t *match_of;
    KINO__VEC(match) matches;
} matching;

static bool is_point_to_point(kino_str name)
{
    const char *colon = name.size ? memchr(name.data, ':', name.size) : NULL;
    size_t skip = colon ? (size_t)(colon + 1 - name.data) : 0;
    kino_str rest = {name.data + skip, name.size - skip};
    return kino__str_starts_with(rest, KINO__STR("send")) ||
           kino__str_starts_with(rest, KINO__STR("recv"));
}

static uint32_t number_of(kino__map *map, uint32_t high, uint32_t low)
{
    const uint32_t *slot = kino__map_put(map, (uint64_t)high << 32 | low, (uint32_t)map->count);
    return slot ? *slot : UINT32_MAX;
}

/* The match of a record, made on first sight; UINT32_MAX when memory is out. */
static uint32_t find_match(matching *m, uint32_t worker, uint32_t record, kino_strid step)
{
    const kino__dist_record *r = &m->d->records.items[record];
    uint32_t pair = number_of(&m->pairs, r->name, r->group);
    uint32_t series = pair == UINT32_MAX ? pair : number_of(&m->series, pair, step);
    if (series == UINT32_MAX)
        return series;
    if (m->seen[series] != worker + 1) {
        m->seen[series] = worker + 1;
        m->counted[series] = 0;
    }
    return number_of(&m->calls, series, m->counted[series]++);
}

static bool add_record(matching *m, uint32_t worker, uint32_t record, uint32_t index)
{
    const kino__dist_record *r = &m->d->records.items[record];
    m->match_of[record] = index;
    if (index == UINT32_MAX)
        return false;
    while (index >= m->matches.count) {
        match *fresh = kino__vec_add(&m->matches);
        if (!fresh)
            return false;
        *fresh = (match){.worker = worker, .record = record};
    }
    match *known = &m->matches.items[index];
    known->count++;
    known->range_count = r->range_count > known->range_count ? r->range_count : known->range_count;
    return true;
}

static bool match_records(matching *m, bool is_compat, kino__dist_matches *out)
{
    const kino__dist *d = m->d;
    uint32_t record = 0;
    size_t step = 0;
    for (uint32_t w = 0; w < d->workers.count; w++) {
        const kino__dist_worker *worker = &d->workers.items[w];
        for (uint32_t i = 0; i < worker->record_count; i++, record++) {
            const kino__dist_record *r = &d->records.items[record];
            uint32_t index = i;
            if (!is_compat && is_point_to_point(kino__string_pool_text(&d->texts, r->name))) {
                out->point_to_point++;
                index = number_of(&m->calls, UINT32_MAX, record);
            } else if (!is_compat) {
                kino_strid name =
                    r->step == KINO_NO_ROW ? KINO_NO_STRING : d->steps.items[step + r->step].name;
                index = find_match(m, w, record, name);
            }
            if (!add_record(m, w, record, index))
                return false;
        }
        step += worker->step_count;
    }
    return true;
}

static void count_alone(const matching *m, kino__dist_matches *out)
{
    for (size_t i = 0; i < m->matches.count; i++) {
        const match *one = &m->matches.items[i];
        kino_strid name = m->d->records.items[one->record].name;
        if (one->count > 1 || is_point_to_point(kino__string_pool_text(&m->d->texts, name)))
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
    kino__map_init(&m.pairs, NULL);
    kino__map_init(&m.series, NULL);
    kino__map_init(&m.calls, NULL);
    size_t count = d->records.count;
    m.seen = calloc(count + 1, sizeof *m.seen);
    m.counted = calloc(count + 1, sizeof *m.counted);
    m.match_of = calloc(count + 1, sizeof *m.match_of);
    out->transfer = malloc((d->ranges.count + 1) * sizeof *out->transfer);
    out->first_range = malloc((count + 1) * sizeof *out->first_range);
    bool ok = m.seen && m.counted && m.match_of && out->transfer && out->first_range &&
              match_records(&m, is_compat, out) && find_shortest(&m, out);
    if (ok)
        count_alone(&m, out);
    kino__map_deinit(&m.pairs);
    kino__map_deinit(&m.series);
    kino__map_deinit(&m.calls);
    kino__vec_deinit(&m.matches);
    free(m.seen);
    free(m.counted);
    free(m.match_of);
    return ok;
}

void kino__dist_matches_deinit(kino__dist_matches *matches)
{
    free(matches->transfer);
    free(matches->first_range);
    *matches = (kino__dist_matches){0};
}
