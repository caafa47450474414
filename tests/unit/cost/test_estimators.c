/* PyTorch's own estimates: the cases of ../shared/golden/pyprof/torch_flops.json. */
#include "cost/cost.h"
#include "unit/cost/cost_ask.h"
#include "unit/cost/pyprof_cases.h"
#include "unit/test.h"

/* A list of a case as text: "[[2, 3], [3, 4]]". */
static void add_json(kino__buffer *out, const kino__json_in *value)
{
    if (value->kind == KINO__JSON_IN_NUMBER) {
        kino__buffer_add(out, value->text);
        return;
    }
    kino__buffer_printf(out, "[");
    for (const kino__json_in *v = value->first; v; v = v->next) {
        add_json(out, v);
        if (v->next)
            kino__buffer_printf(out, ", ");
    }
    kino__buffer_printf(out, "]");
}

static void add_member(kino__buffer *out, const kino__json_in *input, const char *key)
{
    const kino__json_in *value = kino__json_in_member(input, key);
    REQUIRE(value != NULL);
    add_json(out, value);
}

#define FLOATS "[\"float\", \"float\", \"float\", \"float\"]"

/* "[[1, 1]]" of a member as a value in quotes. */
static void add_value(kino__buffer *out, const kino__json_in *input, const char *key)
{
    kino__buffer_printf(out, ", \"");
    add_member(out, input, key);
    kino__buffer_printf(out, "\"");
}

static int64_t with_flops(const kino__json_in *one)
{
    const kino__json_in *input = kino__json_in_member(one, "input");
    kino__buffer dims = {0}, values = {0};
    add_member(&dims, input, "shapes");
    kino__buffer_printf(&dims, "%c", 0);
    if (kino__json_in_member(input, "stride")) {
        kino__buffer_printf(&values, "[\"\", \"\", \"\"");
        add_value(&values, input, "stride");
        add_value(&values, input, "padding");
        add_value(&values, input, "dilation");
        add_value(&values, input, "groups");
        kino__buffer_printf(&values, "]%c", 0);
    }
    kino__cost cost = test_cost(KINO__COST_WITH_FLOPS, kino__json_in_string(one, "op"), dims.data,
                                FLOATS, values.data);
    kino__buffer_deinit(&dims);
    kino__buffer_deinit(&values);
    CHECK_EQ(cost.bytes_read, KINO_NO_INT);
    return cost.flops;
}

/* q, k and v, and before them their number of tensors of q's size. */
static int64_t attention(const kino__json_in *input, bool is_backward)
{
    kino__buffer dims = {0};
    kino__buffer_printf(&dims, "[");
    if (is_backward) {
        add_member(&dims, input, "q");
        kino__buffer_printf(&dims, ", ");
    }
    add_member(&dims, input, "q");
    kino__buffer_printf(&dims, ", ");
    add_member(&dims, input, "k");
    kino__buffer_printf(&dims, ", ");
    add_member(&dims, input, "v");
    kino__buffer_printf(&dims, "]%c", 0);
    const char *op = is_backward ? "aten::_scaled_dot_product_flash_attention_backward"
                                 : "aten::_scaled_dot_product_flash_attention";
    kino__cost cost = test_cost(KINO__COST_FLOP_COUNTER, op, dims.data, FLOATS, NULL);
    kino__buffer_deinit(&dims);
    return cost.flops;
}

static int64_t convolution_backward(const kino__json_in *input)
{
    kino__buffer dims = {0}, values = {0};
    kino__buffer_printf(&dims, "[");
    add_member(&dims, input, "grad_out");
    kino__buffer_printf(&dims, ", ");
    add_member(&dims, input, "x");
    kino__buffer_printf(&dims, ", ");
    add_member(&dims, input, "w");
    kino__buffer_printf(&dims, "]%c", 0);
    kino__buffer_printf(&values,
                        "[\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"False\", \"\", \"\"");
    add_value(&values, input, "output_mask");
    kino__buffer_printf(&values, "]%c", 0);
    kino__cost cost = test_cost(KINO__COST_FLOP_COUNTER, "aten::convolution_backward", dims.data,
                                FLOATS, values.data);
    kino__buffer_deinit(&dims);
    kino__buffer_deinit(&values);
    return cost.flops;
}

