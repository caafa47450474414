/* builder_columns.c - records into columns: places per track, scatter, sort what is out of order.
 *
 * The pieces are cut into as many groups of about equal size as there are jobs. Prefix sums over
 * the groups' counts per track give every group its own places, so all scatter at once and the
 * result is that of one thread. */
#include <stdlib.h>

#include "base/error.h"
#include "store/builder_internal.h"

kino_status kino__columns_new(kino__trace *trace, uint32_t count, kino_error *err)
{
    /* Each column starts on a cache line of its own. */
    size_t n = ((size_t)count + 63) & ~(size_t)63;
    size_t bytes = n * (8 + 8 + 8 + 4 + 4 + 4 + 4 + 2 + 1 + 1);
    trace->columns_size = bytes ? bytes : 64;
    trace->columns = kino__pages_new(trace->columns_size);
    if (!trace->columns)
        return kino__fail(err, KINO_NOMEM, "out of memory for %u events", count);
    char *p = trace->columns;
    trace->ts = (int64_t *)(void *)p;
    trace->dur = (int64_t *)(void *)(p += n * 8);
    trace->place = (uint64_t *)(void *)(p += n * 8);
    trace->name = (kino_strid *)(void *)(p += n * 8);
    trace->number = (uint32_t *)(void *)(p += n * 4);
    trace->bind = (uint32_t *)(void *)(p += n * 4);
    trace->external = (uint32_t *)(void *)(p += n * 4);
    trace->category = (uint16_t *)(void *)(p += n * 4);
    trace->phase = (uint8_t *)(p += n * 2);
    trace->flags = (uint8_t *)(p + n);
    return KINO_OK;
}

/* What a group knows of a track. */
typedef struct place {
    uint32_t next;  /* first the count, then the row of the next record */
    uint32_t start; /* the group's first row in this track */
    uint32_t kinds; /* KINO__KIND_BITs seen */
    uint32_t has_disorder;
} place;

typedef struct group {
    size_t first_run, run_count;
    place *places; /* per track */
} group;

typedef struct scatter {
    kino__join *join;
    group *groups;
    size_t group_count;
    uint32_t kind_bits[KINO__CATEGORY_COUNT];
} scatter;

/* Longer first among equal starts; what has no duration comes behind all spans. */
static bool in_order(const kino__trace *t, uint32_t a, uint32_t b)
{
    return t->ts[a] < t->ts[b] || (t->ts[a] == t->ts[b] && t->dur[a] >= t->dur[b]);
}

enum { PREFETCH_BYTES = 1536 };

/* Columns are held in locals: a store through a byte pointer could change any member as far as the
 * compiler knows. */
static void scatter_run(const scatter *s, group *g, const kino__join_run *run)
{
    const kino__trace *t = s->join->trace;
    const kino__join_map map = s->join->maps[run->part];
    const uint64_t origin = (uint64_t)s->join->min_ts;
    place *const places = g->places;
    int64_t *const ts = t->ts, *const dur = t->dur;
    uint64_t *const args = t->place;
    uint32_t *const name = t->name, *const number = t->number, *const bind = t->bind,
                    *const external = t->external;
    uint16_t *const categories = t->category;
    uint8_t *const phase = t->phase, *const flags = t->flags;
    const kino__record *r = run->records, *const end = r + run->count;
    for (; r < end; r++) {
        /* an address, not a pointer: it may lie behind the block */
        __builtin_prefetch((const void *)((uintptr_t)r + PREFETCH_BYTES));
        place *at = &places[map.tracks[r->track]];
        uint32_t row = at->next++;
        int64_t start = r->ts == KINO_NO_TIME ? r->ts : (int64_t)((uint64_t)r->ts - origin);
        uint16_t category = r->category;
        uint8_t marks = r->flags;
        args[row] = r->place;
        name[row] = r->name == KINO_NO_STRING ? r->name : map.strings[r->name];
        number[row] = r->number + run->number_base;
        bind[row] = marks & KINO__FLAG_ID_TEXT ? map.strings[r->bind] : r->bind;
        external[row] = r->external;
        if (category < KINO__CATEGORY_COUNT)
            at->kinds |= s->kind_bits[category];
        else if (category < KINO__CATEGORY_MANY)
            category = map.categories[category - KINO__CATEGORY_COUNT];
        categories[row] = category;
        phase[row] = r->phase;
        flags[row] = marks;
        ts[row] = start;
        dur[row] = r->dur;
        at->has_disorder |= row > at->start && (ts[row - 1] > start ||
                                                (ts[row - 1] == start && dur[row - 1] < r->dur));
    }
}

