/* test_completeness.c - every kind that kino check knows, on traces made by hand: found where it
 * is, not found where it is not, and not available where there is nothing to look at. */
#include <inttypes.h>

#include "analysis/completeness/completeness_internal.h"
#include "analysis/overlaps.h"
#include "engine/analyze.h"
#include "names/launch_calls.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)                                                                                    \
    {                                                                                              \
        .cat = "cpu_op", .name = "op", __VA_ARGS__                                                 \
    }
#define LAUNCH_CALL(...)                                                                           \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", __VA_ARGS__                             \
    }
#define KERNEL(...)                                                                                \
    {                                                                                              \
        .cat = "kernel", .name = "gemm", .track = 7, __VA_ARGS__                                   \
    }
#define WINDOW(...)                                                                                \
    {                                                                                              \
        .cat = "Trace", .name = "PyTorch Profiler (0)", .track = 90, __VA_ARGS__                   \
    }

enum { F_RANK, F_TRACE, F_SEVERITY, F_KIND, F_COUNT, F_OF, F_FIRST, F_MEANING, F_EVENTS, F_WIDTH };
enum {
    K_KIND,
    K_SEVERITY,
    K_STATUS,
    K_COUNT,
    K_OF,
    K_CHECKED,
    K_UNAVAILABLE,
    K_REASON,
    K_WIDTH = 9
};

static kino_result *check(kino__run *run, const char *kinds)
{
    kino_param param = {"kinds", kinds};
    kino__analyze_how how = {&param, kinds != NULL, NULL, NULL};
    kino_result *result = kino__result_new("completeness");
    REQUIRE(kino__analyze_run(&kino__analysis_completeness, run, &how, result, NULL) == KINO_OK);
    REQUIRE(kino__result_finish(result, &result, NULL) == KINO_OK);
    return result;
}

static void add_number(kino__buffer *out, const char *before, const kino_cell *cell)
{
    if (cell->kind == KINO_CELL_INT)
        kino__buffer_printf(out, "%s%" PRId64, before, cell->value.integer);
}

/* "rank 1: loss truncated 1; warning overlapping_spans 2/9 event 3, 4" over the findings of these
 * kinds; the rank is left out where there is none. Frees the traces. Valid until the next call. */
static const char *findings_of_run(const char *kinds, kino__trace **traces, size_t count)
{
    static kino__buffer out;
    kino__run run;
    kino__run_init(&run);
    for (size_t i = 0; i < count; i++)
        REQUIRE(kino__run_add_take(&run, traces[i], NULL) == KINO_OK);
    kino_result *result = check(&run, kinds);
    const kino__table *table = result->tables.items[0];
    REQUIRE_EQ(table->column_count, F_WIDTH);
    out.size = 0;
    for (size_t i = 0; i < table->cells.count; i += F_WIDTH) {
        const kino_cell *row = &table->cells.items[i];
        kino__buffer_add(&out, i ? KINO__STR("; ") : KINO__STR(""));
        add_number(&out, "rank ", &row[F_RANK]);
        kino__buffer_add(&out, row[F_RANK].kind == KINO_CELL_INT ? KINO__STR(": ") : KINO__STR(""));
        kino__buffer_printf(&out, "%.*s %.*s", KINO__STR_ARG(row[F_SEVERITY].value.text),
                            KINO__STR_ARG(row[F_KIND].value.text));
        add_number(&out, " ", &row[F_COUNT]);
        add_number(&out, "/", &row[F_OF]);
        if (row[F_FIRST].kind == KINO_CELL_TEXT)
            kino__buffer_printf(&out, " %.*s", KINO__STR_ARG(row[F_FIRST].value.text));
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    kino_result_free(result);
    kino__run_deinit(&run);
    return out.data;
}

static const char *findings(const char *kinds, kino__trace *trace)
{
    return findings_of_run(kinds, &trace, 1);
}

/* "ok", "found" or "not available: reason" of one check. Frees the trace. */
static const char *status(const char *kind, kino__trace *trace)
{
    static kino__buffer out;
    kino__run run;
    kino__run_init(&run);
    REQUIRE(kino__run_add_take(&run, trace, NULL) == KINO_OK);
    kino_result *result = check(&run, NULL);
    const kino__table *table = result->tables.items[1];
    REQUIRE_EQ(table->column_count, K_WIDTH);
    out.size = 0;
    for (size_t i = 0; i < table->cells.count; i += K_WIDTH) {
        const kino_cell *row = &table->cells.items[i];
        if (!kino__str_is(row[K_KIND].value.text, kind))
            continue;
        kino__buffer_add(&out, row[K_STATUS].value.text);
        bool is_unavailable = kino__str_is(row[K_STATUS].value.text, "not available");
        CHECK_EQ(row[K_COUNT].kind == KINO_CELL_NULL, is_unavailable); /* never 0 */
        if (is_unavailable)
            kino__buffer_printf(&out, ": %.*s", KINO__STR_ARG(row[K_REASON].value.text));
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    kino_result_free(result);
    kino__run_deinit(&run);
    return out.data;
}

static void set_metadata(kino__trace *trace, const char *key, const char *value)
{
    kino__metadata *m = kino__vec_add(&trace->metadata);
    REQUIRE(m != NULL);
    *m = (kino__metadata){kino__str_from(key), kino__str_from(value)};
}

static kino__trace *ranked(int64_t rank, int64_t world_size)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 1));
    trace->rank = rank;
    trace->world_size = world_size;
    return trace;
}

