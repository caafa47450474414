/* test_render.c - one small answer in every output format, units, and texts that try to do harm. */
#include <math.h>

#include "base/json_out.h"
#include "render/render.h"
#include "render/units.h"
#include "unit/made_table.h"
#include "unit/test.h"

static const kino_column columns[] = {
    {"name", KINO_TYPE_STRING, NULL, NULL},  {"n", KINO_TYPE_INT, "count", "how many"},
    {"dur", KINO_TYPE_DURATION, NULL, NULL}, {"part", KINO_TYPE_PERCENT, NULL, NULL},
    {"ok", KINO_TYPE_BOOL, NULL, NULL},      {"args", KINO_TYPE_JSON, NULL, NULL},
};

static kino_result *sample(void)
{
    kino_error err;
    static const int64_t ranks[] = {0, 1};
    kino_result *result = kino__result_new("sample");
    kino__result_set_input(result, &(kino__input){.path = "run/",
                                                  .ranks = ranks,
                                                  .rank_count = 2,
                                                  .events = 12,
                                                  .skipped = 1,
                                                  .origin_ns = 1700000000123456789});
    kino__table *table = kino__result_add_table(result, "things", columns, 6);
    kino__table_add_text(table, KINO__STR("a,b|c"));
    kino__table_add_int(table, 1234567);
    kino__table_add_int(table, 12345678);
    kino__table_add_real(table, 12.34);
    kino__table_add_int(table, 1);
    kino__table_add_text(table, KINO__STR("{\"k\": 1}"));
    kino__table_add_text(table, KINO__STR(""));
    kino__table_add_int(table, 5);
    kino__table_add_null(table);
    kino__table_add_real(table, NAN);
    kino__table_add_int(table, 0);
    kino__table_add_text(table, KINO__STR("{bad"));
    kino__table *empty = kino__result_add_table(result, "empty", columns, 1);
    kino__table_describe(empty, 0, "Empty", "nothing here");
    kino__result_note(result, "a note");
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    return result;
}

/* The rendering of a result; static, valid until the next call. */
static kino_str rendered(const kino_result *result, const char *format, kino__render render)
{
    static kino__buffer out;
    kino_error err;
    out.size = 0;
    const kino__renderer_def *renderer = kino__renderer_find(format);
    REQUIRE(renderer != NULL);
    REQUIRE(kino__memory_sink_new(&out, &render.sink, &err) == KINO_OK);
    REQUIRE(kino__render_result(&render, renderer, result, &err) == KINO_OK);
    REQUIRE(kino__sink_close(render.sink, true, &err) == KINO_OK);
    return kino__buffer_str(&out);
}

TEST(render_finds_formats_by_name)
{
    CHECK_STR(kino__renderer_find(NULL)->name, "table");
    CHECK_STR(kino__renderer_find("csv")->name, "csv");
    CHECK(kino__renderer_find("yaml") == NULL);
    CHECK(kino__renderer_at(4) == NULL);
}

TEST(render_json_is_the_documented_form)
{
    kino_result *result = sample();
    kino_str got = rendered(result, "json", (kino__render){0});
    CHECK_STR(
        got,
        KINO__STR("{\"kino\":1,\"analysis\":\"sample\",\"params\":{},\n"
                  " \"input\":{\"path\":\"run/\",\"ranks\":[0,1],\"events\":12,\"skipped\":1,"
                  "\"origin_ns\":\"1700000000123456789\",\"notes\":[\"a note\"]},\n"
                  " \"tables\":[\n"
                  "  {\"name\":\"things\",\n"
                  "   \"columns\":[{\"name\":\"name\",\"type\":\"string\"},"
                  "{\"name\":\"n\",\"type\":\"int\",\"unit\":\"count\",\"help\":\"how many\"},"
                  "{\"name\":\"dur\",\"type\":\"duration\",\"unit\":\"ns\"},"
                  "{\"name\":\"part\",\"type\":\"percent\"},{\"name\":\"ok\",\"type\":\"bool\"},"
                  "{\"name\":\"args\",\"type\":\"json\"}],\n"
                  "   \"rows\":[\n"
                  "    [\"a,b|c\",1234567,12345678,12.34,true,{\"k\": 1}],\n"
                  "    [\"\",5,null,null,false,\"{bad\"]]},\n"
                  "  {\"name\":\"empty\",\n"
                  "   \"columns\":[{\"name\":\"name\",\"type\":\"string\"}],\n"
                  "   \"rows\":[]}]}\n"));
    CHECK(kino__json_is_valid(got));
    kino_result_free(result);
}

