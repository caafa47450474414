/* test_distributed.c - the distributed view on traces made by hand: transfer and waiting, calls
 * that match and calls that do not, merge order, save and load, traces that have nothing to
 * tell. */
#include "analysis/analysis.h"
#include "engine/analyze.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { T_COMPUTATION, T_COMMUNICATION, T_OPS, T_WORKERS };

#define STEP(number, ...)                                                                          \
    {                                                                                              \
        .cat = "user_annotation", .name = "ProfilerStep#" number, .track = 1, __VA_ARGS__          \
    }
#define CALL(what, ...)                                                                            \
    {                                                                                              \
        .cat = "user_annotation", .name = what, .track = 1, __VA_ARGS__                            \
    }
#define LAUNCH_CALL(...)                                                                           \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, __VA_ARGS__                 \
    }
#define COMM_KERNEL(...)                                                                           \
    {                                                                                              \
        .cat = "kernel", .name = "ncclDevKernel_AllReduce", .track = 9, __VA_ARGS__                \
    }
#define GROUP "{\"Process Group Name\": \"0\", \"In msg nelems\": 100, \"dtype\": \"BFloat16\"}"

/* "all:40,10 7:40,10" of the rows of a table for each rank: "rank 0 all:...; rank 1 ..." as text,
 * columns from `first` on. */
static const char *rows_of(const kino_result *result, size_t index, size_t first)
{
    static kino__buffer out;
    const kino__table *table = result->tables.items[index];
    out.size = 0;
    for (size_t i = 0; i < table->cells.count; i += table->column_count) {
        const kino_cell *row = &table->cells.items[i];
        kino__buffer_add(&out, i ? KINO__STR("; ") : KINO__STR(""));
        for (size_t k = 0; k < table->column_count; k++) {
            if (k != 0 && k < first)
                continue;
            const char *space = k ? " " : "";
            if (row[k].kind == KINO_CELL_TEXT)
                kino__buffer_printf(&out, "%s%.*s", space, KINO__STR_ARG(row[k].value.text));
            else if (row[k].kind == KINO_CELL_INT)
                kino__buffer_printf(&out, "%s%lld", space, (long long)row[k].value.integer);
            else
                kino__buffer_printf(&out, "%s-", space);
        }
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    return out.data;
}

static kino_result *analyze(kino__trace **traces, size_t count, const char *compat)
{
    kino__run run;
    kino__run_init(&run);
    for (size_t i = 0; i < count; i++) {
        traces[i]->rank = (int64_t)i;
        REQUIRE(kino__run_add_take(&run, traces[i], NULL) == KINO_OK);
    }
    kino_param param = {"compat", compat};
    kino__analyze_how how = {&param, compat != NULL, NULL, NULL};
    kino_result *result = kino__result_new("distributed");
    REQUIRE(kino__analyze_run(&kino__analysis_distributed, &run, &how, result, NULL) == KINO_OK);
    REQUIRE(kino__result_finish(result, &result, NULL) == KINO_OK);
    kino__run_deinit(&run);
    return result;
}

static bool has_note(const kino_result *result, const char *part)
{
    for (size_t i = 0; i < result->notes.count; i++)
        if (strstr(result->notes.items[i].text, part))
            return true;
    return false;
}

/* A step of 100 with one call: the host's span of 4 at 10, its kernel of `dur` that ends at 80. */
static kino__trace *worker(int64_t dur)
{
    return FIXTURE(
        STEP("7", .ts = 0, .dur = 100), CALL("nccl:all_reduce", .ts = 10, .dur = 4, .external = 5),
        LAUNCH_CALL(.ts = 11, .dur = 1, .bind = 3, .external = 4),
        COMM_KERNEL(.ts = 80 - dur, .dur = dur, .bind = 3, .external = 4, .args = GROUP));
}

TEST(distributed_transfer_is_the_shortest)
{
    /* The call on the host is not communication: latency is the kernel's, 50 and 20. */
    kino__trace *traces[] = {worker(50), worker(20)};
    kino_result *result = analyze(traces, 2, NULL);
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2), "0 all 20 30; 1 all 20 0; 0 7 20 30; 1 7 20 0");
    CHECK_EQ(rows_of(result, T_OPS, 2), "0 nccl:all_reduce 1 200 200 50 50 20 20; "
                                        "1 nccl:all_reduce 1 200 200 20 20 20 20");
    /* No kernels but those of communication: computation is the host's, none here. */
    CHECK_EQ(rows_of(result, T_COMPUTATION, 2),
             "0 all 0 0 50 50; 1 all 0 0 20 80; 0 7 0 0 50 50; 1 7 0 0 20 80");
    CHECK_EQ(result->notes.count, 1);
    CHECK(has_note(result, "rank 1 is the slowest")); /* 30 of a step of 100 later */
    kino_result_free(result);
}

