/* test_queues.c - queues, launches, bandwidths and kernel sequences on traces made by hand. */
#include <string.h>

#include "base/str.h"
#include "names/launch_calls.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* host    aten::mm ----------------------------------------- 0..100
 *            A 10..20      B 30..............70
 * stream 7        gemm 25..30                       relu 90..........190 */
static kino__trace *two_launches(void)
{
    return FIXTURE({.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 0, .dur = 100},
                   {.cat = "cuda_runtime",
                    .name = "cudaLaunchKernel",
                    .track = 1,
                    .ts = 10,
                    .dur = 10,
                    .bind = 1},
                   {.cat = "cuda_runtime",
                    .name = "cudaLaunchKernel",
                    .track = 1,
                    .ts = 30,
                    .dur = 40,
                    .bind = 2},
                   {.cat = "kernel", .name = "gemm", .track = 7, .ts = 25, .dur = 5, .bind = 1},
                   {.cat = "kernel", .name = "relu", .track = 7, .ts = 90, .dur = 100, .bind = 2});
}

static void check_rows(kino__trace *trace, const char *name, const char *params, const char *table,
                       const char *columns, const char *want)
{
    kino_result *result = analysis_result(name, params, &trace, 1);
    CHECK_STR(analysis_rows(result, table, columns), want);
    kino_result_free(result);
}

TEST(a_queue_grows_with_launches_and_shrinks_with_starts)
{
    kino__trace *trace = two_launches();
    check_rows(trace, "queue-length", "", "queue_length_summary",
               "count,mean,std,min,p25,p50,p75,max", "4,0.5,0.57735,0,0,0.5,1,1");
    check_rows(trace, "queue-length", "series=yes", "queue_length_series", "ts,queue_length,event",
               "10,1,1;25,0,3;30,1,2;90,0,4");
    check_rows(trace, "queue-length", "", "queue_length_series", "ts", "");
    kino__trace_free(trace);
}

TEST(a_full_queue_blocks_until_it_is_shorter)
{
    kino__trace *trace = two_launches();
    /* 10..25 and 30..90 of the time from the first start, 0, to the last, 90 */
    check_rows(trace, "queue-blocked", "max_queue_length=1", "time_blocked",
               "duration_at_max_queue_length,relative_duration_at_max_queue_length", "75,0.833333");
    check_rows(trace, "queue-blocked", "max_queue_length=2", "time_blocked", NULL, "");
    kino__trace_free(trace);
}

TEST(every_full_stream_is_shown_but_one_by_hta)
{
    kino__trace *trace = FIXTURE({.cat = "cuda_runtime",
                                  .name = "cudaLaunchKernel",
                                  .track = 1,
                                  .ts = 1000,
                                  .dur = 1000,
                                  .bind = 1},
                                 {.cat = "cuda_runtime",
                                  .name = "cudaLaunchKernel",
                                  .track = 1,
                                  .ts = 3000,
                                  .dur = 1000,
                                  .bind = 2},
                                 {.cat = "kernel",
                                  .name = "k",
                                  .track = 7,
                                  .ts = 5000,
                                  .dur = 1000,
                                  .bind = 1,
                                  .args = "{\"stream\": 7}"},
                                 {.cat = "kernel",
                                  .name = "k",
                                  .track = 8,
                                  .ts = 9000,
                                  .dur = 1000,
                                  .bind = 2,
                                  .args = "{\"stream\": 8}"});
    check_rows(trace, "queue-blocked", "max_queue_length=1", "time_blocked",
               "stream,duration_at_max_queue_length", "7,4000;8,6000");
    check_rows(trace, "queue-blocked", "max_queue_length=1 compat=hta", "time_blocked",
               "stream,duration_at_max_queue_length", "8,6000");
    kino__trace_free(trace);
}

/* HTA: the link of the kernel to the event with number 0 is none, that of the launch counts. */
TEST(a_launch_that_is_the_first_event_counts_for_hta)
{
    kino__trace *trace = FIXTURE({.cat = "cuda_runtime",
                                  .name = "cudaLaunchKernel",
                                  .track = 1,
                                  .ts = 1000,
                                  .dur = 1000,
                                  .bind = 1},
                                 {.cat = "kernel",
                                  .name = "of the launch",
                                  .track = 7,
                                  .ts = 5000,
                                  .dur = 1000,
                                  .bind = 1,
                                  .args = "{\"stream\": 7}"},
                                 {.cat = "kernel",
                                  .name = "of a launch that is not in the trace",
                                  .track = 7,
                                  .ts = 7000,
                                  .dur = 1000,
                                  .bind = 2,
                                  .args = "{\"stream\": 7}"});
    check_rows(trace, "queue-length", "compat=hta", "queue_length_summary", "stream,count,max",
               "7,2,1");
    check_rows(trace, "queue-length", "", "queue_length_summary", "stream,count,max", "7,2,1");
    check_rows(trace, "critical-path", "compat=hta annotation=", "graph", "nodes,is_ok", "4,1");
    kino__trace_free(trace);
}

