/* test_costs.c - op-costs, layers, roofline: who is charged, how costs are divided, what limits. */
#include "analysis/costs/cost_work.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* [64,32] x [32,16]: 2*64*16*32 = 65536 operations, 4 * (2048 + 512 + 1024) = 14336 bytes. */
#define MM_ARGS "{\"Input Dims\": [[64, 32], [32, 16]], \"Input type\": [\"float\", \"float\"]}"
/* [8,8] x [8,8]: 1024 operations, 768 bytes */
#define SMALL_ARGS "{\"Input Dims\": [[8, 8], [8, 8]], \"Input type\": [\"float\", \"float\"]}"

#define OP(on, name_, at, length, args_)                                                           \
    {                                                                                              \
        .cat = "cpu_op", .name = name_, .track = on, .ts = at, .dur = length, .args = args_        \
    }
#define LAUNCH(on, at, id)                                                                         \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = on, .ts = at, .dur = 1,        \
        .bind = id                                                                                 \
    }
#define KERNEL(on, name_, at, length, id)                                                          \
    {                                                                                              \
        .cat = "kernel", .name = name_, .track = on, .ts = at, .dur = length, .bind = id           \
    }

/* One product with two kernels, of 3 and 1 us, that run in the order opposite to their launches on
 * two streams. */
static kino__trace *two_streams(void)
{
    return FIXTURE(OP(1, "aten::mm", 0, 10000, MM_ARGS), LAUNCH(1, 1000, 1), LAUNCH(1, 2000, 2),
                   KERNEL(7, "second", 5000, 3000, 2), KERNEL(8, "first", 9000, 1000, 1));
}