/* The same with a step without calls, and a kernel of 6 that was launched before the recording. */
static kino__trace *worker_of_two_steps(int64_t dur)
{
    return FIXTURE(STEP("7", .ts = 0, .dur = 100),
                   CALL("nccl:all_reduce", .ts = 10, .dur = 4, .external = 5),
                   LAUNCH_CALL(.ts = 11, .dur = 1, .bind = 3, .external = 4),
                   COMM_KERNEL(.ts = 3, .dur = 6, .args = GROUP),
                   COMM_KERNEL(.ts = 80 - dur, .dur = dur, .bind = 3, .external = 4, .args = GROUP),
                   STEP("8", .ts = 100, .dur = 100));
}

TEST(distributed_average_is_of_all_steps_and_of_nothing_else)
{
    kino__trace *traces[] = {worker_of_two_steps(50), worker_of_two_steps(20)};
    kino_result *result = analyze(traces, 2, NULL);
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2),
             "0 all 10 15; 1 all 10 0; 0 7 20 30; 1 7 20 0; 0 - 6 0; 1 - 6 0");
    kino_result_free(result);
}

TEST(distributed_plugin_does_not_know_the_kernel)
{
    /* By external id alone the kernel belongs to no call: the host's span is all there is. */
    kino__trace *traces[] = {worker(50), worker(20)};
    kino_result *result = analyze(traces, 2, "tensorboard");
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2), "0 all 4 0; 1 all 4 0; 0 7 4 0; 1 7 4 0");
    kino_result_free(result);
}

/* Two steps; the second worker lacks the first call of step 2. */
TEST(distributed_missing_call_spoils_its_step_only)
{
    kino__trace *traces[] = {
        FIXTURE(STEP("1", .ts = 0, .dur = 100), CALL("gloo:all_reduce", .ts = 10, .dur = 30),
                STEP("2", .ts = 100, .dur = 100), CALL("gloo:broadcast", .ts = 110, .dur = 8),
                CALL("gloo:all_reduce", .ts = 130, .dur = 30)),
        FIXTURE(STEP("1", .ts = 0, .dur = 100), CALL("gloo:all_reduce", .ts = 10, .dur = 20),
                STEP("2", .ts = 100, .dur = 100), CALL("gloo:all_reduce", .ts = 130, .dur = 50))};
    kino_result *result = analyze(traces, 2, NULL);
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2),
             "0 all 29 5; 1 all 25 10; 0 1 20 10; 1 1 20 0; 0 2 38 0; 1 2 30 20");
    CHECK(has_note(result, "1 of 5 collective calls have no match"));
    CHECK(has_note(result, "gloo:broadcast of rank 0"));
    CHECK(has_note(result, "size of some collectives not available"));
    kino_result_free(result);
}

/* Two steps with a call and a kernel each; the kernels start `lag` after their launches, and the
 * last step has one kernel more or not. */
