/* test_diff.c - expressions of kino diff: what they mean, where they are wrong; trees laid side by
 * side; medians. */
#include <math.h>

#include "analysis/diff/diff.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* -- expressions -- */

/* Kernel "gemm<4, float>" grew from 100 to 103 us, "relu" is new with 20 us; the step from 1 to
 * 1.04 ms; operator "aten::mm" from 200 to 210 us on the device; Memcpy from 0 to 0. */
static void fill(kino__diff *diff)
{
    static const kino__diff_pair gemm = {100000, 103000, NAN, NAN}, relu = {0, 20000, NAN, NAN};
    static const kino__diff_pair mm = {200000, 210000, NAN, NAN}, host = {5000, 90000, NAN, NAN};
    *diff = (kino__diff){.step_time = {1e6, 1.04e6, NAN, NAN}, .has_device = true};
    diff->parts[KINO__ROLE_KERNEL] = (kino__diff_pair){300000, 310000, NAN, NAN};
    diff->parts[KINO__ROLE_CPU] = (kino__diff_pair){2000, 1000, NAN, NAN};
    kino__diff_item *items =
        kino__vec_reserve(&diff->kernels.items, 2) ? diff->kernels.items.items : NULL;
    REQUIRE(items && kino__vec_reserve(&diff->ops.items, 2));
    items[0] = (kino__diff_item){.name = KINO__STR("gemm<4, float>"), .is_left = true};
    items[0].values[KINO__DIFF_DEVICE] = gemm;
    items[1] = (kino__diff_item){.name = KINO__STR("relu"), .is_right = true};
    items[1].values[KINO__DIFF_DEVICE] = relu;
    diff->kernels.items.count = 2;
    items = diff->ops.items.items;
    items[0] = (kino__diff_item){.name = KINO__STR("aten::mm")};
    items[0].values[KINO__DIFF_DEVICE] = mm;
    items[0].values[KINO__DIFF_HOST] = host;
    items[1] = (kino__diff_item){.name = KINO__STR("aten::item")};
    items[1].values[KINO__DIFF_HOST] = host;
    diff->ops.items.count = 2;
}

/* "relu, gemm" of what does not hold, "" when all does, the message when it cannot be read. */
static const char *failed(const char *expressions)
{
    static kino__buffer out;
    static kino_error err;
    kino__diff diff;
    fill(&diff);
    kino_result *result = kino__result_new("diff");
    const kino_table_info *info = &kino__analysis_diff.tables[KINO__DIFF_TABLE_CHECKS];
    kino__table *table = kino__result_add_table(result, info->name, info->columns, 7);
    out.size = 0;
    if (kino__diff_check(kino__str_from(expressions), &diff, table, &err) != KINO_OK)
        kino__buffer_printf(&out, "%s", err.message);
    else
        for (size_t i = 0; i < table->cells.count; i += 7)
            if (!table->cells.items[i + 1].value.integer)
                kino__buffer_printf(&out, "%s%.*s", out.size ? ", " : "",
                                    KINO__STR_ARG(table->cells.items[i + 2].value.text));
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    kino_result_free(result);
    kino__diff_deinit(&diff);
    return out.data;
}

TEST(diff_expressions_of_the_step)
{
    CHECK_EQ(failed("step_time>5%"), "");
    CHECK_EQ(failed("step_time>3.9%"), "Step time");
    CHECK_EQ(failed("step_time > 4 %"), "");
    CHECK_EQ(failed("step_time>=4%"), "Step time");
    CHECK_EQ(failed("step_time>40us"), "");
    CHECK_EQ(failed("step_time>0.039ms"), "Step time");
    CHECK_EQ(failed("step_time>1s,step_time>1ns"), "Step time");
}

TEST(diff_limits_hold_together)
{
    CHECK_EQ(failed("kernel>2%&>30us"), "");     /* 3 % but 3 us; new, but 20 us */
    CHECK_EQ(failed("kernel>2%&>10us"), "relu"); /* what is new grew by any percentage */
    CHECK_EQ(failed("kernel>2%"), "gemm<4, float>, relu");
    CHECK_EQ(failed("kernel>5%"), "relu");
    CHECK_EQ(failed("kernel>2%&>2us&>3us"), "relu");
}

