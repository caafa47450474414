/* test_chrome_layouts.c - sound Chrome JSON in all the shapes it has been written in since 2021.
 *
 * Every text is loaded in all ways of chrome_load.h; events are repeated so that the fast path
 * gets its turn. */
#include "base/str.h"
#include "unit/chrome_load.h"

/* The same event COPIES times in a row, as a list. */
enum { COPIES = 5 };

static kino__trace *load_copies(const char *event)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "{\"traceEvents\": [");
    for (int i = 0; i < COPIES; i++)
        kino__buffer_printf(&text, "%s%s", i ? "," : "", event);
    kino__buffer_printf(&text, "]}");
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    kino__buffer_deinit(&text);
    REQUIRE_EQ(trace->event_count, COPIES);
    CHECK_LEDGER(trace, "");
    return trace;
}

/* What one event should become. */
typedef struct expected {
    char phase;
    const char *category, *name;
    int64_t pid, tid, ts, dur;
    int64_t correlation, external;
} expected;

#define NONE KINO_NO_INT

static void check_event(const kino__trace *trace, uint32_t row, const expected *want)
{
    const kino__track *track = &trace->tracks.items[kino__trace_track_of(trace, row)];
    CHECK_EQ((char)trace->phase[row], want->phase);
    CHECK_STR(chrome_category(trace, row), want->category);
    CHECK_STR(chrome_name(trace, row), want->name);
    CHECK_EQ(track->pid.number, want->pid);
    CHECK_EQ(track->tid.number, want->tid);
    CHECK_EQ(chrome_ts(trace, row), want->ts);
    CHECK_EQ(trace->dur[row], want->dur);
    CHECK_EQ(kino__trace_correlation(trace, row), want->correlation);
    CHECK_EQ(kino__trace_external(trace, row), want->external);
}

static void check_copies(const char *event, const expected *want)
{
    kino__trace *trace = load_copies(event);
    for (uint32_t row = 0; row < COPIES; row++)
        check_event(trace, row, want);
    kino__trace_free(trace);
}

static const expected kernel = {'X', "kernel", "gemm", 0, 7, 24500, 6000, 90, 5};

TEST(an_event_is_the_same_in_any_white_space)
{
    /* Kineto since 2024: a key a line, args behind a comma on a line of its own */
    check_copies("\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, "
                 "\"tid\": 7,\n"
                 "    \"ts\": 24.500, \"dur\": 6.000,\n    \"args\": {\n      \"External id\": 5, "
                 "\"correlation\": 90\n"
                 "    }\n  }",
                 &kernel);
    check_copies(
        "\n  {\n    \"ph\": \"X\",\n    \"cat\": \"kernel\",\n    \"name\": \"gemm\",\n    "
        "\"pid\": 0,\n"
        "    \"tid\": 7,\n    \"ts\": 24.500,\n    \"dur\": 6.000\n    ,\n    \"args\": {\n"
        "      \"External id\": 5,\"queued\": 0, \"device\": 0,\"correlation\": 90\n    }\n  }",
        &kernel);
    /* nothing between the tokens */
    check_copies("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":24."
                 "5,\"dur\":6,"
                 "\"args\":{\"External id\":5,\"correlation\":90}}",
                 &kernel);
    /* everything everywhere */
    check_copies("\r\n\t{ \"ph\" :\t\"X\"\r\n, \"cat\" : \"kernel\" ,\"name\"\n:\n\"gemm\" , "
                 "\"pid\" : 0 , \"tid\" : 7 , "
                 "\"ts\" : 24.500 , \"dur\" : 6.0 , \"args\" : { \"External id\" : 5 , "
                 "\"correlation\" : 90 } }\n",
                 &kernel);
}

