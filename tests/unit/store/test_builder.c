/* test_builder.c - the join of workers' parts against a slow obvious one: however the records are
 * dealt out, the trace is the same. */
#include <stdlib.h>

#include "base/str.h"
#include "store/builder.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"

/* AMPLE: so much room that the columns of a part lie in several huge pages */
enum { AMPLE = 150000 };
enum { EVENTS = 30000, NAMES = 40, TRACKS = 7, PER_PIECE = 1000, FIRST_RUN = 300, SKIPPED = 2 };

typedef struct event {
    int64_t ts, dur;
    unsigned name, track;
    char phase;
} event;

static void make_events(event *events, uint64_t seed)
{
    fixture_random random = {seed};
    for (int i = 0; i < EVENTS; i++) {
        events[i] =
            (event){.ts = 500 + (int64_t)fixture_random_below(&random, 20000),
                    .dur = fixture_random_below(&random, 10),
                    .name = fixture_random_below(&random, (uint32_t)(i * NAMES / EVENTS + 1)),
                    .track = fixture_random_below(&random, (uint32_t)(i * TRACKS / EVENTS + 1)),
                    .phase = 'X'};
        if (fixture_random_below(&random, 50) == 0)
            events[i] = (event){.ts = KINO_NO_TIME,
                                .dur = KINO_NO_TIME,
                                .name = events[i].name,
                                .track = events[i].track,
                                .phase = 'M'};
    }
}

/* -- the parts, filled as a reader's worker does */

typedef struct worker {
    kino__part part;
    uint32_t names[NAMES], tracks[TRACKS]; /* + 1; 0: not seen */
} worker;

static uint32_t part_string(worker *w, unsigned name, uint64_t position)
{
    static char made[NAMES][8];
    (void)snprintf(made[name], sizeof made[name], "n%u", name);
    if (!w->names[name]) {
        kino__part_string *s = kino__vec_add(&w->part.strings);
        REQUIRE(s != NULL);
        *s = (kino__part_string){
            .text = made[name], .size = (uint32_t)strlen(made[name]), .position = position};
        w->names[name] = (uint32_t)w->part.strings.count;
    }
    return w->names[name] - 1;
}

static uint32_t part_track(worker *w, unsigned track, uint64_t position)
{
    if (!w->tracks[track]) {
        kino__part_track *t = kino__vec_add(&w->part.tracks);
        REQUIRE(t != NULL);
        *t = (kino__part_track){{KINO__LABEL_INT, KINO_NO_STRING, 1},
                                {KINO__LABEL_INT, KINO_NO_STRING, track},
                                position};
        w->tracks[track] = (uint32_t)w->part.tracks.count;
    }
    return w->tracks[track] - 1;
}

static void add_record(worker *w, const event *e, uint64_t position)
{
    kino__records *records = &w->part.records;
    REQUIRE(records->count < records->capacity || kino__part_grow(&w->part));
    const kino__record r = {.ts = e->ts,
                            .dur = e->dur,
                            .place = position + 1,
                            .name = part_string(w, e->name, position),
                            .bind = (uint32_t)position + 2,
                            .external = (uint32_t)position + 3,
                            .track = part_track(w, e->track, position),
                            .category = KINO__CATEGORY_CPU_OP,
                            .phase = (uint8_t)e->phase,
                            .flags = position % 3 ? KINO__FLAG_BP : 0};
    kino__records_add(records, &r);
    if (e->phase != 'M' && e->ts < w->part.min_ts)
        w->part.min_ts = e->ts;
}

static void add_run(worker *w, uint32_t count, uint32_t number)
{
    kino__record_run *run = kino__vec_add(&w->part.runs);
    REQUIRE(run != NULL);
    *run = (kino__record_run){w->part.records.count, count, number};
}

