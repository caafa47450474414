/* test_timeline_limits.c - timelines of traces that nobody sane writes: sums beyond all numbers,
 * spans on hundreds of lines, counters without end, parts of a run. */
#include <stdlib.h>

#include <kino/timeline.h>

#include "base/str.h"
#include "unit/analysis_rows.h"
#include "unit/test.h"
#include "unit/tile_read.h"

static kino_run *open_texts(const kino__buffer *texts, size_t count)
{
    const char *paths[2] = {NULL, NULL};
    for (size_t i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "trace-%zu.json", i);
        paths[i] = strdup(test_tmp(name));
        REQUIRE(paths[i] && !texts[i].failed);
        test_write_file(paths[i], texts[i].data, texts[i].size);
    }
    kino_run *run = NULL;
    REQUIRE_EQ(kino_run_open(paths, count, NULL, &run, NULL), KINO_OK);
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)paths[i]);
    return run;
}

static kino_timeline *timeline_of(kino_run *run)
{
    kino_timeline *timeline = NULL;
    REQUIRE_EQ(kino_timeline_new(run, NULL, &timeline, NULL), KINO_OK);
    return timeline;
}

static void add_span(kino__buffer *text, int64_t start_us, int64_t dur_us, unsigned tid)
{
    kino__buffer_printf(text,
                        "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":%u,"
                        "\"ts\":%lld,\"dur\":%lld}",
                        text->size > 1 ? "," : "", tid, (long long)start_us, (long long)dur_us);
}

/* 100 days are 8.64e15 ns, and 1100 times that is more than 2^63. */
TEST(timeline_area_stops_adding_up_at_the_largest_number)
{
    enum { THREADS = 1100 };
    const int64_t days_us = INT64_C(100) * 24 * 3600 * 1000000;
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("["));
    for (unsigned i = 0; i < THREADS; i++)
        add_span(&text, 0, days_us, i);
    kino__buffer_add(&text, KINO__STR("]"));
    kino_run *run = open_texts(&text, 1);
    kino_timeline *timeline = timeline_of(run);
    kino_result *result;
    REQUIRE_EQ(kino_timeline_aggregate(timeline, NULL, &result, NULL), KINO_OK);
    CHECK_STR(analysis_rows(result, "slices", "count,total,self,max,share"),
              "1100,9223372036854775807,9223372036854775807,8640000000000000,100");
    CHECK_STR(analysis_rows(result, "categories", "category,total,share"),
              "cpu_op,9223372036854775807,100");
    kino_result_free(result);
    kino_timeline_free(timeline);
    kino_run_free(run);
    kino__buffer_deinit(&text);
}

/* One name may have any number of categories, and they may come in any order. */
TEST(timeline_area_tells_categories_of_one_name_apart)
{
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("["));
    for (int i = 0; i < 3000; i++)
        kino__buffer_printf(&text,
                            "%s{\"ph\":\"X\",\"cat\":\"c%d\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
                            "\"ts\":%d,\"dur\":1}",
                            i ? "," : "", i % 3, i);
    kino__buffer_add(&text, KINO__STR("]"));
    kino_run *run = open_texts(&text, 1);
    kino_timeline *timeline = timeline_of(run);
    kino_result *result;
    REQUIRE_EQ(kino_timeline_aggregate(timeline, NULL, &result, NULL), KINO_OK);
    CHECK_STR(analysis_rows(result, "slices", "name,category,count,total"),
              "a,c0,1000,1000000;a,c1,1000,1000000;a,c2,1000,1000000");
    CHECK_STR(analysis_rows(result, "categories", "category,count"), "c0,1000;c1,1000;c2,1000");
    kino_result_free(result);
    kino_timeline_free(timeline);
    kino_run_free(run);
    kino__buffer_deinit(&text);
}

/* -- lines -- */

enum { SPANS = 2000, LONGEST = 3000 };

typedef struct span {
    int64_t start, end; /* us */
    unsigned line;
} span;

/* The definition of docs/internals/timeline.md, without any cleverness. */
static void place_spans(span *spans)
{
    for (int i = 0; i < SPANS; i++) {
        unsigned line = 0;
        for (int k = i; k-- > 0;)
            if (spans[k].end > spans[i].start && spans[k].end >= spans[i].end) {
                line = spans[k].line + 1;
                break;
            }
        for (bool is_free = false; !is_free; line += !is_free) {
            is_free = true;
            for (int k = 0; k < i && is_free; k++)
                is_free = spans[k].line != line || spans[k].end <= spans[i].start;
        }
        spans[i].line = line;
    }
}

