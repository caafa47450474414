/* test_table.c - building results, and reading them back through the public functions. */
#include <math.h>

#include "base/str.h"
#include "store/table.h"
#include "unit/made_table.h"
#include "unit/test.h"

static const kino_column columns[] = {
    {"n", KINO_TYPE_INT, "count", "a number"},
    {"x", KINO_TYPE_FLOAT, NULL, NULL},
    {"s", KINO_TYPE_STRING, NULL, NULL},
};

TEST(table_gives_back_what_was_added)
{
    kino_error err;
    char text[] = "copied";
    kino_result *result = kino__result_new("test");
    kino__table *table = kino__result_add_table(result, "first", columns, 3);
    (void)kino__result_add_table(result, "empty", columns, 1);
    kino__table_add_int(table, 7);
    kino__table_add_real(table, 0.5);
    kino__table_add_text(table, kino__str_from(text));
    kino__table_add_int(table, KINO_NO_INT);
    kino__table_add_real(table, NAN);
    kino__table_add_format(table, "%d-%s", 3, "x");
    text[0] = '?';
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);

    CHECK_STR(kino_result_name(result), "test");
    CHECK_EQ(kino_result_table_count(result), (size_t)2);
    CHECK_STR(kino_result_table_name(result, 0), "first");
    CHECK(kino_result_table_name(result, 2) == NULL);
    CHECK_EQ(kino_result_row_count(result, 0), (size_t)2);
    CHECK_EQ(kino_result_row_count(result, 1), (size_t)0);
    CHECK_EQ(kino_result_row_count(result, 9), (size_t)0);

    kino_rows *rows;
    const kino_cell *cells;
    REQUIRE(kino_result_rows(result, 0, &rows, &err) == KINO_OK);
    CHECK_EQ(kino_rows_column_count(rows), (size_t)3);
    CHECK_STR(kino_rows_columns(rows)[0].unit, "count");
    CHECK_STR(kino_rows_columns(rows)[0].help, "a number");
    REQUIRE(kino_rows_next(rows, &cells, &err) == KINO_OK && cells);
    CHECK_EQ(cells[0].value.integer, 7);
    CHECK_EQ(cells[1].value.real, 0.5);
    CHECK_STR(cells[2].value.text, KINO__STR("copied"));
    REQUIRE(kino_rows_next(rows, &cells, &err) == KINO_OK && cells);
    CHECK_EQ((int)cells[0].kind, (int)KINO_CELL_NULL);
    CHECK_EQ((int)cells[1].kind, (int)KINO_CELL_NULL);
    CHECK_STR(cells[2].value.text, KINO__STR("3-x"));
    for (int i = 0; i < 2; i++) { /* the end stays the end */
        REQUIRE(kino_rows_next(rows, &cells, &err) == KINO_OK);
        CHECK(cells == NULL);
    }
    kino_rows_free(rows);
    kino_result_free(result);
}

TEST(table_streams_are_independent)
{
    kino_error err;
    kino_result *result = kino__result_new("test");
    kino__table *table = kino__result_add_table(result, "t", columns, 1);
    kino__table_add_int(table, 1);
    kino__table_add_int(table, 2);
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    kino_rows *a, *b;
    const kino_cell *cells;
    REQUIRE(kino_result_rows(result, 0, &a, &err) == KINO_OK);
    REQUIRE(kino_result_rows(result, 0, &b, &err) == KINO_OK);
    REQUIRE(kino_rows_next(a, &cells, &err) == KINO_OK);
    REQUIRE(kino_rows_next(a, &cells, &err) == KINO_OK);
    CHECK_EQ(cells[0].value.integer, 2);
    REQUIRE(kino_rows_next(b, &cells, &err) == KINO_OK);
    CHECK_EQ(cells[0].value.integer, 1);
    kino_rows_free(a);
    kino_rows_free(b);
    kino_result_free(result);
}

TEST(table_that_does_not_exist_is_an_error)
{
    kino_error err;
    kino_rows *rows;
    kino_result *result = kino__result_new("test");
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    CHECK_EQ((int)kino_result_rows(result, 0, &rows, &err), (int)KINO_NOT_FOUND);
    CHECK(rows == NULL);
    CHECK_STR(err.message, "result 'test' has no table 0");
    kino_result_free(result);
    kino_result_free(NULL);
    kino_rows_free(NULL);
}

