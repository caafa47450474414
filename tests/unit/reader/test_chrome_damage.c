/* test_chrome_damage.c - damaged Chrome JSON: every good event is kept, and the ledger says what
 * was wrong and where.
 *
 * In the texts below ^ marks the place that the ledger must give for the damage under test (it is
 * taken out before reading); the names behind it are those of the events that must be kept, in
 * file order. Two sound events stand in front so that the fast path is at work. */
#include <stdlib.h>

#include "base/str.h"
#include "unit/chrome_load.h"

#define EVENT(name)                                                                                \
    "{\"ph\":\"X\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"k\":"  \
    "1}}"
#define ARGS(args)                                                                                 \
    "{\"ph\":\"X\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":" args "}"
#define WARM EVENT("a") "," EVENT("b") ","

/* Names of all events in file order, with a space between; "-" for no name. */
static const char *names_of(const kino__trace *trace)
{
    static char out[2000];
    size_t size = 0;
    out[0] = '\0';
    uint32_t *rows = kino__trace_file_order_new(trace);
    REQUIRE(rows != NULL);
    for (uint32_t i = 0; i < trace->event_count && size < sizeof out; i++) {
        kino_str name =
            trace->name[rows[i]] == KINO_NO_STRING ? KINO__STR("-") : chrome_name(trace, rows[i]);
        size += (size_t)snprintf(out + size, sizeof out - size, "%s%.*s", i ? " " : "",
                                 (int)name.size, name.data);
    }
    free(rows);
    return out;
}

typedef struct damage_case {
    const char *text;  /* with ^ where the damage is */
    const char *names; /* kept */
    const char
        *also; /* other entries of the ledger, as in CHECK_LEDGER but without places; or NULL */
} damage_case;

/* "name count, ..." of all entries but one. */
static const char *other_entries(const kino__trace *trace, kino__damage but)
{
    static char out[500];
    size_t size = 0;
    out[0] = '\0';
    for (int d = 0; d < KINO__DAMAGE_COUNT; d++)
        if (d != (int)but && trace->ledger.count[d] && size < sizeof out)
            size +=
                (size_t)snprintf(out + size, sizeof out - size, "%s%s %d", size ? ", " : "",
                                 kino__damage_name((kino__damage)d), (int)trace->ledger.count[d]);
    return out;
}

static void check_case(kino__damage damage, const damage_case *c)
{
    uint64_t places[8] = {0};
    unsigned count = 0;
    kino__buffer text = {0};
    for (const char *p = c->text; *p; p++) {
        if (*p == '^')
            places[count++] = text.size;
        else
            kino__buffer_add(&text, (kino_str){p, 1});
    }
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    bool held = CHECK_STR(names_of(trace), c->names);
    held &= CHECK_EQ(trace->ledger.count[damage], count);
    for (unsigned i = 0; i < count && i < KINO__LEDGER_PLACES; i++)
        held &= CHECK_EQ(trace->ledger.first[damage][i], places[i]);
    held &= CHECK_STR(other_entries(trace, damage), c->also ? c->also : "");
    if (!held)
        (void)fprintf(stderr, "      text %s\n", c->text);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

#define CHECK_CASES(damage, ...)                                                                   \
    do {                                                                                           \
        static const damage_case cases[] = {__VA_ARGS__};                                          \
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)                                  \
            check_case(KINO__DAMAGE_##damage, &cases[i]);                                          \
    } while (0)

TEST(commas_too_many_and_too_few)
{
    CHECK_CASES(
        TRAILING_COMMA, /* */
        {"[" WARM EVENT("c") ",^]", "a b c", NULL}, {"[" WARM EVENT("c") " , ,\n^]", "a b c", NULL},
        {"[" WARM ","
         "^" EVENT("c") "]",
         "a b c", NULL},
        {"[" WARM ",,\n,^" EVENT("c") ",,^" EVENT("d") "]", "a b c d", NULL},
        {"[,^" WARM EVENT("c") "]", "a b c", NULL},
        {"[" WARM "{\"ph\":\"X\",^,\"name\":\"x\",\"ts\":1,\"dur\":1}," EVENT("c") "]", "a b x c",
         NULL},
        {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":1,^}," EVENT("c") "]", "a b x c",
         NULL},
        {"[" WARM "{^,\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":1}," EVENT("c") "]", "a b x c",
         NULL},
        {"[" WARM ARGS("{\"k\":1,^}") "," EVENT("c") "]", "a b x c", NULL},
        {"[" WARM ARGS("{\"k\":1,^,\"l\":2}") "," EVENT("c") "]", "a b x c", NULL},
        {"[" WARM ARGS("{\"k\":[1, ^], \"l\":[2 , ^] }") "," EVENT("c") "]", "a b x c", NULL},
        {"{\"m\": [1,^], \"traceEvents\": [" WARM EVENT("c") ",^]}", "a b c", NULL},
        {"{\"m\": 1,^,\"traceEvents\": [" WARM EVENT("c") "],^,\"n\": 2,^}", "a b c", NULL});
    CHECK_CASES(MISSING_COMMA, /* */
                {"[" WARM EVENT("c") "^" EVENT("d") " \n^" EVENT("e") "]", "a b c d e", NULL},
                {"[" WARM "{\"ph\":\"X\"^\"name\":\"x\" ^\"ts\":1,\"dur\":1}," EVENT("c") "]",
                 "a b x c", NULL});
}

