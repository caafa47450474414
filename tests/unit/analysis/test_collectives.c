/* test_collectives.c - sizes, waiting and bandwidth of collectives on traces made by hand. */
#include <string.h>

#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define GROUP "\"Process Group Name\": \"0\", \"Process Group Ranks\": \"[0, 1, 2]\""
#define ALL_REDUCE                                                                                 \
    "{\"Collective name\": \"allreduce\", \"In msg nelems\": 300, \"Out msg nelems\": 300, "       \
    "\"Group size\": 3, \"dtype\": \"Float\", " GROUP "}"

static kino__trace *of_rank(kino__trace *trace, int64_t rank)
{
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

static kino__trace *one_kernel(int64_t rank, const char *name, int64_t ts, int64_t dur,
                               const char *args)
{
    return of_rank(FIXTURE({.cat = "kernel",
                            .name = name,
                            .track = 7,
                            .ts = ts,
                            .dur = dur,
                            .bind = 1,
                            .args = args}),
                   rank);
}

static void check_table(kino__trace **traces, size_t count, const char *params, const char *table,
                        const char *columns, const char *want)
{
    kino_result *result = analysis_result("collectives", params, traces, count);
    CHECK_STR(analysis_rows(result, table, columns), want);
    kino_result_free(result);
}

static void free_traces(kino__trace **traces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kino__trace_free(traces[i]);
}

/* The clocks of the ranks are far apart, which does not matter. */
TEST(the_shortest_kernel_of_a_call_is_the_transfer_and_the_rest_is_waiting)
{
    const char *name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    kino__trace *traces[] = {one_kernel(0, name, 0, 600, ALL_REDUCE),
                             one_kernel(1, name, 90000, 300, ALL_REDUCE),
                             one_kernel(2, name, 100, 500, ALL_REDUCE)};
    check_table(traces, 3, "", "collectives",
                "operation,process_group,group_ranks,group_size,calls,kernels,matched",
                "all-reduce,0,[0, 1, 2],3,1,3,3");
    /* 300 floats; 1200 bytes in 300 ns; times 2 * 2 / 3 */
    check_table(traces, 3, "", "collectives",
                "min_size,mean_size,max_size,algorithm_bandwidth,bus_bandwidth",
                "1200,1200,1200,4,5.33333");
    check_table(traces, 3, "", "collectives",
                "duration,wait,transfer,wait_pctg,imbalance,last_rank,last_count",
                "1400,500,900,35.7143,300,1,1");
    check_table(traces, 3, "", "ranks", "rank,operation,kernels,duration,wait,transfer,last_count",
                "0,all-reduce,1,600,300,300,0;1,all-reduce,1,300,0,300,1;"
                "2,all-reduce,1,500,200,300,0");
    check_table(traces, 3, "", "sizes", "size,kernels,duration,wait,algorithm_bandwidth",
                "1200,3,1400,500,4");
    free_traces(traces, 3);
}

TEST(sizes_are_of_the_larger_side_and_factors_by_operation)
{
    static const struct {
        const char *name;
        const char *want; /* operation, size, algorithm and bus bandwidth: 100 ns */
    } cases[] = {
        {"allreduce", "all-reduce,800,8,12"},      /* 2 * 3 / 4 */
        {"_allgather_base", "all-gather,800,8,6"}, /* 3 / 4 */
        {"reduce_scatter", "reduce-scatter,800,8,6"},
        {"_reduce_scatter_base", "reduce-scatter,800,8,6"},
        {"all_to_all", "all-to-all,800,8,6"},
        {"broadcast", "broadcast,800,8,8"},
        {"reduce", "reduce,800,8,8"},
        {"send", "send,800,8,8"},
        {"something new", "something new,800,8,8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char args[300];
        (void)snprintf(args, sizeof args,
                       "{\"Collective name\": \"%s\", \"In msg nelems\": %d, \"Out msg nelems\": "
                       "%d, \"Group size\": 4, \"dtype\": \"BFloat16\"}",
                       cases[i].name, strstr(cases[i].name, "gather") ? 100 : 400,
                       strstr(cases[i].name, "scatter") ? 100 : 400);
        kino__trace *trace = one_kernel(0, "ncclDevKernel_SendRecv(x)", 0, 100, args);
        check_table(&trace, 1, "", "collectives",
                    "operation,max_size,algorithm_bandwidth,bus_bandwidth", cases[i].want);
        kino__trace_free(trace);
    }
}

/* Rank 0 has the calls 1 and 2, rank 1 the call 2 alone. */
TEST(calls_are_matched_by_their_sequence_number)
{
    static const char one[] = "{\"Collective name\": \"allreduce\", \"Seq\": 1, " GROUP "}";
    static const char two[] = "{\"Collective name\": \"allreduce\", \"Seq\": 2, " GROUP "}";
    kino__trace *traces[] = {of_rank(FIXTURE({.cat = "kernel",
                                              .name = "ncclDevKernel_A",
                                              .track = 7,
                                              .ts = 0,
                                              .dur = 10,
                                              .args = one},
                                             {.cat = "kernel",
                                              .name = "ncclDevKernel_A",
                                              .track = 7,
                                              .ts = 20,
                                              .dur = 50,
                                              .args = two}),
                                     0),
                             one_kernel(1, "ncclDevKernel_A", 30, 40, two)};
    check_table(traces, 2, "", "collectives", "calls,kernels,matched,duration,wait,transfer",
                "2,3,2,100,10,80");
    /* nobody tells a type: no size, no bandwidth */
    check_table(traces, 2, "", "collectives", "max_size,mean_size,algorithm_bandwidth", "-,-,-");
    check_table(traces, 2, "", "sizes", NULL, "");
    free_traces(traces, 2);
}

static kino__trace *by_name(int64_t rank, int64_t first, int64_t second)
{
    return of_rank(
        FIXTURE(
            {.cat = "user_annotation", .name = "ProfilerStep#4", .track = 1, .ts = 0, .dur = 1000},
            {.cat = "cuda_runtime",
             .name = "cudaLaunchKernel",
             .track = 1,
             .ts = 10,
             .dur = 5,
             .bind = 1},
            {.cat = "cuda_runtime",
             .name = "cudaLaunchKernel",
             .track = 1,
             .ts = 20,
             .dur = 5,
             .bind = 2},
            {.cat = "kernel",
             .name = "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)",
             .track = 7,
             .ts = 100,
             .dur = first,
             .bind = 1},
            {.cat = "kernel",
             .name = "ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)",
             .track = 7,
             .ts = 500,
             .dur = second,
             .bind = 2}),
        rank);
}

TEST(without_metadata_names_and_the_order_within_a_step_count)
{
    kino__trace *traces[] = {by_name(0, 100, 30), by_name(1, 60, 90)};
    check_table(traces, 2, "", "collectives",
                "operation,process_group,group_size,calls,matched,duration,wait,transfer,max_size,"
                "bus_bandwidth,imbalance",
                /* 40 and 60 of waiting */
                "reduce-scatter,-,-,2,4,280,100,180,-,-,50");
    check_table(traces, 2, "steps=4", "collectives", "calls", "2");
    check_table(traces, 2, "steps=5", "collectives", "calls", "");
    kino_result *result = analysis_result("collectives", "", traces, 2);
    CHECK(strstr(analysis_notes(result), "no collective metadata") != NULL);
    kino_result_free(result);
    free_traces(traces, 2);
}

TEST(metadata_may_stand_on_the_operator)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op",
                                  .name = "record_param_comms",
                                  .track = 1,
                                  .ts = 0,
                                  .dur = 50,
                                  .external = 9,
                                  .args = ALL_REDUCE},
                                 {.cat = "cuda_runtime",
                                  .name = "hipLaunchKernel",
                                  .track = 1,
                                  .ts = 10,
                                  .dur = 5,
                                  .bind = 1,
                                  .external = 9},
                                 {.cat = "kernel",
                                  .name = "rcclGenericKernel",
                                  .track = 0,
                                  .ts = 100,
                                  .dur = 1200,
                                  .bind = 1,
                                  .external = 9});
    check_table(&trace, 1, "", "collectives",
                "operation,process_group,max_size,wait,algorithm_bandwidth",
                "all-reduce,0,1200,-,1");
    kino_result *result = analysis_result("collectives", "", &trace, 1);
    CHECK(strstr(analysis_notes(result), "wait and transfer not available") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(sends_and_receives_have_no_partner_of_the_same_name)
{
    kino__trace *traces[] = {one_kernel(0, "ncclDevKernel_SendRecv(x)", 0, 100, NULL),
                             one_kernel(1, "ncclDevKernel_SendRecv(x)", 0, 300, NULL)};
    check_table(traces, 2, "", "collectives", "operation,calls,kernels,matched,duration,wait",
                "send-recv,2,2,0,400,-");
    free_traces(traces, 2);
}

TEST(collectives_need_communication_kernels)
{
    kino__trace *traces[] = {one_kernel(0, "gemm", 0, 100, NULL), fixture_new(NULL, 0)};
    for (size_t i = 0; i < 2; i++) {
        kino_result *result = analysis_result("collectives", "", &traces[i], 1);
        CHECK_STR(analysis_rows(result, "collectives", NULL), "");
        CHECK_STR(analysis_notes(result),
                  "collectives not available: no communication in the trace");
        kino_result_free(result);
    }
    free_traces(traces, 2);
}
