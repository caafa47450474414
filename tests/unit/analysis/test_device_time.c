/* test_device_time.c - temporal breakdown, idle time, overlap, kernels, annotations, steps:
 * hand-made traces with values worked out on paper, and invariants on random ones. */
#include <stdlib.h>
#include <string.h>

#include "analysis/device_work.h"
#include "base/keyed_sort.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define LAUNCH_CALL(...)                                                                           \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, __VA_ARGS__                 \
    }
#define WORK(category, label, stream, ...)                                                         \
    {                                                                                              \
        .cat = category, .name = label, .track = stream, .args = "{\"stream\": " #stream "}",      \
        __VA_ARGS__                                                                                \
    }
#define KERNEL(label, stream, ...) WORK("kernel", label, stream, __VA_ARGS__)

/* us   0    10   20   30   40   50   60   70   80
 * 7    gemm 0..20       relu 30..40         gemm 70..80
 * 9             nccl 15..35         copy 45..50                       */
static kino__trace *two_streams(void)
{
    return FIXTURE(LAUNCH_CALL(.ts = 0, .dur = 1000, .bind = 9),
                   LAUNCH_CALL(.ts = 2000, .dur = 1000, .bind = 1),
                   LAUNCH_CALL(.ts = 25000, .dur = 1000, .bind = 2),
                   LAUNCH_CALL(.ts = 26000, .dur = 1000, .bind = 3),
                   LAUNCH_CALL(.ts = 27000, .dur = 1000, .bind = 4),
                   LAUNCH_CALL(.ts = 28000, .dur = 1000, .bind = 5),
                   KERNEL("gemm", 7, .ts = 0, .dur = 20000, .bind = 1),
                   KERNEL("relu", 7, .ts = 30000, .dur = 10000, .bind = 2),
                   KERNEL("gemm", 7, .ts = 70000, .dur = 10000, .bind = 3),
                   KERNEL("ncclDevKernel_AllReduce", 9, .ts = 15000, .dur = 20000, .bind = 4),
                   WORK("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 9, .ts = 45000, .dur = 5000,
                        .bind = 5));
}

static void check_rows(kino__trace *trace, const char *name, const char *params, const char *table,
                       const char *columns, const char *want)
{
    kino_result *result = analysis_result(name, params, &trace, 1);
    CHECK_STR(analysis_rows(result, table, columns), want);
    kino_result_free(result);
}

static void check_notes(kino__trace *trace, const char *name, const char *params, const char *want)
{
    kino_result *result = analysis_result(name, params, &trace, 1);
    CHECK_STR(analysis_notes(result), want);
    kino_result_free(result);
}

/* -- temporal breakdown, overlap -- */

TEST(device_time_is_divided_into_idle_compute_and_the_rest)
{
    /* covered 0..40, 45..50, 70..80 = 55 of 80; computation 0..20, 30..40, 70..80 = 40 */
    kino__trace *trace = two_streams();
    check_rows(trace, "temporal-breakdown", "", "temporal_breakdown", NULL,
               "-,25000,40000,15000,80000,31.25,50,18.75");
    check_rows(trace, "temporal-breakdown", "compat=hta-ns", "temporal_breakdown", NULL,
               "-,25000,40000,15000,80000,31.25,50,18.75");
    check_rows(trace, "temporal-breakdown", "compat=hta", "temporal_breakdown", NULL,
               "-,25000,40000,15000,80000,31.25,50,18.75");
    kino__trace_free(trace);
}

TEST(overlap_is_communication_during_which_computation_runs)
{
    /* nccl 15..35: 15..20 and 30..35 are covered by computation */
    kino__trace *trace = two_streams();
    check_rows(trace, "comm-overlap", "", "comm_comp_overlap", NULL, "-,50,10000,20000");
    kino__trace_free(trace);
}

TEST(a_trace_without_device_work_has_no_device_time)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "aten::mm", .ts = 0, .dur = 5});
    check_rows(trace, "temporal-breakdown", "", "temporal_breakdown", NULL, "");
    check_notes(trace, "temporal-breakdown", "",
                "temporal breakdown not available: no device work was recorded");
    check_rows(trace, "idle-time", "stats=yes", "idle", NULL, "");
    check_notes(trace, "idle-time", "compat=hta",
                "idle time not available: no device work was recorded");
    check_rows(trace, "comm-overlap", "", "comm_comp_overlap", NULL, "");
    check_notes(trace, "comm-overlap", "", "overlap not available: no communication");
    check_rows(trace, "kernel-breakdown", "", "kernel_type", NULL, "");
    check_notes(trace, "kernel-breakdown", "",
                "kernel breakdown not available: no device work was recorded");
    check_rows(trace, "kernel-types", "", "kernel_types", NULL, "");
    check_notes(trace, "annotated-kernels", "",
                "annotations of kernels not available: no annotations on the devices");
    check_notes(trace, "annotation-breakdown", "",
                "annotations not available: the trace has none on the devices (use_gpu no: those "
                "on the host)");
    check_notes(trace, "steps", "",
                "steps not available: no ProfilerStep#N annotations and no iterations");
    kino__trace_free(trace);
}

