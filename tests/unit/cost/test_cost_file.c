/* Families that users add: expressions, figures, and errors with their place. */
#include "cost/cost_file.h"
#include "unit/test.h"

static const char example[] = "# costs of my kernels\n"
                              "family my_kernels\n"
                              "\n"
                              "op my::fused_mlp fused_mlp_out\n"
                              "  let rows = elements(0) / size(0, -1)\n"
                              "  flops = 2 * rows * elements(1)   # one product\n"
                              "  read = bytes(0) + bytes(1)\n"
                              "  written = rows * size(1, 0) * itemsize(0)\n"
                              "  matrix\n"
                              "op aten::mm\n"
                              "  flops = 7\n"
                              "  composite\n"
                              "  precision 1\n";

/* The call points to the text until the next one is read. */
static void read_call(kino__op_call *call, const char *name, const char *dims, const char *values)
{
    static char args[1024];
    (void)snprintf(args, sizeof args,
                   "{\"Input Dims\": %s, \"Input type\": [\"float\", \"c10::Half\"], \"Concrete "
                   "Inputs\": %s}",
                   dims, values ? values : "null");
    REQUIRE(kino__op_call_read_kineto(call, kino__str_from(name), kino__str_from(args)));
}

TEST(a_file_adds_operators_and_replaces_built_in_ones)
{
    const char *path = test_tmp("costs.txt");
    test_write_file(path, example, sizeof example - 1);
    const char *files[] = {path, NULL};
    kino__cost_model *model;
    kino_error err;
    REQUIRE(kino__cost_model_new(KINO__COST_DEFAULT, files, &model, &err) == KINO_OK);
    kino__op_call call = {0};
    read_call(&call, "my::fused_mlp", "[[2, 3, 8], [10, 8]]", NULL);
    kino__cost cost = kino__cost_of(model, &call);
    CHECK_EQ(cost.flops, 2 * 6 * 80);
    CHECK_EQ(cost.bytes_read, 48 * 4 + 80 * 2);
    CHECK_EQ(cost.bytes_written, 6 * 10 * 4);
    CHECK_STR(cost.family, "my_kernels");
    CHECK_EQ(cost.is_matrix && cost.precision == KINO__DTYPE_FLOAT32, true);
    read_call(&call, "other::fused_mlp_out", "[[8], [10, 8]]", NULL); /* by the bare name */
    CHECK_EQ(kino__cost_of(model, &call).flops, 160);
    read_call(&call, "aten::mm", "[[4, 5], [5, 6]]", NULL);
    cost = kino__cost_of(model, &call);
    CHECK_EQ(cost.flops, 7);
    CHECK_EQ(cost.bytes_read, KINO_NO_INT);
    CHECK_EQ(cost.precision, KINO__DTYPE_FLOAT16);
    CHECK_EQ(kino__cost_role_of(model, KINO__STR("aten::mm")), KINO__COST_COMPOSITE);
    CHECK_EQ(kino__cost_role_of(model, KINO__STR("my::fused_mlp")), KINO__COST_PRIMITIVE);
    kino__op_call_deinit(&call);
    kino__cost_model_free(model);
}

static int64_t run(const char *expression, const char *dims, const char *values)
{
    char text[512];
    (void)snprintf(text, sizeof text, "op x\n let a = 3\n flops = %s\n", expression);
    kino__cost_files files = {0};
    kino_error err = {0};
    kino__op_call call = {0};
    kino__cost cost = {0};
    if (!CHECK_EQ(kino__cost_files_parse(&files, "f", kino__str_from(text), &err), KINO_OK))
        printf("  %s\n", err.message);
    read_call(&call, "x", dims, values);
    REQUIRE(kino__cost_files_compute(&files, &call, &cost));
    kino__op_call_deinit(&call);
    kino__cost_files_deinit(&files);
    return cost.flops;
}