TEST(render_csv_quotes_and_tells_null_from_empty)
{
    kino_result *result = sample();
    CHECK_STR(rendered(result, "csv", (kino__render){0}),
              KINO__STR("name,n,dur,part,ok,args\n"
                        "\"a,b|c\",1234567,12345678,12.34,true,"
                        "\"{\"\"k\"\": 1}\"\n"
                        "\"\",5,,,false,{bad\n"));
    CHECK_STR(rendered(result, "csv", (kino__render){.table = "empty"}), KINO__STR("name\n"));
    kino_result_free(result);
}

TEST(render_writes_made_rows_as_it_writes_stored_ones)
{
    static const char *const formats[] = {"table", "json", "csv", "md"};
    static const unsigned flags[] = {0, KINO__TABLE_FOLD};
    for (size_t i = 0; i < 8; i++) {
        kino_result *results[] = {sample(), sample()};
        kino__buffer stored = {0};
        for (int k = 0; k < 2; k++) {
            results[k]->tables.items[0]->flags = flags[i / 4];
            results[k]->tables.items[0]->optional = 1u << 2;
        }
        make_on_demand(results[1]->tables.items[0], NULL);
        kino__buffer_add(&stored, rendered(results[0], formats[i % 4], (kino__render){0}));
        CHECK_STR(rendered(results[1], formats[i % 4], (kino__render){0}),
                  kino__buffer_str(&stored));
        kino__buffer_deinit(&stored);
        kino_result_free(results[0]);
        kino_result_free(results[1]);
    }
}

TEST(render_csv_of_a_table_that_is_not_there_fails)
{
    kino_error err;
    kino__buffer out = {0};
    kino_result *result = sample();
    kino__render render = {.table = "nope"};
    REQUIRE(kino__memory_sink_new(&out, &render.sink, &err) == KINO_OK);
    CHECK_EQ((int)kino__render_result(&render, kino__renderer_find("csv"), result, &err),
             (int)KINO_NOT_FOUND);
    CHECK_STR(err.message, "'sample' has no table 'nope'");
    REQUIRE(kino__sink_close(render.sink, false, NULL) == KINO_OK);
    kino__buffer_deinit(&out);
    kino_result_free(result);
}

TEST(render_table_aligns_and_uses_units)
{
    kino_result *result = sample();
    CHECK_STR(rendered(result, "table", (kino__render){0}),
              KINO__STR("things\n"
                        "  name           n       dur    part  ok     args\n"
                        "  ─────  ─────────  ────────  ──────  ─────  ────────\n"
                        "  a,b|c  1,234,567  12.35 ms  12.3 %  true   {\"k\": 1}\n"
                        "                 5         -       -  false  {bad\n"
                        "\n"
                        "Empty\n"
                        "  nothing here\n"
                        "\n"
                        "Notes\n"
                        "  a note\n"));
    kino_result_free(result);
}

TEST(render_table_says_how_many_rows_are_missing)
{
    kino_result *result = sample();
    kino_str got = rendered(result, "table", (kino__render){.limit = 1});
    CHECK(memmem(got.data, got.size, "  ... 1 more row (--limit 0 shows all)\n", 39) != NULL);
    CHECK(memmem(got.data, got.size, "{bad", 4) == NULL);
    kino_result_free(result);
}

TEST(render_table_fits_the_terminal)
{
    kino_error err;
    kino_result *result = kino__result_new("wide");
    kino__table *table = kino__result_add_table(result, "t", columns, 3);
    kino__table_add_text(table, KINO__STR("abcdefghijklmnopqrstuvwxyz"));
    kino__table_add_int(table, 1);
    kino__table_add_int(table, 2);
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    /* indent 2, name, gap 2, n 1, gap 2, dur "2 ns" 4: 11 without the name; 25 are left for it: 16
     * letters, the dots, 8 letters */
    CHECK_STR(rendered(result, "table", (kino__render){.width = 36}),
              KINO__STR("t\n"
                        "  name                       n   dur\n"
                        "  ─────────────────────────  ─  ────\n"
                        "  abcdefghijklmnop…stuvwxyz  1  2 ns\n"));
    /* 24 is the least for a text: 2 + 24 + 2 + 1 + 2 + 4 = 35 is too wide, so dur goes and 25 are
     * left again */
    CHECK_STR(rendered(result, "table", (kino__render){.width = 30}),
              KINO__STR("t\n"
                        "  name                       n\n"
                        "  ─────────────────────────  ─\n"
                        "  abcdefghijklmnop…stuvwxyz  1\n"
                        "  (too narrow for: dur)\n"));
    kino_result_free(result);
}

