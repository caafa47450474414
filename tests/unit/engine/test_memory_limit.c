/* test_memory_limit.c - runs of which not all is in memory: the same answers as from whole ones,
 * what is kept, and files that change meanwhile. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "engine/kino_run.h"
#include "unit/test.h"

enum { RANKS = 3 };

static void write_demo(const char *folder, const char *suffix)
{
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    options.ranks = RANKS;
    options.steps = 2;
    options.bytes_per_rank = 100000;
    options.suffix = suffix;
    REQUIRE(kino_demo_write(folder, &options, NULL) == KINO_OK);
}

static kino_run *open_run(const char *folder, uint64_t memory, unsigned jobs)
{
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    kino_run *run = NULL;
    kino_error err;
    options.memory = memory;
    options.jobs = jobs;
    if (!CHECK_EQ(kino_run_open(&folder, 1, &options, &run, &err), KINO_OK))
        printf("    %s\n", err.message);
    REQUIRE(run != NULL);
    return run;
}

static size_t count_released(const kino_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < run->run.traces.count; i++)
        count += kino__trace_is_released(run->run.traces.items[i]);
    return count;
}

static bool add_text(void *context, const char *bytes, size_t size)
{
    kino__buffer_add(context, (kino_str){bytes, size});
    return true;
}

/* -- answers as text -- */

static kino__buffer result_text(const kino_result *result)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    kino__buffer text = {0};
    options.format = "json";
    REQUIRE(kino_render_result(result, &options, add_text, &text, NULL) == KINO_OK);
    kino__buffer_add(&text, (kino_str){"", 1});
    return text;
}

static kino__buffer analysis_text_of(kino_run *run, const char *name, const char *compat,
                                     unsigned jobs, bool is_last)
{
    kino_param param = {"compat", compat};
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    kino_result *result = NULL;
    kino_error err;
    options.jobs = jobs;
    options.last = is_last;
    options.params = &param;
    options.param_count = compat != NULL;
    if (!CHECK_EQ(kino_run_analyze(run, name, &options, &result, &err), KINO_OK))
        printf("    %s: %s\n", name, err.message);
    REQUIRE(result != NULL);
    kino__buffer text = result_text(result);
    kino_result_free(result);
    return text;
}

static kino__buffer analysis_text(kino_run *run, const char *name, const char *compat,
                                  unsigned jobs)
{
    return analysis_text_of(run, name, compat, jobs, false);
}

static kino__buffer report_text(kino_run *run, bool full)
{
    kino_report_options options = KINO_REPORT_OPTIONS_INIT;
    kino_render_options render = KINO_RENDER_OPTIONS_INIT;
    kino_report *report = NULL;
    kino__buffer text = {0};
    options.alone = true;
    options.full = full;
    render.format = "json";
    REQUIRE(kino_run_report(run, &options, &report, NULL) == KINO_OK);
    REQUIRE(kino_render_report(report, &render, add_text, &text, NULL) == KINO_OK);
    kino__buffer_add(&text, (kino_str){"", 1});
    kino_report_free(report);
    return text;
}

static kino__buffer query_text(kino_run *run, const char *sql)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    kino_rows *rows = NULL;
    kino__buffer text = {0};
    options.format = "csv";
    REQUIRE(kino_run_query(run, sql, NULL, &rows, NULL) == KINO_OK);
    REQUIRE(kino_render_rows(run, rows, &options, add_text, &text, NULL) == KINO_OK);
    kino__buffer_add(&text, (kino_str){"", 1});
    kino_rows_free(rows);
    return text;
}

/* Takes both. */
static void check_same(kino__buffer got, kino__buffer want, const char *what)
{
    if (!CHECK(got.size == want.size && memcmp(got.data, want.data, want.size) == 0))
        printf("    %s differs\n", what);
    kino__buffer_deinit(&got);
    kino__buffer_deinit(&want);
}

