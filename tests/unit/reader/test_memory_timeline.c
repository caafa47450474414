/* test_memory_timeline.c - PyTorch's memory timeline: the reader on whole and damaged lists, and
 * the analysis on it and on ordinary traces. */
#include <stdio.h>
#include <string.h>

#include "codec/source.h"
#include "reader/memory_timeline.h"
#include "reader/reader.h"
#include "unit/analysis_rows.h"
#include "unit/chrome_load.h"
#include "unit/fixture.h"

static const char *write_file(const char *name, kino_str bytes)
{
    const char *path = test_tmp(name);
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(bytes.data, 1, bytes.size, file) == bytes.size && fclose(file) == 0);
    return path;
}

static kino__trace *load(kino_str bytes, kino_error *err)
{
    kino__trace *trace;
    kino__load_context context = {0};
    if (kino__reader_load(write_file("timeline", bytes), &context, &trace, err) != KINO_OK)
        return NULL;
    return trace;
}

static kino__trace *load_text(const char *text)
{
    kino_error err;
    kino__trace *trace = load(kino__str_from(text), &err);
    REQUIRE(trace != NULL);
    return trace;
}

/* Two parameters from before, an activation that comes and goes, one that becomes a gradient. */
static const char small[] = "[[-1, 1, 100, 0], [-1, 1, 20, 1],\n"
                            " [5000, 2, 400, 4], [6000, 2, 30, 4],\n"
                            " [7000, 3, -30, 4], [7000, 3, 30, 5], [9000, 4, -400, 4]]";

TEST(a_memory_timeline_is_a_track_of_marks)
{
    kino__trace *trace = load_text(small);
    CHECK_STR(trace->format, "memory-timeline");
    CHECK_EQ(trace->tracks.count, 1);
    REQUIRE_EQ(trace->event_count, 7);
    CHECK_LEDGER(trace, "");
    CHECK_EQ(trace->origin_ns, 5000);
    CHECK_EQ(trace->is_epoch, false);
    static const char *const names[] = {"preexisting", "preexisting",       "create",
                                        "create",      "increment_version", "increment_version",
                                        "destroy"};
    static const int64_t times[] = {0, 0, 0, 1000, 2000, 2000, 4000};
    for (uint32_t i = 0; i < 7; i++) {
        uint32_t row = chrome_row(trace, i);
        CHECK_STR(chrome_name(trace, row), names[i]);
        CHECK_STR(chrome_category(trace, row), "memory_timeline");
        CHECK_EQ(trace->ts[row], times[i]);
        CHECK_EQ(trace->phase[row], 'i');
    }
    CHECK_STR(chrome_args(trace, chrome_row(trace, 0)),
              "{\"Bytes\": 100, \"Category\": \"Parameter\", \"Time\": -1}");
    CHECK_STR(chrome_args(trace, chrome_row(trace, 6)),
              "{\"Bytes\": -400, \"Category\": \"Activation\"}");
    kino__trace_free(trace);
}

TEST(a_packed_memory_timeline_is_the_same)
{
    kino__trace *plain = load_text(small);
    for (int c = KINO__COMPRESSION_GZIP; c <= KINO__COMPRESSION_ZSTD; c++) {
        kino__buffer bytes = {0};
        kino_error err;
        chrome_compress(c, KINO__STR(small), &bytes);
        kino__trace *packed = load(kino__buffer_str(&bytes), &err);
        REQUIRE(packed != NULL);
        CHECK(chrome_difference(plain, packed) == NULL);
        CHECK_STR(packed->compression, c == KINO__COMPRESSION_GZIP ? "gzip" : "zstd");
        kino__trace_free(packed);
        /* cut off: what came before is there */
        packed = load((kino_str){bytes.data, bytes.size - 6}, &err);
        if (packed) {
            CHECK(packed->ledger.count[KINO__DAMAGE_COMPRESSION] == 1);
            kino__trace_free(packed);
        }
        kino__buffer_deinit(&bytes);
    }
    kino__trace_free(plain);
}

/* -- damage */

