/* test_memory.c - the analysis of memory on traces made by hand. */
#include "analysis/memory/memory_internal.h"
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)                                                                                    \
    {                                                                                              \
        .cat = "cpu_op", .track = 1, __VA_ARGS__                                                   \
    }
#define MEMORY(...)                                                                                \
    {                                                                                              \
        .ph = 'i', .cat = "cpu_instant_event", .name = "[memory]", .track = 1, __VA_ARGS__         \
    }
/* type and id of the device, address, bytes, in use, reserved */
#define ARGS(type, id, address, bytes, allocated, reserved)                                        \
    .args = "{\"Device Type\": " #type ", \"Device Id\": " #id ", \"Addr\": " #address             \
            ", \"Bytes\": " #bytes ", \"Total Allocated\": " #allocated                            \
            ", \"Total Reserved\": " #reserved "}"

/* What a table of one trace says; the trace is freed. */
static void expect_at(int line, kino__trace *trace, const char *params, const char *table,
                      const char *columns, const char *want)
{
    kino_result *result = analysis_result("memory", params, &trace, 1);
    const char *got = analysis_rows(result, table, columns);
    if (strcmp(got, want) != 0)
        (void)fprintf(stderr, "line %d:\n", line);
    CHECK_STR(got, want);
    kino_result_free(result);
    kino__trace_free(trace);
}
#define EXPECT(trace, params, table, columns, want)                                                \
    expect_at(__LINE__, trace, params, table, columns, want)

static void set_metadata(kino__trace *trace, const char *key, const char *value)
{
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    REQUIRE(slot);
    *slot = (kino__metadata){kino__str_from(key), kino__str_from(value)};
}

/* outer [0,100) calls aten::empty [10,20) and inner [30,50), which has no records; below inner is
 * leaf [35,40), without records too. The step around all is no operator.
 *   12  GPU0 +100 at 1   in aten::empty
 *   25  GPU0  +50 at 2   in outer
 *   60  GPU0 -100 at 1   in outer
 *   70  CPU   +8 at 1    in outer: the same address on another device
 *   100 GPU0  +7 at 3    at the end of outer: in the step
 *   150 GPU0 -50 at 2    in the step */
static kino__trace *worked_example(void)
{
    return FIXTURE(
        OP(.name = "ProfilerStep#1", .ts = 0, .dur = 200), OP(.name = "outer", .ts = 0, .dur = 100),
        OP(.name = "aten::empty", .ts = 10, .dur = 10), OP(.name = "inner", .ts = 30, .dur = 20),
        OP(.name = "leaf", .ts = 35, .dur = 5), MEMORY(.ts = 12, ARGS(1, 0, 1, 100, 100, 512)),
        MEMORY(.ts = 25, ARGS(1, 0, 2, 50, 150, 512)),
        MEMORY(.ts = 60, ARGS(1, 0, 1, -100, 50, 512)), MEMORY(.ts = 70, ARGS(0, -1, 1, 8, 8, 0)),
        MEMORY(.ts = 100, ARGS(1, 0, 3, 7, 57, 600)),
        MEMORY(.ts = 150, ARGS(1, 0, 2, -50, 7, 600)));
}

TEST(memory_of_operators_counts_with_and_without_what_is_below)
{
    static const char *const params[] = {"", "compat=tensorboard"};
    for (size_t i = 0; i < 2; i++)
        EXPECT(worked_example(), params[i], "memory_statistics", NULL,
               "-,GPU0,aten::empty,1,100,100,1,1,100,100;"
               "-,GPU0,outer,1,50,-50,2,1,150,50;"
               "-,CPU,outer,1,8,8,1,1,8,8");
}

TEST(memory_events_are_blocks_with_the_operator_that_allocated_them)
{
    EXPECT(worked_example(), "", "memory_events", NULL,
           "-,GPU0,outer (aten::empty),100,12,60,48,5,7;"
           "-,GPU0,outer,50,25,150,125,6,10;"
           "-,GPU0,-,7,100,-,-,9,-;"
           "-,CPU,outer,8,70,-,-,8,-");
    EXPECT(worked_example(), "min_size=50", "memory_events", "size", "100;50");
    EXPECT(worked_example(), "device=cpu", "memory_events", "device_name,size", "CPU,8");
}

