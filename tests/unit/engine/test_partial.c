/* test_partial.c - an analysis in pieces: the answer of the whole run, whatever is mapped where and
 * merged in which order; and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/partial.h>

#include "base/str.h"
#include "unit/test.h"
#include "wire/bytes.h"
#include "wire/crc32c.h"

enum { RANKS = 4, MAGIC_SIZE = 8, SUM_AT = 12, HEAD_SIZE = 16 };

static const char *paths[RANKS];

static void write_demo(void)
{
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    options.ranks = RANKS;
    options.steps = 2;
    options.bytes_per_rank = 60000;
    REQUIRE(kino_demo_write(test_tmp("run"), &options, NULL) == KINO_OK);
    static char texts[RANKS][512];
    for (int i = 0; i < RANKS; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "%s/rank-%d.json", test_tmp("run"), i);
        paths[i] = texts[i];
    }
}

static kino_run *open_paths(const char *const *files, size_t count)
{
    kino_run *run = NULL;
    REQUIRE(kino_run_open(files, count, NULL, &run, NULL) == KINO_OK);
    return run;
}

/* -- bytes and texts -- */

static bool add_bytes(void *context, const char *bytes, size_t size)
{
    kino__buffer_add(context, (kino_str){bytes, size});
    return true;
}

static kino__buffer save(kino_partial *partial)
{
    kino__buffer bytes = {0};
    REQUIRE(kino_partial_save(partial, add_bytes, &bytes, NULL) == KINO_OK);
    return bytes;
}

/* The same after a journey as bytes. */
static kino_partial *through_bytes(kino_partial *partial)
{
    kino__buffer bytes = save(partial);
    kino_partial *loaded = NULL;
    kino_error err;
    if (kino_partial_load(bytes.data, bytes.size, &loaded, &err) != KINO_OK)
        printf("    %s\n", err.message);
    REQUIRE(loaded != NULL);
    kino__buffer_deinit(&bytes);
    kino_partial_free(partial);
    return loaded;
}

static kino__buffer text_of(kino_result *result)
{
    kino_render_options options = KINO_RENDER_OPTIONS_INIT;
    kino__buffer text = {0};
    options.format = "json";
    REQUIRE(kino_render_result(result, &options, add_bytes, &text, NULL) == KINO_OK);
    kino__buffer_add(&text, (kino_str){"", 1});
    kino_result_free(result);
    return text;
}

static kino__buffer finish(kino_partial *partial)
{
    kino_result *result = NULL;
    kino_error err;
    if (kino_partial_finish(partial, &result, &err) != KINO_OK)
        printf("    %s\n", err.message);
    REQUIRE(result != NULL);
    kino_partial_free(partial);
    return text_of(result);
}

static kino__buffer analyze(kino_run *run, const char *name, const kino_analyze_options *options)
{
    kino_result *result = NULL;
    REQUIRE(kino_run_analyze(run, name, options, &result, NULL) == KINO_OK);
    return text_of(result);
}

/* Takes both. */
static void check_same(kino__buffer got, kino__buffer want, const char *what)
{
    if (!CHECK(got.size == want.size && memcmp(got.data, want.data, want.size) == 0))
        printf("    %s differs\n", what);
    kino__buffer_deinit(&got);
    kino__buffer_deinit(&want);
}

/* -- nodes: a run of one trace each, joined to the facts of all -- */

static kino_partial *facts_of(kino_run *run)
{
    kino_partial *facts = NULL;
    REQUIRE(kino_run_facts(run, &facts, NULL) == KINO_OK);
    return facts;
}

static void join_all(kino_run *const *runs, const int *order, int count)
{
    kino_partial *all = through_bytes(facts_of(runs[order[0]]));
    for (int i = 1; i < count; i++) {
        kino_partial *facts = through_bytes(facts_of(runs[order[i]]));
        REQUIRE(kino_partial_merge(all, facts, NULL) == KINO_OK);
        kino_partial_free(facts);
    }
    all = through_bytes(all);
    for (int i = 0; i < count; i++)
        REQUIRE(kino_run_join(runs[i], all, NULL) == KINO_OK);
    kino_partial_free(all);
}

