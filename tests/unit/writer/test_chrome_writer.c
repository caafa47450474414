/* test_chrome_writer.c - traces made by hand to the text that they must become, letter by letter.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "unit/fixture.h"
#include "unit/test.h"
#include "writer/json_text.h"
#include "writer/writer.h"

/* Takes the trace. The text is the caller's. */
static kino__buffer write_trace(kino__trace *trace, unsigned jobs)
{
    kino__buffer text = {0};
    kino__sink *sink = NULL;
    kino__run run;
    kino__run_init(&run);
    REQUIRE_EQ(kino__run_add_take(&run, trace, NULL), KINO_OK);
    REQUIRE_EQ(kino__memory_sink_new(&text, &sink, NULL), KINO_OK);
    kino__write_context context = {0};
    REQUIRE_EQ(kino__pool_new(jobs, &context.pool, NULL), KINO_OK);
    kino_error err = {0};
    if (!CHECK_EQ(kino__writer_chrome_json.write(&run, sink, &context, &err), KINO_OK))
        printf("    %s\n", err.message);
    kino__pool_free(context.pool);
    CHECK_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    kino__run_deinit(&run);
    CHECK(kino__json_is_strict(kino__buffer_str(&text)));
    return text;
}

static void check_text(kino__trace *trace, const char *want)
{
    kino__buffer text = write_trace(trace, 1);
    CHECK_STR(kino__buffer_str(&text), want);
    kino__buffer_deinit(&text);
}

static void add_metadata(kino__trace *trace, const char *key, const char *value)
{
    kino__metadata *slot = kino__vec_add(&trace->metadata);
    REQUIRE(slot != NULL);
    *slot = (kino__metadata){kino__str_from(key), kino__str_from(value)};
}

static void add_odd(kino__trace *trace, uint32_t number, kino__odd_kind kind, uint64_t a,
                    uint64_t b)
{
    kino__odd *slot = kino__vec_add(&trace->odd);
    REQUIRE(slot != NULL);
    *slot = (kino__odd){number, kind, a, b};
    trace->flags[fixture_row(trace, number)] |= KINO__FLAG_ODD;
}

static kino_strid intern(kino__trace *trace, const char *text)
{
    kino_strid id = kino__string_pool_add(&trace->strings, kino__str_from(text));
    REQUIRE(id != KINO_NO_STRING);
    return id;
}

TEST(events_are_written_in_file_order_and_kinetos_layout)
{
    kino__trace *trace = FIXTURE(
        {.track = 7,
         .cat = "kernel",
         .name = "gemm",
         .ts = 24500,
         .dur = 6000,
         .bind = 90,
         .args = "{\n      \"External id\": 5,\"correlation\": 90\n    }"},
        {.track = 3, .cat = "cpu_op", .name = "aten::mm", .ts = 10000, .dur = 30250},
        {.track = 7, .ph = 'f', .cat = "ac2g", .name = "ac2g", .ts = 24500, .bind = 90, .bp = true},
        {.track = 3, .ph = 'i', .name = "mark", .ts = 1});
    trace->flags[fixture_row(trace, 3)] |= 3 << KINO__FLAG_SCOPE_SHIFT;
    add_metadata(trace, "schemaVersion", "1");
    add_metadata(trace, "host_name", "\"box\"");
    check_text(trace, "{\n  \"schemaVersion\": 1,\n  \"host_name\": \"box\",\n  \"traceEvents\": ["
                      "\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": "
                      "0, \"tid\": 7,\n    \"ts\": 24.500, "
                      "\"dur\": 6.000,\n    \"args\": {\n      \"External id\": 5,\"correlation\": "
                      "90\n    }\n  },"
                      "\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", "
                      "\"pid\": 1, \"tid\": 3,\n    \"ts\": 10.000, "
                      "\"dur\": 30.250\n  },"
                      "\n  {\n    \"ph\": \"f\", \"id\": 90, \"cat\": \"ac2g\", \"name\": "
                      "\"ac2g\", \"pid\": 0, \"tid\": 7, \"bp\": \"e\",\n    "
                      "\"ts\": 24.500\n  },"
                      "\n  {\n    \"ph\": \"i\", \"name\": \"mark\", \"pid\": 1, \"tid\": 3, "
                      "\"s\": \"g\",\n    \"ts\": 0.001\n  }"
                      "\n  ]\n}\n");
}