TEST(an_empty_trace_has_answers_without_rows)
{
    static const char *const names[] = {"temporal-breakdown", "idle-time",
                                        "comm-overlap",       "kernel-breakdown",
                                        "kernel-types",       "annotation-breakdown",
                                        "annotated-kernels",  "steps"};
    kino__trace *trace = FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kino_result *result = analysis_result(names[i], "", &trace, 1);
        CHECK(strstr(analysis_notes(result), "not available") != NULL);
        kino_result_free(result);
    }
    kino__trace_free(trace);
}

TEST(ranks_without_a_device_are_named)
{
    kino__trace *traces[] = {two_streams(),
                             FIXTURE({.cat = "cpu_op", .name = "aten::mm", .ts = 0, .dur = 5})};
    traces[0]->rank = 0;
    traces[1]->rank = 1;
    kino_result *result = analysis_result("temporal-breakdown", "", traces, 2);
    CHECK_STR(analysis_rows(result, "temporal_breakdown", "rank,kernel_time"), "0,80000");
    CHECK_STR(analysis_notes(result),
              "temporal breakdown not available for rank 1: no device work was recorded");
    kino_result_free(result);
    kino__trace_free(traces[0]);
    kino__trace_free(traces[1]);
}

TEST(rows_that_are_no_device_work_count_only_for_hta)
{
    /* a sync record and an op with a stream: HTA takes both for device rows */
    kino__trace *trace = FIXTURE(KERNEL("gemm", 7, .ts = 0, .dur = 10, .bind = 1),
                                 {.cat = "cuda_sync",
                                  .name = "Stream Sync",
                                  .track = 7,
                                  .ts = 10,
                                  .dur = 30,
                                  .args = "{\"stream\": 7}"},
                                 {.cat = "cpu_op",
                                  .name = "triton_op",
                                  .track = 2,
                                  .ts = 50,
                                  .dur = 50,
                                  .args = "{\"stream\": 7}"});
    check_rows(trace, "temporal-breakdown", "", "temporal_breakdown", "idle_time,kernel_time",
               "0,10");
    check_rows(trace, "temporal-breakdown", "compat=hta-ns", "temporal_breakdown",
               "idle_time,compute_time,kernel_time", "10,60,100");
    kino__trace_free(trace);
}

TEST(work_of_amd_on_stream_0_is_device_work)
{
    kino__trace *trace =
        FIXTURE({.cat = "cuda_runtime",
                 .name = "hipLaunchKernel",
                 .track = 1,
                 .ts = 0,
                 .dur = 5,
                 .bind = 1,
                 .args = "{\"stream\": \"0x0\"}"},
                KERNEL("hipBLASLt_gemm", 0, .ts = 10, .dur = 10, .bind = 1),
                KERNEL("ncclDevKernel_Generic(ncclDevComm*)", 0, .ts = 15, .dur = 10, .bind = 2),
                WORK("gpu_memcpy", "CopyHostToDevice", 0, .ts = 40, .dur = 10, .bind = 3));
    check_rows(trace, "temporal-breakdown", "", "temporal_breakdown",
               "idle_time,compute_time,non_compute_time", "15,10,15");
    check_rows(trace, "kernel-types", "", "kernel_types", "name,kernel_type",
               "CopyHostToDevice,MEMORY;hipBLASLt_gemm,COMPUTATION;"
               "ncclDevKernel_Generic(ncclDevComm*),COMMUNICATION");
    check_rows(trace, "kernel-types", "compat=hta", "kernel_types", "name,kernel_type",
               "CopyHostToDevice,COMPUTATION;hipBLASLt_gemm,COMMUNICATION;"
               "ncclDevKernel_Generic(ncclDevComm*),COMMUNICATION");
    check_rows(trace, "idle-time", "", "idle", "stream,idle_category,idle_time",
               "0,kernel_wait,15;0,other,0");
    kino__trace_free(trace);
}

