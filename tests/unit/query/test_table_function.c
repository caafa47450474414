/* test_table_function.c - tables that are computed when SQL asks for them: parameters, defaults,
 * how often they are computed, errors. */
#include "base/error.h"
#include "query/query.h"
#include "store/table.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* Source 0 gives the numbers below `size`, times `factor` (default 1), and a second table with
 * their sum. */
typedef struct counter {
    int calls;
    bool is_stopped;
} counter;

static const kino_column number_columns[] = {
    {"value", KINO_TYPE_INT, NULL, NULL},
    {"group", KINO_TYPE_STRING, NULL, NULL}, /* a word of SQL */
    {"is_odd", KINO_TYPE_BOOL, NULL, NULL},
    {0},
};
static const kino_column sum_columns[] = {{"sum", KINO_TYPE_INT, NULL, NULL}, {0}};

static bool describe(void *context, size_t index, kino__table_function *out)
{
    (void)context;
    static const kino__table_function all[] = {
        {"numbers", number_columns, 0, 0, false},
        {"numbers_sum", sum_columns, 0, 1, false},
        {"numbers_numbers", number_columns, 0, 0, true},
    };
    if (index >= 3)
        return false;
    *out = all[index];
    return true;
}

static bool param(void *context, size_t source, size_t index, const char **name, kino_type *type)
{
    (void)context, (void)source;
    *name = index ? "factor" : "size";
    *type = KINO_TYPE_INT;
    return index < 2;
}

static kino_status call(void *context, size_t source, const char *const *values, size_t count,
                        bool (*go_on)(void *go_on_context), void *go_on_context, kino_result **out,
                        kino_error *err)
{
    counter *calls = context;
    int64_t size = 3, factor = 1, sum = 0;
    CHECK_EQ(source, 0);
    REQUIRE_EQ(count, 2);
    calls->calls++;
    *out = NULL;
    if (!go_on(go_on_context)) {
        calls->is_stopped = true;
        return kino__fail(err, KINO_CANCELLED, "interrupted");
    }
    if (values[0] && !kino__str_to_int(kino__str_from(values[0]), &size))
        return kino__fail(err, KINO_ARGUMENT, "'%s' is no size", values[0]);
    if (values[1] && !kino__str_to_int(kino__str_from(values[1]), &factor))
        return kino__fail(err, KINO_ARGUMENT, "'%s' is no factor", values[1]);
    kino_result *result = kino__result_new("numbers");
    kino__result_param(result, "size", kino__cell_int(size));
    kino__result_param(result, "factor", kino__cell_int(factor));
    kino__table *numbers = kino__result_add_table(result, "numbers", number_columns, 3);
    for (int64_t i = 0; i < size; i++) {
        kino__table_add_int(numbers, i * factor);
        if (i == 1)
            kino__table_add_null(numbers);
        else
            kino__table_add_format(numbers, "g%d", (int)(i % 2));
        kino__table_add_int(numbers, i * factor % 2 != 0);
        sum += i * factor;
    }
    kino__table_add_int(kino__result_add_table(result, "sum", sum_columns, 1), sum);
    return kino__result_finish(result, out, err);
}

/* Rows as "a,b;c,d", or "error: ...". Valid until the next call. */
static const char *ask_with(const kino__query_options *options, const char *sql)
{
    static kino__buffer out;
    kino__run run;
    kino__run_init(&run);
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "a", .ts = 0, .dur = 1},
                                 {.cat = "cpu_op", .name = "b", .ts = 2, .dur = 2});
    REQUIRE(kino__run_add_take(&run, trace, NULL) == KINO_OK);
    kino_rows *rows = NULL;
    kino_error err = {0};
    const kino_cell *cells = NULL;
    out.size = 0;
    kino_status st = kino__query_open(&run, sql, options, &rows, &err);
    while (st == KINO_OK && (st = kino_rows_next(rows, &cells, &err)) == KINO_OK && cells) {
        kino__buffer_add(&out, out.size ? KINO__STR(";") : KINO__STR(""));
        for (size_t i = 0; i < kino_rows_column_count(rows); i++) {
            kino__buffer_add(&out, i ? KINO__STR(",") : KINO__STR(""));
            if (cells[i].kind == KINO_CELL_INT)
                kino__buffer_printf(&out, "%lld", (long long)cells[i].value.integer);
            else if (cells[i].kind == KINO_CELL_TEXT)
                kino__buffer_add(&out, cells[i].value.text);
            else
                kino__buffer_add(&out, KINO__STR("-"));
        }
    }
    kino_rows_free(rows);
    kino__run_deinit(&run);
    if (st != KINO_OK) {
        out.size = 0;
        kino__buffer_printf(&out, "error: %s", err.message);
    }
    kino__buffer_add(&out, (kino_str){"", 1});
    REQUIRE(!out.failed);
    return out.data;
}