TEST(bare_arrays_and_empty_traces_keep_their_form)
{
    kino__trace *trace = FIXTURE({.name = "a", .ts = 1000, .dur = 0});
    trace->is_array = true;
    check_text(trace, "[\n  {\n    \"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 0,\n    "
                      "\"ts\": 1.000, \"dur\": 0.000\n  }\n]\n");
    kino__trace *empty = NULL;
    REQUIRE_EQ(kino__trace_new(&empty, NULL), KINO_OK);
    check_text(empty, "{\n  \"traceEvents\": [\n  ]\n}\n");
    REQUIRE_EQ(kino__trace_new(&empty, NULL), KINO_OK);
    empty->is_array = true;
    check_text(empty, "[\n]\n");
}

/* 1000 ns after the origin, which is 500 ns after the base of the file. */
TEST(times_count_from_the_base_of_the_file)
{
    kino__trace *trace = FIXTURE({.name = "a", .ts = 1000, .dur = 1});
    trace->is_array = true;
    trace->is_epoch = true;
    trace->base_ns = INT64_C(1700000000000000000);
    trace->origin_ns = trace->base_ns + 500;
    check_text(trace, "[\n  {\n    \"ph\": \"X\", \"name\": \"a\", \"pid\": 1, \"tid\": 0,\n    "
                      "\"ts\": 1.500, \"dur\": 0.001\n  }\n]\n");
}

TEST(a_base_without_a_key_gets_one)
{
    kino__trace *trace = NULL;
    REQUIRE_EQ(kino__trace_new(&trace, NULL), KINO_OK);
    trace->base_ns = 42;
    check_text(trace, "{\n  \"baseTimeNanoseconds\": 42,\n  \"traceEvents\": [\n  ]\n}\n");
    REQUIRE_EQ(kino__trace_new(&trace, NULL), KINO_OK);
    trace->base_ns = 42;
    add_metadata(trace, "baseTimeNanoseconds", "42");
    check_text(trace, "{\n  \"baseTimeNanoseconds\": 42,\n  \"traceEvents\": [\n  ]\n}\n");
}

TEST(absent_values_stay_absent_and_labels_as_written)
{
    kino__trace *trace = FIXTURE({.track = 1,
                                  .ph = 'M',
                                  .name = "process_name",
                                  .ts = KINO_NO_TIME,
                                  .args = "{\"name\": \"x\"}"},
                                 {.track = 2, .ph = 'X', .ts = 5, .dur = 1},
                                 {.track = 3, .ph = 'n', .name = "n", .ts = 6, .bind = 4});
    trace->is_array = true;
    trace->tracks.items[0].tid = (kino__label){KINO__LABEL_NONE, KINO_NO_STRING, 0};
    trace->tracks.items[1].pid = (kino__label){KINO__LABEL_TEXT, intern(trace, "Spa\"ns"), 0};
    trace->tracks.items[1].tid = (kino__label){KINO__LABEL_RAW, intern(trace, "1.5"), 0};
    uint32_t second = fixture_row(trace, 1), third = fixture_row(trace, 2);
    trace->dur[second] = KINO_NO_TIME;
    trace->flags[third] |= KINO__FLAG_PID_TEXT | KINO__FLAG_ID_TEXT;
    trace->bind[third] = intern(trace, "0x1f");
    check_text(
        trace,
        "[\n  {\n    \"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1,\n    \"args\": "
        "{\"name\": \"x\"}\n  },"
        "\n  {\n    \"ph\": \"X\", \"pid\": \"Spa\\\"ns\", \"tid\": 1.5,\n    \"ts\": 0.005\n  },"
        "\n  {\n    \"ph\": \"n\", \"id\": \"0x1f\", \"name\": \"n\", \"pid\": \"1\", \"tid\": "
        "3,\n    \"ts\": 0.006\n  }\n]\n");
}

