/* builder.c - joining the parts of a trace: numbers by first appearance, then records into
 * columns. */
#include "store/builder.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "store/builder_internal.h"

void kino__part_init(kino__part *part)
{
    *part = (kino__part){.min_ts = INT64_MAX};
    kino__arena_init(&part->arena, NULL);
}

void kino__part_deinit(kino__part *part)
{
    kino__pages_free(part->records.memory, part->records.size);
    kino__vec_deinit(&part->runs);
    kino__vec_deinit(&part->tracks);
    kino__vec_deinit(&part->counts);
    kino__vec_deinit(&part->strings);
    kino__vec_deinit(&part->own_categories);
    kino__vec_deinit(&part->odd);
    kino__arena_deinit(&part->arena);
}

/* -- records */

/* Columns that all start at the same place of a page would fight for the same lines of the first
 * cache: the capacity is no multiple of 512, but one cache line of each column more. */
static uint32_t spread_capacity(uint64_t wish)
{
    uint64_t rounded = (wish + 511) / 512 * 512 + 64;
    return rounded < KINO_NO_ROW ? (uint32_t)rounded : KINO_NO_ROW / 64 * 64;
}

static bool records_new(kino__records *r, uint32_t capacity)
{
    size_t n = capacity;
    size_t size = n * KINO__RECORD_BYTES;
    size_t page = size >= KINO__HUGE_PAGE ? KINO__HUGE_PAGE : KINO__SMALL_PAGE;
    *r = (kino__records){.size = kino__whole_pages(size, page), .capacity = capacity};
    char *p = r->memory = kino__pages_new(r->size);
    if (!p)
        return false;
    r->ts = (int64_t *)(void *)(p += n * KINO__RECORD_GAP);
    r->dur = (int64_t *)(void *)(p += n * sizeof *r->ts);
    r->place = (uint64_t *)(void *)(p += n * sizeof *r->dur);
    r->name = (uint32_t *)(void *)(p += n * sizeof *r->place);
    r->bind = (uint32_t *)(void *)(p += n * sizeof *r->name);
    r->external = (uint32_t *)(void *)(p += n * sizeof *r->bind);
    r->kind = (uint32_t *)(void *)(p += n * sizeof *r->external);
    r->track = (uint32_t *)(void *)(p + n * sizeof *r->kind);
    return true;
}

/* Large columns are given back as soon as they are copied, so that no two of all of them exist. */
static void move_records_of(void *to, void *from, size_t size)
{
    memcpy(to, from, size);
    if (size >= KINO__HUGE_PAGE)
        kino__pages_drop(from, size);
}

static void move_records(kino__records *to, kino__records *from)
{
    size_t n = to->count = from->count;
    move_records_of(to->ts, from->ts, n * sizeof *to->ts);
    move_records_of(to->dur, from->dur, n * sizeof *to->dur);
    move_records_of(to->place, from->place, n * sizeof *to->place);
    move_records_of(to->name, from->name, n * sizeof *to->name);
    move_records_of(to->bind, from->bind, n * sizeof *to->bind);
    move_records_of(to->external, from->external, n * sizeof *to->external);
    move_records_of(to->kind, from->kind, n * sizeof *to->kind);
    move_records_of(to->track, from->track, n * sizeof *to->track);
}

bool kino__part_reserve(kino__part *part, uint64_t capacity)
{
    kino__records *records = &part->records, larger;
    if (capacity <= records->capacity)
        return true;
    uint32_t spread = spread_capacity(capacity);
    if (spread <= records->capacity || !records_new(&larger, spread))
        return false;
    if (records->count)
        move_records(&larger, records);
    kino__pages_free(records->memory, records->size);
    *records = larger;
    return true;
}

bool kino__part_grow(kino__part *part)
{
    enum { FIRST_RECORDS = 4096 };
    uint64_t capacity = part->records.capacity;
    if (kino__part_reserve(part, capacity ? capacity + capacity / 2 : FIRST_RECORDS))
        return true;
    part->failed = true;
    return false;
}

/* -- strings */

static kino_strid add_string(kino__join *join, const kino__part_string *s)
{
    kino__string_pool *pool = &join->trace->strings;
    kino_str text = {s->text, s->size};
    if (s->is_raw) {
        join->scratch.size = 0;
        join->build->resolve(text, &join->scratch);
        if (join->scratch.failed)
            return KINO_NO_STRING;
        return kino__string_pool_add(pool, kino__buffer_str(&join->scratch));
    }
    return s->is_borrowed ? kino__string_pool_add_borrowed(pool, text)
                          : kino__string_pool_add(pool, text);
}