TEST(a_graph_launch_puts_all_its_kernels_in_the_queue)
{
    kino__trace *trace =
        FIXTURE({.cat = "cuda_runtime",
                 .name = "cudaGraphLaunch",
                 .track = 1,
                 .ts = 10,
                 .dur = 5,
                 .bind = 4},
                {.cat = "kernel", .name = "a", .track = 7, .ts = 20, .dur = 5, .bind = 4},
                {.cat = "kernel", .name = "b", .track = 7, .ts = 30, .dur = 5, .bind = 4});
    check_rows(trace, "queue-length", "series=yes", "queue_length_series", "ts,queue_length",
               "10,1;10,2;20,1;30,0");
    check_rows(trace, "launch-stats", "", "launch_stats", "correlation,launch_delay", "4,5;4,15");
    /* in no operator: both are left out, and counted */
    kino_result *result = analysis_result("op-kernels", "", &trace, 1);
    CHECK(strstr(analysis_notes(result), "2 kernels launched outside ATen") != NULL);
    kino_result_free(result);
    /* HTA does not know graphs */
    check_rows(trace, "queue-length", "compat=hta-ns", "queue_length_summary", NULL, "");
    kino__trace_free(trace);
}

TEST(an_operator_has_all_kernels_of_its_graph)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 0, .dur = 50},
                {.cat = "cuda_runtime",
                 .name = "cudaGraphLaunch",
                 .track = 1,
                 .ts = 10,
                 .dur = 5,
                 .bind = 4},
                {.cat = "kernel", .name = "a", .track = 7, .ts = 20, .dur = 5, .bind = 4},
                {.cat = "kernel", .name = "b", .track = 7, .ts = 30, .dur = 5, .bind = 4},
                {.cat = "kernel", .name = "c", .track = 7, .ts = 40, .dur = 5, .bind = 9});
    check_rows(trace, "op-kernels", "", "op_kernels",
               "aten_op_name,kernel_sequence,occurrence_count,avg_runtime_delay",
               "aten::mm,a -> b,1,10");
    static const char *const names[] = {"op-kernels", "queue-length", "queue-blocked",
                                        "launch-stats"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kino_result *result = analysis_result(names[i], "", &trace, 1);
        CHECK(strstr(analysis_notes(result), "1 device events have no launch") != NULL);
        kino_result_free(result);
    }
    kino__trace_free(trace);
}

TEST(launches_are_measured_on_both_sides)
{
    kino__trace *trace = two_launches();
    check_rows(trace, "launch-stats", "", "launch_stats",
               "correlation,cpu_duration,gpu_duration,launch_delay,launch_event,device_event",
               "1,10,5,5,1,3;2,40,100,20,2,4");
    /* cut-offs are inclusive on the good side: 10 is no outlier of 10 */
    check_rows(trace, "launch-stats", "runtime_cutoff=10ns launch_delay_cutoff=19ns",
               "launch_summary",
               "count,cpu_duration,gpu_duration,launch_delay,max_launch_delay,short_kernels,"
               "runtime_outliers,launch_delay_outliers",
               "2,50,105,25,20,1,1,1");
    check_rows(trace, "launch-stats", "runtime_cutoff=9ns launch_delay_cutoff=20ns",
               "launch_summary", "short_kernels,runtime_outliers,launch_delay_outliers", "0,2,0");
    kino__trace_free(trace);
}

TEST(copies_count_as_launches_when_asked)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cuda_runtime",
         .name = "cudaMemcpyAsync",
         .track = 1,
         .ts = 0,
         .dur = 10,
         .bind = 1},
        {.cat = "gpu_memcpy", .name = "Memcpy HtoD", .track = 7, .ts = 5, .dur = 5, .bind = 1});
    check_rows(trace, "launch-stats", "", "launch_stats", NULL, "");
    /* work that starts before its call returns has no delay */
    check_rows(trace, "launch-stats", "include_memory=yes", "launch_stats",
               "cpu_duration,launch_delay", "10,0");
    kino__trace_free(trace);
}

TEST(bandwidths_of_copies_that_overlap_add_up)
{
    kino__trace *trace = FIXTURE({.cat = "gpu_memcpy",
                                  .name = "Memcpy HtoD (Pageable -> Device)",
                                  .track = 7,
                                  .ts = 0,
                                  .dur = 10,
                                  .bind = 1,
                                  .args = "{\"memory bandwidth (GB/s)\": 2.5}"},
                                 {.cat = "gpu_memcpy",
                                  .name = "Memcpy HtoD (Pinned -> Device)",
                                  .track = 8,
                                  .ts = 5,
                                  .dur = 15,
                                  .bind = 2,
                                  .args = "{\"memory bandwidth (GB/s)\": 1.5}"},
                                 {.cat = "gpu_memset",
                                  .name = "Memset (Device)",
                                  .track = 8,
                                  .ts = 30,
                                  .dur = 0,
                                  .bind = 3,
                                  .args = "{\"memory bandwidth (GB/s)\": 7}"});
    check_rows(trace, "memory-bandwidth", "series=yes", "memory_bw_series", "ts,name,memory_bw",
               "0,Memcpy HtoD,2.5;5,Memcpy HtoD,4;10,Memcpy HtoD,1.5;20,Memcpy HtoD,0;30,Memset,7;"
               "31,Memset,0");
    check_rows(trace, "memory-bandwidth", "", "memory_bw_summary", "name,count,min,p50,max",
               "Memcpy HtoD,3,1.5,2.5,4;Memset,1,7,7,7");
    kino__trace_free(trace);
}