/* -- the file -- */

TEST(check_shows_the_damage_seen_while_reading_with_its_bytes)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 1));
    kino__ledger_add(&trace->ledger, KINO__DAMAGE_TRUNCATED, 900);
    for (uint64_t i = 0; i < 5; i++)
        kino__ledger_add(&trace->ledger, KINO__DAMAGE_BAD_ESCAPE, 10 * i);
    kino__ledger_add(&trace->ledger, KINO__DAMAGE_BROKEN_EVENT, 77);
    kino__ledger_add(&trace->ledger, KINO__DAMAGE_BROKEN_ARGS, 55);
    trace->rank = 3;
    CHECK_STR(findings("loss,damage", trace),
              "rank 3: loss truncated 1 byte 900; rank 3: loss broken_event 1 byte 77; "
              "rank 3: damage bad_escape 5 byte 0, 10, 20, 30, ...; "
              "rank 3: damage broken_args 1 byte 55");
}

TEST(check_counts_unmatched_begins_and_ends)
{
    kino__trace *trace =
        FIXTURE({.ph = 'B', .cat = "cpu_op", .name = "a", .ts = 5},
                {.ph = 'E', .cat = "cpu_op", .name = "a", .track = 2, .ts = 1},
                {.ph = 'B', .cat = "cpu_op", .name = "b", .ts = 3}, OP(.ts = 0, .dur = 9));
    trace->pair_count = 1; /* the span at 0 was written as a pair */
    CHECK_STR(findings("unmatched_begin,unmatched_end", trace),
              "damage unmatched_begin 2/3 event 2, 0; damage unmatched_end 1/2 event 1");
    CHECK_STR(status("unmatched_end", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: no B or E events");
}

TEST(check_says_that_there_are_no_events)
{
    CHECK_STR(findings("loss", FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME})),
              "loss no_events 1");
    CHECK_STR(status("no_events", FIXTURE(OP(.ts = 0, .dur = 1))), "ok");
}

/* -- times -- */

TEST(check_finds_durations_that_cannot_be)
{
    const int64_t day = 86400000000000;
    kino__trace *trace =
        FIXTURE(OP(.ts = 0, .dur = day), OP(.track = 1, .ts = 1, .dur = day + 1),
                OP(.track = 2, .ts = 2, .dur = -5), OP(.track = 3, .ts = 3, .dur = KINO_NO_TIME),
                OP(.track = 4, .ts = 4, .dur = 0));
    CHECK_STR(findings("missing_duration,negative_duration,absurd_duration", trace),
              "damage missing_duration 1/5 event 3; damage negative_duration 1/5 event 2; "
              "damage absurd_duration 1/5 event 1");
    CHECK_STR(status("negative_duration", FIXTURE({.ph = 'i', .cat = "cpu_op", .ts = 1})),
              "not available: no spans");
}

