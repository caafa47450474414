/* test_args.c - argument texts, good and damaged: members, strings, numbers, columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/args.h"
#include "unit/fixture.h"
#include "unit/test.h"

/* All members as "key=value;", as written. */
static const char *members(const char *object)
{
    static char out[1024];
    size_t size = 0;
    kino_str key, value;
    kino__args_iter it = kino__args_iter_start(kino__str_from(object));
    while (kino__args_iter_next(&it, &key, &value) && size < sizeof out - 200)
        size += (size_t)snprintf(out + size, sizeof out - size, "%.*s=%.*s;", KINO__STR_ARG(key),
                                 KINO__STR_ARG(value));
    out[size] = 0;
    return out;
}

TEST(args_members_come_as_written)
{
    CHECK_EQ(
        members(
            "{\"a\": 1,\"b\":\"x\\\"y\" ,\n \"c\" : [1, {\"d\": \"]}\"}] , \"e\": {}, \"\": true}"),
        "a=1;b=\"x\\\"y\";c=[1, {\"d\": \"]}\"}];e={};=true;");
    CHECK_EQ(members("{}"), "");
    CHECK_EQ(members(" { } "), "");
    CHECK_EQ(members(""), "");
    CHECK_EQ(members(NULL), "");
    CHECK_EQ(members("[1, 2]"), "");
    CHECK_EQ(members("null"), "");
    CHECK_EQ(members("{\"a\":-1.5e3}{\"b\":1}"), "a=-1.5e3;");
}

TEST(args_members_that_are_damaged_are_passed_over)
{
    CHECK_EQ(members("{\"a\": , \"b\": 2}"), "b=2;");
    CHECK_EQ(members("{\"a\": }"), "");
    CHECK_EQ(members("{\"a\": 1,, \"b\": 2,}"), "a=1;b=2;");
    CHECK_EQ(members("{\"a\" 1, \"b\": 2}"), "b=2;");
    CHECK_EQ(members("{a: 1, \"b\": N/A, \"c\": nan}"), "b=N/A;c=nan;");
    CHECK_EQ(members("{\"a\": \"x\" \"b\": 2}"), "a=\"x\";b=2;");
    CHECK_EQ(members("{\"a\": \"say \"hi\" to me\", \"b\": 2}"), "a=\"say \"hi\" to me\";b=2;");
    CHECK_EQ(members("{\"a\": \"tab\there\x01\", \"b\": \"\\q\"}"),
             "a=\"tab\there\x01\";b=\"\\q\";");
}

TEST(args_members_of_a_text_that_is_cut_off_are_read_as_far_as_they_go)
{
    CHECK_EQ(members("{\"a\": 1, \"b\": [1, 2"), "a=1;b=[1, 2;");
    CHECK_EQ(members("{\"a\": 1, \"b\": \"x"), "a=1;b=\"x;");
    CHECK_EQ(members("{\"a\": 1, \"b\": \"x\\"), "a=1;b=\"x\\;");
    CHECK_EQ(members("{\"a\": 1, \"b\":"), "a=1;");
    CHECK_EQ(members("{\"a\": 1, \"b"), "a=1;");
    CHECK_EQ(members("{\"a\": 1, \"b\": 12"), "a=1;b=12;");
    CHECK_EQ(members("{"), "");
}

TEST(args_members_never_leave_the_text_whatever_the_bytes)
{
    static const char bytes[] = "{}[]\",:\\ a1-\n\x80";
    fixture_random random = {17};
    for (int round = 0; round < 20000; round++) {
        size_t size = fixture_random_below(&random, 40);
        char *text = malloc(size + 1); /* of exactly that size, so that ASan sees a byte too many */
        REQUIRE(text != NULL);
        for (size_t i = 0; i < size; i++)
            text[i] = bytes[fixture_random_below(&random, sizeof bytes - 1)];
        if (size)
            text[0] = '{';
        kino_str key, value;
        kino__args_iter it = kino__args_iter_start((kino_str){text, size});
        size_t count = 0;
        while (kino__args_iter_next(&it, &key, &value)) {
            count++;
            CHECK(key.data >= text && key.data + key.size < value.data && value.size > 0);
            CHECK(value.data + value.size <= text + size);
        }
        kino__buffer out = {0};
        kino__json_unescape((kino_str){text, size}, &out);
        kino__buffer_deinit(&out);
        free(text);
        REQUIRE(count <= size);
    }
}