/* Each part's strings are in order of appearance: a merge by position gives the order of the whole
 * file. */
static kino_status merge_strings(kino__join *join, kino_error *err)
{
    size_t parts = join->build->part_count;
    size_t *next = calloc(parts + 1, sizeof *next);
    if (!next)
        return kino__fail_nomem(err);
    kino_status st = KINO_OK;
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t p = 0; p < parts; p++) {
            const kino__part *part = &join->build->parts[p];
            if (next[p] < part->strings.count &&
                (best == SIZE_MAX ||
                 part->strings.items[next[p]].position <
                     join->build->parts[best].strings.items[next[best]].position))
                best = p;
        }
        if (best == SIZE_MAX)
            break;
        size_t local = next[best]++;
        kino_strid id = add_string(join, &join->build->parts[best].strings.items[local]);
        if (id == KINO_NO_STRING) {
            st = kino__fail(err, KINO_NOMEM, "out of memory for names");
            break;
        }
        join->maps[best].strings[local] = id;
    }
    free(next);
    return st;
}

/* -- categories */

static int compare_ids(const void *a, const void *b)
{
    kino_strid x = *(const kino_strid *)a, y = *(const kino_strid *)b;
    return (x > y) - (x < y);
}

/* The trace's own categories: those of all parts, in order of their strings. */
static kino_status list_categories(kino__join *join, kino_error *err)
{
    kino__trace *trace = join->trace;
    for (size_t p = 0; p < join->build->part_count; p++) {
        const kino__part *part = &join->build->parts[p];
        for (size_t i = 0; i < part->own_categories.count; i++) {
            kino_strid text = join->maps[p].strings[part->own_categories.items[i]];
            if (text == KINO_NO_STRING)
                continue; /* of a piece that was thrown away */
            kino_strid *slot = kino__vec_add(&trace->own_categories);
            if (!slot)
                return kino__fail_nomem(err);
            *slot = text;
        }
    }
    size_t kept = 0;
    kino_strid *items = trace->own_categories.items;
    if (trace->own_categories.count)
        qsort(items, trace->own_categories.count, sizeof *items, compare_ids);
    for (size_t i = 0; i < trace->own_categories.count; i++)
        if (kept == 0 || items[kept - 1] != items[i])
            items[kept++] = items[i];
    trace->own_categories.count = kept;
    return KINO_OK;
}

static kino_status merge_categories(kino__join *join, kino_error *err)
{
    kino__trace *trace = join->trace;
    KINO_TRY(list_categories(join, err));
    for (size_t p = 0; p < join->build->part_count; p++) {
        const kino__part *part = &join->build->parts[p];
        for (size_t i = 0; i < part->own_categories.count; i++) {
            kino_strid text = join->maps[p].strings[part->own_categories.items[i]];
            const kino_strid *found =
                text == KINO_NO_STRING
                    ? NULL
                    : bsearch(&text, trace->own_categories.items, trace->own_categories.count,
                              sizeof text, compare_ids);
            size_t id = found ? KINO__CATEGORY_COUNT + (size_t)(found - trace->own_categories.items)
                              : KINO__CATEGORY_MANY;
            join->maps[p].categories[i] =
                id < KINO__CATEGORY_MANY ? (uint16_t)id : KINO__CATEGORY_MANY;
        }
    }
    return KINO_OK;
}

/* -- tracks */

static kino__label global_label(const kino__join *join, size_t part, kino__label label)
{
    if (label.kind == KINO__LABEL_TEXT || label.kind == KINO__LABEL_RAW)
        label.text = join->maps[part].strings[label.text];
    return label;
}

/* The number of the track with these labels, made when new. UINT32_MAX: out of memory. */
static uint32_t find_track(kino__join *join, kino__map *map, kino__label pid, kino__label tid)
{
    kino__trace *trace = join->trace;
    for (uint64_t key = kino__label_hash(&pid) * 31 + kino__label_hash(&tid);; key++) {
        uint32_t *found = kino__map_put(map, key, UINT32_MAX);
        if (!found)
            return UINT32_MAX;
        if (*found == UINT32_MAX) {
            kino__track *track = kino__vec_add(&trace->tracks);
            if (!track)
                return UINT32_MAX;
            *track = (kino__track){.pid = pid,
                                   .tid = tid,
                                   .device = KINO_NO_INT,
                                   .stream = KINO_NO_INT,
                                   .name = KINO_NO_STRING,
                                   .process_name = KINO_NO_STRING,
                                   .process_labels = KINO_NO_STRING,
                                   .sort_index = KINO_NO_INT};
            *found = (uint32_t)trace->tracks.count - 1;
            return *found;
        }
        const kino__track *track = &trace->tracks.items[*found];
        if (kino__label_equal(&track->pid, &pid) && kino__label_equal(&track->tid, &tid))
            return *found;
    }
}