/* Every analysis there is. */
static void check_analyses(kino_run *limited, kino_run *whole, bool with_compat, unsigned jobs)
{
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    for (size_t i = 0; kino_analysis_describe(i, &info); i++) {
        check_same(analysis_text(limited, info.name, NULL, jobs),
                   analysis_text(whole, info.name, NULL, jobs), info.name);
        for (size_t k = 0; with_compat && info.compat[k]; k++)
            check_same(analysis_text(limited, info.name, info.compat[k], jobs),
                       analysis_text(whole, info.name, info.compat[k], jobs), info.compat[k]);
    }
}

static void check_folder(const char *folder, bool with_compat, unsigned jobs)
{
    kino_run *whole = open_run(folder, 0, jobs), *limited = open_run(folder, 1, jobs);
    CHECK_EQ(count_released(limited), RANKS - jobs);
    check_analyses(limited, whole, with_compat, jobs);
    check_same(report_text(limited, false), report_text(whole, false), "report");
    check_same(report_text(limited, true), report_text(whole, true), "full report");
    CHECK_EQ(count_released(limited), RANKS - jobs); /* as before */
    kino_run_free(limited);
    kino_run_free(whole);
}

TEST(limited_run_answers_every_analysis_as_a_whole_one)
{
    write_demo(test_tmp("run"), ".json");
    check_folder(test_tmp("run"), true, 1);
}

TEST_THREADS(limited_run_answers_the_same_on_two_threads)
{
    write_demo(test_tmp("run"), ".json.gz");
    check_folder(test_tmp("run"), false, 2);
}

TEST(limited_run_of_kino_files_answers_as_a_whole_one)
{
    write_demo(test_tmp("run"), ".json");
    kino_run *run = open_run(test_tmp("run"), 0, 1);
    kino_write_options options = KINO_WRITE_OPTIONS_INIT;
    options.format = "kino";
    REQUIRE(kino_run_write_folder(run, test_tmp("kino"), &options, NULL) == KINO_OK);
    kino_run_free(run);
    kino_run *whole = open_run(test_tmp("kino"), 0, 1), *limited = open_run(test_tmp("kino"), 1, 1);
    CHECK(limited->run.is_tight);
    check_analyses(limited, whole, false, 1);
    CHECK_EQ(count_released(limited), RANKS);
    kino_run_free(limited);
    kino_run_free(whole);
}

/* -- the last one to use a run -- */

/* Each time on a run of its own, which is only freed afterwards. */
static void check_last(const char *folder, uint64_t memory, unsigned jobs)
{
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    kino_run *whole = open_run(folder, 0, jobs);
    for (size_t i = 0; kino_analysis_describe(i, &info); i++)
        for (size_t k = 0; k == 0 || info.compat[k - 1]; k++) {
            const char *compat = k ? info.compat[k - 1] : NULL;
            kino_run *run = open_run(folder, memory, jobs);
            check_same(analysis_text_of(run, info.name, compat, jobs, true),
                       analysis_text(whole, info.name, compat, jobs), info.name);
            kino_run_free(run);
        }
    kino_run_free(whole);
}

TEST(the_last_analysis_of_a_run_answers_as_any_other)
{
    write_demo(test_tmp("run"), ".json");
    check_last(test_tmp("run"), 0, 1);
    check_last(test_tmp("run"), 1, 1);
}

TEST_THREADS(the_last_analysis_of_a_run_answers_the_same_on_two_threads)
{
    write_demo(test_tmp("run"), ".json");
    check_last(test_tmp("run"), 0, 2);
}

/* -- what is kept -- */

TEST(what_fits_the_limit_stays_as_it_was_loaded)
{
    write_demo(test_tmp("run"), ".json");
    kino_run *run = open_run(test_tmp("run"), 1 << 30, 1);
    CHECK(!run->run.is_tight);
    CHECK_EQ(run->run.traces.count, RANKS);
    for (size_t i = 0; i < run->run.traces.count; i++)
        CHECK(run->run.traces.items[i]->source == NULL); /* nothing that could load it again */
    kino_run_free(run);
}