TEST(table_builder_takes_null_and_reports_at_the_end)
{
    kino_error err;
    kino_result *out;
    kino__table *table = kino__result_add_table(NULL, "t", columns, 1);
    CHECK(table == NULL);
    kino__table_add_int(table, 1);
    kino__table_add_format(table, "%d", 1);
    kino__table_describe(table, 0, "x", NULL);
    kino__result_note(NULL, "note");
    kino__result_param(NULL, "p", kino__cell_int(1));
    kino__result_set_input(NULL, &(kino__input){0});
    CHECK_EQ((int)kino__result_finish(NULL, &out, &err), (int)KINO_NOMEM);
    CHECK(out == NULL);
}

TEST(table_that_failed_once_never_finishes)
{
    kino_error err;
    kino_result *out;
    kino_result *result = kino__result_new("test");
    result->failed = true;
    CHECK_EQ((int)kino__result_finish(result, &out, &err), (int)KINO_NOMEM);
    CHECK(out == NULL);
}

TEST(table_keeps_input_notes_and_params)
{
    kino_error err;
    int64_t ranks[] = {3, 1};
    kino_result *result = kino__result_new("test");
    kino__result_set_input(
        result, &(kino__input){.path = "run/", .ranks = ranks, .rank_count = 2, .events = 5});
    kino__result_note(result, "%s not available: %s", "rank", "no");
    kino__result_param(result, "top", kino__cell_text(KINO__STR("x")));
    ranks[0] = 9;
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    CHECK_STR(result->input.path, "run/");
    CHECK_EQ(result->input.ranks[0], 3);
    CHECK_EQ(result->input.ranks[1], 1);
    CHECK_STR(result->notes.items[0].text, "rank not available: no");
    CHECK_STR(result->params.items[0].name, "top");
    kino_result_free(result);
}

TEST(cells_are_read_by_place_and_type)
{
    enum { C_NAME, C_COUNT, C_SHARE, C_EVENTS, C_COLUMNS };
    static const kino_column typed[] = {[C_NAME] = {"name", KINO_TYPE_STRING, NULL, NULL},
                                        [C_COUNT] = {"count", KINO_TYPE_INT, NULL, NULL},
                                        [C_SHARE] = {"share", KINO_TYPE_PERCENT, NULL, NULL},
                                        [C_EVENTS] = {"events", KINO_TYPE_JSON, NULL, NULL}};
    static const int64_t ids[] = {4294967297, 7};
    kino_result *result = kino__result_new("test");
    kino__table *table = kino__result_add_table(result, "rows", typed, C_COLUMNS);
    REQUIRE(table != NULL);
    for (size_t row = 0; row < 3; row++) { /* 2 ids, 1 id, none */
        kino__table_add_text(table, KINO__STR("a"));
        kino__table_add_int(table, (int64_t)row);
        kino__table_add_real(table, 12.5);
        kino__table_add_ids(table, ids, 2 - row);
    }
    CHECK_EQ(kino__table_int(table, 2, C_COUNT), 2);
    CHECK(kino__table_real(table, 0, C_SHARE) == 12.5);
    CHECK(kino__str_is(kino__table_text(table, 1, C_NAME), "a"));
    CHECK(kino__str_is(kino__table_text(table, 0, C_EVENTS), "[4294967297, 7]"));
    CHECK(kino__str_is(kino__table_text(table, 2, C_EVENTS), "[]"));
    REQUIRE_EQ(kino__table_ids(table, 0, C_EVENTS).count, 2);
    CHECK_EQ(kino__table_ids(table, 0, C_EVENTS).ids[1], 7);
    REQUIRE_EQ(kino__table_ids(table, 1, C_EVENTS).count, 1);
    CHECK_EQ(kino__table_ids(table, 1, C_EVENTS).ids[0], ids[0]);
    CHECK_EQ(kino__table_ids(table, 2, C_EVENTS).count, 0);
    CHECK_EQ(kino__table_ids(table, 0, C_NAME).count, 0);
    /* what is not there, or is something else */
    CHECK_EQ(kino__table_int(table, 0, C_NAME), KINO_NO_INT);
    CHECK_EQ(kino__table_int(table, 3, C_COUNT), KINO_NO_INT);
    CHECK(isnan(kino__table_real(table, 0, C_COUNT)));
    CHECK_EQ(kino__table_text(table, 0, C_COLUMNS).size, 0);
    kino_result_free(result);
}