TEST(work_of_mtia_is_device_work)
{
    kino__trace *trace =
        FIXTURE({.cat = "mtia_runtime",
                 .name = "runFunction - job_prep_and_submit_for_execution",
                 .track = 1,
                 .ts = 30,
                 .dur = 5,
                 .bind = 2},
                WORK("mtia_ccp_events", "fc_op", 3, .ts = 10, .dur = 10, .bind = 1),
                WORK("mtia_ccp_events", "dma_in", 3, .ts = 40, .dur = 10, .bind = 2));
    check_rows(trace, "temporal-breakdown", "", "temporal_breakdown",
               "idle_time,compute_time,non_compute_time", "20,10,10");
    check_rows(trace, "idle-time", "delay=5", "idle", "stream,idle_category,idle_time",
               "3,host_wait,20;3,other,0");
    kino__trace_free(trace);
}

/* -- idle time -- */

TEST(gaps_are_put_down_to_host_device_or_something_else)
{
    /* stream 7: gap 20..30, launched at 25 > 20: host; gap 40..70, launched at 26 < 40, 30 us: not
     * below 30 us: other. Stream 9: gap 35..45, launched at 28, 10 us: kernel. */
    kino__trace *trace = two_streams();
    check_rows(trace, "idle-time", "", "idle", NULL,
               "-,7,host_wait,10000,0.25;-,7,other,30000,0.75;"
               "-,9,kernel_wait,10000,1;-,9,other,0,0");
    check_rows(trace, "idle-time", "delay=31us streams=7", "idle", NULL,
               "-,7,host_wait,10000,0.25;-,7,kernel_wait,30000,0.75;-,7,other,0,0");
    check_rows(trace, "idle-time", "streams=5", "idle", NULL, "");
    check_notes(trace, "idle-time", "streams=5",
                "idle time not available: none of the streams are in the trace");
    check_rows(trace, "idle-time", "", "interval_stats", NULL, "");
    check_rows(trace, "idle-time", "stats=yes", "interval_stats", NULL,
               "-,7,host_wait,1,10000,-,10000,10000,10000,10000,10000;"
               "-,7,other,1,30000,-,30000,30000,30000,30000,30000;"
               "-,9,kernel_wait,1,10000,-,10000,10000,10000,10000,10000;"
               "-,9,other,0,-,-,-,-,-,-,-");
    kino__trace_free(trace);
}

TEST(work_that_overlaps_leaves_no_negative_gap)
{
    /* 0..100, 10..20, 150..160: HTA measures from the previous row, -90 and 130; we from 100 */
    kino__trace *trace = FIXTURE(KERNEL("a", 7, .ts = 0, .dur = 100, .bind = 1),
                                 KERNEL("b", 7, .ts = 10, .dur = 10, .bind = 2),
                                 KERNEL("c", 7, .ts = 150, .dur = 10, .bind = 3));
    check_rows(trace, "idle-time", "", "idle", "idle_category,idle_time", "kernel_wait,50;other,0");
    check_rows(trace, "idle-time", "compat=hta-ns", "idle", "idle_category,idle_time",
               "kernel_wait,40;other,0");
    kino__trace_free(trace);
}

/* Kernels of random length on a few streams, in any order. */
static kino__trace *random_trace(fixture_random *random, int64_t rank)
{
    static const char *const names[] = {"gemm", "ncclDevKernel_AllReduce", "Memset (Device)",
                                        "relu<float>(int)"};
    fixture_event events[120] = {0};
    for (size_t i = 0; i < 120; i++) {
        uint32_t kind = fixture_random_below(random, 4);
        uint32_t stream = fixture_random_below(random, 3) + 7;
        events[i] = (fixture_event){.cat = kind == 2 ? "gpu_memset" : "kernel",
                                    .name = names[kind],
                                    .track = stream,
                                    .ts = fixture_random_below(random, 2000),
                                    .dur = fixture_random_below(random, 30),
                                    .bind = (int64_t)i + 1,
                                    .args = stream == 7   ? "{\"stream\": 7}"
                                            : stream == 8 ? "{\"stream\": 8}"
                                                          : "{\"stream\": 9}"};
    }
    kino__trace *trace = fixture_new(events, 120);
    trace->rank = rank;
    return trace;
}