static kino_status merge_tracks(kino__join *join, kino_error *err)
{
    size_t parts = join->build->part_count;
    size_t *next = calloc(parts + 1, sizeof *next);
    kino__map map;
    kino__map_init(&map, NULL);
    kino_status st = next ? KINO_OK : kino__fail_nomem(err);
    while (st == KINO_OK) {
        size_t best = SIZE_MAX;
        for (size_t p = 0; p < parts; p++) {
            const kino__part *part = &join->build->parts[p];
            if (next[p] < part->tracks.count &&
                (best == SIZE_MAX ||
                 part->tracks.items[next[p]].position <
                     join->build->parts[best].tracks.items[next[best]].position))
                best = p;
        }
        if (best == SIZE_MAX)
            break;
        size_t local = next[best]++;
        const kino__part_track *track = &join->build->parts[best].tracks.items[local];
        uint32_t id = find_track(join, &map, global_label(join, best, track->pid),
                                 global_label(join, best, track->tid));
        if (id == UINT32_MAX)
            st = kino__fail_nomem(err);
        else
            join->maps[best].tracks[local] = id;
    }
    kino__map_deinit(&map);
    free(next);
    return st;
}

/* -- when a piece was thrown away: strings and tracks may be unused, or seen first in what is
 * gone */

static bool use_string(kino__join *join, uint32_t part, kino_strid local)
{
    kino_strid *id = &join->maps[part].strings[local];
    if (*id == KINO_NO_STRING)
        *id = add_string(join, &join->build->parts[part].strings.items[local]);
    return *id != KINO_NO_STRING;
}

static bool use_label(kino__join *join, uint32_t part, const kino__label *label)
{
    bool has_text = label->kind == KINO__LABEL_TEXT || label->kind == KINO__LABEL_RAW;
    return !has_text || use_string(join, part, label->text);
}

/* In the order in which one worker would have met them. */
static bool use_record(kino__join *join, uint32_t p, uint32_t i, kino__map *tracks)
{
    const kino__part *part = &join->build->parts[p];
    const kino__records *r = &part->records;
    kino__record kind = {.kind = r->kind[i]};
    size_t own = (size_t)kind.category - KINO__CATEGORY_COUNT;
    const kino__part_track *track = &part->tracks.items[r->track[i]];
    uint32_t *id = &join->maps[p].tracks[r->track[i]];
    if (kind.phase != 'M' && r->ts[i] < join->min_ts)
        join->min_ts = r->ts[i];
    if (r->name[i] != KINO_NO_STRING && !use_string(join, p, r->name[i]))
        return false;
    if (kind.category >= KINO__CATEGORY_COUNT && own < part->own_categories.count &&
        !use_string(join, p, part->own_categories.items[own]))
        return false;
    if (*id == UINT32_MAX && (!use_label(join, p, &track->pid) || !use_label(join, p, &track->tid)))
        return false;
    if (kind.flags & KINO__FLAG_ID_TEXT && !use_string(join, p, r->bind[i]))
        return false;
    if (*id == UINT32_MAX)
        *id = find_track(join, tracks, global_label(join, p, track->pid),
                         global_label(join, p, track->tid));
    return *id != UINT32_MAX;
}

/* Numbers strings and tracks by a walk over all records, and finds the first time again. */
static kino_status merge_by_use(kino__join *join, kino_error *err)
{
    kino__map tracks;
    kino__map_init(&tracks, NULL);
    join->min_ts = INT64_MAX;
    for (size_t p = 0; p < join->build->part_count; p++) {
        const kino__part *part = &join->build->parts[p];
        memset(join->maps[p].strings, 0xff, part->strings.count * sizeof *join->maps[p].strings);
        memset(join->maps[p].tracks, 0xff, part->tracks.count * sizeof *join->maps[p].tracks);
    }
    bool ok = true;
    for (size_t i = 0; ok && i < join->run_count; i++) {
        const kino__join_run *run = &join->runs[i];
        assert(run->part < join->build->part_count);
        for (uint32_t k = 0; ok && k < run->count; k++)
            ok = use_record(join, run->part, run->first + k, &tracks);
    }
    kino__map_deinit(&tracks);
    return ok ? KINO_OK : kino__fail_nomem(err);
}

/* -- runs in file order */