TEST(keys_stand_in_any_order)
{
    static const char *const parts[] = {
        "\"ph\": \"X\"",      "\"cat\": \"kernel\"",
        "\"name\": \"gemm\"", "\"pid\": 0",
        "\"tid\": 7",         "\"ts\": 24.500",
        "\"dur\": 6.000",     "\"args\": {\"External id\": 5, \"correlation\": 90}"};
    enum { PARTS = 8 };
    /* every rotation, forward and backward, and with neighbours swapped */
    for (int turn = 0; turn < PARTS; turn++)
        for (int step = 1; step < PARTS; step += 2) {
            kino__buffer text = {0};
            for (int i = 0; i < PARTS; i++)
                kino__buffer_printf(&text, "%s%s", i ? ", " : "{",
                                    parts[(turn + i * step) % PARTS]);
            kino__buffer_printf(&text, "}%c", 0);
            check_copies(text.data, &kernel);
            kino__buffer_deinit(&text);
        }
}

TEST(files_of_2021_are_read)
{
    /* capitalised categories, "stream 7", quoted numbers, lower-case external id, integer times
     * since the epoch */
    kino__trace *trace =
        load_copies("\n  {\n    \"ph\": \"X\", \"cat\": \"Kernel\", \n    \"name\": \"gemm\", "
                    "\"pid\": \"3\", \"tid\": \"stream 7\",\n"
                    "    \"ts\": 1621401187223005, \"dur\": 4,\n    \"args\": {\n      \"queued\": "
                    "0, \"device\": 0, \"context\": 1,\n"
                    "      \"stream\": 7, \"correlation\": 311, \"external id\": 12\n    }\n  }");
    const kino__track *track = &trace->tracks.items[0];
    CHECK_EQ(trace->tracks.count, 1);
    CHECK_EQ(track->pid.number, 3);
    CHECK_EQ((int)track->tid.kind, (int)KINO__LABEL_TEXT);
    CHECK_STR(kino__trace_string(trace, track->tid.text), "stream 7");
    CHECK_EQ((int)track->kind, (int)KINO__TRACK_DEVICE);
    CHECK_EQ(track->device, 3);
    CHECK_EQ(track->stream, 7);
    for (uint32_t row = 0; row < COPIES; row++) {
        CHECK_STR(chrome_category(trace, row), "Kernel");
        CHECK_EQ((int)kino__category_kind(trace->category[row]), (int)KINO__KIND_KERNEL);
        CHECK_EQ(chrome_ts(trace, row), INT64_C(1621401187223005000));
        CHECK_EQ(trace->dur[row], 4000);
        CHECK_EQ(kino__trace_correlation(trace, row), 311);
        CHECK_EQ(kino__trace_external(trace, row), 12);
        CHECK_EQ(trace->flags[row] & KINO__FLAG_PID_TEXT, KINO__FLAG_PID_TEXT);
        CHECK_EQ(trace->flags[row] & KINO__FLAG_TID_TEXT, 0);
    }
    CHECK(trace->is_epoch);
    kino__trace_free(trace);
}

TEST(top_level_keys_are_kept_in_order_before_and_behind)
{
    kino__trace *trace =
        chrome_load_text(" {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n      "
                         "{\"id\": 0, \"name\": \"A\"}\n    ],\n"
                         "      \"with_stack\": 1,\n    \"distributedInfo\": {\"backend\": "
                         "\"nccl\", \"rank\": 3, \"world_size\": 8},\n"
                         "    \"host_name\": \"b\\u006fx\",\n    \"displayTimeUnit\": \"ms\",\n    "
                         "\"baseTimeNanoseconds\": 1790857026000000000,\n"
                         "    \"traceEvents\": [\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
                         "\"a\", \"pid\": 1, \"tid\": 1, \"ts\": 10.250, "
                         "\"dur\": 1}\n  ],\n    \"traceName\": \"/tmp/x.json\"\n}");
    static const char *const keys[] = {"schemaVersion",       "deviceProperties", "with_stack",
                                       "distributedInfo",     "host_name",        "displayTimeUnit",
                                       "baseTimeNanoseconds", "traceName"};
    REQUIRE_EQ(trace->metadata.count, 8);
    for (int i = 0; i < 8; i++)
        CHECK_STR(trace->metadata.items[i].key, keys[i]);
    CHECK_STR(trace->metadata.items[1].value, "[\n      {\"id\": 0, \"name\": \"A\"}\n    ]");
    CHECK_EQ(trace->rank, 3);
    CHECK_EQ(trace->world_size, 8);
    CHECK_STR(trace->host, "box");
    CHECK_EQ(trace->base_ns, INT64_C(1790857026000000000));
    CHECK_EQ(trace->origin_ns, INT64_C(1790857026000010250));
    CHECK_EQ(trace->ts[0], 0);
    CHECK(trace->is_epoch && !trace->is_array);
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
}

