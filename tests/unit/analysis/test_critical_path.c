/* test_critical_path.c - graphs and their longest paths on traces made by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/critical_path/critical_path_internal.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

static void check_rows(kino__trace *trace, const char *params, const char *table,
                       const char *columns, const char *want)
{
    kino_result *result = analysis_result("critical-path", params, &trace, 1);
    CHECK_STR(analysis_rows(result, table, columns), want);
    kino_result_free(result);
}

/* A call of the runtime on the host's thread. */
#define CALL(text, start, length, id)                                                              \
    {                                                                                              \
        .cat = "cuda_runtime", .name = (text), .track = 1, .ts = (start), .dur = (length),         \
        .bind = (id)                                                                               \
    }

/*   A 0.......................100     C 120..150
 *        B 20.....50                               */
TEST(time_inside_operators_counts_and_between_them_not)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "A", .track = 1, .ts = 0, .dur = 100},
                                 {.cat = "cpu_op", .name = "B", .track = 1, .ts = 20, .dur = 30},
                                 {.cat = "cpu_op", .name = "C", .track = 1, .ts = 120, .dur = 30});
    check_rows(trace, "", "breakdown", "event_idx,duration,s_name,bound_by",
               "0,20,A,cpu_bound;1,30,B,cpu_bound;0,50,A,cpu_bound;-,0,-,;2,30,C,cpu_bound");
    check_rows(trace, "", "summary", "bound_by,duration,percent", "cpu_bound,130,100");
    check_rows(trace, "", "path", "event,is_start,ts",
               "0,1,0;1,1,20;1,0,50;0,0,100;2,1,120;2,0,150");
    check_rows(trace, "", "edges_by_type", "type,count,weight",
               "critical_path_operator,4,130;critical_path_dependency,1,0");
    check_rows(trace, "annotation=C", "graph", "events,nodes,edges,path_weight,region,is_ok",
               "1,2,1,30,30,1");
    kino__trace_free(trace);
}

/* host     op 0..30: launch 10..20       cudaDeviceSynchronize 40................160
 * stream 7                                    gemm 50...........150   record 45...155 */
static kino__trace *launch_and_wait(void)
{
    return FIXTURE(
        {.cat = "cpu_op", .name = "op", .track = 1, .ts = 0, .dur = 30},
        CALL("cudaLaunchKernel", 10, 10, 1), CALL("cudaDeviceSynchronize", 40, 120, 2),
        {.cat = "kernel", .name = "gemm", .track = 7, .ts = 50, .dur = 100, .bind = 1},
        {.cat = "cuda_sync", .name = "Context Sync", .track = 7, .ts = 45, .dur = 110, .bind = 2});
}

TEST(a_wait_for_the_device_leads_back_to_the_launch)
{
    kino__trace *trace = launch_and_wait();
    check_rows(trace, "", "breakdown", "event_idx,duration,type",
               "0,10,critical_path_operator;-,40,critical_path_kernel_launch_delay;"
               "3,100,critical_path_operator");
    check_rows(trace, "", "summary", "bound_by,duration",
               "cpu_bound,10;gpu_compute_bound,100;gpu_kernel_launch_overhead,40");
    /* op: 10, then from the launch's end 10; the launch 10; gemm 100; the wait itself nothing */
    check_rows(trace, "", "edges_by_type", "type,count,weight",
               "critical_path_operator,5,130;critical_path_dependency,1,0;"
               "critical_path_kernel_launch_delay,1,40;critical_path_sync_dependency,1,0");
    kino__trace_free(trace);
}

/* host     op 0..30: launch 10..20   cudaDeviceSynchronize 40......100   late 100............240
 * stream 7                                gemm 50...............150   record 45...95 */
TEST(a_wait_that_is_over_too_early_does_not_make_the_path_longer_than_the_time)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cpu_op", .name = "op", .track = 1, .ts = 0, .dur = 30},
        CALL("cudaLaunchKernel", 10, 10, 1), CALL("cudaDeviceSynchronize", 40, 60, 2),
        {.cat = "cpu_op", .name = "late", .track = 1, .ts = 100, .dur = 140},
        {.cat = "kernel", .name = "gemm", .track = 7, .ts = 50, .dur = 100, .bind = 1},
        {.cat = "cuda_sync", .name = "Context Sync", .track = 7, .ts = 45, .dur = 50, .bind = 2});
    /* 0 to 150 on the device, 50 back, 140 on the host: 240, the whole time */
    check_rows(trace, "", "graph", "path_weight,region", "240,240");
    check_rows(trace, "", "edges_by_type", "type,weight",
               "critical_path_operator,270;critical_path_dependency,0;"
               "critical_path_kernel_launch_delay,40;critical_path_sync_dependency,-50");
    kino__trace_free(trace);
}

