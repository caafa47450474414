/* test_hang.c - who is missing in a hang, on dumps made by hand. */
#include <stdio.h>
#include <string.h>

#include "store/derive.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* An entry of a dump. */
#define ARGS(group, ranks, seq, op, more)                                                          \
    "{\"Collective name\": \"" op "\", \"Process Group Name\": \"" group                           \
    "\", \"Process Group Description\": \"d" group "\", \"Process Group Ranks\": \"" ranks         \
    "\", \"Seq\": " #seq ", \"Record id\": " #seq ", " more "}"
#define ENTRY(at, group, ranks, seq, op, state)                                                    \
    {                                                                                              \
        .cat = "collective_comm", .name = "nccl:" op, .ph = 'i', .track = 1, .ts = (at),           \
        .args = ARGS(group, ranks, seq, op, "\"State\": \"" state "\"")                            \
    }
#define SIZED(at, seq, op, size, state)                                                            \
    {                                                                                              \
        .cat = "collective_comm", .name = "nccl:" op, .ph = 'i', .track = 1, .ts = (at),           \
        .args =                                                                                    \
            ARGS("0", "[0, 1, 2]", seq, op,                                                        \
                 "\"State\": \"" state "\", \"Input sizes\": [[" size "]], \"dtype\": \"Float\"")  \
    }
#define ALL "[0, 1, 2]"

static kino__trace *dump(kino__trace *trace, int64_t rank)
{
    REQUIRE(kino__trace_add_metadata(trace, KINO__STR("flightRecorder"), KINO__STR("{}")));
    trace->rank = rank;
    return trace;
}
#define DUMP(rank, ...) dump(FIXTURE(__VA_ARGS__), rank)

static void check(kino__trace **traces, size_t count, const char *want)
{
    kino_result *result = analysis_result("hang", "", traces, count);
    CHECK_STR(analysis_rows(result, "hang", "group,operation,seq,cause,culprits,waiting,caused_by"),
              want);
    kino_result_free(result);
    for (size_t i = 0; i < count; i++)
        kino__trace_free(traces[i]);
}

TEST(a_rank_that_never_issued_a_collective_is_missing)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", ALL, 1, "all_reduce", "completed"),
             ENTRY(9, "0", ALL, 2, "all_reduce", "started")),
        DUMP(1, ENTRY(1, "0", ALL, 1, "all_reduce", "completed"),
             ENTRY(9, "0", ALL, 2, "all_reduce", "scheduled")),
        DUMP(2, ENTRY(1, "0", ALL, 1, "all_reduce", "completed")),
    };
    check(traces, 3, "0,all_reduce,2,missing,2,0, 1,-");
}

TEST(collectives_that_all_ranks_ended_are_no_hang)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", "[0, 1]", 1, "all_reduce", "completed"),
             ENTRY(5, "0", "[0, 1]", 2, "all_reduce", "completed")),
        DUMP(1, ENTRY(1, "0", "[0, 1]", 1, "all_reduce", "completed")), /* taken earlier */
    };
    check(traces, 2, "");
}

/* Rank 1 has lost its first entries: that it lacks operation 1 means nothing. */
TEST(what_a_ring_has_lost_is_not_missing)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", "[0, 1]", 1, "all_reduce", "started"),
             ENTRY(5, "0", "[0, 1]", 2, "all_reduce", "scheduled")),
        DUMP(1, ENTRY(5, "0", "[0, 1]", 2, "all_reduce", "scheduled")),
    };
    check(traces, 2, "0,all_reduce,1,stuck,-,0,-");
}

TEST(another_operation_in_the_same_place_is_a_mismatch)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
        DUMP(1, ENTRY(1, "0", ALL, 1, "broadcast", "started")),
        DUMP(2, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
    };
    check(traces, 3, "0,all_reduce,1,mismatch,1,0, 2,-");
}

TEST(another_size_is_a_mismatch_where_sizes_must_agree)
{
    kino__trace *reduces[] = {DUMP(0, SIZED(1, 1, "all_reduce", "8", "started")),
                              DUMP(1, SIZED(1, 1, "all_reduce", "8", "started")),
                              DUMP(2, SIZED(1, 1, "all_reduce", "9", "started"))};
    check(reduces, 3, "0,all_reduce,1,mismatch,2,0, 1,-");
    kino__trace *gathers[] = {DUMP(0, SIZED(1, 1, "all_gather", "8", "started")),
                              DUMP(1, SIZED(1, 1, "all_gather", "8", "started")),
                              DUMP(2, SIZED(1, 1, "all_gather", "9", "started"))};
    check(gathers, 3, "0,all_gather,1,stuck,-,0-2,-");
}