TEST(memory_curve_has_a_point_a_record_and_for_the_plugin_steps)
{
    EXPECT(worked_example(), "device=GPU0", "memory_curve", "time,allocated,reserved",
           "12,100,512;25,150,512;60,50,512;100,57,600;150,7,600");
    EXPECT(worked_example(), "device=GPU0 compat=tensorboard", "memory_curve",
           "time,allocated,reserved",
           "12,100,512;25,100,512;25,150,512;60,150,512;60,50,512;100,50,512;100,57,600;"
           "150,57,600;150,7,600");
}

TEST(memory_peaks_have_time_event_operator_and_the_share_of_the_device)
{
    kino__trace *trace = worked_example();
    set_metadata(trace, "deviceProperties",
                 "[{\"id\": 1, \"totalGlobalMem\": 5}, {\"id\": 0, \"totalGlobalMem\": 600}]");
    EXPECT(trace, "", "memory_peaks", NULL,
           "-,GPU0,150,25,outer,6,600,600,25,5;-,CPU,8,70,outer,8,0,-,-,1");
    EXPECT(worked_example(), "", "memory_peaks", "device_name,total_memory,peak_percent",
           "GPU0,-,-;CPU,-,-");
}

TEST(memory_window_includes_both_its_ends)
{
    /* 25 and 60 are in; the allocation of the block released at 60 is not, but its operator is
     * known. outer overlaps the window, aten::empty [10,20) does not. */
    EXPECT(worked_example(), "from=25 to=60", "memory_statistics",
           "operator_name,calls,size_increase,self_size_increase,allocation_count",
           "outer,1,-50,-50,1");
    EXPECT(worked_example(), "from=25 to=60", "memory_events",
           "operator,size,allocation_time,release_time",
           "outer,50,25,-;outer (aten::empty),100,-,60");
    EXPECT(worked_example(), "from=25 to=60", "memory_curve", "time", "25;60");
    EXPECT(worked_example(), "from=60", "memory_peaks", "device_name,peak_allocated,peak_time",
           "GPU0,57,100;CPU,8,70");
    EXPECT(worked_example(), "from=25 to=60 compat=tensorboard device=GPU0", "memory_curve", "time",
           "12;25;25;60;60;100;100;150;150");
}

TEST(memory_calls_are_all_calls_but_the_plugin_stops_at_nodes_without_records)
{
    /* the second x lies below a y that no record lies in */
    kino__trace *traces[2];
    for (size_t i = 0; i < 2; i++)
        traces[i] = FIXTURE(
            OP(.name = "x", .ts = 0, .dur = 10), OP(.name = "y", .ts = 20, .dur = 10),
            OP(.name = "x", .ts = 22, .dur = 5), MEMORY(.ts = 5, ARGS(1, 0, 1, 10, 10, 10)));
    EXPECT(traces[0], "", "memory_statistics", "operator_name,calls", "x,2");
    EXPECT(traces[1], "compat=tensorboard", "memory_statistics", "operator_name,calls", "x,1");
}

TEST(memory_of_an_operator_nested_in_itself_counts_at_each_level)
{
    EXPECT(FIXTURE(OP(.name = "f", .ts = 0, .dur = 100), OP(.name = "g", .ts = 5, .dur = 2),
                   OP(.name = "f", .ts = 10, .dur = 50), MEMORY(.ts = 20, ARGS(1, 0, 1, 3, 3, 3))),
           "", "memory_statistics",
           "operator_name,calls,size_increase,self_size_increase,allocation_count", "f,2,6,3,2");
}

TEST(memory_rows_without_any_effect_are_left_out)
{
    EXPECT(FIXTURE(OP(.name = "f", .ts = 0, .dur = 100), MEMORY(.ts = 20, ARGS(1, 0, 1, 0, 3, 3))),
           "", "memory_statistics", NULL, "");
}

/* An address that is allocated twice without a release, and one that is released three times. */
static kino__trace *odd_blocks(void)
{
    return FIXTURE(
        MEMORY(.ts = 1, ARGS(1, 0, 5, 10, 10, 0)), MEMORY(.ts = 2, ARGS(1, 0, 6, 20, 30, 0)),
        MEMORY(.ts = 3, ARGS(1, 0, 5, 11, 41, 0)), MEMORY(.ts = 4, ARGS(1, 0, 7, -1, 40, 0)),
        MEMORY(.ts = 5, ARGS(1, 0, 8, -2, 38, 0)), MEMORY(.ts = 6, ARGS(1, 0, 7, -3, 35, 0)));
}