static kino_status list_runs(kino__join *join, kino_error *err)
{
    kino__build *build = join->build;
    size_t runs = 0;
    for (size_t i = 0; i < build->piece_count; i++)
        runs += build->pieces[i].run_count;
    join->runs = calloc(runs + 1, sizeof *join->runs);
    join->piece_ends = calloc(build->piece_count + 1, sizeof *join->piece_ends);
    if (!join->runs || !join->piece_ends)
        return kino__fail_nomem(err);
    uint64_t number = 0, events = 0;
    for (size_t i = 0; i < build->piece_count; i++) {
        const kino__piece *piece = &build->pieces[i];
        kino__part *part = &build->parts[piece->part];
        for (uint32_t k = 0; k < piece->run_count; k++) {
            const kino__record_run *run = &part->runs.items[piece->first_run + k];
            join->runs[join->run_count++] =
                (kino__join_run){.part = piece->part,
                                 .first = run->first,
                                 .count = run->count,
                                 .number = (uint32_t)number + run->number,
                                 .first_event = events};
            events += run->count;
        }
        join->piece_ends[i] = join->run_count;
        for (uint32_t k = 0; k < piece->odd_count; k++) {
            kino__odd *odd = kino__vec_add(&join->trace->odd);
            if (!odd)
                return kino__fail_nomem(err);
            *odd = part->odd.items[piece->first_odd + k];
            odd->number += (uint32_t)number;
        }
        kino__ledger_merge(&join->trace->ledger, &piece->ledger);
        number += piece->number_count;
        if (number >= KINO_NO_ROW || events >= KINO_NO_ROW)
            return kino__fail(err, KINO_LIMIT, "more than 4294967294 events in one trace");
    }
    join->trace->event_count = (uint32_t)events;
    join->trace->number_count = (uint32_t)number;
    return KINO_OK;
}

static kino_status make_maps(kino__join *join, kino_error *err)
{
    kino__build *build = join->build;
    join->maps = calloc(build->part_count + 1, sizeof *join->maps);
    if (!join->maps)
        return kino__fail_nomem(err);
    for (size_t p = 0; p < build->part_count; p++) {
        const kino__part *part = &build->parts[p];
        kino__join_map *map = &join->maps[p];
        map->strings = calloc(part->strings.count + 1, sizeof *map->strings);
        map->tracks = calloc(part->tracks.count + 1, sizeof *map->tracks);
        map->categories = calloc(part->own_categories.count + 1, sizeof *map->categories);
        if (!map->strings || !map->tracks || !map->categories)
            return kino__fail_nomem(err);
    }
    return KINO_OK;
}

static void free_join(kino__join *join)
{
    for (size_t p = 0; p < join->build->part_count; p++) {
        if (join->maps) {
            free(join->maps[p].strings);
            free(join->maps[p].tracks);
            free(join->maps[p].categories);
        }
    }
    free(join->maps);
    free(join->runs);
    free(join->piece_ends);
    kino__buffer_deinit(&join->scratch);
}

static int compare_odd(const void *a, const void *b)
{
    const kino__odd *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

kino_status kino__trace_build(kino__trace *trace, kino__build *build, kino_error *err)
{
    kino__join join = {.trace = trace, .build = build};
    bool has_pairs = false;
    kino_status st = KINO_OK;
    join.min_ts = INT64_MAX;
    for (size_t p = 0; p < build->part_count; p++) {
        if (build->parts[p].min_ts < join.min_ts)
            join.min_ts = build->parts[p].min_ts;
        has_pairs |= build->parts[p].has_pairs;
        if (build->parts[p].failed)
            st = kino__fail_nomem(err);
    }
    if (st == KINO_OK)
        st = list_runs(&join, err);
    if (st == KINO_OK)
        st = make_maps(&join, err);
    if (st == KINO_OK)
        st = build->is_tainted ? merge_by_use(&join, err) : merge_strings(&join, err);
    if (st == KINO_OK)
        st = merge_categories(&join, err);
    if (st == KINO_OK && !build->is_tainted)
        st = merge_tracks(&join, err);
    if (st == KINO_OK)
        st = kino__build_columns(&join, err);
    if (st == KINO_OK && trace->odd.count)
        qsort(trace->odd.items, trace->odd.count, sizeof *trace->odd.items, compare_odd);
    if (st == KINO_OK && has_pairs) {
        st = kino__build_pairs(trace, build->pool, err);
        if (st == KINO_OK && trace->odd.count)
            qsort(trace->odd.items, trace->odd.count, sizeof *trace->odd.items, compare_odd);
    }
    free_join(&join);
    return st;
}
