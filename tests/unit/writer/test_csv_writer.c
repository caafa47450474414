/* test_csv_writer.c - fields of CSV, and events as CSV, worked out by hand.
 * (tests/integration/test_csv.py compares with SQL.) */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/csv_out.h"
#include "unit/fixture.h"
#include "unit/test.h"
#include "unit/write_text.h"

static void check_field(kino_str text, const char *want)
{
    kino__buffer out = {0};
    kino__csv_add_text(&out, text);
    CHECK_STR(kino__buffer_str(&out), want);
    kino__buffer_deinit(&out);
}

TEST(csv_quotes_what_a_reader_would_misread)
{
    check_field(KINO__STR("plain text"), "plain text");
    check_field(KINO__STR(""), "\"\"");
    check_field(KINO__STR("a,b"), "\"a,b\"");
    check_field(KINO__STR("say \"no\""), "\"say \"\"no\"\"\"");
    check_field(KINO__STR("\""), "\"\"\"\"");
    check_field(KINO__STR("two\nlines"), "\"two\nlines\"");
    check_field(KINO__STR("cr\r"), "\"cr\r\"");
    check_field(KINO__STR(" a"), "\" a\"");
    check_field(KINO__STR("a "), "\"a \"");
    check_field(KINO__STR("tab\there"), "tab\there");
    check_field(KINO__STR("na\xc3\xafve"), "na\xc3\xafve");
}

TEST(csv_numbers_are_exact_or_missing)
{
    kino__buffer out = {0};
    kino__csv_add_int(&out, INT64_MIN);
    kino__csv_add_double(&out, NAN);
    kino__csv_add_double(&out, INFINITY);
    kino__buffer_add(&out, KINO__STR(","));
    kino__csv_add_double(&out, 0.1);
    CHECK_STR(kino__buffer_str(&out), "-9223372036854775808,0.1");
    kino__buffer_deinit(&out);
}

#define HEADER                                                                                     \
    "id,trace,rank,ph,cat,name,ts,dur,pid,tid,track,depth,parent,step,correlation,external_id,"    \
    "device,stream,args\n"

/* Event 3 has the arguments and stands on event 2; the kernel was launched by 3, in step 5. */
TEST(csv_has_the_columns_of_the_event_table)
{
    kino__trace *trace = FIXTURE(
        {.track = 7, .cat = "kernel", .name = "gemm, fast", .ts = 25, .dur = 6, .bind = 90},
        {.track = 3, .ph = 'M', .name = "thread_name", .ts = KINO_NO_TIME},
        {.track = 3, .cat = "user_annotation", .name = "ProfilerStep#5", .ts = 10, .dur = 30},
        {.track = 3,
         .cat = "cuda_runtime",
         .name = "launch",
         .ts = 12,
         .dur = 2,
         .bind = 90,
         .external = 4,
         .args = "{\"correlation\": 90}"});
    trace->rank = 1;
    kino__buffer text = write_text(&kino__writer_csv, &trace, 1, (kino__write_context){0}, 1, NULL);
    CHECK_STR(kino__buffer_str(&text),
              HEADER "1,0,1,M,,thread_name,,,1,3,0,,,,,,,,\n"
                     "2,0,1,X,user_annotation,ProfilerStep#5,10,30,1,3,0,0,,5,,,,,\n"
                     "3,0,1,X,cuda_runtime,launch,12,2,1,3,0,1,2,5,90,4,,,"
                     "\"{\"\"correlation\"\": 90}\"\n"
                     "0,0,1,X,kernel,\"gemm, fast\",25,6,0,7,1,0,,5,90,,0,7,\n");
    kino__buffer_deinit(&text);
}

/* So many rows that there are several rounds of blocks, over two traces and several threads. Each
 * row's line is known. */
TEST_THREADS(csv_of_many_rows_is_in_order_whatever_the_threads)
{
    enum { COUNT = 50000 };
    fixture_event *events = calloc(COUNT, sizeof *events);
    REQUIRE(events != NULL);
    for (int i = 0; i < COUNT; i++)
        events[i] = (fixture_event){.ph = 'i', .name = "n", .ts = i, .args = "{\"k\": 1}"};
    kino__buffer want = {0};
    kino__buffer_add(&want, KINO__STR(HEADER));
    for (int64_t trace = 0; trace < 2; trace++)
        for (int64_t i = 0; i < COUNT; i++)
            kino__buffer_printf(&want,
                                "%" PRId64 ",%" PRId64 ",,i,,n,%" PRId64 ",,1,0,%" PRId64
                                ",0,,,,,,,\"{\"\"k\"\": 1}\"\n",
                                trace << 32 | i, trace, i, trace << 32);
    for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
        kino__trace *traces[2] = {fixture_new(events, COUNT), fixture_new(events, COUNT)};
        kino__buffer text =
            write_text(&kino__writer_csv, traces, 2, (kino__write_context){0}, jobs, NULL);
        CHECK_EQ(text.size, want.size);
        CHECK(kino__str_equal(kino__buffer_str(&text), kino__buffer_str(&want)));
        kino__buffer_deinit(&text);
    }
    kino__buffer_deinit(&want);
    free(events);
}

static bool stop(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context, (void)what, (void)total;
    return done == 0;
}

TEST_THREADS(csv_can_be_stopped)
{
    enum { COUNT = 100000 };
    fixture_event *events = calloc(COUNT, sizeof *events);
    REQUIRE(events != NULL);
    kino__trace *trace = fixture_new(events, COUNT);
    kino__progress progress;
    kino__progress_init(&progress, stop, NULL);
    kino_status st = KINO_OK;
    kino__buffer text = write_text(&kino__writer_csv, &trace, 1,
                                   (kino__write_context){.progress = &progress}, 2, &st);
    CHECK_EQ(st, KINO_CANCELLED);
    kino__buffer_deinit(&text);
    free(events);
}