TEST(render_table_folds_what_is_the_same_in_all_rows)
{
    kino_error err;
    kino_result *result = kino__result_new("fold");
    kino__table *table = kino__result_add_table(result, "t", columns, 4);
    kino__table_describe(table, KINO__TABLE_FOLD, "Traces", NULL);
    for (int i = 0; i < 2; i++) {
        kino__table_add_text(table, KINO__STR("same"));
        kino__table_add_int(table, i);
        kino__table_add_null(table);
        kino__table_add_null(table);
    }
    table->optional = 1u << 3;
    REQUIRE(kino__result_finish(result, &result, &err) == KINO_OK);
    CHECK_STR(rendered(result, "table", (kino__render){0}),
              KINO__STR("Traces\n  the same for all 2:\n  name  same\n  dur   not available\n\n  "
                        "n\n  ─\n  0\n  1\n"));
    kino_result_free(result);
}

TEST(render_md_escapes_bars_and_aligns_numbers)
{
    kino_result *result = sample();
    CHECK_STR(rendered(result, "md", (kino__render){.limit = 1}),
              KINO__STR("## things\n\n"
                        "| name | n | dur | part | ok | args |\n"
                        "|---|---:|---:|---:|---|---|\n"
                        "| a,b\\|c | 1,234,567 | 12.35 ms | 12.3 % | true | {\"k\": 1} |\n"
                        "\n*... more rows (--limit 0 shows all)*\n"
                        "\n## Empty\n\nnothing here\n"
                        "\n## Notes\n\n- a note\n"));
    kino_result_free(result);
}

TEST(render_text_cannot_steer_the_terminal)
{
    kino__buffer out = {0};
    kino__format_text(&out, KINO__STR("a\033[31m\n\t\x7f\xc2\x9b\xff"
                                      "é"));
    CHECK_STR(kino__buffer_str(&out), KINO__STR("a\\x1b[31m\\n\\t\\x7f\\x9b\xef\xbf\xbdé"));
    kino__buffer_deinit(&out);
}

static const char *formatted(void (*format)(kino__buffer *, int64_t), int64_t value)
{
    static kino__buffer out;
    out.size = 0;
    format(&out, value);
    kino__buffer_add(&out, (kino_str){"", 1});
    return out.data;
}

TEST(render_durations_have_four_digits_and_a_unit)
{
    CHECK_STR(formatted(kino__format_duration, 0), "0 ns");
    CHECK_STR(formatted(kino__format_duration, 999), "999 ns");
    CHECK_STR(formatted(kino__format_duration, 1000), "1 µs");
    CHECK_STR(formatted(kino__format_duration, 1234), "1.234 µs");
    CHECK_STR(formatted(kino__format_duration, 12345678), "12.35 ms");
    CHECK_STR(formatted(kino__format_duration, 999949), "999.9 µs");
    CHECK_STR(formatted(kino__format_duration, 999950), "1 ms");
    CHECK_STR(formatted(kino__format_duration, 1500000000), "1.5 s");
    CHECK_STR(formatted(kino__format_duration, 125000000000), "2 min 05 s");
    CHECK_STR(formatted(kino__format_duration, 3720000000000), "1 h 02 min");
    CHECK_STR(formatted(kino__format_duration, -1500), "-1.5 µs");
    CHECK_STR(formatted(kino__format_duration, INT64_MIN), "-2562047 h 47 min");
}