TEST(args_text_nested_very_deep_or_full_of_quotes_takes_linear_time)
{
    enum { SIZE = 8 << 20 };
    char *text = malloc(SIZE);
    REQUIRE(text != NULL);
    memset(text, '[', SIZE);
    memcpy(text, "{\"a\":", 5);
    kino_str value = kino__args_find((kino_str){text, SIZE}, KINO__STR("a"));
    CHECK_EQ(value.size, SIZE - 5);
    for (size_t i = 5; i + 8 <= SIZE; i += 8)
        memcpy(text + i, "\"x\"\"b\":\"", 8);
    kino_str key;
    size_t count = 0;
    kino__args_iter it = kino__args_iter_start((kino_str){text, SIZE});
    while (kino__args_iter_next(&it, &key, &value))
        count++;
    CHECK(count > 0);
    free(text);
}

TEST(args_find_takes_the_last_of_doubled_keys_at_the_top)
{
    kino_str text =
        KINO__STR("{\"a\": 1, \"b\": {\"a\": 7}, \"c\": \"\\\"a\\\": 8\", \"a\": 2, \"ab\": 3}");
    CHECK_EQ(kino__args_find(text, KINO__STR("a")), KINO__STR("2"));
    CHECK_EQ(kino__args_find(text, KINO__STR("b")), KINO__STR("{\"a\": 7}"));
    CHECK_EQ(kino__args_find(text, KINO__STR("x")).size, 0);
}

static const char *unescaped(const char *text, size_t size)
{
    static char out[256];
    kino__buffer buffer = {0};
    kino__json_unescape((kino_str){text, size}, &buffer);
    REQUIRE(!buffer.failed && buffer.size < sizeof out);
    if (buffer.size)
        memcpy(out, buffer.data, buffer.size);
    out[buffer.size] = 0;
    kino__buffer_deinit(&buffer);
    return out;
}
#define UNESCAPED(literal) unescaped(literal, sizeof(literal) - 1)