TEST(wide_ids_are_written_whole)
{
    kino__trace *trace =
        FIXTURE({.ph = 's', .name = "a", .ts = 1, .bind = INT64_C(123456789012345)},
                {.ph = 'f', .name = "a", .ts = 2, .bind = -7});
    trace->is_array = true;
    check_text(trace, "[\n  {\n    \"ph\": \"s\", \"id\": 123456789012345, \"name\": \"a\", "
                      "\"pid\": 1, \"tid\": 0,\n    \"ts\": 0.001\n  },"
                      "\n  {\n    \"ph\": \"f\", \"id\": -7, \"name\": \"a\", \"pid\": 1, \"tid\": "
                      "0,\n    \"ts\": 0.002\n  }\n]\n");
}

TEST(names_and_damaged_arguments_come_out_valid)
{
    kino__trace *trace = FIXTURE({.name = "a\"\\\n\xff",
                                  .cat = "my\tcat",
                                  .ts = 1,
                                  .dur = 1,
                                  .args = "{\"x\": NaN, \"y\": , }"});
    trace->is_array = true;
    check_text(
        trace,
        "[\n  {\n    \"ph\": \"X\", \"cat\": \"my\\tcat\", \"name\": \"a\\\"\\\\\\n\xef\xbf\xbd\", "
        "\"pid\": 1, \"tid\": 0,\n    "
        "\"ts\": 0.001, \"dur\": 0.001,\n    \"args\": {\"x\":\"NaN\",\"y\":null}\n  }\n]\n");
}

/* The fixture's text holds the arguments one behind the other: the first starts at byte 1. */
TEST(odd_events_are_written_from_their_source_text)
{
    kino__trace *trace = FIXTURE(
        {.name = "a", .ts = 1, .dur = 1, .args = "{\"ph\": \"X\", \"ts\": 0.0012, \"extra\": [1]}"},
        {.name = "b", .ts = 2, .dur = 1, .args = "{\"ph\": \"X\", \"ts\": \"2\", }"});
    trace->is_array = true;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t place = trace->place[fixture_row(trace, i)];
        add_odd(trace, i, KINO__ODD_TEXT, place >> 24, place & KINO__PLACE_LONG);
    }
    check_text(trace, "[\n  {\"ph\": \"X\", \"ts\": 0.0012, \"extra\": [1]},\n  "
                      "{\"ph\":\"X\",\"ts\":\"2\"}\n]\n");
}

TEST(pairs_are_written_as_two_events)
{
    kino__trace *trace = FIXTURE({.name = "a", .ts = 1000, .dur = 500, .args = "{\"k\": 1}"},
                                 {.name = "b", .ts = 3000, .dur = 500},
                                 {.name = "text",
                                  .ts = 9000,
                                  .dur = 1,
                                  .args = "{\"ph\": \"E\", \"ts\": 1.5, \"args\": {\"r\": 2}}"});
    trace->is_array = true;
    uint64_t place = trace->place[fixture_row(trace, 2)];
    add_odd(trace, 0, KINO__ODD_END, place >> 24, place & KINO__PLACE_LONG);
    trace->flags[fixture_row(trace, 0)] |= KINO__FLAG_PAIR;
    trace->flags[fixture_row(trace, 1)] |=
        KINO__FLAG_PAIR; /* its end has no text: made from the row */
    trace->place[fixture_row(trace, 2)] = 0;
    check_text(trace, "[\n  {\n    \"ph\": \"B\", \"name\": \"a\", \"pid\": 1, \"tid\": 0,\n    "
                      "\"ts\": 1.000,\n    \"args\": {\"k\": 1}\n  },"
                      "\n  {\"ph\": \"E\", \"ts\": 1.5, \"args\": {\"r\": 2}},"
                      "\n  {\n    \"ph\": \"B\", \"name\": \"b\", \"pid\": 1, \"tid\": 0,\n    "
                      "\"ts\": 3.000\n  },"
                      "\n  {\n    \"ph\": \"E\", \"pid\": 1, \"tid\": 0,\n    \"ts\": 3.500\n  },"
                      "\n  {\n    \"ph\": \"X\", \"name\": \"text\", \"pid\": 1, \"tid\": 0,\n    "
                      "\"ts\": 9.000, \"dur\": 0.001\n  }\n]\n");
}