TEST(expressions_follow_the_usual_rules)
{
    const char *dims = "[[2, 3, 4], [[5], [6, 7]], []]", *values = "[\"\", \"\", \"9\"]";
    CHECK_EQ(run("1 + 2 * 3", dims, values), 7);
    CHECK_EQ(run("(1 + 2) * 3 - 4 / 3 % 2", dims, values), 8);
    CHECK_EQ(run("a * a", dims, values), 9);
    CHECK_EQ(run("10 - 2 - 3", dims, values), 5);
    CHECK_EQ(run("- - 4", dims, values), 4);
    CHECK_EQ(run("size(0, 0) * 100 + size(0, -1)", dims, values), 204);
    CHECK_EQ(run("rank(0)", dims, values), 3);
    CHECK_EQ(run("elements(1)", dims, values), 5 + 42);
    CHECK_EQ(run("tensors(1)", dims, values), 2);
    CHECK_EQ(run("all_elements()", dims, values), 24 + 47);
    CHECK_EQ(run("value(2)", dims, values), 9);
    CHECK_EQ(run("itemsize(0)", dims, values), 4);
    CHECK_EQ(run("has(0) * 2 + has(2)", dims, values), 2);
    CHECK_EQ(run("if(rank(0) >= 3, min(7, 5), max(7, 5))", dims, values), 5);
    CHECK_EQ(run("if(rank(0) != 3, min(7, 5), max(7, 5))", dims, values), 7);
    CHECK_EQ(run("(1 == 1) + (1 < 2) + (2 <= 1) + (2 > 1)", dims, values), 3);
    CHECK_EQ(run("item(2, 0)", "[[], [], []]", "[\"\", \"\", \"[4, 5]\"]"), 4);
    CHECK_EQ(run("item(2, -1)", "[[], [], []]", "[\"\", \"\", \"[4, 5]\"]"), 5);
    CHECK_EQ(run("broadcast()", "[[8, 1, 6, 1], [7, 1, 5]]", NULL), 1680);
}

TEST(what_an_expression_cannot_know_is_unknown)
{
    const char *dims = "[[2, 3, 4], []]";
    CHECK_EQ(run("size(0, 3)", dims, NULL), KINO_NO_INT);
    CHECK_EQ(run("size(7, 0) + 1", dims, NULL), KINO_NO_INT);
    CHECK_EQ(run("value(1)", dims, NULL), KINO_NO_INT);
    CHECK_EQ(run("4 / (2 - 2)", dims, NULL), KINO_NO_INT);
    CHECK_EQ(run("2 - 3", dims, NULL), KINO_NO_INT); /* a cost is not negative */
    CHECK_EQ(run("if(size(7, 0), 1, 2)", dims, NULL), KINO_NO_INT);
    CHECK_EQ(run("9223372036854775807 * 2", dims, NULL), INT64_MAX); /* then "too large" */
}

TEST(errors_of_a_file_name_line_and_column)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"flops = 1\n",
         "cannot read 'f': line 1, column 1: 'family NAME' or 'op NAME' is expected"},
        {"op x\n  flops = 2 *\n",
         "cannot read 'f': line 2, column 14: a number, a name or a parenthesis is expected"},
        {"op x\nflops = size(0)\n",
         "cannot read 'f': line 2, column 15: a comma and another argument are expected"},
        {"op x\nflops = rows\n", "cannot read 'f': line 2, column 9: no variable has this name"},
        {"op x\nflops = sice(0, 1)\n",
         "cannot read 'f': line 2, column 9: no function has this name"},
        {"op x\nflops = 1 2\n", "cannot read 'f': line 2, column 11: an operator is expected"},
        {"op x\nflops 1\n",
         "cannot read 'f': line 2, column 7: '=' and an expression are expected"},
        {"op x\nread = 1\n", "cannot read 'f': line 1, column 1: the operator has no flops"},
        {"op x\nflops = 1\nop y x\nflops = 1\n",
         "cannot read 'f': line 3, column 1: the operator is there twice"},
        {"family 3x\n", "cannot read 'f': line 1, column 8: the name of a family is expected"},
        {"op\n", "cannot read 'f': line 1, column 3: the name of an operator is expected"},
        {"op x\nmatrix yes\n", "cannot read 'f': line 2, column 8: nothing more is expected here"},
        {"op x\nflops = 99999999999999999999\n",
         "cannot read 'f': line 2, column 9: the number is too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__cost_files files = {0};
        kino_error err = {0};
        CHECK_EQ(kino__cost_files_parse(&files, "f", kino__str_from(cases[i].text), &err),
                 KINO_FORMAT);
        CHECK_STR(err.message, cases[i].message);
        kino__cost_files_deinit(&files);
    }
}

TEST(deep_expressions_end_at_a_limit)
{
    char text[256];
    size_t size = (size_t)snprintf(text, sizeof text, "op x\nflops = ");
    memset(text + size, '(', 100);
    kino__cost_files files = {0};
    kino_error err = {0};
    CHECK_EQ(kino__cost_files_parse(&files, "f", (kino_str){text, size + 100}, &err), KINO_FORMAT);
    kino__cost_files_deinit(&files);
    kino__cost_model *model;
    const char *paths[] = {"/there/is/no/such/file", NULL};
    CHECK(kino__cost_model_new(KINO__COST_DEFAULT, paths, &model, &err) != KINO_OK);
}