static kino_partial *map(kino_run *run, const char *name, const kino_analyze_options *options)
{
    kino_partial *partial = NULL;
    kino_error err;
    if (kino_run_map(run, name, options, &partial, &err) != KINO_OK)
        printf("    %s: %s\n", name, err.message);
    REQUIRE(partial != NULL);
    return partial;
}

/* Two pairs, merged on the way, then both. */
static kino__buffer in_pieces(kino_run *const *runs, const int *order, const char *name,
                              const kino_analyze_options *options)
{
    kino_partial *pairs[2];
    for (int i = 0; i < 2; i++) {
        pairs[i] = through_bytes(map(runs[order[2 * i]], name, options));
        kino_partial *more = through_bytes(map(runs[order[2 * i + 1]], name, options));
        REQUIRE(kino_partial_merge(pairs[i], more, NULL) == KINO_OK);
        kino_partial_free(more);
        pairs[i] = through_bytes(pairs[i]);
    }
    REQUIRE(kino_partial_merge(pairs[0], pairs[1], NULL) == KINO_OK);
    kino_partial_free(pairs[1]);
    return finish(through_bytes(pairs[0]));
}

static const int orders[][RANKS] = {{0, 1, 2, 3}, {2, 0, 3, 1}, {3, 2, 1, 0}, {1, 3, 0, 2}};

static void check_analysis(kino_run *const *runs, kino_run *whole, const char *name,
                           const char *compat)
{
    kino_param param = {"compat", compat};
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    options.jobs = 1;
    options.params = &param;
    options.param_count = compat != NULL;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        check_same(in_pieces(runs, orders[i], name, &options), analyze(whole, name, &options),
                   name);
}

TEST(every_analysis_in_pieces_gives_the_answer_of_the_whole_run)
{
    kino_run *runs[RANKS], *whole;
    kino_analysis_info info = KINO_ANALYSIS_INFO_INIT;
    size_t count = 0;
    write_demo();
    whole = open_paths(paths, RANKS);
    for (int i = 0; i < RANKS; i++)
        runs[i] = open_paths(&paths[i], 1);
    join_all(runs, orders[1], RANKS);
    for (; kino_analysis_describe(count, &info); count++) {
        check_analysis(runs, whole, info.name, NULL);
        for (size_t k = 0; info.compat[k]; k++)
            check_analysis(runs, whole, info.name, info.compat[k]);
    }
    CHECK(count > 30);
    for (int i = 0; i < RANKS; i++)
        kino_run_free(runs[i]);
    kino_run_free(whole);
}

/* One step each, of different numbers: together they are several, and HTA leaves out the last one
 * of each trace; alone none is. */
static const char *write_step(int rank)
{
    char name[32], text[512];
    (void)snprintf(name, sizeof name, "rank-%d.json", rank);
    int size = snprintf(
        text, sizeof text,
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\","
        "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":90},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
        "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":7}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":20,"
        "\"args\":{\"stream\":7,\"device\":0,\"correlation\":7}}]}",
        rank + 1, 100, 110, 120);
    test_write_file(test_tmp(name), text, (size_t)size);
    return test_tmp(name);
}

