/* test_link_nesting.c - parents, depths and lanes, by hand and against the definition. */
#include <stdlib.h>

#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* -- by hand */

static int64_t parent(const kino__trace *trace, uint32_t number)
{
    return fixture_number(trace, kino__link_nesting(trace)->parent[fixture_row(trace, number)]);
}

static int depth(const kino__trace *trace, uint32_t number)
{
    return kino__link_nesting(trace)->depth[fixture_row(trace, number)];
}

static int lane(const kino__trace *trace, uint32_t number)
{
    return kino__link_nesting(trace)->lane[fixture_row(trace, number)];
}

TEST(nesting_of_a_call_tree_is_the_call_tree)
{
    /* 0 [0, 100): 1 [10, 40): 2 [10, 20), 3 [20, 40); 4 [50, 60). 5 [100, 110). Listed out of order
     * of time. */
    kino__trace *trace = FIXTURE(
        {.ts = 0, .dur = 100}, {.ts = 10, .dur = 30}, {.ts = 10, .dur = 10}, {.ts = 20, .dur = 20},
        {.ts = 50, .dur = 10}, {.ts = 100, .dur = 10}, {.track = 1, .ts = 15, .dur = 2});
    static const int64_t parents[] = {-1, 0, 1, 1, 0, -1, -1};
    static const int depths[] = {0, 1, 2, 2, 1, 0, 0};
    for (uint32_t i = 0; i < 7; i++) {
        CHECK_EQ(parent(trace, i), parents[i]);
        CHECK_EQ(depth(trace, i), depths[i]);
        CHECK_EQ(lane(trace, i), 0);
    }
    CHECK_EQ(kino__link_nesting(trace)->overlap_count, 0);
    kino__trace_free(trace);
}

TEST(nesting_keeps_a_span_that_overlaps_its_neighbour_on_a_lane_of_its_own)
{
    /* 0 [0, 100) holds 1 [10, 30), 2 [20, 50) and 3 [25, 60), each half over the one before, and 4
     * [50, 55). 5 [22, 24) is in both 1 and 2: it belongs to the one that starts last. 6 [55, 59)
     * is in 3 alone. */
    kino__trace *trace = FIXTURE({.ts = 0, .dur = 100}, {.ts = 10, .dur = 20},
                                 {.ts = 20, .dur = 30}, {.ts = 25, .dur = 35}, {.ts = 50, .dur = 5},
                                 {.ts = 22, .dur = 2}, {.ts = 55, .dur = 4});
    static const int64_t parents[] = {-1, 0, 0, 0, 3, 2, 3};
    static const int lanes[] = {0, 0, 1, 2, 0, 0, 0};
    for (uint32_t i = 0; i < 7; i++) {
        CHECK_EQ(parent(trace, i), parents[i]);
        CHECK_EQ(lane(trace, i), lanes[i]);
    }
    CHECK_EQ(kino__link_nesting(trace)->overlap_count, 3); /* 1, 2, 3 */
    kino__trace_free(trace);
}

TEST(nesting_of_spans_without_length_follows_half_open_bounds)
{
    /* 0 [10, 20). 1 at its start is inside, 2 at its end is not. 3 and 4 at one point: the first in
     * the list holds the other. 5: negative, 6: absent duration, both at 15. */
    kino__trace *trace =
        FIXTURE({.ts = 10, .dur = 10}, {.ts = 10}, {.ts = 20}, {.ts = 30}, {.ts = 30},
                {.ts = 15, .dur = -4}, {.ts = 15, .dur = KINO_NO_TIME});
    static const int64_t parents[] = {-1, 0, -1, -1, 3, 0, 5};
    for (uint32_t i = 0; i < 7; i++)
        CHECK_EQ(parent(trace, i), parents[i]);
    CHECK_EQ(kino__link_nesting(trace)->overlap_count, 0);
    kino__trace_free(trace);
}

TEST(nesting_of_equal_spans_makes_the_first_in_the_file_the_parent)
{
    kino__trace *trace = FIXTURE({.ts = 5, .dur = 5}, {.ts = 5, .dur = 5}, {.ts = 5, .dur = 5});
    CHECK_EQ(parent(trace, 0), -1);
    CHECK_EQ(parent(trace, 1), 0);
    CHECK_EQ(parent(trace, 2), 1);
    kino__trace_free(trace);
}