TEST(traces_are_kept_while_their_columns_fit)
{
    write_demo(test_tmp("run"), ".json");
    kino_run *whole = open_run(test_tmp("run"), 0, 1);
    uint64_t columns = 0; /* of two traces: 44 bytes an event */
    for (size_t i = 0; i < 2; i++)
        columns += (uint64_t)whole->run.traces.items[i]->event_count * 44;
    kino_run_free(whole);
    for (int more = -1; more <= 0; more++) {
        kino_run *run = open_run(test_tmp("run"), columns + (uint64_t)more, 1);
        CHECK(run->run.is_tight);
        CHECK_EQ(count_released(run), more ? 2 : 1);
        kino__buffer text = analysis_text(run, "completeness", NULL, 1);
        kino__buffer_deinit(&text);
        CHECK_EQ(count_released(run), more ? 2 : 1);
        kino_run_free(run);
    }
}

TEST(a_single_file_is_never_released)
{
    write_demo(test_tmp("run"), ".json");
    kino__buffer path = {0};
    kino__buffer_printf(&path, "%s/rank-0.json%c", test_tmp("run"), 0);
    kino_run *run = open_run(path.data, 1, 1);
    CHECK(!run->run.is_tight);
    CHECK_EQ(count_released(run), 0);
    kino_run_free(run);
    kino__buffer_deinit(&path);
}

/* -- everything else loads what is missing -- */

TEST(released_traces_come_back_for_queries_tables_and_writers)
{
    static const char *const queries[] = {
        "SELECT rank, count(*), sum(ts), sum(dur), count(DISTINCT name) FROM event GROUP BY rank",
        "SELECT rank, name, ts FROM kernel ORDER BY dur DESC, id LIMIT 20",
        "SELECT k.rank, count(*) FROM kernel k JOIN completeness('loss') GROUP BY k.rank",
    };
    write_demo(test_tmp("run"), ".json");
    kino_run *whole = open_run(test_tmp("run"), 0, 1);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        kino_run *limited = open_run(test_tmp("run"), 1, 1);
        check_same(query_text(limited, queries[i]), query_text(whole, queries[i]), queries[i]);
        CHECK_EQ(count_released(limited), 0);
        kino_run_free(limited);
    }
    kino_run *limited = open_run(test_tmp("run"), 1, 1);
    kino_result *got = NULL, *want = NULL;
    REQUIRE(kino_run_info(limited, &got, NULL) == KINO_OK);
    REQUIRE(kino_run_info(whole, &want, NULL) == KINO_OK);
    check_same(result_text(got), result_text(want), "info");
    kino_result_free(got);
    kino_result_free(want);
    kino_run_free(limited);
    limited = open_run(test_tmp("run"), 1, 1);
    REQUIRE(kino_run_write(limited, test_tmp("a.csv"), NULL, NULL) == KINO_OK);
    REQUIRE(kino_run_write(whole, test_tmp("b.csv"), NULL, NULL) == KINO_OK);
    kino_run_free(limited);
    kino__buffer a = {0}, b = {0};
    a.data = test_read_file(test_tmp("a.csv"), &a.size);
    b.data = test_read_file(test_tmp("b.csv"), &b.size);
    check_same(a, b, "csv");
    kino_run_free(whole);
}

/* -- what depends on the other traces -- */

static void write_rank(const char *folder, int rank, int64_t base_ns, int step)
{
    kino__buffer path = {0}, text = {0};
    kino__buffer_printf(&path, "%s/rank-%d.json%c", folder, rank, 0);
    kino__buffer_printf(
        &text,
        "{\"distributedInfo\": {\"rank\": %d}, \"baseTimeNanoseconds\": %lld, \"traceEvents\": [\n"
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%d\", \"pid\": 1,"
        " \"tid\": 1, \"ts\": 100, \"dur\": 1000},\n"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1,"
        " \"tid\": 1, \"ts\": 200, \"dur\": 10, \"args\": {\"correlation\": 7}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7,"
        " \"ts\": 300, \"dur\": 50, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": 7}}"
        "\n]}\n",
        rank, (long long)base_ns, step);
    test_write_file(path.data, text.data, text.size);
    kino__buffer_deinit(&path);
    kino__buffer_deinit(&text);
}

static kino_cell first_cell(kino_run *run, const char *sql)
{
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    REQUIRE(kino_run_query(run, sql, NULL, &rows, NULL) == KINO_OK);
    REQUIRE(kino_rows_next(rows, &cells, NULL) == KINO_OK && cells);
    kino_cell cell = cells[0];
    kino_rows_free(rows);
    return cell;
}