/* How many of the instants from first start to last end see work for which `is_asked`. */
static int64_t count_instants(const kino__trace *trace, int64_t stream,
                              bool (*is_asked)(const kino__trace *trace, uint32_t row))
{
    static bool is_covered[4000];
    int64_t count = 0;
    memset(is_covered, 0, sizeof is_covered);
    for (uint32_t row = 0; row < trace->event_count; row++) {
        uint32_t track = kino__trace_track_of(trace, row);
        if (stream != -1 && trace->tracks.items[track].tid.number != stream)
            continue;
        for (int64_t t = trace->ts[row];
             is_asked(trace, row) && t < trace->ts[row] + trace->dur[row]; t++)
            is_covered[t] = true;
    }
    for (size_t t = 0; t < 4000; t++)
        count += is_covered[t];
    return count;
}

static bool is_any(const kino__trace *trace, uint32_t row)
{
    return trace->ts[row] >= 0;
}

static bool is_compute(const kino__trace *trace, uint32_t row)
{
    kino_str name = kino__trace_string(trace, trace->name[row]);
    return name.data[0] == 'g' || name.data[0] == 'r';
}

static bool is_communication(const kino__trace *trace, uint32_t row)
{
    return kino__trace_string(trace, trace->name[row]).data[0] == 'n';
}

static int64_t cell_int(const kino_result *result, size_t table, size_t row, size_t column)
{
    const kino__table *t = result->tables.items[table];
    return t->cells.items[row * t->column_count + column].value.integer;
}

TEST(idle_and_busy_time_of_a_stream_make_its_span)
{
    fixture_random random = {11};
    for (int round = 0; round < 20; round++) {
        kino__trace *trace = random_trace(&random, 0);
        kino_result *result = analysis_result("idle-time", "delay=10", &trace, 1);
        size_t rows = kino__table_row_count(result->tables.items[0]);
        for (size_t t = 0; t < trace->tracks.count; t++) {
            const kino__track *track = &trace->tracks.items[t];
            int64_t idle = 0, first = trace->ts[track->first], last = 0;
            for (size_t i = 0; i < rows; i++)
                if (cell_int(result, 0, i, 1) == track->tid.number)
                    idle += cell_int(result, 0, i, 3);
            for (uint32_t row = track->first; row < track->first + track->count; row++)
                last = trace->ts[row] + trace->dur[row] > last ? trace->ts[row] + trace->dur[row]
                                                               : last;
            CHECK_EQ(idle + count_instants(trace, track->tid.number, is_any), last - first);
        }
        kino_result_free(result);
        kino__trace_free(trace);
    }
}

TEST(breakdowns_agree_with_counting_instants)
{
    fixture_random random = {5};
    for (int round = 0; round < 20; round++) {
        kino__trace *trace = random_trace(&random, 0);
        int64_t busy = count_instants(trace, -1, is_any);
        int64_t compute = count_instants(trace, -1, is_compute);
        int64_t communication = count_instants(trace, -1, is_communication);
        kino_result *temporal = analysis_result("temporal-breakdown", "", &trace, 1);
        CHECK_EQ(cell_int(temporal, 0, 0, 2), compute);
        CHECK_EQ(cell_int(temporal, 0, 0, 3), busy - compute);
        CHECK_EQ(cell_int(temporal, 0, 0, 4), cell_int(temporal, 0, 0, 1) + busy);
        kino_result *overlap = analysis_result("comm-overlap", "", &trace, 1);
        CHECK_EQ(cell_int(overlap, 0, 0, 3), communication);
        CHECK(cell_int(overlap, 0, 0, 2) <= (compute < communication ? compute : communication));
        kino_result *kernels = analysis_result("kernel-breakdown", "", &trace, 1);
        int64_t sum = 0, overlapping = 0;
        const kino__table *types = kernels->tables.items[0];
        for (size_t i = 0; i < kino__table_row_count(types); i++) {
            kino_str name = types->cells.items[3 * i].value.text;
            sum += cell_int(kernels, 0, i, 1);
            if (kino__str_starts_with(name, KINO__STR("COMPUTATION overlapping COMMUNICATION")))
                overlapping += cell_int(kernels, 0, i, 1);
        }
        CHECK_EQ(sum, busy); /* every instant is in one row */
        CHECK_EQ(overlapping, cell_int(overlap, 0, 0, 2));
        kino_result_free(temporal);
        kino_result_free(overlap);
        kino_result_free(kernels);
        kino__trace_free(trace);
    }
}

/* -- kernels -- */

