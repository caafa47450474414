/* test_summary.c - summaries: made of some traces each, they answer as the run of all traces does,
 * byte for byte; and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/summary.h>

#include "base/str.h"
#include "engine/summary.h"
#include "unit/failing_heap.h"
#include "unit/test.h"
#include "wire/bytes.h"
#include "wire/crc32c.h"

enum { RANKS = 4, SUM_AT = 12, MOST_QUESTIONS = 256 };

static const char *paths[RANKS];

static void write_demo(void)
{
    static char texts[RANKS][512];
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    options.ranks = RANKS;
    options.steps = 2;
    options.bytes_per_rank = 60000;
    REQUIRE(kino_demo_write(test_tmp("run"), &options, NULL) == KINO_OK);
    for (int i = 0; i < RANKS; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%s/rank-%d.json", test_tmp("run"), i);
        paths[i] = texts[i];
    }
}

static kino_run *open_as(const char *label, const char *const *files, size_t count)
{
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    kino_run *run = NULL;
    options.label = label;
    REQUIRE(kino_run_open(files, count, &options, &run, NULL) == KINO_OK);
    return run;
}

/* -- bytes -- */

static bool add_bytes(void *context, const char *bytes, size_t size)
{
    kino__buffer_add(context, (kino_str){bytes, size});
    return true;
}

static kino__buffer save(kino_summary *summary)
{
    kino__buffer bytes = {0};
    REQUIRE(kino_summary_save(summary, add_bytes, &bytes, NULL) == KINO_OK);
    return bytes;
}

static kino_summary *through_bytes(kino_summary *summary)
{
    kino__buffer bytes = save(summary);
    kino_summary *loaded = NULL;
    kino_error err;
    if (kino_summary_load(bytes.data, bytes.size, &loaded, &err) != KINO_OK)
        printf("    %s\n", err.message);
    REQUIRE(loaded != NULL);
    kino__buffer_deinit(&bytes);
    kino_summary_free(summary);
    return loaded;
}

/* Everything in every mode. */
static kino_summary *summarize(const char *label, const char *const *files, size_t count)
{
    static kino_param compat[MOST_QUESTIONS];
    static kino_summary_question questions[MOST_QUESTIONS];
    kino_summarize_options options = KINO_SUMMARIZE_OPTIONS_INIT;
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    kino_summary *summary = NULL;
    for (size_t i = 0; kino_analysis_describe(i, &info); i++) {
        for (size_t k = 0; info.compat[k]; k++) {
            size_t at = options.question_count++;
            REQUIRE(at < MOST_QUESTIONS);
            compat[at] = (kino_param){"compat", info.compat[k]};
            questions[at] = (kino_summary_question){info.name, &compat[at], 1};
        }
    }
    options.usual = options.all = true;
    options.questions = questions;
    kino_run *run = open_as(label, files, count);
    kino_error err;
    if (kino_run_summarize(run, &options, &summary, &err) != KINO_OK)
        printf("    %s\n", err.message);
    REQUIRE(summary != NULL);
    kino_run_free(run);
    return through_bytes(summary);
}

static kino_run *open_summaries(kino_summary *const *summaries, size_t count)
{
    kino_run *run = NULL;
    kino_error err;
    if (kino_summaries_open(summaries, count, NULL, &run, &err) != KINO_OK)
        printf("    %s\n", err.message);
    REQUIRE(run != NULL);
    return run;
}

/* -- answers as text -- */

static kino__buffer analyze(kino_run *run, const char *name, const char *compat)
{
    kino_param param = {"compat", compat};
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    kino_render_options render = KINO_RENDER_OPTIONS_INIT;
    kino__buffer text = {0};
    kino_result *result = NULL;
    kino_error err;
    options.params = &param;
    options.param_count = compat != NULL;
    render.format = "json";
    if (kino_run_analyze(run, name, &options, &result, &err) != KINO_OK)
        printf("    %s: %s\n", name, err.message);
    REQUIRE(result != NULL);
    REQUIRE(kino_render_result(result, &render, add_bytes, &text, NULL) == KINO_OK);
    kino_result_free(result);
    return text;
}

