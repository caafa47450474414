/* test_straggler_cause.c - who comes last to collectives and why, on traces made by hand. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/straggler_cause/arrivals.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define ARGS(group, ranks)                                                                         \
    "{\"Collective name\": \"allreduce\", \"In msg nelems\": 8, \"dtype\": \"Float\", \"Process "  \
    "Group Name\": \"" group "\", \"Process Group Ranks\": \"" ranks "\", \"Seq\": 1}"
#define TP ARGS("tp", "[1, 2]")
#define DP ARGS("dp", "[0, 1]")

static kino__trace *of_rank(kino__trace *trace, int64_t rank)
{
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

static fixture_event call(int64_t ts, int64_t dur, const char *args)
{
    return (fixture_event){.cat = "kernel",
                           .name = "ncclDevKernel_AllReduce",
                           .track = 7,
                           .ts = ts,
                           .dur = dur,
                           .bind = ts,
                           .args = args};
}

/* Rank 2 comes to the tensor-parallel call 8000 ns after rank 1, which is then 9000 ns late for the
 * data-parallel one. */
TEST(a_rank_that_was_kept_waiting_hands_the_blame_on)
{
    const fixture_event middle[] = {call(1000, 9000, TP), call(11000, 1000, DP)};
    const fixture_event others[] = {call(2000, 10000, DP), call(9000, 1000, TP)};
    kino__trace *traces[] = {of_rank(fixture_new(&others[0], 1), 0),
                             of_rank(fixture_new(middle, 2), 1),
                             of_rank(fixture_new(&others[1], 1), 2)};
    kino_result *result = analysis_result("straggler-cause", "align=off", traces, 3);
    CHECK_STR(analysis_rows(result, "arrivals",
                            "process_group,ranks,last_rank,skew,waited,caused_by,aligned"),
              "dp,2,1,9000,9000,2,0;tp,2,2,8000,8000,2,0");
    CHECK_STR(analysis_rows(result, "waiting", "rank,last_count,caused,caused_pctg"),
              "0,0,0,0;1,1,0,0;2,1,17000,100");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

/* The same without the wait before: rank 1 is late by itself. */
TEST(a_rank_that_is_late_by_itself_keeps_the_blame)
{
    const fixture_event middle[] = {call(9000, 1000, TP), call(11000, 1000, DP)};
    const fixture_event others[] = {call(2000, 10000, DP), call(9000, 1000, TP)};
    kino__trace *traces[] = {of_rank(fixture_new(&others[0], 1), 0),
                             of_rank(fixture_new(middle, 2), 1),
                             of_rank(fixture_new(&others[1], 1), 2)};
    kino_result *result = analysis_result("straggler-cause", "", traces, 3);
    CHECK_STR(analysis_rows(result, "arrivals", "process_group,last_rank,skew,caused_by"),
              "dp,1,9000,1;tp,1,0,1");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

static fixture_event span(const char *cat, const char *name, int64_t ts, int64_t dur)
{
    return (fixture_event){.cat = cat, .name = name, .track = 1, .ts = ts, .dur = dur};
}

/* Three steps of 1000 us. Rank 2's aten::b takes 300 us more than on the others, who spend that in
 * the collective that ends at 900 us. */
static kino__trace *make_rank(int64_t rank, int64_t more)
{
    enum { STEPS = 3, PER_STEP = 4, US = 1000 };
    fixture_event events[STEPS * PER_STEP];
    static const char *const names[] = {"ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"};
    for (int64_t s = 0; s < STEPS; s++) {
        int64_t at = s * 1000 * US;
        fixture_event *e = &events[s * PER_STEP];
        e[0] = span("user_annotation", names[s], at, 1000 * US);
        e[1] = span("cpu_op", "aten::a", at + 10 * US, 200 * US);
        e[2] = span("cpu_op", "aten::b", at + 220 * US, (200 + more) * US);
        e[3] = (fixture_event){.cat = "cpu_op",
                               .name = "gloo:all_reduce",
                               .track = 2,
                               .ts = at + (430 + more) * US,
                               .dur = (470 - more) * US};
    }
    return of_rank(fixture_new(events, STEPS * PER_STEP), rank);
}

TEST(the_span_that_differs_is_named)
{
    kino__trace *traces[] = {make_rank(0, 0), make_rank(1, 0), make_rank(2, 300)};
    kino_result *result = analysis_result("straggler-cause", "", traces, 3);
    CHECK_STR(analysis_rows(result, "straggler_cause",
                            "rank,cause,what,span,span_more,more,excess,lost_per_step,lost,"
                            "confidence"),
              "2,host,operator,aten::b,300000,300000,300000,300000,900000,80");
    CHECK_STR(analysis_rows(result, "rank_steps", "rank,step,time,own,waiting"),
              "0,1,1000000,530000,300000;0,2,1000000,530000,300000;0,3,1000000,530000,300000;"
              "1,1,1000000,530000,300000;1,2,1000000,530000,300000;1,3,1000000,530000,300000;"
              "2,1,1000000,830000,0;2,2,1000000,830000,0;2,3,1000000,830000,0");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

/* A rank is 2000 ns late at each of 400,000 calls: all lateness comes from the first one, which is
 * found without walking back from each call to it (80,000,000,000 steps). */
TEST(a_rank_that_is_late_all_the_time_is_late_from_the_first_call)
{
    enum { CALLS = 400000 };
    kino__clock_facts facts = {0};
    kino__arrivals found;
    kino_strid kind = kino__string_pool_add(&facts.kinds, KINO__STR("allreduce"));
    REQUIRE(kino__vec_reserve(&facts.traces, 2) && kino__vec_reserve(&facts.calls, 2 * CALLS));
    for (uint32_t rank = 0; rank < 2; rank++) {
        facts.traces.items[facts.traces.count++] = (kino__clock_trace){rank, rank, 0, 1};
        for (int64_t i = 0; i < CALLS; i++)
            facts.calls.items[facts.calls.count++] =
                (kino__clock_call){.trace = rank,
                                   .kind = kind,
                                   .series = i,
                                   .start = 10000 * i + 2000 * rank,
                                   .end = 10000 * i + 5000};
    }
    REQUIRE(kino__arrivals_find(&facts, NULL, &found));
    REQUIRE_EQ(found.items.count, CALLS);
    for (size_t i = 0; i < CALLS; i += CALLS - 1) {
        CHECK_EQ(found.items.items[i].skew, 2000);
        CHECK_EQ(found.items.items[i].last, 1);
        CHECK_EQ(found.items.items[i].cause, 1);
    }
    kino__arrivals_deinit(&found);
    kino__clock_facts_deinit(&facts);
}
