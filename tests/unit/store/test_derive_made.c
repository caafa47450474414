/* test_derive_made.c - events that no source has: where they stand, how they are numbered, what is
 * written of them; and arguments for rows that had none. */
#include <string.h>

#include "store/args.h"
#include "store/derive.h"
#include "unit/chrome_load.h"
#include "unit/write_text.h"

/* A host thread, a stream, and a counter of the host's process that has no tid. Numbers 0 to 4. */
static const char source_text[] =
    "[{\"ph\":\"X\",\"name\":\"op\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":10,\"dur\":10},"
    "{\"ph\":\"X\",\"name\":\"k\",\"cat\":\"kernel\",\"pid\":\"0\",\"tid\":7,\"ts\":12,\"dur\":3,"
    "\"args\":{\"device\":0}},"
    "{\"ph\":\"C\",\"name\":\"old\",\"pid\":1,\"ts\":11,\"args\":{\"v\":1}},"
    "{\"ph\":\"X\",\"name\":\"op2\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":30,\"dur\":5},"
    "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":2,\"ts\":20,\"s\":\"t\"}]";

#define TAIL "                                                                "

static uint32_t track_of(const kino__trace *trace, uint32_t number)
{
    return kino__trace_track_of(trace, chrome_row(trace, number));
}

static kino__trace *derive_with(const kino__trace *source, const kino__derive_event *made,
                                size_t count, const kino__derive_rules *rules)
{
    kino__derive_source from = {.trace = source};
    kino__derive derive = {
        .sources = &from, .count = 1, .rules = rules, .made = made, .made_count = count};
    kino__trace *trace = NULL;
    kino_error err;
    REQUIRE(kino__trace_derive(&derive, &trace, &err) == KINO_OK);
    return trace;
}

/* ns since the first event of the source, which is at 10 us */
static kino__derive_event event_at(uint32_t track, int64_t us, uint8_t phase, const char *name)
{
    return (kino__derive_event){.ts = (us - 10) * 1000,
                                .id = KINO_NO_INT,
                                .name = kino__str_from(name),
                                .track = track,
                                .phase = phase};
}

TEST_THREADS(made_events_are_what_a_reader_of_the_written_file_sees)
{
    kino__trace *source = chrome_load_text(source_text);
    uint32_t host = track_of(source, 0), stream = track_of(source, 1);
    kino__derive_event made[5] = {
        event_at(host, 20, 's', "arrow"),     event_at(stream, 12, 'f', "arrow"),
        event_at(host, 5, 'C', "n"),          event_at(stream, 13, 'C', "n"),
        event_at(stream, 12, 'C', "with id"),
    };
    made[0].id = made[1].id = INT64_C(1) << 40; /* needs the odd list */
    made[0].category = made[1].category = KINO__STR("critical_path");
    made[0].args = (kino_str){"{\"w\": 3}" TAIL, 8};
    made[1].flags = KINO__FLAG_BP | KINO__FLAG_PID_TEXT;
    made[2].is_of_process = made[3].is_of_process = true;
    made[3].flags = KINO__FLAG_PID_TEXT;
    made[4].flags = KINO__FLAG_PID_TEXT;
    static const char whole[] =
        "{\"ph\":\"C\",\"id\":7,\"name\":\"with id\",\"pid\":\"0\",\"tid\":7,\"ts\":12}" TAIL;
    made[4].text = (kino_str){whole, sizeof whole - sizeof TAIL};
    kino__trace *trace = derive_with(source, made, 5, NULL);
    REQUIRE_EQ(trace->event_count, 10);
    CHECK_EQ(trace->number_count, 10);
    CHECK_EQ(trace->tracks.count, 4); /* (0) has no track without a tid yet, (1) has */
    CHECK_EQ(kino__trace_bind_id(trace, chrome_row(trace, 5)), INT64_C(1) << 40);
    kino__buffer text =
        write_text(&kino__writer_chrome_json, &trace, 1, (kino__write_context){0}, 2, NULL);
    kino__trace *again = chrome_load(kino__buffer_str(&text));
    CHECK(memmem(text.data, text.size, "\"id\":7,\"name\":\"with id\"", 22) != NULL);
    /* numbers: five of the source, then those made, in the order they were given */
    static const char *const names[] = {"op",    "k",     "old", "op2", "mark",
                                        "arrow", "arrow", "n",   "n",   "with id"};
    static const int64_t times[] = {10, 12, 11, 30, 20, 20, 12, 5, 13, 12};
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t row = chrome_row(again, i);
        REQUIRE(row != KINO_NO_ROW);
        CHECK_STR(chrome_name(again, row), names[i]);
        CHECK_EQ(chrome_ts(again, row), times[i] * 1000);
    }
    CHECK_EQ(track_of(again, 5), track_of(again, 0));
    CHECK_EQ(track_of(again, 7), track_of(again, 2));
    CHECK(track_of(again, 8) != track_of(again, 1));
    CHECK_STR(chrome_args(again, chrome_row(again, 5)), "{\"w\": 3}");
    CHECK_STR(chrome_category(again, chrome_row(again, 6)), "critical_path");
    kino__trace_free(again);
    kino__trace_free(source);
    kino__buffer_deinit(&text);
}

TEST_THREADS(made_events_stand_among_the_rows_of_their_track_by_time)
{
    kino__trace *source = chrome_load_text(source_text);
    uint32_t host = track_of(source, 0);
    kino__derive_event made[] = {event_at(host, 30, 's', "d"), event_at(host, 9, 's', "a"),
                                 event_at(host, 20, 's', "c"), event_at(host, 10, 's', "b"),
                                 event_at(host, 99, 's', "e")};
    kino__trace *trace = derive_with(source, made, 5, NULL);
    const kino__track *track = &trace->tracks.items[host];
    /* a span before what has no length and begins with it; the source before what was made */
    static const char *const want[] = {"a", "op", "b", "mark", "c", "op2", "d", "e"};
    REQUIRE_EQ(track->count, 8);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_STR(chrome_name(trace, track->first + i), want[i]);
    kino__trace_free(trace);
    kino__trace_free(source);
}

/* -- arguments from nothing */

static bool adds_to_ops(const void *context, uint32_t source, uint32_t row)
{
    (void)source;
    return ((const kino__trace *)context)->category[row] == KINO__CATEGORY_CPU_OP;
}

static bool make_args(const void *context, uint32_t source, uint32_t row, kino_str text,
                      kino__buffer *out)
{
    if (!adds_to_ops(context, source, row))
        return false;
    CHECK_EQ(text.size, 0);
    kino__buffer_add(out, KINO__STR("{\"made\": 4}"));
    return true;
}

TEST_THREADS(rows_without_arguments_get_some_where_the_rules_say_so)
{
    kino__trace *source = chrome_load_text(source_text);
    kino__derive_rules rules = {.context = source, .adds_args = adds_to_ops, .args = make_args};
    kino__trace *trace = derive_with(source, NULL, 0, &rules);
    CHECK_STR(chrome_args(trace, chrome_row(trace, 0)), "{\"made\": 4}");
    CHECK_STR(chrome_args(trace, chrome_row(trace, 1)), "{\"device\":0}");
    CHECK_EQ(trace->place[chrome_row(trace, 4)], 0);
    const int64_t *column = kino__args_int_column(trace, "made");
    REQUIRE(column != NULL);
    CHECK_EQ(column[chrome_row(trace, 3)], 4);
    CHECK_EQ(column[chrome_row(trace, 2)], KINO_NO_INT);
    kino__trace_free(trace);
    kino__trace_free(source);
}
