/* test_operators.c - the analysis of operators on traces made by hand. */
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)                                                                                    \
    {                                                                                              \
        .cat = "cpu_op", .track = 1, __VA_ARGS__                                                   \
    }
#define CALL(...)                                                                                  \
    {                                                                                              \
        .cat = "cuda_runtime", .name = "cudaLaunchKernel", .track = 1, __VA_ARGS__                 \
    }
#define KERNEL(...)                                                                                \
    {                                                                                              \
        .cat = "kernel", .track = 7, __VA_ARGS__                                                   \
    }
#define PYTHON(...)                                                                                \
    {                                                                                              \
        .cat = "python_function", .track = 1, __VA_ARGS__                                          \
    }

static const char numbers[] = "name,calls,device_self_duration,device_total_duration,"
                              "host_self_duration,host_total_duration";

/* What a table of one trace says; the trace is freed. */
static void expect_at(int line, kino__trace *trace, const char *params, const char *table,
                      const char *columns, const char *want)
{
    kino_result *result = analysis_result("operators", params, &trace, 1);
    const char *got = analysis_rows(result, table, columns);
    if (strcmp(got, want) != 0)
        (void)fprintf(stderr, "line %d:\n", line);
    CHECK_STR(got, want);
    kino_result_free(result);
    kino__trace_free(trace);
}
#define EXPECT(trace, params, columns, want)                                                       \
    expect_at(__LINE__, trace, params, "operators", columns, want)
#define EXPECT_STACKS(trace, params, columns, want)                                                \
    expect_at(__LINE__, trace, params, "call_stacks", columns, want)

/* linear [0, 100) with addmm [10, 70) in it, which launches 50 ns of a tensor core kernel by a call
 * of 10 ns; relu [100, 140) launches a kernel of 50 ns and a copy of 7 ns by a call of 5 ns. */
static kino__trace *with_device(void)
{
    return FIXTURE(
        OP(.name = "aten::linear", .ts = 0, .dur = 100, .external = 1),
        OP(.name = "aten::addmm", .ts = 10, .dur = 60, .external = 2),
        CALL(.ts = 20, .dur = 10, .bind = 9, .external = 2),
        OP(.name = "aten::relu", .ts = 100, .dur = 40, .external = 3),
        CALL(.ts = 110, .dur = 5, .bind = 10, .external = 3),
        KERNEL(.name = "ampere_h16816gemm", .ts = 200, .dur = 50, .bind = 9),
        KERNEL(.name = "relu_kernel", .ts = 260, .dur = 50, .bind = 10),
        {.cat = "gpu_memcpy", .name = "Memcpy HtoD", .track = 7, .ts = 320, .dur = 7, .bind = 10});
}

TEST(operators_have_self_and_total_times_on_host_and_device)
{
    static const char *const params[] = {"", "compat=tensorboard"};
    for (size_t i = 0; i < 2; i++) {
        EXPECT(with_device(), params[i], numbers,
               "aten::relu,1,57,57,35,40;aten::addmm,1,50,50,50,60;aten::linear,1,0,50,40,100");
        EXPECT(with_device(), params[i],
               "name,tc_eligible,tc_self_ratio,tc_total_ratio,has_call_stack,input_shape",
               "aten::relu,0,0,0,0,-;aten::addmm,1,100,100,0,-;aten::linear,1,0,100,0,-");
    }
}

TEST(operators_of_one_name_add_up_and_share_of_tensor_cores_is_by_time)
{
    /* 30 ns of 40 on tensor cores; eligible because a kernel was seen, not by its name */
    EXPECT(FIXTURE(OP(.name = "my::op", .ts = 0, .dur = 10, .external = 1),
                   CALL(.ts = 2, .dur = 1, .bind = 5, .external = 1),
                   OP(.name = "my::op", .ts = 20, .dur = 12, .external = 2),
                   CALL(.ts = 22, .dur = 1, .bind = 6, .external = 2),
                   KERNEL(.name = "x_hmma_x", .ts = 50, .dur = 30, .bind = 5),
                   KERNEL(.name = "plain", .ts = 80, .dur = 10, .bind = 6)),
           "",
           "name,calls,device_self_duration,host_self_duration,host_total_duration,tc_eligible,"
           "tc_self_ratio",
           "my::op,2,40,20,22,1,75");
}

