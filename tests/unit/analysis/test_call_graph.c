/* test_call_graph.c - call trees of threads and what is made from them, on traces made by hand. */
#include <stdio.h>
#include <string.h>

#include "analysis/call_graph/call_graph_rows.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

static void check_rows(kino__trace *trace, const char *name, const char *params, const char *table,
                       const char *columns, const char *want)
{
    kino_result *result = analysis_result(name, params, &trace, 1);
    CHECK_STR(analysis_rows(result, table, columns), want);
    kino_result_free(result);
}

#define OP(thread, text, start, length)                                                            \
    {                                                                                              \
        .cat = "cpu_op", .name = (text), .track = (thread), .ts = (start), .dur = (length)         \
    }
#define MARK(thread, text, start, length)                                                          \
    {                                                                                              \
        .cat = "user_annotation", .name = (text), .track = (thread), .ts = (start),                \
        .dur = (length)                                                                            \
    }
#define LAUNCH(thread, start, length, id)                                                          \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = (thread), .ts = (start),       \
        .dur = (length), .bind = (id)                                                              \
    }
#define KERNEL(text, start, length, id)                                                            \
    {                                                                                              \
        .cat = "kernel", .name = (text), .track = 7, .ts = (start), .dur = (length), .bind = (id), \
        .args = "{\"stream\": 7}"                                                                  \
    }

/* thread 100   linear --------------------------- 0..100
 *                mm 10 ------------ 60    relu 70 - 90
 *                  launch 20-25            launch 75-80
 * stream 7                gemm 40..65                  max 110..120 */
static kino__trace *two_kernels(void)
{
    return FIXTURE(OP(100, "aten::linear", 0, 100), OP(100, "aten::mm", 10, 50),
                   LAUNCH(100, 20, 5, 1), OP(100, "aten::relu", 70, 20), LAUNCH(100, 75, 5, 2),
                   KERNEL("gemm", 40, 25, 1), KERNEL("max", 110, 10, 2));
}

TEST(spans_nest_by_time_and_kernels_hang_below_launches)
{
    kino__trace *trace = two_kernels();
    check_rows(trace, "call-graph", "", "nodes", "event,parent,depth,height",
               "0,-100,0,3;1,0,1,2;2,1,2,1;3,0,1,2;4,3,2,1;5,2,3,0;6,4,3,0");
    check_rows(trace, "call-graph", "compat=hta-ns", "nodes", "event,parent,depth,height",
               "0,-100,0,3;1,0,1,2;2,1,2,1;3,0,1,2;4,3,2,1;5,2,3,0;6,4,3,0");
    check_rows(trace, "call-graph", "", "stacks",
               "tid,label,stack_root,events,max_depth,num_kernels,kernel_dur_sum",
               "100,aten::linear,-100,5,3,2,35");
    kino__trace_free(trace);
}

TEST(device_work_is_added_up_along_the_tree)
{
    kino__trace *trace = two_kernels();
    check_rows(trace, "call-graph", "", "nodes",
               "event,num_kernels,kernel_dur_sum,kernel_span,first_kernel_start,last_kernel_end",
               "0,2,35,80,40,120;1,1,25,25,40,65;2,1,25,25,40,65;3,1,10,10,110,120;"
               "4,1,10,10,110,120;5,1,25,25,40,65;6,1,10,10,110,120");
    kino__trace_free(trace);
}