TEST(bare_arrays_and_a_byte_order_mark_are_read)
{
    kino__trace *trace = chrome_load_text(
        "\xef\xbb\xbf [{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":2,\"name\":\"a\"}]\n");
    CHECK(trace->is_array);
    CHECK_EQ(trace->event_count, 1);
    CHECK_EQ(chrome_ts(trace, 0), 1000);
    CHECK(!trace->is_epoch);
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
}

TEST(lists_without_events_are_empty_traces)
{
    static const char *const texts[] = {"[]", "{\"traceEvents\": []}",
                                        "{\"traceEvents\":[\n ]\n, \"a\": 1}", "[ ]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kino__trace *trace = chrome_load_text(texts[i]);
        CHECK_EQ(trace->event_count, 0);
        CHECK_EQ(trace->tracks.count, 0);
        CHECK_LEDGER(trace, "");
        kino__trace_free(trace);
    }
}

TEST(every_phase_is_kept)
{
    static const char phases[] = "XBEiICMstfbenNODPVv(";
    for (const char *p = phases; *p; p++) {
        char event[200];
        (void)snprintf(event, sizeof event,
                       "{\"ph\": \"%c\", \"cat\": \"c\", \"name\": \"n\", \"pid\": 1, \"tid\": 2, "
                       "\"ts\": 3.5, \"id\": 4, "
                       "\"args\": {\"correlation\": 5}}",
                       *p);
        kino__trace *trace = load_copies(event);
        bool has_id = strchr("stfben", *p) != NULL;
        for (uint32_t row = 0; row < COPIES; row++) {
            CHECK_EQ((char)trace->phase[row], *p);
            CHECK_EQ(chrome_ts(trace, row), *p == 'M' ? chrome_ts(trace, row) : 3500);
            CHECK_EQ(kino__trace_bind_id(trace, row), has_id ? 4 : NONE);
            CHECK_EQ(kino__trace_correlation(trace, row), has_id ? NONE : 5);
        }
        kino__trace_free(trace);
    }
}

TEST(pairs_become_spans)
{
    /* B 0, B 1, E (of 1), i, E (of 0), another thread's E is of no pair, B that stays open */
    kino__trace *trace = chrome_load_text(
        "[{\"ph\":\"B\",\"name\":\"outer\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":1,\"args\":{"
        "\"correlation\":7}},"
        "{\"ph\":\"B\",\"name\":\"inner\",\"cat\":\"c\",\"pid\":1,\"tid\":1,\"ts\":2},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3.5},"
        "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":1,\"ts\":4},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5, \"args\":{\"x\":1}},"
        "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":6},"
        "{\"ph\":\"B\",\"name\":\"open\",\"pid\":1,\"tid\":1,\"ts\":7}]");
    CHECK_EQ(trace->pair_count, 2);
    CHECK_EQ(trace->number_count, 7);
    REQUIRE_EQ(trace->event_count, 5);
    static const struct {
        uint32_t number;
        char phase;
        int64_t ts, dur;
    } want[] = {{0, 'X', 1000, 4000},
                {1, 'X', 2000, 1500},
                {3, 'i', 4000, NONE},
                {6, 'B', 7000, NONE},
                {5, 'E', 6000, NONE}};
    for (uint32_t row = 0; row < 5; row++) {
        CHECK_EQ(trace->number[row], want[row].number);
        CHECK_EQ((char)trace->phase[row], want[row].phase);
        CHECK_EQ(chrome_ts(trace, row), want[row].ts);
        CHECK_EQ(trace->dur[row], want[row].dur);
        CHECK_EQ((trace->flags[row] & KINO__FLAG_PAIR) != 0, row < 2);
    }
    CHECK_EQ(kino__trace_correlation(trace, 0), 7);
    /* the text of the ends is remembered */
    const kino__odd *end = kino__trace_odd(trace, 0, KINO__ODD_END);
    REQUIRE(end != NULL);
    CHECK_STR(kino__text_read(&(kino__text_cursor){trace->text, NULL}, end->a, end->b),
              "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":5, \"args\":{\"x\":1}}");
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
}