static kino__trace *lagging(int64_t lag, bool is_short)
{
    fixture_event events[] = {
        STEP("1", .ts = 0, .dur = 100),
        STEP("2", .ts = 100, .dur = 100),
        CALL("nccl:all_reduce", .ts = 10, .dur = 4, .external = 5),
        LAUNCH_CALL(.ts = 11, .dur = 1, .bind = 3, .external = 4),
        COMM_KERNEL(.ts = 11 + lag, .dur = 30, .bind = 3, .external = 4, .args = GROUP),
        CALL("nccl:all_reduce", .ts = 110, .dur = 4, .external = 6),
        LAUNCH_CALL(.ts = 111, .dur = 1, .bind = 4, .external = 7),
        COMM_KERNEL(.ts = 111 + lag, .dur = 20, .bind = 4, .external = 7, .args = GROUP),
        LAUNCH_CALL(.ts = 20, .dur = 1, .bind = 8),
        {.cat = "kernel", .name = "gemm", .track = 8, .ts = 21 + lag, .dur = 5, .bind = 8},
        LAUNCH_CALL(.ts = 120, .dur = 1, .bind = 9),
        {.cat = "kernel", .name = "gemm", .track = 8, .ts = 121 + lag, .dur = 5, .bind = 9},
    };
    return fixture_new(events, sizeof events / sizeof *events - (is_short ? 2 : 0));
}

TEST(distributed_calls_have_their_partners_whatever_the_lag_and_the_last_step)
{
    /* The second device ends step 1 at 136, after the call of step 2 on the host; its recording
     * ends before the last kernel. */
    kino__trace *traces[] = {lagging(1, false), lagging(95, true)};
    kino_result *result = analyze(traces, 2, NULL);
    CHECK(!has_note(result, "no partner"));
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2),
             "0 all 25 0; 1 all 25 0; 0 1 30 0; 1 1 30 0; 0 2 20 0; 1 2 20 0");
    kino_result_free(result);
}

TEST(distributed_plugin_gives_up_when_calls_differ)
{
    kino__trace *traces[] = {FIXTURE(CALL("gloo:all_reduce", .ts = 10, .dur = 30)),
                             FIXTURE({.cat = "cpu_op", .name = "aten::mm", .ts = 1, .dur = 2})};
    kino_result *result = analyze(traces, 2, "tensorboard");
    CHECK_EQ(rows_of(result, T_COMPUTATION, 2), "");
    CHECK(has_note(result, "a worker has no collectives"));
    kino_result_free(result);
}

TEST(distributed_sends_are_not_matched)
{
    kino__trace *traces[] = {FIXTURE(CALL("nccl:send 0->1", .ts = 0, .dur = 30)),
                             FIXTURE(CALL("nccl:send 0->1", .ts = 0, .dur = 10))};
    kino_result *result = analyze(traces, 2, NULL);
    CHECK_EQ(rows_of(result, T_OPS, 6), "0 30 30 30 30; 1 10 10 10 10");
    CHECK(has_note(result, "waiting of 2 sends and receives not available"));
    kino_result_free(result);
}

TEST(distributed_of_one_worker)
{
    kino__trace *traces[] = {worker(50)};
    kino_result *result = analyze(traces, 1, NULL);
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2), "0 all 50 -; 0 7 50 -");
    CHECK(has_note(result, "only one worker"));
    kino_result_free(result);
    kino__trace *again[] = {
        FIXTURE(CALL("gloo:reduce", .ts = 0, .dur = 30),
                {.cat = "cpu_op", .name = "x", .track = 1, .ts = 0, .dur = 90})};
    result = analyze(again, 1, "tensorboard");
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2), "0 all 30 0; 0 0 30 0");
    kino_result_free(result);
}

