/* test_link_forward.c - backward ops and their forward ops. */
#include "reader/reader.h"
#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define SEQ(n) .cat = "cpu_op", .args = "{\"Sequence number\": " #n ", \"Fwd thread id\": 0}"
#define BACK(n, f)                                                                                 \
    .cat = "cpu_op", .args = "{\"Sequence number\": " #n ", \"Fwd thread id\": " #f "}"

static int64_t forward(const kino__trace *trace, uint32_t number)
{
    const uint32_t *column = kino__link_forward(trace);
    REQUIRE(column != NULL);
    return fixture_number(trace, column[fixture_row(trace, number)]);
}

TEST(forward_op_is_the_innermost_with_the_number)
{
    /* aten::linear (5) contains aten::t (5), which makes the node, then aten::addmm (6). */
    kino__trace *trace =
        FIXTURE({.name = "aten::linear", .ts = 0, .dur = 100, SEQ(5)},
                {.name = "aten::t", .ts = 10, .dur = 10, SEQ(5)},
                {.name = "aten::addmm", .ts = 30, .dur = 60, SEQ(6)},
                {.name = "evaluate: AddmmBackward", .track = 1, .ts = 200, .dur = 50, BACK(6, 1)},
                {.name = "AddmmBackward", .track = 1, .ts = 210, .dur = 30, BACK(6, 1)},
                {.name = "TBackward", .track = 1, .ts = 260, .dur = 30, BACK(5, 1)},
                {.name = "elsewhere", .track = 1, .ts = 300, .dur = 30, BACK(77, 1)});
    static const int64_t want[] = {-1, -1, -1, 2, 2, 1, -1};
    for (uint32_t i = 0; i < 7; i++)
        CHECK_EQ(forward(trace, i), want[i]);
    kino__trace_free(trace);
}

TEST(forward_op_starts_before_its_backward_op)
{
    kino__trace *trace = FIXTURE({.ts = 0, .dur = 10, SEQ(5)}, {.ts = 100, .dur = 10, SEQ(5)},
                                 {.track = 1, .ts = 50, .dur = 10, BACK(5, 1)},
                                 {.track = 1, .ts = 150, .dur = 10, BACK(5, 1)},
                                 {.track = 1, .ts = -50, .dur = 10, BACK(5, 1)},
                                 {.track = 1, .ts = 100, .dur = 10, BACK(5, 1)});
    CHECK_EQ(forward(trace, 2), 0);
    CHECK_EQ(forward(trace, 3), 1);
    CHECK_EQ(forward(trace, 4), -1);
    CHECK_EQ(forward(trace, 5), 1); /* at the same time is early enough */
    kino__trace_free(trace);
}

TEST(forward_threads_are_learned_where_numbers_repeat_per_thread)
{
    /* Threads 1 and 2 both have number 5; 6 is only on thread 1, 7 only on thread 2. Forward thread
     * 1 (PyTorch's own number) has a backward op of 6, so it is track 1; forward thread 2 is
     * track 2. */
    kino__trace *trace = FIXTURE(
        {.track = 1, .ts = 0, .dur = 5, SEQ(5)}, {.track = 1, .ts = 10, .dur = 5, SEQ(6)},
        {.track = 2, .ts = 3, .dur = 5, SEQ(5)}, {.track = 2, .ts = 13, .dur = 5, SEQ(7)},
        {.track = 9, .ts = 50, .dur = 5, BACK(6, 1)}, {.track = 9, .ts = 60, .dur = 5, BACK(5, 1)},
        {.track = 9, .ts = 70, .dur = 5, BACK(7, 2)}, {.track = 9, .ts = 80, .dur = 5, BACK(5, 2)},
        {.track = 9, .ts = 90, .dur = 5, BACK(5, 3)});
    CHECK_EQ(forward(trace, 4), 1);
    CHECK_EQ(forward(trace, 5), 0);
    CHECK_EQ(forward(trace, 6), 3);
    CHECK_EQ(forward(trace, 7), 2);
    CHECK_EQ(forward(trace, 8), 2); /* a thread nothing is known of: the latest on any */
    kino__trace_free(trace);
}

TEST(forward_threads_are_learned_from_flows_where_all_numbers_repeat)
{
    kino__trace *trace = FIXTURE(
        {.track = 1, .ts = 0, .dur = 5, SEQ(5)}, {.track = 2, .ts = 3, .dur = 5, SEQ(5)},
        {.track = 9, .ts = 50, .dur = 5, BACK(5, 1)}, {.track = 9, .ts = 60, .dur = 5, BACK(5, 1)},
        {.ph = 's', .cat = "fwdbwd", .name = "fwdbwd", .track = 1, .ts = 0, .bind = 1},
        {.ph = 'f',
         .cat = "fwdbwd",
         .name = "fwdbwd",
         .track = 9,
         .ts = 50,
         .bind = 1,
         .bp = true});
    CHECK_EQ(forward(trace, 2), 0);
    CHECK_EQ(forward(trace, 3), 0);
    kino__trace_free(trace);
}