/* host     op 0..30: launch 10..20       cudaDeviceSynchronize 40................160
 * stream 7                                    gemm 50...........150   record 45...155 */
TEST(a_wait_that_hta_cannot_place_is_no_work)
{
    static const char stream[] = "{\"stream\": 7}";
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "op", .track = 1, .ts = 0, .dur = 30},
                CALL("cudaLaunchKernel", 10, 10, 1), CALL("cudaDeviceSynchronize", 40, 120, 2),
                {.cat = "kernel",
                 .name = "gemm",
                 .track = 7,
                 .ts = 50,
                 .dur = 100,
                 .bind = 1,
                 .args = stream},
                {.cat = "cuda_sync",
                 .name = "Unknown Sync",
                 .track = 7,
                 .ts = 45,
                 .dur = 110,
                 .bind = 2,
                 .args = stream});
    /* op 10 and 10, the launch 10, gemm 100, and nothing for the record */
    check_rows(trace, "compat=hta-ns", "edges_by_type", "type,weight",
               "critical_path_operator,130;critical_path_dependency,0;"
               "critical_path_kernel_launch_delay,40");
    kino__trace_free(trace);
}

/* COUNT streams with a kernel each, then COUNT waits for all of them by one thread: times of
 * kernels and waits are 10 apart; nothing runs between the waits but one more kernel before the
 * last. */
TEST(waits_for_many_streams_need_few_edges)
{
    enum { COUNT = 2000, EVENTS = 4 * COUNT + 2 };
    fixture_event *events = calloc(EVENTS, sizeof *events);
    REQUIRE(events != NULL);
    size_t count = 0;
    int64_t now = 10;
    for (int i = 0; i <= COUNT; i++, now += 10) {
        int64_t bind = i + 1, ts = i < COUNT ? now : now + (COUNT - 1) * 10;
        events[count++] = (fixture_event)CALL("cudaLaunchKernel", ts, 2, bind);
        events[count++] = (fixture_event){.cat = "kernel",
                                          .name = "k",
                                          .track = 100 + (uint32_t)(i % COUNT),
                                          .ts = ts + 3,
                                          .dur = 4,
                                          .bind = bind};
    }
    now = 10 + COUNT * 10;
    for (int i = 0; i < COUNT; i++) {
        int64_t bind = COUNT + 2 + i, ts = now + i * 10 + (i == COUNT - 1 ? 10 : 0);
        events[count++] = (fixture_event)CALL("cudaDeviceSynchronize", ts, 5, bind);
        events[count++] = (fixture_event){.cat = "cuda_sync",
                                          .name = "Context Sync",
                                          .track = 50,
                                          .ts = ts,
                                          .dur = 5,
                                          .bind = bind};
    }
    REQUIRE(count == EVENTS);
    kino__trace *trace = fixture_new(events, count);
    kino_result *result = analysis_result("critical-path", "", &trace, 1);
    CHECK(strstr(analysis_notes(result), "left out") == NULL);
    const char *types = analysis_rows(result, "edges_by_type", "type,count");
    const char *sync = strstr(types, "critical_path_sync_dependency,");
    REQUIRE(sync != NULL);
    /* all edges while they are few: 2 * EVENTS + 4096 of them, then one for the kernel that is new
     * */
    long long edges = strtoll(strchr(sync, ',') + 1, NULL, 10);
    CHECK(edges <= 2 * EVENTS + 4096 + COUNT + 1);
    char weight[32];
    snprintf(weight, sizeof weight, "%s", analysis_rows(result, "graph", "path_weight"));
    kino_result_free(result);
    /* launches one after the other, each 2; from the start of the last 3 until its kernel, and 4;
     * the first wait; then once more 3 and 4 */
    char want[32];
    snprintf(want, sizeof want, "%d", 2 * (COUNT - 1) + 2 * (3 + 4));
    CHECK_STR(weight, want);
    kino__trace_free(trace);
    free(events);
}