TEST(distributed_of_traces_without_collectives)
{
    kino__trace *traces[] = {FIXTURE({.cat = "kernel", .name = "gemm", .track = 9, .dur = 5}),
                             fixture_new(NULL, 0)};
    kino_result *result = analyze(traces, 2, NULL);
    CHECK_EQ(rows_of(result, T_COMMUNICATION, 2), "");
    CHECK_EQ(rows_of(result, T_COMPUTATION, 2), "0 all 5 0 0 0; 0 0 5 0 0 0");
    CHECK(has_note(result, "no trace has collectives"));
    kino_result_free(result);
}

/* -- partials -- */

static void *partial_of(const kino__analysis *a, const kino__trace *trace)
{
    void *partial = kino__partial_new(a);
    REQUIRE(partial && a->def->map(a, trace, partial, NULL) == KINO_OK);
    return partial;
}

static const char *saved(const kino__analysis *a, void *partial, size_t *size)
{
    static kino__buffer out;
    out.size = 0;
    kino__partial_save(a, partial, &out);
    REQUIRE(!out.failed);
    *size = out.size;
    return out.data;
}

TEST(distributed_merge_is_associative)
{
    kino__analysis a;
    kino__trace *traces[] = {worker(50), worker(20), worker(30)};
    REQUIRE(kino__analysis_init(&a, &kino__analysis_distributed, NULL, 0, NULL) == KINO_OK);
    kino__buffer kept = {0};
    for (int order = 0; order < 2; order++) {
        void *p[3];
        for (int i = 0; i < 3; i++)
            p[i] = partial_of(&a, traces[i]);
        size_t size;
        int first = order ? 1 : 0;
        REQUIRE(a.def->merge(&a, p[first], p[first + 1], NULL) == KINO_OK);
        REQUIRE(a.def->merge(&a, p[0], p[order ? 1 : 2], NULL) == KINO_OK);
        const char *bytes = saved(&a, p[0], &size);
        if (order == 0)
            kino__buffer_add(&kept, (kino_str){bytes, size});
        else
            CHECK(kino__str_equal(kino__buffer_str(&kept), (kino_str){bytes, size}));
        for (int i = 0; i < 3; i++)
            kino__partial_free(&a, p[i]);
    }
    void *loaded;
    REQUIRE(kino__partial_load(&a, kino__buffer_str(&kept), &loaded, NULL) == KINO_OK);
    size_t size;
    const char *bytes = saved(&a, loaded, &size);
    CHECK(kino__str_equal(kino__buffer_str(&kept), (kino_str){bytes, size}));
    kino__partial_free(&a, loaded);
    kino__buffer_deinit(&kept);
    for (int i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
    kino__analysis_deinit(&a);
}

/* Whatever is cut off or changed: refused, or a partial that finish can take. */
TEST(distributed_damaged_partials)
{
    kino__analysis a;
    kino__trace *trace = worker(50);
    REQUIRE(kino__analysis_init(&a, &kino__analysis_distributed, NULL, 0, NULL) == KINO_OK);
    void *partial = partial_of(&a, trace);
    size_t size, refused = 0;
    kino__buffer bytes = {0};
    const char *good = saved(&a, partial, &size);
    kino__buffer_add(&bytes, (kino_str){good, size});
    for (size_t i = 0; i < size; i++) {
        void *loaded = NULL;
        bytes.data[i] ^= 0x41;
        if (kino__partial_load(&a, kino__buffer_str(&bytes), &loaded, NULL) == KINO_OK) {
            kino_result *result = kino__result_new("distributed");
            CHECK(a.def->finish(&a, loaded, result, NULL) == KINO_OK);
            kino_result_free(result);
        } else {
            refused++;
        }
        kino__partial_free(&a, loaded);
        bytes.data[i] ^= 0x41;
        CHECK(kino__partial_load(&a, (kino_str){bytes.data, i}, &loaded, NULL) != KINO_OK);
        kino__partial_free(&a, loaded);
    }
    CHECK(refused > size / 4);
    kino__buffer_deinit(&bytes);
    kino__partial_free(&a, partial);
    kino__trace_free(trace);
    kino__analysis_deinit(&a);
}