TEST(render_bytes_and_counts)
{
    CHECK_STR(formatted(kino__format_bytes, 0), "0 B");
    CHECK_STR(formatted(kino__format_bytes, 999), "999 B");
    CHECK_STR(formatted(kino__format_bytes, 1500), "1.465 KiB");
    CHECK_STR(formatted(kino__format_bytes, 85899345920), "80 GiB");
    CHECK_STR(formatted(kino__format_bytes, 999999), "976.6 KiB");
    CHECK_STR(formatted(kino__format_count, 0), "0");
    CHECK_STR(formatted(kino__format_count, 999), "999");
    CHECK_STR(formatted(kino__format_count, -1000), "-1,000");
    CHECK_STR(formatted(kino__format_count, 1234567), "1,234,567");
    CHECK_STR(formatted(kino__format_count, -123456), "-123,456");
}

TEST(render_widths_of_letters)
{
    CHECK_EQ(kino__text_width(KINO__STR("abc")), (size_t)3);
    CHECK_EQ(kino__text_width(KINO__STR("µs…")), (size_t)3);
    CHECK_EQ(kino__text_width(KINO__STR("日本")), (size_t)4);
    CHECK_EQ(kino__text_width(KINO__STR("e\xcc\x81")), (size_t)1); /* e with a combining accent */
    kino__buffer out = {0};
    kino__format_shortened(&out, KINO__STR("日本語テキスト"),
                           7); /* 14 wide: 4 in front, dots, 2 behind */
    CHECK_STR(kino__buffer_str(&out), KINO__STR("日本…ト"));
    kino__buffer_deinit(&out);
}

/* -- streams -- */

typedef struct counting_rows {
    kino_rows rows;
    int64_t at, end;
    kino_cell cells[2];
} counting_rows;

static kino_status counting_next(kino_rows *rows, const kino_cell **cells, kino_error *err)
{
    counting_rows *self = (counting_rows *)rows;
    (void)err;
    if (self->at == self->end)
        return KINO_OK;
    self->cells[0] = kino__cell_int(self->at++ * 1000000);
    self->cells[1] = kino__cell_real(0.5);
    *cells = self->cells;
    return KINO_OK;
}

static const kino_column any_columns[] = {{"dur", KINO_TYPE_DURATION, NULL, NULL},
                                          {"x", KINO_TYPE_ANY, NULL, NULL}};

static kino_str streamed(int64_t count, const char *format, kino__render render)
{
    static kino__buffer out;
    kino_error err;
    out.size = 0;
    counting_rows rows = {.rows = {2, any_columns, counting_next, NULL}, .end = count};
    kino_result *frame = kino__result_new("query");
    REQUIRE(kino__memory_sink_new(&out, &render.sink, &err) == KINO_OK);
    REQUIRE(kino__render_rows(&render, kino__renderer_find(format), frame, &rows.rows, &err) ==
            KINO_OK);
    REQUIRE(kino__sink_close(render.sink, true, &err) == KINO_OK);
    kino_result_free(frame);
    return kino__buffer_str(&out);
}

TEST(render_queries_show_exact_values)
{
    CHECK_STR(streamed(2, "table", (kino__render){0}), KINO__STR("    dur    x\n"
                                                                 "───────  ───\n"
                                                                 "      0  0.5\n"
                                                                 "1000000  0.5\n"));
    CHECK_STR(streamed(2, "csv", (kino__render){0}), KINO__STR("dur,x\n0,0.5\n1000000,0.5\n"));
    CHECK_STR(streamed(2, "table", (kino__render){.limit = 1}),
              KINO__STR("dur    x\n"
                        "───  ───\n"
                        "  0  0.5\n"
                        "... more rows (--limit 0 shows all)\n"));
    CHECK_STR(streamed(1, "table", (kino__render){.limit = 1}), KINO__STR("dur    x\n"
                                                                          "───  ───\n"
                                                                          "  0  0.5\n"));
    CHECK_STR(streamed(0, "table", (kino__render){0}), KINO__STR("dur  x\n───  ─\n"));
}

TEST(render_streams_every_row_of_a_long_query)
{
    static const char *const formats[] = {"table", "json", "csv", "md"};
    for (size_t i = 0; i < 4; i++) {
        kino_str got = streamed(5000, formats[i], (kino__render){0});
        size_t lines = 0;
        for (size_t k = 0; k < got.size; k++)
            lines += got.data[k] == '\n';
        /* header and rule; six lines of frame, of which the last shares its line with the last row;
         * header; two */
        size_t frame[] = {2, 6, 1, 2};
        CHECK_EQ(lines, 5000 + frame[i]);
        CHECK(memmem(got.data, got.size, "4999000000", 10) != NULL);
    }
}