TEST(nesting_gives_instants_and_flow_points_the_span_around_them)
{
    kino__trace *trace =
        FIXTURE({.ts = 10, .dur = 10}, {.ph = 'i', .ts = 10}, {.ph = 's', .ts = 19},
                {.ph = 'i', .ts = 20}, {.ph = 'M', .ts = 15}, {.ts = 17}, {.ph = 'i', .ts = 17},
                {.ph = 'i', .ts = 18}, {.ph = 'M', .ts = KINO_NO_TIME});
    static const int64_t parents[] = {-1, 0, 0, -1, -1, 0, 5, 0, -1};
    static const int depths[] = {0, 1, 1, 0, 0, 1, 2, 1, 0};
    for (uint32_t i = 0; i < 9; i++) {
        CHECK_EQ(parent(trace, i), parents[i]);
        CHECK_EQ(depth(trace, i), depths[i]);
    }
    kino__trace_free(trace);
}

TEST(nesting_at_the_end_of_time_does_not_overflow)
{
    kino__trace *trace =
        FIXTURE({.ts = INT64_MAX - 10, .dur = INT64_MAX}, {.ts = INT64_MAX - 5, .dur = 100},
                {.ts = INT64_MIN + 1, .dur = INT64_MAX});
    CHECK_EQ(parent(trace, 0), -1);
    CHECK_EQ(parent(trace, 1), 0); /* both end at the end of time */
    CHECK_EQ(parent(trace, 2), -1);
    kino__trace_free(trace);
}

/* -- against the definition */

static int64_t end_of(const kino__trace *trace, uint32_t row)
{
    return trace->dur[row] > 0 ? trace->ts[row] + trace->dur[row] : trace->ts[row];
}

static bool contains(const kino__trace *trace, uint32_t a, uint32_t b)
{
    return trace->phase[a] == 'X' && trace->ts[a] <= trace->ts[b] &&
           end_of(trace, b) <= end_of(trace, a) &&
           (trace->ts[b] < end_of(trace, a) || trace->ts[a] == trace->ts[b]);
}

typedef struct slow_row {
    uint32_t parent;
    int depth, lane;
    bool is_overlapping;
} slow_row;

static void slow_place(const kino__trace *trace, const kino__track *track, uint32_t row,
                       slow_row *rows)
{
    slow_row *r = &rows[row];
    *r = (slow_row){.parent = KINO_NO_ROW};
    for (uint32_t a = track->first; a < row; a++)
        if (contains(trace, a, row))
            r->parent = a;
    r->depth = r->parent == KINO_NO_ROW ? 0 : rows[r->parent].depth + 1;
    if (trace->phase[row] != 'X')
        return;
    uint64_t taken = 0;
    for (uint32_t a = track->first; a < row; a++) {
        if (trace->phase[a] != 'X' || rows[a].depth != r->depth ||
            end_of(trace, a) <= trace->ts[row])
            continue;
        taken |= (uint64_t)1 << rows[a].lane;
        rows[a].is_overlapping = r->is_overlapping = true;
    }
    while (taken >> r->lane & 1)
        r->lane++;
}

static bool check_against_slow(const kino__trace *trace)
{
    slow_row *rows = calloc(trace->event_count, sizeof *rows);
    REQUIRE(rows != NULL);
    uint32_t overlaps = 0;
    bool ok = true;
    for (size_t t = 0; t < trace->tracks.count; t++) {
        const kino__track *track = &trace->tracks.items[t];
        for (uint32_t row = track->first; row < track->first + track->count; row++)
            slow_place(trace, track, row, rows);
    }
    const kino__nesting *nesting = kino__link_nesting(trace);
    REQUIRE(nesting != NULL);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        ok = CHECK_EQ(nesting->parent[row], rows[row].parent) && ok;
        ok = CHECK_EQ(nesting->depth[row], rows[row].depth) && ok;
        ok = CHECK_EQ(nesting->lane[row], rows[row].lane) && ok;
        overlaps += rows[row].is_overlapping;
    }
    ok = CHECK_EQ(nesting->overlap_count, overlaps) && ok;
    free(rows);
    return ok;
}

