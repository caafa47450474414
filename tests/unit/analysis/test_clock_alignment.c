/* test_clock_alignment.c - clocks from collectives, on traces made by hand. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/clock_alignment/clock_fit.h"
#include "analysis/clock_alignment/clocks.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { CALLS = 20, PERIOD = 1000000 };

typedef struct look {
    const char *operation, *group, *ranks;
    int64_t first; /* sequence number */
    int64_t count;
    int64_t offset;    /* of the clock */
    int64_t drift_ppm; /* of the clock */
    const char *more;  /* arguments */
} look;

/* Call k ends at the true time (k + 1) ms; the clock shows that with offset and drift. */
static kino__trace *make(int64_t rank, look l)
{
    fixture_event events[CALLS] = {{0}};
    char args[CALLS][400];
    for (int64_t k = 0; k < l.count; k++) {
        int64_t end = (k + 1) * PERIOD + l.offset + (k + 1) * l.drift_ppm;
        (void)snprintf(args[k], sizeof args[k],
                       "{\"Collective name\": \"%s\", \"In msg nelems\": 8, \"Out msg nelems\": 8, "
                       "\"dtype\": \"Float\", \"Process Group Name\": \"%s\", \"Process Group "
                       "Ranks\": \"%s\", \"Seq\": %lld%s}",
                       l.operation, l.group, l.ranks, (long long)(l.first + k),
                       l.more ? l.more : "");
        events[k] = (fixture_event){.cat = "kernel",
                                    .name = "ncclDevKernel_Generic",
                                    .track = 7,
                                    .ts = end - 5000,
                                    .dur = 5000,
                                    .bind = k + 1,
                                    .args = args[k]};
    }
    kino__trace *trace = fixture_new(events, (size_t)l.count);
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

#define ALL_REDUCE .operation = "allreduce", .group = "0", .ranks = "[0, 1, 2]"

static void check(kino__trace **traces, size_t count, const char *columns, const char *want)
{
    kino_result *result = analysis_result("clock-alignment", "", traces, count);
    CHECK_STR(analysis_rows(result, "clocks", columns), want);
    kino_result_free(result);
    for (size_t i = 0; i < count; i++)
        kino__trace_free(traces[i]);
}

/* 20 ends from 1 to 20 ms; the middle is at 10.5 ms, where 100 ppm are 1050 ns. */
TEST(ends_of_collectives_give_offset_and_drift)
{
    kino__trace *traces[] = {make(0, (look){ALL_REDUCE, .count = CALLS}),
                             make(1, (look){ALL_REDUCE, .count = CALLS, .offset = 70000}),
                             make(2, (look){ALL_REDUCE, .count = CALLS, .drift_ppm = 100})};
    check(traces, 3, "rank,offset,drift,error,at,calls,matched,reason",
          "0,0,0,0,-,20,-,-;1,70000,0,1000,10500000,20,20,-;2,1050,100,1000,10500000,20,20,-");
}

TEST(a_rank_is_aligned_through_another_one)
{
    kino__trace *traces[] = {make(0, (look){.operation = "send",
                                            .group = "5",
                                            .ranks = "[0, 1]",
                                            .count = CALLS,
                                            .more = ", \"Dst Rank\": 1"}),
                             make(1, (look){.operation = "recv",
                                            .group = "5",
                                            .ranks = "[0, 1]",
                                            .count = CALLS,
                                            .offset = -900,
                                            .more = ", \"Src Rank\": 0"})};
    check(traces, 2, "rank,offset,matched", "0,0,-;1,-900,20");
}

/* Ranks 4 and 6 are 0 and 1 of their group. */
TEST(places_in_a_group_are_ranks_too)
{
    kino__trace *traces[] = {make(4, (look){.operation = "send",
                                            .group = "5",
                                            .ranks = "[4, 6]",
                                            .count = CALLS,
                                            .more = ", \"Dst Rank\": 1"}),
                             make(6, (look){.operation = "recv",
                                            .group = "5",
                                            .ranks = "[4, 6]",
                                            .count = CALLS,
                                            .offset = 300,
                                            .more = ", \"Src Rank\": 4"})};
    traces[0]->index = 0;
    traces[1]->index = 1;
    check(traces, 2, "rank,offset,matched", "4,0,-;6,300,20");
}

TEST(clocks_that_are_not_certain_are_refused_with_a_reason)
{
    kino__trace *few[] = {make(0, (look){ALL_REDUCE, .count = CALLS}),
                          make(1, (look){ALL_REDUCE, .count = 15})};
    check(few, 2, "rank,offset,reason",
          "0,0,-;1,-,15 of its 15 collectives match those of aligned ranks; at least 16 are "
          "needed");
    kino__trace *others[] = {make(0, (look){ALL_REDUCE, .count = CALLS}),
                             make(1, (look){ALL_REDUCE, .count = CALLS, .first = 100})};
    check(others, 2, "rank,offset,matched", "0,0,-;1,-,0");
    kino__trace *roots[] = {
        make(0, (look){.operation = "broadcast", .group = "0", .ranks = "[0]", .count = CALLS}),
        make(1, (look){.operation = "broadcast", .group = "0", .ranks = "[0]", .count = CALLS})};
    check(roots, 2, "rank,offset,reason",
          "0,-,no collectives that end on all ranks together;1,-,no collectives that end on all "
          "ranks together");
    kino__trace *fast[] = {make(0, (look){ALL_REDUCE, .count = CALLS}),
                           make(1, (look){ALL_REDUCE, .count = CALLS, .drift_ppm = 2000})};
    check(fast, 2, "rank,offset,reason",
          "0,0,-;1,-,its clock would drift by 2000 ppm, which no clock does");
}

TEST(a_line_is_found_among_points_of_which_a_third_is_far_off)
{
    enum { COUNT = 99 };
    kino__clock_point points[COUNT];
    for (int64_t i = 0; i < COUNT; i++)
        points[i] = (kino__clock_point){i * 1000000, 500 + 20 * i + (i % 3 ? 0 : 40000 + i * i)};
    kino__clock_line line;
    REQUIRE(kino__clock_fit(points, COUNT, 0, 98000000, &line));
    CHECK_EQ(line.at, 49000000);
    CHECK_EQ(line.offset, 500 + 20 * 49);
    CHECK(line.drift > 19.999e-6 && line.drift < 20.001e-6);
    /* the clock shows 1480 more at the middle, and 20 ns more for each ms after it */
    CHECK_EQ(kino__clock_to_reference(&line, 49000000 + 1480), 49000000);
    CHECK_EQ(kino__clock_to_reference(&line, 98000000 + 1480 + 20 * 49), 98000000);
}

/* Does a trace with an event at 0 and a call at that time come through its bytes? */
static bool is_taken(int64_t time)
{
    kino__clock_facts facts = {0}, loaded = {0};
    kino__buffer bytes = {0};
    kino__pack out = {.out = &bytes};
    kino_strid kind = kino__string_pool_add(&facts.kinds, KINO__STR("allreduce"));
    kino__clock_trace *trace = kino__vec_add(&facts.traces);
    kino__clock_call *call = kino__vec_add(&facts.calls);
    REQUIRE(trace && call);
    *trace = (kino__clock_trace){.last = time};
    *call = (kino__clock_call){.kind = kind, .start = time, .end = time};
    kino__clock_facts_pack(&out, &facts);
    REQUIRE(!bytes.failed);
    kino__pack in = {.at = bytes.data, .end = bytes.data + bytes.size};
    kino__clock_facts_pack(&in, &loaded);
    kino__clock_facts_deinit(&facts);
    kino__clock_facts_deinit(&loaded);
    kino__buffer_deinit(&bytes);
    return !in.is_damaged;
}

/* One event at 0 makes the run's times count from 1970: 2026 is 1,770,000,000 s. */
TEST(calls_in_a_trace_with_an_event_at_0_come_through_their_bytes)
{
    const int64_t second = 1000000000;
    CHECK(is_taken(1770000000 * second));
    CHECK(is_taken(-1 * second));
    CHECK(!is_taken(INT64_MAX / 2));
    CHECK(!is_taken(INT64_MIN / 2));
}
