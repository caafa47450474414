/* test_gaps.c - idle gaps of devices and who is to blame, on traces made by hand. */
#include <string.h>

#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define LAUNCH(at, length, id)                                                                     \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, .ts = (at),                 \
        .dur = (length), .bind = (id)                                                              \
    }
#define KERNEL(kernel, stream, at, length, id)                                                     \
    {                                                                                              \
        .cat = "kernel", .name = (kernel), .track = (stream), .ts = (at), .dur = (length),         \
        .bind = (id)                                                                               \
    }

static void check_rows(kino__trace *trace, const char *params, const char *table,
                       const char *columns, const char *want)
{
    kino_result *result = analysis_result("gaps", params, &trace, 1);
    CHECK_STR(analysis_rows(result, table, columns), want);
    kino_result_free(result);
}

/* host     0 launch 10      50 cudaDeviceSynchronize 105   110 aten::mm .. launch 140..150 .. 160
 * device         20 first .................... 100                               155 second 200 */
TEST(a_wait_for_the_device_is_to_blame_for_the_gap_behind_it)
{
    kino__trace *trace = FIXTURE(
        LAUNCH(0, 10, 1),
        {.cat = "cuda_runtime", .name = "cudaDeviceSynchronize", .track = 1, .ts = 50, .dur = 55},
        {.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 110, .dur = 50}, LAUNCH(140, 10, 2),
        KERNEL("first", 7, 20, 80, 1), KERNEL("second", 7, 155, 45, 2));
    /* operators have more of the time to the launch (30 of 40), but began late because of it */
    check_rows(trace, "min_gap=1ns", "gaps",
               "ts,dur,blame,blame_time,name,sync,before,after,event,sync_event,before_event,"
               "after_event,launch_event",
               "100,55,sync,55,cudaDeviceSynchronize,cudaDeviceSynchronize,first,second,1,1,4,5,3");
    /* to 105, 140 to 150, 110 to 140 and 150 to 155, 105 to 110 */
    check_rows(trace, "min_gap=1ns", "activity", "gap,thread,activity,time,name,op,event",
               "1,1,sync,5,cudaDeviceSynchronize,-,1;1,1,launch,10,cudaLaunchKernel,aten::mm,3;"
               "1,1,operator,35,aten::mm,aten::mm,2;1,1,untraced,5,-,-,-");
    check_rows(trace, "min_gap=1ns", "blame", "blame,count,time", "sync,1,55");
    check_rows(trace, "min_gap=55ns num=0", "blame", "blame,count,time", "sync,1,55");
    check_rows(trace, "min_gap=55ns num=0", "gaps", NULL, "");
    check_rows(trace, "min_gap=56ns", "blame", NULL, "");
    check_rows(trace, "", "gaps", NULL, ""); /* shorter than 10 us */
    kino__trace_free(trace);
}

/* host     0 train.py(12) ............................................. 300
 *             launch 1..10    60 DataLoader [70 aten::stack 120] 130    150 launch 160
 * device          20 first 50                                                  170 second 180 */
TEST(a_data_loader_is_to_blame_with_all_that_runs_in_it)
{
    kino__trace *trace = FIXTURE(
        {.cat = "python_function", .name = "train.py(12): step", .track = 1, .ts = 0, .dur = 300},
        LAUNCH(1, 9, 1),
        {.cat = "user_annotation",
         .name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
         .track = 1,
         .ts = 60,
         .dur = 70},
        {.cat = "cpu_op", .name = "aten::stack", .track = 1, .ts = 70, .dur = 50},
        LAUNCH(150, 10, 2), KERNEL("first", 7, 20, 30, 1), KERNEL("second", 7, 170, 10, 2));
    check_rows(trace, "min_gap=1ns", "gaps",
               "dur,blame,blame_time,name,op,python,python_event,sync",
               "120,data-loader,70,aten::stack,aten::stack,train.py(12): step,0,-");
    check_rows(trace, "min_gap=1ns", "activity", "activity,time,percent",
               "data-loader,70,58.3333;launch,10,8.33333;python,40,33.3333");
    kino__trace_free(trace);
}