TEST(json_strings_are_unescaped)
{
    CHECK_EQ(UNESCAPED("\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\te\""), "a\"b\\c/d\b\f\n\r\te");
    CHECK_EQ(UNESCAPED("no quotes \\u0041"), "no quotes A");
    CHECK_EQ(UNESCAPED("\"\\u00e9\\u20AC\\ud83d\\ude00\""), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK_EQ(UNESCAPED("\"\""), "");
    CHECK_EQ(UNESCAPED(""), "");
    CHECK_EQ(unescaped(NULL, 0), "");
    CHECK_EQ(UNESCAPED("\"\xc3\xa9 \xf4\x8f\xbf\xbf\""), "\xc3\xa9 \xf4\x8f\xbf\xbf");
    CHECK_EQ(UNESCAPED("\"say \"hi\" now\""), "say \"hi\" now");
}

TEST(json_strings_that_are_damaged_are_repaired)
{
#define BAD "\xef\xbf\xbd" /* U+FFFD */
    CHECK_EQ(UNESCAPED("\"\\ud83d\""), BAD);
    CHECK_EQ(UNESCAPED("\"\\ude00x\""), BAD "x");
    CHECK_EQ(UNESCAPED("\"\\ud83d\\u0041\""), BAD "A");
    CHECK_EQ(UNESCAPED("\"\\ude00\\ude00\""), BAD BAD);
    CHECK_EQ(UNESCAPED("\"\\ud83d\\ud83d\\ude00\""), BAD "\xf0\x9f\x98\x80");
    CHECK_EQ(UNESCAPED("\"\\q \\u12 \\u12g4 \\x41\""), "\\q \\u12 \\u12g4 \\x41");
    CHECK_EQ(UNESCAPED("\"C:\\dir\\\""), "C:\\dir\"");
    CHECK_EQ(UNESCAPED("\"open"), "open");
    CHECK_EQ(UNESCAPED("\""), "");
    CHECK_EQ(UNESCAPED("tail\\"), "tail\\");
    CHECK_EQ(UNESCAPED("a\xff"
                       "b\xc3(\xe2\x82"),
             "a" BAD "b" BAD "(" BAD BAD);
    CHECK_EQ(UNESCAPED("\xc0\xaf"), BAD BAD);                 /* overlong */
    CHECK_EQ(UNESCAPED("\xed\xa0\x80"), BAD BAD BAD);         /* a surrogate */
    CHECK_EQ(UNESCAPED("\xf4\x90\x80\x80"), BAD BAD BAD BAD); /* above U+10FFFF */
    CHECK_EQ(UNESCAPED("\xf0\x9f\x98!"), BAD BAD BAD "!");
    CHECK_EQ(UNESCAPED("raw\ttab\x01"), "raw\ttab\x01");
}

TEST(json_integers_are_plain_and_may_be_in_quotes)
{
    static const struct {
        const char *text;
        bool is_int;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-17", true, -17},
        {"\"12\"", true, 12},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"true", false, 0},
        {"\"\"", false, 0},
        {"", false, 0},
        {"null", false, 0},
        {"\"1", false, 0},
        {"0x10", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t value = 0;
        CHECK_EQ(kino__json_to_int(kino__str_from(cases[i].text), &value), cases[i].is_int);
        CHECK_EQ(value, cases[i].value);
    }
}

TEST(json_doubles_are_the_nearest_and_finite)
{
    static const char *const good[] = {"0",
                                       "-0.5",
                                       "1.25e2",
                                       "3.14159265358979",
                                       "1e22",
                                       "1e-22",
                                       "123456789.123",
                                       "0.1",
                                       "1e308",
                                       "4.9e-324",
                                       "9007199254740993",
                                       "123456789012345678901234567890",
                                       "0.000000000000000000000000000001234567890123456789",
                                       "5.",
                                       ".5"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double value;
        CHECK(kino__json_to_double(kino__str_from(good[i]), &value));
        CHECK_EQ(value, strtod(good[i], NULL));
    }
    static const char *const bad[] = {"",  "nan",   "NaN", "inf", "\"inf\"", "1e999",
                                      "-", "1e",    "1e+", "1x",  "true",    "null",
                                      ".", "0x1p3", "1 2", "[1]"};
    double value;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!kino__json_to_double(kino__str_from(bad[i]), &value));
    CHECK(kino__json_to_double(KINO__STR("\"12.5\""), &value) && value == 12.5);
    CHECK(kino__json_to_double(KINO__STR("1e-999"), &value) && value == 0);
}

TEST(args_text_is_the_object_of_the_row)
{
    kino__trace *trace =
        FIXTURE({.ts = 5, .args = "{\"a\": 1}"}, {.ts = 1}, {.ts = 3, .args = "{\"b\": 2}"});
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    CHECK_EQ(kino__args_text(trace, fixture_row(trace, 0), &cursor), KINO__STR("{\"a\": 1}"));
    CHECK_EQ(kino__args_text(trace, fixture_row(trace, 1), &cursor).size, 0);
    CHECK_EQ(kino__args_text(trace, fixture_row(trace, 2), &cursor), KINO__STR("{\"b\": 2}"));
    kino__text_cursor_deinit(&cursor);
    kino__trace_free(trace);
}