TEST(kernel_types_that_run_together_have_a_row_of_their_own)
{
    /* compute 0..15, 35..40, ... : alone 0..15, 70..80 and 35..40; nccl alone 20..30 */
    kino__trace *trace = two_streams();
    check_rows(trace, "kernel-breakdown", "", "kernel_type", NULL,
               "COMPUTATION,30000,54.5455;COMMUNICATION,10000,18.1818;"
               "COMPUTATION overlapping COMMUNICATION,10000,18.1818;MEMORY,5000,9.09091");
    check_rows(trace, "kernel-breakdown", "include_memory=no compat=hta", "kernel_type", NULL,
               "COMPUTATION,30000,60;COMMUNICATION,10000,20;"
               "COMPUTATION overlapping COMMUNICATION,10000,20");
    kino__trace_free(trace);
}

TEST(kernels_have_the_statistics_of_their_durations)
{
    /* gemm 20 and 10 us: deviation sqrt(50) us */
    kino__trace *trace = two_streams();
    check_rows(trace, "kernel-breakdown", "", "kernel",
               "name,sum,max,min,stddev,mean,kernel_type,count,names",
               "ncclDevKernel_AllReduce,20000,20000,20000,0,20000,COMMUNICATION,1,1;"
               "gemm,30000,20000,10000,7071.07,15000,COMPUTATION,2,1;"
               "relu,10000,10000,10000,0,10000,COMPUTATION,1,1;"
               "Memcpy DtoH (Device -> Pinned),5000,5000,5000,0,5000,MEMORY,1,1");
    kino__trace_free(trace);
}

TEST(small_kernels_are_folded_behind_a_percentile_of_running_sums)
{
    /* sums 50, 30, 15 (5 + 10), 5; running 50 80 95 100; the 0.5 percentile of these is 87.5: c and
     * d stand behind it. HTA then describes the sums, 15 and 5. */
    kino__trace *trace = FIXTURE(KERNEL("a", 7, .ts = 0, .dur = 50, .bind = 1),
                                 KERNEL("b", 7, .ts = 100, .dur = 30, .bind = 2),
                                 KERNEL("c", 7, .ts = 200, .dur = 5, .bind = 3),
                                 KERNEL("c", 7, .ts = 300, .dur = 10, .bind = 4),
                                 KERNEL("d", 7, .ts = 400, .dur = 5, .bind = 5));
    const char *columns = "name,sum,max,min,mean,count,names,event_max";
    check_rows(trace, "kernel-breakdown", "num_kernels=3 duration_ratio=0.5", "kernel", columns,
               "a,50,50,50,50,1,1,50;b,30,30,30,30,1,1,30;others,20,10,5,6.66667,3,2,10");
    check_rows(trace, "kernel-breakdown", "num_kernels=3 duration_ratio=0.5 compat=hta-ns",
               "kernel", columns,
               "a,50,50,50,50,1,1,50;b,30,30,30,30,1,1,30;others,20,15,5,10,3,2,10");
    /* only the number counts when the percentile is the last */
    check_rows(trace, "kernel-breakdown", "num_kernels=3 duration_ratio=1", "kernel", "name,sum",
               "a,50;b,30;c,15;others,5");
    /* as many as there are: nothing is folded, whatever the ratio */
    check_rows(trace, "kernel-breakdown", "num_kernels=4 duration_ratio=0", "kernel", "name",
               "a;b;c;d");
    kino__trace_free(trace);
}