TEST(check_holds_spans_against_the_recording_window)
{
    /* the window is [100, 200], and 210 by its end mark */
    kino__trace *trace =
        FIXTURE(WINDOW(.ts = 100, .dur = 100),
                {.ph = 'i', .name = "Record Window End: x", .track = 91, .ts = 210},
                OP(.ts = 100, .dur = 110), OP(.track = 1, .ts = 99, .dur = 5),
                OP(.track = 2, .ts = 205, .dur = 6), OP(.track = 3, .ts = 90, .dur = 111));
    CHECK_STR(findings("outside_window,absurd_duration", trace),
              "damage absurd_duration 1/4 event 5; warning outside_window 3/4 event 5, 3, 4");
    CHECK_STR(status("outside_window", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: the trace does not contain its recording window");
}

TEST(check_finds_spans_that_cross_on_one_thread_only)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 100), OP(.ts = 10, .dur = 20), /* inside */
                                 OP(.ts = 20, .dur = 20), /* 2: crosses 1 */
                                 OP(.ts = 35, .dur = 60), /* 3: crosses 2 */
                                 OP(.ts = 90, .dur = 5),  /* inside 3, ends with it */
                                 OP(.ts = 100, .dur = 5), /* behind all */
                                 OP(.track = 2, .ts = 15, .dur = 90) /* another thread */);
    CHECK_STR(findings("overlapping_spans", trace), "warning overlapping_spans 2/7 event 2, 3");
    CHECK_STR(findings("overlapping_spans", /* device streams may overlap */
                       FIXTURE(OP(.ts = 0, .dur = 1), KERNEL(.ts = 0, .dur = 9),
                               KERNEL(.ts = 5, .dur = 9))),
              "");
    CHECK_STR(status("overlapping_spans", FIXTURE(KERNEL(.ts = 0, .dur = 9))),
              "not available: no spans on host threads");
}

/* record_function's __enter__ ends inside the annotation, __exit__ begins inside it. */
TEST(check_takes_python_functions_that_cross_annotations_for_a_habit)
{
    kino__trace *trace = FIXTURE({.cat = "python_function",
                                  .name = "torch/autograd/profiler.py(9): __enter__",
                                  .ts = 0,
                                  .dur = 10},
                                 {.cat = "user_annotation", .name = "mine", .ts = 5, .dur = 50},
                                 OP(.ts = 20, .dur = 10),
                                 {.cat = "python_function",
                                  .name = "torch/autograd/profiler.py(9): __exit__",
                                  .ts = 50,
                                  .dur = 10});
    CHECK_EQ(kino__overlaps_count(trace), 0);
    CHECK_STR(findings("overlapping_spans,python_functions_cross", trace),
              "note python_functions_cross 2/4 event 1, 3");
    trace = FIXTURE({.cat = "user_annotation", .name = "mine", .ts = 0, .dur = 20},
                    {.cat = "python_function", .name = "a.py(1): f", .ts = 10, .dur = 30},
                    OP(.ts = 15, .dur = 10)); /* crosses the annotation as well */
    CHECK_EQ(kino__overlaps_count(trace), 1);
    CHECK_STR(findings("overlapping_spans,python_functions_cross", trace),
              "warning overlapping_spans 1/3 event 2; note python_functions_cross 1/3 event 1");
}

TEST(check_takes_an_external_id_that_is_the_correlation_for_a_habit)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 9, .external = 1),
                                 KERNEL(.ts = 0, .dur = 9, .bind = 77, .external = 77),
                                 KERNEL(.ts = 10, .dur = 9, .bind = 78, .external = 5));
    CHECK_STR(findings("external_without_op,external_is_correlation", trace),
              "warning external_without_op 1/2 event 2; note external_is_correlation 1/2 event 1");
}

