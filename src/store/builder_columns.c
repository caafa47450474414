/* builder_columns.c - records into columns: rows per track, then column after column to its rows.
 *
 * The pieces are cut into as many groups of about equal size as there are jobs. Prefix sums over
 * the groups' counts per track give every group its own rows, so all move at once and the result is
 * that of one thread. A step is one or two columns of all groups; the next begins when it is done,
 * because it may overwrite what this one has moved (see builder.h).
 *
 * Starts and durations go first, to rows in file order. Where these are out of order the tracks are
 * sorted, and as the rows of the records are corrected then, all other columns move only once. */
#include <stdlib.h>

#include "base/error.h"
#include "store/builder_internal.h"

/* What a group knows of a track. */
typedef struct place {
    uint32_t next;  /* first the count, then the row of the next record */
    uint32_t start; /* the group's first row in this track */
    uint32_t kinds; /* KINO__KIND_BITs seen */
    uint32_t has_disorder;
    int64_t last_ts, last_dur; /* of the group's last record in this track */
} place;

typedef struct group {
    size_t first_run, run_count;
    place *places; /* per track */
} group;

typedef struct scatter scatter;
typedef void (*move_run)(const scatter *s, group *g, const kino__join_run *run);

struct scatter {
    kino__join *join;
    group *groups;
    size_t group_count;
    uint32_t kind_bits[KINO__CATEGORY_COUNT];
    move_run step;         /* what is being done to all runs */
    const uint32_t *ranks; /* rows in file order -> sorted rows, while they are corrected */
};

/* -- where the columns lie */

enum { COLUMN_BYTES = 8 + 8 + 8 + 4 + 4 + 4 + 4 + 2 + 1 + 1 };

/* Bytes of a record in front of what is not yet moved, when this column is. */
enum {
    MOVED_TS = KINO__RECORD_GAP + 8,
    MOVED_DUR = MOVED_TS + 8,
    MOVED_PLACE = MOVED_DUR + 8,
    MOVED_NAME = MOVED_PLACE + 4,
    MOVED_BIND = MOVED_NAME + 4,
    MOVED_EXTERNAL = MOVED_BIND + 4
};

/* `n` rows of each column fit, a multiple of 64: each starts on a cache line of its own. */
static void lay_out(kino__trace *trace, void *memory, size_t n)
{
    char *p = trace->columns = memory;
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
}

/* The columns take over the only part's area: each will lie where the one before it in the records
 * was. */
static void take_area(kino__trace *trace, kino__records *records)
{
    _Static_assert(KINO__RECORD_GAP == sizeof *records->ts &&
                       KINO__RECORD_BYTES - KINO__RECORD_GAP == COLUMN_BYTES,
                   "a column may lie on records that have moved, never on others");
    lay_out(trace, records->memory, records->capacity);
    trace->columns_size = records->size;
    records->memory = NULL; /* the pointers to its columns stay */
}

/* Gives back the end of the area, where kinds and rows were. */
static void trim_area(kino__trace *trace, uint32_t capacity)
{
    size_t page = trace->columns_size >= KINO__HUGE_PAGE ? KINO__HUGE_PAGE : KINO__SMALL_PAGE;
    size_t used = kino__whole_pages((size_t)capacity * COLUMN_BYTES, page);
    if (used < trace->columns_size)
        kino__pages_free((char *)trace->columns + used, trace->columns_size - used);
    trace->columns_size = used;
}

kino_status kino__columns_new(kino__trace *trace, uint32_t count, kino_error *err)
{
    size_t n = ((size_t)count + 64) / 64 * 64;
    void *memory = kino__pages_new(n * COLUMN_BYTES);
    if (!memory)
        return kino__fail(err, KINO_NOMEM, "out of memory for %u events", count);
    lay_out(trace, memory, n);
    trace->columns_size = n * COLUMN_BYTES;
    return KINO_OK;
}

/* Gives back the first `moved` bytes of each record in a part's area: those columns have moved. */
static void give_back(kino__records *records, size_t moved)
{
    if (!records->memory || records->size < KINO__HUGE_PAGE)
        return;
    const char *until = (const char *)records->ts + (moved - KINO__RECORD_GAP) * records->capacity;
    size_t size = (size_t)(until - (const char *)records->memory) & ~(size_t)(KINO__HUGE_PAGE - 1);
    if (size == 0)
        return;
    kino__pages_free(records->memory, size);
    records->size -= size;
    records->memory = records->size ? (char *)records->memory + size : NULL;
}