/* The second trace began 5 us later than the first: its step starts at 5000 on the common clock. */
TEST(released_traces_come_back_on_the_common_clock)
{
    REQUIRE(mkdir(test_tmp("run"), 0700) == 0);
    write_rank(test_tmp("run"), 0, 1000000000000000000, 1);
    write_rank(test_tmp("run"), 1, 1000000000000005000, 1);
    kino_run *run = open_run(test_tmp("run"), 1, 1);
    CHECK_EQ(count_released(run), 1);
    kino_cell ts = first_cell(run, "SELECT ts FROM event WHERE rank = 1 AND name = 'gemm'");
    CHECK_EQ(ts.value.integer, 5000 + (300 - 100) * 1000);
    kino_run_free(run);
}

/* One step in each trace: whether the last one is cut off depends on whether they are the same. */
TEST(a_trace_alone_in_memory_knows_the_steps_of_the_others)
{
    static const char *const names[] = {"temporal-breakdown", "idle-time", "kernel-breakdown",
                                        "comm-overlap"};
    for (int second = 1; second <= 2; second++) {
        const char *folder = test_tmp(second == 1 ? "same" : "other");
        REQUIRE(mkdir(folder, 0700) == 0);
        write_rank(folder, 0, 1000000000000000000, 1);
        write_rank(folder, 1, 1000000000000000000, second);
        kino_run *whole = open_run(folder, 0, 1), *limited = open_run(folder, 1, 1);
        CHECK_EQ(limited->run.steps.has_several, second == 2);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            check_same(analysis_text(limited, names[i], NULL, 1),
                       analysis_text(whole, names[i], NULL, 1), names[i]);
        kino_run_free(limited);
        kino_run_free(whole);
    }
}

/* -- files that change meanwhile -- */

static void check_fails(kino_run *run, const char *want)
{
    kino_result *result = NULL;
    kino_report *report = NULL;
    kino_rows *rows = NULL;
    kino_error err;
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    kino_report_options how = KINO_REPORT_OPTIONS_INIT;
    options.jobs = how.jobs = 1;
    how.alone = true;
    CHECK_EQ(kino_run_analyze(run, "completeness", &options, &result, &err), KINO_IO);
    CHECK_STR(err.message, want);
    CHECK_EQ(kino_run_report(run, &how, &report, &err), KINO_IO);
    CHECK_STR(err.message, want);
    CHECK_EQ(kino_run_query(run, "SELECT 1 FROM event", NULL, &rows, &err), KINO_IO);
    CHECK_STR(err.message, want);
    CHECK(!result && !report && !rows);
}

TEST(a_file_that_is_gone_when_it_is_needed_again_is_named)
{
    write_demo(test_tmp("run"), ".json");
    kino__buffer path = {0}, want = {0};
    kino__buffer_printf(&path, "%s/rank-2.json%c", test_tmp("run"), 0);
    kino_run *run = open_run(test_tmp("run"), 1, 1);
    REQUIRE(unlink(path.data) == 0);
    kino__buffer_printf(&want, "cannot read '%s' again: no such file or directory%c", path.data, 0);
    check_fails(run, want.data);
    kino_run_free(run);
    kino__buffer_deinit(&path);
    kino__buffer_deinit(&want);
}

TEST(a_file_that_has_changed_when_it_is_needed_again_is_named)
{
    write_demo(test_tmp("run"), ".json");
    kino__buffer path = {0}, want = {0};
    kino__buffer_printf(&path, "%s/rank-2.json%c", test_tmp("run"), 0);
    kino__buffer_printf(&want, "'%s' changed while it was being read%c", path.data, 0);
    kino_run *run = open_run(test_tmp("run"), 1, 1);
    REQUIRE(unlink(path.data) == 0); /* another file of this name, not the mapped one shorter */
    write_rank(test_tmp("run"), 2, 0, 1);
    check_fails(run, want.data);
    kino_run_free(run);
    kino__buffer_deinit(&path);
    kino__buffer_deinit(&want);
}
