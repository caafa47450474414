/* test_modules.c - the analyses of modules and of PyTorch Lightning on traces made by hand. */
#include "unit/analysis_rows.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)                                                                                    \
    {                                                                                              \
        .cat = "cpu_op", .track = 1, __VA_ARGS__                                                   \
    }
/* id, parent's id, number of the module */
#define MODULE(id, parent, number, ...)                                                            \
    {                                                                                              \
        .cat = "python_function", .track = 1,                                                      \
        .args = "{\"Python id\": " #id ", \"Python parent id\": " #parent                          \
                ", \"Python module id\": " #number "}",                                            \
        __VA_ARGS__                                                                                \
    }
#define COLUMNS "id,parent,depth,name,module_id,occurrences,operators,host_duration"

static void expect_at(int line, const char *analysis, kino__trace *trace, const char *params,
                      const char *table, const char *columns, const char *want)
{
    kino_result *result = analysis_result(analysis, params, &trace, 1);
    const char *got = analysis_rows(result, table, columns);
    if (strcmp(got, want) != 0)
        (void)fprintf(stderr, "line %d:\n", line);
    CHECK_STR(got, want);
    kino_result_free(result);
    kino__trace_free(trace);
}
#define EXPECT(trace, params, columns, want)                                                       \
    expect_at(__LINE__, "modules", trace, params, "modules", columns, want)

/* Net is called twice: once with aten::a, Linear 1 (aten::b launches 30 ns of work) and aten::c,
 * once with Linear 1 alone. A Python function lies between the second Net and its Linear. */
static kino__trace *net(void)
{
    return FIXTURE(
        MODULE(1, 0, 5, .name = "nn.Module: Net_0", .ts = 0, .dur = 100),
        OP(.name = "aten::a", .ts = 5, .dur = 10),
        MODULE(2, 1, 1, .name = "nn.Module: Linear_1", .ts = 20, .dur = 40),
        OP(.name = "aten::b", .ts = 25, .dur = 20, .external = 7),
        {.cat = "cuda_runtime",
         .name = "cudaLaunchKernel",
         .track = 1,
         .ts = 30,
         .dur = 4,
         .bind = 70,
         .external = 7},
        {.cat = "kernel", .name = "k", .track = 9, .ts = 200, .dur = 30, .bind = 70, .external = 7},
        OP(.name = "aten::c", .ts = 70, .dur = 5),
        MODULE(3, 0, 5, .name = "nn.Module: Net_0", .ts = 300, .dur = 50),
        {.cat = "python_function",
         .name = "forward",
         .track = 1,
         .ts = 301,
         .dur = 45,
         .args = "{\"Python id\": 4, \"Python parent id\": 3}"},
        MODULE(5, 4, 1, .name = "nn.Module: Linear_1", .ts = 302, .dur = 10));
}

TEST(modules_form_a_tree_with_the_sums_of_their_calls)
{
    /* Net: host 100 + 50, self 100-10-40-5 + 50-10; Linear: 40 + 10, self 40-20 + 10 */
    EXPECT(net(), "", NULL,
           "-,0,-,0,Net_0,5,2,2,150,85,30,0,15;-,1,0,1,Linear_1,1,2,1,50,30,30,30,15");
    EXPECT(net(), "compat=tensorboard",
           "name,module_id,occurrences,operators,host_duration,self_host_duration,"
           "device_duration,self_device_duration,avg_duration",
           "Net_0,5,2,2,150,85,30,0,15;Linear_1,1,2,1,50,30,30,30,15");
}

/* A (calls S twice) and B (calls S once); S is one module. */
static kino__trace *shared(void)
{
    return FIXTURE(MODULE(4, 0, 2, .name = "nn.Module: B", .ts = 0, .dur = 100),
                   MODULE(5, 4, 7, .name = "nn.Module: S", .ts = 10, .dur = 30),
                   MODULE(1, 0, 1, .name = "nn.Module: A", .ts = 200, .dur = 100),
                   MODULE(2, 1, 7, .name = "nn.Module: S", .ts = 210, .dur = 10),
                   MODULE(3, 1, 7, .name = "nn.Module: S", .ts = 230, .dur = 15));
}

TEST(modules_have_a_row_a_place_but_for_the_plugin_a_row_a_call_with_all_sums)
{
    EXPECT(shared(), "", COLUMNS,
           "0,-,0,A,1,1,0,100;1,0,1,S,7,2,0,25;2,-,0,B,2,1,0,100;3,2,1,S,7,1,0,30");
    EXPECT(
        shared(), "compat=tensorboard", COLUMNS,
        "0,-,0,A,1,1,0,100;1,0,1,S,7,3,0,55;2,0,1,S,7,3,0,55;3,-,0,B,2,1,0,100;4,3,1,S,7,3,0,55");
}

TEST(modules_of_calls_that_differ_are_one_tree_but_several_for_the_plugin)
{
    kino__trace *traces[2];
    for (size_t i = 0; i < 2; i++)
        traces[i] = FIXTURE(MODULE(1, 0, 1, .name = "nn.Module: A", .ts = 0, .dur = 10),
                            MODULE(2, 0, 1, .name = "nn.Module: A", .ts = 20, .dur = 10),
                            MODULE(3, 2, 2, .name = "nn.Module: D", .ts = 22, .dur = 4),
                            MODULE(4, 0, 1, .name = "nn.Module: A", .ts = 40, .dur = 10),
                            MODULE(5, 0, 3, .name = "nn.Module: A", .ts = 60, .dur = 9));
    EXPECT(traces[0], "", COLUMNS, "0,-,0,A,1,3,0,30;1,0,1,D,2,1,0,4;2,-,0,A,3,1,0,9");
    EXPECT(traces[1], "compat=tensorboard", COLUMNS,
           "0,-,0,A,1,3,0,30;1,-,0,A,1,3,0,30;2,1,1,D,2,1,0,4;3,-,0,A,3,1,0,9");
}