/* -- rows that are made when they are read -- */

static kino_result *two_rows(kino__table **table)
{
    kino_result *result = kino__result_new("test");
    *table = kino__result_add_table(result, "first", columns, 3);
    kino__table_add_int(*table, 7);
    kino__table_add_real(*table, 0.5);
    kino__table_add_text(*table, KINO__STR("one"));
    kino__table_add_int(*table, 8);
    kino__table_add_null(*table);
    kino__table_add_text(*table, KINO__STR("two"));
    return result;
}

TEST(made_table_is_read_as_a_stored_one)
{
    kino__table *table;
    kino_result *result = two_rows(&table);
    int freed = 0;
    make_on_demand(table, &freed);
    CHECK_EQ(kino_result_row_count(result, 0), (size_t)2);
    CHECK_EQ(kino__table_int(table, 1, 0), 8);
    CHECK_EQ(kino__table_real(table, 0, 1), 0.5);
    CHECK_STR(kino__table_text(table, 1, 2), KINO__STR("two"));
    CHECK_EQ((int)kino__table_cell(table, 2, 0).kind, (int)KINO_CELL_NULL);
    CHECK_EQ((int)kino__table_cell(table, 0, 3).kind, (int)KINO_CELL_NULL);
    CHECK_EQ(kino__table_ids(table, 0, 0).count, (size_t)0);
    CHECK(kino__table_is_shown(table));
    CHECK_EQ(freed, 0);
    kino_result_free(result);
    CHECK_EQ(freed, 1);
}

TEST(made_rows_come_one_after_the_other_and_end)
{
    kino__table *table;
    kino_result *result = two_rows(&table);
    make_on_demand(table, NULL);
    kino_rows *both[2];
    const kino_cell *cells, *others;
    REQUIRE(kino_result_rows(result, 0, &both[0], NULL) == KINO_OK);
    REQUIRE(kino_result_rows(result, 0, &both[1], NULL) == KINO_OK);
    REQUIRE(kino_rows_next(both[0], &cells, NULL) == KINO_OK && cells);
    CHECK_STR(cells[2].value.text, KINO__STR("one"));
    REQUIRE(kino_rows_next(both[0], &cells, NULL) == KINO_OK && cells);
    REQUIRE(kino_rows_next(both[1], &others, NULL) == KINO_OK && others);
    CHECK_EQ(cells[0].value.integer, 8); /* streams do not share their room */
    CHECK_EQ(others[0].value.integer, 7);
    for (int i = 0; i < 2; i++) {
        REQUIRE(kino_rows_next(both[0], &cells, NULL) == KINO_OK);
        CHECK(cells == NULL);
    }
    kino_rows_free(both[0]);
    kino_rows_free(both[1]);
    kino_result_free(result);
}

TEST(cleared_made_table_has_no_rows)
{
    kino__table *table;
    kino_result *result = two_rows(&table);
    int freed = 0;
    make_on_demand(table, &freed);
    kino__table_clear(table);
    CHECK_EQ(freed, 1);
    CHECK_EQ(kino__table_row_count(table), (size_t)0);
    kino_result_free(result);
    CHECK_EQ(freed, 1);
}

static kino_cell no_cell(const void *context, size_t row, size_t column)
{
    (void)context, (void)row, (void)column;
    return kino__cell_null();
}

static void count_free(void *context)
{
    ++*(int *)context;
}

TEST(maker_that_does_not_fit_fails_the_result_and_is_freed)
{
    int freed = 0;
    kino__row_maker maker = {no_cell, count_free, &freed, 1};
    kino_column wide[KINO__MADE_COLUMNS + 1];
    for (size_t i = 0; i <= KINO__MADE_COLUMNS; i++)
        wide[i] = columns[0];
    kino__table_set_maker(NULL, maker);
    CHECK_EQ(freed, 1);
    kino_result *result = kino__result_new("test");
    kino__table_set_maker(kino__result_add_table(result, "wide", wide, KINO__MADE_COLUMNS + 1),
                          maker);
    CHECK_EQ(freed, 2);
    CHECK(kino__result_finish(result, &result, NULL) == KINO_NOMEM);
}
