/* test_names.c - what is communication: one answer for each name, and every page gives it. */
#include "model/profile/profile.h"
#include "names/communication.h"
#include "query/query.h"
#include "timeline/timeline_internal.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

typedef struct name_case {
    const char *name;
    kino__comm_library library;
    kino__comm_kind kind;
    const char *operation;
} name_case;

#define KERNEL_OF(library, name, operation)                                                        \
    {                                                                                              \
        name, KINO__COMM_##library, KINO__COMM_CARRIES, operation                                  \
    }
#define COMPUTES(name)                                                                             \
    {                                                                                              \
        name, KINO__COMM_UNKNOWN, KINO__COMM_NONE, NULL                                            \
    }

static const name_case kernels[] = {
    KERNEL_OF(NCCL, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "all-reduce"),
    KERNEL_OF(NCCL, "ncclKernel_AllGather_RING_LL_Sum_int8_t", "all-gather"),
    KERNEL_OF(NCCL, "void ncclKernel_SendRecv<int>", "send-recv"),
    KERNEL_OF(NCCL, "ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16", "all-reduce"),
    KERNEL_OF(RCCL, "rcclGenericKernel", NULL),
    KERNEL_OF(RCCL, "void rcclKernel_ReduceScatter", "reduce-scatter"),
    KERNEL_OF(HCCL, "hcclAllReduce_float32", "all-reduce"),
    KERNEL_OF(HCCL, "hccl::reduce_scatter", "reduce-scatter"),
    KERNEL_OF(HCCL, "HcclAllGather", "all-gather"),
    KERNEL_OF(HCCL, "hcom_allReduce__123_1", "all-reduce"),
    KERNEL_OF(ONECCL, "oneccl_allreduce_pcie_float", "all-reduce"),
    KERNEL_OF(ONECCL, "void oneccl::ring<float>", NULL),
    KERNEL_OF(ONECCL, "xccl_broadcast", "broadcast"),
    KERNEL_OF(MCCL, "mcclKernel_AllReduce", "all-reduce"),
    KERNEL_OF(CNCL, "cnclDevKernel_AllReduce", "all-reduce"),
    KERNEL_OF(MSCCL, "void mscclpp::allreduce<half>", "all-reduce"),
    KERNEL_OF(NVSHMEM, "nvshmemi_transfer_quiet", NULL),
    KERNEL_OF(DEVICE, "void vllm::cross_device_reduce_1stage<c10::Half, 8>", "reduce"),
    KERNEL_OF(DEVICE, "void one_shot_all_reduce_kernel<float>", "all-reduce"),
    COMPUTES("ampere_sgemm_128x64_tn"),
    COMPUTES("void at::native::reduce_kernel<512, 1>"),
    COMPUTES("void at::native::vectorized_gather_kernel<16, long>"),
    COMPUTES("hipLaunch_gemm"),
    COMPUTES("Cijk_Ailk_Bljk_HHS_BH"),
};

static const name_case spans[] = {
    {"nccl:all_reduce", KINO__COMM_NCCL, KINO__COMM_CARRIES, "all-reduce"},
    {"nccl:_all_gather_base", KINO__COMM_NCCL, KINO__COMM_CARRIES, "all-gather"},
    {"gloo:all_reduce", KINO__COMM_GLOO, KINO__COMM_CARRIES, "all-reduce"},
    {"gloo:send", KINO__COMM_GLOO, KINO__COMM_CARRIES, "send"},
    {"mpi:broadcast", KINO__COMM_MPI, KINO__COMM_CARRIES, "broadcast"},
    {"ucc:alltoall", KINO__COMM_UCC, KINO__COMM_CARRIES, "all-to-all"},
    {"hccl:all_reduce", KINO__COMM_HCCL, KINO__COMM_CARRIES, "all-reduce"},
    {"xccl:all_reduce", KINO__COMM_ONECCL, KINO__COMM_CARRIES, "all-reduce"},
    {"c10d::allreduce_", KINO__COMM_C10D, KINO__COMM_DISPATCHES, "all-reduce"},
    {"_c10d_functional::all_gather_into_tensor", KINO__COMM_C10D, KINO__COMM_DISPATCHES,
     "all-gather"},
    {"_c10d_functional::wait_tensor", KINO__COMM_C10D, KINO__COMM_WAITS, NULL},
    {"record_param_comms", KINO__COMM_C10D, KINO__COMM_DISPATCHES, NULL},
    COMPUTES("aten::mm"),
    COMPUTES("aten::gather"),
    COMPUTES("aten::scatter_add_"),
    COMPUTES("DistributedDataParallel.forward"),
    COMPUTES("my_all_reduce_helper"),
};

