/* PyProf's figures for single kernels: every case of ../shared/golden/pyprof, as PyProf prints it
 * and put right. */
#include "cost/pyprof_cost.h"
#include "unit/cost/pyprof_cases.h"
#include "unit/test.h"

/* An argument of a case, written as PyProf's marker has it. */
static void add_argument(kino__buffer *out, const kino__json_in *argument)
{
    const kino__json_in *shape = kino__json_in_member(argument, "shape");
    kino__buffer_printf(out, "{'name': '%s', 'type': '%s', ",
                        kino__json_in_string(argument, "name"),
                        kino__json_in_string(argument, "type"));
    if (!shape) {
        kino__buffer_printf(out, "'value': None}, ");
        return;
    }
    kino__buffer_printf(out, "'shape': (");
    for (const kino__json_in *s = shape->first; s; s = s->next)
        kino__buffer_printf(out, "%lld,", (long long)s->integer);
    kino__buffer_printf(out, "), 'dtype': '%s'}, ", kino__json_in_string(argument, "dtype"));
}

/* The marker of a case: as recorded, else made from the arguments, which are tensors there. */
static kino_str marker_of(const kino__json_in *input, kino__buffer *room)
{
    kino_str marker;
    if (kino__json_in_get_text(input, "marker", &marker))
        return marker;
    room->size = 0;
    kino__buffer_printf(room, "{'mod': '%s', 'op': '%s', 'args': [",
                        kino__json_in_string(input, "mod"), kino__json_in_string(input, "op"));
    for (const kino__json_in *a = kino__json_in_get_array(input, "args"); a; a = a->next)
        add_argument(room, a);
    kino__buffer_printf(room, "]}");
    return kino__buffer_str(room);
}

typedef struct bench {
    kino__op_call call;
    kino__pyprof_cost cost;
    kino__buffer room;
    kino__cost_model *model;
} bench;

static void bench_init(bench *b)
{
    *b = (bench){0};
    REQUIRE(kino__cost_model_new(KINO__COST_DEFAULT, NULL, &b->model, NULL) == KINO_OK);
}

static void bench_deinit(bench *b)
{
    kino__op_call_deinit(&b->call);
    kino__pyprof_cost_deinit(&b->cost);
    kino__buffer_deinit(&b->room);
    kino__cost_model_free(b->model);
}

static void compute(bench *b, const kino__json_in *input, bool is_compat)
{
    bool is_one = false;
    REQUIRE(kino__op_call_read_pyprof(&b->call, marker_of(input, &b->room), &is_one) && is_one);
    const char *direction = kino__json_in_string(input, "direction");
    bool is_backward = kino__str_is(kino__str_from(direction), "bprop");
    kino__pyprof_kernel kernel = {.name = kino__str_from(kino__json_in_string(input, "kernel")),
                                  .direction = is_backward ? KINO__OP_BACKWARD : KINO__OP_FORWARD,
                                  .sub = (uint32_t)kino__json_in_int(input, "sub"),
                                  .grid = {1, 1, 1}};
    int i = 0;
    for (const kino__json_in *g = kino__json_in_get_array(input, "grid"); g && i < 3; g = g->next)
        kernel.grid[i++] = g->integer;
    REQUIRE(kino__pyprof_cost_of(&b->call, &kernel, b->model, is_compat, &b->cost));
}

static bool check_case(bench *b, const kino__json_in *one, bool is_compat)
{
    const kino__json_in *want = kino__json_in_member(one, "expect");
    const kino__json_in *right = is_compat ? NULL : kino__json_in_member(one, "corrected");
    const kino__json_in *figures = right ? right : want;
    compute(b, kino__json_in_member(one, "input"), is_compat);
    bool held = CHECK_STR(b->cost.op_class, kino__json_in_string(want, "op_class"));
    held &= CHECK_STR(b->cost.op, kino__json_in_string(want, "op"));
    held &= CHECK_STR(kino__buffer_str(&b->cost.params), kino__json_in_string(want, "params"));
    held &= CHECK_STR(b->cost.tc, kino__json_in_string(want, "tc"));
    /* What PyProf has no class for costs 0 there; here it has the cost of the general model. */
    bool is_foo = kino__str_is(kino__str_from(b->cost.op_class), "Foo");
    if (is_compat || right || !is_foo) {
        held &= CHECK_EQ(b->cost.flops, kino__json_in_int(figures, "flops"));
        held &= CHECK_EQ(b->cost.bytes, kino__json_in_int(figures, "bytes"));
    }
    return held;
}

static void check_all(bool is_compat)
{
    kino__arena arena;
    bench b;
    size_t count = 0;
    const kino__json_in *cases = test_pyprof_cases("op_cost.json", &arena);
    bench_init(&b);
    for (; cases; cases = cases->next, count++)
        if (!check_case(&b, cases, is_compat))
            printf("  case %s\n", kino__json_in_string(cases, "id"));
    CHECK(count >= 68);
    bench_deinit(&b);
    kino__arena_deinit(&arena);
}

TEST(every_golden_case_costs_what_pyprof_prints)
{
    check_all(true);
}

TEST(every_golden_case_costs_what_is_right_by_default)
{
    check_all(false);
}

TEST(what_stops_pyprof_is_unknown_there_and_has_a_cost_here)
{
    kino__arena arena;
    bench b;
    const kino__json_in *cases = test_pyprof_cases("op_cost_rejects.json", &arena);
    bench_init(&b);
    for (; cases; cases = cases->next) {
        compute(&b, kino__json_in_member(cases, "input"), true);
        bool held = CHECK_EQ(b.cost.flops, KINO_NO_INT) && CHECK(b.cost.reason != NULL);
        compute(&b, kino__json_in_member(cases, "input"), false);
        held = CHECK(b.cost.flops != KINO_NO_INT) && CHECK(b.cost.bytes > 0) && held;
        if (!held)
            printf("  case %s: %s\n", kino__json_in_string(cases, "id"),
                   b.cost.reason ? b.cost.reason : "");
    }
    bench_deinit(&b);
    kino__arena_deinit(&arena);
}
