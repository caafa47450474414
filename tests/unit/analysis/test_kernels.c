/* test_kernels.c - the analysis of kernels on traces made by hand. */
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)                                                                                    \
    {                                                                                              \
        .cat = "cpu_op", .track = 1, __VA_ARGS__                                                   \
    }
#define CALL(...)                                                                                  \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, __VA_ARGS__                 \
    }
#define KERNEL(...)                                                                                \
    {                                                                                              \
        .cat = "kernel", .track = 7, __VA_ARGS__                                                   \
    }
#define VALUES(blocks, occupancy)                                                                  \
    "{\"blocks per SM\": " blocks ", \"est. achieved occupancy %\": " occupancy "}"

/* What the table of one trace says; the trace is freed. */
static void expect_at(int line, kino__trace *trace, const char *params, const char *columns,
                      const char *want)
{
    kino_result *result = analysis_result("kernels", params, &trace, 1);
    const char *got = analysis_rows(result, "kernels", columns);
    if (strcmp(got, want) != 0)
        (void)fprintf(stderr, "line %d:\n", line);
    CHECK_STR(got, want);
    kino_result_free(result);
    kino__trace_free(trace);
}
#define EXPECT(trace, params, columns, want) expect_at(__LINE__, trace, params, columns, want)

TEST(kernels_by_name_have_count_time_and_means_weighted_by_duration)
{
    /* blocks per SM: (2 * 10 + 4 * 30) / 40; occupancy: (50 * 10 + 10 * 30) / 40 */
    static const char *const params[] = {"", "compat=tensorboard"};
    for (size_t i = 0; i < 2; i++)
        EXPECT(
            FIXTURE(KERNEL(.name = "gemm_s884", .ts = 0, .dur = 10, .args = VALUES("2", "50")),
                    KERNEL(.name = "relu", .ts = 20, .dur = 50, .args = VALUES("0.5", "0")),
                    KERNEL(.name = "gemm_s884", .ts = 80, .dur = 30, .args = VALUES("4.0", "10")),
                    {.cat = "gpu_memcpy", .name = "Memcpy", .track = 7, .ts = 120, .dur = 99}),
            params[i], NULL,
            "-,relu,-,1,50,50,50,50,0.5,0,0,-,-,-,-,-;"
            "-,gemm_s884,-,2,40,20,30,10,3.5,20,1,-,-,-,-,-");
}

TEST(kernels_without_a_value_are_left_out_of_its_mean_but_count_as_zero_for_the_plugin)
{
    kino__trace *trace =
        FIXTURE(KERNEL(.name = "a", .ts = 0, .dur = 30, .args = VALUES("2", "60")),
                KERNEL(.name = "a", .ts = 40, .dur = 10),
                KERNEL(.name = "b", .ts = 60, .dur = 8, .args = VALUES("-1", "-1")),
                KERNEL(.name = "c", .ts = 80, .dur = 0, .args = VALUES("3", "70")));
    kino_result *result = analysis_result("kernels", "", &trace, 1);
    CHECK_STR(
        analysis_rows(result, "kernels", "name,mean_blocks_per_sm,mean_est_achieved_occupancy"),
        "a,2,60;b,-,-;c,0,0");
    CHECK_STR(analysis_notes(result), "");
    kino_result_free(result);
    EXPECT(trace, "compat=tensorboard", "name,mean_blocks_per_sm,mean_est_achieved_occupancy",
           "a,1.5,45;b,-1,-1;c,0,0");
}

