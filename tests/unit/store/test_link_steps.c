/* test_link_steps.c - steps, and the step each event belongs to. */
#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

static int64_t step_of(const kino__trace *trace, uint32_t number)
{
    const kino__steps *steps = kino__link_steps(trace);
    uint32_t i = steps->of_row[fixture_row(trace, number)];
    return i == KINO_NO_ROW ? -1 : steps->items[i].number;
}

TEST(steps_are_the_host_spans_with_that_name_in_order_of_start)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "ProfilerStep#8", .ts = 200, .dur = 100},
        {.cat = "Operator", .name = "ProfilerStep#7", .ts = 100, .dur = 90},
        {.cat = "gpu_user_annotation", .name = "ProfilerStep#7", .track = 7, .ts = 120, .dur = 90},
        {.cat = "user_annotation", .name = "ProfilerStep#x", .ts = 400, .dur = 5},
        {.cat = "user_annotation", .name = "ProfilerStep#", .ts = 410, .dur = 5},
        {.ph = 'i', .cat = "user_annotation", .name = "ProfilerStep#9", .ts = 420});
    const kino__steps *steps = kino__link_steps(trace);
    REQUIRE(steps != NULL);
    REQUIRE_EQ(steps->count, 2);
    CHECK_EQ(steps->items[0].number, 7);
    CHECK_EQ(steps->items[0].ts, 100);
    CHECK_EQ(steps->items[0].dur, 90);
    CHECK_EQ(fixture_number(trace, steps->items[0].row), 1);
    CHECK_EQ(steps->items[1].number, 8);
    CHECK_EQ(fixture_number(trace, steps->items[1].row), 0);
    kino__trace_free(trace);
}

TEST(steps_hold_host_events_by_start_and_device_work_by_its_launch)
{
    kino__trace *trace =
        FIXTURE({.cat = "user_annotation", .name = "ProfilerStep#1", .ts = 0, .dur = 100},
                {.cat = "user_annotation", .name = "ProfilerStep#2", .ts = 100, .dur = 100},
                {.cat = "cuda_runtime", .ts = 95, .dur = 2, .bind = 1},         /* 2 */
                {.cat = "kernel", .track = 7, .ts = 150, .dur = 10, .bind = 1}, /* 3: by launch */
                {.cat = "kernel", .track = 7, .ts = 160, .dur = 10, .bind = 9}, /* 4: by start */
                {.cat = "cpu_op", .track = 1, .ts = 99, .dur = 50},             /* 5 */
                {.cat = "cpu_op", .track = 1, .ts = 100, .dur = 5},             /* 6 */
                {.cat = "cpu_op", .track = 1, .ts = 200, .dur = 5},             /* 7: behind */
                {.ph = 'M', .name = "thread_name", .track = 1, .ts = KINO_NO_TIME}, /* 8 */
                {.cat = "cpu_op", .track = 1, .ts = -5, .dur = 50});                /* 9: before */
    static const int64_t want[] = {1, 2, 1, 1, 2, 1, 2, -1, -1, -1};
    for (uint32_t i = 0; i < 10; i++)
        CHECK_EQ(step_of(trace, i), want[i]);
    kino__trace_free(trace);
}

TEST(steps_agree_with_their_definition_when_they_overlap)
{
    fixture_random random = {5};
    fixture_event events[20];
    static const char *const names[] = {"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "op",
                                        "op"};
    for (int round = 0; round < 2000; round++) {
        uint32_t count = 1 + fixture_random_below(&random, 20);
        for (uint32_t i = 0; i < count; i++)
            events[i] = (fixture_event){.cat = "cpu_op",
                                        .name = names[fixture_random_below(&random, 5)],
                                        .track = fixture_random_below(&random, 3),
                                        .ts = fixture_random_below(&random, 40),
                                        .dur = fixture_random_below(&random, 20)};
        kino__trace *trace = fixture_new(events, count);
        const kino__steps *steps = kino__link_steps(trace);
        REQUIRE(steps != NULL);
        bool ok = true;
        for (uint32_t row = 0; row < count; row++) {
            uint32_t want = KINO_NO_ROW;
            for (uint32_t i = 0; i < steps->count;
                 i++) /* in order of start: the last one that holds it */
                if (steps->items[i].ts <= trace->ts[row] &&
                    trace->ts[row] < steps->items[i].ts + steps->items[i].dur)
                    want = i;
            ok = CHECK_EQ(steps->of_row[row], want) && ok;
        }
        for (uint32_t i = 1; i < steps->count; i++)
            ok = CHECK(steps->items[i - 1].ts <= steps->items[i].ts) && ok;
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}