TEST(facts_tell_a_trace_whether_the_steps_of_all_differ)
{
    const char *files[] = {write_step(0), write_step(1)};
    static const int order[] = {1, 0};
    const char *name = "temporal-breakdown";
    kino_run *runs[] = {open_paths(&files[0], 1), open_paths(&files[1], 1)};
    kino_run *whole = open_paths(files, 2), *first, *alone = open_paths(files, 1);
    uint32_t zero = 0;
    join_all(runs, order, 2);
    kino_partial *all = map(runs[1], name, NULL), *more = map(runs[0], name, NULL);
    REQUIRE(kino_partial_merge(all, more, NULL) == KINO_OK);
    kino_partial_free(more);
    check_same(finish(all), analyze(whole, name, NULL), name);
    /* the kernel counts in the trace alone, and does not in the run */
    kino_param hta = {"compat", "hta"};
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    options.params = &hta;
    options.param_count = 1;
    REQUIRE(kino_run_select(whole, &zero, 1, &first, NULL) == KINO_OK);
    kino__buffer in_run = analyze(first, name, &options),
                 by_itself = analyze(alone, name, &options);
    CHECK(strstr(in_run.data, "\"rows\"") && strstr(by_itself.data, "\"rows\""));
    CHECK(strcmp(strstr(in_run.data, "\"rows\""), strstr(by_itself.data, "\"rows\"")) != 0);
    kino__buffer_deinit(&by_itself);
    kino__buffer part = analyze(runs[0], name, &options);
    CHECK_STR(strstr(part.data, "\"rows\""), strstr(in_run.data, "\"rows\""));
    kino__buffer_deinit(&part);
    kino__buffer_deinit(&in_run);
    kino_run_free(first);
    kino_run_free(alone);
    kino_run_free(whole);
    kino_run_free(runs[0]);
    kino_run_free(runs[1]);
}

TEST_THREADS(parts_of_an_open_run_need_no_facts)
{
    static const uint32_t some[] = {1, 3}, others[] = {0, 2};
    kino_run *whole, *left, *right;
    write_demo();
    whole = open_paths(paths, RANKS);
    REQUIRE(kino_run_select(whole, some, 2, &left, NULL) == KINO_OK);
    REQUIRE(kino_run_select(whole, others, 2, &right, NULL) == KINO_OK);
    kino_partial *all = map(left, "kernels", NULL), *more = map(right, "kernels", NULL);
    REQUIRE(kino_partial_merge(all, more, NULL) == KINO_OK);
    kino_partial_free(more);
    check_same(finish(all), analyze(whole, "kernels", NULL), "kernels");
    check_same(finish(map(whole, "steps", NULL)), analyze(whole, "steps", NULL), "steps");
    kino_run_free(left);
    kino_run_free(right);
    kino_run_free(whole);
}

TEST(runs_larger_than_memory_are_mapped_as_others)
{
    kino_load_options options = KINO_LOAD_OPTIONS_INIT;
    kino_run *whole, *tight = NULL;
    write_demo();
    options.memory = 1;
    options.jobs = 1;
    whole = open_paths(paths, RANKS);
    REQUIRE(kino_run_open(paths, RANKS, &options, &tight, NULL) == KINO_OK);
    check_same(finish(through_bytes(map(tight, "kernels", NULL))), analyze(whole, "kernels", NULL),
               "kernels");
    kino_run_free(tight);
    kino_run_free(whole);
}