/* -- the steps: what happens to each run */

/* Finds the rows, in file order within each track, and leaves them in place of the tracks. */
static void place_run(const scatter *s, group *g, const kino__join_run *run)
{
    const kino__records *r = &s->join->build->parts[run->part].records;
    const uint32_t *const tracks = s->join->maps[run->part].tracks;
    const uint64_t origin = (uint64_t)s->join->min_ts;
    place *const places = g->places;
    int64_t *const to = s->join->trace->ts;
    const int64_t *const ts = r->ts, *const dur = r->dur;
    const uint32_t *const kind = r->kind;
    uint32_t *const track = r->track;
    for (uint32_t i = run->first, end = i + run->count; i < end; i++) {
        place *at = &places[tracks[track[i]]];
        uint32_t row = at->next++;
        int64_t start = ts[i] == KINO_NO_TIME ? ts[i] : (int64_t)((uint64_t)ts[i] - origin);
        uint16_t category = (uint16_t)kind[i];
        track[i] = row;
        to[row] = start;
        at->kinds |= category < KINO__CATEGORY_COUNT ? s->kind_bits[category] : 0;
        /* longer first among equal starts; what has no duration comes behind all spans */
        at->has_disorder |= start < at->last_ts || (start == at->last_ts && dur[i] > at->last_dur);
        at->last_ts = start;
        at->last_dur = dur[i];
    }
}

static void correct_rows(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    uint32_t *const rows = s->join->build->parts[run->part].records.track;
    const uint32_t *const ranks = s->ranks;
    for (uint32_t i = run->first, end = i + run->count; i < end; i++)
        rows[i] = ranks[rows[i]];
}

/* Moves a column of a run. Pointers are held in locals: a store could change any member as far as
 * the compiler knows. */
#define MOVE(column, VALUE)                                                                        \
    do {                                                                                           \
        const kino__records *const r = &s->join->build->parts[run->part].records;                  \
        const uint32_t *const rows = r->track;                                                     \
        const __typeof__(r->column) from = r->column;                                              \
        const __typeof__(s->join->trace->column) to = s->join->trace->column;                      \
        for (uint32_t i = run->first, end = i + run->count; i < end; i++)                          \
            to[rows[i]] = (VALUE);                                                                 \
    } while (0)

static void move_dur(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    MOVE(dur, from[i]);
}

static void move_place(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    MOVE(place, from[i]);
}

static void move_name(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    const kino_strid *const strings = s->join->maps[run->part].strings;
    uint32_t *const number = s->join->trace->number;
    const uint32_t base = run->number - run->first;
    MOVE(name, (number[rows[i]] = base + i,
                from[i] == KINO_NO_STRING ? KINO_NO_STRING : strings[from[i]]));
}

static void move_bind(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    const kino_strid *const strings = s->join->maps[run->part].strings;
    const uint32_t text = (uint32_t)KINO__FLAG_ID_TEXT << 24;
    const uint32_t *const kind = s->join->build->parts[run->part].records.kind;
    MOVE(bind, kind[i] & text ? strings[from[i]] : from[i]);
}

static void move_external(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    MOVE(external, from[i]);
}

static void move_kind(const scatter *s, group *g, const kino__join_run *run)
{
    (void)g;
    const kino__records *const r = &s->join->build->parts[run->part].records;
    const uint32_t *const rows = r->track, *const kinds = r->kind;
    const uint16_t *const own = s->join->maps[run->part].categories;
    uint16_t *const categories = s->join->trace->category;
    uint8_t *const phase = s->join->trace->phase, *const flags = s->join->trace->flags;
    for (uint32_t i = run->first, end = i + run->count; i < end; i++) {
        const kino__record kind = {.kind = kinds[i]};
        bool is_own = kind.category >= KINO__CATEGORY_COUNT && kind.category < KINO__CATEGORY_MANY;
        categories[rows[i]] = is_own ? own[kind.category - KINO__CATEGORY_COUNT] : kind.category;
        phase[rows[i]] = kind.phase;
        flags[rows[i]] = kind.flags;
    }
}

static void step_group(void *context, unsigned worker, size_t index)
{
    (void)worker;
    scatter *s = context;
    group *g = &s->groups[index];
    for (size_t i = 0; i < g->run_count; i++)
        s->step(s, g, &s->join->runs[g->first_run + i]);
}