TEST(operators_without_a_device_go_by_host_self_time_and_ties_by_first_sight)
{
    /* inner and outer take 10 ns each by themselves: children come before parents */
    kino__trace *trace =
        FIXTURE(OP(.name = "outer", .ts = 0, .dur = 20), OP(.name = "inner", .ts = 5, .dur = 10),
                OP(.name = "long", .ts = 30, .dur = 11));
    kino_result *result = analysis_result("operators", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "operators", numbers),
              "long,1,-,-,11,11;inner,1,-,-,10,10;outer,1,-,-,10,20");
    CHECK_STR(analysis_rows(result, "operators", "tc_self_ratio,tc_total_ratio"), "-,-;-,-;-,-");
    CHECK_STR(analysis_notes(result), "device times not available: no device work was recorded");
    kino_result_free(result);
    EXPECT(trace, "compat=tensorboard", "tc_self_ratio,tc_total_ratio", "0,0;0,0;0,0");
}

TEST(operators_are_no_steps_loaders_optimizers_wrappers_or_python_calls)
{
    EXPECT(FIXTURE(OP(.name = "ProfilerStep#3", .ts = 0, .dur = 1000),
                   OP(.name = "enumerate(DataLoader)#_Iter.__next__", .ts = 0, .dur = 9),
                   OP(.name = "Optimizer.step#SGD.step", .ts = 10, .dur = 9),
                   OP(.name = "Optimizer.zero_grad#SGD.zero_grad", .ts = 20, .dur = 9),
                   OP(.name = "DataParallel.forward", .ts = 30, .dur = 9),
                   OP(.name = "DistributedDataParallel.forward", .ts = 40, .dur = 9),
                   PYTHON(.name = "a.py(1): f", .ts = 50, .dur = 9),
                   {.cat = "user_annotation", .name = "mine", .track = 1, .ts = 60, .dur = 9},
                   OP(.name = "aten::add", .ts = 70, .dur = 9)),
           "", "name,calls", "aten::add,1");
}

TEST(operators_that_cross_count_and_doubled_ones_count_once)
{
    /* x around nothing but x is one call that keeps the outer interval: 10 - y's 1 by itself; q
     * crosses the end of p and stands beside it; r around r and s counts twice, 50 + 10 in total,
     * 30 + 10 by itself */
    EXPECT(FIXTURE(OP(.name = "x", .ts = 0, .dur = 10), OP(.name = "x", .ts = 2, .dur = 5),
                   OP(.name = "y", .ts = 3, .dur = 1), OP(.name = "p", .ts = 100, .dur = 10),
                   OP(.name = "q", .ts = 105, .dur = 10), OP(.name = "r", .ts = 200, .dur = 50),
                   OP(.name = "r", .ts = 210, .dur = 10), OP(.name = "s", .ts = 230, .dur = 10)),
           "", "name,calls,host_self_duration,host_total_duration",
           "r,2,40,60;p,1,10,10;q,1,10,10;s,1,10,10;x,1,9,10;y,1,1,1");
}