TEST(kernels_say_when_blocks_and_occupancy_were_not_recorded)
{
    /* the plugin shows blocks per SM when one is above 0, occupancy when one is 0 or above */
    static const char *const params[] = {"", "compat=tensorboard"};
    for (size_t i = 0; i < 2; i++) {
        kino__trace *trace =
            FIXTURE(KERNEL(.name = "a", .ts = 0, .dur = 30, .args = VALUES("0", "-1")));
        kino_result *result = analysis_result("kernels", params[i], &trace, 1);
        CHECK_STR(
            analysis_rows(result, "kernels", "name,mean_blocks_per_sm,mean_est_achieved_occupancy"),
            "a,-,-");
        CHECK_STR(analysis_notes(result),
                  "blocks per SM not available: the profiler did not record it | occupancy not "
                  "available: the profiler did not record it");
        kino_result_free(result);
        kino__trace_free(trace);
    }
}

TEST(kernels_of_equal_time_go_by_their_first_start_then_by_name)
{
    EXPECT(FIXTURE(KERNEL(.name = "late", .ts = 50, .dur = 10),
                   KERNEL(.name = "z", .ts = 5, .dur = 10), KERNEL(.name = "b", .ts = 20, .dur = 4),
                   KERNEL(.name = "b", .ts = 1, .dur = 6),
                   {.cat = "kernel", .name = "a", .track = 8, .ts = 5, .dur = 10}),
           "", "name,calls,total_duration", "b,2,10;a,1,10;z,1,10;late,1,10");
}

#define LAUNCH(grid, block, registers, shared)                                                     \
    "{\"grid\": " grid ", \"block\": " block ", \"registers per thread\": " registers              \
    ", \"shared memory\": " shared "}"

/* Two operators launch the same kernel, one of them with two grids. */
static kino__trace *with_operators(void)
{
    return FIXTURE(OP(.name = "aten::mm", .ts = 0, .dur = 20, .external = 1),
                   CALL(.ts = 1, .dur = 1, .bind = 11, .external = 1),
                   CALL(.ts = 3, .dur = 1, .bind = 12, .external = 1),
                   CALL(.ts = 5, .dur = 1, .bind = 13, .external = 1),
                   OP(.name = "aten::add", .ts = 20, .dur = 20, .external = 2),
                   CALL(.ts = 21, .dur = 1, .bind = 14, .external = 2),
                   KERNEL(.name = "k", .ts = 100, .dur = 9, .bind = 11,
                          .args = LAUNCH("[1,2,3]", "[64,1,1]", "32", "0")),
                   KERNEL(.name = "k", .ts = 110, .dur = 9, .bind = 12,
                          .args = LAUNCH("[1, 2, 3]", "[64, 1, 1]", "32", "0")),
                   KERNEL(.name = "k", .ts = 120, .dur = 9, .bind = 13,
                          .args = LAUNCH("[4,1,1]", "[64,1,1]", "32", "0")),
                   KERNEL(.name = "k", .ts = 130, .dur = 5, .bind = 14));
}

static const char by_op[] = "name,operator,grid,block,register_per_thread,shared_memory,"
                            "op_is_tensor_cores_eligible,calls,total_duration";

TEST(kernels_by_operator_are_told_apart_by_operator_grid_block_registers_and_shared_memory)
{
    EXPECT(with_operators(), "group=name-op", by_op,
           "k,aten::mm,[1, 2, 3],[64, 1, 1],32,0,1,2,18;k,aten::mm,[4, 1, 1],[64, 1, 1],32,0,1,1,9;"
           "k,aten::add,-,-,-,-,0,1,5");
    EXPECT(with_operators(), "group=name-op compat=tensorboard", by_op,
           "k,aten::mm,[1, 2, 3],[64, 1, 1],32,0,1,2,18;k,aten::mm,[4, 1, 1],[64, 1, 1],32,0,1,1,9;"
           "k,aten::add,-,-,0,0,0,1,5");
}

