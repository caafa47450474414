/* test_link_python.c - Python callers and modules. */
#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define PY(id, parent)                                                                             \
    .cat = "python_function", .args = "{\"Python id\": " #id ", \"Python parent id\": " #parent "}"

static int64_t caller(const kino__trace *trace, uint32_t number)
{
    const uint32_t *column = kino__link_python_parent(trace);
    REQUIRE(column != NULL);
    return fixture_number(trace, column[fixture_row(trace, number)]);
}

static int64_t module(const kino__trace *trace, uint32_t number)
{
    const uint32_t *column = kino__link_module(trace);
    REQUIRE(column != NULL);
    return fixture_number(trace, column[fixture_row(trace, number)]);
}

TEST(python_callers_come_from_ids_and_ops_from_nesting)
{
    kino__trace *trace =
        FIXTURE({.name = "main", .ts = 0, .dur = 100, PY(1, null)},
                {.name = "nn.Module: Net_0", .ts = 10, .dur = 80, PY(2, 1)},
                {.name = "forward", .ts = 11, .dur = 70, PY(3, 2)},
                {.name = "nn.Module: Linear_0", .ts = 12, .dur = 30, PY(4, 3)},
                {.name = "aten::linear", .cat = "cpu_op", .ts = 13, .dur = 20},
                {.name = "cudaLaunchKernel", .cat = "cuda_runtime", .ts = 14, .dur = 2},
                {.name = "aten::relu", .cat = "cpu_op", .ts = 50, .dur = 5},
                {.name = "late", .ts = 95, .dur = 3, PY(5, 3)}, /* by id, though 3 has ended */
                {.name = "k", .cat = "kernel", .track = 7, .ts = 20, .dur = 5});
    static const int64_t callers[] = {-1, 0, 1, 2, 3, 3, 2, 2, -1};
    static const int64_t modules[] = {-1, -1, 1, 1, 3, 3, 1, 1, -1};
    for (uint32_t i = 0; i < 9; i++) {
        CHECK_EQ(caller(trace, i), callers[i]);
        CHECK_EQ(module(trace, i), modules[i]);
    }
    kino__trace_free(trace);
}

TEST(python_callers_without_ids_come_from_nesting)
{
    kino__trace *trace = FIXTURE({.name = "main", .cat = "python_function", .ts = 0, .dur = 100},
                                 {.name = "aten::add", .cat = "cpu_op", .ts = 5, .dur = 90},
                                 {.name = "hook", .cat = "python_function", .ts = 10, .dur = 20});
    CHECK_EQ(caller(trace, 0), -1);
    CHECK_EQ(caller(trace, 1), 0);
    CHECK_EQ(caller(trace, 2), 0);
    kino__trace_free(trace);
}

TEST(python_ids_in_circles_or_of_other_threads_are_not_followed)
{
    kino__trace *trace = FIXTURE(
        {.name = "self", .ts = 0, .dur = 10, PY(1, 1)},
        {.name = "a", .ts = 20, .dur = 10, PY(2, 3)}, {.name = "b", .ts = 40, .dur = 10, PY(3, 2)},
        {.name = "other thread", .track = 1, .ts = 60, .dur = 10, PY(4, 2)},
        {.name = "unknown", .ts = 80, .dur = 10, PY(5, 99)});
    CHECK_EQ(caller(trace, 0), -1);
    CHECK_EQ(caller(trace, 1), -1);
    CHECK_EQ(caller(trace, 2), 1);
    CHECK_EQ(caller(trace, 3), -1);
    CHECK_EQ(caller(trace, 4), -1);
    kino__trace_free(trace);
}

TEST(python_callers_modules_and_ops_agree_with_a_walk_up_the_nesting)
{
    static const char *const cats[] = {"python_function", "cpu_op", "cuda_runtime",
                                       "user_annotation"};
    static const char *const names[] = {"nn.Module: A_0", "f", "nn.Module: B_1", "nn.Module"};
    fixture_random random = {31};
    fixture_event events[40];
    for (int round = 0; round < 1000; round++) {
        uint32_t count = 1 + fixture_random_below(&random, 40);
        for (uint32_t i = 0; i < count; i++)
            events[i] = (fixture_event){.cat = cats[fixture_random_below(&random, 4)],
                                        .name = names[fixture_random_below(&random, 4)],
                                        .track = fixture_random_below(&random, 2),
                                        .ts = fixture_random_below(&random, 50),
                                        .dur = fixture_random_below(&random, 40)};
        kino__trace *trace = fixture_new(events, count);
        const uint32_t *parent = kino__link_nesting(trace)->parent,
                       *callers = kino__link_python_parent(trace);
        const uint32_t *modules = kino__link_module(trace), *ops = kino__link_op(trace);
        REQUIRE(callers && modules && ops);
        bool ok = true;
        for (uint32_t row = 0; row < count; row++) {
            uint32_t want_caller = KINO_NO_ROW, want_module = KINO_NO_ROW, want_op = KINO_NO_ROW;
            for (uint32_t up = parent[row]; up != KINO_NO_ROW; up = parent[up]) {
                bool is_python = trace->category[up] == KINO__CATEGORY_PYTHON_FUNCTION;
                bool is_module =
                    is_python && kino__str_starts_with(kino__trace_string(trace, trace->name[up]),
                                                       KINO__STR("nn.Module: "));
                if (want_caller == KINO_NO_ROW && is_python)
                    want_caller = up;
                if (want_module == KINO_NO_ROW && is_module)
                    want_module = up;
                if (want_op == KINO_NO_ROW && trace->category[up] == KINO__CATEGORY_CPU_OP)
                    want_op = up;
            }
            bool is_call = trace->category[row] == KINO__CATEGORY_CUDA_RUNTIME;
            ok = CHECK_EQ(callers[row], want_caller) && ok;
            ok = CHECK_EQ(modules[row], want_module) && ok;
            ok = CHECK_EQ(ops[row], is_call ? want_op : KINO_NO_ROW) && ok;
        }
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}