TEST(work_that_waits_in_the_queue_follows_the_work_before_it)
{
    kino__trace *trace = FIXTURE(
        CALL("cudaLaunchKernel", 0, 5, 1), CALL("cudaLaunchKernel", 6, 4, 2),
        {.cat = "kernel", .name = "a", .track = 7, .ts = 20, .dur = 100, .bind = 1},
        {.cat = "kernel", .name = "ncclDevKernel_x", .track = 7, .ts = 130, .dur = 70, .bind = 2});
    check_rows(trace, "", "summary", "bound_by,duration",
               "gpu_communication_bound,70;gpu_compute_bound,100;gpu_kernel_kernel_overhead,10");
    check_rows(trace, "", "path", "event,is_start", "2,1;2,0;3,1;3,0");
    /* with an edge from every launch the path begins at the first */
    check_rows(trace, "zero_weight_edges=yes", "path", "event,is_start", "0,1;2,1;2,0;3,1;3,0");
    kino__trace_free(trace);
}

/* Stream 20 waits for an event that was recorded behind K1 on stream 7. */
TEST(streams_wait_for_recorded_events)
{
    kino__trace *trace = FIXTURE(
        /* HTA takes the number 0 for "none" */
        {.cat = "cpu_op", .name = "first", .track = 1, .ts = 0, .dur = 1},
        CALL("cudaLaunchKernel", 10, 5, 1), CALL("cudaEventRecord", 20, 2, 2),
        CALL("cudaStreamWaitEvent", 25, 2, 3), CALL("cudaLaunchKernel", 30, 5, 4),
        {.cat = "kernel",
         .name = "K1",
         .track = 7,
         .ts = 20,
         .dur = 100,
         .bind = 1,
         .args = "{\"stream\": 7}"},
        {.cat = "cuda_sync",
         .name = "Stream Wait Event",
         .track = 20,
         .ts = 121,
         .dur = 1,
         .bind = 3,
         .args =
             "{\"stream\": 20, \"wait_on_stream\": 7, \"wait_on_cuda_event_record_corr_id\": 2}"},
        {.cat = "kernel",
         .name = "K2",
         .track = 20,
         .ts = 125,
         .dur = 75,
         .bind = 4,
         .args = "{\"stream\": 20}"});
    for (int compat = 0; compat < 2; compat++) {
        const char *params = compat ? "compat=hta-ns" : "";
        check_rows(trace, params, "path", "event,is_start", "0,1;0,0;1,1;5,1;5,0;7,1;7,0");
        check_rows(trace, params, "breakdown", "duration", "1;0;10;100;0;75");
        check_rows(trace, params, "graph", "path_weight,is_ok", "186,1");
    }
    kino__trace_free(trace);
}

TEST(a_graph_launch_leads_to_its_first_kernel)
{
    kino__trace *trace = FIXTURE(CALL("cudaGraphLaunch", 10, 5, 4),
                                 {.cat = "kernel",
                                  .name = "a",
                                  .track = 7,
                                  .ts = 20,
                                  .dur = 5,
                                  .bind = 4,
                                  .args = "{\"stream\": 7}"},
                                 {.cat = "kernel",
                                  .name = "b",
                                  .track = 7,
                                  .ts = 30,
                                  .dur = 5,
                                  .bind = 4,
                                  .args = "{\"stream\": 7}"});
    check_rows(trace, "", "breakdown", "duration,bound_by",
               "10,gpu_kernel_launch_overhead;5,gpu_compute_bound;5,gpu_kernel_kernel_overhead;"
               "5,gpu_compute_bound");
    /* HTA knows the last kernel only, and no launch */
    check_rows(trace, "compat=hta-ns", "graph", "events,path_weight", "2,5");
    kino__trace_free(trace);
}

TEST(of_two_calls_that_hold_the_lock_the_first_to_end_is_charged)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, .ts = 0, .dur = 100},
        {.cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 2, .ts = 50, .dur = 70});
    check_rows(trace, "graph=yes", "edges", "begin,end,type,weight",
               "1,2,critical_path_dependency,0;0,2,critical_path_operator,100;"
               "2,3,critical_path_dependency,0");
    check_rows(trace, "graph=yes", "nodes", "node,event,is_start", "0,0,1;1,1,1;2,0,0;3,1,0");
    check_rows(trace, "", "graph", "path_weight", "100");
    kino__trace_free(trace);
}

TEST(data_loading_is_a_cause_of_its_own)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 100},
        {.cat = "user_annotation", .name = "my_loader.next", .track = 1, .ts = 10, .dur = 40},
        {.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 60, .dur = 20});
    check_rows(trace, "data_load_events=other,my_loader", "summary", "bound_by,duration",
               "cpu_bound,20;data_loading,40");
    check_rows(trace, "", "summary", "bound_by,duration", "cpu_bound,20");
    kino__trace_free(trace);
}

