/* test_kernel_costs.c - a row per kernel: place, operator, numbering, cost; PyProf's rules. */
#include "analysis/costs/kernel_rows.h"
#include "base/error.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define MARK(on, text, at, length)                                                                 \
    {                                                                                              \
        .cat = "user_annotation", .name = text, .track = on, .ts = at, .dur = length               \
    }
#define SEQ(on, name_, number, at, length)                                                         \
    {                                                                                              \
        .cat = "cpu_op", .name = name_, .track = on, .ts = at, .dur = length,                      \
        .args = "{\"Sequence number\": " #number "}"                                               \
    }
#define LAUNCH(on, at, id)                                                                         \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = on, .ts = at, .dur = 1,        \
        .bind = id                                                                                 \
    }
#define KERNEL(on, name_, at, length, id)                                                          \
    {                                                                                              \
        .cat = "kernel", .name = name_, .track = on, .ts = at, .dur = length, .bind = id,          \
        .args = "{\"grid\": [4, 2, 1], \"block\": [128, 1, 1]}"                                    \
    }
#define MM                                                                                         \
    "{'mod': 'torch', 'op': 'mm', 'args': [{'name': '', 'type': 'tensor', 'shape': (4, 8), "       \
    "'dtype': 'float32'}, {'name': '', 'type': 'tensor', 'shape': (8, 2), 'dtype': 'float32'}]}"

/* Kineto's operators: [64,32] x [32,16] has 65536 operations and 14336 bytes, shared by two kernels
 * of 30 and 10 ns. */
TEST(kernel_costs_of_operators)
{
    kino__trace *trace = FIXTURE(
        {.cat = "python_function", .name = "nn.Module: Net_0", .track = 1, .ts = 0, .dur = 500},
        {.cat = "python_function", .name = "nn.Module: Linear_0", .track = 1, .ts = 1, .dur = 400},
        {.cat = "python_function", .name = "train.py(12): step", .track = 1, .ts = 2, .dur = 300},
        {.cat = "cpu_op",
         .name = "aten::mm",
         .track = 1,
         .ts = 10,
         .dur = 50,
         .args = "{\"Sequence number\": 5, \"Input Dims\": [[64, 32], [32, 16]], "
                 "\"Input type\": [\"float\", \"float\"]}"},
        LAUNCH(1, 20, 1), LAUNCH(1, 30, 2), KERNEL(7, "ampere_sgemm_64x64", 100, 30, 1),
        KERNEL(7, "splitKreduce", 130, 10, 2),
        {.cat = "gpu_memcpy",
         .name = "Memcpy HtoD",
         .track = 7,
         .ts = 50,
         .dur = 5,
         .args = "{\"bytes\": 64}"});
    kino_result *result = analysis_result("kernel-costs", "", &trace, 1);
    CHECK_STR(
        analysis_rows(result, "kernel_costs",
                      "idx,seq,tid,layer,trace,direction,sub_seq,module,op,kernel,sil,tc,flops,"
                      "bytes"),
        "1,-,-,-,-,forward,0,-,-,Memcpy HtoD,5,-,0,64;"
        "2,5,1,Net_0:Linear_0,train.py(12): step,forward,0,Linear_0,aten::mm,"
        "ampere_sgemm_64x64,30,0,49152,10752;"
        "3,5,1,Net_0:Linear_0,train.py(12): step,forward,1,Linear_0,aten::mm,splitKreduce,10,"
        "0,16384,3584");
    CHECK_STR(analysis_rows(result, "kernel_costs", "params,grid,block"),
              "-,-,-;[64,32]fp32;[32,16]fp32,4,2,1,128,1,1;[64,32]fp32;[32,16]fp32,4,2,1,128,1,1");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* One product on tensor cores, with a reduction beside; one of FP32; one of 16 bits with an odd size.
 * A device that is not known has none. */
static kino__trace *products(const char *devices)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cpu_op",
         .name = "aten::mm",
         .track = 1,
         .ts = 10,
         .dur = 10,
         .args = "{\"Input Dims\": [[64, 32], [32, 16]], \"Input type\": [\"c10::Half\", "
                 "\"c10::Half\"]}"},
        LAUNCH(1, 11, 1), LAUNCH(1, 13, 2),
        {.cat = "cpu_op",
         .name = "aten::mm",
         .track = 1,
         .ts = 30,
         .dur = 10,
         .args = "{\"Input Dims\": [[64, 32], [32, 16]], \"Input type\": [\"float\", \"float\"]}"},
        LAUNCH(1, 31, 3),
        {.cat = "cpu_op",
         .name = "aten::mm",
         .track = 1,
         .ts = 50,
         .dur = 10,
         .args = "{\"Input Dims\": [[64, 33], [33, 16]], \"Input type\": [\"c10::Half\", "
                 "\"c10::Half\"]}"},
        LAUNCH(1, 51, 4), KERNEL(7, "ampere_h16816gemm_64x64", 100, 30, 1),
        KERNEL(7, "splitKreduce", 130, 10, 2), KERNEL(7, "ampere_sgemm_64x64", 140, 20, 3),
        KERNEL(7, "gemv_half", 160, 40, 4));
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    REQUIRE(slot != NULL);
    *slot = (kino__metadata){KINO__STR("deviceProperties"), kino__str_from(devices)};
    for (size_t t = 0; t < trace->tracks.count; t++)
        if (trace->tracks.items[t].kind == KINO__TRACK_DEVICE)
            trace->tracks.items[t].device = 0;
    return trace;
}