static kino__buffer report_of(kino_run *run, const char *format)
{
    kino_render_options render = KINO_RENDER_OPTIONS_INIT;
    kino__buffer text = {0};
    kino_report *report = NULL;
    kino_error err;
    render.format = format;
    if (kino_run_report(run, NULL, &report, &err) != KINO_OK)
        printf("    %s\n", err.message);
    REQUIRE(report != NULL);
    REQUIRE(kino_render_report(report, &render, add_bytes, &text, NULL) == KINO_OK);
    kino_report_free(report);
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

static void check_all(kino_run *got, kino_run *want)
{
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    size_t count = 0;
    for (; kino_analysis_describe(count, &info); count++) {
        check_same(analyze(got, info.name, NULL), analyze(want, info.name, NULL), info.name);
        for (size_t k = 0; info.compat[k]; k++)
            check_same(analyze(got, info.name, info.compat[k]),
                       analyze(want, info.name, info.compat[k]), info.name);
    }
    CHECK(count > 30);
    check_same(report_of(got, "json"), report_of(want, "json"), "report");
    check_same(report_of(got, "table"), report_of(want, "table"), "report");
}

TEST(summaries_answer_every_analysis_as_the_run_does)
{
    write_demo();
    const char *const outer[] = {paths[3], paths[0]}, *const inner[] = {paths[1], paths[2]};
    kino_run *whole = open_as("run", paths, RANKS);
    kino_summary *parts[] = {summarize("run", inner, 2), summarize("run", outer, 2)};
    kino_run *run = open_summaries(parts, 2);
    check_all(run, whole);
    kino_run_free(run);
    kino_run_free(whole);
}

/* Each gets its places and settles. */
static void settle_all(kino_summary **parts, size_t count)
{
    enum { MOST = 8 };
    kino_str keys[MOST], places[MOST];
    kino__buffer bytes[MOST] = {{0}};
    for (size_t i = 0; i < count; i++) {
        REQUIRE(kino_summary_keys(parts[i], add_bytes, &bytes[i], NULL) == KINO_OK);
        keys[i] = kino__buffer_str(&bytes[i]);
    }
    REQUIRE(kino_summaries_place(keys, count, places, NULL) == KINO_OK);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(kino_summary_settle(parts[i], places[i], NULL) == KINO_OK);
        parts[i] = through_bytes(parts[i]);
        kino__buffer_deinit(&bytes[i]);
        free((char *)(uintptr_t)places[i].data);
    }
}

/* All go into the first one, the last ones first. */
static kino_run *merge_all(kino_summary **parts, size_t count)
{
    settle_all(parts, count);
    while (--count > 0)
        REQUIRE(kino_summary_add(parts[0], parts[count], NULL) == KINO_OK);
    parts[0] = through_bytes(parts[0]);
    return open_summaries(parts, 1);
}

TEST(summaries_merged_on_the_way_answer_as_the_run_does)
{
    write_demo();
    const char *const outer[] = {paths[3], paths[0]};
    kino_run *whole = open_as("run", paths, RANKS);
    kino_summary *parts[] = {summarize("run", outer, 2), summarize("run", &paths[2], 1),
                             summarize("run", &paths[1], 1)};
    kino_run *run = merge_all(parts, 3);
    check_all(run, whole);
    kino_run_free(run);
    kino_run_free(whole);
}

TEST(one_trace_is_summarized_as_well)
{
    write_demo();
    kino_run *whole = open_as("run", &paths[2], 1);
    kino_summary *summary = summarize("run", &paths[2], 1);
    kino_run *run = open_summaries(&summary, 1);
    check_all(run, whole);
    kino_run_free(run);
    kino_run_free(whole);
}

/* One step each, of different numbers: only together are they several, and HTA then leaves out the
 * last one of each trace. The second file is a launcher's, which is no rank. */
static void write_small(const char *path, int rank, const char *role)
{
    char text[700];
    int size = snprintf(
        text, sizeof text,
        "{\"baseTimeNanoseconds\":%d000000000,\"kino_process\":{\"role\":\"%s\"},\"traceEvents\":["
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\","
        "\"pid\":1,\"tid\":1,\"ts\":100,\"dur\":90},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
        "\"ts\":110,\"dur\":5,\"args\":{\"correlation\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":120,\"dur\":20,"
        "\"args\":{\"stream\":7,\"device\":0,\"correlation\":7}}]}",
        1700000000 + rank, role, rank + 1);
    test_write_file(path, text, (size_t)size);
}