TEST(kernels_differ_by_each_property_alone)
{
    EXPECT(
        FIXTURE(
            KERNEL(.name = "k", .ts = 0, .dur = 9, .args = LAUNCH("[1,1,1]", "[2,1,1]", "3", "4")),
            KERNEL(.name = "k", .ts = 10, .dur = 8, .args = LAUNCH("[1,1,2]", "[2,1,1]", "3", "4")),
            KERNEL(.name = "k", .ts = 20, .dur = 7, .args = LAUNCH("[1,1,1]", "[2,1,2]", "3", "4")),
            KERNEL(.name = "k", .ts = 30, .dur = 6, .args = LAUNCH("[1,1,1]", "[2,1,1]", "4", "4")),
            KERNEL(.name = "k", .ts = 40, .dur = 5, .args = LAUNCH("[1,1,1]", "[2,1,1]", "3", "3")),
            KERNEL(.name = "k", .ts = 50, .dur = 2,
                   .args = LAUNCH("[1,1,1]", "[2,1,1]", "3", "4"))),
        "group=name-op", "grid,block,register_per_thread,shared_memory,calls,total_duration",
        "[1, 1, 1],[2, 1, 1],3,4,2,11;[1, 1, 2],[2, 1, 1],3,4,1,8;[1, 1, 1],[2, 1, 2],3,4,1,7;"
        "[1, 1, 1],[2, 1, 1],4,4,1,6;[1, 1, 1],[2, 1, 1],3,3,1,5");
}

/* Steps on two threads; a kernel that nothing launched, and one whose operator crosses its parent's
 * end and so has no place in the plugin's tree. */
static kino__trace *with_lost_kernels(void)
{
    return FIXTURE(OP(.name = "ProfilerStep#1", .ts = 0, .dur = 50),
                   {.cat = "cpu_op", .name = "ProfilerStep#1", .track = 2, .ts = 0, .dur = 50},
                   OP(.name = "crosses", .ts = 40, .dur = 20, .external = 1),
                   CALL(.ts = 41, .dur = 1, .bind = 11, .external = 1),
                   KERNEL(.name = "lost", .ts = 100, .dur = 4, .bind = 11),
                   KERNEL(.name = "stale", .ts = 110, .dur = 9));
}

TEST(kernels_by_operator_are_there_exactly_once_but_not_for_the_plugin)
{
    EXPECT(with_lost_kernels(), "group=name-op", "name,operator,op_is_tensor_cores_eligible,calls",
           "stale,-,-,1;lost,crosses,0,1");
    EXPECT(with_lost_kernels(), "group=name-op compat=tensorboard",
           "name,operator,op_is_tensor_cores_eligible,calls,total_duration",
           "stale,CallTreeRoot,0,2,18");
    EXPECT(with_lost_kernels(), "compat=tensorboard", "name,calls", "stale,1;lost,1");
}

TEST(kernels_of_each_rank_stand_in_rows_of_their_own)
{
    kino__trace *traces[] = {with_operators(), with_lost_kernels(), FIXTURE(OP(.name = "x"))};
    traces[0]->rank = 2;
    traces[1]->rank = 5;
    traces[2]->rank = 6;
    kino_result *result = analysis_result("kernels", "", traces, 3);
    CHECK_STR(analysis_rows(result, "kernels", "rank,name,calls,total_duration"),
              "2,k,4,32;5,stale,1,9;5,lost,1,4");
    CHECK_STR(analysis_notes(result),
              "kernels not available in 1 of 3 traces: they have none | blocks per SM not "
              "available: the profiler did not record it | occupancy not available: the profiler "
              "did not record it");
    kino_result_free(result);
    for (size_t i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(kernels_of_a_trace_without_any_are_not_available)
{
    kino__trace *traces[] = {FIXTURE(OP(.name = "x", .ts = 0, .dur = 5)),
                             FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME})};
    static const char *const params[] = {"group=name-op", "group=name-op compat=tensorboard"};
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < 2; i++) {
            kino_result *result = analysis_result("kernels", params[i], &traces[t], 1);
            CHECK_STR(analysis_rows(result, "kernels", NULL), "");
            CHECK_STR(analysis_notes(result), "kernels not available: the trace has none");
            kino_result_free(result);
        }
        kino__trace_free(traces[t]);
    }
}