TEST(args_text_longer_than_its_place_can_say_is_found_again)
{
    /* [{"k":"xxx ... \"}{ ... ","z":{"y":7}},{"next":1}] with 40 MB of x: more than two views of 32
     * MB need. */
    enum { LONG = 40 << 20 };
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("[{\"k\":\""));
    char *x = kino__buffer_reserve(&text, LONG);
    REQUIRE(x != NULL);
    memset(x, 'x', LONG);
    /* A backslash as the last byte of the first view (it starts at offset 1): its partner is the
     * quote behind. */
    size_t edge = 1 + (size_t)KINO__PLACE_LONG * 2 - 1;
    x[edge - text.size] = '\\';
    x[edge + 1 - text.size] = '"';
    memcpy(x + 100, "\\\"}}{", 5);
    text.size += LONG;
    kino__buffer_add(&text, KINO__STR("\",\"z\":{\"y\":7}}"));
    size_t end = text.size;
    kino__buffer_add(&text, KINO__STR(",{\"next\":1}]"));
    REQUIRE(!text.failed);
    kino__trace *trace = FIXTURE({.ts = 5}, {.ts = 6});
    trace->text->free(trace->text);
    trace->text = fixture_text_new(text.data, text.size);
    trace->place[0] = kino__place(1, end - 1);
    trace->place[1] =
        kino__place(end + 1, (size_t)-1); /* said to be long as well: ends where its brace closes */
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    kino_str got = kino__args_text(trace, 0, &cursor);
    CHECK_EQ(got.size, end - 1);
    CHECK_EQ(kino__args_find(got, KINO__STR("z")), KINO__STR("{\"y\":7}"));
    CHECK_EQ(kino__args_text(trace, 1, &cursor), KINO__STR("{\"next\":1}"));
    kino__text_cursor_deinit(&cursor);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(args_columns_have_the_values_of_all_rows)
{
    kino__trace *trace =
        FIXTURE({.ts = 9, .args = "{\"n\": 5, \"s\": \"a\\u0062\", \"d\": 1.5}"},
                {.ts = 8, .args = "{\"n\": \"6\", \"s\": [1, 2], \"d\": NaN}"},
                {.ts = 7, .args = "{\"x\": {\"n\": 7}, \"t\": \"\\\"n\\\"\", \"s\": \"ab\"}"},
                {.ts = 6}, {.ts = 5, .args = "{\"n\": 1, \"n\": 2, \"d\": 3, \"nn\": 4"},
                {.ts = 4, .args = "{\"n\": , \"d\": \"0.25\"}"});
    const int64_t *n = kino__args_int_column(trace, "n");
    const double *d = kino__args_double_column(trace, "d");
    const kino__string_pool *pool;
    const kino_strid *s = kino__args_string_column(trace, "s", &pool);
    REQUIRE(n && d && s && pool);
    static const int64_t ints[] = {5, 6, KINO_NO_INT, KINO_NO_INT, 2, KINO_NO_INT};
    static const double doubles[] = {1.5, NAN, NAN, NAN, 3, 0.25};
    static const char *const strings[] = {"ab", "[1, 2]", "ab", NULL, NULL, NULL};
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t row = fixture_row(trace, i);
        CHECK_EQ(n[row], ints[i]);
        CHECK(isnan(doubles[i]) ? isnan(d[row]) : d[row] == doubles[i]);
        if (strings[i])
            CHECK_EQ(kino__string_pool_text(pool, s[row]), kino__str_from(strings[i]));
        else
            CHECK_EQ(s[row], KINO_NO_STRING);
    }
    CHECK_EQ(s[fixture_row(trace, 0)], s[fixture_row(trace, 2)]);
    CHECK_EQ(kino__args_int_column(trace, "n"), n); /* kept */
    const int64_t *none = kino__args_int_column(trace, "no such key");
    REQUIRE(none != NULL);
    CHECK_EQ(none[0], KINO_NO_INT);
    kino__trace_free(trace);
}

TEST(args_columns_prepared_together_equal_columns_made_alone)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "b"};
    fixture_event events[50];
    char texts[50][200];
    fixture_random random = {23};
    for (int i = 0; i < 50; i++) {
        size_t size = (size_t)snprintf(texts[i], sizeof texts[i], "{");
        for (char k = 'a'; k <= 'j'; k++)
            if (fixture_random_below(&random, 3))
                size += (size_t)snprintf(texts[i] + size, sizeof texts[i] - size, "\"%c\": %u,", k,
                                         fixture_random_below(&random, 1000));
        events[i] = (fixture_event){.ts = fixture_random_below(&random, 100), .args = texts[i]};
    }
    kino__trace *together = fixture_new(events, 50), *alone = fixture_new(events, 50);
    REQUIRE(kino__args_prepare(together, keys, 11));
    for (int k = 0; k < 11; k++) {
        const int64_t *x = kino__args_int_column(together, keys[k]);
        const int64_t *y = kino__args_int_column(alone, keys[k]);
        REQUIRE(x && y);
        CHECK(memcmp(x, y, 50 * sizeof *x) == 0);
    }
    kino__trace_free(together);
    kino__trace_free(alone);
}
