/* test_perfetto_writer.c - what is written is read back as it was; tests/integration has the rules of
 * the format, and more. */
#include <stdio.h>

#include "reader/reader.h"
#include "store/args.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"
#include "unit/test.h"
#include "writer/writer.h"

/* Takes the trace; there and back. */
static kino__trace *rewrite(kino__trace *trace)
{
    const char *path = test_tmp("trace.pftrace");
    kino__sink *sink;
    kino__run run;
    kino__write_context context = {0};
    kino__load_context loading = {0};
    kino__trace *back;
    kino__run_init(&run);
    REQUIRE_EQ(kino__run_add_take(&run, trace, NULL), KINO_OK);
    REQUIRE_EQ(kino__file_sink_open(path, &sink, NULL), KINO_OK);
    REQUIRE_EQ(kino__writer_perfetto.write(&run, sink, &context, NULL), KINO_OK);
    REQUIRE_EQ(kino__sink_close(sink, true, NULL), KINO_OK);
    kino__run_deinit(&run);
    REQUIRE_EQ(kino__reader_load(path, &loading, &back, NULL), KINO_OK);
    return back;
}

static uint32_t find(const kino__trace *trace, const char *name, uint8_t phase)
{
    for (uint32_t row = 0; row < trace->event_count; row++)
        if (trace->phase[row] == phase &&
            kino__str_is(kino__trace_string(trace, trace->name[row]), name))
            return row;
    return UINT32_MAX;
}

TEST(perfetto_keeps_spans_that_overlap)
{
    kino__trace *trace = rewrite(chrome_load_text(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":10,\"name\":\"a\",\"cat\":\"cpu_op\"},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":10.001,\"name\":\"b\"},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":0,\"name\":\"c\"}]}"));
    static const struct {
        const char *name;
        int64_t ts, dur;
    } spans[] = {{"a", 0, 10000}, {"b", 4000, 10001}, {"c", 4000, 0}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t row = find(trace, spans[i].name, 'X');
        REQUIRE(row != UINT32_MAX);
        CHECK_EQ(trace->ts[row], spans[i].ts);
        CHECK_EQ(trace->dur[row], spans[i].dur);
        CHECK_EQ(trace->tracks.items[kino__trace_track_of(trace, row)].tid.number, 2);
    }
    CHECK_EQ(trace->category[find(trace, "a", 'X')], KINO__CATEGORY_CPU_OP);
    CHECK_EQ(trace->category[find(trace, "b", 'X')], KINO__CATEGORY_NONE);
    kino__trace_free(trace);
}

TEST(perfetto_keeps_flows_counters_and_arguments)
{
    kino__trace *trace = rewrite(chrome_load_text(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"a\",\"args\":{\"x\":[1,"
        "\"t\",null]}},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":3,\"ts\":5,\"dur\":1,\"name\":\"b\"},"
        "{\"ph\":\"s\",\"id\":7,\"pid\":1,\"tid\":2,\"ts\":1,\"cat\":\"ac2g\",\"name\":\"f\"},"
        "{\"ph\":\"f\",\"id\":7,\"bp\":\"e\",\"pid\":1,\"tid\":3,\"ts\":5,\"cat\":\"ac2g\","
        "\"name\":\"f\"},"
        "{\"ph\":\"C\",\"pid\":1,\"ts\":2,\"name\":\"n\",\"args\":{\"used\":3,\"free\":1.5}}]}"));
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, trace->text);
    CHECK_STR(kino__args_text(trace, find(trace, "a", 'X'), &cursor), "{\"x\": [1, \"t\", null]}");
    CHECK_STR(kino__args_text(trace, find(trace, "n", 'C'), &cursor),
              "{\"used\": 3, \"free\": 1.5}");
    kino__text_cursor_deinit(&cursor);
    uint32_t from = find(trace, "f", 's'), to = find(trace, "f", 'f');
    REQUIRE(from != UINT32_MAX && to != UINT32_MAX);
    CHECK_EQ(kino__trace_bind_id(trace, from), 7);
    CHECK_EQ(kino__trace_bind_id(trace, to), 7);
    CHECK_EQ(trace->ts[to] - trace->ts[from], 4000);
    CHECK_EQ(trace->category[to], KINO__CATEGORY_AC2G);
    kino__trace_free(trace);
}
