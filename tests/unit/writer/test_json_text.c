/* test_json_text.c - strict JSON or not, and the sanitiser: cases by hand, and random damage that
 * must always end as valid JSON. */
#include <stdlib.h>

#include "base/json_out.h"
#include "unit/fixture.h"
#include "unit/test.h"
#include "writer/json_text.h"

static bool is_strict(kino_str text)
{
    /* A block of the exact size, so that ASan sees every byte read too many. */
    char *copy = malloc(text.size ? text.size : 1);
    REQUIRE(copy != NULL);
    if (text.size)
        memcpy(copy, text.data, text.size);
    bool result = kino__json_is_strict((kino_str){copy, text.size});
    free(copy);
    return result;
}

TEST(strict_json_is_accepted)
{
    static const char *const good[] = {"{}",
                                       "[]",
                                       " { } ",
                                       "\n[\t1 ,\r2 ]",
                                       "0",
                                       "-0",
                                       "10",
                                       "-1.5",
                                       "1e5",
                                       "1E+5",
                                       "2.50e-07",
                                       "true",
                                       "false",
                                       "null",
                                       "\"\"",
                                       "\"a\"",
                                       "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fF\"",
                                       "\"\\ud800\"",
                                       "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"",
                                       "\"\x7f\"",
                                       "{\"a\": 1, \"a\": [1, {}, []]}",
                                       "[[[[]]]]",
                                       "{\"\": {\"\": \"\"}}",
                                       "[\"0123456789abcdef0123456789abcdef\", 1]"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!CHECK(is_strict(kino__str_from(good[i]))))
            printf("    %s\n", good[i]);
}

TEST(what_is_not_strict_json_is_refused)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "{",
                                      "[",
                                      "}",
                                      "]",
                                      "[}",
                                      "{]",
                                      "[1,]",
                                      "[,1]",
                                      "[1,,2]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\" 1}",
                                      "{\"a\":1,}",
                                      "{,}",
                                      "{a:1}",
                                      "{1:1}",
                                      "{\"a\":1 \"b\":2}",
                                      "1 2",
                                      "[]]",
                                      "01",
                                      "-",
                                      "-a",
                                      "+1",
                                      ".5",
                                      "1.",
                                      "1.e5",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "nan",
                                      "N/A",
                                      "True",
                                      "tru",
                                      "truex",
                                      "nul",
                                      "'a'",
                                      "\"",
                                      "\"a",
                                      "\"\\\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\n\"",
                                      "\"\t\"",
                                      "\"\x01\"",
                                      "\"\x80\"",
                                      "\"\xc3\"",
                                      "\"\xc3(\"",
                                      "\"\xe2\x82\"",
                                      "\"\xc0\xaf\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xf4\x90\x80\x80\"",
                                      "\"\xff\"",
                                      "[1]x",
                                      "\xef\xbb\xbf{}",
                                      "/**/1",
                                      "\"0123456789abcdef\n\"",
                                      "\"0123456789abcdef0123456789abcde\x80\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!CHECK(!is_strict(kino__str_from(bad[i]))))
            printf("    %s\n", bad[i]);
    CHECK(!is_strict((kino_str){"\"\0\"", 3}));
    CHECK(!is_strict((kino_str){"1\0", 2}));
    CHECK(!is_strict((kino_str){"\"\\\0\"", 4}));
}

static kino__buffer nested(size_t depth, const char *open, const char *close)
{
    kino__buffer text = {0};
    for (size_t i = 0; i < depth; i++)
        kino__buffer_add(&text, kino__str_from(open));
    kino__buffer_add(&text, KINO__STR("1"));
    for (size_t i = 0; i < depth; i++)
        kino__buffer_add(&text, kino__str_from(close));
    return text;
}