TEST(equal_starts_ends_and_empty_spans_have_one_order)
{
    /* b and c fill a together: the longer is the parent; e touches d and is no child of it */
    kino__trace *trace = FIXTURE(OP(100, "c", 0, 10), OP(100, "a", 0, 20), OP(100, "b", 0, 20),
                                 OP(100, "d", 20, 10), OP(100, "e", 30, 10));
    check_rows(trace, "call-graph", "", "nodes", "name,parent,depth",
               "c,2,2;a,-100,0;b,1,1;d,-100,0;e,-100,0");
    kino__trace_free(trace);
    /* empty spans lie inside at the start (x) and at the end (y, and z in it); where one span ends
     * and another starts, in that which the file's order says (u in b, w in c) */
    trace = FIXTURE(OP(100, "a", 0, 10), OP(100, "x", 0, 0), OP(100, "y", 10, 0),
                    OP(100, "z", 10, 0), OP(100, "b", 20, 10), OP(100, "u", 30, 0),
                    OP(100, "c", 30, 10), OP(100, "w", 30, 0));
    check_rows(trace, "call-graph", "", "nodes", "name,parent,depth,height",
               "a,-100,0,3;x,0,1,1;y,0,1,2;z,2,2,1;b,-100,0,2;u,4,1,1;c,-100,0,2;w,6,1,1");
    kino__trace_free(trace);
}

TEST(spans_that_only_overlap_do_no_harm)
{
    /* b starts in a and ends behind it: a's end takes b off, so that c is in a */
    kino__trace *trace = FIXTURE(OP(100, "a", 0, 20), OP(100, "b", 10, 30), OP(100, "c", 25, 5),
                                 OP(100, "d", 50, 5));
    check_rows(trace, "call-graph", "", "nodes", "name,parent", "a,-100;b,0;c,0;d,-100");
    kino__trace_free(trace);
}

TEST(the_backward_thread_hangs_below_the_step)
{
    kino__trace *trace = FIXTURE(MARK(100, "ProfilerStep#3", 0, 100), OP(100, "aten::mm", 10, 10),
                                 OP(200, "autograd::engine::evaluate_function", 40, 20),
                                 LAUNCH(200, 45, 5, 1), OP(200, "aten::late", 150, 10),
                                 OP(300, "aten::other", 20, 5), KERNEL("gemm", 60, 10, 1));
    check_rows(trace, "call-graph", "", "stacks", "tid,label,stack_root,num_kernels",
               "100,main,-100,0;200,bwd,-100,1;300,aten::other,-300,0");
    check_rows(trace, "call-graph", "", "nodes", "event,parent,depth,num_kernels",
               "0,-100,0,1;1,0,1,0;2,0,1,1;3,2,2,1;4,-200,0,0;5,-300,0,0;6,3,3,1");
    kino__trace_free(trace);
    /* with an annotation of the backward pass below that */
    trace = FIXTURE(MARK(100, "ProfilerStep#3", 0, 100), MARK(100, "## backward ##", 30, 50),
                    OP(200, "autograd::engine", 40, 20), OP(200, "aten::early", 5, 5));
    check_rows(trace, "call-graph", "", "nodes", "event,parent,depth",
               "0,-100,0;1,0,1;2,1,2;3,-200,0");
    kino__trace_free(trace);
}

TEST(only_device_work_counts_and_stream_0_is_a_stream)
{
    kino__trace *trace = FIXTURE(OP(100, "aten::mm", 0, 50),
                                 {.cat = "cuda_runtime",
                                  .name = "hipLaunchKernel",
                                  .track = 100,
                                  .ts = 10,
                                  .dur = 5,
                                  .bind = 1},
                                 {.cat = "cuda_runtime",
                                  .name = "hipStreamWaitEvent",
                                  .track = 100,
                                  .ts = 20,
                                  .dur = 5,
                                  .bind = 2},
                                 {.cat = "kernel",
                                  .name = "Cijk",
                                  .track = 9,
                                  .ts = 30,
                                  .dur = 5,
                                  .bind = 1,
                                  .args = "{\"stream\": 0}"},
                                 {.cat = "cuda_sync",
                                  .name = "Stream Wait Event",
                                  .track = 9,
                                  .ts = 40,
                                  .dur = 5,
                                  .bind = 2,
                                  .args = "{\"stream\": 8}"});
    check_rows(trace, "call-graph", "", "nodes", "event,parent,num_kernels",
               "0,-100,1;1,0,1;2,0,0;3,1,1");
    /* HTA does not see stream 0, and counts the wait as a kernel */
    check_rows(trace, "call-graph", "compat=hta-ns", "nodes", "event,parent,num_kernels",
               "0,-100,1;1,0,0;2,0,1;3,-,0;4,2,1");
    kino__trace_free(trace);
}