/* -- collectives of the host -- */

#define OP(text, start, length)                                                                    \
    {                                                                                              \
        .cat = "cpu_op", .name = (text), .track = 1, .ts = (start), .dur = (length)                \
    }
#define GLOO(thread, start, length)                                                                \
    {                                                                                              \
        .cat = "user_annotation", .name = "gloo:all_reduce", .track = (thread), .ts = (start),     \
        .dur = (length)                                                                            \
    }

/* main   forward 0..100  allreduce_ 100..110  backward 120..200            step 420..450
 * gloo                                    all_reduce 115..............400              */
TEST(a_thread_waits_for_the_collective_it_asked_for)
{
    kino__trace *trace = FIXTURE(OP("forward", 0, 100), OP("c10d::allreduce_", 100, 10),
                                 OP("backward", 120, 80), OP("step", 420, 30), GLOO(2, 115, 285));
    /* 100 + 10, then 285 in gloo instead of 80 on the thread itself, then 30 */
    check_rows(trace, "", "breakdown", "event_idx,duration,bound_by",
               "0,100,cpu_bound;-,0,;1,10,cpu_communication_bound;-,0,;"
               "4,285,cpu_communication_bound;-,0,;3,30,cpu_bound");
    check_rows(trace, "", "summary", "bound_by,duration",
               "cpu_bound,130;cpu_communication_bound,295");
    check_rows(trace, "", "edges_by_type", "type,count,weight",
               "critical_path_operator,5,505;critical_path_dependency,5,0");
    /* HTA knows operators only: 100 + 10 + 80 + 30 */
    check_rows(trace, "compat=hta-ns", "summary", "bound_by,duration", ",0;cpu_bound,220");
    kino__trace_free(trace);
}

/* main   forward 0..100  allreduce_ 100..110  A 150..160       B 290........400  C 400..430
 * gloo                                    all_reduce 115...............300             */
TEST(a_collective_behind_work_is_not_on_the_path)
{
    kino__trace *trace =
        FIXTURE(OP("forward", 0, 100), OP("c10d::allreduce_", 100, 10), OP("A", 150, 10),
                OP("B", 290, 110), OP("C", 400, 30), GLOO(2, 115, 185));
    check_rows(trace, "", "summary", "bound_by,duration",
               "cpu_bound,250;cpu_communication_bound,10");
    kino__trace_free(trace);
}

/* main   allreduce_ 0..10  allreduce_ 20..30                              step 160..170
 * gloo              all_reduce 12..........100 all_reduce 100....150                   */
TEST(a_collective_waits_for_the_one_before_it_in_its_thread)
{
    kino__trace *trace = FIXTURE(OP("c10d::allreduce_", 0, 10), OP("c10d::allreduce_", 20, 10),
                                 OP("step", 160, 10), GLOO(2, 12, 88), GLOO(2, 100, 50));
    check_rows(trace, "", "breakdown", "event_idx,duration", "0,10;-,0;3,88;-,0;4,50;-,0;2,10");
    kino__trace_free(trace);
}

/* main   allreduce_ 0.........40            step 110..120
 * gloo            all_reduce 25........100               */
TEST(a_collective_may_start_before_the_call_for_it_returns)
{
    kino__trace *trace =
        FIXTURE(OP("c10d::allreduce_", 0, 40), OP("step", 110, 10), GLOO(2, 25, 75));
    check_rows(trace, "", "breakdown", "event_idx,duration", "0,25;2,75;-,0;1,10");
    check_rows(trace, "", "graph", "path_weight,is_ok", "110,1");
    kino__trace_free(trace);
}

TEST(a_collective_without_a_call_follows_what_its_process_did_before)
{
    kino__trace *trace = FIXTURE(OP("A", 0, 10), OP("B", 110, 10), GLOO(2, 12, 88));
    check_rows(trace, "", "breakdown", "event_idx,duration", "0,10;-,0;2,88;-,0;1,10");
    kino__trace_free(trace);
}

/* The first call goes to NCCL, the second to gloo: 10 + 10 + 28 + 10, not 10 + 28 + 10. */
TEST(calls_for_a_device_are_not_those_of_gloo)
{
    kino__trace *trace = FIXTURE(
        OP("c10d::allreduce_", 0, 10), OP("c10d::allreduce_", 20, 10), OP("step", 70, 10),
        GLOO(2, 32, 28),
        {.cat = "user_annotation", .name = "nccl:all_reduce", .track = 1, .ts = 2, .dur = 6});
    check_rows(trace, "", "breakdown", "event_idx,duration", "0,10;-,0;1,10;-,0;3,28;-,0;2,10");
    kino__trace_free(trace);
}