TEST(kernels_of_several_ranks_stand_by_type_name_and_rank)
{
    kino__trace *traces[3];
    for (int64_t i = 0; i < 3; i++) {
        traces[i] = FIXTURE(KERNEL("b", 7, .ts = 0, .dur = 5, .bind = 1),
                            KERNEL("a", 7, .ts = 10, .dur = 6, .bind = 2));
        traces[i]->rank = i;
    }
    kino_result *result = analysis_result("kernel-breakdown", "", traces, 3);
    CHECK_STR(analysis_rows(result, "kernel", "name,rank,sum"),
              "a,0,6;a,1,6;a,2,6;b,0,5;b,1,5;b,2,5");
    CHECK_STR(analysis_rows(result, "kernel_type", "kernel_type,sum"), "COMPUTATION,33");
    kino_result_free(result);
    for (size_t i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(names_are_classified_and_shortened)
{
    kino__trace *trace = FIXTURE(
        KERNEL("void at::native::relu<float, int>(int, float*)", 7, .ts = 0, .dur = 1, .bind = 1),
        WORK("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, .ts = 5, .dur = 1, .bind = 2),
        WORK("gpu_memset", "Memset (Device)", 7, .ts = 7, .dur = 1, .bind = 3));
    check_rows(trace, "kernel-types", "", "kernel_types", NULL,
               "Memcpy HtoD (Pinned -> Device),MEMORY,Memcpy HtoD,Memcpy HtoD (Pinned -> Device);"
               "Memset (Device),MEMORY,Memset,Memset (Device);"
               "void at::native::relu<float, int>(int, float*),COMPUTATION,-,at::native::relu");
    kino__trace_free(trace);
}

/* -- annotations -- */

#define NOTE(label, stream, ...)                                                                   \
    {                                                                                              \
        .cat = "gpu_user_annotation", .name = label, .track = stream, __VA_ARGS__                  \
    }

TEST(annotations_are_added_up_by_name)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "forward", .track = 1, .ts = 0, .dur = 10},
        {.cat = "user_annotation", .name = "forward", .track = 1, .ts = 20, .dur = 30},
        {.cat = "user_annotation", .name = "Optimizer.step", .track = 1, .ts = 60, .dur = 4},
        {.cat = "user_annotation", .name = "zero", .track = 1, .ts = 70, .dur = 2},
        NOTE("forward", 7, .ts = 15, .dur = 50));
    check_rows(trace, "annotation-breakdown", "", "annotations", "name,sum,count", "forward,50,1");
    check_rows(trace, "annotation-breakdown", "use_gpu=no", "annotations",
               "name,sum,max,min,mean,count",
               "Optimizer.step,4,4,4,4,1;forward,40,30,10,20,2;zero,2,2,2,2,1");
    check_rows(trace, "annotation-breakdown", "use_gpu=no num=1", "annotations", "name,sum,names",
               "forward,40,1;others,6,2");
    check_rows(trace, "annotation-breakdown", "use_gpu=no num=1 allow=none,Opt", "annotations",
               "name,sum,names", "Optimizer.step,4,1;forward,40,1;others,2,1");
    kino__trace_free(trace);
}

TEST(a_kernel_has_the_shortest_annotation_that_overlaps_it)
{
    /* outer 0..100, inner 20..40; a touches inner at 20 only with its end; d has no length and lies
     * on the edge of inner; e is on another lane */
    kino__trace *trace =
        FIXTURE(NOTE("outer", 7, .ts = 0, .dur = 100), NOTE("inner", 7, .ts = 20, .dur = 20),
                KERNEL("a", 7, .ts = 10, .dur = 10, .bind = 1),
                KERNEL("b", 7, .ts = 15, .dur = 10, .bind = 2),
                KERNEL("c", 7, .ts = 35, .dur = 10, .bind = 3),
                KERNEL("d", 7, .ts = 40, .dur = 0, .bind = 4),
                KERNEL("e", 9, .ts = 30, .dur = 5, .bind = 5),
                KERNEL("f", 7, .ts = 100, .dur = 5, .bind = 6));
    check_rows(trace, "annotated-kernels", "", "annotated_kernels",
               "index,s_name,s_user_annotation",
               "2,a,outer;3,b,inner;4,c,inner;5,d,outer;6,e,;7,f,");
    check_rows(trace, "annotated-kernels", "", "by_annotation", "s_user_annotation,count,total_dur",
               ",2,10;inner,2,20;outer,2,10");
    kino__trace_free(trace);
}

TEST(an_annotation_counts_on_other_lanes_only_for_hta)
{
    /* HTA gives it to all kernels of the same start and end; the last lane wins */
    kino__trace *trace = FIXTURE(
        NOTE("seven", 7, .ts = 0, .dur = 10), NOTE("nine", 9, .ts = 0, .dur = 40),
        KERNEL("a", 7, .ts = 5, .dur = 3, .bind = 1), KERNEL("b", 9, .ts = 5, .dur = 3, .bind = 2),
        KERNEL("c", 7, .ts = 30, .dur = 5, .bind = 3),
        KERNEL("d", 9, .ts = 30, .dur = 5, .bind = 4),
        KERNEL("e", 8, .ts = 30, .dur = 5, .bind = 5),
        KERNEL("f", 7, .ts = 6, .dur = 3, .bind = 6));
    check_rows(trace, "annotated-kernels", "", "annotated_kernels", "s_name,s_user_annotation",
               "a,seven;b,nine;c,;d,nine;e,;f,seven");
    check_rows(trace, "annotated-kernels", "compat=hta-ns", "annotated_kernels",
               "s_name,s_user_annotation", "a,nine;b,nine;c,nine;d,nine;e,nine;f,seven");
    kino__trace_free(trace);
}