TEST(costs_are_charged_once_and_divided_by_time)
{
    kino__trace *trace = two_streams();
    kino_result *result =
        analysis_result("roofline", "by=kernel peak=fp32=0.1,memory=10", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,calls,device_time,flops,bytes,intensity"),
              "second,1,3000,49152,10752,4.57143;first,0,1000,16384,3584,4.57143");
    kino_result_free(result);
    result = analysis_result("op-costs", "", &trace, 1);
    /* 65536 operations in 4 us are 0.016384 TFLOP/s; 14336 bytes 3.584 GB/s */
    CHECK_STR(
        analysis_rows(result, "op_costs",
                      "op,kind,dtype,calls,kernels,device_time,flops,bytes,tflops,gbps,known"),
        "aten::mm,operator,fp32,1,2,4000,65536,14336,0.016384,3.584,100");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* The parts of a cost that cannot be divided evenly add up to the whole: 1024 operations over three
 * kernels of the same time. */
TEST(costs_divide_exactly)
{
    kino__trace *trace = FIXTURE(OP(1, "aten::mm", 0, 100, SMALL_ARGS), LAUNCH(1, 10, 1),
                                 LAUNCH(1, 20, 2), LAUNCH(1, 30, 3), KERNEL(7, "a", 200, 10, 1),
                                 KERNEL(7, "b", 210, 10, 2), KERNEL(7, "c", 220, 10, 3));
    kino_result *result = analysis_result("roofline", "by=kernel", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,flops,bytes"),
              "a,341,256;b,341,256;c,342,256");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Two processes (threads 1 and 2) call the same operator at the same time, with different sizes;
 * their kernels interleave on both streams. */
TEST(costs_of_interleaved_processes_stay_apart)
{
    kino__trace *trace =
        FIXTURE(OP(1, "aten::mm", 0, 100, MM_ARGS), OP(2, "aten::mm", 1, 100, SMALL_ARGS),
                LAUNCH(1, 10, 1), LAUNCH(2, 11, 2), LAUNCH(1, 12, 3), LAUNCH(2, 13, 4),
                KERNEL(7, "large_0", 200, 30, 1), KERNEL(8, "small_0", 201, 20, 2),
                KERNEL(8, "large_1", 240, 10, 3), KERNEL(7, "small_1", 240, 20, 4));
    kino_result *result = analysis_result("roofline", "by=kernel", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,flops"),
              "large_0,49152;small_1,512;small_0,512;large_1,16384");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* A graph is captured once and replayed twice: the operator of the capture is charged for each
 * replay, and not for the capture. */
TEST(costs_of_replayed_graphs_are_charged_per_replay)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cpu_op",
         .name = "aten::mm",
         .track = 1,
         .ts = 0,
         .dur = 50,
         .external = 5,
         .args = MM_ARGS},
        {.cat = "cuda_runtime",
         .name = "cudaGraphLaunch",
         .track = 1,
         .ts = 100,
         .dur = 5,
         .bind = 90},
        {.cat = "cuda_runtime",
         .name = "cudaGraphLaunch",
         .track = 1,
         .ts = 200,
         .dur = 5,
         .bind = 91},
        {.cat = "kernel", .name = "a", .track = 7, .ts = 110, .dur = 30, .bind = 90, .external = 5},
        {.cat = "kernel", .name = "b", .track = 7, .ts = 140, .dur = 10, .bind = 90, .external = 5},
        {.cat = "kernel", .name = "a", .track = 7, .ts = 210, .dur = 20, .bind = 91, .external = 5},
        {.cat = "kernel",
         .name = "b",
         .track = 7,
         .ts = 230,
         .dur = 20,
         .bind = 91,
         .external = 5});
    kino_result *result = analysis_result("op-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "op_costs", "op,calls,kernels,flops"), "aten::mm,2,4,131072");
    kino_result_free(result);
    result = analysis_result("roofline", "by=kernel", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,flops"), "a,81920;b,49152");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Copies and memsets have their recorded bytes; what nobody knows is unknown, with a reason, and
 * coverage says how much it is: 40 of 100 us are known. */
TEST(costs_that_are_unknown_stay_unknown)
{
    kino__trace *trace =
        FIXTURE(OP(1, "aten::mm", 0, 100, MM_ARGS), LAUNCH(1, 10, 1), KERNEL(7, "gemm", 200, 20, 1),
                OP(1, "my::op", 110, 10, NULL), LAUNCH(1, 112, 2), KERNEL(7, "mine", 230, 50, 2),
                KERNEL(7, "orphan", 300, 10, 99),
                {.cat = "gpu_memcpy",
                 .name = "Memcpy HtoD",
                 .track = 7,
                 .ts = 320,
                 .dur = 15,
                 .args = "{\"bytes\": 3000}"},
                {.cat = "gpu_memset",
                 .name = "Memset (Device)",
                 .track = 7,
                 .ts = 340,
                 .dur = 5,
                 .args = "{\"bytes\": 500}"});
    kino_result *result = analysis_result("op-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "op_costs", "op,kind,device_time,flops,bytes,gbps,known"),
              "my::op,operator,50,-,-,-,0;aten::mm,operator,20,65536,14336,716.8,100;"
              "Memcpy HtoD,copy,15,0,3000,200,100;orphan,kernel,10,-,-,-,0;"
              "Memset (Device),memset,5,0,500,100,100");
    CHECK_STR(analysis_rows(result, "unknown", "op,reason,device_time"),
              "my::op,no family knows the operator,50;orphan,no operator launched it,10");
    CHECK_STR(analysis_rows(result, "directions", "direction,device_time"), "forward,70;-,30");
    CHECK(strstr(analysis_notes(result),
                 "coverage: the cost of 40.0 % of the device time is known") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Without a device: operators on the host. */
TEST(costs_of_traces_without_a_device_use_the_time_of_operators)
{
    kino__trace *trace =
        FIXTURE(OP(1, "aten::linear", 0, 100, NULL), OP(1, "aten::mm", 10, 64, MM_ARGS),
                OP(1, "my::op", 120, 36, NULL));
    kino_result *result = analysis_result("op-costs", "peak=fp32=0.001,memory=1", &trace, 1);
    /* 65536 operations in 64 ns are 1.024 TFLOP/s */
    CHECK_STR(analysis_rows(result, "op_costs", "op,calls,device_time,flops,tflops"),
              "aten::mm,1,64,65536,1.024;my::op,1,36,-,-");
    CHECK(strstr(analysis_notes(result), "coverage: the cost of 47.1 % of the operators' time is "
                                         "known") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

/* A product at its roofs. 65536 operations at 0.1 TFLOP/s take 655.36 ns, 14336 bytes at 10 GB/s
 * 1433.6 ns: it is bound by memory, and its 4 us are 35.84 % of the roof. At 80 % of it, it would
 * take 1792 ns. */
TEST(roofline_compares_with_the_roofs)
{
    kino__trace *trace = two_streams();
    kino_result *result = analysis_result("roofline", "peak=fp32=0.1,memory=10", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline",
                            "name,roof,percent_of_peak,bound,time_at_target,saving,share"),
              "aten::mm,fp32,35.84,latency,1792,2208,100");
    CHECK_STR(analysis_rows(result, "ceilings", "ceiling,tflops,gbps,ridge,used"),
              "memory,-,10,-,1;fp32,0.1,-,10,1");
    kino_result_free(result);
    /* the kernels take 100 times as long, on a device of a hundredth: none is short */
    trace->dur[fixture_row(trace, 3)] = 300000;
    trace->dur[fixture_row(trace, 4)] = 100000;
    kino__trace_forget(trace);
    result = analysis_result("roofline", "peak=fp32=0.001,memory=0.1", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,percent_of_peak,bound"),
              "aten::mm,35.84,memory");
    kino_result_free(result);
    /* 655.36 us at the roof for work that took 400 us: the roof is too low, nothing to be saved */
    result = analysis_result("roofline", "peak=fp32=0.0001,memory=10", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,percent_of_peak,bound,saving"),
              "aten::mm,163.84,compute,0");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Launched when the stream had run dry, and short: bound by launches. The first work of a stream
 * is not counted as such. */
TEST(roofline_knows_work_that_waits_for_launches)
{
    kino__trace *trace = FIXTURE(
        OP(1, "aten::mm", 0, 100, MM_ARGS), LAUNCH(1, 10, 1), KERNEL(7, "gemm", 20, 1000, 1),
        OP(1, "aten::mm", 5000, 100, MM_ARGS), LAUNCH(1, 5010, 2), KERNEL(7, "gemm", 5020, 1000, 2),
        OP(1, "aten::mm", 9000, 100, MM_ARGS), LAUNCH(1, 9010, 3),
        KERNEL(7, "gemm", 9020, 1000, 3));
    kino_result *result = analysis_result("roofline", "peak=fp32=1,memory=100", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,calls,bound"), "aten::mm,3,launch");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* A step of 10 us with 65536 operations in FP32, of 0.1 TFLOP/s: 6.5536 %. The second step computes
 * the same again for the backward pass, which counts for the hardware only. */
TEST(roofline_gives_the_utilization_of_steps)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#3", .track = 1, .ts = 0, .dur = 10000},
        OP(1, "aten::mm", 100, 100, MM_ARGS), LAUNCH(1, 110, 1), KERNEL(7, "gemm", 300, 1000, 1),
        {.cat = "user_annotation", .name = "ProfilerStep#4", .track = 1, .ts = 10000, .dur = 20000},
        OP(1, "aten::mm", 10100, 100, MM_ARGS), LAUNCH(1, 10110, 2),
        KERNEL(7, "gemm", 10300, 1000, 2),
        OP(1, "CheckpointFunctionBackward", 12000, 1000,
           "{\"Sequence number\": 7, \"Fwd thread id\": 1}"),
        OP(1, "aten::mm", 12100, 100,
           "{\"Input Dims\": [[64, 32], [32, 16]], \"Input type\": [\"float\", \"float\"], "
           "\"Sequence number\": 9, \"Fwd thread id\": 0}"),
        LAUNCH(1, 12110, 3), KERNEL(7, "gemm", 12300, 1000, 3));
    kino_result *result = analysis_result("roofline", "peak=fp32=0.1,memory=10", &trace, 1);
    CHECK_STR(analysis_rows(result, "mfu",
                            "step,time,flops,recomputed_flops,mfu,hfu,peak_tflops,precision,"
                            "devices,coverage"),
              "3,10000,65536,0,6.5536,6.5536,0.1,fp32,1,100;"
              "4,20000,131072,65536,3.2768,6.5536,0.1,fp32,1,100");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Net_0 calls Linear_0 and Linear_1, whose forward products take 10 and 20 ns; the backward product
 * of the second takes 30. Work outside of modules takes 5. */
TEST(layers_have_forward_and_backward_columns)
{
    kino__trace *trace = FIXTURE(
        {.cat = "python_function", .name = "nn.Module: Net_0", .track = 1, .ts = 0, .dur = 1000},
        {.cat = "python_function", .name = "nn.Module: Linear_0", .track = 1, .ts = 10, .dur = 90},
        OP(1, "aten::mm", 20, 50, MM_ARGS), LAUNCH(1, 30, 1), KERNEL(7, "gemm", 2000, 10, 1),
        {.cat = "python_function", .name = "nn.Module: Linear_1", .track = 1, .ts = 110, .dur = 90},
        OP(1, "aten::mm", 120, 50,
           "{\"Input Dims\": [[8, 8], [8, 8]], \"Input type\": [\"float\", \"float\"], "
           "\"Sequence number\": 4, \"Fwd thread id\": 0}"),
        LAUNCH(1, 130, 2), KERNEL(7, "gemm", 2010, 20, 2),
        OP(2, "MmBackward0", 1200, 100, "{\"Sequence number\": 4, \"Fwd thread id\": 1}"),
        OP(2, "aten::mm", 1210, 50, SMALL_ARGS), LAUNCH(2, 1220, 3),
        KERNEL(7, "dgrad", 2030, 30, 3), KERNEL(7, "other", 2070, 5, 99));
    kino_result *result = analysis_result("layers", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "layers",
                            "id,parent,depth,name,device_time,forward_time,backward_time,"
                            "forward_flops,backward_flops,kernels,self_time"),
              "0,-,0,Net_0,60,30,30,66560,1024,3,0;1,0,1,Linear_0,10,10,0,65536,-,1,10;"
              "2,0,1,Linear_1,50,20,30,1024,1024,2,50;3,-,0,-,5,5,0,-,-,1,5");
    kino_result_free(result);
    result = analysis_result("roofline", "by=layer", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,device_time"),
              "Net_0/Linear_1,50;Net_0/Linear_0,10;other,5");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Ranks have rows of their own, or are merged; (a+b)+c = a+(b+c) is checked on the way. */
TEST(costs_of_ranks_stay_apart_or_are_merged)
{
    kino__trace *traces[3] = {two_streams(), two_streams(), two_streams()};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = i;
    kino_result *result = analysis_result("op-costs", "", traces, 3);
    CHECK_STR(analysis_rows(result, "op_costs", "rank,flops"), "0,65536;1,65536;2,65536");
    kino_result_free(result);
    result = analysis_result("op-costs", "merge_ranks=yes", traces, 3);
    CHECK_STR(analysis_rows(result, "op_costs", "rank,calls,flops"), "-,3,196608");
    kino_result_free(result);
    result = analysis_result("layers", "merge_ranks=yes", traces, 3);
    CHECK_STR(analysis_rows(result, "layers", "rank,name,device_time,kernels"), "-,-,12000,6");
    kino_result_free(result);
    result = analysis_result("roofline", "", traces, 3);
    CHECK_STR(analysis_rows(result, "roofline", "rank,share"), "0,100;1,100;2,100");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

/* A device is found by its name in the trace; products of FP32 on matrix units have TF32 as their
 * roof: 156 TFLOP/s of an A100, others 19.5. */
TEST(costs_find_the_device_by_name)
{
    kino__trace *trace = FIXTURE(
        OP(1, "aten::mm", 0, 10, MM_ARGS), LAUNCH(1, 1, 1),
        {.cat = "kernel",
         .name = "ampere_sgemm_128x64_tn",
         .track = 7,
         .ts = 20,
         .dur = 10,
         .bind = 1,
         .args = "{\"device\": 0, \"stream\": 7}"},
        OP(1, "aten::bmm", 30, 10,
           "{\"Input Dims\": [[2, 8, 8], [2, 8, 8]], \"Input type\": [\"float\", \"float\"]}"),
        LAUNCH(1, 31, 2),
        {.cat = "kernel",
         .name = "cutlass_80_tensorop_s1688gemm_128x64",
         .track = 7,
         .ts = 50,
         .dur = 10,
         .bind = 2,
         .args = "{\"device\": 0, \"stream\": 7}"});
    kino__metadata *entry = kino__vec_add(&trace->metadata);
    REQUIRE(entry != NULL);
    *entry = (kino__metadata){
        KINO__STR("deviceProperties"),
        KINO__STR("[{\"id\": 0, \"name\": \"NVIDIA A100-SXM4-80GB\", \"numSms\": 108}]")};
    for (size_t t = 0; t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kind == KINO__TRACK_DEVICE)
            trace->tracks.items[t].device = 0;
    kino_result *result = analysis_result("roofline", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "roofline", "name,roof"), "aten::mm,fp32;aten::bmm,tf32");
    CHECK(strstr(analysis_rows(result, "ceilings", "peaks,ceiling,tflops,used"),
                 "a100-sxm-80gb,tf32,156,1") != NULL);
    kino_result_free(result);
    result = analysis_result("op-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "op_costs", "op,tensor_cores"), "aten::mm,0;aten::bmm,100");
    kino_result_free(result);
    kino__trace_free(trace);
}