/* Collectives on the thread that asked, across the ends of its operators. */
TEST(a_collective_does_not_disturb_the_stack_of_its_thread)
{
    kino__trace *trace = FIXTURE(OP("A", 0, 100), OP("c10d::allreduce_", 80, 10), OP("B", 110, 50),
                                 OP("C", 200, 10), GLOO(1, 92, 98));
    /* A 80, the call 10, gloo 98 until 190, C 10; A's end and B alone would be 10 + 50 */
    check_rows(trace, "", "breakdown", "event_idx,duration", "0,80;1,10;-,0;4,98;-,0;3,10");
    kino__trace_free(trace);
}

TEST(instances_are_counted_from_0_and_may_be_a_range)
{
    kino__trace *trace =
        FIXTURE({.cat = "user_annotation", .name = "part", .track = 1, .ts = 0, .dur = 100},
                {.cat = "cpu_op", .name = "x", .track = 1, .ts = 10, .dur = 20},
                {.cat = "user_annotation", .name = "part", .track = 1, .ts = 200, .dur = 100},
                {.cat = "cpu_op", .name = "y", .track = 1, .ts = 210, .dur = 40});
    check_rows(trace, "annotation=part", "graph", "region,path_weight", "100,20");
    check_rows(trace, "annotation=part instance=1", "graph", "region,path_weight", "100,40");
    check_rows(trace, "annotation=part instance=0-1", "graph", "region,path_weight", "300,60");
    kino__trace_free(trace);
}

/* An operator that begins in the step and ends 100 us after it: the path has 30 + 130 us of the
 * 200 us from the start of the step to its own end, not of the step's 100. */
TEST(path_is_not_longer_than_its_region)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 100},
        {.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 10, .dur = 30},
        {.cat = "cpu_op", .name = "aten::early", .track = 2, .ts = 20, .dur = 30},
        {.cat = "cpu_op", .name = "aten::late", .track = 2, .ts = 70, .dur = 130});
    check_rows(trace, "", "graph", "path_weight,region", "160,200");
    check_rows(trace, "", "summary", "bound_by,duration,percent", "cpu_bound,160,100");
    kino__trace_free(trace);
}

TEST(each_trace_has_its_own_path)
{
    kino__trace *traces[3] = {
        launch_and_wait(),
        FIXTURE({.cat = "cpu_op", .name = "A", .track = 1, .ts = 0, .dur = 7}),
        FIXTURE({.cat = "kernel", .name = "alone", .track = 7, .ts = 0, .dur = 9}),
    };
    kino_result *result = analysis_result("critical-path", "", traces, 3);
    CHECK_STR(analysis_rows(result, "graph", "events,path_weight"), "5,150;1,7;0,-");
    CHECK(strstr(analysis_notes(result), "no profiler step") != NULL);
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(an_empty_trace_has_no_path)
{
    kino__trace *trace = fixture_new(NULL, 0);
    check_rows(trace, "", "summary", NULL, "");
    check_rows(trace, "", "path", NULL, "");
    kino__trace_free(trace);
}

TEST(work_of_amd_has_launches_and_stream_0)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "first", .track = 1, .ts = 0, .dur = 1},
                                 CALL("hipLaunchKernel", 10, 5, 4),
                                 {.cat = "kernel",
                                  .name = "a",
                                  .track = 2,
                                  .ts = 20,
                                  .dur = 50,
                                  .bind = 4,
                                  .args = "{\"stream\": 0}"});
    check_rows(trace, "", "summary", "bound_by,duration",
               "cpu_bound,1;gpu_compute_bound,50;gpu_kernel_launch_overhead,10");
    check_rows(trace, "compat=hta-ns", "summary", "bound_by,duration", /* with edges without time */
               ",0;cpu_bound,1;gpu_compute_bound,50;gpu_kernel_launch_overhead,10");
    kino__trace_free(trace);
}

/* -- stacks -- */