TEST(traces_without_host_or_device_say_so)
{
    kino__trace *trace = FIXTURE(OP(100, "aten::mm", 0, 50));
    kino_result *result = analysis_result("call-graph", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "nodes", "event,num_kernels,kernel_span,first_kernel_start"),
              "0,-,-,-");
    CHECK(strstr(analysis_notes(result), "not available: no device work was recorded") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
    trace = FIXTURE(KERNEL("gemm", 0, 5, 1));
    result = analysis_result("call-graph", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "stacks", NULL), "");
    CHECK(strstr(analysis_notes(result), "no spans of host threads") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(sums_of_kernels_may_be_longer_than_four_seconds)
{
    const int64_t s = 1000000000;
    kino__trace *trace =
        FIXTURE(OP(100, "outer", 0, 100), LAUNCH(100, 10, 5, 1), LAUNCH(100, 20, 5, 2),
                LAUNCH(100, 30, 5, 3), KERNEL("a", 40, 3 * s, 1), KERNEL("b", 3 * s + 40, 3 * s, 2),
                KERNEL("c", 40, 4294967295, 3));
    check_rows(trace, "call-graph", "", "nodes", "event,kernel_dur_sum,kernel_span",
               "0,10294967295,6000000000;1,3000000000,3000000000;2,3000000000,3000000000;"
               "3,4294967295,4294967295;4,3000000000,3000000000;5,3000000000,3000000000;"
               "6,4294967295,4294967295");
    kino__trace_free(trace);
}

TEST(rows_of_ranks_keep_their_parents_names_and_threads)
{
    kino__trace *traces[3] = {
        two_kernels(), FIXTURE(OP(200, "other", 5, 10), OP(200, "aten::mm", 6, 5)), two_kernels()};
    for (int i = 0; i < 3; i++) {
        traces[i]->rank = 3 - i;
        traces[i]->index = (uint32_t)i;
    }
    kino_result *result = analysis_result("call-graph", "", traces, 3);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]); /* the answer needs them no more */
    const kino__table *nodes = kino__analysis_table(result, 1);
    REQUIRE_EQ(kino__table_row_count(nodes), (size_t)16);
    static const char *const names[] = {"aten::linear", "aten::mm",         "cudaLaunchKernel",
                                        "aten::relu",   "cudaLaunchKernel", "gemm",
                                        "max"};
    static const int64_t parents[] = {-100, 0, 1, 0, 3, 2, 4};
    for (size_t i = 0; i < 7; i++)
        for (int64_t k = 0; k < 3; k += 2) {
            size_t row = i + (k ? 9 : 0);
            int64_t parent = parents[i] < 0 ? parents[i] : k << 32 | parents[i];
            CHECK_EQ(kino__table_int(nodes, row, 0), 3 - k);
            CHECK_EQ(kino__table_int(nodes, row, 1), k << 32 | (int64_t)i);
            CHECK_STR(kino__table_text(nodes, row, 2), kino__str_from(names[i]));
            CHECK_EQ(kino__table_int(nodes, row, 3), parent);
        }
    CHECK_STR(kino__table_text(nodes, 7, 2), KINO__STR("other"));
    CHECK_EQ(kino__table_int(nodes, 7, 3), -200);
    CHECK_EQ(kino__table_int(nodes, 8, 3), INT64_C(1) << 32);
    CHECK_EQ(kino__table_int(nodes, 9, 9), 40);
    CHECK_EQ(kino__table_int(nodes, 9, 10), 120);
    kino_result_free(result);
}