TEST(for_hta_a_rank_without_annotations_has_kernels_where_another_has_some)
{
    /* HTA asks the texts of all ranks whether there are annotations at all */
    kino__trace *traces[] = {
        FIXTURE(NOTE("seven", 7, .ts = 0, .dur = 10), KERNEL("a", 7, .ts = 5, .dur = 3, .bind = 1)),
        FIXTURE(KERNEL("b", 7, .ts = 5, .dur = 3, .bind = 1))};
    static const char *const want[][2] = {{"", "a,seven"}, {"compat=hta-ns", "a,seven;b,"}};
    for (size_t i = 0; i < 2; i++) {
        kino_result *result = analysis_result("annotated-kernels", want[i][0], traces, 2);
        CHECK_STR(analysis_rows(result, "annotated_kernels", "s_name,s_user_annotation"),
                  want[i][1]);
        kino_result_free(result);
    }
    check_rows(traces[1], "annotated-kernels", "compat=hta-ns", "annotated_kernels", "s_name", "");
    kino__trace_free(traces[0]);
    kino__trace_free(traces[1]);
}

TEST(annotations_of_kernels_agree_with_trying_all)
{
    fixture_random random = {23};
    for (int round = 0; round < 30; round++) {
        enum { NOTES = 12, KERNELS = 40, ALL = NOTES + KERNELS };
        static const char *const names[] = {"n0", "n1", "n2", "n3", "n4",  "n5",
                                            "n6", "n7", "n8", "n9", "n10", "n11"};
        fixture_event events[ALL] = {0};
        for (uint32_t i = 0; i < ALL; i++)
            events[i] = (fixture_event){.cat = i < NOTES ? "gpu_user_annotation" : "kernel",
                                        .name = i < NOTES ? names[i] : "k",
                                        .track = 7 + fixture_random_below(&random, 2),
                                        .ts = fixture_random_below(&random, 60),
                                        .dur = fixture_random_below(&random, i < NOTES ? 25 : 8),
                                        .bind = i < NOTES ? 0 : (int64_t)i};
        kino__trace *trace = fixture_new(events, ALL);
        kino_result *result = analysis_result("annotated-kernels", "", &trace, 1);
        REQUIRE_EQ(kino__table_row_count(result->tables.items[0]), KERNELS);
        for (uint32_t k = 0; k < KERNELS; k++) {
            const fixture_event *kernel = &events[NOTES + k], *best = NULL;
            for (uint32_t n = 0; n < NOTES; n++) {
                const fixture_event *note = &events[n];
                if (note->track == kernel->track && kernel->ts < note->ts + note->dur &&
                    note->ts < kernel->ts + kernel->dur && (!best || note->dur <= best->dur))
                    best = note;
            }
            const kino__table *table = result->tables.items[0];
            kino_str got = table->cells.items[k * table->column_count + 10].value.text;
            CHECK(kino__str_is(got, best ? best->name : ""));
        }
        kino_result_free(result);
        kino__trace_free(trace);
    }
}

/* -- steps -- */

#define STEP(label, ...)                                                                           \
    {                                                                                              \
        .cat = "user_annotation", .name = label, .track = 1, __VA_ARGS__                           \
    }

static kino__trace *two_steps(void)
{
    return FIXTURE(
        STEP("ProfilerStep#3", .ts = 0, .dur = 100), STEP("ProfilerStep#4", .ts = 100, .dur = 100),
        LAUNCH_CALL(.ts = 10, .dur = 5, .bind = 1), LAUNCH_CALL(.ts = 90, .dur = 5, .bind = 2),
        LAUNCH_CALL(.ts = 150, .dur = 5, .bind = 3),
        KERNEL("gemm", 7, .ts = 20, .dur = 10, .bind = 1),
        KERNEL("gemm", 7, .ts = 120, .dur = 10, .bind = 2),
        KERNEL("relu", 7, .ts = 160, .dur = 10, .bind = 3));
}

TEST(steps_have_the_device_time_of_what_was_launched_in_them)
{
    kino__trace *trace = two_steps();
    check_rows(trace, "steps", "", "steps", NULL, "-,3,0,100,20,130;-,4,100,100,160,170");
    check_rows(trace, "steps", "include_last_step=no", "steps", NULL, "-,3,0,100,20,130");
    check_notes(trace, "steps", "include_last_step=no",
                "the last step is left out: set include_last_step=yes to include it");
    check_notes(trace, "steps", "", "");
    kino__trace_free(trace);
}