TEST(diff_names_are_patterns)
{
    CHECK_EQ(failed("op:aten::mm>4%"), "aten::mm");
    CHECK_EQ(failed("op:aten::mm>5%"), "");
    CHECK_EQ(failed("op:aten::*>4%"), "aten::mm, aten::item");
    CHECK_EQ(failed("op:nothing>4%"), "");
    /* commas and angles in names */
    CHECK_EQ(failed("kernel:gemm<4, float>>2%,step_time>5%"), "gemm<4, float>");
    CHECK_EQ(failed("kernel:gemm<*>2%&>2us"), "gemm<4, float>");
    CHECK_EQ(failed("category:Kernel>1us"), "Kernel");
    CHECK_EQ(failed("category:cpu_exec>0%"), "");
    CHECK_EQ(failed("category>3%"), "Kernel");
    CHECK_EQ(failed("category:Memcpy>0%"), ""); /* nothing of nothing */
}

TEST(diff_mistakes_name_their_place)
{
    CHECK_EQ(failed("step_tme>5%"),
             "'step_tme>5%': expected step_time, op, kernel, category, or op:NAME, kernel:NAME, "
             "category:NAME at character 1, not 'step_tme>5%'");
    CHECK_EQ(failed("step_time"), "'step_time': expected '>' and a limit at character 10, not ''");
    CHECK_EQ(failed("step_time>5"), "'step_time>5': expected a unit (%, ns, us, ms or s) at "
                                    "character 12, not ''");
    CHECK_EQ(failed("step_time>x%"), "'step_time>x%': expected a number at character 11, not 'x%'");
    CHECK_EQ(failed("kernel>2%&30us"),
             "'kernel>2%&30us': expected '>' and a limit at character 11, not '30us'");
    CHECK_EQ(failed("kernel>2%;op>1%"),
             "'kernel>2%;op>1%': expected '&', ',' or the end at character 10, not ';op>1%'");
    CHECK_EQ(failed("step_time>5%,"),
             "'step_time>5%,': expected step_time, op, kernel, category, or op:NAME, kernel:NAME, "
             "category:NAME at character 14, not ''");
    CHECK_EQ(failed("op:aten::mm>5"), "'op:aten::mm>5': expected a unit (%, ns, us, ms or s) at "
                                      "character 14, not ''");
    CHECK_EQ(failed("op:>5%"), "'op:>5%': expected a name behind ':' at character 4, not '>5%'");
    CHECK_EQ(failed(""), "'': expected step_time, op, kernel, category, or op:NAME, kernel:NAME, "
                         "category:NAME at character 1, not ''");
}

TEST(diff_percent_of_nothing)
{
    CHECK(isinf(kino__diff_percent(&(kino__diff_pair){0, 5, NAN, NAN})));
    CHECK(isnan(kino__diff_percent(&(kino__diff_pair){0, 0, NAN, NAN})));
    CHECK_EQ(kino__diff_percent(&(kino__diff_pair){4, 1, NAN, NAN}), -75.0);
}

/* -- medians -- */

TEST(diff_medians_and_spread)
{
    int64_t times[] = {30, 10, 20, 7, 5};
    kino__diff_run runs[5] = {0};
    kino__diff_run *list[5];
    for (int i = 0; i < 5; i++) {
        runs[i] = (kino__diff_run){.ranks = 1, .steps = 2, .divisor = 2, .step_time = 2 * times[i]};
        list[i] = &runs[i];
    }
    kino__diff diff;
    REQUIRE(kino__diff_init(&diff, list, 3, list + 3, 2));
    CHECK_EQ(diff.step_time.left, 20.0);
    CHECK_EQ(diff.step_time.left_spread, 20.0);
    CHECK_EQ(diff.step_time.right, 6.0); /* of an even number: between the middle two */
    CHECK_EQ(diff.step_time.right_spread, 2.0);
    kino__diff_deinit(&diff);
    runs[4].steps = 0; /* a run without steps says nothing */
    REQUIRE(kino__diff_init(&diff, list, 1, list + 3, 2));
    CHECK_EQ(diff.step_time.right, 7.0);
    CHECK(isnan(diff.step_time.left_spread));
    kino__diff_deinit(&diff);
}

/* -- trees -- */

#define MODULE(what, ...)                                                                          \
    {                                                                                              \
        .cat = "python_function", .name = "nn.Module: " what, __VA_ARGS__                          \
    }
#define OP(what, ...)                                                                              \
    {                                                                                              \
        .cat = "cpu_op", .name = what, __VA_ARGS__                                                 \
    }