TEST(summaries_know_what_depends_on_the_other_traces)
{
    char texts[3][512];
    const char *files[] = {texts[0], texts[1], texts[2]};
    for (int i = 0; i < 3; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%s/%d.json", test_tmp("."), i);
        write_small(files[i], i, i == 1 ? "launcher" : "rank");
    }
    kino_run *whole = open_as("run", files, 3);
    kino_summary *parts[3];
    for (int i = 0; i < 3; i++)
        parts[2 - i] = summarize("run", &files[i], 1);
    kino_run *run = open_summaries(parts, 3);
    check_all(run, whole);
    kino_run_free(run);
    for (int i = 0; i < 3; i++)
        parts[2 - i] = summarize("run", &files[i], 1);
    run = merge_all(parts, 3);
    check_all(run, whole);
    kino_run_free(run);
    kino_run_free(whole);
}

/* -- what is refused -- */

static void check_refused(kino_status got, kino_status want, const kino_error *err,
                          const char *message)
{
    CHECK_EQ(got, want);
    if (!CHECK(strstr(err->message, message) != NULL))
        printf("    %s\n", err->message);
}

static kino_summary *report_only(const char *path)
{
    kino_summarize_options options = KINO_SUMMARIZE_OPTIONS_INIT;
    kino_run *run = open_as("run", &path, 1);
    kino_summary *summary = NULL;
    options.report = true;
    REQUIRE(kino_run_summarize(run, &options, &summary, NULL) == KINO_OK);
    kino_run_free(run);
    return summary;
}

TEST(summaries_refuse_what_they_do_not_have)
{
    kino_error err;
    kino_result *result;
    kino_rows *rows;
    kino_summary *summary;
    write_demo();
    kino_summary *first = through_bytes(report_only(paths[0])),
                 *same = through_bytes(report_only(paths[0]));
    kino_run *run = NULL;
    check_refused(kino_summaries_open((kino_summary *[]){first, same}, 2, NULL, &run, &err),
                  KINO_ARGUMENT, &err, "is in two summaries");
    first = through_bytes(report_only(paths[0]));
    run = open_summaries(&first, 1);
    check_refused(kino_run_analyze(run, "call-graph", NULL, &result, &err), KINO_NOT_FOUND, &err,
                  "cannot answer 'call-graph'");
    check_refused(kino_run_query(run, "SELECT ts FROM events", NULL, &rows, &err), KINO_ARGUMENT,
                  &err, "has no events");
    check_refused(kino_run_summarize(run, NULL, &summary, &err), KINO_ARGUMENT, &err,
                  "has no events");
    kino_run_free(run);
}

TEST(damaged_bytes_of_a_summary_are_refused)
{
    kino_summary *loaded, *summary;
    kino_error err;
    write_demo();
    summary = report_only(paths[0]);
    kino__buffer bytes = save(summary);
    kino_summary_free(summary);
    for (size_t i = 0; i < bytes.size; i += i < 64 ? 1 : 97) {
        bytes.data[i] = (char)(bytes.data[i] ^ 1);
        CHECK_EQ(kino_summary_load(bytes.data, bytes.size, &loaded, NULL), KINO_FORMAT);
        bytes.data[i] = (char)(bytes.data[i] ^ 1);
        CHECK_EQ(kino_summary_load(bytes.data, i, &loaded, NULL), KINO_FORMAT);
    }
    bytes.data[8] = 2;
    check_refused(kino_summary_load(bytes.data, bytes.size, &loaded, &err), KINO_FORMAT, &err,
                  "in format 2");
    bytes.data[8] = 1;
    bytes.data[16 + 7] = 1; /* says that its body is much larger */
    uint32_t sum = kino__crc32c(0, bytes.data + SUM_AT + 4, bytes.size - SUM_AT - 4);
    kino__put_le((unsigned char *)bytes.data + SUM_AT, sum, 4);
    check_refused(kino_summary_load(bytes.data, bytes.size, &loaded, &err), KINO_FORMAT, &err,
                  "damaged");
    kino__buffer_deinit(&bytes);
}

/* -- parts of a folder -- */

static kino_run *open_part(unsigned part, unsigned parts)
{
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    const char *folder = test_tmp("run");
    kino_run *run = NULL;
    options.part = part;
    options.parts = parts;
    REQUIRE(kino_run_open(&folder, 1, &options, &run, NULL) == KINO_OK);
    return run;
}

TEST(parts_of_a_folder_are_each_trace_once)
{
    write_demo();
    for (unsigned parts = 1; parts <= 6; parts++) {
        int seen[RANKS] = {0};
        size_t most = 0;
        for (unsigned part = 0; part < parts; part++) {
            kino_run *run = open_part(part, parts);
            kino_trace_info info = KINO_TRACE_INFO_INIT;
            size_t count = 0;
            for (; kino_run_trace(run, count, &info); count++)
                seen[info.rank]++;
            most = count > most ? count : most;
            kino_run_free(run);
        }
        for (int i = 0; i < RANKS; i++)
            CHECK_EQ(seen[i], 1);
        CHECK_EQ(most, (RANKS + parts - 1) / parts);
    }
}