TEST(bad_bytes_in_strings)
{
    CHECK_CASES(
        CONTROL_CHARACTER, /* */
        {"[" WARM "{\"ph\":\"X\",\"name\":\"^x\ty\",\"ts\":1}," EVENT("c") "]", "a b x\ty c", NULL},
        {"[" WARM EVENT("^\1") "," EVENT("^\1") "," EVENT("c") "]", "a b \1 \1 c", NULL},
        {"[" WARM ARGS("{\"k\":^\"a\nb\"}") "," EVENT("c") "]", "a b x c", NULL},
        {"[" WARM ARGS("{^\"k\t\":[^\"\x1f\"]}") "," EVENT("c") "]", "a b x c", NULL});
    CHECK_CASES(BAD_ESCAPE, /* */
                {"[" WARM EVENT("^x\\qy") "," EVENT("c") "]", "a b x\\qy c", NULL},
                {"[" WARM EVENT("^x\\u12g4") "," EVENT("c") "]", "a b x\\u12g4 c", NULL},
                {"[" WARM ARGS("{\"k\":^\"C:\\dir\"}") "," EVENT("c") "]", "a b x c", NULL});
    CHECK_CASES(BAD_UTF8, /* */
                {"[" WARM EVENT("^x\xff") "," EVENT("c") "]", "a b x\xef\xbf\xbd c", NULL},
                {"[" WARM EVENT("^\xc3") "," EVENT("c") "]", "a b \xef\xbf\xbd c", NULL},
                {"[" WARM ARGS("{\"k\":^\"\xe2\x82\", \"l\":\"\xe2\x82\xac\"}") "," EVENT("c") "]",
                 "a b x c", NULL});
}

TEST(words_that_are_not_json)
{
    CHECK_CASES(
        BAD_LITERAL, /* */
        {"[" WARM ARGS("{\"k\": ^NaN, \"l\": [^Infinity, ^-Infinity]}") "," EVENT("c") "]",
         "a b x c", NULL},
        {"[" WARM ARGS("{\"k\": ^N/A}") "," EVENT("c") "]", "a b x c", NULL},
        {"[" WARM ARGS("{\"k\": ^nan,\"l\":^inf,\"m\":^-inf,\"n\":^None}") "," EVENT("c") "]",
         "a b x c", NULL},
        {"[" WARM ARGS("{\"k\": ^True, \"l\": ^truex, \"m\": ^nul}") "," EVENT("c") "]", "a b x c",
         NULL},
        {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"other\":^N/A}," EVENT("c") "]",
         "a b x c", NULL},
        {"{\"m\": ^NaN, \"traceEvents\": [" WARM EVENT("c") "], \"n\": ^N/A}", "a b c", NULL});
    CHECK_CASES(BAD_DURATION, /* */
                {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":^NaN}," EVENT("c") "]",
                 "a b x c", "bad_literal 1"},
                {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":^null}," EVENT("c") "]",
                 "a b x c", NULL},
                {"[" WARM
                 "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":\"^long\"}," EVENT("c") "]",
                 "a b x c", NULL},
                {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"ts\":1,\"dur\":^1e400}," EVENT("c") "]",
                 "a b x c", NULL});
}

