/* test_link_flows.c - flow points: pairs, chains, what they are bound to, and points without a
 * partner. */
#include <stdlib.h>

#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define POINT(phase, ...)                                                                          \
    {                                                                                              \
        .ph = phase, .cat = "ac2g", .name = "ac2g", __VA_ARGS__                                    \
    }

static bool has_pair(const kino__trace *trace, int64_t from, int64_t to)
{
    const kino__flows *flows = kino__link_flows(trace);
    for (size_t i = 0; i < flows->count; i++)
        if (fixture_number(trace, flows->items[i].from) == from &&
            fixture_number(trace, flows->items[i].to) == to)
            return true;
    return false;
}

TEST(flows_pair_a_launch_with_its_kernel_and_bind_both_to_their_spans)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .ts = 0, .dur = 50},
                                 {.cat = "cuda_runtime", .ts = 10, .dur = 5, .bind = 9},
                                 POINT('s', .ts = 10, .bind = 9),
                                 {.cat = "kernel", .track = 7, .ts = 20, .dur = 5, .bind = 9},
                                 POINT('f', .track = 7, .ts = 20, .bind = 9, .bp = true));
    const kino__flows *flows = kino__link_flows(trace);
    REQUIRE(flows != NULL);
    REQUIRE_EQ(flows->count, 1);
    CHECK_EQ(flows->items[0].id, 9);
    CHECK_EQ(fixture_number(trace, flows->items[0].from), 2);
    CHECK_EQ(fixture_number(trace, flows->items[0].to), 4);
    CHECK_EQ(fixture_number(trace, flows->items[0].from_span), 1);
    CHECK_EQ(fixture_number(trace, flows->items[0].to_span), 3);
    CHECK_EQ(flows->dangling_starts, 0);
    CHECK_EQ(flows->dangling_ends, 0);
    kino__trace_free(trace);
}

TEST(flows_of_one_start_may_have_many_ends_and_ends_before_it)
{
    /* ends 1 and 2 behind the start, end 3 (a clock that runs early) before it; 4: another id,
     * nobody started it; 5: a start that nobody ends; 6: without an id */
    kino__trace *trace = FIXTURE(
        POINT('s', .ts = 10, .bind = 1), POINT('f', .track = 7, .ts = 20, .bind = 1),
        POINT('f', .track = 7, .ts = 30, .bind = 1), POINT('f', .track = 7, .ts = 9, .bind = 1),
        POINT('f', .track = 7, .ts = 40, .bind = 2), POINT('s', .ts = 50, .bind = 3),
        POINT('s', .ts = 60), {.ph = 'f', .cat = "fwdbwd", .name = "fwdbwd", .ts = 90, .bind = 3});
    const kino__flows *flows = kino__link_flows(trace);
    REQUIRE(flows != NULL);
    CHECK_EQ(flows->count, 3);
    CHECK(has_pair(trace, 0, 1));
    CHECK(has_pair(trace, 0, 2));
    CHECK(has_pair(trace, 0, 3));
    CHECK_EQ(flows->dangling_starts, 2);
    CHECK_EQ(flows->dangling_ends, 2);
    kino__trace_free(trace);
}

TEST(flows_go_through_steps_and_start_again_when_an_id_is_used_again)
{
    kino__trace *trace =
        FIXTURE(POINT('s', .ts = 10, .bind = 1), POINT('t', .track = 1, .ts = 20, .bind = 1),
                POINT('t', .track = 2, .ts = 30, .bind = 1),
                POINT('f', .track = 3, .ts = 40, .bind = 1), POINT('s', .ts = 50, .bind = 1),
                POINT('f', .track = 3, .ts = 60, .bind = 1), POINT('t', .ts = 70, .bind = 8));
    CHECK(has_pair(trace, 0, 1));
    CHECK(has_pair(trace, 1, 2));
    CHECK(has_pair(trace, 2, 3));
    CHECK(has_pair(trace, 4, 5));
    CHECK_EQ(kino__link_flows(trace)->count, 4);
    CHECK_EQ(kino__link_flows(trace)->dangling_ends, 1); /* the lonely t */
    kino__trace_free(trace);
}