static const char *ask(counter *calls, const char *sql)
{
    kino__table_functions functions = {calls, describe, param, call};
    kino__query_options options = {.functions = &functions};
    *calls = (counter){0};
    return ask_with(&options, sql);
}

TEST(table_function_has_rows_parameters_and_defaults)
{
    counter calls;
    CHECK_STR(ask(&calls, "SELECT * FROM numbers"), "0,g0,0;1,-,1;2,g0,0");
    CHECK_STR(ask(&calls, "SELECT * FROM numbers(2)"), "0,g0,0;1,-,1");
    CHECK_STR(ask(&calls, "SELECT value FROM numbers(2, 5)"), "0;5");
    CHECK_STR(ask(&calls, "SELECT value FROM numbers(NULL, 5)"), "0;5;10");
    CHECK_STR(ask(&calls, "SELECT value FROM numbers WHERE factor = 4 AND size = 2"), "0;4");
    CHECK_STR(ask(&calls, "SELECT size, factor, value FROM numbers(1)"), "1,1,0");
    CHECK_STR(ask(&calls, "SELECT sum FROM numbers_sum(5)"), "10");
    CHECK_STR(ask(&calls, "SELECT count(*) FROM numbers_numbers(7)"), "7");
    CHECK_STR(ask(&calls, "SELECT value FROM numbers(9) WHERE value > 6 ORDER BY value DESC"),
              "8;7");
}

TEST(table_function_is_called_once_for_each_set_of_parameters)
{
    counter calls;
    CHECK_STR(ask(&calls, "SELECT count(*) FROM numbers a, numbers b, numbers_sum c"), "9");
    CHECK_EQ(calls.calls, 1);
    CHECK_STR(ask(&calls, "SELECT count(*) FROM numbers(4) a JOIN numbers(5) b USING (value)"),
              "4");
    CHECK_EQ(calls.calls, 2);
    CHECK_STR(ask(&calls, "SELECT count(*) FROM event"), "2");
    CHECK_EQ(calls.calls, 0);
}

TEST(table_function_takes_parameters_from_a_joined_table)
{
    counter calls;
    CHECK_STR(ask(&calls, "SELECT e.dur, n.value FROM event e, numbers(e.dur) n ORDER BY 1, 2"),
              "1,0;2,0;2,1");
    CHECK_EQ(calls.calls, 2);
    CHECK_STR(ask(&calls, "SELECT e.dur, n.value FROM numbers n, event e WHERE n.size = e.dur "
                          "ORDER BY 1, 2"),
              "1,0;2,0;2,1");
}

TEST(table_function_passes_errors_on)
{
    counter calls;
    CHECK_STR(ask(&calls, "SELECT * FROM numbers('many')"), "error: 'many' is no size");
    CHECK_STR(ask(&calls, "SELECT * FROM numbers(1, 2, 3)"),
              "error: too many arguments on numbers() - max 2");
}

TEST(table_function_hears_that_the_query_was_stopped)
{
    counter calls = {0};
    kino__table_functions functions = {&calls, describe, param, call};
    bool cancel = false;
    kino__query_options options = {.functions = &functions, .cancel = &cancel};
    CHECK_STR(ask_with(&options, "SELECT count(*) FROM numbers"), "3");
    cancel = true;
    CHECK_STR(ask_with(&options, "SELECT count(*) FROM numbers"), "error: interrupted");
}

TEST(table_function_stands_in_the_schema_without_its_aliases)
{
    counter calls;
    kino__table_functions functions = {&calls, describe, param, call};
    kino_rows *rows;
    const kino_cell *cells;
    kino__buffer names = {0};
    bool found = false;
    REQUIRE(kino__query_schema_all(&functions, &rows, NULL) == KINO_OK);
    while (kino_rows_next(rows, &cells, NULL) == KINO_OK && cells) {
        kino__buffer_add(&names, cells[0].value.text);
        kino__buffer_add(&names, KINO__STR(" "));
        if (!kino__str_is(cells[0].value.text, "numbers"))
            continue;
        found = true;
        CHECK_STR(cells[1].value.text,
                  "CREATE TABLE numbers(\n    value INT,\n    \"group\" TEXT,\n"
                  "    is_odd BOOL INT,\n    size INT HIDDEN,\n"
                  "    factor INT HIDDEN\n)");
    }
    CHECK(found);
    CHECK(kino__str_ends_with(kino__buffer_str(&names), KINO__STR(" numbers numbers_sum ")));
    kino_rows_free(rows);
    kino__buffer_deinit(&names);
}