TEST(missing_part_is_said_or_refused)
{
    kino_load_options strict = KINO_LOAD_OPTIONS_INIT;
    kino_summarize_options options = KINO_SUMMARIZE_OPTIONS_INIT;
    kino_summary *first = NULL;
    kino_error err;
    write_demo();
    options.report = true;
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        kino_run *part = open_part(0, 2), *run = NULL;
        REQUIRE(kino_run_summarize(part, &options, &first, NULL) == KINO_OK);
        kino_run_free(part);
        strict.require_all = is_strict;
        kino_status st = kino_summaries_open(&first, 1, &strict, &run, &err);
        if (is_strict) {
            check_refused(st, KINO_NOT_FOUND, &err, "part 2 of 2 is missing");
            continue;
        }
        REQUIRE(run != NULL);
        CHECK(strstr(kino_run_warning(run, 0), "part 2 of 2 is missing") != NULL);
        kino_run_free(run);
    }
}

/* The one there is has part 2: of 6, or of as many as can be said. */
static void check_missing(uint32_t parts, const char *before, const char *behind)
{
    kino_summarize_options options = KINO_SUMMARIZE_OPTIONS_INIT;
    kino_summary *summary = NULL;
    kino_run *part = open_part(1, 2), *run = NULL;
    options.report = true;
    REQUIRE(kino_run_summarize(part, &options, &summary, NULL) == KINO_OK);
    kino_run_free(part);
    summary->parts = parts;
    REQUIRE(kino_summaries_open(&summary, 1, NULL, &run, NULL) == KINO_OK);
    CHECK(strstr(kino_run_warning(run, 0), before) != NULL);
    CHECK(strstr(kino_run_warning(run, 1), behind) != NULL);
    CHECK(!kino_run_warning(run, 2));
    kino_run_free(run);
}

TEST(missing_parts_are_one_line_however_many_there_are)
{
    write_demo();
    check_missing(6, "part 1 of 6 is missing: its traces are left out",
                  "parts 3 to 6 of 6 are missing: their traces are left out");
    check_missing(UINT32_MAX, "part 1 of 4294967295 is missing",
                  "parts 3 to 4294967295 of 4294967295 are missing");
}

/* -- memory -- */

static kino_status load_and_add(void *context, kino_error *err)
{
    const kino__buffer *bytes = context;
    kino_summary *into = NULL, *from;
    kino_status st = kino_summary_load(bytes[0].data, bytes[0].size, &into, err);
    if (st == KINO_OK)
        st = kino_summary_load(bytes[1].data, bytes[1].size, &from, err);
    if (st == KINO_OK)
        st = kino_summary_add(into, from, err);
    kino_summary_free(into);
    return st;
}

/* As of more traces, each apart from the others. */
static void add_pieces(kino_summary *summary)
{
    enum { MORE = 40 };
    for (size_t i = 0; i < summary->answers.count; i++)
        for (uint32_t k = 1; k <= MORE; k++) {
            kino__kept_piece *slot = kino__vec_add(&summary->answers.items[i].pieces);
            REQUIRE(slot != NULL);
            *slot = summary->answers.items[i].pieces.items[0];
            slot->trace = 2 * k + 1;
        }
}

/* The first one has two answers that the other one lacks, before those that both have. */
TEST(summaries_put_together_without_memory_are_whole_or_refused)
{
    kino__buffer bytes[2];
    write_demo();
    kino_summary *parts[] = {report_only(paths[0]), report_only(paths[1])};
    settle_all(parts, 2);
    REQUIRE(parts[1]->answers.count > 4);
    add_pieces(parts[0]);
    parts[0]->whole.traces = parts[1]->whole.traces = 100;
    for (size_t i = 0; i < 2; i++) {
        kino__kept_answer *one = &parts[1]->answers.items[i];
        one->head = (kino_str){one->head.data, one->head.size - 1};
    }
    bytes[0] = save(parts[1]);
    bytes[1] = save(parts[0]);
    CHECK(failing_heap_walk(load_and_add, bytes) > 50);
    for (size_t i = 0; i < 2; i++) {
        kino_summary_free(parts[i]);
        kino__buffer_deinit(&bytes[i]);
    }
}