TEST(work_that_was_launched_before_the_gap_was_held_up_on_the_device)
{
    kino__trace *trace = FIXTURE(LAUNCH(0, 10, 1), LAUNCH(30, 10, 2), KERNEL("first", 7, 20, 30, 1),
                                 KERNEL("second", 7, 170, 10, 2), KERNEL("orphan", 7, 200, 5, 0));
    check_rows(trace, "min_gap=1ns", "gaps", "ts,dur,blame,name,thread,launch_event",
               "50,120,device,-,1,1;180,20,unknown,-,-,-");
    check_rows(trace, "min_gap=1ns", "blame", "blame,count,time", "device,1,120;unknown,1,20");
    kino__trace_free(trace);
}

TEST(a_slow_launch_an_allocation_and_a_collection_are_told_apart)
{
    kino__trace *trace =
        FIXTURE(LAUNCH(0, 10, 1), KERNEL("a", 7, 10, 10, 1),
                /* 20..100: the call takes 70 of it */
                LAUNCH(30, 69, 2), KERNEL("b", 7, 100, 10, 2),
                /* 110..200: cudaMalloc has 80 of it */
                {.cat = "cuda_runtime", .name = "cudaMalloc", .track = 1, .ts = 105, .dur = 85},
                LAUNCH(195, 1, 3), KERNEL("c", 7, 200, 10, 3),
                /* 210..300 */
                {.cat = "python_function",
                 .name = "<built-in method collect of module object at 0x7f00>",
                 .track = 1,
                 .ts = 215,
                 .dur = 80},
                LAUNCH(296, 1, 4), KERNEL("d", 7, 300, 10, 4));
    check_rows(trace, "min_gap=1ns", "gaps", "ts,dur,blame,blame_time",
               "110,90,allocation,80;210,90,gc,80;20,80,launch,70");
    kino__trace_free(trace);
}

TEST(a_device_is_busy_while_any_of_its_streams_is)
{
    kino__trace *trace =
        FIXTURE(LAUNCH(0, 1, 1), LAUNCH(1, 1, 2), LAUNCH(80, 1, 3), KERNEL("a", 7, 10, 10, 1),
                KERNEL("long", 8, 15, 50, 2), KERNEL("b", 7, 90, 10, 3));
    check_rows(trace, "min_gap=1ns", "gaps", "ts,dur,before,after", "65,25,long,b");
    kino__trace_free(trace);
}

TEST(gaps_of_amd_devices_are_found_like_others)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cuda_runtime",
         .name = "hipLaunchKernel",
         .track = 1,
         .ts = 0,
         .dur = 5,
         .bind = 1},
        {.cat = "cuda_runtime", .name = "hipStreamSynchronize", .track = 1, .ts = 6, .dur = 60},
        {.cat = "cuda_runtime",
         .name = "hipLaunchKernel",
         .track = 1,
         .ts = 80,
         .dur = 5,
         .bind = 2},
        {.cat = "kernel", .name = "a", .ts = 10, .dur = 50, .bind = 1, .args = "{\"stream\": 0}"},
        {.cat = "kernel", .name = "b", .ts = 90, .dur = 5, .bind = 2, .args = "{\"stream\": 0}"});
    check_rows(trace, "min_gap=1ns", "gaps", "ts,dur,blame,sync",
               "60,30,sync,hipStreamSynchronize");
    kino__trace_free(trace);
}

/* host     0 clEnqueueNDRangeKernel 5    6 clFinish ............ 66    70 clEnqueueNDRangeKernel 75
 * device            10 first .................... 60                            90 second 100 */
TEST(a_wait_for_an_opencl_queue_is_one)
{
    kino__trace *trace =
        FIXTURE({.cat = "privateuse1_runtime",
                 .name = "clEnqueueNDRangeKernel",
                 .track = 1,
                 .ts = 0,
                 .dur = 5,
                 .bind = 1},
                {.cat = "privateuse1_runtime", .name = "clFinish", .track = 1, .ts = 6, .dur = 60},
                {.cat = "privateuse1_runtime",
                 .name = "clEnqueueNDRangeKernel",
                 .track = 1,
                 .ts = 70,
                 .dur = 5,
                 .bind = 2},
                KERNEL("first", 7, 10, 50, 1), KERNEL("second", 7, 90, 10, 2));
    check_rows(trace, "min_gap=1ns", "gaps", "ts,dur,blame,name", "60,30,sync,clFinish");
    kino__trace_free(trace);
}