TEST(flow_points_pick_the_span_that_fits_when_several_start_there)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cuda_runtime", .ts = 10, .dur = 9, .bind = 4},
        {.cat = "cuda_driver", .ts = 10, .dur = 5, .bind = 5}, POINT('s', .ts = 10, .bind = 4),
        {.cat = "kernel", .track = 7, .ts = 20, .dur = 5, .bind = 4},
        POINT('f', .track = 7, .ts = 20, .bind = 4, .bp = true),
        {.cat = "cpu_op", .track = 2, .ts = 5, .dur = 9},
        {.cat = "python_function", .track = 2, .ts = 5, .dur = 3},
        {.ph = 's', .cat = "fwdbwd", .name = "fwdbwd", .track = 2, .ts = 5, .bind = 4},
        {.ph = 'f', .cat = "fwdbwd", .name = "fwdbwd", .track = 2, .ts = 30, .bind = 4});
    const kino__flows *flows = kino__link_flows(trace);
    REQUIRE_EQ(flows->count, 2); /* in order of the ending row: track 2, then 7 */
    CHECK_EQ(fixture_number(trace, flows->items[0].from_span), 5);
    CHECK_EQ(fixture_number(trace, flows->items[0].to_span), -1);
    CHECK_EQ(fixture_number(trace, flows->items[1].from_span), 0);
    CHECK_EQ(fixture_number(trace, flows->items[1].to_span), 3);
    kino__trace_free(trace);
}

TEST(flow_end_without_binding_point_goes_to_the_next_span)
{
    kino__trace *trace =
        FIXTURE(POINT('s', .ts = 0, .bind = 1), {.track = 1, .ts = 5, .dur = 20},
                POINT('f', .track = 1, .ts = 10, .bind = 1), {.track = 1, .ts = 12, .dur = 2},
                POINT('f', .track = 1, .ts = 15, .bind = 1, .bp = true),
                {.track = 2, .ts = 20, .dur = 2}, POINT('f', .track = 1, .ts = 30, .bind = 1));
    const kino__flows *flows = kino__link_flows(trace);
    REQUIRE_EQ(flows->count, 3);
    CHECK_EQ(fixture_number(trace, flows->items[0].to_span), 3);
    CHECK_EQ(fixture_number(trace, flows->items[1].to_span), 1);
    CHECK_EQ(fixture_number(trace, flows->items[2].to_span),
             -1); /* the next span is another track's */
    kino__trace_free(trace);
}

/* The definition, group by group: every t and f looks for its predecessor among all points. */
static int64_t slow_predecessor(const fixture_event *events, uint32_t count, uint32_t i)
{
    static const char order[] = "stf";
    int64_t best = -1, first = -1;
    if (events[i].ph == 's' || !events[i].bind)
        return -1;
    for (uint32_t j = 0; j < count; j++) {
        const fixture_event *e = &events[j];
        if (j == i || e->ph == 'f' || e->bind != events[i].bind || e->name != events[i].name)
            continue;
        int64_t key = e->ts * 10 + (e->ph == 't'),
                own = events[i].ts * 10 + (events[i].ph == 't' ? 1 : 2);
        bool is_before = key < own || (key == own && j < i);
        if (is_before && (best < 0 || key >= events[best].ts * 10 + (events[best].ph == 't')))
            best = j;
        if (e->ph == order[0] && (first < 0 || e->ts < events[first].ts))
            first = j;
    }
    return best < 0 && events[i].ph == 'f' ? first : best;
}

TEST(flows_agree_with_their_definition_on_random_traces)
{
    fixture_random random = {11};
    fixture_event events[30];
    static const char *const names[] = {"a", "b"};
    for (int round = 0; round < 3000; round++) {
        uint32_t count = 1 + fixture_random_below(&random, 30);
        for (uint32_t i = 0; i < count; i++)
            events[i] = (fixture_event){.ph = "sstff"[fixture_random_below(&random, 5)],
                                        .cat = "ac2g",
                                        .name = names[fixture_random_below(&random, 2)],
                                        .track = fixture_random_below(&random, 3),
                                        .ts = fixture_random_below(&random, 12),
                                        .bind = fixture_random_below(&random, 3)};
        kino__trace *trace = fixture_new(events, count);
        const kino__flows *flows = kino__link_flows(trace);
        REQUIRE(flows != NULL);
        bool ok = true, has_next[30] = {false};
        int64_t want[30], pairs = 0;
        uint64_t starts = 0, ends = 0;
        for (uint32_t i = 0; i < count; i++) {
            want[i] = slow_predecessor(events, count, i);
            if (want[i] < 0)
                continue;
            has_next[want[i]] = true;
            pairs++;
            ok = CHECK(has_pair(trace, want[i], i)) && ok;
        }
        for (uint32_t i = 0; i < count; i++) {
            starts += events[i].ph == 's' && !has_next[i];
            ends += want[i] < 0 && (events[i].ph == 'f' || (events[i].ph == 't' && !has_next[i]));
        }
        ok = CHECK_EQ(flows->count, pairs) && ok;
        ok = CHECK_EQ(flows->dangling_starts, starts) && ok;
        ok = CHECK_EQ(flows->dangling_ends, ends) && ok;
        for (size_t i = 1; i < flows->count; i++)
            ok = CHECK(flows->items[i - 1].to < flows->items[i].to) && ok;
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}