TEST(forward_ops_without_numbers_are_found_by_flow)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cpu_op", .ts = 0, .dur = 5}, {.cat = "cpu_op", .track = 9, .ts = 50, .dur = 5},
        {.ph = 's', .cat = "forward_backward", .name = "fwd_bwd", .ts = 0, .bind = 1},
        {.ph = 'f',
         .cat = "forward_backward",
         .name = "fwd_bwd",
         .track = 9,
         .ts = 50,
         .bind = 1,
         .bp = true},
        {.cat = "cpu_op", .track = 9, .ts = 60, .dur = 5});
    CHECK_EQ(forward(trace, 1), 0);
    CHECK_EQ(forward(trace, 0), -1);
    CHECK_EQ(forward(trace, 4), -1);
    kino__trace_free(trace);
}

TEST(forward_numbers_may_be_in_quotes_large_or_broken)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cpu_op", .ts = 0, .dur = 5, .args = "{\"Sequence number\": \"9000000000000\"}"},
        {.cat = "cpu_op",
         .track = 1,
         .ts = 9,
         .dur = 5,
         .args = "{\"Sequence number\": 9000000000000, \"Fwd thread id\": \"3\"}"},
        {.cat = "cpu_op",
         .track = 1,
         .ts = 19,
         .dur = 5,
         .args = "{\"Sequence number\": -1, \"Fwd thread id\": 3}"},
        {.cat = "cpu_op",
         .track = 1,
         .ts = 29,
         .dur = 5,
         .args = "{\"Sequence number\": , \"Fwd thread id\": 3"});
    CHECK_EQ(forward(trace, 1), 0);
    CHECK_EQ(forward(trace, 2), -1);
    CHECK_EQ(forward(trace, 3), -1);
    kino__trace_free(trace);
}

TEST(forward_ops_agree_with_their_definition_on_random_traces)
{
    enum { VOTES = 40, RANDOM = 30, COUNT = 2 * (VOTES + 1) + RANDOM };
    static fixture_event events[COUNT];
    static char texts[COUNT][80];
    int64_t sequence[COUNT];
    uint32_t thread[COUNT];
    fixture_random random = {29};
    for (int round = 0; round < 300; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            /* Numbers 101 and 102 tell that forward thread 1 is track 1 and 2 is track 2; the
             * others are on both. */
            bool is_vote = i < 2 * (VOTES + 1);
            uint32_t k = is_vote ? 1 + i % 2 : 1 + fixture_random_below(&random, 2);
            bool is_backward = is_vote ? i >= 2 : fixture_random_below(&random, 2);
            sequence[i] = is_vote ? 100 + k : fixture_random_below(&random, 4);
            thread[i] = is_backward ? k : 0;
            snprintf(texts[i], sizeof texts[i], "{\"Fwd thread id\":%u,\"Sequence number\":%d}",
                     thread[i], (int)sequence[i]);
            events[i] =
                (fixture_event){.cat = "cpu_op",
                                .track = is_backward ? 9 : k,
                                .ts = (int64_t)fixture_random_below(&random, 50) * COUNT + i,
                                .dur = 1 + fixture_random_below(&random, 9),
                                .args = texts[i]};
        }
        kino__trace *trace = fixture_new(events, COUNT);
        bool ok = true;
        for (uint32_t i = 0; i < COUNT; i++) {
            int64_t best = -1;
            for (uint32_t j = 0; j < COUNT && thread[i]; j++)
                if (!thread[j] && events[j].track == thread[i] && sequence[j] == sequence[i] &&
                    events[j].ts <= events[i].ts && (best < 0 || events[j].ts > events[best].ts))
                    best = j;
            ok = CHECK_EQ(forward(trace, i), best) && ok;
        }
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}

TEST(forward_ops_are_those_of_pytorch_own_flows)
{
    /* A file that has both: 543 backward ops with a flow, each inside an "evaluate_function" op of
     * the same number. Counted with a plain JSON reader. */
    kino__trace *trace;
    const kino__load_context context = {0};
    REQUIRE(kino__reader_load(test_shared("traces/hta/nccl_2steps/nccl_data.json.gz"), &context,
                              &trace, NULL) == KINO_OK);
    const uint32_t *column = kino__link_forward(trace);
    const kino__nesting *nesting = kino__link_nesting(trace);
    const kino__flows *flows = kino__link_flows(trace);
    REQUIRE(column && nesting && flows);
    int count = 0, linked = 0;
    for (size_t i = 0; i < flows->count; i++) {
        const kino__flow *flow = &flows->items[i];
        if (kino__category_kind(trace->category[flow->to]) != KINO__KIND_AUTOGRAD_FLOW)
            continue;
        REQUIRE(flow->to_span != KINO_NO_ROW && nesting->parent[flow->to_span] != KINO_NO_ROW);
        CHECK_EQ(column[flow->to_span], flow->from_span);
        CHECK_EQ(column[nesting->parent[flow->to_span]], flow->from_span); /* no flow leads there */
        count++;
    }
    for (uint32_t row = 0; row < trace->event_count; row++)
        linked += column[row] != KINO_NO_ROW;
    CHECK_EQ(count, 543);
    CHECK_EQ(linked, 1086);
    kino__trace_free(trace);
}