TEST(nesting_agrees_with_its_definition_on_random_traces)
{
    fixture_random random = {1};
    fixture_event events[40];
    for (int round = 0; round < 3000; round++) {
        uint32_t count = 1 + fixture_random_below(&random, 40);
        uint32_t span = 5 + fixture_random_below(&random, 60);
        for (uint32_t i = 0; i < count; i++) {
            events[i] = (fixture_event){.track = fixture_random_below(&random, 2),
                                        .ts = fixture_random_below(&random, span),
                                        .dur = fixture_random_below(&random, span / 2) - 1};
            if (fixture_random_below(&random, 8) == 0)
                events[i].ph = "istf"[fixture_random_below(&random, 4)];
        }
        kino__trace *trace = fixture_new(events, count);
        bool ok = check_against_slow(trace);
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}

/* -- extremes */

static fixture_event *many(uint32_t count)
{
    fixture_event *events = calloc(count, sizeof *events);
    REQUIRE(events != NULL);
    return events;
}

TEST(nesting_a_million_deep_saturates_depth_and_keeps_parents)
{
    enum { COUNT = 1000000 };
    fixture_event *events = many(COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.ts = i, .dur = 3 * COUNT - 2 * i};
    kino__trace *trace = fixture_new(events, COUNT);
    const kino__nesting *nesting = kino__link_nesting(trace);
    REQUIRE(nesting != NULL);
    CHECK_EQ(nesting->depth[65534], 65534);
    CHECK_EQ(nesting->depth[65535], 65535);
    CHECK_EQ(nesting->depth[COUNT - 1], 65535);
    CHECK_EQ(nesting->parent[COUNT - 1], COUNT - 2);
    CHECK_EQ(nesting->overlap_count, 0);
    kino__trace_free(trace);
    free(events);
}

TEST(nesting_with_more_overlaps_than_lanes_saturates_the_lane)
{
    enum { COUNT = 70000 };
    fixture_event *events = many(COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.ts = i, .dur = COUNT};
    kino__trace *trace = fixture_new(events, COUNT);
    const kino__nesting *nesting = kino__link_nesting(trace);
    REQUIRE(nesting != NULL);
    CHECK_EQ(nesting->lane[0], 0);
    CHECK_EQ(nesting->lane[65534], 65534);
    CHECK_EQ(nesting->lane[COUNT - 1], 65535);
    CHECK_EQ(nesting->depth[COUNT - 1], 0);
    CHECK_EQ(nesting->overlap_count, COUNT);
    kino__trace_free(trace);
    free(events);
}

TEST(nesting_of_very_many_tracks_is_no_slower_than_of_one)
{
    enum { TRACKS = 300000 };
    fixture_event *events = many(TRACKS * 2);
    for (uint32_t i = 0; i < TRACKS; i++) {
        events[2 * i] = (fixture_event){.track = i, .ts = 0, .dur = 10};
        events[2 * i + 1] = (fixture_event){.track = i, .ts = 5, .dur = 10};
    }
    kino__trace *trace = fixture_new(events, TRACKS * 2);
    const kino__nesting *nesting = kino__link_nesting(trace);
    REQUIRE(nesting != NULL);
    CHECK_EQ(nesting->overlap_count, TRACKS * 2);
    CHECK_EQ(nesting->lane[2 * TRACKS - 1], 1);
    kino__trace_free(trace);
    free(events);
}

TEST(nesting_of_an_empty_trace_is_empty)
{
    kino__trace *trace = fixture_new(NULL, 0);
    const kino__nesting *nesting = kino__link_nesting(trace);
    REQUIRE(nesting != NULL);
    CHECK_EQ(nesting->overlap_count, 0);
    CHECK(kino__link_launch(trace) && kino__link_op(trace) && kino__link_forward(trace));
    CHECK_EQ(kino__link_steps(trace)->count, 0);
    CHECK_EQ(kino__link_flows(trace)->count, 0);
    CHECK(kino__link_python_parent(trace) && kino__link_module(trace));
    kino__trace_free(trace);
}