/* A piece has two runs: what would be in the middle was skipped. */
static void fill_piece(worker *w, uint32_t index, kino__piece *piece, const event *events,
                       int first, int count)
{
    *piece = (kino__piece){.part = index,
                           .first_run = (uint32_t)w->part.runs.count,
                           .run_count = 2,
                           .number_count = PER_PIECE + SKIPPED};
    for (int i = 0; i < count; i++) {
        if (i == 0)
            add_run(w, FIRST_RUN, 0);
        if (i == FIRST_RUN)
            add_run(w, (uint32_t)(count - FIRST_RUN), FIRST_RUN + SKIPPED);
        add_record(w, &events[first + i], (uint64_t)(first + i) * 100);
    }
    piece->first_count = (uint32_t)w->part.counts.count;
    for (unsigned track = 0; track < TRACKS; track++) {
        uint32_t records = 0;
        for (int i = 0; i < count; i++)
            records += events[first + i].track == track;
        if (records == 0)
            continue;
        kino__track_count *slot = kino__vec_add(&w->part.counts);
        REQUIRE(slot != NULL);
        *slot = (kino__track_count){w->tracks[track] - 1, records};
        piece->count_count++;
    }
}

/* Deals pieces to the workers at random; with `wrong` some pieces are also parsed by somebody else
 * and thrown away. */
static kino__trace *build(const event *events, size_t workers, uint64_t seed, bool wrong)
{
    fixture_random random = {seed};
    worker *all = calloc(workers, sizeof *all);
    kino__part *parts = calloc(workers, sizeof *parts);
    REQUIRE(all && parts);
    for (size_t i = 0; i < workers; i++) {
        kino__part_init(&all[i].part);
        if (seed % 2) /* else they grow */
            REQUIRE(kino__part_reserve(&all[i].part, AMPLE));
    }
    kino__piece pieces[EVENTS / PER_PIECE];
    static event lies[PER_PIECE];
    for (int p = 0; p < EVENTS / PER_PIECE; p++) {
        uint32_t who = fixture_random_below(&random, (uint32_t)workers);
        if (wrong && fixture_random_below(&random, 3) == 0) {
            kino__piece thrown_away;
            for (int i = 0; i < PER_PIECE; i++)
                lies[i] = (event){.ts = 1,
                                  .name = fixture_random_below(&random, NAMES),
                                  .track = fixture_random_below(&random, TRACKS),
                                  .phase = 'X'};
            fill_piece(&all[who], who, &thrown_away, lies, 0, PER_PIECE);
        }
        fill_piece(&all[who], who, &pieces[p], events, p * PER_PIECE, PER_PIECE);
    }
    for (size_t i = 0; i < workers; i++)
        parts[i] = all[i].part;
    kino__trace *trace;
    kino__pool *pool = NULL;
    REQUIRE(kino__trace_new(&trace, NULL) == KINO_OK &&
            kino__pool_new((unsigned)workers, &pool, NULL) == KINO_OK);
    kino__build job = {.parts = parts,
                       .part_count = workers,
                       .pieces = pieces,
                       .piece_count = EVENTS / PER_PIECE,
                       .is_tainted = wrong,
                       .pool = pool};
    REQUIRE_EQ(kino__trace_build(trace, &job, NULL), KINO_OK);
    for (size_t i = 0; i < workers; i++)
        kino__part_deinit(&parts[i]);
    kino__pool_free(pool);
    free(parts);
    free(all);
    return trace;
}

/* -- the obvious one */

typedef struct sorted {
    event e;
    uint32_t index, number, track;
} sorted;