TEST(missing_trace_is_a_note)
{
    static const uint32_t some[] = {0, 1, 3};
    kino_run *whole, *part;
    write_demo();
    whole = open_paths(paths, RANKS);
    REQUIRE(kino_run_select(whole, some, 3, &part, NULL) == KINO_OK);
    kino__buffer text = finish(map(part, "kernels", NULL));
    CHECK(strstr(text.data, "1 of the run's 4 traces is missing") != NULL);
    kino__buffer_deinit(&text);
    kino_run_free(part);
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

TEST(partials_that_do_not_belong_together_are_refused)
{
    kino_error err;
    write_demo();
    kino_run *first = open_paths(&paths[0], 1), *second = open_paths(&paths[1], 1);
    kino_param param = {"num_kernels", "2"};
    kino_analyze_options options = KINO_ANALYZE_OPTIONS_INIT;
    options.params = &param;
    options.param_count = 1;
    kino_partial *one = map(first, "kernel-breakdown", NULL),
                 *two = map(second, "kernel-breakdown", NULL);
    kino_partial *other = map(first, "kernels", NULL);
    kino_partial *fewer = map(first, "kernel-breakdown", &options);
    check_refused(kino_partial_merge(one, two, &err), KINO_ARGUMENT, &err, "different runs");
    check_refused(kino_partial_merge(one, other, &err), KINO_ARGUMENT, &err, "differ in analysis");
    check_refused(kino_partial_merge(one, fewer, &err), KINO_ARGUMENT, &err, "differ in analysis");
    check_refused(kino_partial_merge(one, one, &err), KINO_ARGUMENT, &err, "trace 0 is in both");
    kino_partial *facts = facts_of(first);
    kino_result *result;
    check_refused(kino_partial_merge(facts, facts, &err), KINO_ARGUMENT, &err, "are in both");
    check_refused(kino_partial_finish(facts, &result, &err), KINO_ARGUMENT, &err, "no answer");
    check_refused(kino_run_join(first, facts, &err), KINO_ARGUMENT, &err, "in use already");
    kino_run *third = open_paths(&paths[2], 1);
    check_refused(kino_run_join(third, facts, &err), KINO_NOT_FOUND, &err, "not among the facts");
    check_refused(kino_run_join(third, one, &err), KINO_ARGUMENT, &err, "not facts");
    kino_partial_free(facts);
    check_refused(kino_run_map(third, "nothing", NULL, &facts, &err), KINO_NOT_FOUND, &err,
                  "unknown analysis");
    kino_partial_free(one);
    kino_partial_free(two);
    kino_partial_free(other);
    kino_partial_free(fewer);
    kino_run_free(first);
    kino_run_free(second);
    kino_run_free(third);
}

static kino__buffer saved_kernels(void)
{
    write_demo();
    kino_run *run = open_paths(&paths[0], 1);
    kino_partial *partial = map(run, "kernel-types", NULL);
    kino__buffer bytes = save(partial);
    kino_partial_free(partial);
    kino_run_free(run);
    return bytes;
}

TEST(damaged_bytes_of_a_partial_are_refused)
{
    kino__buffer bytes = saved_kernels();
    kino_partial *partial;
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] = (char)(bytes.data[i] ^ 1);
        CHECK_EQ(kino_partial_load(bytes.data, bytes.size, &partial, NULL), KINO_FORMAT);
        bytes.data[i] = (char)(bytes.data[i] ^ 1);
        CHECK_EQ(kino_partial_load(bytes.data, i, &partial, NULL), KINO_FORMAT);
    }
    REQUIRE(kino_partial_load(bytes.data, bytes.size, &partial, NULL) == KINO_OK);
    kino_partial_free(partial);
    kino__buffer_deinit(&bytes);
}

static kino_status load_changed(kino__buffer *bytes, kino_error *err)
{
    kino_partial *partial = NULL;
    uint32_t sum = kino__crc32c(0, bytes->data + HEAD_SIZE, bytes->size - HEAD_SIZE);
    kino__put_le((unsigned char *)bytes->data + SUM_AT, sum, 4);
    kino_status st = kino_partial_load(bytes->data, bytes->size, &partial, err);
    kino_partial_free(partial);
    return st;
}

TEST(bytes_of_others_are_refused_by_name)
{
    kino__buffer bytes = saved_kernels();
    kino_partial *partial;
    kino_error err;
    check_refused(kino_partial_load("{}", 2, &partial, &err), KINO_FORMAT, &err,
                  "not a partial result of Kino");
    bytes.data[HEAD_SIZE + 1] = '9'; /* the version of Kino, behind its length */
    check_refused(load_changed(&bytes, &err), KINO_FORMAT, &err, "this is Kino");
    bytes.data[HEAD_SIZE + 1] = kino_version()[0];
    size_t name = HEAD_SIZE + 1 + strlen(kino_version()) + 1;
    REQUIRE(memcmp(bytes.data + name, "kernel-types", 12) == 0);
    bytes.data[name] = 'x';
    check_refused(load_changed(&bytes, &err), KINO_FORMAT, &err, "unknown analysis 'xernel-types'");
    bytes.data[name] = 'k';
    CHECK_EQ(load_changed(&bytes, &err), KINO_OK);
    bytes.data[MAGIC_SIZE] = 2;
    check_refused(load_changed(&bytes, &err), KINO_FORMAT, &err, "in format 2");
    kino__buffer_deinit(&bytes);
}