static void check_name(const name_case *c, kino__comm found)
{
    bool ok = CHECK_EQ(found.kind, c->kind);
    ok &= CHECK_EQ(found.library, c->library);
    const kino__comm_operation *operation = kino__comm_operation_of(kino__str_from(c->name));
    if (c->kind != KINO__COMM_NONE)
        ok &= CHECK_STR(operation ? operation->name : "none", c->operation ? c->operation : "none");
    if (!ok)
        printf("    of %s\n", c->name);
}

TEST(names_of_communication_have_library_and_operation)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        check_name(&kernels[i], kino__comm_of_kernel(kino__str_from(kernels[i].name)));
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        check_name(&spans[i], kino__comm_of_span(kino__str_from(spans[i].name)));
    CHECK(kino__comm_library_is_host(KINO__COMM_GLOO));
    CHECK(!kino__comm_library_is_host(KINO__COMM_NCCL));
    CHECK_STR(kino__comm_library_name(KINO__COMM_ONECCL), "oneCCL");
    CHECK(kino__comm_is_point_to_point(KINO__STR("nccl:send 0->1")));
    CHECK(!kino__comm_is_point_to_point(KINO__STR("nccl:all_reduce")));
}

static size_t count_collective_rows(kino__trace *trace)
{
    kino__run run;
    kino_rows *rows;
    const kino_cell *cells = NULL;
    size_t count = 0;
    kino__run_init(&run);
    REQUIRE(kino__run_add_take(&run, trace, NULL) == KINO_OK);
    REQUIRE(kino__query_open(&run, "SELECT name FROM collective", NULL, &rows, NULL) == KINO_OK);
    while (kino_rows_next(rows, &cells, NULL) == KINO_OK && cells)
        count++;
    kino_rows_free(rows);
    kino__run_deinit(&run);
    return count;
}

static bool is_shown_as_communication(const char *category, kino_str name)
{
    uint16_t id = kino__category_find(kino__str_from(category));
    return strcmp(kino__tl_category_name(kino__tl_category(id, name)), "communication") == 0;
}

static bool says(kino__trace *trace, const char *analysis, const char *params, const char *table,
                 const char *columns, const char *rows)
{
    kino_result *result = analysis_result(analysis, params, &trace, 1);
    bool ok = CHECK_STR(analysis_rows(result, table, columns), rows);
    kino_result_free(result);
    return ok;
}

#define ALL_STEPS "include_last_step=yes"

/* A step with one kernel of that name: every page takes it for the same. */
TEST(names_of_kernels_mean_the_same_on_every_page)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        kino_str name = kino__str_from(kernels[i].name);
        bool is = kernels[i].kind != KINO__COMM_NONE;
        kino__trace *trace = FIXTURE(
            {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 100},
            {.cat = "cuda_runtime",
             .name = "cudaLaunchKernel",
             .track = 1,
             .ts = 5,
             .dur = 5,
             .bind = 3},
            {.cat = "kernel",
             .name = kernels[i].name,
             .track = 9,
             .ts = 20,
             .dur = 40,
             .bind = 3,
             .args = "{\"stream\": 9, \"correlation\": 3}"});
        const kino__profile *p = kino__profile_of(trace, false, NULL);
        REQUIRE(p && p->steps.count == 1);
        bool ok = CHECK_EQ(p->steps.items[0].communication, is ? 40 : 0);
        ok &= CHECK_EQ(p->steps.items[0].cost[KINO__ROLE_KERNEL], is ? 0 : 40);
        ok &= CHECK_EQ(is_shown_as_communication("kernel", name), is);
        ok &= says(trace, "kernel-types", ALL_STEPS, "kernel_types", "kernel_type",
                   is ? "COMMUNICATION" : "COMPUTATION");
        ok &= says(trace, "comm-overlap", ALL_STEPS, "comm_comp_overlap", "communication",
                   is ? "40" : "");
        ok &= says(trace, "temporal-breakdown", ALL_STEPS, "temporal_breakdown", "compute_time",
                   is ? "0" : "40");
        ok &= says(trace, "collectives", "", "collectives", "kernels", is ? "1" : "");
        ok &= says(trace, "distributed", "", "communication_ops", "total_latency", is ? "40" : "");
        ok &= CHECK_EQ(count_collective_rows(trace), is ? 1 : 0);
        if (!ok)
            printf("    of %s\n", kernels[i].name);
    }
}