/* Source text of an event that the columns do not hold completely. */
static kino_str odd_text(const kino__trace *trace, uint32_t row)
{
    const kino__odd *odd = kino__trace_odd(trace, trace->number[row], KINO__ODD_TEXT);
    return odd ? kino__text_read(&(kino__text_cursor){trace->text, NULL}, odd->a, odd->b)
               : KINO__STR("");
}

TEST(what_the_columns_cannot_hold_is_remembered_as_text)
{
    static const char *const events[] = {
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"odd\":{\"k\":[1]}}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":\"1\",\"dur\":1,\"name\":\"a\"}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1.00049,\"dur\":1,\"name\":\"a\"}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"args\":[5]}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":5}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"cat\":5}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"bp\":\"x\"}",
        "{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":1,\"name\":\"a\",\"s\":\"x\"}",
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"name\":\"a\",\"id\":9}",
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        kino__trace *trace = load_copies(events[i]);
        for (uint32_t row = 0; row < COPIES; row++) {
            CHECK_STR(odd_text(trace, row), events[i]);
            CHECK_EQ(trace->flags[row] & KINO__FLAG_ODD, KINO__FLAG_ODD);
            CHECK_EQ(chrome_ts(trace, row), 1000);
        }
        kino__trace_free(trace);
    }
}

TEST(scopes_and_binding_points_are_flags)
{
    static const char *const scopes[] = {"t", "p", "g"};
    for (unsigned i = 0; i < 3; i++) {
        char event[200];
        (void)snprintf(event, sizeof event,
                       "{\"ph\": \"i\", \"s\": \"%s\", \"name\": \"n\", \"pid\": \"\", \"tid\": "
                       "\"\", \"ts\": 1}",
                       scopes[i]);
        kino__trace *trace = load_copies(event);
        CHECK_EQ((trace->flags[4] & KINO__FLAG_SCOPE) >> KINO__FLAG_SCOPE_SHIFT, i + 1);
        CHECK_EQ((int)trace->tracks.items[0].pid.kind, (int)KINO__LABEL_TEXT);
        kino__trace_free(trace);
    }
    kino__trace *trace =
        load_copies("{\"ph\": \"f\", \"id\": 246, \"pid\": 0, \"tid\": 7, \"ts\": 24.500,\n"
                    "    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}");
    for (uint32_t row = 0; row < COPIES; row++) {
        CHECK_EQ(trace->flags[row], KINO__FLAG_BP);
        CHECK_EQ(kino__trace_bind_id(trace, row), 246);
    }
    kino__trace_free(trace);
}

