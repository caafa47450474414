/* test_fwd_bwd.c - forward and backward operators, linked by (thread, number) and by flows. */
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define SEQ(n)          "{\"Sequence number\": " #n ", \"Fwd thread id\": 0}"
#define BACK(n, thread) "{\"Sequence number\": " #n ", \"Fwd thread id\": " #thread "}"

#define LAUNCH(on, at, id)                                                                         \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = on, .ts = at, .dur = 1,        \
        .bind = id                                                                                 \
    }
#define KERNEL(name_, at, length, id)                                                              \
    {                                                                                              \
        .cat = "kernel", .name = name_, .track = 7, .ts = at, .dur = length, .bind = id            \
    }

/* Two forward threads (1 and 2) whose sequence numbers are the same; their backward operators run
 * on one autograd thread (9), interleaved. Thread ids of autograd are 1 and 3. */
static kino__trace *two_threads(void)
{
    return FIXTURE(
        {.cat = "cpu_op", .name = "aten::addmm", .track = 1, .ts = 0, .dur = 10, .args = SEQ(5)},
        LAUNCH(1, 2, 1), KERNEL("gemm_a", 20, 4, 1),
        {.cat = "cpu_op", .name = "aten::mul", .track = 1, .ts = 12, .dur = 4, .args = SEQ(6)},
        {.cat = "cpu_op", .name = "aten::bmm", .track = 2, .ts = 1, .dur = 8, .args = SEQ(5)},
        LAUNCH(2, 3, 2), KERNEL("gemm_b", 24, 6, 2),
        /* numbers that occur on one thread only tell which thread id is which */
        {.cat = "cpu_op", .name = "aten::tanh", .track = 2, .ts = 14, .dur = 3, .args = SEQ(8)},
        {.cat = "cpu_op",
         .name = "MulBackward0",
         .track = 9,
         .ts = 100,
         .dur = 5,
         .args = BACK(6, 1)},
        {.cat = "cpu_op",
         .name = "TanhBackward0",
         .track = 9,
         .ts = 110,
         .dur = 5,
         .args = BACK(8, 3)},
        {.cat = "cpu_op",
         .name = "autograd::engine::evaluate_function: AddmmBackward0",
         .track = 9,
         .ts = 120,
         .dur = 30,
         .args = BACK(5, 1)},
        {.cat = "cpu_op",
         .name = "AddmmBackward0",
         .track = 9,
         .ts = 121,
         .dur = 28,
         .args = BACK(5, 1)},
        LAUNCH(9, 125, 3), LAUNCH(9, 130, 4), KERNEL("dgrad", 140, 5, 3),
        KERNEL("wgrad", 146, 7, 4),
        {.cat = "cpu_op",
         .name = "BmmBackward0",
         .track = 9,
         .ts = 160,
         .dur = 10,
         .args = BACK(5, 3)},
        LAUNCH(9, 162, 5), KERNEL("bmm_back", 170, 9, 5),
        {.cat = "cpu_op",
         .name = "LostBackward0",
         .track = 9,
         .ts = 180,
         .dur = 2,
         .args = BACK(77, 1)});
}

TEST(fwd_bwd_links_by_thread_and_number)
{
    kino__trace *trace = two_threads();
    kino_result *result = analysis_result("fwd-bwd", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "pairs",
                            "forward,backward,sequence,forward_thread,linked_by,forward_device_"
                            "duration,backward_device_duration,forward_kernels,backward_kernels"),
              "aten::mul,MulBackward0,6,1,sequence,0,0,0,0;"
              "aten::tanh,TanhBackward0,8,3,sequence,0,0,0,0;"
              "aten::addmm,AddmmBackward0,5,1,sequence,4,12,1,2;"
              "aten::bmm,BmmBackward0,5,3,sequence,6,9,1,1");
    CHECK_STR(analysis_rows(result, "operators",
                            "forward,backward,pairs,forward_device_duration,backward_device_"
                            "duration,ratio,backward_host_duration"),
              "aten::addmm,AddmmBackward0,1,4,12,3,30;aten::bmm,BmmBackward0,1,6,9,1.5,10;"
              "aten::mul,MulBackward0,1,0,0,-,5;aten::tanh,TanhBackward0,1,0,0,-,5");
    CHECK_STR(analysis_notes(result), "1 backward operators have no forward operator in the trace");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Old traces have flows and no numbers. */
TEST(fwd_bwd_links_by_flows_without_numbers)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .name = "aten::add", .track = 1, .ts = 0, .dur = 10},
                {.ph = 's', .cat = "fwdbwd", .name = "fwdbwd", .track = 1, .ts = 0, .bind = 3},
                {.cat = "cpu_op", .name = "AddBackward0", .track = 9, .ts = 50, .dur = 4},
                {.ph = 'f',
                 .cat = "fwdbwd",
                 .name = "fwdbwd",
                 .track = 9,
                 .ts = 50,
                 .bind = 3,
                 .bp = true});
    kino_result *result = analysis_result("fwd-bwd", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "pairs",
                            "forward,backward,sequence,linked_by,"
                            "backward_host_duration,backward_device_duration,"
                            "backward_kernels"),
              "aten::add,AddBackward0,-,flow,4,-,-");
    CHECK_STR(analysis_notes(result), "device times not available: no device work was recorded");
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(fwd_bwd_keeps_ranks_apart_and_says_what_is_missing)
{
    kino__trace *traces[3] = {two_threads(), two_threads(), two_threads()};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = i;
    kino_result *result = analysis_result("fwd-bwd", "", traces, 3);
    CHECK_STR(analysis_rows(result, "operators", "rank,pairs"),
              "0,1;1,1;2,1;0,1;1,1;2,1;0,1;0,1;1,1;1,1;2,1;2,1");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);

    kino__trace *none = FIXTURE({.cat = "cpu_op", .name = "aten::add", .ts = 0, .dur = 10});
    result = analysis_result("fwd-bwd", "", &none, 1);
    CHECK_STR(analysis_rows(result, "pairs", NULL), "");
    CHECK_STR(analysis_notes(result),
              "pairs of forward and backward operators not available: the trace has no sequence "
              "numbers and no autograd flows");
    kino_result_free(result);
    kino__trace_free(none);
}