/* Does a step with all runs. It leaves the first `moved` bytes of each record unused. */
static void do_step(scatter *s, move_run step, size_t moved)
{
    kino__build *build = s->join->build;
    s->step = step;
    kino__pool_run(build->pool, s->group_count, step_group, s);
    for (size_t p = 0; p < build->part_count; p++)
        give_back(&build->parts[p].records, moved);
}

/* -- groups and rows */

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
            at->last_ts = INT64_MIN; /* before the first one comes nothing */
            at->last_dur = INT64_MAX;
            row += count;
        }
        trace->tracks.items[t].count = row - trace->tracks.items[t].first;
    }
}

/* Does the group's first record of a track come before the last one of the groups before? */
static bool starts_too_early(const kino__trace *t, const kino__track *track, const place *at)
{
    if (at->next == at->start || at->start == track->first)
        return false;
    uint32_t row = at->start;
    return t->ts[row] < t->ts[row - 1] ||
           (t->ts[row] == t->ts[row - 1] && t->dur[row] > t->dur[row - 1]);
}

/* Sorts the tracks that want it: their starts and durations now, all else by corrected rows.
 * `space` is NULL or room for two numbers for each row. */
static kino_status sort_tracks(scatter *s, uint32_t *space, kino_error *err)
{
    kino__trace *trace = s->join->trace;
    uint32_t *unsorted = malloc((trace->tracks.count + 1) * sizeof *unsorted);
    size_t unsorted_count = 0, space_size = 0;
    if (!unsorted)
        return kino__fail_nomem(err);
    for (size_t t = 0; t < trace->tracks.count; t++) {
        kino__track *track = &trace->tracks.items[t];
        bool has_disorder = false;
        for (size_t i = 0; i < s->group_count; i++) {
            const place *at = &s->groups[i].places[t];
            track->kinds |= at->kinds;
            has_disorder |= at->has_disorder || starts_too_early(trace, track, at);
        }
        if (has_disorder)
            unsorted[unsorted_count++] = (uint32_t)t;
    }
    kino_status st = KINO_OK;
    if (unsorted_count) {
        if (!space) {
            space_size = 2 * sizeof *space * trace->event_count;
            space = kino__pages_new(space_size);
        }
        st = space ? kino__columns_sort_keys(trace, unsorted, unsorted_count, space,
                                             s->join->build->pool, err)
                   : kino__fail_nomem(err);
        s->ranks = space;
        if (st == KINO_OK)
            do_step(s, correct_rows, MOVED_DUR);
        if (space_size)
            kino__pages_free(space, space_size);
    }
    free(unsorted);
    return st;
}

/* All columns in the order in which they lie in the records. */
static kino_status move_columns(scatter *s, bool in_place, kino_error *err)
{
    do_step(s, place_run, MOVED_TS);
    do_step(s, move_dur, MOVED_DUR);
    /* in place, what lies under the next column is free until it moves */
    KINO_TRY(sort_tracks(s, in_place ? (uint32_t *)(void *)s->join->trace->place : NULL, err));
    do_step(s, move_place, MOVED_PLACE);
    do_step(s, move_name, MOVED_NAME);
    do_step(s, move_bind, MOVED_BIND);
    do_step(s, move_external, MOVED_EXTERNAL);
    do_step(s, move_kind, KINO__RECORD_BYTES);
    return KINO_OK;
}

kino_status kino__build_columns(kino__join *join, kino_error *err)
{
    kino__trace *trace = join->trace;
    kino__part *parts = join->build->parts;
    bool in_place = join->build->part_count == 1 && parts[0].records.memory;
    scatter s = {.join = join};
    if (join->min_ts == INT64_MAX)
        join->min_ts = 0;
    kino_status st = make_groups(&s, err);
    if (st == KINO_OK) {
        assign_rows(&s);
        if (in_place)
            take_area(trace, &parts[0].records);
        else
            st = kino__columns_new(trace, trace->event_count, err);
    }
    if (st == KINO_OK)
        st = move_columns(&s, in_place, err);
    if (st == KINO_OK && in_place)
        trim_area(trace, parts[0].records.capacity);
    for (size_t i = 0; s.groups && i < s.group_count; i++)
        free(s.groups[i].places);
    free(s.groups);
    trace->origin_ns = join->min_ts; /* the reader adds the file's base */
    return st;
}