TEST(operators_whose_ends_were_rounded_stay_below_their_parents)
{
    /* a and b below it end together, but for a rounding error: b is a's child, and a has what b
     * leaves of it. c starts 300 ns before a has ended, and is no child. d crosses c for real: it
     * stands beside it, and root's time is not counted twice. */
    kino__trace *trace = FIXTURE(
        OP(.name = "root", .ts = 0, .dur = 100000), OP(.name = "a", .ts = 1000, .dur = 20000),
        OP(.name = "b", .ts = 5000, .dur = 16500), OP(.name = "c", .ts = 20700, .dur = 20000),
        OP(.name = "d", .ts = 30700, .dur = 20000));
    kino_result *result = analysis_result("operators", "", &trace, 1);
    CHECK_STR(
        analysis_rows(result, "operators", "name,calls,host_self_duration,host_total_duration"),
        "root,1,50300,100000;c,1,20000,20000;d,1,20000,20000;b,1,16500,16500;"
        "a,1,4000,20000");
    CHECK(strstr(analysis_notes(result), "1 spans end after the span they start in") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

/* -- shapes */

static kino__trace *with_shapes(void)
{
    return FIXTURE(OP(.name = "mm", .ts = 0, .dur = 10, .args = "{\"Input Dims\": [[32,3],[]]}"),
                   OP(.name = "mm", .ts = 10, .dur = 5, .args = "{\"Input Dims\": [[32, 3], []]}"),
                   OP(.name = "mm", .ts = 20, .dur = 8, .args = "{\"Input dims\": [[1]]}"),
                   OP(.name = "add", .ts = 30, .dur = 7,
                      .args = "{\"Input Dims\": [[2]], \"Input dims\": [[3]]}"),
                   OP(.name = "empty", .ts = 40, .dur = 3));
}

TEST(operators_by_shape_have_a_row_for_each_list_whatever_its_blanks)
{
    EXPECT(with_shapes(), "group=name-shape", "name,input_shape,calls,host_self_duration",
           "mm,[[32, 3], []],2,15;mm,[[1]],1,8;add,[[2]],1,7;empty,[],1,3");
    EXPECT(with_shapes(), "", "name,input_shape,calls", "mm,-,3;add,-,1;empty,-,1");
}

TEST(operators_by_shape_without_shapes_say_so)
{
    kino__trace *trace = FIXTURE(OP(.name = "mm", .ts = 0, .dur = 10, .args = "{\"a\": 1}"));
    kino_result *result = analysis_result("operators", "group=name-shape", &trace, 1);
    CHECK_STR(analysis_rows(result, "operators", "name,input_shape"), "mm,-");
    CHECK_STR(analysis_notes(result),
              "device times not available: no device work was recorded | input shapes not "
              "available: profile with record_shapes=True");
    kino_result_free(result);
    EXPECT(trace, "group=name-shape compat=tensorboard", "name,input_shape", "mm,[]");
}

/* -- stacks */

static kino__trace *with_stacks(void)
{
    return FIXTURE(
        OP(.name = "mm", .ts = 0, .dur = 10, .args = "{\"Call stack\": \"b.py(2): g;a\"}"),
        OP(.name = "mm", .ts = 10, .dur = 9, .args = "{\"Call stack\": \"a\"}"),
        OP(.name = "mm", .ts = 20, .dur = 8, .args = "{\"Call stack\": \"a\"}"),
        OP(.name = "mm", .ts = 30, .dur = 7, .args = "{\"Call stack\": \"\"}"),
        OP(.name = "add", .ts = 40, .dur = 1, .args = "{\"x\": \"Call stack\"}"));
}

TEST(operators_have_the_call_stacks_of_their_argument)
{
    static const char *const params[] = {"stacks=yes", "stacks=yes compat=tensorboard"};
    for (size_t i = 0; i < 2; i++) {
        EXPECT_STACKS(with_stacks(), params[i], "name,call_stack,calls,host_self_duration",
                      "mm,a,2,17;mm,b.py(2): g;a,1,10");
        EXPECT(with_stacks(), params[i], "name,calls,has_call_stack", "mm,4,1;add,1,0");
    }
    EXPECT(with_stacks(), "", "name,has_call_stack", "mm,1;add,0");
    EXPECT_STACKS(with_stacks(), "", "name", "");
}

TEST(operators_by_shape_have_the_stacks_of_each_shape)
{
    kino__trace *trace =
        FIXTURE(OP(.name = "mm", .ts = 0, .dur = 5,
                   .args = "{\"Call stack\": \"a\", \"Input Dims\": [[1]]}"),
                OP(.name = "mm", .ts = 10, .dur = 4,
                   .args = "{\"Input Dims\": [[2]], \"Call stack\": \"a\"}"),
                OP(.name = "mm", .ts = 20, .dur = 3, .args = "{\"Input Dims\": [[3]]}"));
    kino_result *result = analysis_result("operators", "group=name-shape stacks=yes", &trace, 1);
    CHECK_STR(analysis_rows(result, "operators", "input_shape,has_call_stack"),
              "[[1]],1;[[2]],1;[[3]],0");
    CHECK_STR(analysis_rows(result, "call_stacks", "name,input_shape,call_stack,calls"),
              "mm,[[1]],a,1;mm,[[2]],a,1");
    kino_result_free(result);
    kino__trace_free(trace);
}

/* main [0, 100) calls f [10, 40) and f [50, 90); mm twice in f, add in main, sub outside; the
 * argument of div counts more than the calls around it. */
static kino__trace *with_python(void)
{
    return FIXTURE(PYTHON(.name = "main", .ts = 0, .dur = 100),
                   PYTHON(.name = "nn.Module: F_0", .ts = 10, .dur = 30),
                   PYTHON(.name = "nn.Module: F_0", .ts = 50, .dur = 40),
                   OP(.name = "mm", .ts = 20, .dur = 9), OP(.name = "mm", .ts = 60, .dur = 8),
                   OP(.name = "add", .ts = 45, .dur = 5), OP(.name = "sub", .ts = 200, .dur = 4),
                   OP(.name = "div", .ts = 92, .dur = 3, .args = "{\"Call stack\": \"own\"}"));
}

TEST(operators_without_the_argument_take_the_python_calls_around_them)
{
    EXPECT_STACKS(with_python(), "stacks=yes", "name,call_stack,calls,host_self_duration",
                  "mm,nn.Module: F_0;main,2,17;add,main,1,5;div,own,1,3");
    EXPECT(with_python(), "stacks=yes", "name,has_call_stack", "mm,1;add,1;sub,0;div,1");
    EXPECT(with_python(), "", "name,has_call_stack", "mm,1;add,1;sub,0;div,1");
    EXPECT_STACKS(with_python(), "stacks=yes compat=tensorboard", "name,call_stack", "div,own");
    EXPECT(with_python(), "compat=tensorboard", "name,has_call_stack", "mm,0;add,0;sub,0;div,1");
}

/* -- several traces, and nearly nothing */

TEST(operators_of_each_rank_stand_in_rows_of_their_own)
{
    kino__trace *traces[] = {with_device(), with_stacks(), with_shapes()};
    traces[0]->rank = 0;
    traces[1]->rank = 3;
    traces[2]->rank = KINO_NO_INT;
    kino_result *result = analysis_result("operators", "group=name-shape stacks=yes", traces, 3);
    CHECK_STR(analysis_rows(result, "operators", "rank,name,input_shape,device_self_duration"),
              "0,aten::relu,-,57;0,aten::addmm,-,50;0,aten::linear,-,0;3,mm,-,-;3,add,-,-;"
              "-,mm,[[32, 3], []],-;-,mm,[[1]],-;-,add,[[2]],-;-,empty,[],-");
    CHECK_STR(analysis_rows(result, "call_stacks", "rank,name,call_stack"),
              "3,mm,a;3,mm,b.py(2): g;a");
    CHECK_STR(analysis_notes(result),
              "device times not available: no device work was recorded (2 of 3 traces) | input "
              "shapes not available: profile with record_shapes=True (2 of 3 traces)");
    kino_result_free(result);
    for (size_t i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(operators_of_a_trace_without_any_are_not_available)
{
    kino__trace *traces[] = {FIXTURE(KERNEL(.name = "k", .ts = 1, .dur = 1)),
                             FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME})};
    static const char *const params[] = {"stacks=yes group=name-shape",
                                         "stacks=yes group=name-shape compat=tensorboard"};
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < 2; i++) {
            kino_result *result = analysis_result("operators", params[i], &traces[t], 1);
            CHECK_STR(analysis_rows(result, "operators", NULL), "");
            CHECK_STR(analysis_rows(result, "call_stacks", NULL), "");
            CHECK_STR(analysis_notes(result), "operators not available: the trace has none");
            kino_result_free(result);
        }
        kino__trace_free(traces[t]);
    }
}