TEST(memory_blocks_without_a_partner_are_all_there_but_one_an_address_for_the_plugin)
{
    EXPECT(odd_blocks(), "", "memory_events", "size,allocation_time,release_time",
           "10,1,-;20,2,-;11,3,-;1,-,4;2,-,5;3,-,6");
    EXPECT(odd_blocks(), "compat=tensorboard", "memory_events", "size,allocation_time,release_time",
           "11,3,-;20,2,-;3,-,6;2,-,5");
}

TEST(memory_of_two_devices_at_one_address_is_two_blocks_but_one_for_the_plugin)
{
    kino__trace *traces[2];
    for (size_t i = 0; i < 2; i++)
        traces[i] = FIXTURE(MEMORY(.ts = 1, ARGS(1, 0, 5, 10, 10, 0)),
                            MEMORY(.ts = 2, ARGS(0, 0, 5, 20, 20, 0)),
                            MEMORY(.ts = 3, ARGS(1, 0, 5, -10, 0, 0)));
    EXPECT(traces[0], "", "memory_events", "device_name,size,allocation_time,release_time",
           "GPU0,10,1,3;CPU,20,2,-");
    EXPECT(traces[1], "compat=tensorboard", "memory_events",
           "device_name,size,allocation_time,release_time", "CPU,10,2,3");
}

TEST(memory_devices_are_named_accelerators_first)
{
    kino__trace *traces[2];
    for (size_t i = 0; i < 2; i++)
        traces[i] = FIXTURE(
            MEMORY(.ts = 1, ARGS(0, -1, 1, 1, 1, 0)), MEMORY(.ts = 2, ARGS(12, 1, 2, 2, 2, 0)),
            MEMORY(.ts = 3, ARGS(6, 10, 3, 3, 3, 0)), MEMORY(.ts = 4, ARGS(1, 2, 4, 4, 4, 0)),
            MEMORY(.ts = 5, ARGS(0, 0, 5, 5, 6, 0)), MEMORY(.ts = 6, ARGS(99, 3, 6, 6, 6, 0)),
            MEMORY(.ts = 7, .args = "{\"Bytes\": 7, \"Total Allocated\": 7}"),
            MEMORY(.ts = 8, ARGS(13, -1, 8, 8, 8, 0)));
    EXPECT(traces[0], "", "memory_peaks", "device_name,peak_allocated",
           "GPU2,4;GPU10,3;XPU1,2;MPS,8;type99:3,6;unknown,7;CPU,6");
    kino_result *result = analysis_result("memory", "compat=tensorboard", &traces[1], 1);
    CHECK_STR(analysis_rows(result, "memory_peaks", "device_name,peak_allocated"), "GPU2,4;CPU,6");
    CHECK_STR(analysis_notes(result),
              "5 records left out: the plugin knows only CPU and CUDA devices");
    kino_result_free(result);
    kino__trace_free(traces[1]);
}

TEST(memory_of_more_devices_than_there_can_be_is_that_of_others)
{
    enum { COUNT = 300, MOST = 256 };
    static char texts[COUNT][80];
    static fixture_event events[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i],
                       "{\"Device Type\": 1, \"Device Id\": %d, \"Bytes\": 1}", i);
        events[i] =
            (fixture_event){.ph = 'i', .name = "[memory]", .track = 1, .ts = i, .args = texts[i]};
    }
    kino__trace *trace = fixture_new(events, COUNT);
    kino_result *result = analysis_result("memory", "device=others", &trace, 1);
    CHECK_STR(analysis_rows(result, "memory_peaks", "device_name,records"), "others,44");
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(memory_of_a_thread_belongs_to_the_operators_of_that_thread)
{
    static const char *const params[] = {"", "compat=tensorboard"};
    for (size_t i = 0; i < 2; i++)
        EXPECT(
            FIXTURE(OP(.name = "a", .ts = 0, .dur = 50),
                    {.cat = "cpu_op", .name = "b", .track = 2, .ts = 0, .dur = 50},
                    {.ph = 'i', .name = "[memory]", .track = 2, .ts = 5, ARGS(1, 0, 1, 10, 10, 0)},
                    MEMORY(.ts = 6, ARGS(1, 0, 2, 20, 30, 0)),
                    {.ph = 'i', .name = "[memory]", .track = 3, .ts = 7, ARGS(1, 0, 3, 40, 70, 0)}),
            params[i], "memory_statistics", "operator_name,size_increase", "a,20;b,10");
}