static void release_run(const kino__join_run *run)
{
    /* acq_rel: whoever takes the count to 0 sees that all others are done with the block */
    if (atomic_fetch_sub_explicit(&run->block->open_runs, 1, memory_order_acq_rel) == 1) {
        kino__pages_free(run->block->records, KINO__BLOCK_BYTES);
        run->block->records = NULL;
    }
}

static void scatter_group(void *context, unsigned worker, size_t index)
{
    (void)worker;
    scatter *s = context;
    group *g = &s->groups[index];
    for (size_t i = 0; i < g->run_count; i++) {
        const kino__join_run *run = &s->join->runs[g->first_run + i];
        scatter_run(s, g, run);
        release_run(run);
    }
}

static void count_piece(const kino__join *join, const kino__piece *piece, group *g)
{
    const kino__part *part = &join->build->parts[piece->part];
    const uint32_t *tracks = join->maps[piece->part].tracks;
    for (uint32_t i = 0; i < piece->count_count; i++) {
        const kino__track_count *count = &part->counts.items[piece->first_count + i];
        g->places[tracks[count->track]].next += count->count;
    }
}

static kino_status make_groups(scatter *s, kino_error *err)
{
    kino__join *join = s->join;
    size_t tracks = join->trace->tracks.count;
    s->group_count = kino__pool_jobs(join->build->pool);
    s->groups = calloc(s->group_count, sizeof *s->groups);
    if (!s->groups)
        return kino__fail_nomem(err);
    uint64_t total = join->trace->event_count;
    size_t run = 0, piece = 0;
    for (size_t i = 0; i < s->group_count; i++) {
        group *g = &s->groups[i];
        uint64_t until = total * (i + 1) / s->group_count;
        g->first_run = run;
        g->places = calloc(tracks + 1, sizeof *g->places);
        if (!g->places)
            return kino__fail_nomem(err);
        for (; piece < join->build->piece_count; piece++) {
            if (i + 1 < s->group_count &&
                (run == join->run_count || join->runs[run].first_event >= until))
                break;
            count_piece(join, &join->build->pieces[piece], g);
            run = join->piece_ends[piece];
        }
        g->run_count = run - g->first_run;
    }
    for (int c = 0; c < KINO__CATEGORY_COUNT; c++)
        s->kind_bits[c] = KINO__KIND_BIT(kino__category_kind((uint16_t)c));
    return KINO_OK;
}

/* Counts become rows: tracks one after the other, within a track the groups one after the other. */
static void assign_rows(scatter *s)
{
    kino__trace *trace = s->join->trace;
    uint32_t row = 0;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        trace->tracks.items[t].first = row;
        for (size_t i = 0; i < s->group_count; i++) {
            place *at = &s->groups[i].places[t];
            uint32_t count = at->next;
            at->next = at->start = row;
            row += count;
        }
        trace->tracks.items[t].count = row - trace->tracks.items[t].first;
    }
}

static kino_status finish_tracks(scatter *s, kino_error *err)
{
    kino__trace *trace = s->join->trace;
    uint32_t *unsorted = malloc((trace->tracks.count + 1) * sizeof *unsorted);
    size_t unsorted_count = 0;
    if (!unsorted)
        return kino__fail_nomem(err);
    for (size_t t = 0; t < trace->tracks.count; t++) {
        kino__track *track = &trace->tracks.items[t];
        bool has_disorder = false;
        for (size_t i = 0; i < s->group_count; i++) {
            const place *at = &s->groups[i].places[t];
            track->kinds |= at->kinds;
            has_disorder |= at->has_disorder;
            has_disorder |= at->start > track->first && at->next > at->start &&
                            !in_order(trace, at->start - 1, at->start);
        }
        if (has_disorder)
            unsorted[unsorted_count++] = (uint32_t)t;
    }
    kino_status st = kino__columns_sort(trace, unsorted, unsorted_count, s->join->build->pool, err);
    free(unsorted);
    return st;
}

kino_status kino__build_columns(kino__join *join, kino_error *err)
{
    kino__trace *trace = join->trace;
    scatter s = {.join = join};
    if (join->min_ts == INT64_MAX)
        join->min_ts = 0;
    kino_status st = make_groups(&s, err);
    if (st == KINO_OK) {
        assign_rows(&s);
        st = kino__columns_new(trace, trace->event_count, err);
    }
    if (st == KINO_OK) {
        kino__pool_run(join->build->pool, s.group_count, scatter_group, &s);
        st = finish_tracks(&s, err);
    }
    for (size_t i = 0; s.groups && i < s.group_count; i++)
        free(s.groups[i].places);
    free(s.groups);
    trace->origin_ns = join->min_ts; /* the reader adds the file's base */
    return st;
}