TEST(ids_are_numbers_or_texts)
{
    static const struct {
        const char *written;
        int64_t number; /* NONE: a text */
        const char *text;
    } ids[] = {{"0", 0, ""},
               {"4294967293", 4294967293, ""},
               {"4294967294", 4294967294, ""},
               {"4294967295", 4294967295, ""},
               {"-1", -1, ""},
               {"9223372036854775807", INT64_MAX, ""},
               {"\"0x1f\"", NONE, "0x1f"},
               {"\"7\"", NONE, "7"},
               {"\"\"", NONE, ""},
               {"1.5", NONE, "1.5"}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char event[200];
        (void)snprintf(event, sizeof event,
                       "{\"ph\": \"s\", \"id\": %s, \"pid\": 0, \"tid\": 7, \"ts\": 24.500}",
                       ids[i].written);
        kino__trace *trace = load_copies(event);
        for (uint32_t row = 0; row < COPIES; row++) {
            bool is_text = (trace->flags[row] & KINO__FLAG_ID_TEXT) != 0;
            CHECK_EQ(is_text, ids[i].number == NONE);
            if (is_text)
                CHECK_STR(kino__trace_string(trace, trace->bind[row]), ids[i].text);
            else
                CHECK_EQ(kino__trace_bind_id(trace, row), ids[i].number);
        }
        kino__trace_free(trace);
    }
}