TEST(the_last_step_counts_but_in_reference_modes)
{
    static const char *const without[] = {"include_last_step=no", "compat=hta-ns"};
    static const char *const with[] = {"", "compat=hta-ns include_last_step=yes"};
    kino__trace *trace = two_steps();
    for (size_t i = 0; i < 2; i++) {
        check_rows(trace, "temporal-breakdown", without[i], "temporal_breakdown", "kernel_time",
                   "110");
        check_rows(trace, "kernel-breakdown", without[i], "kernel", "name,count", "gemm,2");
        check_rows(trace, "temporal-breakdown", with[i], "temporal_breakdown", "kernel_time",
                   "150");
        check_rows(trace, "kernel-breakdown", with[i], "kernel", "name,count", "gemm,2;relu,1");
    }
    kino__trace_free(trace);
}

TEST(device_work_without_a_launch_counts_in_traces_with_steps)
{
    /* The first has a correlation that no call of the trace has, the second none; the third is of
     * the last step by its time. */
    kino__trace *trace = FIXTURE(
        STEP("ProfilerStep#3", .ts = 0, .dur = 100), STEP("ProfilerStep#4", .ts = 100, .dur = 100),
        LAUNCH_CALL(.ts = 10, .dur = 5, .bind = 1),
        KERNEL("gemm", 7, .ts = 20, .dur = 10, .bind = 1),
        KERNEL("lost", 7, .ts = 40, .dur = 10, .bind = 9), KERNEL("bare", 7, .ts = 60, .dur = 20),
        KERNEL("late", 7, .ts = 150, .dur = 10));
    check_rows(trace, "kernel-breakdown", "", "kernel", "name,count",
               "bare,1;gemm,1;late,1;lost,1");
    check_rows(trace, "kernel-breakdown", "include_last_step=no", "kernel", "name,count",
               "bare,1;gemm,1;lost,1");
    /* HTA drops the one whose call is not there, and takes one without correlation for a row of
     * the host. */
    check_rows(trace, "kernel-breakdown", "compat=hta-ns", "kernel", "name,count", "bare,1;gemm,1");
    check_rows(trace, "temporal-breakdown", "", "temporal_breakdown", "kernel_time,compute_time",
               "140,50");
    check_rows(trace, "steps", "", "steps", NULL, "-,3,0,100,20,80;-,4,100,100,150,160");
    kino__trace_free(trace);
}

TEST(overview_and_steps_have_the_same_steps)
{
    /* A launch across the edge of a step belongs to the step that it starts in; the second step
     * launched much less than the first, and counts. */
    kino__trace *trace = FIXTURE(
        STEP("ProfilerStep#3", .ts = 0, .dur = 100), STEP("ProfilerStep#4", .ts = 100, .dur = 100),
        LAUNCH_CALL(.ts = 10, .dur = 5, .bind = 1), LAUNCH_CALL(.ts = 20, .dur = 5, .bind = 2),
        LAUNCH_CALL(.ts = 95, .dur = 20, .bind = 3), LAUNCH_CALL(.ts = 130, .dur = 5, .bind = 4),
        KERNEL("a", 7, .ts = 20, .dur = 10, .bind = 1),
        KERNEL("b", 7, .ts = 30, .dur = 10, .bind = 2),
        KERNEL("c", 7, .ts = 120, .dur = 30, .bind = 3),
        KERNEL("d", 7, .ts = 190, .dur = 30, .bind = 4));
    check_rows(trace, "steps", "", "steps", NULL, "-,3,0,100,20,150;-,4,100,100,190,220");
    check_rows(trace, "overview", "", "step_breakdown",
               "step,start,total,host_start,host_dur,device_start,device_dur",
               "3,0,150,0,100,20,130;4,150,70,100,100,190,30");
    kino__trace_free(trace);
}

/* -- what they stand on -- */

TEST(keys_are_sorted_and_equal_ones_keep_their_order)
{
    fixture_random random = {9};
    kino__keyed items[300];
    for (uint32_t i = 0; i < 300; i++)
        items[i] =
            (kino__keyed){((int64_t)fixture_random_below(&random, 20) - 10) * 100000000000, i};
    REQUIRE(kino__keyed_sort(items, 300));
    for (size_t i = 1; i < 300; i++)
        CHECK(items[i - 1].key < items[i].key ||
              (items[i - 1].key == items[i].key && items[i - 1].value < items[i].value));
}