/* Rows of two_kernels, saved with one number changed: are they loaded? */
static bool is_loaded_with(size_t column, size_t row, uint32_t value)
{
    kino__trace *trace = two_kernels();
    kino__call_graph *g = kino__call_graph_new(trace, KINO__FRAME_DEFAULT, true, false, NULL);
    kino__call_rows rows = {0}, loaded = {0};
    kino__buffer bytes = {0};
    REQUIRE(g && kino__call_rows_take(&rows, g));
    REQUIRE_EQ(kino__call_rows_count(&rows), (size_t)7);
    if (column == KINO__CALL_ROW_COLUMNS)
        rows.parts.items[0].first_row = value;
    else if (row == 7)
        rows.columns[column].count--;
    else
        rows.columns[column].items[row] = value;
    kino__call_rows_pack(&(kino__pack){.out = &bytes}, &rows);
    kino__pack from = {.at = bytes.data, .end = bytes.data + bytes.size};
    kino__call_rows_pack(&from, &loaded);
    bool is_loaded = !from.is_damaged && from.at == from.end;
    for (size_t i = 0; is_loaded && i < 7; i++) {
        kino__call_row a = kino__call_rows_at(&rows, i), b = kino__call_rows_at(&loaded, i);
        CHECK(a.parent == b.parent && a.kernel_start == b.kernel_start && a.name == b.name);
    }
    kino__buffer_deinit(&bytes);
    kino__call_rows_deinit(&rows);
    kino__call_rows_deinit(&loaded);
    kino__call_graph_free(g);
    kino__trace_free(trace);
    return is_loaded;
}

/* Whoever has the trace for itself gets the same rows, and the columns that told them are gone. */
TEST(call_graph_gives_back_the_columns_that_nobody_needs)
{
    kino__call_rows rows[2] = {0};
    kino__trace *traces[2];
    for (int is_last = 0; is_last < 2; is_last++) {
        traces[is_last] = two_kernels();
        kino__call_graph *g =
            kino__call_graph_new(traces[is_last], KINO__FRAME_DEFAULT, true, is_last, NULL);
        REQUIRE(g && kino__call_rows_take(&rows[is_last], g));
        kino__call_graph_free(g);
        CHECK(kino__trace_need(traces[is_last], KINO__COLUMN_TS | KINO__COLUMN_NUMBER, NULL));
        for (unsigned c = KINO__COLUMN_BIND; c <= KINO__COLUMN_PLACE; c <<= 1)
            CHECK(kino__trace_need(traces[is_last], c, NULL) == !is_last);
    }
    REQUIRE_EQ(kino__call_rows_count(&rows[0]), (size_t)7);
    REQUIRE_EQ(kino__call_rows_count(&rows[1]), (size_t)7);
    for (size_t i = 0; i < 7; i++) {
        kino__call_row a = kino__call_rows_at(&rows[0], i), b = kino__call_rows_at(&rows[1], i);
        CHECK(a.event == b.event && a.parent == b.parent && a.num_kernels == b.num_kernels &&
              a.kernel_start == b.kernel_start && a.kernel_end == b.kernel_end);
    }
    for (int i = 0; i < 2; i++) {
        kino__call_rows_deinit(&rows[i]);
        kino__trace_free(traces[i]);
    }
}