TEST(kernel_sequences_of_operators_are_counted)
{
    kino__trace *trace = two_launches();
    check_rows(
        trace, "op-kernels", "", "op_kernels",
        "aten_op_name,kernel_sequence,occurrence_count,avg_aten_op_launch_delay,avg_runtime_delay",
        "aten::mm,gemm -> relu,1,10,15");
    kino__trace_free(trace);
}

TEST(a_launch_belongs_to_the_innermost_operator_of_its_thread)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "aten::linear", .track = 1, .ts = 0, .dur = 100},
                {.cat = "cpu_op", .name = "aten::addmm", .track = 1, .ts = 10, .dur = 50},
                {.cat = "cpu_op",
                 .name = "aten::other",
                 .track = 2,
                 .ts = 20,
                 .dur = 50}, /* starts later */
                {.cat = "cuda_runtime",
                 .name = "cudaLaunchKernel",
                 .track = 1,
                 .ts = 30,
                 .dur = 5,
                 .bind = 1},
                {.cat = "cuda_runtime",
                 .name = "cudaLaunchKernel",
                 .track = 1,
                 .ts = 55,
                 .dur = 10,
                 .bind = 2},
                {.cat = "cuda_runtime",
                 .name = "cudaLaunchKernel",
                 .track = 1,
                 .ts = 200,
                 .dur = 5,
                 .bind = 3},
                {.cat = "kernel",
                 .name = "a",
                 .track = 7,
                 .ts = 40,
                 .dur = 5,
                 .bind = 1,
                 .args = "{\"stream\": 7}"},
                {.cat = "kernel",
                 .name = "b",
                 .track = 7,
                 .ts = 70,
                 .dur = 5,
                 .bind = 2,
                 .args = "{\"stream\": 7}"},
                {.cat = "kernel",
                 .name = "c",
                 .track = 7,
                 .ts = 210,
                 .dur = 5,
                 .bind = 3,
                 .args = "{\"stream\": 7}"});
    /* the second launch ends behind addmm, the third is in no operator */
    check_rows(trace, "op-kernels", "", "op_kernels", "aten_op_name,kernel_sequence",
               "aten::addmm,a;aten::linear,b");
    check_rows(trace, "op-kernels", "compat=hta-ns", "op_kernels", "aten_op_name,kernel_sequence",
               "aten::other,a -> b");
    kino__trace_free(trace);
}

TEST(traces_without_device_work_say_so)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 0, .dur = 100});
    static const char *const names[] = {"queue-length", "queue-blocked", "memory-bandwidth"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kino_result *result = analysis_result(names[i], "", &trace, 1);
        CHECK(strstr(analysis_notes(result), "not available") != NULL);
        kino_result_free(result);
    }
    static const char *const others[] = {"op-kernels", "launch-stats", "kernel-sequences"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        kino_result *result = analysis_result(others[i], "", &trace, 1);
        CHECK(strstr(analysis_notes(result), "not available: no device work was recorded") != NULL);
        for (size_t t = 0; t < result->tables.count; t++)
            CHECK_EQ(kino__table_row_count(result->tables.items[t]), 0);
        kino_result_free(result);
    }
    kino__trace_free(trace);
}

TEST(the_table_of_calls_knows_the_lists_of_hta)
{
    static const struct {
        const char *name;
        unsigned marks;
    } cases[] = {{"cudaLaunchKernel",
                  KINO__CALL_QUEUE | KINO__CALL_STATS | KINO__CALL_LOCK | KINO__CALL_NVIDIA},
                 {"cudaMemcpyAsync",
                  KINO__CALL_QUEUE | KINO__CALL_STATS | KINO__CALL_LOCK | KINO__CALL_BLOCKING},
                 {"cuLaunchKernel", KINO__CALL_QUEUE},
                 {"cudaGraphLaunch", 0},
                 {"cudaLaunchKernel_ptsz", 0}, /* HTA goes by the very name */
                 {"cudaEventRecord", KINO__CALL_RECORD},
                 {"aten::mm", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ(kino__call_marks(kino__str_from(cases[i].name)), cases[i].marks);
    CHECK_STR(kino__call_with(KINO__CALL_AMD, 0), "hipLaunchKernel");
    CHECK_EQ(kino__call_with(KINO__CALL_AMD, 1).size, 0);
    CHECK_STR(kino__call_with(KINO__CALL_BLOCKING, 1), "cudaMemcpy");
}
