/* test_chrome_args.c - arguments while a trace is read: where they end, and the two numbers that
 * are taken from them.
 *
 * The fast path looks at 64 bytes at a time, so everything here is moved through all alignments. */
#include "base/str.h"
#include "unit/chrome_load.h"

#define NONE KINO_NO_INT

/* Two warm-up events of the layout (the fast path needs one to learn from), then the events of
 * `args`. */
static void add_event(kino__buffer *text, const char *args)
{
    kino__buffer_printf(text,
                        "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "
                        "\"tid\": 7, \"ts\": 1, \"dur\": 1, \"args\": %s}",
                        text->size > 1 ? ", " : "", args);
}

static void begin(kino__buffer *text)
{
    text->size = 0;
    kino__buffer_printf(text, "[");
    add_event(text, "{\"correlation\": 1000, \"External id\": 2000}");
    add_event(text, "{\"a\": 1}");
}

static kino__trace *finish(kino__buffer *text, uint32_t events)
{
    kino__buffer_printf(text, "]");
    kino__trace *trace =
        chrome_load_ways(kino__buffer_str(text), CHROME_LEVELS | CHROME_SLOW | CHROME_PACKED, NULL);
    REQUIRE(trace != NULL);
    REQUIRE_EQ(trace->event_count, events + 2);
    CHECK_EQ(kino__trace_correlation(trace, chrome_row(trace, 0)), 1000);
    CHECK_EQ(kino__trace_external(trace, chrome_row(trace, 0)), 2000);
    return trace;
}

/* Spaces or a long string in front of the keys move them through all alignments. */
TEST(hot_keys_are_found_at_every_alignment)
{
    enum { SHIFTS = 140 };
    kino__buffer text = {0}, args = {0};
    static const char *const fillers[] = {
        "{%*s\"correlation\": 77, \"External id\": 88}",
        "{\"s\": \"%*s\", \"correlation\":77,\"x\":[1,{\"y\":2}],\"External id\":88}",
        "{\"External id\" : \"88\", %*s\"z\": {}, \"correlation\"\n:\t77}"};
    for (size_t f = 0; f < sizeof fillers / sizeof *fillers; f++) {
        begin(&text);
        for (int shift = 0; shift < SHIFTS; shift++) {
            args.size = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            kino__buffer_printf(&args, fillers[f], shift, "");
#pragma GCC diagnostic pop
            kino__buffer_printf(&args, "%c", 0);
            add_event(&text, args.data);
        }
        kino__trace *trace = finish(&text, SHIFTS);
        for (uint32_t row = 0; row < trace->event_count; row++) {
            if (trace->number[row] < 2)
                continue;
            CHECK_EQ(kino__trace_correlation(trace, row), 77);
            CHECK_EQ(kino__trace_external(trace, row), 88);
        }
        CHECK_LEDGER(trace, "");
        kino__trace_free(trace);
    }
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&args);
}