TEST(saved_rows_that_point_nowhere_are_refused)
{
    const uint32_t thread = UINT32_MAX - 1;
    CHECK(is_loaded_with(KINO__CALL_ROW_PARENT, 0, UINT32_MAX)); /* in no tree */
    CHECK(is_loaded_with(KINO__CALL_ROW_PARENT, 3, 6));
    CHECK(is_loaded_with(KINO__CALL_ROW_PARENT, 3, thread));
    CHECK(!is_loaded_with(KINO__CALL_ROW_PARENT, 3, 7));
    CHECK(!is_loaded_with(KINO__CALL_ROW_PARENT, 3, thread - 1)); /* there is one */
    CHECK(is_loaded_with(KINO__CALL_ROW_NAME, 6, 0));
    CHECK(!is_loaded_with(KINO__CALL_ROW_NAME, 6, 6)); /* launches share one */
    CHECK(!is_loaded_with(KINO__CALL_ROW_FIRST, 2, 3));
    CHECK(!is_loaded_with(KINO__CALL_ROW_LAST, 2, 3));
    CHECK(is_loaded_with(KINO__CALL_ROW_LAST, 2, 0));
    CHECK(!is_loaded_with(KINO__CALL_ROW_HEIGHT, 7, 0)); /* a row less */
    CHECK(!is_loaded_with(KINO__CALL_ROW_EVENT, 7, 0));
    CHECK(!is_loaded_with(KINO__CALL_ROW_COLUMNS, 0, 1)); /* rows of no trace */
}

/* The slow obvious way: the parent is the shortest span around it that comes first. */
TEST(random_nested_spans_have_the_parents_they_were_made_with)
{
    fixture_random random = {7};
    enum { COUNT = 200 };
    fixture_event events[COUNT] = {{0}};
    int64_t parents[COUNT], room[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int64_t parent = i ? (int64_t)fixture_random_below(&random, (uint32_t)i) : -1;
        /* inside the parent, behind its earlier children; at the top otherwise */
        while (parent >= 0 && events[parent].ts + events[parent].dur - room[parent] < 8)
            parent = parent ? (int64_t)fixture_random_below(&random, (uint32_t)parent) : -1;
        int64_t start = parent < 0 ? (int64_t)i * 100000 : room[parent] + 1;
        int64_t limit = parent < 0 ? start + 50000 : events[parent].ts + events[parent].dur - 1;
        int64_t dur = parent < 0 ? 50000 : (limit - start) / 2 + 1;
        events[i] =
            (fixture_event){.cat = "cpu_op", .name = "op", .track = 100, .ts = start, .dur = dur};
        parents[i] = parent;
        room[i] = start;
        if (parent >= 0)
            room[parent] = start + dur;
    }
    kino__trace *trace = fixture_new(events, COUNT);
    char want[COUNT * 8] = "";
    size_t size = 0;
    for (int i = 0; i < COUNT; i++)
        size += (size_t)snprintf(want + size, sizeof want - size, "%s%lld", i ? ";" : "",
                                 parents[i] < 0 ? -100LL : (long long)parents[i]);
    check_rows(trace, "call-graph", "", "nodes", "parent", want);
    kino__trace_free(trace);
}

/* -- kernel-sequences */

/* linear twice with gemm, bias, relu and once with two kernels; the second call runs relu first. */
static kino__trace *three_calls(void)
{
    return FIXTURE(OP(100, "aten::linear", 0, 100), OP(100, "aten::linear_inner", 5, 80),
                   LAUNCH(100, 10, 5, 1), LAUNCH(100, 20, 5, 2), LAUNCH(100, 90, 5, 3),
                   OP(100, "aten::linear", 200, 50), LAUNCH(100, 210, 5, 4), LAUNCH(100, 220, 5, 5),
                   LAUNCH(100, 230, 5, 6), OP(100, "aten::linear", 300, 70), LAUNCH(100, 310, 5, 7),
                   LAUNCH(100, 320, 5, 8), KERNEL("gemm", 30, 10, 1), KERNEL("bias", 40, 2, 2),
                   KERNEL("relu", 100, 3, 3), KERNEL("gemm", 240, 11, 4), KERNEL("bias", 251, 2, 5),
                   KERNEL("relu", 253, 4, 6), KERNEL("gemm", 330, 10, 7),
                   KERNEL("bias", 340, 2, 8));
}