/* The records of a text as "time/action/bytes/category ...", whatever pieces it comes in. */
static const char *parsed(const char *text, size_t piece, kino__ledger *ledger)
{
    static char out[256];
    kino__timeline_parser parser = {0};
    size_t size = strlen(text), used = 0;
    for (size_t at = 0; at < size; at += piece)
        kino__timeline_parse(&parser, (kino_str){text + at, size - at < piece ? size - at : piece});
    kino__timeline_parse_end(&parser);
    out[0] = 0;
    for (size_t i = 0; i < parser.records.count; i++) {
        const kino__timeline_record *r = &parser.records.items[i];
        used += (size_t)snprintf(out + used, sizeof out - used, "%s%lld/%u/%lld/%u", i ? " " : "",
                                 (long long)r->time, r->action, (long long)r->bytes, r->category);
    }
    CHECK(!parser.failed);
    *ledger = parser.ledger;
    kino__timeline_parser_deinit(&parser);
    return out;
}

TEST(damaged_memory_timelines_lose_the_records_that_are_damaged)
{
    static const struct {
        const char *text, *want, *damage;
    } cases[] = {
        {"[[1,2,3,4]]", "1/2/3/4", ""},
        {"[ [ 1 , 2 , -3 , 4 ] ]\n", "1/2/-3/4", ""},
        {"[[1,2,3,4],[5,6,7,8]", "1/2/3/4 5/6/7/8", "truncated 1"},
        {"[[1,2,3,4],[5,6,", "1/2/3/4", "truncated 1"},
        {"[[1,2,3,4],]", "1/2/3/4", "trailing_comma 1"},
        {"[[1,2,3,4],,[5,6,7,8]]", "1/2/3/4 5/6/7/8", "trailing_comma 1"},
        {"[[1,2,3,4][5,6,7,8]]", "1/2/3/4 5/6/7/8", "missing_comma 1"},
        {"[[1,2,3],[1,2,3,4,5],[],[5,6,7,8]]", "5/6/7/8", "broken_event 3"},
        {"[[1,2,3.5,4],[1,\"a\",3,4],[1,2,null,4],[5,6,7,8]]", "5/6/7/8", "broken_event 3"},
        {"[[1,[2,[3]],3,4],[5,6,7,8]]", "5/6/7/8", "broken_event 1"},
        {"[[1,2,9223372036854775807,4],[1,2,9223372036854775808,4]]", "1/2/9223372036854775807/4",
         "broken_event 1"},
        {"[[1,256,3,4],[1,2,3,-1],[5,6,7,8]]", "5/6/7/8", "broken_event 2"},
        {"[[1 1,2,3,4],[--1,2,3,4],[1-,2,3,4],[5,6,7,8]]", "5/6/7/8", "broken_event 3"},
        {"[[1,2,3,4], {\"a\": 1}, [5,6,7,8]] x y", "1/2/3/4 5/6/7/8", "garbage 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece < 40; piece += 6) {
            kino__ledger ledger;
            char damage[128] = "";
            CHECK_STR(parsed(cases[i].text, piece, &ledger), cases[i].want);
            for (int d = 0; d < KINO__DAMAGE_COUNT; d++)
                if (ledger.count[d])
                    (void)snprintf(damage + strlen(damage), sizeof damage - strlen(damage),
                                   "%s%s %d", damage[0] ? ", " : "",
                                   kino__damage_name((kino__damage)d), (int)ledger.count[d]);
            CHECK_STR(damage, cases[i].damage);
        }
    }
}

TEST(records_that_are_skipped_keep_their_numbers)
{
    kino__trace *trace = load_text("[[1,2,3,4],[0],[5,2,7,3]]");
    REQUIRE_EQ(trace->event_count, 2);
    CHECK_EQ(trace->number_count, 3);
    CHECK_EQ(chrome_row(trace, 1), KINO_NO_ROW);
    CHECK_EQ(chrome_ts(trace, chrome_row(trace, 2)), 5);
    kino__trace_free(trace);
}