/* Texts in which the keys stand somewhere else: none of them counts. */
TEST(keys_inside_nested_values_and_strings_do_not_count)
{
    static const char *const all[] = {
        "{\"in\": {\"correlation\": 1, \"External id\": 2}}",
        "{\"in\": [{\"correlation\": 1}, {\"External id\": 2}]}",
        "{\"in\": {\"deep\": {\"er\": {\"correlation\": 1}}}, \"out\": [[[]]]}",
        "{\"in\": \"correlation\", \"External idx\": 5, \"Xcorrelation\": 6, \"orrelation\": 7}",
        "{\"correlatiom\": 8, \"dorrelation\": 9, \"external ie\": 10, \"Fxternal id\": 11}",
        "{\"in\": [\"correlation\", \"External id\"]}",
        "{\"text\": \"\\\"correlation\\\": 5\"}",
        "{\"text\": \"{\\\"correlation\\\": 5}\"}",
        "{\"text\": \"{ [ } ] , : correlation External id\"}",
        "{\"text\": \"ends with a backslash \\\\\", \"next\": \"\\\\\\\\\"}",
        "{}",
        "{ }",
        "{\"correlation\": \"x\", \"External id\": null}",
        "{\"correlation\": 1.5, \"External id\": true}",
        "{\"correlation\": [1], \"External id\": {}}",
        "{\"correlation\": \"\", \"External id\": \"1 2\"}",
        "{\"correlation\": 1e3, \"External id\": 99999999999999999999}",
    };
    kino__buffer text = {0}, args = {0};
    for (int shift = 0; shift < 64; shift += 7) {
        begin(&text);
        uint32_t count = sizeof all / sizeof *all;
        for (uint32_t i = 0; i < count; i++) {
            args.size = 0;
            kino__buffer_printf(&args, "{%*s%s%c", shift, "", all[i] + 1, 0);
            add_event(&text, args.data);
        }
        kino__trace *trace = finish(&text, count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t row = chrome_row(trace, i + 2);
            CHECK_EQ(kino__trace_correlation(trace, row), NONE);
            CHECK_EQ(kino__trace_external(trace, row), NONE);
        }
        CHECK_LEDGER(trace, "");
        kino__trace_free(trace);
    }
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&args);
}

TEST(hot_numbers_of_any_width_are_exact)
{
    static const struct {
        const char *written;
        int64_t value;
    } numbers[] = {{"0", 0},
                   {"1", 1},
                   {"-1", -1},
                   {"-0", 0},
                   {"4294967293", 4294967293},
                   {"4294967294", 4294967294},
                   {"4294967295", 4294967295},
                   {"4294967296", 4294967296},
                   {"999999999999999", 999999999999999},
                   {"9999999999999999", 9999999999999999},
                   {"99999999999999999", 99999999999999999},
                   {"123456789012345678", 123456789012345678},
                   {"-123456789012345678", -123456789012345678},
                   {"1234567890123456789", 1234567890123456789},
                   {"9223372036854775807", INT64_MAX},
                   {"-9223372036854775807", -INT64_MAX},
                   {"9223372036854775808", NONE},
                   {"\"5\"", 5},
                   {"\"-5\"", -5},
                   {"\"1234567890123456789\"", 1234567890123456789},
                   {"\"4294967295\"", 4294967295}};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    kino__buffer text = {0};
    begin(&text);
    for (int i = 0; i < COUNT; i++) {
        char args[200];
        (void)snprintf(args, sizeof args, "{\"External id\": %s, \"correlation\":%s }",
                       numbers[i].written, numbers[i].written);
        add_event(&text, args);
        (void)snprintf(args, sizeof args, "{\"External id\":%s,\"correlation\":%s}",
                       numbers[i].written, numbers[i].written);
        add_event(&text, args);
    }
    kino__trace *trace = finish(&text, 2 * COUNT);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        uint32_t row = chrome_row(trace, i + 2);
        CHECK_EQ(kino__trace_correlation(trace, row), numbers[i / 2].value);
        CHECK_EQ(kino__trace_external(trace, row), numbers[i / 2].value);
    }
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(the_last_of_two_equal_keys_counts)
{
    static const struct {
        const char *args;
        int64_t correlation, external;
    } cases[] = {{"{\"correlation\": 1, \"correlation\": 2}", 2, NONE},
                 {"{\"correlation\": 1, \"correlation\": \"x\"}", NONE, NONE},
                 {"{\"correlation\": 1, \"correlation\": null}", NONE, NONE},
                 {"{\"External id\": 3, \"x\": 1, \"External id\": 4}", NONE, 4},
                 {"{\"External id\": 3, \"external id\": 4}", NONE, 3},
                 {"{\"external id\": 4, \"External id\": 3}", NONE, 3},
                 {"{\"external id\": 4}", NONE, 4}};
    enum { COUNT = sizeof cases / sizeof *cases };
    kino__buffer text = {0};
    begin(&text);
    for (int i = 0; i < COUNT; i++)
        add_event(&text, cases[i].args);
    kino__trace *trace = finish(&text, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t row = chrome_row(trace, i + 2);
        CHECK_EQ(kino__trace_correlation(trace, row), cases[i].correlation);
        CHECK_EQ(kino__trace_external(trace, row), cases[i].external);
    }
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

/* Escaped quotes and runs of backslashes that end at any byte of a block. */
TEST(backslashes_at_every_alignment_do_not_hide_the_end)
{
    kino__buffer text = {0}, args = {0};
    enum { SHIFTS = 70 };
    static const char *const ends[] = {"\\\"",           "\\\\",    "\\\\\\\"", "\\\\\\\\",
                                       "\\\\\\\\\\\" }", "\\u0041", "\\\"}, {"};
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        begin(&text);
        for (int shift = 0; shift < SHIFTS; shift++) {
            args.size = 0;
            kino__buffer_printf(
                &args, "{\"k\": \"%.*s%s\", \"correlation\": %d}%c", shift,
                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                ends[e], shift, 0);
            add_event(&text, args.data);
        }
        kino__trace *trace = finish(&text, SHIFTS);
        for (uint32_t i = 0; i < SHIFTS; i++)
            CHECK_EQ(kino__trace_correlation(trace, chrome_row(trace, i + 2)), (int64_t)i);
        CHECK_LEDGER(trace, "");
        kino__trace_free(trace);
    }
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&args);
}

