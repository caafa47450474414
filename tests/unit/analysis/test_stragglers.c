/* test_stragglers.c - late ranks on traces made by hand. */
#include <string.h>

#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* One rank, one step of 1000 (host), and one collective in it:
 *
 *   host      ProfilerStep#1 0......................1000
 *                launch 100..110
 *   stream 7          collective start......800            */
static kino__trace *rank_trace(int64_t rank, const char *kernel, int64_t start)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#1", .track = 1, .ts = 0, .dur = 1000},
        {.cat = "cuda_runtime",
         .name = "cudaLaunchKernel",
         .track = 1,
         .ts = 100,
         .dur = 10,
         .bind = 1},
        {.cat = "kernel",
         .name = kernel,
         .track = 7,
         .ts = start,
         .dur = 800 - start,
         .bind = 1,
         .args = "{\"stream\": 7}"});
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

static void free_traces(kino__trace **traces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kino__trace_free(traces[i]);
}

#define THREE(kernel)                                                                              \
    {                                                                                              \
        rank_trace(0, kernel, 200), rank_trace(1, kernel, 500), rank_trace(2, kernel, 300)         \
    }

TEST(whoever_starts_a_collective_last_is_a_straggler)
{
    kino__trace *traces[] = THREE("ncclKernel_AllReduce");
    kino_result *result = analysis_result("stragglers", "count=1", traces, 3);
    /* own times 400, 700 and 500 of 1000: 250 more than the median of the others */
    CHECK_STR(analysis_rows(result, "stragglers", "rank,cause,excess,score,step_count"),
              "1,host,250,1,1");
    CHECK_STR(analysis_rows(result, "ranks", "rank,own_time,exposed_communication,is_straggler"),
              "0,400,600,0;1,700,300,1;2,500,500,0");
    CHECK_STR(analysis_rows(result, "metric",
                            "rank,stream,iteration,ts,dur,normalized_start_time,duration,is_late"),
              "0,7,1,200,600,0.2,0.6,0;1,7,1,500,300,0.5,0.3,1;2,7,1,300,500,0.3,0.5,0");
    kino_result_free(result);
    /* HTA: 500 against 200 of the earliest */
    result = analysis_result("stragglers", "count=2 compat=hta-ns", traces, 3);
    CHECK_STR(analysis_rows(result, "stragglers", "rank,lateness"), "1,300;2,100");
    kino_result_free(result);
    result = analysis_result("stragglers", "count=9 compat=hta-ns", traces, 3);
    CHECK_STR(analysis_rows(result, "stragglers", "rank,lateness"), "0,0;1,300;2,100");
    kino_result_free(result);
    result = analysis_result("stragglers", "count=1 compat=hta-ns", traces, 3);
    CHECK_STR(analysis_rows(result, "stragglers", "rank,score,lateness"), "1,1,300");
    kino_result_free(result);
    free_traces(traces, 3);
}

TEST(where_all_start_at_once_nobody_is_late)
{
    kino__trace *traces[] = {rank_trace(0, "ncclKernel_AllReduce", 200),
                             rank_trace(1, "ncclKernel_AllReduce", 200)};
    kino_result *result = analysis_result("stragglers", "", traces, 2);
    CHECK_STR(analysis_rows(result, "stragglers", "rank"), "");
    CHECK(strstr(analysis_notes(result), "no rank delays the others") != NULL);
    kino_result_free(result);
    result = analysis_result("stragglers", "count=1 compat=hta-ns", traces, 2);
    CHECK_STR(analysis_rows(result, "stragglers", "rank,lateness"), "0,0"); /* HTA takes any */
    kino_result_free(result);
    free_traces(traces, 2);
}

TEST(newer_and_other_collective_libraries_have_stragglers_too_but_not_for_hta)
{
    static const char *const names[] = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                        "rccl_main_kernel"};
    for (size_t i = 0; i < 2; i++) {
        kino__trace *traces[] = THREE(names[i]);
        kino_result *result = analysis_result("stragglers", "count=1", traces, 3);
        CHECK_STR(analysis_rows(result, "stragglers", "rank"), "1");
        kino_result_free(result);
        result = analysis_result("stragglers", "count=1 compat=hta-ns", traces, 3);
        CHECK_STR(analysis_rows(result, "stragglers", "rank"), "");
        CHECK(strstr(analysis_notes(result), "not available: no communication kernels") != NULL);
        kino_result_free(result);
        free_traces(traces, 3);
    }
}

/* A kernel of its own name is a collective when its arguments say so. */
static kino__trace *named_by_argument(int64_t rank, int64_t start)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#0", .track = 1, .ts = 0, .dur = 1000},
        {.cat = "cuda_runtime", .name = "cuLaunchKernel", .track = 1, .ts = 1, .dur = 1, .bind = 1},
        {.cat = "kernel",
         .name = "my_all_gather",
         .track = 7,
         .ts = start,
         .dur = 800 - start,
         .bind = 1,
         .args = "{\"Collective name\": \"_allgather_base\"}"});
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