TEST(tile_puts_spans_that_overlap_on_hundreds_of_lines_where_the_document_says)
{
    static span spans[SPANS];
    kino__buffer text = {0};
    uint32_t random = 12345;
    kino__buffer_add(&text, KINO__STR("["));
    for (int i = 0; i < SPANS; i++) {
        random = random * 1664525 + 1013904223;
        spans[i].start = 2 * i; /* no two at once: the order of rows is that of the file */
        spans[i].end = spans[i].start + 3 + (random >> 8) % (LONGEST >> (random >> 30) * 2);
        add_span(&text, spans[i].start, spans[i].end - spans[i].start, 1);
    }
    kino__buffer_add(&text, KINO__STR("]"));
    place_spans(spans);
    unsigned most = 0;
    for (int i = 0; i < SPANS; i++)
        most = spans[i].line > most ? spans[i].line : most;
    REQUIRE(most > 128); /* or nothing is tested */
    kino_run *run = open_texts(&text, 1);
    kino_timeline *timeline = timeline_of(run);
    kino_result *result;
    for (int i = 0; i < SPANS; i += 7) {
        char want[16];
        (void)snprintf(want, sizeof want, "%u", spans[i].line);
        REQUIRE_EQ(kino_timeline_event(timeline, i, &result, NULL), KINO_OK);
        bool is_right = CHECK_STR(analysis_rows(result, "event", "row"), want);
        kino_result_free(result);
        REQUIRE(is_right);
    }
    kino_timeline_free(timeline);
    kino_run_free(run);
    kino__buffer_deinit(&text);
}

/* -- counters -- */

/* `times` values of `series` series, one a us. */
static kino__buffer counter_text(int times, int series)
{
    kino__buffer text = {0};
    kino__buffer_add(&text, KINO__STR("["));
    for (int i = 0; i < times; i++) {
        kino__buffer_printf(&text, "%s{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":%d,\"args\":{",
                            i ? "," : "", i);
        for (int k = 0; k < series; k++)
            kino__buffer_printf(&text, "%s\"%d\":1", k ? "," : "", k);
        kino__buffer_add(&text, KINO__STR("}}"));
    }
    kino__buffer_add(&text, KINO__STR("]"));
    return text;
}

static bool take_nothing(void *context, const char *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)context = size;
    return true;
}

TEST(tile_of_more_points_than_anybody_could_draw_is_refused)
{
    kino__buffer text = counter_text(16384, 66); /* 1,081,344 points, a pixel each */
    kino_run *run = open_texts(&text, 1);
    kino_timeline *timeline = timeline_of(run);
    size_t size = 0;
    kino_error err = {0};
    CHECK_EQ(kino_timeline_tile(timeline, NULL, 16384, take_nothing, &size, &err), KINO_LIMIT);
    CHECK_STR(err.message, "more than 1048576 slices or points: request fewer tracks or pixels");
    CHECK_EQ(kino_timeline_tile(timeline, NULL, 100, take_nothing, &size, &err), KINO_OK);
    CHECK(size > 0);
    kino_timeline_free(timeline);
    kino_run_free(run);
    kino__buffer_deinit(&text);
}

/* The first half of the work is lines, the second half counters. */
static bool stop_in_second_half(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    (void)what;
    return 2 * done <= total;
}

TEST(timeline_can_be_stopped_while_counters_are_read)
{
    kino__buffer text = counter_text(20000, 1);
    kino_run *run = open_texts(&text, 1);
    kino_timeline_options options = KINO_TIMELINE_OPTIONS_INIT;
    options.progress = stop_in_second_half;
    kino_timeline *timeline;
    kino_error err = {0};
    CHECK_EQ(kino_timeline_new(run, &options, &timeline, &err), KINO_CANCELLED);
    CHECK(timeline == NULL);
    kino_run_free(run);
    kino__buffer_deinit(&text);
}

/* -- parts of a run -- */

TEST(timeline_of_a_part_of_a_run_knows_its_events_by_the_ids_of_the_run)
{
    kino__buffer texts[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        kino__buffer_add(&texts[i], KINO__STR("["));
        add_span(&texts[i], 10, 20 + i, 5);
        kino__buffer_add(&texts[i], KINO__STR("]"));
    }
    kino_run *run = open_texts(texts, 2), *some;
    const uint32_t second = 1;
    REQUIRE_EQ(kino_run_select(run, &second, 1, &some, NULL), KINO_OK);
    kino_timeline *timeline = timeline_of(some);
    kino_result *result;
    REQUIRE_EQ(kino_timeline_event(timeline, INT64_C(1) << 32, &result, NULL), KINO_OK);
    CHECK_STR(analysis_rows(result, "event", "id,trace,track,row,dur"), "4294967296,1,0,0,21000");
    kino_result_free(result);
    CHECK_EQ(kino_timeline_event(timeline, 0, &result, NULL), KINO_NOT_FOUND);
    kino_timeline_free(timeline);
    kino_run_free(some);
    kino_run_free(run);
    for (int i = 0; i < 2; i++)
        kino__buffer_deinit(&texts[i]);
}