TEST(kernel_costs_say_why_products_miss_matrix_units)
{
    kino__trace *trace = products("[{\"id\": 0, \"computeMajor\": 8}]");
    kino_result *result = analysis_result("kernel-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_costs", "kernel,tc,tensor_gap"),
              "ampere_h16816gemm_64x64,1,-;splitKreduce,0,-;ampere_sgemm_64x64,0,dtype;"
              "gemv_half,0,alignment");
    kino_result_free(result);
    result = analysis_result("op-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "op_costs", "dtype,tensor_gap"), "fp16,alignment;fp32,dtype");
    kino_result_free(result);
    result = analysis_result("layers", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "layers", "tensor_gap"), "alignment"); /* 40 ns of 60 */
    kino_result_free(result);
    kino__trace_free(trace);
    trace = products("[]");
    result = analysis_result("kernel-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_costs", "tensor_gap"), "-;-;-;-");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* PyProf's markers: [4,8] x [8,2] has 128 operations and 4 * (8 + 32 + 16) = 224 bytes. The
 * backward kernel has no marker: it takes its place and its operator from the forward one with the
 * same number. Kernels of one call are numbered. */
static kino__trace *marked(void)
{
    return FIXTURE(MARK(1, "layer:net", 0, 1000), MARK(1, "layer:head", 1, 900),
                   MARK(1, "{'traceMarker': ['/home/me/a.py:3', '/home/me/b.py:7']}", 2, 500),
                   MARK(1, MM, 3, 400), SEQ(1, "mm", 9, 4, 300), LAUNCH(1, 10, 1), LAUNCH(1, 20, 2),
                   KERNEL(7, "volta_sgemm_32x32", 2000, 30, 1),
                   KERNEL(7, "void at::native::elementwise_kernel<4>(int)", 2030, 10, 2),
                   SEQ(2, "MmBackward", 9, 3000, 100), LAUNCH(2, 3010, 3),
                   KERNEL(7, "volta_sgemm_nt", 3200, 20, 3));
}

TEST(kernel_costs_of_pyprofs_markers)
{
    kino__trace *trace = marked();
    kino_result *result = analysis_result("kernel-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_costs",
                            "idx,seq,layer,trace,direction,sub_seq,module,op,flops,bytes"),
              "1,9,net:head,/home/me/a.py:3,/home/me/b.py:7,forward,0,torch,mm,128,224;"
              "2,9,net:head,/home/me/a.py:3,/home/me/b.py:7,forward,1,torch,mm,128,224;"
              "3,9,net:head,/home/me/a.py:3,/home/me/b.py:7,backward,0,torch,mm,128,224");
    kino_result_free(result);
    result = analysis_result(
        "kernel-costs", "compat=pyprof pyprof=csv columns=idx,dir,sub,op,kernel,sil", &trace, 1);
    CHECK_STR(analysis_rows(result, "lines", NULL),
              "\"Idx\",\"Direction\",\"Sub\",\"Op\",\"Kernel\",\"Sil(ns)\";"
              "\"1\",\"fprop\",\"0\",\"mm\",\"volta_sgemm_32x32\",\"30\";"
              "\"2\",\"fprop\",\"1\",\"mm\",\"elementwise_kernel\",\"10\";"
              "\"3\",\"bprop\",\"0\",\"mm\",\"volta_sgemm_nt\",\"20\"");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Other analyses have the same figures: two forward kernels of 128 operations and 224 bytes, one
 * backward kernel. */