/* The same of a span of the host, in a trace without kernels. */
TEST(names_of_spans_mean_the_same_on_every_page)
{
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        const name_case *c = &spans[i];
        kino_str name = kino__str_from(c->name);
        bool is = c->kind != KINO__COMM_NONE;
        bool is_operator = !kino__str_starts_with(name, KINO__STR("Distributed"));
        kino__trace *trace = FIXTURE(
            {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 100},
            {.cat = "cpu_op", .name = c->name, .track = 1, .ts = 20, .dur = 40});
        const kino__profile *p = kino__profile_of(trace, false, NULL);
        REQUIRE(p && p->steps.count == 1);
        bool ok = CHECK_EQ(p->steps.items[0].communication, is ? 40 : 0);
        ok &= CHECK_EQ(p->steps.items[0].computation, is || !is_operator ? 0 : 40);
        ok &= CHECK_EQ(is_shown_as_communication("cpu_op", name), is);
        ok &= says(trace, "comm-overlap", ALL_STEPS, "comm_comp_overlap", "communication",
                   is ? "40" : "");
        bool is_call = is && c->kind != KINO__COMM_WAITS;
        ok &= says(trace, "collectives", "", "collectives", "kernels", is_call ? "1" : "");
        ok &= says(trace, "distributed", "", "communication_ops", "total_latency",
                   is_call ? "40" : "");
        kino__trace_free(trace);
        if (!ok)
            printf("    of %s\n", c->name);
    }
}

/*      0    10   20   30   40   50   60   70   80   90   100
 * main [step ---------------------------------------------]
 *      [forward (annotation) -----------------]
 *      [op ----]    [op ----]   [c10d: gloo in it -]
 * pool                 [gloo --------]
 * Operators compute 0-20, 25-45 and, around the gloo span of their own thread, 55-60; annotations
 * nothing. */
TEST(names_annotations_are_not_computation_and_gloo_is_communication)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .dur = 100},
        {.cat = "user_annotation", .name = "forward", .track = 1, .dur = 75},
        {.cat = "cpu_op", .name = "DistributedDataParallel.forward", .track = 1, .dur = 74},
        {.cat = "cpu_op", .name = "aten::mm", .track = 1, .dur = 20},
        {.cat = "cpu_op", .name = "aten::mm", .track = 1, .ts = 25, .dur = 20},
        {.cat = "cpu_op", .name = "c10d::allreduce_", .track = 1, .ts = 55, .dur = 25},
        {.cat = "user_annotation", .name = "gloo:all_reduce", .track = 1, .ts = 60, .dur = 20},
        {.cat = "user_annotation", .name = "gloo:all_reduce", .track = 2, .ts = 30, .dur = 20});
    const kino__profile *p = kino__profile_of(trace, false, NULL);
    REQUIRE(p && p->steps.count == 1);
    const kino__profile_step *s = &p->steps.items[0];
    CHECK_EQ(s->computation, 20 + 20 + 5);
    CHECK_EQ(s->communication, 20 + 20);
    CHECK_EQ(s->overlap, 15);
    CHECK_EQ(s->cost[KINO__ROLE_CPU], 45);
    CHECK_EQ(s->cost[KINO__ROLE_COMMUNICATION], 25);
    CHECK_EQ(s->cost[KINO__ROLE_OTHER], 30);
    says(trace, "collectives", "", "collectives", "operation,kernels,duration", "all-reduce,2,40");
    says(trace, "comm-overlap", "", "comm_comp_overlap", "overlap,communication", "15,40");
    kino__trace_free(trace);
}
