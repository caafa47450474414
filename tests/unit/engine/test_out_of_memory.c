/* test_out_of_memory.c - the n-th allocation fails, for every n: of reading, linking, asking,
 * analyzing, reporting. Each time the operation says so, or goes without, and what was there stays
 * as it was. */
#include <stdlib.h>

#include <kino/analysis.h>
#include <kino/engine.h>

#include "unit/failing_heap.h"
#include "unit/test.h"

/* -- reading -- */

static kino_status open_and_close(void *path, kino_error *err)
{
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    options.jobs = 1;
    const char *paths[] = {path};
    kino_run *run = NULL;
    kino_status st = kino_run_open(paths, 1, &options, &run, err);
    CHECK(st == KINO_OK ? run != NULL : run == NULL);
    kino_run_free(run);
    return st;
}

/* A small run of two ranks in a folder of the test. */
static const char *make_run(const char *suffix)
{
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    static char path[600];
    kino_error err;
    (void)snprintf(path, sizeof path, "%s", test_tmp("run"));
    options.plant = "clean";
    options.ranks = 2;
    options.steps = 3;
    options.suffix = suffix;
    REQUIRE_EQ(kino_demo_write(path, &options, &err), KINO_OK);
    return path;
}

TEST(out_of_memory_reading_json)
{
    CHECK(failing_heap_walk(open_and_close, (void *)(uintptr_t)make_run(".json")) > 50);
}

TEST(out_of_memory_reading_gzip)
{
    CHECK(failing_heap_walk(open_and_close, (void *)(uintptr_t)make_run(".json.gz")) > 50);
}

static kino_run *open_run(void)
{
    const char *paths[] = {make_run(".json")};
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    options.jobs = 1;
    kino_run *run;
    kino_error err;
    REQUIRE_EQ(kino_run_open(paths, 1, &options, &run, &err), KINO_OK);
    return run;
}

TEST(out_of_memory_reading_a_kino_file)
{
    kino_run *run = open_run();
    kino_error err;
    kino_write_options options = KINO_WRITE_OPTIONS_INIT;
    options.format = "kino";
    REQUIRE_EQ(kino_run_write_folder(run, test_tmp("packed"), &options, &err), KINO_OK);
    kino_run_free(run);
    CHECK(failing_heap_walk(open_and_close, (void *)(uintptr_t)test_tmp("packed")) > 50);
}

/* -- asking -- */

typedef struct asking {
    kino_run *run;
    const char *text; /* SQL, or the name of an analysis */
} asking;

static kino_status ask(void *context, kino_error *err)
{
    const asking *a = context;
    kino_rows *rows = NULL;
    const kino_cell *cells = NULL;
    kino_status st = kino_run_query(a->run, a->text, NULL, &rows, err);
    do
        st = st == KINO_OK ? kino_rows_next(rows, &cells, err) : st;
    while (st == KINO_OK && cells);
    kino_rows_free(rows);
    return st;
}

TEST(out_of_memory_in_a_query)
{
    static const char *const statements[] = {
        "SELECT name, sum(dur) FROM event WHERE cat = 'kernel' GROUP BY name ORDER BY 2 DESC",
        "SELECT * FROM event ORDER BY ts LIMIT 20",
        "SELECT k.name, l.name, k.depth FROM event k JOIN event l ON l.id = k.parent LIMIT 20",
        "SELECT * FROM track",
        "SELECT rank, name FROM kernels() LIMIT 5",
    };
    asking a = {.run = open_run()};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        a.text = statements[i];
        CHECK(failing_heap_walk(ask, &a) > 5);
    }
    kino_run_free(a.run);
}

/* -- analyzing: from a run that nothing was asked of, so that links and models are made, too -- */

static kino_status analyze(void *context, kino_error *err)
{
    const asking *a = context;
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    kino_result *result = NULL;
    kino_status st = kino_run_analyze(a->run, a->text, &options, &result, err);
    CHECK(st == KINO_OK ? result != NULL : result == NULL);
    kino_result_free(result);
    return st == KINO_NOT_FOUND || st == KINO_ARGUMENT || st == KINO_UNAVAILABLE ? KINO_OK : st;
}

TEST(out_of_memory_in_every_analysis)
{
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    for (size_t i = 0; kino_analysis_describe(i, &info); i++) {
        asking a = {.run = open_run(), .text = info.name};
        CHECK(failing_heap_walk(analyze, &a) > 5);
        kino_run_free(a.run);
    }
}

static kino_status report(void *context, kino_error *err)
{
    kino_report *made = NULL;
    kino_status st = kino_run_report(context, NULL, &made, err);
    kino_report_free(made);
    return st;
}

TEST(out_of_memory_in_a_report)
{
    kino_run *run = open_run();
    CHECK(failing_heap_walk(report, run) > 50);
    kino_run_free(run);
}