TEST(metadata_is_sanitised_and_the_last_of_two_keys_wins)
{
    kino__trace *trace = NULL;
    REQUIRE_EQ(kino__trace_new(&trace, NULL), KINO_OK);
    add_metadata(trace, "a", "1");
    add_metadata(trace, "rank", "");
    add_metadata(trace, "k\\q", "N/A");
    add_metadata(trace, "a", "[2,]");
    check_text(trace, "{\n  \"rank\": null,\n  \"k\\\\q\": \"N/A\",\n  \"a\": [2],\n  "
                      "\"traceEvents\": [\n  ]\n}\n");
}

enum { MANY = 100000 };

static kino__trace *many_events(void)
{
    fixture_event *events = calloc(MANY, sizeof *events);
    REQUIRE(events != NULL);
    for (int i = 0; i < MANY; i++)
        events[i] = (fixture_event){.track = (uint32_t)(i * 7 % 13),
                                    .name = "n",
                                    .ts = (int64_t)i * 10,
                                    .dur = i % 9,
                                    .args = "{\"i\": 1}"};
    kino__trace *trace = fixture_new(events, MANY);
    free(events);
    return trace;
}

TEST_THREADS(the_number_of_threads_does_not_change_a_byte)
{
    kino__buffer one = write_trace(many_events(), 1);
    kino__buffer four = write_trace(many_events(), 4);
    CHECK(one.size > (size_t)MANY * 80);
    CHECK(kino__str_equal(kino__buffer_str(&one), kino__buffer_str(&four)));
    size_t count = 0;
    for (size_t i = 0; i + 4 <= one.size; i++)
        count += memcmp(one.data + i, "\"ph\"", 4) == 0;
    CHECK_EQ(count, MANY);
    kino__buffer_deinit(&one);
    kino__buffer_deinit(&four);
}

static kino_status refuse(kino__sink *sink, kino_str bytes, kino_error *err)
{
    (void)sink;
    return bytes.size > 1000 ? kino__fail(err, KINO_IO, "disk full") : KINO_OK;
}

static bool cancel(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    (void)what;
    return done < total / 2;
}

TEST_THREADS(a_full_disk_and_a_cancel_end_the_writing)
{
    kino__run run;
    kino__run_init(&run);
    REQUIRE_EQ(kino__run_add_take(&run, many_events(), NULL), KINO_OK);
    kino__progress progress;
    kino__progress_init(&progress, NULL, NULL);
    kino__write_context context = {.progress = &progress};
    REQUIRE_EQ(kino__pool_new(2, &context.pool, NULL), KINO_OK);
    kino_error err = {0};
    kino__sink full = {refuse, NULL};
    CHECK_EQ(kino__writer_chrome_json.write(&run, &full, &context, &err), KINO_IO);
    CHECK_STR(err.message, "disk full");
    kino__buffer text = {0};
    kino__sink *sink = NULL;
    REQUIRE_EQ(kino__memory_sink_new(&text, &sink, NULL), KINO_OK);
    kino__progress_init(&progress, cancel, NULL);
    CHECK_EQ(kino__writer_chrome_json.write(&run, sink, &context, &err), KINO_CANCELLED);
    (void)kino__sink_close(sink, false, NULL);
    kino__buffer_deinit(&text);
    kino__pool_free(context.pool);
    kino__run_deinit(&run);
}

TEST(several_traces_are_refused)
{
    kino__run run;
    kino__run_init(&run);
    for (int i = 0; i < 2; i++)
        REQUIRE_EQ(kino__run_add_take(&run, FIXTURE({.name = "a", .ts = 1, .dur = 1}), NULL),
                   KINO_OK);
    kino__write_context context = {0};
    kino__sink never = {refuse, NULL};
    kino_error err = {0};
    CHECK_EQ(kino__writer_chrome_json.write(&run, &never, &context, &err), KINO_ARGUMENT);
    CHECK_STR(err.message, "has 2 traces; select one with --rank");
    kino__run_deinit(&run);
}

TEST(the_list_of_writers_ends)
{
    REQUIRE(kino__writer_at(0) != NULL);
    CHECK_STR(kino__writer_at(0)->name, "chrome-json");
    size_t count = 0;
    while (kino__writer_at(count))
        count++;
    CHECK(kino__writer_at(count + 1000) == NULL);
}