TEST(nesting_has_a_limit_and_deeper_values_become_text)
{
    for (size_t depth = 511; depth <= 514; depth++) {
        kino__buffer text = nested(depth, "[", "]");
        CHECK_EQ(kino__json_is_strict(kino__buffer_str(&text)), depth <= 512);
        kino__buffer out = {0};
        kino__json_sanitize(kino__buffer_str(&text), &out);
        CHECK(is_strict(kino__buffer_str(&out)));
        /* 513: the innermost "[1]" as a string in 512 arrays. */
        CHECK_EQ(out.size, depth <= 512 ? text.size : text.size + 2);
        kino__buffer_deinit(&text);
        kino__buffer_deinit(&out);
    }
    kino__buffer text = nested(100000, "{\"a\":", "}");
    kino__buffer out = {0};
    kino__json_sanitize(kino__buffer_str(&text), &out);
    CHECK(is_strict(kino__buffer_str(&out)));
    CHECK(out.size > text.size);
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&out);
}

TEST(numbers_that_parsers_refuse_become_text)
{
    char digits[1002];
    memset(digits, '7', sizeof digits);
    CHECK(is_strict((kino_str){digits, 1000}));
    CHECK(!is_strict((kino_str){digits, 1001}));
    kino__buffer out = {0};
    kino__json_sanitize((kino_str){digits, 1001}, &out);
    CHECK_EQ(out.size, 1003);
    CHECK(out.data && out.data[0] == '"');
    kino__buffer_deinit(&out);
}

static void check_mended(const char *text, const char *want)
{
    kino__buffer out = {0};
    kino__json_sanitize(kino__str_from(text), &out);
    CHECK_STR(kino__buffer_str(&out), want);
    kino__buffer_deinit(&out);
}

TEST(damage_is_mended)
{
    /* strings */
    check_mended("{\"path\": \"C:\\data\\x\"}", "{\"path\":\"C:\\\\data\\\\x\"}");
    check_mended("\"bad \\u12 end\"", "\"bad \\\\u12 end\"");
    check_mended("\"tab\there\"", "\"tab\\u0009here\"");
    check_mended("\"line\nbreak\x1f\"", "\"line\\u000abreak\\u001f\"");
    check_mended("\"\xff|\xc3|\xe2\x82|\xc3\xa9\"",
                 "\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xc3\xa9\"");
    check_mended("\"open", "\"open\"");
    check_mended("\"open\\", "\"open\\\\\"");
    /* bare words */
    check_mended("{\"a\": N/A, \"b\": NaN, \"c\": -Infinity, \"d\": nan}",
                 "{\"a\":\"N/A\",\"b\":\"NaN\",\"c\":\"-Infinity\",\"d\":\"nan\"}");
    check_mended("[01, +5, .5, 0x1f, 1.2.3, True]",
                 "[\"01\",\"+5\",\".5\",\"0x1f\",\"1.2.3\",\"True\"]");
    check_mended("[1.50, -2e3, true, null, oops]", "[1.50,-2e3,true,null,\"oops\"]");
    check_mended("{key: 10:30 am, other: 1}", "{\"key\":\"10:30 am\",\"other\":1}");
    /* missing values and commas */
    check_mended("{\"rank\": , \"x\": 1}", "{\"rank\":null,\"x\":1}");
    check_mended("{\"rank\":}", "{\"rank\":null}");
    check_mended("{\"rank\"}", "{\"rank\":null}");
    check_mended("{\"rank\", \"b\": 2}", "{\"rank\":null,\"b\":2}");
    check_mended("{\"a\": 1, }", "{\"a\":1}");
    check_mended("{, \"a\": 1,, \"b\": 2}", "{\"a\":1,\"b\":2}");
    check_mended("[1, 2, ]", "[1,2]");
    check_mended("[1,, 2]", "[1,null,2]");
    check_mended("[, 1]", "[null,1]");
    check_mended("{\"a\": 1 \"b\": 2}", "{\"a\":1,\"b\":2}");
    check_mended("[[1] [2]]x", "[[1],[2]]");
    check_mended("{\"a\" 1}", "{\"a\":1}");
    /* brackets */
    check_mended("{\"a\": [1, {\"b\": 2", "{\"a\":[1,{\"b\":2}]}");
    check_mended("{\"a\": [1, 2}", "{\"a\":[1,2]}");
    check_mended("[1, 2}", "[1,2]");
    check_mended("{\"a\": {\"b\":", "{\"a\":{\"b\":null}}");
    check_mended("[1] ]", "[1]");
    check_mended("", "null");
    check_mended(" ,}", "null");
    check_mended("{{\"a\": 1}}", "{\"\":{\"a\":1}}");
}