TEST(modules_without_numbers_go_by_name)
{
    EXPECT(
        FIXTURE({.cat = "python_function", .name = "nn.Module: A", .track = 1, .ts = 0, .dur = 9},
                {.cat = "python_function", .name = "nn.Module: A", .track = 2, .ts = 1, .dur = 2}),
        "", COLUMNS, "0,-,0,A,-,2,0,11");
}

TEST(modules_that_cross_the_end_of_their_caller_count_below_it)
{
    /* C crosses the end of A, in which it starts */
    EXPECT(FIXTURE(MODULE(1, 0, 1, .name = "nn.Module: A", .ts = 0, .dur = 100),
                   MODULE(2, 1, 2, .name = "nn.Module: C", .ts = 50, .dur = 100),
                   MODULE(3, 2, 3, .name = "nn.Module: D", .ts = 60, .dur = 10)),
           "", COLUMNS, "0,-,0,A,1,1,0,100;1,0,1,C,2,1,0,100;2,1,2,D,3,1,0,10");
}

TEST(modules_of_each_rank_have_trees_of_their_own)
{
    kino__trace *traces[] = {net(), shared(), FIXTURE(OP(.name = "x", .ts = 0, .dur = 1))};
    for (int i = 0; i < 3; i++)
        traces[i]->rank = i;
    kino_result *result = analysis_result("modules", "", traces, 3);
    CHECK_STR(analysis_rows(result, "modules", "rank,id,parent,name"),
              "0,0,-,Net_0;0,1,0,Linear_1;1,0,-,A;1,1,0,S;1,2,-,B;1,3,2,S");
    CHECK_STR(analysis_notes(result), "1 of 3 traces have no module calls");
    kino_result_free(result);
    for (size_t i = 0; i < 3; i++)
        kino__trace_free(traces[i]);
}

TEST(modules_of_a_trace_without_any_are_not_available)
{
    kino__trace *traces[] = {FIXTURE(OP(.name = "x", .ts = 0, .dur = 5)),
                             FIXTURE({.cat = "kernel", .name = "k", .track = 7, .ts = 0, .dur = 5}),
                             FIXTURE({.ph = 'M', .name = "process_name", .ts = KINO_NO_TIME})};
    for (size_t t = 0; t < 3; t++) {
        kino_result *result = analysis_result("modules", "", &traces[t], 1);
        CHECK_STR(analysis_rows(result, "modules", NULL), "");
        CHECK_STR(analysis_notes(result), "modules not available: no module calls were recorded "
                                          "(profile with with_stack=True or with_modules=True)");
        kino_result_free(result);
        result = analysis_result("lightning", "", &traces[t], 1);
        CHECK_STR(analysis_rows(result, "lightning", NULL), "");
        CHECK_STR(analysis_notes(result), "lightning not available: not a PyTorch Lightning trace");
        kino_result_free(result);
        kino__trace_free(traces[t]);
    }
}

/* -- PyTorch Lightning -- */

/* The name says where a module stands: model.fc.bias hangs below nothing, for there is no
 * model.fc; "head" comes first by name. */
static kino__trace *lightning(void)
{
    kino__trace *trace = FIXTURE(OP(.name = "[pl][profile]run_batch", .ts = 0, .dur = 100),
                                 OP(.name = "[pl][profile]step", .ts = 10, .dur = 20),
                                 OP(.name = "[pl][profile]step", .ts = 30, .dur = 20),
                                 OP(.name = "[pl][profile]crosses", .ts = 90, .dur = 20),
                                 OP(.name = "[pl][profile]later", .ts = 100, .dur = 5),
                                 OP(.name = "[pl][module]Conv: model.conv", .ts = 11, .dur = 4),
                                 OP(.name = "[pl][module]Net: model", .ts = 40, .dur = 9),
                                 OP(.name = "[pl][module]Conv: model.conv", .ts = 41, .dur = 6),
                                 OP(.name = "aten::conv", .ts = 42, .dur = 2),
                                 OP(.name = "[pl][module]Bias: model.fc.bias", .ts = 50, .dur = 1),
                                 OP(.name = "[pl][module]Head: head", .ts = 60, .dur = 3));
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    REQUIRE(slot);
    *slot = (kino__metadata){KINO__STR("Framework"), KINO__STR("\"pytorch-lightning\"")};
    return trace;
}

TEST(lightning_modules_form_a_tree_by_their_names)
{
    static const char *const params[] = {"", "compat=tensorboard"};
    for (size_t i = 0; i < 2; i++)
        expect_at(__LINE__, "lightning", lightning(), params[i], "lightning", COLUMNS,
                  "0,-,0,head,0,1,0,3;1,-,0,model,0,1,0,9;2,1,1,model.conv,0,2,1,10;"
                  "3,-,0,model.fc.bias,0,1,0,1");
}

TEST(lightning_actions_nest_by_time)
{
    kino__trace *trace = lightning();
    kino_result *result = analysis_result("lightning", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "lightning_actions",
                            "id,parent,depth,name,tid,start,duration,event_id"),
              "0,-,0,run_batch,1,0,100,0;1,0,1,step,1,10,20,1;2,0,1,step,1,30,20,2;"
              "3,-,0,later,1,100,5,4");
    CHECK_STR(analysis_notes(result),
              "1 actions left out: they cross the end of the enclosing action");
    kino_result_free(result);
    result = analysis_result("modules", "", &trace, 1);
    CHECK_STR(analysis_notes(result), "PyTorch Lightning modules are in the analysis 'lightning'");
    kino_result_free(result);
    kino__trace_free(trace);
}