TEST(gaps_can_be_asked_for_by_step)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 100},
        {.cat = "user_annotation", .name = "ProfilerStep#2", .track = 1, .ts = 100, .dur = 100},
        LAUNCH(1, 1, 1), LAUNCH(50, 1, 2), LAUNCH(120, 1, 3), KERNEL("a", 7, 10, 10, 1),
        KERNEL("b", 7, 60, 10, 2), KERNEL("c", 7, 130, 10, 3));
    check_rows(trace, "min_gap=1ns", "gaps", "step,ts,dur", "2,70,60;1,20,40");
    check_rows(trace, "min_gap=1ns steps=2", "gaps", "step,ts,dur", "2,70,60");
    kino__trace_free(trace);
}

TEST(gaps_need_device_work)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 0, .dur = 100});
    kino_result *result = analysis_result("gaps", "", &trace, 1);
    CHECK_STR(analysis_notes(result), "gaps not available: no device work was recorded");
    kino_result_free(result);
    kino__trace_free(trace);
    trace = fixture_new(NULL, 0);
    result = analysis_result("gaps", "", &trace, 1);
    CHECK_STR(analysis_notes(result), "gaps not available: no device work was recorded");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Gaps and work share the time from the first start to the last end. */
TEST(gaps_and_work_add_up_to_the_span_of_a_device)
{
    enum { TIME = 400, WORK = 12 };
    fixture_random random = {77};
    for (int round = 0; round < 20; round++) {
        fixture_event events[WORK] = {{0}};
        bool is_busy[TIME] = {false};
        int64_t first = TIME, last = 0, idle = 0;
        for (int i = 0; i < WORK; i++) {
            int64_t ts = fixture_random_below(&random, TIME - 30);
            int64_t dur = 1 + fixture_random_below(&random, 29);
            events[i] = (fixture_event){.cat = "kernel",
                                        .name = "k",
                                        .track = 7 + fixture_random_below(&random, 2),
                                        .ts = ts,
                                        .dur = dur};
            for (int64_t t = ts; t < ts + dur; t++)
                is_busy[t] = true;
            first = ts < first ? ts : first;
            last = ts + dur > last ? ts + dur : last;
        }
        for (int64_t t = first; t < last; t++)
            idle += !is_busy[t];
        kino__trace *trace = fixture_new(events, WORK);
        kino_result *result = analysis_result("gaps", "min_gap=0", &trace, 1);
        char want[40];
        (void)snprintf(want, sizeof want, "unknown,%lld", (long long)idle);
        CHECK_STR(analysis_rows(result, "blame", "blame,time"), idle ? want : "");
        kino_result_free(result);
        kino__trace_free(trace);
    }
}

TEST(gaps_of_several_ranks_stand_one_behind_the_other)
{
    kino__trace *traces[3];
    for (int i = 0; i < 3; i++) {
        traces[i] = FIXTURE(LAUNCH(0, 1, 1), LAUNCH(40 + i, 1, 2), KERNEL("a", 7, 10, 10, 1),
                            KERNEL("b", 7, 50, 10, 2));
        traces[i]->rank = i;
        traces[i]->index = (uint32_t)i;
    }
    kino_result *result = analysis_result("gaps", "min_gap=1ns", traces, 3);
    /* nothing is recorded from 20 to the launch */
    CHECK_STR(analysis_rows(result, "gaps", "rank,gap,dur,blame,blame_time"),
              "0,1,30,untraced,20;1,2,30,untraced,21;2,3,30,untraced,22");
    CHECK_STR(analysis_rows(result, "activity", "rank,gap,activity,time"),
              "0,1,launch,1;0,1,untraced,29;1,2,launch,1;1,2,untraced,29;2,3,launch,1;"
              "2,3,untraced,29");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}