TEST(valid_text_stays_as_it_is)
{
    static const char *const good[] = {"{ \"a\" : [ 1 , 2 ] }", "\"\\u0041\\/\"", " 1 ",
                                       "{\"a\": 1, \"a\": 2}"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        check_mended(good[i], good[i]);
}

static const char *const scraps[] = {"{",    "}",       "[",    "]",        ",",
                                     ":",    "\"",      "\\",   "\"key\"",  "\"a\": 1",
                                     "null", "true",    "-1.5", "1e",       "NaN",
                                     " ",    "\n",      "\x01", "\x80",     "\xe2\x82\xac",
                                     "\\u",  "\\u00e9", "\\n",  "\"x\": [", "{\"y\": ",
                                     "], [", "}, {",    "N/A",  "'",        "\xff"};

static kino__buffer random_text(fixture_random *random)
{
    kino__buffer text = {0};
    size_t count = fixture_random_below(random, 40);
    for (size_t i = 0; i < count; i++) {
        if (fixture_random_below(random, 8) == 0)
            kino__buffer_add(&text,
                             (kino_str){&(char){(char)fixture_random_below(random, 256)}, 1});
        else
            kino__buffer_add(
                &text, kino__str_from(
                           scraps[fixture_random_below(random, sizeof scraps / sizeof *scraps)]));
    }
    return text;
}

/* kino__json_is_valid is another validator, written by other rules; they must agree. */
static bool check_any(kino_str input, kino__buffer *out)
{
    out->size = 0;
    kino__json_sanitize(input, out);
    kino_str result = kino__buffer_str(out);
    bool was_valid = kino__json_is_valid(input);
    if (CHECK(kino__json_is_valid(result)) && CHECK(kino__json_is_strict(result)) &&
        CHECK_EQ(kino__json_is_strict(input), was_valid) &&
        (!was_valid || CHECK_STR(result, input)))
        return true;
    printf("    input: %.*s\n    output: %.*s\n", KINO__STR_ARG(input), KINO__STR_ARG(result));
    return false;
}

/* Random scraps; then what became of them, which is valid; then that with one byte changed. */
TEST(any_bytes_become_valid_json_and_valid_json_stays)
{
    fixture_random random = {11};
    kino__buffer first = {0}, second = {0};
    bool is_good = true;
    for (int i = 0; i < 60000 && is_good; i++) {
        kino__buffer text = random_text(&random);
        is_good = check_any((kino_str){text.data ? text.data : "", text.size}, &first) &&
                  check_any(kino__buffer_str(&first), &second) &&
                  CHECK_STR(kino__buffer_str(&second), kino__buffer_str(&first));
        first.data[fixture_random_below(&random, (uint32_t)first.size)] =
            (char)fixture_random_below(&random, 256);
        is_good = is_good && check_any(kino__buffer_str(&first), &second);
        kino__buffer_deinit(&text);
    }
    kino__buffer_deinit(&first);
    kino__buffer_deinit(&second);
}

TEST(string_insides_are_quoted_once)
{
    kino__buffer out = {0};
    kino__json_sanitize_string(KINO__STR("a\\nb\\q\"c"), &out);
    CHECK_STR(kino__buffer_str(&out), "\"a\\nb\\\\q\\\"c\"");
    kino__buffer_deinit(&out);
}