TEST(a_kernel_with_the_metadata_of_a_collective_counts_as_one)
{
    kino__trace *traces[] = {named_by_argument(0, 400), named_by_argument(1, 100)};
    kino_result *result = analysis_result("stragglers", "count=1", traces, 2);
    CHECK_STR(analysis_rows(result, "metric", "rank,ts,is_late"), "0,400,1;1,100,0");
    CHECK_STR(analysis_rows(result, "stragglers", "rank"), "0");
    kino_result_free(result);
    free_traces(traces, 2);
}

/* Two steps of 1000, in each two calls of one kernel: only the last that is long enough counts. */
static kino__trace *two_calls(int64_t rank, int64_t first, int64_t second)
{
    const fixture_event launch = {
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, .dur = 10};
    fixture_event events[] = {
        {.cat = "user_annotation", .name = "ProfilerStep#3", .track = 1, .ts = 0, .dur = 1000},
        {.cat = "user_annotation", .name = "ProfilerStep#4", .track = 1, .ts = 1000, .dur = 1000},
        launch,
        launch,
        launch,
        {.cat = "kernel", .name = "ncclKernel_A", .track = 7, .ts = first, .dur = 700 - first},
        /* shorter than 1 % of a step */
        {.cat = "kernel", .name = "ncclKernel_A", .track = 7, .ts = 900, .dur = 9},
        {.cat = "kernel", .name = "ncclKernel_A", .track = 7, .ts = second, .dur = 1700 - second},
    };
    for (int i = 0; i < 3; i++) {
        events[2 + i].ts = i < 2 ? 20 + 20 * i : 1020;
        events[2 + i].bind = events[5 + i].bind = i + 1;
    }
    kino__trace *trace = fixture_new(events, sizeof events / sizeof *events);
    trace->rank = rank;
    trace->index = (uint32_t)rank;
    return trace;
}

TEST(points_add_up_over_the_steps_that_are_chosen)
{
    kino__trace *traces[] = {two_calls(0, 300, 1200), two_calls(1, 100, 1600)};
    kino_result *result = analysis_result("stragglers", "count=1 include_last_step=yes", traces, 2);
    CHECK_STR(analysis_rows(result, "metric", "rank,iteration,ts,dur,normalized_start_time"),
              "0,3,300,400,0.3;0,4,1200,500,1.2;1,3,100,600,0.1;1,4,1600,100,1.6");
    /* each is late once: that is chance */
    CHECK_STR(analysis_rows(result, "stragglers", "rank"), "");
    kino_result_free(result);
    result = analysis_result("stragglers", "count=1 include_last_step=yes profiler_steps=4-9",
                             traces, 2);
    CHECK_STR(analysis_rows(result, "stragglers", "rank,excess"), "1,400");
    /* counted from that step on */
    CHECK_STR(analysis_rows(result, "metric", "normalized_start_time"), "0.2;0.6");
    kino_result_free(result);
    /* the last step is cut off */
    result = analysis_result("stragglers", "count=1 include_last_step=no", traces, 2);
    CHECK_STR(analysis_rows(result, "metric", "rank,iteration,is_late"), "0,3,1;1,3,0");
    CHECK(strstr(analysis_notes(result), "include_last_step") != NULL);
    kino_result_free(result);
    result = analysis_result("stragglers", "profiler_steps=7", traces, 2);
    CHECK_STR(analysis_notes(result),
              "stragglers not available: none of these steps are in the traces");
    kino_result_free(result);
    free_traces(traces, 2);
}

TEST(stragglers_need_several_ranks_steps_and_communication)
{
    kino__trace *alone = rank_trace(0, "ncclKernel_A", 100);
    kino_result *result = analysis_result("stragglers", "", &alone, 1);
    CHECK_STR(analysis_rows(result, "stragglers", "rank"), "");
    CHECK_STR(analysis_notes(result),
              "stragglers not available: requires the traces of several ranks");
    kino_result_free(result);
    kino__trace_free(alone);
    kino__trace *silent[] = {rank_trace(0, "gemm", 100), rank_trace(1, "gemm", 200)};
    result = analysis_result("stragglers", "", silent, 2);
    CHECK_STR(analysis_notes(result), "stragglers not available: no communication in the steps");
    kino_result_free(result);
    free_traces(silent, 2);
    kino__trace *empty[] = {fixture_new(NULL, 0), fixture_new(NULL, 0)};
    result = analysis_result("stragglers", "", empty, 2);
    CHECK_STR(analysis_notes(result), "stragglers not available: the traces have no steps");
    kino_result_free(result);
    free_traces(empty, 2);
}

TEST(lists_of_steps_that_make_no_sense_are_refused)
{
    const kino__analysis_def *def = kino__analysis_find(kino__str_from("stragglers"));
    static const char *const bad[] = {"x", "3,", "5-3", "-1", "1--2", ","};
    REQUIRE(def != NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kino__analysis a;
        kino_error err = {0};
        kino_param given = {"profiler_steps", bad[i]};
        CHECK_EQ(kino__analysis_init(&a, def, &given, 1, &err), KINO_ARGUMENT);
        CHECK(strstr(err.message, "expected: step numbers") != NULL);
        kino__analysis_deinit(&a);
    }
    kino__analysis a;
    kino_error err = {0};
    kino_param given = {"count", "0"};
    CHECK_EQ(kino__analysis_init(&a, def, &given, 1, &err), KINO_ARGUMENT);
    kino__analysis_deinit(&a);
}