/* The slow, obvious version: a span that some earlier one holds the start of, but not the end. */
TEST(check_finds_the_same_crossings_as_the_definition_on_random_traces)
{
    fixture_random random = {11};
    fixture_event events[20];
    for (int round = 0; round < 2000; round++) {
        uint32_t count = 1 + fixture_random_below(&random, 20);
        for (uint32_t i = 0; i < count; i++)
            events[i] = (fixture_event)OP(.ts = fixture_random_below(&random, 30),
                                          .dur = fixture_random_below(&random, 12));
        int64_t crossings = 0;
        for (uint32_t i = 0; i < count; i++) {
            bool is_crossing = false;
            for (uint32_t k = 0; k < count; k++) {
                int64_t end = events[k].ts + events[k].dur;
                is_crossing |= events[k].ts < events[i].ts && end > events[i].ts &&
                               end < events[i].ts + events[i].dur;
            }
            crossings += is_crossing;
        }
        kino__trace *trace = fixture_new(events, count);
        kino__trace_check found;
        REQUIRE(kino__completeness_scan(trace, &found, NULL) == KINO_OK);
        bool ok = CHECK_EQ(found.findings[KINO__FINDING_OVERLAP].count, crossings);
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}

/* -- what belongs together -- */

TEST(check_finds_launches_without_work_and_work_without_launch)
{
    kino__trace *trace = FIXTURE(
        LAUNCH_CALL(.ts = 10, .dur = 2, .bind = 1), LAUNCH_CALL(.ts = 20, .dur = 2, .bind = 2),
        {.cat = "cuda_runtime", .name = "cudaDeviceSynchronize", .ts = 30, .dur = 2, .bind = 3},
        {.cat = "cuda_runtime", .name = "cudaGraphLaunch", .ts = 40, .dur = 2, .bind = 4},
        KERNEL(.ts = 15, .dur = 2, .bind = 1), KERNEL(.ts = 55, .dur = 2, .bind = 9),
        KERNEL(.ts = 60, .dur = 2, .bind = 4));
    CHECK_STR(
        findings("launch_without_device,device_without_launch,no_device_activity", trace),
        "warning launch_without_device 1/3 event 1; warning device_without_launch 1/3 event 5");
}

TEST(check_of_launches_needs_device_activity_and_the_reverse)
{
    CHECK_STR(findings("warning", FIXTURE(LAUNCH_CALL(.ts = 10, .dur = 2, .bind = 1),
                                          LAUNCH_CALL(.ts = 5, .dur = 2, .bind = 2))),
              "warning no_device_activity 2/2 event 1, 0");
    CHECK_STR(status("launch_without_device", FIXTURE(LAUNCH_CALL(.ts = 10, .dur = 2, .bind = 1))),
              "not available: no device activity");
    CHECK_STR(status("device_without_launch", FIXTURE(KERNEL(.ts = 10, .dur = 2, .bind = 1))),
              "not available: no launch calls");
    CHECK_STR(status("no_device_activity", FIXTURE(OP(.ts = 1, .dur = 2))),
              "not available: no launch calls");
}

TEST(check_finds_work_that_starts_before_its_launch)
{
    kino__trace *trace = FIXTURE(
        LAUNCH_CALL(.ts = 10, .dur = 2, .bind = 1), LAUNCH_CALL(.ts = 20, .dur = 2, .bind = 2),
        KERNEL(.ts = 10, .dur = 2, .bind = 1), KERNEL(.ts = 19, .dur = 2, .bind = 2));
    CHECK_STR(findings("work_before_launch", trace), "warning work_before_launch 1/2 event 3");
    CHECK_STR(status("work_before_launch", FIXTURE(KERNEL(.ts = 10, .dur = 2))),
              "not available: no device activity with a known launch");
}

TEST(check_finds_external_ids_that_no_op_has)
{
    kino__trace *trace = FIXTURE(
        OP(.ts = 0, .dur = 9, .external = 5),
        {.cat = "user_annotation", .track = 1, .ts = 0, .dur = 9, .external = 6},
        LAUNCH_CALL(.ts = 1, .dur = 1, .bind = 1, .external = 5),
        KERNEL(.ts = 5, .dur = 1, .bind = 1, .external = 6),
        KERNEL(.ts = 7, .dur = 1, .bind = 2, .external = 8), KERNEL(.ts = 9, .dur = 1, .bind = 3));
    CHECK_STR(findings("external_without_op", trace), "warning external_without_op 1/3 event 4");
    CHECK_STR(status("external_without_op", FIXTURE(KERNEL(.ts = 7, .dur = 1, .external = 8))),
              "not available: no ops");
    CHECK_STR(status("external_without_op", FIXTURE(OP(.ts = 7, .dur = 1, .external = 8))),
              "not available: no External ids");
}

TEST(check_finds_flows_that_lead_nowhere)
{
#define POINT(letter, time, number)                                                                \
    {.ph = letter, .cat = "ac2g", .name = "ac2g", .ts = time, .bind = number}
    kino__trace *trace =
        FIXTURE(POINT('s', 1, 1), POINT('f', 2, 1), POINT('s', 3, 2), POINT('f', 4, 3),
                POINT('s', 5, 4), POINT('t', 6, 4), POINT('f', 7, 4), POINT('t', 8, 5));
    CHECK_STR(findings("dangling_flow_start,dangling_flow_end", trace),
              "note dangling_flow_start 1/3 event 2; note dangling_flow_end 2/5 event 3, 7");
    CHECK_STR(status("dangling_flow_end", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: no flow events");
#undef POINT
}

/* -- the profiler's own words -- */

static const char recorder_kinds[] =
    "profiler_dropped,recorder_parts_lost,recorder_bad_records,ended_without_stop,"
    "unfinished_spans,recorder_overwritten";

TEST(check_reads_what_the_recorder_lost)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 1));
    set_metadata(
        trace, "kino_loss",
        "{\"buffer_full\": 7, \"too_many_threads\": 2, \"texts_full\": 1, \"text_cut\": 10, "
        "\"late\": 100, \"overwritten\": 5000, \"damaged\": 3, \"open_spans\": 4, "
        "\"ended_without_stop\": true, \"threads\": [{\"tid\": 71, \"buffer_full\": 6}, "
        "{\"tid\": 72, \"buffer_full\": 1, \"late\": 100}]}");
    CHECK_STR(
        findings(recorder_kinds, trace),
        "loss profiler_dropped 9; loss recorder_parts_lost 111; damage recorder_bad_records 3; "
        "warning ended_without_stop 1; note unfinished_spans 4; note recorder_overwritten 5000");
    trace = FIXTURE(OP(.ts = 0, .dur = 1));
    set_metadata(trace, "kino_loss", "{}"); /* it says that nothing was lost */
    CHECK_STR(findings(recorder_kinds, trace), "");
    trace = FIXTURE(OP(.ts = 0, .dur = 1));
    set_metadata(trace, "kino_loss", "{\"buffer_full\": -1, \"threads\": 3, \"late\": \"x\"");
    CHECK_STR(findings(recorder_kinds, trace), "");
}