TEST(a_device_that_has_not_come_to_it_is_not_started)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
        DUMP(1, ENTRY(1, "0", ALL, 1, "all_reduce", "scheduled")),
        DUMP(2, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
    };
    check(traces, 3, "0,all_reduce,1,not started,1,0, 2,-");
}

TEST(a_rank_without_a_dump_is_named_when_all_others_wait)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
        DUMP(2, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
    };
    check(traces, 2, "0,all_reduce,1,no dump,1,0, 2,-");
}

/* Rank 2 is missing in group 0 because it waits for rank 3 in group 1: rank 3 is the cause. */
TEST(a_culprit_that_waits_in_another_group_is_a_consequence)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "0", ALL, 1, "all_reduce", "started")),
        DUMP(1, ENTRY(2, "0", ALL, 1, "all_reduce", "started")),
        DUMP(2, ENTRY(3, "1", "[2, 3]", 7, "broadcast", "started")),
        DUMP(3, ENTRY(0, "1", "[2, 3]", 6, "broadcast", "completed")),
    };
    check(traces, 4,
          "1,broadcast,7,missing,3,2,-;"
          "0,all_reduce,1,missing,2,0, 1,1");
}

/* Rank 0 is in group a and must come to b, rank 1 the other way round. */
TEST(groups_in_different_orders_are_a_deadlock)
{
    kino__trace *traces[] = {
        DUMP(0, ENTRY(1, "a", "[0, 1]", 1, "all_reduce", "started")),
        DUMP(1, ENTRY(2, "b", "[0, 1]", 1, "all_reduce", "started")),
    };
    kino_result *result = analysis_result("hang", "", traces, 2);
    const char *rows = analysis_rows(result, "hang", "group,culprits,caused_by,verdict");
    CHECK(strstr(rows, "a,1,2,") != NULL && strstr(rows, "b,0,1,") != NULL);
    CHECK(strstr(rows, "deadlock") != NULL);
    kino_result_free(result);
    kino__trace_free(traces[0]);
    kino__trace_free(traces[1]);
}

/* The fourth of the group sends to the first, who has not asked for it: ranks 13 and 10. */
TEST(a_send_without_its_receive_waits_for_the_receiver)
{
    kino__trace *traces[] = {
        DUMP(13, {.cat = "collective_comm",
                  .name = "nccl:send 3->0",
                  .ph = 'i',
                  .track = 1,
                  .ts = 4,
                  .args = ARGS("p", "[10, 11, 12, 13]", 5, "send",
                               "\"Is P2P\": true, \"State\": \"scheduled\"")}),
        DUMP(10, {.cat = "collective_comm",
                  .name = "nccl:recv 0<-3",
                  .ph = 'i',
                  .track = 1,
                  .ts = 1,
                  .args = ARGS("p", "[10, 11, 12, 13]", 4, "recv",
                               "\"Is P2P\": true, \"State\": \"completed\"")}),
    };
    check(traces, 2, "p,send,5,missing,10,13,-");
}

/* Gloo never says that something has ended; it takes it off its list. Who is in its groups is not
 * recorded: in the default group all are. */
TEST(gloo_has_ended_what_it_retired)
{
#define GLOO(at, seq, retired)                                                                     \
    {.cat = "collective_comm",                                                                     \
     .name = "gloo:all_reduce",                                                                    \
     .ph = 'i',                                                                                    \
     .track = 1,                                                                                   \
     .ts = (at),                                                                                   \
     .args = "{\"Collective name\": \"all_reduce\", \"Process Group Name\": \"0\", "               \
             "\"Process Group Description\": \"default_pg\", \"Seq\": " #seq                       \
             ", \"State\": \"scheduled\", \"Retired\": " retired "}"}
    kino__trace *traces[] = {DUMP(0, GLOO(1, 1, "true"), GLOO(2, 2, "false")),
                             DUMP(1, GLOO(1, 1, "true"))};
    check(traces, 2, "0,all_reduce,2,missing,1,0,-");
}

TEST(a_trace_that_is_no_dump_says_so)
{
    kino__trace *trace = FIXTURE({.cat = "kernel", .name = "k", .track = 7, .ts = 1, .dur = 2});
    kino_result *result = analysis_result("hang", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "hang", NULL), "");
    CHECK(strstr(analysis_notes(result), "not available") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}
