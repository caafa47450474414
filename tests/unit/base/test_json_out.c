/* test_json_out.c - JSON that is valid whatever goes in, doubles that come back, the validator. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/json_out.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

static kino_str quoted(kino__buffer *buffer, kino_str text)
{
    buffer->size = 0;
    kino__json_add_string(buffer, text);
    return kino__buffer_str(buffer);
}

TEST(json_out_escapes_what_json_forbids)
{
    kino__buffer b = {0};
    CHECK_STR(quoted(&b, KINO__STR("")), KINO__STR("\"\""));
    CHECK_STR(quoted(&b, KINO__STR("a\"b\\c/d")), KINO__STR("\"a\\\"b\\\\c/d\""));
    CHECK_STR(quoted(&b, KINO__STR("\n\r\t\b\f")), KINO__STR("\"\\n\\r\\t\\b\\f\""));
    CHECK_STR(quoted(&b, (kino_str){"\0\x1b\x7f", 3}), KINO__STR("\"\\u0000\\u001b\\u007f\""));
    CHECK_STR(quoted(&b, KINO__STR("µ→😀")), KINO__STR("\"µ→😀\""));
    kino__buffer_deinit(&b);
}

TEST(json_out_replaces_each_byte_that_is_not_utf8)
{
    kino__buffer b = {0};
    CHECK_STR(quoted(&b, KINO__STR("a\xff"
                                   "b")),
              KINO__STR("\"a\xef\xbf\xbd"
                        "b\""));
    /* a cut sequence at the end, a lone continuation, an overlong slash, a surrogate */
    CHECK_STR(quoted(&b, KINO__STR("\xe2\x82")), KINO__STR("\"\xef\xbf\xbd\xef\xbf\xbd\""));
    CHECK_STR(quoted(&b, KINO__STR("\x80")), KINO__STR("\"\xef\xbf\xbd\""));
    CHECK_STR(quoted(&b, KINO__STR("\xc0\xaf")), KINO__STR("\"\xef\xbf\xbd\xef\xbf\xbd\""));
    CHECK_STR(quoted(&b, KINO__STR("\xed\xa0\x80")),
              KINO__STR("\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""));
    kino__buffer_deinit(&b);
}

TEST(json_out_sets_commas_and_lines)
{
    kino__buffer b = {0};
    kino__json j = {.out = &b};
    kino__json_begin_object(&j);
    kino__json_key(&j, "a");
    kino__json_begin_array(&j);
    kino__json_int(&j, INT64_MIN);
    kino__json_uint(&j, UINT64_MAX);
    kino__json_bool(&j, true);
    kino__json_null(&j);
    kino__json_begin_array(&j);
    kino__json_end_array(&j);
    kino__json_end_array(&j);
    kino__json_newline(&j, 2);
    kino__json_key(&j, "b");
    kino__json_begin_object(&j);
    kino__json_end_object(&j);
    kino__json_key(&j, "c\"");
    kino__json_string(&j, KINO__STR("x"));
    kino__json_end_object(&j);
    CHECK_STR(kino__buffer_str(&b),
              KINO__STR("{\"a\":[-9223372036854775808,18446744073709551615,true,null,[]],\n"
                        "  \"b\":{},\"c\\\"\":\"x\"}"));
    CHECK(kino__json_is_valid(kino__buffer_str(&b)));
    kino__buffer_deinit(&b);
}

TEST(json_out_raw_text_that_is_not_json_becomes_a_string)
{
    kino__buffer b = {0};
    kino__json j = {.out = &b};
    kino__json_begin_array(&j);
    kino__json_raw(&j, KINO__STR("{\"a\": [1, 2.5e3]}"));
    kino__json_raw(&j, KINO__STR("{\"rank\": }"));
    kino__json_raw(&j, KINO__STR(""));
    kino__json_end_array(&j);
    CHECK_STR(kino__buffer_str(&b), KINO__STR("[{\"a\": [1, 2.5e3]},\"{\\\"rank\\\": }\",\"\"]"));
    kino__buffer_deinit(&b);
}

static const char *text_of(double value)
{
    static char text[32];
    size_t size = kino__double_to_text(value, text);
    CHECK_EQ(size, strlen(text));
    return text;
}

TEST(json_out_doubles_are_short_and_come_back)
{
    CHECK_STR(text_of(0), "0.0");
    CHECK_STR(text_of(-0.0), "-0.0");
    CHECK_STR(text_of(1), "1.0");
    CHECK_STR(text_of(0.1), "0.1");
    CHECK_STR(text_of(-2.5), "-2.5");
    CHECK_STR(text_of(1e300), "1e+300");
    CHECK_STR(text_of(0.1 + 0.2), "0.30000000000000004");
    CHECK_EQ(strtod(text_of(DBL_MAX), NULL), DBL_MAX);
    CHECK_EQ(strtod(text_of(DBL_TRUE_MIN), NULL), DBL_TRUE_MIN);
    uint64_t state = 42;
    for (int i = 0; i < 2000; i++) { /* any bits */
        state = state * 6364136223846793005u + 1442695040888963407u;
        double value;
        memcpy(&value, &state, sizeof value);
        if (isfinite(value) && !CHECK_EQ(strtod(text_of(value), NULL), value))
            break;
    }
}

TEST(json_out_numbers_that_json_cannot_say_are_null)
{
    kino__buffer b = {0};
    kino__json j = {.out = &b};
    kino__json_begin_array(&j);
    kino__json_double(&j, NAN);
    kino__json_double(&j, INFINITY);
    kino__json_double(&j, -INFINITY);
    kino__json_double(&j, 1.5);
    kino__json_end_array(&j);
    CHECK_STR(kino__buffer_str(&b), KINO__STR("[null,null,null,1.5]"));
    kino__buffer_deinit(&b);
}

TEST(json_validator_takes_json_and_nothing_else)
{
    static const char *const good[] = {"1",
                                       "-0",
                                       "0.5",
                                       "1e5",
                                       "1E-05",
                                       " [ ] ",
                                       "{}",
                                       "[1,2]",
                                       "\"a\\u00e9\\n\"",
                                       "{\"a\":{\"b\":[true,false,null]}}",
                                       "\t[[[]],{}]\r\n",
                                       "\"\""};
    static const char *const bad[] = {
        "",        " ",           "01",     "-",          "1.",      ".5",    "1e",
        "+1",      "[1,]",        "[,1]",   "{\"a\":1,}", "{\"a\"}", "{a:1}", "[1 2]",
        "\"\\x\"", "\"\\u12g4\"", "\"a",    "tru",        "nul",     "NaN",   "[1]]",
        "[1}",     "{\"a\":}",    "\"\n\"", "\"\xff\"",   "1 2",     "[",     "{\"a\":[}"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!CHECK(kino__json_is_valid(kino__str_from(good[i]))))
            printf("  valid: %s\n", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!CHECK(!kino__json_is_valid(kino__str_from(bad[i]))))
            printf("  not valid: %s\n", bad[i]);
}

TEST(json_validator_stops_at_its_depth)
{
    char text[2 * 257];
    memset(text, '[', 257);
    memset(text + 257, ']', 257);
    CHECK(kino__json_is_valid((kino_str){text + 1, 2 * 256}));
    CHECK(!kino__json_is_valid((kino_str){text, 2 * 257}));
}

TEST(json_out_failure_sticks)
{
    failing_allocator f;
    failing_allocator_init(&f, 0);
    kino__buffer b = {.allocator = &f.allocator};
    kino__json j = {.out = &b};
    kino__json_begin_array(&j);
    kino__json_string(&j, KINO__STR("text"));
    kino__json_end_array(&j);
    CHECK(b.failed);
    kino__buffer_deinit(&b);
    CHECK_EQ(f.held_bytes, (size_t)0);
}