TEST(check_lists_losses_of_the_recorder_by_thread)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 1));
    set_metadata(trace, "kino_loss",
                 "{\"buffer_full\": 7, \"threads\": [{\"tid\": 71, \"buffer_full\": 6}, "
                 "{\"tid\": 72, \"buffer_full\": 1, \"late\": 100}]}");
    kino__losses losses = {0};
    REQUIRE(kino__completeness_losses(trace, &losses));
    REQUIRE_EQ(losses.count, 4);
    static const int64_t wants[][2] = {{KINO_NO_INT, 7}, {71, 6}, {72, 1}, {72, 100}};
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ(losses.items[i].tid, wants[i][0]);
        CHECK_EQ(losses.items[i].count, wants[i][1]);
    }
    CHECK_EQ(losses.items[2].reason, losses.items[1].reason);
    CHECK(losses.items[3].reason != losses.items[2].reason);
    kino__vec_deinit(&losses);
    kino__trace_free(trace);
}

TEST(check_reads_what_the_profiler_counted)
{
    kino__trace *trace = FIXTURE(OP(.ts = 0, .dur = 1));
    set_metadata(
        trace, "INFO",
        "[\"INFO:x] Processed 500 GPU records (9 bytes)\", \"INFO:x] Record counts: "
        "Out-of-range = 41, Blocklisted runtime = 3, Invalid ext correlations = 2, CPU GPU "
        "out-of-order = 1, Unexpected CUDA events = 0, CUPTI stopped early? = 1\"]");
    set_metadata(trace, "WARNING", "[\"one \\\" quote\", \"two\"]");
    set_metadata(trace, "ERROR", "[\"three\"]");
    set_metadata(trace, "Dropped_events", "12");
    set_metadata(trace, "lost records", "\"3\"");
    CHECK_STR(
        findings("profiler_dropped,profiler_stopped_early,profiler_messages,"
                 "profiler_out_of_order,profiler_bad_links,profiler_out_of_range",
                 trace),
        "loss profiler_dropped 15; loss profiler_stopped_early 1; warning profiler_messages 3; "
        "warning profiler_out_of_order 1/500; warning profiler_bad_links 2/500; "
        "note profiler_out_of_range 41/500");
    CHECK_STR(status("profiler_messages", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: the profiler wrote no log into the trace");
    CHECK_STR(status("profiler_dropped", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: the profiler wrote no counter of dropped events into the trace");
    CHECK_STR(status("profiler_out_of_range", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: the profiler wrote no record counts into the trace");
}

/* -- what is not there -- */

TEST(check_misses_metadata_that_the_events_ask_for)
{
    kino__trace *trace =
        FIXTURE(KERNEL(.ts = 0, .dur = 1),
                {.cat = "kernel", .name = "ncclKernel_x", .track = 7, .ts = 2, .dur = 1});
    set_metadata(trace, "deviceProperties", "[ ]");
    trace->is_epoch = false;
    CHECK_STR(findings("no_device_properties,no_distributed_info,unknown_clock,no_steps", trace),
              "note no_device_properties 1; note no_distributed_info 1; note unknown_clock 1; "
              "note no_steps 1");
    trace = FIXTURE(KERNEL(.ts = 0, .dur = 1),
                    {.cat = "cpu_op", .name = "c10d::allreduce_", .ts = 2, .dur = 1},
                    {.cat = "user_annotation", .name = "ProfilerStep#1", .ts = 0, .dur = 9});
    set_metadata(trace, "deviceProperties", "[{\"id\": 0}]");
    set_metadata(trace, "distributedInfo", "{\"rank\": 0}");
    trace->is_epoch = true;
    CHECK_STR(findings("no_device_properties,no_distributed_info,unknown_clock,no_steps", trace),
              "");
    CHECK_STR(status("no_device_properties", FIXTURE(OP(.ts = 0, .dur = 1))),
              "not available: no kernels");
    CHECK_STR(status("no_distributed_info", FIXTURE(KERNEL(.ts = 0, .dur = 1))),
              "not available: no collectives");
}

#define RANK_KINDS "missing_rank,duplicate_rank,rank_beyond_world,world_sizes_differ,unknown_rank"

TEST(check_sets_the_ranks_of_a_run_beside_world_size)
{
    CHECK_STR(
        findings_of_run(RANK_KINDS, (kino__trace *[]){ranked(0, 3), ranked(1, 3), ranked(2, 3)}, 3),
        "");
    CHECK_STR(findings_of_run(RANK_KINDS, (kino__trace *[]){ranked(1, 8), ranked(4, 8)}, 2),
              "warning missing_rank 6/8 rank 0, 2, 3, 5, ...");
    CHECK_STR(
        findings_of_run(RANK_KINDS, (kino__trace *[]){ranked(0, 2), ranked(1, 2), ranked(1, 2)}, 3),
        "warning duplicate_rank 1/3 rank 1");
    CHECK_STR(
        findings_of_run(RANK_KINDS, (kino__trace *[]){ranked(0, 2), ranked(1, 2), ranked(5, 2)}, 3),
        "rank 5: warning rank_beyond_world 1");
    CHECK_STR(findings_of_run(RANK_KINDS, (kino__trace *[]){ranked(0, 2), ranked(1, 4)}, 2),
              "warning world_sizes_differ 1/2 trace 1");
    CHECK_STR(
        findings_of_run(RANK_KINDS, (kino__trace *[]){ranked(0, 1), ranked(KINO_NO_INT, 1)}, 2),
        "note unknown_rank 1/2 trace 1");
    /* one rank looked at alone is no reason to worry */
    CHECK_STR(findings(RANK_KINDS, ranked(0, 4)), "note missing_rank 3/4 rank 1, 2, 3");
    CHECK_STR(findings(RANK_KINDS, ranked(KINO_NO_INT, KINO_NO_INT)), "");
    CHECK_STR(findings(RANK_KINDS, ranked(0, INT64_MAX)),
              "note missing_rank 9223372036854775806/9223372036854775807 rank 1, 2, 3, 4, ...");
    CHECK_STR(status("missing_rank", ranked(0, KINO_NO_INT)), "not available: no world_size");
    CHECK_STR(status("duplicate_rank", ranked(KINO_NO_INT, 2)), "not available: no ranks");
}

/* -- the form -- */

TEST(check_tells_in_notes_what_could_not_be_checked)
{
    kino__run run;
    kino__run_init(&run);
    kino__trace *with =
        FIXTURE(LAUNCH_CALL(.ts = 1, .dur = 1, .bind = 1), KERNEL(.ts = 5, .dur = 1, .bind = 1));
    REQUIRE(kino__run_add_take(&run, with, NULL) == KINO_OK);
    REQUIRE(kino__run_add_take(&run, FIXTURE(OP(.ts = 0, .dur = 1)), NULL) == KINO_OK);
    kino_result *result = check(&run, NULL);
    bool found = false;
    for (size_t i = 0; i < result->notes.count; i++)
        found |= strcmp(result->notes.items[i].text,
                        "not available in 1 of 2 traces: launch_without_device, "
                        "device_without_launch, work_before_launch: no device activity") == 0;
    CHECK(found);
    kino_result_free(result);
    kino__run_deinit(&run);
}

TEST(check_refuses_kinds_that_do_not_exist)
{
    static const char *const bad[] = {"", "trunc", "loss,", "loss,,damage", "any,Loss"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kino__analysis a;
        kino_param param = {"kinds", bad[i]};
        CHECK_EQ(kino__analysis_init(&a, &kino__analysis_completeness, &param, 1, NULL),
                 KINO_ARGUMENT);
        kino__analysis_deinit(&a);
    }
}

TEST(check_gives_the_same_after_saving_and_loading)
{
    kino__analysis a;
    REQUIRE(kino__analysis_init(&a, &kino__analysis_completeness, NULL, 0, NULL) == KINO_OK);
    kino__trace *trace =
        FIXTURE(LAUNCH_CALL(.ts = 10, .dur = -2, .bind = 1), KERNEL(.ts = 55, .dur = 2, .bind = 9));
    trace->rank = 2;
    set_metadata(trace, "kino_loss", "{\"late\": 5, \"threads\": [{\"tid\": 7, \"late\": 5}]}");
    kino__ledger_add(&trace->ledger, KINO__DAMAGE_GARBAGE, 31);
    void *partial = kino__partial_new(&a), *loaded = NULL;
    REQUIRE(a.def->map(&a, trace, partial, NULL) == KINO_OK);
    kino__buffer bytes = {0}, again = {0};
    kino__partial_save(&a, partial, &bytes);
    REQUIRE(kino__partial_load(&a, kino__buffer_str(&bytes), &loaded, NULL) == KINO_OK);
    kino__partial_save(&a, loaded, &again);
    CHECK_STR(kino__buffer_str(&again), kino__buffer_str(&bytes));
    kino__partial_free(&a, loaded);
    for (size_t size = 0; size < bytes.size; size++)
        CHECK_EQ(kino__partial_load(&a, (kino_str){bytes.data, size}, &loaded, NULL), KINO_FORMAT);
    kino__partial_free(&a, partial);
    kino__buffer_deinit(&bytes);
    kino__buffer_deinit(&again);
    kino__trace_free(trace);
    kino__analysis_deinit(&a);
}

TEST(launch_names_are_known_in_all_their_versions)
{
    static const struct {
        const char *name;
        kino__launch_kind kind;
    } cases[] = {{"cudaLaunchKernel", KINO__LAUNCH_KERNEL},
                 {"cudaLaunchKernel_v7000", KINO__LAUNCH_KERNEL},
                 {"cudaLaunchKernel_ptsz", KINO__LAUNCH_KERNEL},
                 {"cudaLaunchKernelExC", KINO__LAUNCH_KERNEL},
                 {"cuLaunchKernelEx", KINO__LAUNCH_KERNEL},
                 {"hipModuleLaunchKernel", KINO__LAUNCH_KERNEL},
                 {"cudaGraphLaunch", KINO__LAUNCH_GRAPH},
                 {"cudaMemcpyAsync", KINO__LAUNCH_MEMCPY},
                 {"hipMemsetAsync", KINO__LAUNCH_MEMSET},
                 {"cudaLaunchHostFunc", KINO__LAUNCH_NONE},
                 {"cudaMemcpy", KINO__LAUNCH_NONE},
                 {"", KINO__LAUNCH_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_EQ((int)kino__launch_kind_of(kino__str_from(cases[i].name)), (int)cases[i].kind);
}