TEST(pid_and_tid_are_kept_as_written)
{
    static const struct {
        const char *written;
        kino__label_kind kind;
        int64_t number;
        const char *text;
        bool was_quoted;
    } labels[] = {{"0", KINO__LABEL_INT, 0, "", false},
                  {"-1", KINO__LABEL_INT, -1, "", false},
                  {"139712345678901", KINO__LABEL_INT, 139712345678901, "", false},
                  {"1234567890123456", KINO__LABEL_INT, 1234567890123456, "", false},
                  {"123456789012345678", KINO__LABEL_INT, 123456789012345678, "", false},
                  {"9223372036854775807", KINO__LABEL_RAW, 0, "9223372036854775807", false},
                  {"18446744073709551615", KINO__LABEL_RAW, 0, "18446744073709551615", false},
                  {"1.5", KINO__LABEL_RAW, 0, "1.5", false},
                  {"1e3", KINO__LABEL_RAW, 0, "1e3", false},
                  {"null", KINO__LABEL_RAW, 0, "null", false},
                  {"\"12\"", KINO__LABEL_INT, 12, "", true},
                  {"\"-12\"", KINO__LABEL_INT, -12, "", true},
                  {"\"012\"", KINO__LABEL_TEXT, 0, "012", false},
                  {"\"-0\"", KINO__LABEL_TEXT, 0, "-0", false},
                  {"\"\"", KINO__LABEL_TEXT, 0, "", false},
                  {"\"GPU 0 Counters\"", KINO__LABEL_TEXT, 0, "GPU 0 Counters", false},
                  {"\"a\\\"b\"", KINO__LABEL_TEXT, 0, "a\"b", false}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        for (int is_tid = 0; is_tid < 2; is_tid++) {
            char event[200];
            (void)snprintf(
                event, sizeof event,
                "{\"ph\": \"X\", \"name\": \"n\", \"pid\": %s, \"tid\": %s, \"ts\": 1, \"dur\": 1}",
                is_tid ? "5" : labels[i].written, is_tid ? labels[i].written : "5");
            kino__trace *trace = load_copies(event);
            REQUIRE_EQ(trace->tracks.count, 1);
            const kino__label *label =
                is_tid ? &trace->tracks.items[0].tid : &trace->tracks.items[0].pid;
            unsigned flag = is_tid ? KINO__FLAG_TID_TEXT : KINO__FLAG_PID_TEXT;
            CHECK_EQ((int)label->kind, (int)labels[i].kind);
            CHECK_EQ(label->number, labels[i].number);
            CHECK_STR(kino__trace_string(trace, label->text), labels[i].text);
            for (uint32_t row = 0; row < COPIES; row++)
                CHECK_EQ((trace->flags[row] & flag) != 0, labels[i].was_quoted);
            kino__trace_free(trace);
        }
}

TEST(events_without_pid_or_tid_share_a_track_of_their_own)
{
    kino__trace *trace = chrome_load_text(
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"pid\":1},"
        "{\"ph\":\"X\",\"ts\":3,\"dur\":1},{\"ph\":\"X\",\"ts\":3,\"dur\":1,\"tid\":1}]");
    REQUIRE_EQ(trace->tracks.count, 3);
    CHECK_EQ(trace->tracks.items[0].count, 2);
    CHECK_EQ((int)trace->tracks.items[0].pid.kind, (int)KINO__LABEL_NONE);
    CHECK_EQ(trace->name[0], KINO_NO_STRING);
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
}

TEST(times_are_exact_decimals)
{
    static const struct {
        const char *written;
        int64_t ns;
    } times[] = {{"0", 0},
                 {"0.001", 1},
                 {"0.01", 10},
                 {"0.1", 100},
                 {"-0.5", -500},
                 {"-12", -12000},
                 {"1.0005", 1000}, /* half to even */
                 {"1.0015", 1002}, /* half to even */
                 {"1.00050001", 1001},
                 {"1e3", 1000000},
                 {"1.5E+2", 150000},
                 {"12345e-3", 12345},
                 {"5682396.921", 5682396921},
                 {"1621401187223005", 1621401187223005000},
                 {"1621401187223005.123", 1621401187223005123},
                 {"9223372036854775.807", INT64_MAX},
                 {"1.234567890123456789", 1235},
                 {"\"7.25\"", 7250},
                 {"\"0007\"", 7000},
                 {"1000000000000000e-12", 1000000}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char event[300];
        /* a second event keeps the origin apart from the time under test */
        (void)snprintf(
            event, sizeof event,
            "{\"ph\": \"X\", \"name\": \"n\", \"pid\": 1, \"tid\": 1, \"ts\": 3, \"dur\": %s},\n"
            "{\"ph\": \"i\", \"name\": \"n\", \"pid\": 1, \"tid\": 2, \"ts\": %s}",
            times[i].written, times[i].written);
        kino__buffer text = {0};
        kino__buffer_printf(&text, "[");
        for (int k = 0; k < COPIES; k++)
            kino__buffer_printf(&text, "%s%s", k ? "," : "", event);
        kino__buffer_printf(&text, "]");
        kino__trace *trace = chrome_load(kino__buffer_str(&text));
        REQUIRE_EQ(trace->event_count, 2 * COPIES);
        for (uint32_t k = 0; k < COPIES; k++) {
            CHECK_EQ(trace->dur[chrome_row(trace, 2 * k)], times[i].ns);
            CHECK_EQ(chrome_ts(trace, chrome_row(trace, 2 * k + 1)), times[i].ns);
        }
        CHECK_LEDGER(trace, "");
        kino__trace_free(trace);
        kino__buffer_deinit(&text);
    }
}

TEST(names_of_any_length_and_escapes_are_read)
{
    kino__buffer text = {0};
    char name[256];
    memset(name, 'n', sizeof name);
    enum { LONGEST = 200 };
    kino__buffer_printf(&text, "[");
    for (int n = 0; n <= LONGEST; n++) {
        name[n / 2] = (char)('a' + n % 26);
        for (int copy = 0; copy < 2; copy++)
            kino__buffer_printf(
                &text, "%s{\"ph\":\"X\",\"name\":\"%.*s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}",
                n || copy ? ",\n" : "", n, name, 2 * n + copy);
        name[n / 2] = 'n';
    }
    kino__buffer_printf(&text, "]");
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    REQUIRE_EQ(trace->event_count, 2 * (LONGEST + 1));
    CHECK_EQ(kino__string_pool_count(&trace->strings), LONGEST + 1);
    for (uint32_t n = 0; n <= LONGEST; n++) {
        name[n / 2] = (char)('a' + n % 26);
        CHECK_STR(chrome_name(trace, 2 * n), ((kino_str){name, n}));
        CHECK_EQ(trace->name[2 * n], trace->name[2 * n + 1]);
        name[n / 2] = 'n';
    }
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
    trace =
        load_copies("{\"ph\": \"X\", \"name\": \"q\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00 "
                    "{[,:]} \xc3\xa9\", \"pid\": 1, "
                    "\"tid\": 1, \"ts\": 1, \"dur\": 1}");
    CHECK_STR(chrome_name(trace, 3), "q\"\\/\b\f\n\r\t\xc3\xa9\xf0\x9f\x98\x80 {[,:]} \xc3\xa9");
    kino__trace_free(trace);
}

/* Names come in a round, so that the next one is guessed; now and then another takes its place: one
 * that the guess is the start of, one that starts the guess, one that differs in the last byte. */
TEST(names_that_are_guessed_wrong_are_read_right)
{
#define SIXTY_THREE "012345678901234567890123456789012345678901234567890123456789012"
    static const struct {
        const char *raw, *name;
    } names[] = {
        {"gemm", "gemm"},
        {"gemm_nt", "gemm_nt"},
        {"gem", "gem"},
        {"", ""},
        {SIXTY_THREE "a", SIXTY_THREE "a"},
        {SIXTY_THREE "b", SIXTY_THREE "b"},
        {SIXTY_THREE "ab", SIXTY_THREE "ab"},
        {SIXTY_THREE SIXTY_THREE "ab", SIXTY_THREE SIXTY_THREE "ab"},
        {SIXTY_THREE SIXTY_THREE "ac", SIXTY_THREE SIXTY_THREE "ac"},
        {"q\\\"", "q\""},
        {"q\\\\", "q\\"},
        {"bad\1", "bad\1"},
    };
#undef SIXTY_THREE
    enum { NAMES = sizeof names / sizeof *names, BAD = NAMES - 1, EVENTS = 600 };
    uint32_t used[EVENTS];
    size_t bad_count = 0, bad_first = 0;
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    for (uint32_t i = 0; i < EVENTS; i++) {
        used[i] = (i % 7 == 6 ? i + 1 : i % 11 == 10 ? i + NAMES - 1 : i) % NAMES;
        kino__buffer_printf(&text, "%s{\"ph\":\"X\",\"name\":\"", i ? "," : "");
        if (used[i] == BAD && bad_count++ == 0)
            bad_first = text.size;
        kino__buffer_printf(
            &text, "%s\",\"pid\":1,\"tid\":1,\"ts\":%u,\"dur\":1,\"args\":{\"correlation\":%u}}",
            names[used[i]].raw, i, i);
    }
    kino__buffer_printf(&text, "]");
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    REQUIRE_EQ(trace->event_count, EVENTS);
    for (uint32_t i = 0; i < EVENTS; i++) {
        CHECK_STR(chrome_name(trace, i), names[used[i]].name);
        CHECK_EQ(kino__trace_correlation(trace, i), i);
    }
    CHECK_EQ(kino__string_pool_count(&trace->strings), NAMES);
    char want[64];
    (void)snprintf(want, sizeof want, "control_character %zu @%zu", bad_count, bad_first);
    CHECK_LEDGER(trace, want);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(many_layouts_and_categories_in_one_file)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    enum { KINDS = 150, ROUNDS = 4 };
    for (int i = 0; i < KINDS * ROUNDS; i++)
        kino__buffer_printf(&text,
                            "%s{\"ph\":\"%c\",\"cat\":\"own "
                            "%d\",\"name\":\"n\",%.*s\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}",
                            i ? "," : "", "XiC"[i % 3], i % KINDS, i % 7, "       ", i);
    kino__buffer_printf(&text, "]");
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    REQUIRE_EQ(trace->event_count, KINDS * ROUNDS);
    CHECK_EQ(trace->own_categories.count, KINDS);
    for (uint32_t i = 0; i < KINDS * ROUNDS; i++) {
        char want[20];
        (void)snprintf(want, sizeof want, "own %u", i % KINDS);
        CHECK_STR(chrome_category(trace, i), want);
        CHECK_EQ(chrome_ts(trace, i), (int64_t)i * 1000);
    }
    CHECK_LEDGER(trace, "");
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(more_categories_than_numbers_are_kept_as_text)
{
    kino__buffer text = {0};
    kino__buffer_printf(&text, "[");
    enum { KINDS = 5000 };
    for (int i = 0; i < KINDS; i++)
        kino__buffer_printf(&text,
                            "%s{\"ph\":\"X\",\"cat\":\"own "
                            "%d\",\"name\":\"n\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}",
                            i ? "," : "", i, i);
    kino__buffer_printf(&text, "]");
    kino__trace *trace = chrome_load(kino__buffer_str(&text));
    REQUIRE_EQ(trace->event_count, KINDS);
    CHECK_STR(chrome_category(trace, 0), "own 0");
    for (uint32_t row = 0; row < KINDS; row++)
        if (trace->category[row] == KINO__CATEGORY_MANY)
            CHECK(kino__trace_odd(trace, trace->number[row], KINO__ODD_TEXT) != NULL);
    kino__trace_free(trace);
    kino__buffer_deinit(&text);
}

TEST(what_is_no_trace_is_an_error_that_says_why)
{
    static const struct {
        const char *text, *why;
    } texts[] = {{"", "file is empty"},
                 {"hello", "not a trace in any known format"},
                 {"   \n", "not a trace in any known format"},
                 {"{\"schema\": \"1.0.1\", \"nodes\": []}", "JSON without traceEvents"},
                 {"{}", "JSON without traceEvents"},
                 {"{\"a\": 1, \"trace", "unexpected end of file before traceEvents"},
                 {"[1, 2, 3]", "JSON array, but not of trace events"},
                 {"[[[[[[", "JSON array, but not of trace events"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kino_error err = {0};
        /* an empty text, compressed, is not an empty file: plain ways only */
        kino__trace *trace = chrome_load_ways(kino__str_from(texts[i].text),
                                              CHROME_LEVELS | CHROME_JOBS | CHROME_SLOW, &err);
        CHECK(trace == NULL);
        CHECK_EQ(err.code, KINO_FORMAT);
        CHECK(strstr(err.message, texts[i].why) != NULL);
        CHECK(strstr(err.message, "/proc/self/fd/") != NULL);
        kino__trace_free(trace);
    }
}

/* Rank 0 is a rank; a trace that says nothing has none. */
TEST(a_rank_is_only_known_when_the_file_gives_one)
{
    static const struct {
        const char *text;
        int64_t rank, world_size;
    } cases[] = {
        {"{\"traceEvents\": []}", KINO_NO_INT, KINO_NO_INT},
        {"{\"distributedInfo\": {\"rank\": 0, \"world_size\": 8}, \"traceEvents\": []}", 0, 8},
        {"{\"distributedInfo\": {\"rank\": 3}, \"traceEvents\": []}", 3, KINO_NO_INT},
        {"{\"distributedInfo\": {\"rank\": , \"world_size\": 0}, \"traceEvents\": []}", KINO_NO_INT,
         KINO_NO_INT},
        {"{\"distributedInfo\": {\"rank\": -1, \"world_size\": \"x\"}, \"traceEvents\": []}",
         KINO_NO_INT, KINO_NO_INT},
        {"{\"traceEvents\": [], \"distributedInfo\": {\"rank\": 5, \"world_size\": 6}}", 5, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kino__trace *trace = chrome_load_text(cases[i].text);
        CHECK_EQ(trace->rank, cases[i].rank);
        CHECK_EQ(trace->world_size, cases[i].world_size);
        kino__trace_free(trace);
    }
}
