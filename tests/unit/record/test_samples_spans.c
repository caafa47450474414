/* test_samples_spans.c - samples merged into spans; all expected spans are drawn by hand. */
#include "record/samples_spans.h"
#include "unit/test.h"

enum { MAIN = 1, F = 2, G = 3, MS = 1000 }; /* a "millisecond" of 1000 ns; the period is one */

static KINO__VEC(kino__sample_span) got;
static kino__sample_spans spans;

static void take(void *context, const kino__sample_span *span)
{
    (void)context;
    kino__sample_span *slot = kino__vec_add(&got);
    REQUIRE(slot != NULL);
    *slot = *span;
}

static void begin(bool has_switches)
{
    got.count = 0;
    kino__sample_spans_init(&spans, MS, has_switches, take, NULL);
}

static void sample(int64_t time_ns, uint32_t leaf, uint32_t line)
{
    const kino__symbol_frame frames[] = {{MAIN, 7}, {leaf, line}};
    kino__sample_spans_add(&spans, time_ns, frames, leaf ? 2 : 1);
}

static void finish(void)
{
    kino__sample_spans_finish(&spans);
    kino__sample_spans_deinit(&spans);
}

static void check(size_t i, uint32_t function, int64_t start, int64_t end, uint64_t samples)
{
    if (!CHECK(i < got.count))
        return;
    CHECK_EQ(got.items[i].function, function);
    CHECK_EQ(got.items[i].start_ns, start);
    CHECK_EQ(got.items[i].end_ns, end);
    CHECK_EQ(got.items[i].samples, samples);
}

static void done(size_t count)
{
    CHECK_EQ(got.count, count);
    kino__vec_deinit(&got);
}

TEST(samples_with_equal_frames_are_one_span)
{
    begin(true);
    kino__sample_spans_run(&spans, 0);
    sample(1 * MS, F, 10);
    sample(2 * MS, F, 12);
    sample(3 * MS, F, 12);
    sample(4 * MS, G, 20);
    finish();
    check(0, F, 0, 3 * MS, 3);
    check(1, MAIN, 0, 4 * MS, 4); /* of those that end together the outer one first */
    check(2, G, 3 * MS, 4 * MS, 1);
    CHECK_EQ(got.items[0].line, 12); /* two samples against one */
    CHECK_EQ(got.items[1].line, 7);
    done(3);
}

TEST(samples_do_not_bridge_time_off_the_processor)
{
    begin(true);
    kino__sample_spans_run(&spans, 0);
    sample(1 * MS, F, 1);
    kino__sample_spans_leave(&spans, 1400); /* 400 ns that wait for their sample */
    kino__sample_spans_run(&spans, 9000);
    sample(9600, F, 1); /* 400 + 600 ns of CPU time since the last one */
    finish();
    check(0, MAIN, 0, 1400, 1); /* the first stretch goes on seamlessly */
    check(1, F, 0, 1400, 1);
    check(2, MAIN, 9000, 9600, 1);
    check(3, F, 9000, 9600, 1);
    done(4);
}

TEST(samples_of_other_frames_take_the_stretches_before_them)
{
    begin(true);
    kino__sample_spans_run(&spans, 0);
    kino__sample_spans_leave(&spans, 300);
    kino__sample_spans_run(&spans, 5000);
    kino__sample_spans_leave(&spans, 5300);
    kino__sample_spans_run(&spans, 7000);
    sample(7400, 0, 0);
    finish();
    check(0, MAIN, 0, 300, 0);
    check(1, MAIN, 5000, 5300, 0);
    check(2, MAIN, 7000, 7400, 1);
    done(3);
}

TEST(samples_stand_for_one_period_at_most)
{
    /* Nothing was sampled for five periods: time in the kernel that may not be seen. */
    begin(true);
    kino__sample_spans_run(&spans, 0);
    kino__sample_spans_leave(&spans, 4500);
    kino__sample_spans_run(&spans, 6000);
    sample(6200, 0, 0); /* 200 ns here, so 800 ns of the stretch before */
    finish();
    check(0, MAIN, 3700, 4500, 0);
    check(1, MAIN, 6000, 6200, 1);
    done(2);
}

TEST(samples_forgive_a_late_timer)
{
    begin(true);
    kino__sample_spans_run(&spans, 0);
    sample(1000, F, 1);
    sample(2400, F, 1); /* up to one period and a half is still the same */
    sample(4000, F, 1); /* 1600 is too long: the first 600 belong to nobody */
    finish();
    check(0, MAIN, 0, 2400, 2);
    check(1, F, 0, 2400, 2);
    check(2, MAIN, 3000, 4000, 1);
    check(3, F, 3000, 4000, 1);
    done(4);
}

TEST(samples_without_switches_end_at_gaps)
{
    begin(false);
    sample(1000, F, 1); /* nothing before: one period */
    sample(2000, F, 1);
    sample(5000, F, 1);
    finish();
    check(0, MAIN, 0, 2000, 2);
    check(1, F, 0, 2000, 2);
    check(2, MAIN, 4000, 5000, 1);
    check(3, F, 4000, 5000, 1);
    done(4);
}

TEST(samples_of_recursion_are_told_apart_by_depth)
{
    const kino__symbol_frame two[] = {{F, 0}, {F, 0}}, one[] = {{F, 0}};
    begin(false);
    kino__sample_spans_add(&spans, 1000, two, 2);
    kino__sample_spans_add(&spans, 2000, one, 1);
    kino__sample_spans_add(&spans, 3000, two, 2);
    finish();
    check(0, F, 0, 1000, 1);
    check(1, F, 0, 3000, 3);
    check(2, F, 2000, 3000, 1);
    done(3);
}

TEST(samples_after_a_hole_start_anew)
{
    begin(true);
    kino__sample_spans_run(&spans, 0);
    sample(1000, F, 1);
    kino__sample_spans_leave(&spans, 1500);
    kino__sample_spans_forget(&spans);
    kino__sample_spans_run(&spans, 9000);
    sample(9500, F, 1);
    finish();
    check(0, MAIN, 0, 1000, 1);
    check(1, F, 0, 1000, 1);
    check(2, MAIN, 9000, 9500, 1);
    check(3, F, 9000, 9500, 1);
    done(4);
}

TEST(samples_of_very_many_stretches_keep_the_newest)
{
    begin(true);
    for (int64_t i = 0; i < 10000; i++) {
        kino__sample_spans_run(&spans, 10 * i);
        kino__sample_spans_leave(&spans, 10 * i + 1); /* one ns each */
    }
    kino__sample_spans_run(&spans, 100000);
    sample(100001, 0, 0);
    finish();
    /* One period is 1000 ns of CPU time: the sample's own and the 999 before it. */
    REQUIRE_EQ(got.count, 1000);
    check(0, MAIN, 10 * 9001, 10 * 9001 + 1, 0);
    check(999, MAIN, 100000, 100001, 1);
    done(1000);
}

TEST(samples_line_is_that_of_most_samples)
{
    static const uint32_t lines[] = {1, 2, 3, 4, 5, 9, 9, 6, 9, 9, 7, 9, 8, 9};
    begin(false);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        sample((int64_t)(i + 1) * MS, F, lines[i]);
    finish();
    REQUIRE_EQ(got.count, 2);
    CHECK_EQ(got.items[1].line, 9);
    done(2);
}