TEST(only_lists_of_lists_of_numbers_are_memory_timelines)
{
    kino_error err;
    static const char events[] =
        "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]";
    kino__trace *trace = load_text(events);
    CHECK_STR(trace->format, "chrome-json");
    kino__trace_free(trace);
    CHECK(load(KINO__STR("[[\"a\", 1]]"), &err) == NULL); /* Chrome's reader says no */
    CHECK(strstr(err.message, "not of trace events") != NULL);
    CHECK(load(KINO__STR("[[1]]"), &err) == NULL);
    CHECK(strstr(err.message, "without memory records") != NULL);
    trace = load_text("\xef\xbb\xbf [\n[ 7, 9, 1, 8 ]]"); /* an action and a category of tomorrow */
    CHECK_STR(chrome_name(trace, 0), "action 9");
    CHECK_STR(chrome_args(trace, 0), "{\"Bytes\": 1, \"Category\": 8}");
    kino__trace_free(trace);
}

/* -- the analysis */

TEST(memory_by_category_has_a_point_for_each_time)
{
    kino__trace *trace = load_text(small);
    kino_result *result = analysis_result("memory-timeline", "", &trace, 1);
    /* before, 5000, 6000, 7000 (both records), 9000 */
    CHECK_STR(analysis_rows(result, "memory_timeline",
                            "ts,parameter,optimizer_state,activation,gradient,unknown,total"),
              "0,100,20,0,0,0,120;0,100,20,400,0,0,520;1000,100,20,430,0,0,550;"
              "2000,100,20,400,30,0,550;4000,100,20,0,30,0,150");
    CHECK_STR(analysis_rows(result, "memory_peak", "device,peak,ts,final,points,records"),
              "-,550,1000,150,5,7");
    CHECK_STR(analysis_rows(result, "memory_categories", "category,at_peak,max,final"),
              "Parameter,100,100,100;Optimizer state,20,20,20;Input,0,0,0;Temporary,0,0,0;"
              "Activation,430,430,0;Gradient,0,30,30;Autograd,0,0,0;Unknown,0,0,0");
    CHECK_STR(analysis_notes(result), "");
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(categories_of_tomorrow_are_unknown_with_a_note)
{
    kino__trace *trace = load_text("[[1,2,50,8],[2,2,7,7]]");
    kino_result *result = analysis_result("memory-timeline", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "memory_timeline", "unknown,total"), "50,50;57,57");
    CHECK(strstr(analysis_notes(result), "1 records of unrecognized categories") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

#define MEMORY(time, text)                                                                         \
    {                                                                                              \
        .ph = 'i', .cat = "cpu_instant_event", .name = "[memory]", .track = 1, .ts = time,         \
        .args = text                                                                               \
    }

TEST(traces_with_memory_events_give_totals_by_device)
{
    kino__trace *trace = FIXTURE(
        MEMORY(10,
               "{\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": 8, \"Total Allocated\": 108}"),
        MEMORY(20,
               "{\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": 2, \"Total Allocated\": 110}"),
        MEMORY(20,
               "{\"Device Type\": 1, \"Device Id\": 0, \"Bytes\": -9, \"Total Allocated\": 101}"),
        MEMORY(15, "{\"Device Type\": 0, \"Device Id\": -1, \"Bytes\": 64}"),
        MEMORY(16, "{\"Device Type\": 0, \"Device Id\": 0, \"Bytes\": -64}"));
    kino_result *result = analysis_result("memory-timeline", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "memory_timeline", "device,ts,activation,unknown,total"),
              "CPU,15,-,64,64;CPU,16,-,0,0;GPU0,10,-,108,108;GPU0,20,-,101,101");
    CHECK_STR(analysis_rows(result, "memory_categories", "device,category,at_peak"),
              "CPU,Unknown,64;GPU0,Unknown,108");
    CHECK(strstr(analysis_notes(result), "categories not available") != NULL);
    CHECK(strstr(analysis_notes(result), "totals not available") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}

TEST(traces_without_memory_say_so)
{
    kino__trace *trace = FIXTURE({.cat = "cpu_op", .name = "aten::mm", .ts = 1, .dur = 1});
    kino_result *result = analysis_result("memory-timeline", "", &trace, 1);
    CHECK_STR(analysis_rows(result, "memory_timeline", NULL), "");
    CHECK_STR(analysis_rows(result, "memory_peak", NULL), "");
    CHECK(strstr(analysis_notes(result), "memory not available") != NULL);
    kino_result_free(result);
    kino__trace_free(trace);
}