TEST(calls_with_the_same_kernels_are_one_sequence)
{
    kino__trace *trace = three_calls();
    check_rows(trace, "kernel-sequences", "op=linear", "kernel_sequences",
               "pattern,count,gpu_kernel_duration,cpu_op_duration,event",
               "aten::linear|gemm|bias|relu,2,32,150,0");
    check_rows(trace, "kernel-sequences", "op=linear min_pattern_len=2", "kernel_sequences",
               "pattern,count,gpu_kernel_duration,cpu_op_duration,event",
               "aten::linear|gemm|bias|relu,2,32,150,0;aten::linear|gemm|bias,1,12,70,9");
    check_rows(trace, "kernel-sequences", "op=linear_inner min_pattern_len=1", "kernel_sequences",
               "pattern,count", "aten::linear_inner|gemm|bias,1");
    kino__trace_free(trace);
}

TEST(less_frequent_sequences_are_left_out_with_a_note)
{
    kino__trace *trace = three_calls();
    kino_result *result =
        analysis_result("kernel-sequences", "op=linear min_pattern_len=1 top_k=1", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_sequences", "count"), "2");
    CHECK(strstr(analysis_notes(result), "1 less frequent sequences") != NULL);
    kino_result_free(result);
    check_rows(trace, "kernel-sequences", "op=linear min_pattern_len=1 top_k=0", "kernel_sequences",
               "count", "2;1");
    result = analysis_result("kernel-sequences", "op=conv", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_sequences", NULL), "");
    CHECK(strstr(analysis_notes(result), "no call has a name that contains 'conv'") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(kernels_of_a_sequence_stand_by_start)
{
    kino__trace *trace =
        FIXTURE(OP(100, "aten::mm", 0, 100), LAUNCH(100, 10, 5, 1), LAUNCH(100, 20, 5, 2),
                KERNEL("late", 90, 10, 1), KERNEL("early", 40, 10, 2));
    check_rows(trace, "kernel-sequences", "op=mm min_pattern_len=2", "kernel_sequences", "pattern",
               "aten::mm|early|late");
    kino__trace_free(trace);
}

TEST(sequences_of_ranks_stay_apart)
{
    kino__trace *traces[3] = {three_calls(), three_calls(), three_calls()};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = i;
    kino_result *result = analysis_result("kernel-sequences", "op=linear", traces, 3);
    CHECK_STR(analysis_rows(result, "kernel_sequences", "rank,count"), "0,2;1,2;2,2");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

/* -- cupti-counters */

#define RANGE(text, start, counters)                                                               \
    {                                                                                              \
        .cat = "cuda_profiler_range", .name = (text), .track = 0, .ts = (start), .dur = 10,        \
        .args = (counters)                                                                         \
    }
#define FFMA "\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\": "
#define HADD "\"smsp__sass_thread_inst_executed_op_hadd_pred_on.sum\": "

TEST(ranges_belong_to_launches_in_their_order)
{
    kino__trace *trace = FIXTURE(OP(100, "aten::linear", 0, 100), OP(100, "aten::mm", 10, 30),
                                 LAUNCH(100, 20, 5, 1), LAUNCH(100, 50, 5, 2),
                                 LAUNCH(100, 150, 5, 3), RANGE("third", 1020, "{\"dram\": 1.5}"),
                                 RANGE("first", 1000, "{" FFMA "10, " HADD "3, \"other\": 7}"),
                                 RANGE("second", 1010, "{" HADD "4}"));
    check_rows(trace, "cupti-counters", "", "counters_by_kernel",
               "name,ts,dur,op_stack,top_level_op,bottom_level_op,flop,launch_event",
               "first,1000,10,aten::linear -> aten::mm,aten::linear,aten::mm,23,2;"
               "second,1010,10,aten::linear,aten::linear,aten::linear,4,3;"
               "third,1020,10,-,-,-,-,4");
    check_rows(trace, "cupti-counters", "", "counter_values", "event,value",
               "6,10;6,3;6,7;7,4;5,1.5");
    kino__trace_free(trace);
}

TEST(a_driver_call_inside_a_runtime_call_is_one_launch)
{
    kino__trace *trace = FIXTURE(LAUNCH(100, 20, 10, 1),
                                 {.cat = "cuda_driver",
                                  .name = "cuLaunchKernel",
                                  .track = 100,
                                  .ts = 22,
                                  .dur = 5,
                                  .bind = 1},
                                 {.cat = "cuda_driver",
                                  .name = "cuLaunchKernel",
                                  .track = 100,
                                  .ts = 50,
                                  .dur = 5,
                                  .bind = 2},
                                 RANGE("a", 100, "{}"), RANGE("b", 110, "{}"));
    check_rows(trace, "cupti-counters", "", "counters_by_kernel", "name,launch_event", "a,0;b,2");
    kino_result *result = analysis_result("cupti-counters", "compat=hta-ns", &trace, 1);
    CHECK_STR(analysis_rows(result, "counters_by_kernel", NULL), "");
    CHECK(strstr(analysis_notes(result), "2 ranges, but 1 launches") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(traces_without_counters_say_so)
{
    kino__trace *trace = two_kernels();
    kino_result *result = analysis_result("cupti-counters", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "counters_by_kernel", NULL), "");
    CHECK(strstr(analysis_notes(result), "no events of category cuda_profiler_range") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

/* -- ops-diff */

/* Steps 1 and 2; mm is in both, add in the first, relu and a kernel in the second. */
static kino__trace *two_steps(void)
{
    return FIXTURE(MARK(100, "ProfilerStep#1", 0, 100), OP(100, "mm", 10, 10), OP(100, "mm", 30, 5),
                   OP(100, "add", 50, 7), MARK(100, "ProfilerStep#2", 100, 100),
                   OP(100, "mm", 110, 20), OP(100, "relu", 140, 3), LAUNCH(100, 150, 5, 1),
                   KERNEL("void gemm<float>(int)", 300, 50, 1));
}

TEST(steps_of_one_trace_are_compared_by_name)
{
    kino__trace *trace = two_steps();
    check_rows(trace, "ops-diff", "control_steps=1 test_steps=2", "ops_diff", NULL,
               "ProfilerStep#1,1,100,0,0,-1,-100,-,deleted;ProfilerStep#2,0,0,1,100,1,100,+,added;"
               "add,1,7,0,0,-1,-7,-,deleted;cudaLaunchKernel,0,0,1,5,1,5,+,added;"
               "mm,2,15,1,20,-1,5,-,decreased;relu,0,0,1,3,1,3,+,added;"
               "void gemm<float>(int),0,0,1,50,1,50,+,added");
    check_rows(trace, "ops-diff", "control_steps=1-2 test_steps=2 device=gpu short_names=yes",
               "ops_diff", "name,control_counts,test_counts,change", "gemm,1,1,unchanged");
    check_rows(trace, "ops-diff", "control_steps=2 test_steps=1-2 device=cpu", "ops_diff",
               "name,diff_counts,change",
               "ProfilerStep#1,1,added;ProfilerStep#2,0,unchanged;add,1,added;"
               "cudaLaunchKernel,0,unchanged;mm,2,increased;relu,0,unchanged");
    check_rows(trace, "ops-diff", "control_steps=1 test_steps=1-2", "sides",
               "side,rank,first_step,last_step,names", "control,-,1,1,3;test,-,1,2,7");
    kino__trace_free(trace);
}

TEST(the_first_trace_is_compared_with_the_second)
{
    kino__trace *traces[3] = {FIXTURE(OP(100, "a", 0, 10)),
                              FIXTURE(OP(100, "a", 0, 10), OP(100, "a", 20, 10)),
                              FIXTURE(OP(100, "b", 0, 10))};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = i;
    kino_result *result = analysis_result("ops-diff", "", traces, 3);
    CHECK_STR(analysis_rows(result, "ops_diff", "name,diff_counts,diff_duration"), "a,1,10");
    CHECK_STR(analysis_rows(result, "sides", "side,rank,first_step"), "control,0,-;test,1,-");
    kino_result_free(result);
    result = analysis_result("ops-diff", "control=2 test=0", traces, 3);
    CHECK_STR(analysis_rows(result, "ops_diff", "name,change"), "a,added;b,deleted");
    kino_result_free(result);
    /* the same way round and back: the differences have the other sign */
    result = analysis_result("ops-diff", "control=0 test=2", traces, 3);
    CHECK_STR(analysis_rows(result, "ops_diff", "name,change"), "a,deleted;b,added");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        traces[i]->path = kino__str_from(i == 1 ? "new.json" : "old.json");
    result = analysis_result("ops-diff", "control=new test=old", traces, 3);
    CHECK_STR(analysis_rows(result, "sides", "side,rank,path"),
              "control,1,new.json;test,0,old.json");
    kino_result_free(result);
    result = analysis_result("ops-diff", "control=old test=old", traces, 3);
    CHECK_STR(analysis_rows(result, "sides", "side,rank"), "control,0;test,2");
    kino_result_free(result);
    result = analysis_result("ops-diff", "control=1 test=1", traces, 3);
    CHECK_STR(analysis_rows(result, "ops_diff", "name,diff_counts,change"), "a,0,unchanged");
    CHECK(strstr(analysis_notes(result), "both sides are the same") != NULL);
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(work_of_mtia_hangs_below_its_launch)
{
    kino__trace *trace = FIXTURE(OP(100, "aten::mm", 0, 50),
                                 {.cat = "mtia_runtime",
                                  .name = "runFunction - job_prep_and_submit_for_execution",
                                  .track = 100,
                                  .ts = 10,
                                  .dur = 5,
                                  .bind = 1},
                                 {.cat = "mtia_ccp_events",
                                  .name = "fc",
                                  .track = 7,
                                  .ts = 30,
                                  .dur = 9,
                                  .bind = 1,
                                  .args = "{\"stream\": 7}"});
    static const char *const modes[] = {"", "compat=hta-ns"};
    for (size_t i = 0; i < 2; i++)
        check_rows(trace, "call-graph", modes[i], "nodes", "parent,depth,kernel_dur_sum",
                   "-100,0,9;0,1,9;1,2,9");
    check_rows(trace, "kernel-sequences", "min_pattern_len=1", "kernel_sequences", "pattern",
               "aten::mm|fc");
    kino__trace_free(trace);
}

TEST(a_trace_without_spans_gives_empty_tables)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_instant_event", .name = "mark", .track = 1, .ph = 'i', .ts = 5});
    static const char *const names[] = {"call-graph", "kernel-sequences", "cupti-counters",
                                        "ops-diff"};
    static const char *const first[] = {"stacks", "kernel_sequences", "counters_by_kernel",
                                        "ops_diff"};
    static const char *const modes[] = {"", "compat=hta-ns", "compat=hta"};
    for (size_t i = 0; i < 4; i++)
        for (size_t mode = 0; mode < 3; mode++) {
            kino_result *result = analysis_result(names[i], modes[mode], &trace, 1);
            CHECK_STR(analysis_rows(result, first[i], NULL), "");
            CHECK(analysis_notes(result)[0] != 0);
            kino_result_free(result);
        }
    kino__trace_free(trace);
}

TEST(a_negative_duration_is_a_span_without_length)
{
    /* HTA fails on a negative duration in a tree */
    kino__trace *trace = FIXTURE(OP(100, "a", 0, 20), OP(100, "b", 5, -1), OP(100, "c", 8, 4));
    check_rows(trace, "call-graph", "", "nodes", "name,parent", "a,-100;b,0;c,0");
    check_rows(trace, "call-graph", "compat=hta-ns", "nodes", "name,parent", "a,-100;b,0;c,0");
    kino__trace_free(trace);
}
