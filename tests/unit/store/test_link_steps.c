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

TEST(steps_do_not_hold_device_work_that_was_launched_before_the_recording)
{
    kino__trace *trace =
        FIXTURE({.cat = "user_annotation", .name = "ProfilerStep#1", .ts = 0, .dur = 100},
                {.cat = "user_annotation", .name = "ProfilerStep#2", .ts = 100, .dur = 100},
                {.cat = "cuda_runtime", .ts = 10, .dur = 2, .bind = 1},         /* 2 */
                {.cat = "cuda_runtime", .ts = 110, .dur = 2, .bind = 2},        /* 3 */
                {.cat = "kernel", .track = 7, .ts = 5, .dur = 60, .bind = 8},   /* 4: before */
                {.cat = "kernel", .track = 8, .ts = 105, .dur = 10, .bind = 9}, /* 5: before, too */
                {.cat = "kernel", .track = 7, .ts = 120, .dur = 10, .bind = 1}, /* 6: by launch */
                {.cat = "kernel", .track = 8, .ts = 121, .dur = 10, .bind = 7}, /* 7: by start */
                {.cat = "kernel", .track = 7, .ts = 130, .dur = 10, .bind = 2}, /* 8 */
                {.cat = "cpu_op", .track = 1, .ts = 6, .dur = 5});              /* 9: of the host */
    static const int64_t want[] = {1, 2, 1, 2, -1, -1, 1, 2, 2, 1};
    for (uint32_t i = 0; i < 10; i++)
        CHECK_EQ(step_of(trace, i), want[i]);
    kino__step_map map;
    REQUIRE(kino__step_map_init(&map, trace));
    CHECK_EQ(fixture_number(trace, map.first_kernel), 6);
    kino__step_map_deinit(&map);
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

/* -- without marks: iterations */

TEST(steps_without_marks_are_from_the_end_of_one_optimizer_step_to_the_next)
{
    kino__trace *trace = FIXTURE(
        {.cat = "cpu_op", .ts = 5, .dur = 5}, /* 0: of an iteration that began before */
        {.cat = "user_annotation", .name = "Optimizer.step#SGD.step", .ts = 10, .dur = 10},
        {.cat = "cpu_op", .ts = 30, .dur = 5}, /* 2 */
        {.cat = "user_annotation", .name = "Optimizer.step#SGD.step", .ts = 110, .dur = 20},
        {.cat = "cpu_op", .track = 1, .ts = 130, .dur = 5}, /* 4 */
        {.cat = "user_annotation", .name = "Optimizer.step#SGD.step", .ts = 200, .dur = 10},
        {.cat = "cpu_op", .ts = 220, .dur = 5}, /* 6: of one that is not complete */
        {.cat = "user_annotation", .name = "DistributedDataParallel.forward", .ts = 30, .dur = 5},
        {.cat = "gpu_user_annotation",
         .name = "Optimizer.step#SGD.step",
         .track = 7,
         .ts = 115,
         .dur = 90});
    static const int64_t want[] = {-1, -1, 0, 0, 1, 1, -1, 0};
    const kino__steps *steps = kino__link_steps(trace);
    REQUIRE(steps != NULL);
    REQUIRE_EQ(steps->count, 2);
    CHECK_EQ(steps->items[0].ts, 20);
    CHECK_EQ(steps->items[0].dur, 110);
    CHECK_EQ(steps->items[1].ts, 130);
    CHECK_EQ(steps->items[1].dur, 80);
    CHECK_EQ(fixture_number(trace, steps->items[1].row), 5);
    CHECK_EQ(steps->items[0].source, KINO__STEP_OPTIMIZER);
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(step_of(trace, i), want[i]);
    kino__trace_free(trace);
}

TEST(steps_by_iterations_begin_with_the_recording_when_it_began_with_a_step)
{
    kino__trace *trace =
        FIXTURE({.cat = "cpu_op", .ts = 5, .dur = 5},
                {.cat = "user_annotation", .name = "Optimizer.step#SGD.step", .ts = 10, .dur = 10});
    kino__step_list steps = {0};
    REQUIRE(kino__trace_find_steps(trace, &steps));
    CHECK_EQ(steps.count, 0);
    trace->begins_with_step = true;
    REQUIRE(kino__trace_find_steps(trace, &steps));
    REQUIRE_EQ(steps.count, 1);
    CHECK_EQ(steps.items[0].ts, 5);
    CHECK_EQ(steps.items[0].dur, 15);
    kino__vec_deinit(&steps);
    kino__trace_free(trace);
}

/* A wrapped optimizer is inside of the other; of two that take turns one is enough; without any the
 * data loader says where an iteration begins, and then the forward pass. */
TEST(steps_by_iterations_are_as_many_as_there_are_iterations)
{
    kino__trace *trace = FIXTURE(
        {.cat = "user_annotation", .name = "Optimizer.step#Outer.step", .ts = 0, .dur = 10},
        {.cat = "user_annotation", .name = "Optimizer.step#Adam.step", .ts = 1, .dur = 5},
        {.cat = "user_annotation", .name = "Optimizer.step#D.step", .ts = 20, .dur = 5},
        {.cat = "user_annotation", .name = "Optimizer.step#D.step", .ts = 30, .dur = 5},
        {.cat = "user_annotation", .name = "Optimizer.step#Outer.step", .ts = 50, .dur = 10},
        {.cat = "user_annotation", .name = "Optimizer.step#Adam.step", .ts = 51, .dur = 5},
        {.cat = "user_annotation", .name = "Optimizer.step#D.step", .ts = 70, .dur = 5});
    const kino__steps *steps = kino__link_steps(trace);
    REQUIRE(steps && steps->count == 1);
    CHECK_EQ(steps->items[0].ts, 10);
    CHECK_EQ(steps->items[0].dur, 50);
    kino__trace_free(trace);
    trace =
        FIXTURE({.cat = "user_annotation", .name = "enumerate(DataLoader)#X", .ts = 0, .dur = 5},
                {.cat = "user_annotation", .name = "Optimizer.step#D.step", .ts = 20, .dur = 5},
                {.cat = "user_annotation", .name = "enumerate(DataLoader)#X", .ts = 40, .dur = 5},
                {.cat = "user_annotation", .name = "enumerate(DataLoader)#X", .ts = 70, .dur = 5});
    steps = kino__link_steps(trace);
    REQUIRE(steps && steps->count == 2);
    CHECK_EQ(steps->items[0].ts, 0);
    CHECK_EQ(steps->items[0].dur, 40);
    CHECK_EQ(steps->items[1].dur, 30);
    CHECK_EQ(steps->items[1].source, KINO__STEP_LOADER);
    kino__trace_free(trace);
    trace = FIXTURE(
        {.cat = "user_annotation", .name = "DistributedDataParallel.forward", .ts = 3, .dur = 5},
        {.cat = "user_annotation", .name = "DistributedDataParallel.forward", .ts = 33, .dur = 5});
    steps = kino__link_steps(trace);
    REQUIRE(steps && steps->count == 1);
    CHECK_EQ(steps->items[0].dur, 30);
    CHECK_EQ(steps->items[0].source, KINO__STEP_FORWARD);
    kino__trace_free(trace);
}