TEST(op_costs_of_pyprofs_markers_are_those_of_kernel_costs)
{
    kino__trace *trace = marked();
    kino_result *result = analysis_result("op-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "directions", "direction,kernels,flops,bytes,known"),
              "forward,2,256,448,100;backward,1,128,224,100");
    CHECK_STR(analysis_rows(result, "op_costs", "op,kernels,flops"), "mm,2,256;MmBackward,1,128");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* PyProf forgets ranges that ended before the last launch it saw: a kernel that runs late is left
 * without an operator. By default it is not. */
TEST(kernel_costs_of_late_kernels)
{
    kino__trace *trace = FIXTURE(MARK(1, MM, 0, 100), SEQ(1, "mm", 1, 1, 90), LAUNCH(1, 10, 1),
                                 MARK(1, MM, 200, 100), SEQ(1, "mm", 2, 201, 90), LAUNCH(1, 210, 2),
                                 KERNEL(7, "second", 400, 10, 2), KERNEL(8, "first", 500, 10, 1));
    kino_result *result = analysis_result("kernel-costs", "compat=pyprof", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_costs", "kernel,op,seq,flops,tc"),
              "second,mm,2,128,0;first,-,-,0,na");
    kino_result_free(result);
    result = analysis_result("kernel-costs", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "kernel_costs", "kernel,op,seq,sub_seq,flops"),
              "second,mm,2,0,128;first,mm,1,0,128");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* Columns of fixed width: cut, numbers to the right; kernel and parameters share the rest. */
TEST(kernel_costs_as_pyprofs_table)
{
    kino__trace *trace = marked();
    kino_result *result = analysis_result(
        "kernel-costs", "compat=pyprof pyprof=table width=41 columns=idx,dir,kernel,params,trace",
        &trace, 1);
    /* 7 + 5 + 25 = 37: 2 characters for each of the two others */
    const char *rows = analysis_rows(result, "lines", NULL);
    CHECK(strncmp(rows,
                  "Idx     Direc Ke Pa Trace                     ;"
                  "      1 fprop vo M= b.py:7                    ;",
                  94) == 0);
    kino_result_free(result);
    kino__trace_free(trace);

    kino__pyprof_form form;
    kino_error err;
    CHECK_EQ(kino__pyprof_form_parse(KINO__STR("idx,nonsense"), 0, false, &form, &err),
             KINO_ARGUMENT);
    CHECK_EQ(kino__pyprof_form_parse(KINO__STR("idx,sil"), 16, false, &form, &err), KINO_ARGUMENT);
    CHECK_EQ(kino__pyprof_form_parse(KINO__STR("idx,sil"), 17, false, &form, &err), KINO_OK);
}

TEST(kernel_costs_write_texts_as_python_does)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"plain", "'plain'"},
                 {"it's", "\"it's\""},
                 {"\"both\" 'kinds'", "'\"both\" \\'kinds\\''"},
                 {"back\\slash\n", "'back\\\\slash\\n'"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__buffer out = {0};
        kino__pyprof_repr(kino__str_from(cases[i].text), &out);
        kino__buffer_add(&out, (kino_str){"", 1});
        CHECK_STR(out.data, cases[i].want);
        kino__buffer_deinit(&out);
    }
}

TEST(kernel_costs_of_ranks_follow_each_other)
{
    kino__trace *traces[3] = {marked(), marked(), marked()};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = i;
    kino_result *result = analysis_result("kernel-costs", "", traces, 3);
    CHECK_STR(analysis_rows(result, "kernel_costs", "rank,idx,flops"),
              "0,1,128;0,2,128;0,3,128;1,4,128;1,5,128;1,6,128;2,7,128;2,8,128;2,9,128");
    kino_result_free(result);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}
