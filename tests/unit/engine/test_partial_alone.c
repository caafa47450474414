/* test_partial_alone.c - what a trace gives does not depend on the run that it is part of, once
 * moved into coordinates of its own: every analysis in every mode, over traces of all kinds, alone
 * and as the second trace of a run whose clock begins earlier. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/analyze.h"
#include "engine/kino_run.h"
#include "report/report_internal.h"
#include "unit/test.h"

/* Starts before every trace that is looked at, and has no step. */
static const char *write_anchor(const char *base)
{
    char text[512];
    int size = snprintf(text, sizeof text,
                        "{\"baseTimeNanoseconds\":%s,\"distributedInfo\":{\"rank\":0},"
                        "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\","
                        "\"pid\":1,\"tid\":1,\"ts\":0.123,\"dur\":1}]}",
                        base);
    test_write_file(test_tmp("anchor.json"), text, (size_t)size);
    return test_tmp("anchor.json");
}

static kino_run *open_run(const char *const *paths, size_t count)
{
    kino_run *run = NULL;
    REQUIRE(kino_run_open(paths, count, NULL, &run, NULL) == KINO_OK);
    return run;
}

static kino__trace *find_trace(const kino_run *run, const char *path)
{
    for (size_t i = 0; i < run->run.traces.count; i++)
        if (kino__str_is(run->run.traces.items[i]->path, path))
            return run->run.traces.items[i];
    return NULL;
}

/* The bytes of what the analysis makes of the trace, as they are or in its own coordinates. */
static kino__buffer map_one(kino__analysis *a, kino__trace *trace, bool is_alone)
{
    kino__buffer bytes = {0};
    void *partial = kino__partial_new(a);
    kino_error err;
    REQUIRE(partial && a->def->map(a, trace, partial, &err) == KINO_OK);
    if (is_alone)
        kino__partial_save_alone(a, partial, trace->shift_ns, &bytes);
    else
        kino__partial_save(a, partial, &bytes);
    kino__partial_free(a, partial);
    REQUIRE(!bytes.failed);
    return bytes;
}

/* From a trace's own coordinates into those of a run, saved as they are there. */
static kino__buffer move_into(kino__analysis *a, const kino__buffer *alone,
                              const kino__trace *trace)
{
    kino__buffer bytes = {0};
    void *partial;
    kino_error err;
    REQUIRE(kino__partial_load_alone(a, kino__buffer_str(alone), trace->index, trace->shift_ns,
                                     &partial, &err) == KINO_OK);
    kino__partial_save(a, partial, &bytes);
    kino__partial_free(a, partial);
    return bytes;
}

/* Frees both. */
static bool is_equal(kino__buffer got, kino__buffer want)
{
    bool is_equal = kino__str_equal(kino__buffer_str(&got), kino__buffer_str(&want));
    kino__buffer_deinit(&got);
    kino__buffer_deinit(&want);
    return is_equal;
}

static void check_mode(const kino__analysis_def *def, const char *compat, kino__trace *alone,
                       kino__trace *in_run, const char *path)
{
    kino__analysis a;
    kino_param params[] = {{"compat", compat}};
    REQUIRE(kino__analysis_init(&a, def, params, compat != NULL, NULL) == KINO_OK);
    kino__buffer own = map_one(&a, alone, true);
    if (!CHECK(is_equal(map_one(&a, in_run, true), map_one(&a, alone, true))) ||
        !CHECK(is_equal(move_into(&a, &own, in_run), map_one(&a, in_run, false))))
        printf("    %s %s of %s\n", def->name, compat ? compat : "", path);
    kino__buffer_deinit(&own);
    kino__analysis_deinit(&a);
}

static void check_file(const char *path, const char *anchor, bool is_on_epoch)
{
    const kino__analysis_def *def;
    const char *both[] = {anchor, path};
    kino_run *alone = open_run(&path, 1), *run = open_run(both, 2);
    kino__trace *one = find_trace(alone, path), *other = find_trace(run, path);
    REQUIRE(one && other);
    /* as parts of a run that is not known yet */
    alone->run.steps_as = run->run.steps_as = KINO__STEPS_AS_ALONE;
    CHECK_EQ(other->shift_ns != 0, is_on_epoch);
    check_mode(&kino__report_facts_def, NULL, one, other, path);
    check_mode(&kino__report_facts_def, "tensorboard", one, other, path);
    for (size_t i = 0; (def = kino__analyses_at(i)); i++) {
        check_mode(def, NULL, one, other, path);
        for (size_t k = 0; def->compat && def->compat[k]; k++)
            check_mode(def, def->compat[k], one, other, path);
    }
    kino_run_free(alone);
    kino_run_free(run);
}

TEST(what_a_demo_trace_gives_does_not_depend_on_its_run)
{
    kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
    char path[512];
    options.ranks = 2;
    options.steps = 3;
    options.bytes_per_rank = 100000;
    REQUIRE(kino_demo_write(test_tmp("run"), &options, NULL) == KINO_OK);
    (void)snprintf(path, sizeof path, "%s/rank-1.json", test_tmp("run"));
    check_file(path, write_anchor("1000000000000000789"), true);
}

TEST(what_a_planted_trace_gives_does_not_depend_on_its_run)
{
    static const char *const kinds[] = {"gloo-sleep", "pipeline-straggler", "host-sync",
                                        "nested",     "missing-steps",      "copy-straggler"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        kino_demo_options options = KINO_DEMO_OPTIONS_INIT;
        char path[512];
        options.plant = kinds[i];
        options.ranks = options.steps = 0;
        REQUIRE(kino_demo_write(test_tmp(kinds[i]), &options, NULL) == KINO_OK);
        (void)snprintf(path, sizeof path, "%s/rank-1.json", test_tmp(kinds[i]));
        kino_run *run = open_run((const char *[]){path}, 1);
        bool is_on_epoch = run->run.is_epoch;
        kino_run_free(run);
        check_file(path, write_anchor("1000000000000000789"), is_on_epoch);
    }
}

TEST(what_traces_of_other_kinds_give_does_not_depend_on_their_run)
{
    static const char *const files[] = {"chrome/kineto_2021.json",
                                        "chrome/kineto_2024.json",
                                        "chrome/odd_values.json",
                                        "chrome/pairs_and_async.json",
                                        "flight_recorder/nccl_trace_rank_1",
                                        "memory_timeline/small.raw.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512], at[64];
        (void)snprintf(at, sizeof at, "tests/data/%s", files[i]);
        (void)snprintf(path, sizeof path, "%s", test_root(at));
        kino_run *run = open_run((const char *[]){path}, 1);
        bool is_on_epoch = run->run.is_epoch;
        kino_run_free(run);
        check_file(path, write_anchor("1000000000000000789"), is_on_epoch);
    }
}