/* "path left|right delta" of each row. Frees the traces. */
static const char *tree_of(kino__trace *left, kino__trace *right)
{
    static kino__buffer out;
    kino_result *result = kino__result_new("diff");
    for (size_t i = 0; i <= KINO__DIFF_TABLE_TREE_OPS; i++) {
        const kino_table_info *info = &kino__analysis_diff.tables[i];
        size_t count = 0;
        while (info->columns[count].name)
            count++;
        (void)kino__result_add_table(result, info->name, info->columns, count);
    }
    const kino__profile *a = kino__profile_of(left, false, NULL);
    const kino__profile *b = kino__profile_of(right, false, NULL);
    REQUIRE(a && b && kino__diff_write_tree(a, b, false, result));
    const kino__table *table = kino__analysis_table(result, KINO__DIFF_TABLE_TREE);
    out.size = 0;
    for (size_t i = 0; i < table->cells.count; i += table->column_count) {
        const kino_cell *row = &table->cells.items[i];
        kino__buffer_printf(&out, "%s%.*s %.*s|%.*s %lld", i ? "; " : "",
                            KINO__STR_ARG(row[0].value.text), KINO__STR_ARG(row[1].value.text),
                            KINO__STR_ARG(row[2].value.text), (long long)row[9].value.integer);
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    kino_result_free(result);
    kino__trace_free(left);
    kino__trace_free(right);
    return out.data;
}

TEST(diff_tree_is_cut_at_modules)
{
    kino__trace *left =
        FIXTURE(OP("a", .ts = 0, .dur = 5), OP("b", .ts = 10, .dur = 5),
                MODULE("Linear_0", .ts = 20, .dur = 20), OP("mm", .ts = 21, .dur = 8),
                OP("c", .ts = 50, .dur = 4), MODULE("ReLU_0", .ts = 60, .dur = 10));
    kino__trace *right =
        FIXTURE(OP("a", .ts = 0, .dur = 7), MODULE("Linear_0", .ts = 20, .dur = 26),
                OP("mm", .ts = 21, .dur = 9), MODULE("ReLU_0", .ts = 60, .dur = 10),
                OP("d", .ts = 80, .dur = 3));
    CHECK_EQ(tree_of(left, right), "0 CompositeNodes|CompositeNodes 2; 0-0 CompositeNodes|a -3; "
                                   "0-1 nn.Module: Linear_0|nn.Module: Linear_0 6; 0-2 c|Blank -4; "
                                   "0-3 nn.Module: ReLU_0|nn.Module: ReLU_0 0; 0-4 Blank|d 3");
}

TEST(diff_tree_goes_down_into_pairs)
{
    kino__trace *left =
        FIXTURE(MODULE("Net_0", .ts = 0, .dur = 100), OP("x", .ts = 1, .dur = 3),
                MODULE("Linear_0", .ts = 10, .dur = 20), MODULE("Linear_1", .ts = 40, .dur = 20));
    kino__trace *right =
        FIXTURE(MODULE("Net_0", .ts = 0, .dur = 90), MODULE("Linear_1", .ts = 40, .dur = 25),
                OP("y", .ts = 70, .dur = 3));
    CHECK_EQ(tree_of(left, right),
             "0 nn.Module: Net_0|nn.Module: Net_0 -10; 0-0 nn.Module: Net_0|nn.Module: Net_0 -10; "
             "0-0-0 CompositeNodes|Blank -23; "
             "0-0-1 nn.Module: Linear_1|nn.Module: Linear_1 5; 0-0-2 Blank|y 3");
}

TEST(diff_tree_matches_each_node_once)
{
    kino__trace *left = FIXTURE(MODULE("A", .ts = 0, .dur = 5), MODULE("A", .ts = 10, .dur = 5),
                                MODULE("B", .ts = 20, .dur = 5), MODULE("A", .ts = 30, .dur = 5));
    kino__trace *right = FIXTURE(MODULE("B", .ts = 0, .dur = 5), MODULE("A", .ts = 10, .dur = 5),
                                 MODULE("A", .ts = 20, .dur = 5), MODULE("C", .ts = 30, .dur = 5));
    CHECK_EQ(tree_of(left, right),
             "0 CompositeNodes|CompositeNodes 0; 0-0 Blank|nn.Module: B 5; "
             "0-1 nn.Module: A|nn.Module: A 0; 0-2 nn.Module: A|nn.Module: A 0; "
             "0-3 CompositeNodes|nn.Module: C -5");
}

TEST(diff_tree_of_nothing)
{
    CHECK_EQ(tree_of(fixture_new(NULL, 0), fixture_new(NULL, 0)), "");
    CHECK_EQ(tree_of(fixture_new(NULL, 0), FIXTURE(OP("a", .ts = 0, .dur = 5))), "0 Blank|a 5");
}