static int compare_rows(const void *a, const void *b)
{
    const sorted *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->e.ts != y->e.ts)
        return x->e.ts < y->e.ts ? -1 : 1;
    if (x->e.dur != y->e.dur)
        return x->e.dur > y->e.dur ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static void check_trace(const kino__trace *trace, const event *events)
{
    static sorted want[EVENTS];
    uint32_t seen_tracks[TRACKS], track_count = 0;
    int64_t origin = INT64_MAX;
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t t = 0;
        while (t < track_count && seen_tracks[t] != events[i].track)
            t++;
        if (t == track_count)
            seen_tracks[track_count++] = events[i].track;
        uint32_t skipped = i / PER_PIECE * SKIPPED + (i % PER_PIECE >= FIRST_RUN ? SKIPPED : 0);
        want[i] = (sorted){events[i], i, i + skipped, t};
        if (events[i].phase != 'M' && events[i].ts < origin)
            origin = events[i].ts;
    }
    qsort(want, EVENTS, sizeof *want, compare_rows);
    REQUIRE_EQ(trace->event_count, EVENTS);
    REQUIRE_EQ(trace->tracks.count, track_count);
    CHECK_EQ(trace->origin_ns, origin);
    for (uint32_t t = 0; t < track_count; t++)
        CHECK_EQ(trace->tracks.items[t].tid.number, (int64_t)seen_tracks[t]);
    for (uint32_t row = 0; row < EVENTS; row++) {
        char name[8];
        (void)snprintf(name, sizeof name, "n%u", want[row].e.name);
        bool held = CHECK_EQ(trace->number[row], want[row].number);
        held &= CHECK_EQ(trace->ts[row],
                         want[row].e.phase == 'M' ? KINO_NO_TIME : want[row].e.ts - origin);
        held &= CHECK_EQ(trace->dur[row], want[row].e.dur);
        held &= CHECK_STR(kino__trace_string(trace, trace->name[row]), name);
        held &= CHECK_EQ(kino__trace_track_of(trace, row), want[row].track);
        held &= CHECK_EQ(trace->place[row], want[row].index * 100 + 1);
        held &= CHECK_EQ(trace->bind[row], want[row].index * 100 + 2);
        held &= CHECK_EQ(trace->external[row], want[row].index * 100 + 3);
        held &= CHECK_EQ(trace->category[row], KINO__CATEGORY_CPU_OP);
        held &= CHECK_EQ(trace->phase[row], want[row].e.phase);
        held &= CHECK_EQ(trace->flags[row], want[row].index * 100 % 3 ? KINO__FLAG_BP : 0);
        if (!held)
            break;
    }
    /* strings by first appearance */
    uint32_t next = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "n%u", events[i].name);
        kino_strid id = kino__string_pool_find(&trace->strings, kino__str_from(name));
        if (id == next)
            next++;
        if (!CHECK(id < next))
            break;
    }
    CHECK_EQ(kino__string_pool_count(&trace->strings), next);
}

TEST_THREADS(parts_are_joined_as_if_there_was_one)
{
    static event events[EVENTS];
    for (uint64_t seed = 1; seed <= 4; seed++) {
        make_events(events, seed);
        for (size_t workers = 1; workers <= 4; workers++) {
            kino__trace *trace = build(events, workers, seed, false);
            check_trace(trace, events);
            kino__trace_free(trace);
        }
    }
}

TEST_THREADS(what_was_thrown_away_leaves_no_trace)
{
    static event events[EVENTS];
    for (uint64_t seed = 11; seed <= 14; seed++) {
        make_events(events, seed);
        for (size_t workers = 1; workers <= 4; workers++) {
            kino__trace *trace = build(events, workers, seed, true);
            check_trace(trace, events);
            kino__trace_free(trace);
        }
    }
}

/* Overlapping spans, equal starts, equal spans, marks at the same time: the order of trace.h. */
TEST(rows_are_ordered_by_start_then_longer_first_then_as_in_the_file)
{
    kino__trace *trace = chrome_load_text(
        "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":5,\"dur\":1},"
        "{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":3},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":4},"
        "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"t\"}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":-2,\"dur\":4},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":4,\"dur\":9},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":0}]");
    static const uint32_t want[] = {4, 6, 3, 2, 5, 8, 1, 7, 0};
    REQUIRE_EQ(trace->event_count, 9);
    for (uint32_t row = 0; row < 9; row++)
        CHECK_EQ(trace->number[row], want[row]);
    CHECK_EQ(trace->origin_ns, -2000);
    CHECK_STR(kino__trace_string(trace, trace->tracks.items[0].name), "t");
    kino__trace_free(trace);
}