/* Of a list of shapes, each pair a product; linear's weight is transposed. */
static int64_t program(const kino__json_in *input)
{
    int64_t flops = 0;
    kino__buffer dims = {0};
    for (const kino__json_in *p = kino__json_in_get_array(input, "shapes"); p; p = p->next) {
        dims.size = 0;
        add_json(&dims, p);
        kino__buffer_printf(&dims, "%c", 0);
        bool is_linear = p->next == NULL;
        kino__cost cost =
            test_cost(is_linear ? KINO__COST_DEFAULT : KINO__COST_FLOP_COUNTER,
                      is_linear ? "aten::linear" : "aten::mm", dims.data, FLOATS, NULL);
        flops += cost.flops;
    }
    kino__buffer_deinit(&dims);
    return flops;
}

static int64_t convolution(const kino__json_in *input)
{
    /* the case gives the result instead of the padding, which is 1 on each side */
    const kino__json_in *x = kino__json_in_get_array(input, "shapes");
    const kino__json_in *out = kino__json_in_get_array(input, "out");
    int64_t size = x->first->next->next->integer, kernel = x->next->first->next->next->integer;
    int64_t padding = (out->next->next->integer - 1 + kernel - size) / 2;
    char values[256];
    kino__buffer dims = {0};
    add_member(&dims, input, "shapes");
    kino__buffer_printf(&dims, "%c", 0);
    (void)snprintf(values, sizeof values,
                   "[\"\", \"\", \"\", \"[1, 1]\", \"[%lld, %lld]\", \"[1, 1]\", \"False\", \"[0, "
                   "0]\", \"1\"]",
                   (long long)padding, (long long)padding);
    kino__cost cost =
        test_cost(KINO__COST_FLOP_COUNTER, "aten::convolution", dims.data, FLOATS, values);
    kino__buffer_deinit(&dims);
    return cost.flops;
}

/* KINO_NO_INT: a whole model, which tests/integration/test_flop_counter.py runs. */
static int64_t flop_counter(const kino__json_in *one)
{
    const kino__json_in *input = kino__json_in_member(one, "input");
    kino_str op = kino__str_from(kino__json_in_string(one, "op"));
    if (kino__str_is(op, "aten.convolution_backward"))
        return convolution_backward(input);
    if (kino__str_is(op, "aten.convolution"))
        return convolution(input);
    if (kino__str_starts_with(op, KINO__STR("sdpa forward+backward")))
        return attention(input, false) + attention(input, true);
    if (kino__str_starts_with(op, KINO__STR("sdpa")))
        return attention(input, kino__str_contains(op, KINO__STR("backward")));
    if (kino__str_starts_with(op, KINO__STR("program")))
        return program(input);
    if (!kino__str_is(op, "aten.bmm"))
        return KINO_NO_INT;
    kino__buffer dims = {0};
    add_member(&dims, input, "shapes");
    kino__buffer_printf(&dims, "%c", 0);
    int64_t flops = test_cost(KINO__COST_FLOP_COUNTER, "aten::bmm", dims.data, FLOATS, NULL).flops;
    kino__buffer_deinit(&dims);
    return flops;
}

TEST(both_estimators_of_pytorch_are_reproduced)
{
    kino__arena arena;
    const kino__json_in *one = test_pyprof_cases("torch_flops.json", &arena);
    int compared = 0;
    for (; one; one = one->next) {
        bool is_profiler =
            kino__str_is(kino__str_from(kino__json_in_string(one, "method")), "with_flops");
        int64_t want = kino__json_in_int(one, "flops");
        int64_t got = is_profiler ? with_flops(one) : flop_counter(one);
        if (is_profiler && want == 0)
            want = KINO_NO_INT; /* 0 stands for what it does not count */
        if (got == KINO_NO_INT && !is_profiler)
            continue;
        if (!CHECK_EQ(got, want))
            printf("  %s\n", kino__json_in_string(one, "op"));
        compared++;
    }
    CHECK(compared >= 15);
    kino__arena_deinit(&arena);
}