TEST(keys_without_value_and_keys_given_twice)
{
    CHECK_CASES(
        MISSING_VALUE, /* */
        {"[" WARM ARGS("{\"rank\": ^, \"k\": 1}") "," EVENT("c") "]", "a b x c", NULL},
        {"[" WARM ARGS("{\"k\": 1, \"rank\":^}") "," EVENT("c") "]", "a b x c", NULL},
        {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"rank\": ^, \"ts\":1,\"dur\":^}," EVENT("c") "]",
         "a b x c", NULL},
        {"{\"distributedInfo\": {\"rank\": ^, \"world_size\": 8}, \"n\": ^, \"traceEvents\": [" WARM
             EVENT("c") "], \"m\":^}",
         "a b c", NULL});
    CHECK_CASES(
        DUPLICATE_KEY, /* */
        {"[" WARM
         "{\"ph\":\"X\",\"name\":\"y\",\"ts\":1,^\"name\":\"x\",\"dur\":1,^\"ts\":2}," EVENT(
             "c") "]",
         "a b x c", NULL});
}

/* Kineto does not escape quotes inside argument strings (kineto.md 1.16). */
TEST(unescaped_quotes_in_arguments)
{
    CHECK_CASES(
        BROKEN_ARGS, /* an even number: brackets still match; the place is that of the arguments */
        {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":^{"
         "\"k\":\"say \"hi\" now\",\"l\":1}}," EVENT("c") "," EVENT("d") "]",
         "a b x c d", NULL},
        {"[" WARM "{\"ph\":\"X\",\"name\":\"x\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":^{"
         "\"k\":\"a\"b\"c\"d\"e\"}}," EVENT("c") "]",
         "a b x c", NULL});
    CHECK_CASES(
        BROKEN_ARGS, /* odd: the event is cut at the next one; the place is that of the event */
        {"[" WARM "^" ARGS("{\"k\":\"say \"hi now\",\"l\":1}") "," EVENT("c") "," EVENT("d") "]",
         "a b x c d", NULL},
        {"[" WARM "^" ARGS("{\"k\":\"say \"hi now\",\"l\":1}") ",\n" EVENT("c") ",\n^" ARGS(
             "{\"k\":\"5\"\"}") ",\n" EVENT("d") "]",
         "a b x c x d", NULL},
        {"[" WARM "^" ARGS(
             "{\"k\":\"a\" b \"c\"\" }") ","
                                         "^" ARGS("{\"k\":\"a\" b \"c\"\" }") "," EVENT("d") "]",
         "a b x x d", NULL},
        {"{\"traceEvents\":[" WARM "^" ARGS("{\"k\":\"5\" disk\"}") "," EVENT("c") "], \"m\": 1}",
         "a b x c", NULL});
}

TEST(an_event_that_begins_with_another_key_is_found_behind_a_broken_one)
{
    CHECK_CASES(BROKEN_ARGS, /* */
                {"[" WARM "^" ARGS(
                     "{\"k\":\"say \"hi now\",\"l\":1}") ",\n{\"name\":\"m\",\"ph\":\"M\",\"ts\":1,"
                                                         "\"pid\":1,\"tid\":1}," EVENT("c") "]",
                 "a b x m c", NULL});
    CHECK_CASES(BROKEN_EVENT, /* */
                {"[" WARM
                 "^{\"ph\":\"X\",oops}, {\"name\":\"m\",\"ph\":\"M\",\"pid\":1}, {\"cat\": \"c\", "
                 "\"name\":\"n\", \"ts\": 1, \"ph\":\"X\"}, " EVENT("c") "]",
                 "a b m n c", NULL});
}

TEST(the_last_event_with_an_unescaped_quote_is_kept)
{
    CHECK_CASES(
        BROKEN_ARGS, /* */
        {"[" WARM EVENT("c") ",^" ARGS("{\"k\":\"say \"hi\",\"l\":1}") "]", "a b c x", NULL},
        {"{\"traceEvents\":[" WARM EVENT("c") ",^" ARGS("{\"k\":\"say \"hi\"}") "], \"m\": 1}",
         "a b c x", NULL});
}

TEST(events_that_cannot_be_used_are_counted)
{
    CHECK_CASES(NO_PHASE, /* */
                {"[" WARM "^{\"name\":\"x\",\"ts\":1},^{\"ph\":5,\"ts\":1},^{\"ph\":\"\",\"ts\":1},"
                 "^{\"ph\":\"XX\",\"ts\":1},^{}," EVENT("c") "]",
                 "a b c", NULL});
    CHECK_CASES(
        NO_TIME, /* */
        {"[" WARM "^{\"ph\":\"X\",\"name\":\"x\"},^{\"ph\":\"i\",\"ts\":null},^{\"ph\":\"i\","
         "\"ts\":\"soon\"},^{\"ph\":\"i\",\"ts\":[1]},"
         "^{\"ph\":\"i\",\"ts\":\"\"}," EVENT("c") "]",
         "a b c", NULL},
        {"[" WARM "^{\"ph\":\"i\",\"ts\":NaN}," EVENT("c") "]", "a b c", "bad_literal 1"},
        /* metadata needs no time */
        {"[" WARM
         "{\"ph\":\"M\",\"name\":\"x\"},{\"ph\":\"M\",\"name\":\"y\",\"ts\":null}," EVENT("c") "]",
         "a b x y c", NULL});
    CHECK_CASES(
        NOT_AN_EVENT, /* */
        {"[" WARM "^1,^-2.5,^\"text\",^[1,[{}]],^true,^null," EVENT("c") "]", "a b c", NULL},
        {"{\"traceEvents\":[^0," EVENT("a") "]}", "a", NULL});
    CHECK_CASES(BROKEN_EVENT, /* */
                {"[" WARM "^{\"ph\":\"X\",\"name\":]}," EVENT("c") "]", "a b c", NULL},
                {"[" WARM "^{ph:\"X\",ts:1}," EVENT("c") "]", "a b c", NULL},
                {"[" WARM "^{\"ph\" \"X\"}," EVENT("c") "]", "a b c", NULL});
    CHECK_CASES(GARBAGE, /* */
                {"[" WARM "^}}" EVENT("c") "]", "a b c", NULL},
                {"[" WARM EVENT("c") "] ^trailing", "a b c", NULL},
                {"{\"traceEvents\":[" WARM EVENT("c") "]}^{}", "a b c", NULL});
}

/* Numbers count all elements of the list, so the ids of events do not depend on what was wrong
 * with others. */
TEST(lost_elements_keep_their_number)
{
    kino__trace *trace = chrome_load_text(
        "[" EVENT("a") ",{\"ph\":\"X\"},5," EVENT("b") ",{\"ts\":1}," EVENT("c") "]");
    static const uint32_t numbers[] = {0, 3, 5};
    REQUIRE_EQ(trace->event_count, 3);
    CHECK_EQ(trace->number_count, 6);
    for (uint32_t row = 0; row < 3; row++)
        CHECK_EQ(trace->number[row], numbers[row]);
    /* an event has 67 bytes: 1 + 67 + 1 = 69, + 10 + 1 = 80, + 1 + 1 + 67 + 1 = 150 */
    CHECK_LEDGER(trace, "no_phase 1 @150, no_time 1 @69, not_an_event 1 @80");
    kino__trace_free(trace);
}

TEST(broken_metadata_does_not_hide_the_events)
{
    CHECK_CASES(BROKEN_METADATA, /* */
                {"{\"m\": 1, ^oops, \"traceEvents\": [" WARM EVENT("c") "]}", "a b c", NULL},
                {"{\"m\": ^[1 2], \"traceEvents\": [" WARM EVENT("c") "]}", "a b c", NULL},
                {"{\"name\": \"a \"^quoted\" word\", \"traceEvents\": [" WARM EVENT("c") "]}",
                 "a b c", NULL},
                {"{\"traceEvents\": [" WARM EVENT("c") "], ^oops}", "a b c", NULL});
}

/* -- cut off */

static const char sound[] =
    " {\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0}], \"traceEvents\": [\n"
    "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"one\", \"pid\": 1, \"tid\": 1, \"ts\": "
    "1.5, \"dur\": 2, \"args\": {\"External id\": 5}},\n"
    "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"two\", \"pid\": 1, \"tid\": 1, \"ts\": "
    "2.5, \"dur\": 2, \"args\": {\"a\": \"{} []\"}},\n"
    "  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"three\", \"pid\": 1, \"tid\": 1, \"ts\": "
    "3.5, \"dur\": 2, \"args\": {}},\n"
    "  {\"ph\": \"i\", \"s\": \"g\", \"name\": \"end\", \"pid\": \"\", \"tid\": \"\", \"ts\": 60}\n"
    "  ], \"traceName\": \"x.json\"}";

/* How many events are complete in the first `size` bytes: braces that stand at line ends. */
static uint32_t complete_events(size_t size)
{
    uint32_t count = 0;
    const char *line = strstr(sound, "[\n") + 2;
    for (int i = 0; i < 4; i++) {
        const char *end = strchr(line, '\n');
        size_t brace = (size_t)(end - sound) - (i < 3); /* a comma behind all but the last */
        count += brace <= size;
        line = end + 1;
    }
    return count;
}

TEST(a_text_cut_anywhere_keeps_the_events_before_the_cut)
{
    size_t list = (size_t)(strstr(sound, "[\n") + 1 - sound);
    size_t list_end = (size_t)(strstr(sound, "\n  ]") + 3 - sound);
    size_t full = sizeof sound - 1;
    for (size_t size = 1; size <= full; size++) {
        kino_error err = {0};
        unsigned ways =
            CHROME_SLOW | (size % 3 == 0 ? CHROME_PACKED : 0) | (size % 5 == 0 ? CHROME_LEVELS : 0);
        kino__trace *trace = chrome_load_ways((kino_str){sound, size}, ways, &err);
        bool held = CHECK_EQ(trace != NULL, size >= list);
        if (trace) {
            held &= CHECK_EQ(trace->event_count, complete_events(size));
            uint64_t cut = trace->ledger.count[KINO__DAMAGE_TRUNCATED];
            uint64_t repairs =
                kino__ledger_repaired(&trace->ledger) + kino__ledger_skipped(&trace->ledger);
            if (size <= list_end)
                held &= CHECK_EQ(cut, 1);
            /* in the tail a cut and a broken value look alike */
            held &= CHECK_EQ(repairs, size < full ? 1 : 0);
        } else {
            held &= CHECK_EQ(err.code, KINO_FORMAT);
        }
        kino__trace_free(trace);
        if (!held) {
            (void)fprintf(stderr, "      cut at %zu: ...%.*s\n", size, 20,
                          sound + (size > 20 ? size - 20 : 0));
            break;
        }
    }
}

TEST(compressed_data_cut_anywhere_never_invent_events)
{
    static const int formats[] = {1, 2}; /* gzip, zstd */
    kino__trace *whole = chrome_load((kino_str){sound, sizeof sound - 1});
    for (size_t f = 0; f < 2; f++) {
        kino__buffer packed = {0};
        chrome_compress(formats[f], (kino_str){sound, sizeof sound - 1}, &packed);
        for (size_t size = 0; size < packed.size; size++) {
            kino__trace *trace = NULL;
            kino_error err = {0};
            unsigned jobs = 1 + size % 2;
            kino_status st = chrome_load_bytes((kino_str){packed.data, size}, KINO__SIMD_AUTO, jobs,
                                               &trace, &err);
            CHECK_EQ(st == KINO_OK, trace != NULL);
            if (!trace) {
                CHECK_EQ(err.code, KINO_FORMAT);
                CHECK(err.message[0] != '\0');
                continue;
            }
            CHECK(trace->ledger.count[KINO__DAMAGE_COMPRESSION] == 1);
            CHECK(trace->event_count <= 4);
            for (uint32_t i = 0; i < trace->event_count; i++)
                CHECK_STR(chrome_name(trace, chrome_row(trace, i)),
                          chrome_name(whole, chrome_row(whole, i)));
            kino__trace_free(trace);
        }
        kino__buffer_deinit(&packed);
    }
    kino__trace_free(whole);
}

/* Each damaged event would like to read to the end of the file: a budget keeps it linear. */
TEST(many_open_quotes_cost_linear_time)
{
    kino__buffer text = {0};
    enum { COUNT = 20000 };
    kino__buffer_printf(&text, "[" WARM);
    for (int i = 0; i < COUNT; i++)
        kino__buffer_printf(&text, "%s\n",
                            i % 2 ? EVENT("g") "," : ARGS("{\"k\":\"say \"hi now\",\"l\":1}") ",");
    kino__buffer_printf(&text, "%s]", EVENT("z"));
    kino__trace *trace =
        chrome_load_ways(kino__buffer_str(&text), CHROME_LEVELS | CHROME_SLOW, NULL);
    REQUIRE(trace != NULL);
    CHECK_EQ(trace->event_count, COUNT + 3);
    CHECK_EQ(trace->ledger.count[KINO__DAMAGE_BROKEN_ARGS], COUNT / 2);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}