/* As HTA has them: an event without length lies in what ends there; an end takes the top. */
TEST(call_stacks_come_from_times_alone)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "A", .track = 1, .ts = 0, .dur = 10},
                                 {.cat = "cpu_op", .name = "B", .track = 1, .ts = 0, .dur = 10},
                                 {.cat = "cpu_op", .name = "C", .track = 1, .ts = 10, .dur = 10},
                                 {.cat = "cpu_op", .name = "D", .track = 1, .ts = 15, .dur = 10},
                                 {.cat = "cpu_op", .name = "Z", .track = 1, .ts = 25, .dur = 0});
    const kino__frame *f = kino__frame_of(trace, KINO__FRAME_DEFAULT, true, NULL);
    REQUIRE(f != NULL);
    uint32_t events[5];
    uint64_t marks[10];
    for (uint32_t i = 0; i < 5; i++)
        events[i] = 4 - i;
    REQUIRE(kino__call_stack_marks(f, events, 5, marks));
    char text[40] = "";
    for (size_t i = 0, size = 0; i < 10; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%c%c", marks[i] & 1 ? '/' : '+',
                                 "ABCDZ"[marks[i] >> 1]);
    /* C ends at 20, where D is on top; at 25 D's end takes C */
    CHECK_STR(text, "+A+B/B/A+C+D/D+Z/Z/C");
    kino__trace_free(trace);
}

TEST(times_are_sorted_and_equal_ones_keep_their_order)
{
    fixture_random random = {5};
    enum { COUNT = 500 };
    int64_t keys[COUNT];
    uint32_t values[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        int64_t low = (int64_t)fixture_random_below(&random, 50) - 25;
        keys[i] = i % 7 ? low : low * ((int64_t)1 << 57);
        values[i] = i;
    }
    REQUIRE(kino__sort_by_time(keys, values, COUNT));
    for (size_t i = 1; i < COUNT; i++) {
        CHECK(keys[i - 1] <= keys[i]);
        CHECK(keys[i - 1] < keys[i] || values[i - 1] < values[i]);
    }
}

/* -- what always holds -- */

enum { MOST_EVENTS = 64 };

/* Operators one after the other, some with a launch in them, whose work runs on one of two
 * streams, one piece after the other. */
static kino__trace *random_step(fixture_random *random, int64_t *longest, int64_t *span)
{
    static const char *const args[] = {"{\"stream\": 7}", "{\"stream\": 8}"};
    fixture_event events[MOST_EVENTS];
    int64_t now = 0, free_at[2] = {0, 0};
    size_t count = 0;
    *longest = *span = 0;
    while (count + 3 <= MOST_EVENTS) {
        int64_t length = 5 + fixture_random_below(random, 40), launch = now + 1;
        int64_t bind = (int64_t)count + 1;
        events[count++] =
            (fixture_event){.cat = "cpu_op", .name = "op", .track = 1, .ts = now, .dur = length};
        *longest = length > *longest ? length : *longest;
        uint32_t stream = fixture_random_below(random, 3);
        if (stream < 2) {
            int64_t start = launch + 2 + fixture_random_below(random, 60);
            start = start < free_at[stream] ? free_at[stream] : start;
            int64_t work = 1 + fixture_random_below(random, 90);
            events[count++] = (fixture_event){.cat = "cuda_runtime",
                                              .name = "cudaLaunchKernel",
                                              .track = 1,
                                              .ts = launch,
                                              .dur = 2,
                                              .bind = bind};
            events[count++] = (fixture_event){.cat = "kernel",
                                              .name = "k",
                                              .track = 7 + stream,
                                              .ts = start,
                                              .dur = work,
                                              .bind = bind,
                                              .args = args[stream]};
            free_at[stream] = start + work;
            *longest = work > *longest ? work : *longest;
        }
        now += length + fixture_random_below(random, 10);
        *span = now > *span ? now : *span;
    }
    for (int i = 0; i < 2; i++)
        *span = free_at[i] > *span ? free_at[i] : *span;
    return fixture_new(events, count);
}

TEST(a_path_is_no_longer_than_the_step_and_no_shorter_than_any_event)
{
    fixture_random random = {11};
    for (int round = 0; round < 40; round++) {
        int64_t longest, span;
        kino__trace *trace = random_step(&random, &longest, &span);
        for (int compat = 0; compat < 2; compat++) {
            kino_result *result =
                analysis_result("critical-path", compat ? "compat=hta-ns" : "", &trace, 1);
            long long weight = strtoll(analysis_rows(result, "graph", "path_weight"), NULL, 10);
            CHECK(weight <= span);
            CHECK(weight >= longest);
            kino_result_free(result);
        }
        kino__trace_free(trace);
    }
}