TEST(arguments_come_back_as_written)
{
    static const char *const all[] = {
        "{\"a\": 1}",
        "{ \"Input Dims\": [[8, 8], []], \"Input type\": [\"float\", \"\"] }",
        "{\n      \"grid\": [1,\n 2, 3]\n    }",
        "{}",
        "{\"\": 812.5}",
        "{\"n\": {\"n\": {\"n\": [true, false, null, -1.5e-7, \"x\"]}}}"};
    enum { COUNT = sizeof all / sizeof *all };
    kino__buffer text = {0};
    begin(&text);
    for (int i = 0; i < COUNT; i++)
        add_event(&text, all[i]);
    kino__trace *trace = finish(&text, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK_STR(chrome_args(trace, chrome_row(trace, i + 2)), all[i]);
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(deep_nesting_in_arguments_is_only_counted)
{
    kino__buffer text = {0};
    enum { DEPTH = 20000 };
    for (int is_object = 0; is_object < 2; is_object++) {
        begin(&text);
        kino__buffer_printf(&text,
                            ", {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, "
                            "\"tid\": 7, \"ts\": 1, \"dur\": 1, \"args\": {\"x\": ");
        for (int i = 0; i < DEPTH; i++)
            kino__buffer_printf(&text, "%s", is_object ? "{\"y\":" : "[");
        kino__buffer_printf(&text, "1");
        for (int i = 0; i < DEPTH; i++)
            kino__buffer_printf(&text, "%s", is_object ? "}" : "]");
        kino__buffer_printf(&text, ", \"correlation\": 9}}");
        add_event(&text, "{\"correlation\": 10}");
        kino__trace *trace = finish(&text, 2);
        CHECK_EQ(kino__trace_correlation(trace, chrome_row(trace, 2)), 9);
        CHECK_EQ(kino__trace_correlation(trace, chrome_row(trace, 3)), 10);
        CHECK_LEDGER(trace, "");
        kino__trace_free(trace);
    }
    kino__buffer_deinit(&text);
}

TEST(literals_of_json_are_not_damage)
{
    kino__buffer text = {0}, args = {0};
    enum { SHIFTS = 66 };
    begin(&text);
    for (int shift = 0; shift < SHIFTS; shift++) {
        args.size = 0;
        kino__buffer_printf(
            &args,
            "{%*s\"a\": true,\"b\":false, \"c\": [null,null ,1e5,2E-3,-4.5e+10], \"d\": 0}%c",
            shift, "", 0);
        add_event(&text, args.data);
    }
    kino__trace *trace = finish(&text, SHIFTS);
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
    kino__buffer_deinit(&args);
}
