/* test_launch_bound.c - operators bound by host or device, on traces made by hand. */
#include <string.h>

#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(op, at, length)                                                                         \
    {                                                                                              \
        .cat = "cpu_op", .name = (op), .track = 1, .ts = (at), .dur = (length)                     \
    }
#define LAUNCH(call, at, length, id)                                                               \
    {                                                                                              \
        .cat = "cuda_runtime", .name = (call), .track = 1, .ts = (at), .dur = (length),            \
        .bind = (id)                                                                               \
    }
#define KERNEL(stream, at, length, id)                                                             \
    {                                                                                              \
        .cat = "kernel", .name = "k", .track = (stream), .ts = (at), .dur = (length), .bind = (id) \
    }

static void check_rows(kino__trace *trace, const char *params, const char *columns,
                       const char *want)
{
    kino_result *result = analysis_result("launch-bound", params, &trace, 1);
    CHECK_STR(analysis_rows(result, "launch_bound", columns), want);
    kino_result_free(result);
}

/* host     0 mm 30    40 relu 60 70 relu 90                    400 add 480
 *            launch 10   launch 50   launch 80                    launch 450
 * stream        20 k 25       55 k ................ 300, k 310      460 k 470   */
static kino__trace *three_operators(void)
{
    return FIXTURE(OP("aten::mm", 0, 30), LAUNCH("cudaLaunchKernel", 10, 5, 1),
                   OP("aten::relu", 40, 20), LAUNCH("cudaLaunchKernel", 50, 4, 2),
                   OP("aten::relu", 70, 20), LAUNCH("cudaLaunchKernel", 80, 4, 3),
                   OP("aten::add", 400, 80), LAUNCH("cudaLaunchKernel", 450, 5, 4),
                   KERNEL(7, 20, 5, 1), KERNEL(7, 55, 245, 2), KERNEL(7, 300, 10, 3),
                   KERNEL(7, 460, 10, 4));
}

TEST(work_is_starved_when_its_launch_comes_after_the_end_of_all_before_it)
{
    kino__trace *trace = three_operators();
    /* add: 310 to 460; relu: 25 to 55 the first, the second was queued: as many; mm: the first */
    check_rows(trace, "", "op,bound,calls,kernels,starved,queued,idle",
               "aten::add,host,1,1,1,0,150;aten::relu,device,2,2,1,1,30;aten::mm,-,1,1,0,0,0");
    check_rows(trace, "", "op,host,launch,device,host_per_device",
               "aten::add,80,5,10,8;aten::relu,40,8,255,0.156863;aten::mm,30,5,5,6");
    kino__trace_free(trace);
}

TEST(a_graph_counts_its_launch_once_and_starves_with_its_first_kernel_only)
{
    kino__trace *trace =
        FIXTURE(LAUNCH("cudaLaunchKernel", 0, 5, 1), KERNEL(7, 10, 10, 1), OP("graph", 30, 40),
                LAUNCH("cudaGraphLaunch", 40, 20, 2), KERNEL(7, 50, 10, 2), KERNEL(7, 65, 10, 2));
    check_rows(trace, "", "op,bound,calls,kernels,starved,queued,idle,launch",
               "graph,device,1,2,1,1,30,20;-,-,0,1,0,0,0,5");
    kino__trace_free(trace);
}

TEST(streams_starve_each_for_itself)
{
    kino__trace *trace = FIXTURE(OP("a", 0, 10), LAUNCH("hipLaunchKernel", 1, 1, 1),
                                 OP("b", 20, 10), LAUNCH("hipLaunchKernel", 21, 1, 2),
                                 OP("c", 40, 10), LAUNCH("hipLaunchKernel", 41, 1, 3),
                                 KERNEL(0, 5, 100, 1), KERNEL(9, 25, 5, 2), KERNEL(9, 50, 5, 3));
    check_rows(trace, "", "op,bound,idle", "c,host,20;a,-,0;b,-,0");
    kino__trace_free(trace);
}

TEST(launch_bound_operators_can_be_asked_for_by_step)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 2, .ts = 0, .dur = 50},
        {.cat = "user_annotation", .name = "ProfilerStep#2", .track = 2, .ts = 50, .dur = 50},
        OP("a", 0, 10), LAUNCH("cudaLaunchKernel", 1, 1, 1), OP("b", 60, 10),
        LAUNCH("cudaLaunchKernel", 61, 1, 2), KERNEL(7, 5, 10, 1), KERNEL(7, 65, 5, 2));
    /* what came before the step still counts as before */
    check_rows(trace, "steps=2", "op,bound,idle", "b,host,50");
    kino__trace_free(trace);
}

TEST(launch_bound_operators_of_several_ranks_and_without_a_device)
{
    kino__trace *traces[3] = {three_operators(), fixture_new(NULL, 0), three_operators()};
    for (int i = 0; i < 3; i++) {
        traces[i]->rank = i;
        traces[i]->index = (uint32_t)i;
    }
    kino_result *result = analysis_result("launch-bound", "", traces, 3);
    CHECK_STR(analysis_rows(result, "launch_bound", "rank,op"),
              "0,aten::add;0,aten::relu;0,aten::mm;2,aten::add;2,aten::relu;2,aten::mm");
    CHECK_STR(analysis_notes(result),
              "launch-bound operators not available for rank 1: no device work was recorded");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}