TEST(memory_of_old_records_without_addresses_and_totals_has_statistics_alone)
{
    kino__trace *trace =
        FIXTURE(OP(.name = "a", .ts = 0, .dur = 50),
                MEMORY(.ts = 5, .args = "{\"Device Type\": 0, \"Device Id\": -1, \"Bytes\": 64}"));
    kino_result *result = analysis_result("memory", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "memory_statistics", "operator_name,size_increase"), "a,64");
    CHECK_STR(analysis_rows(result, "memory_events", NULL), "");
    CHECK_STR(analysis_rows(result, "memory_curve", NULL), "");
    CHECK_STR(analysis_rows(result, "memory_peaks", NULL), "-,CPU,-,-,-,-,-,-,-,1");
    CHECK_STR(analysis_notes(result),
              "memory_events not available: the records have no addresses (PyTorch before 1.10) | "
              "memory_curve and peaks not available: the records have no totals (PyTorch before "
              "1.10)");
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(memory_of_each_rank_stands_in_rows_of_its_own)
{
    kino__trace *traces[] = {worked_example(), odd_blocks(), FIXTURE(OP(.name = "x"))};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = 4 + i;
    kino_result *result = analysis_result("memory", "", traces, 3);
    CHECK_STR(analysis_rows(result, "memory_peaks", "rank,device_name,peak_allocated"),
              "4,GPU0,150;4,CPU,8;5,GPU0,41");
    CHECK_STR(analysis_rows(result, "memory_statistics", "rank,device_name,operator_name"),
              "4,GPU0,aten::empty;4,GPU0,outer;4,CPU,outer");
    CHECK_STR(analysis_notes(result), "");
    kino_result_free(result);
    for (size_t i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(memory_without_records_is_not_available)
{
    kino__trace *traces[] = {FIXTURE(OP(.name = "x", .ts = 0, .dur = 5)),
                             FIXTURE({.cat = "kernel", .name = "k", .track = 7, .ts = 0, .dur = 5}),
                             FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME})};
    static const char *const params[] = {"device=GPU7", "compat=tensorboard"};
    for (size_t t = 0; t < 3; t++) {
        for (size_t i = 0; i < 2; i++) {
            kino_result *result = analysis_result("memory", params[i], &traces[t], 1);
            CHECK_STR(analysis_rows(result, "memory_peaks", NULL), "");
            CHECK_STR(analysis_notes(result), "memory not available: no allocations were recorded "
                                              "(profile with profile_memory=True)");
            kino_result_free(result);
        }
        kino__trace_free(traces[t]);
    }
}

/* -- fewer points -- */

/* 0 and 9 are kept. Runs of the points between: 1 2 3 | 4 5 6 | 7 8. */
TEST(thinning_keeps_the_largest_triangle_of_each_run)
{
    kino__memory_point points[10];
    size_t places[5];
    for (size_t i = 0; i < 10; i++)
        points[i] = (kino__memory_point){(double)i, 0};
    points[2].y = 5;
    points[5].y = 1;
    points[8].y = -3;
    kino__memory_thin(points, 10, 5, SIZE_MAX, places);
    static const size_t want[] = {0, 2, 4, 8, 9};
    /* second run: from (2,5) to the mean (7.5,-1.5) of the third, areas of 4, 5, 6 are
     * |(2-7.5)(y-5) - (2-x)(-6.5)|: |27.5-13| = 14.5, |22-19.5| = 2.5, |27.5-26| = 1.5 */
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(places[i], want[i]);
    kino__memory_thin(points, 10, 5, 6, places);
    CHECK_EQ(places[2], 6); /* asked for */
}

TEST(thinning_takes_the_first_of_equal_triangles)
{
    kino__memory_point points[6] = {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}};
    size_t places[4];
    kino__memory_thin(points, 6, 4, SIZE_MAX, places);
    static const size_t want[] = {0, 1, 3, 5};
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(places[i], want[i]);
}
