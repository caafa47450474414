/* test_link_launch.c - calls and device work joined by correlation or flow; ops by external id or
 * nesting. */
#include "store/link.h"
#include "unit/fixture.h"
#include "unit/test.h"

#define OP(...)                                                                                    \
    {                                                                                              \
        .cat = "cpu_op", __VA_ARGS__                                                               \
    }
#define CALL(...)                                                                                  \
    {                                                                                              \
        .cat = "cuda_runtime", __VA_ARGS__                                                         \
    }
#define KERNEL(...)                                                                                \
    {                                                                                              \
        .cat = "kernel", .track = 7, __VA_ARGS__                                                   \
    }

static int64_t at(const kino__trace *trace, const uint32_t *column, uint32_t number)
{
    REQUIRE(column != NULL);
    return fixture_number(trace, column[fixture_row(trace, number)]);
}

TEST(launch_joins_work_and_call_by_correlation_both_ways)
{
    kino__trace *trace =
        FIXTURE(CALL(.ts = 10, .dur = 5, .bind = 90), KERNEL(.ts = 20, .dur = 5, .bind = 90),
                CALL(.ts = 16, .dur = 1, .bind = 91), KERNEL(.ts = 30, .dur = 5, .bind = 92),
                CALL(.ts = 18, .dur = 1), OP(.ts = 0, .dur = 50, .bind = 90));
    const uint32_t *launch = kino__link_launch(trace);
    static const int64_t want[] = {1, 0, -1, -1, -1, -1};
    for (uint32_t i = 0; i < 6; i++)
        CHECK_EQ(at(trace, launch, i), want[i]);
    kino__trace_free(trace);
}

TEST(launch_of_a_graph_has_many_kernels_and_points_to_the_earliest)
{
    kino__trace *trace =
        FIXTURE(KERNEL(.ts = 40, .dur = 5, .bind = 5), KERNEL(.ts = 30, .dur = 5, .bind = 5),
                {.cat = "kernel", .track = 8, .ts = 35, .dur = 1, .bind = 5},
                CALL(.ts = 10, .dur = 2, .bind = 5),
                {.cat = "cuda_sync", .track = 9, .ts = 20, .dur = 50, .bind = 5});
    const uint32_t *launch = kino__link_launch(trace);
    static const int64_t want[] = {3, 3, 3, 1,
                                   3}; /* the sync record is earlier, but activities go first */
    for (uint32_t i = 0; i < 5; i++)
        CHECK_EQ(at(trace, launch, i), want[i]);
    kino__trace_free(trace);
}

TEST(launch_prefers_the_runtime_call_to_the_driver_call_with_its_id)
{
    kino__trace *trace =
        FIXTURE({.cat = "cuda_driver", .ts = 5, .dur = 20, .bind = 1},
                CALL(.ts = 10, .dur = 5, .bind = 1), KERNEL(.ts = 20, .dur = 5, .bind = 1));
    const uint32_t *launch = kino__link_launch(trace);
    CHECK_EQ(at(trace, launch, 2), 1);
    CHECK_EQ(at(trace, launch, 1), 2);
    CHECK_EQ(at(trace, launch, 0), 2);
    kino__trace_free(trace);
}

TEST(launch_takes_wide_ids_and_no_zero_or_negative_ones)
{
    int64_t wide = (int64_t)1 << 40;
    kino__trace *trace =
        FIXTURE(CALL(.ts = 10, .dur = 5, .bind = wide), KERNEL(.ts = 20, .dur = 5, .bind = wide),
                CALL(.ts = 11, .dur = 1, .bind = -1), KERNEL(.ts = 21, .dur = 5, .bind = -1));
    const uint32_t *launch = kino__link_launch(trace);
    CHECK_EQ(at(trace, launch, 1), 0);
    CHECK_EQ(at(trace, launch, 0), 1);
    CHECK_EQ(at(trace, launch, 3), -1);
    kino__trace_free(trace);
}

TEST(launch_of_work_without_correlation_follows_the_flow)
{
    kino__trace *trace = FIXTURE(
        {.cat = "Runtime", .ts = 10, .dur = 5}, {.cat = "Kernel", .track = 7, .ts = 20, .dur = 5},
        {.ph = 's', .cat = "async", .name = "launch", .ts = 10, .bind = 3},
        {.ph = 'f', .cat = "async", .name = "launch", .track = 7, .ts = 20, .bind = 3, .bp = true},
        {.cat = "Runtime", .ts = 16, .dur = 1}, {.cat = "Kernel", .track = 7, .ts = 30, .dur = 5});
    const uint32_t *launch = kino__link_launch(trace);
    CHECK_EQ(at(trace, launch, 1), 0);
    CHECK_EQ(at(trace, launch, 0), 1);
    CHECK_EQ(at(trace, launch, 5), -1);
    kino__trace_free(trace);
}

TEST(launch_agrees_with_its_definition_on_random_traces)
{
    static const char *const cats[] = {"cuda_runtime", "cuda_driver", "kernel",
                                       "gpu_memcpy",   "cuda_sync",   "cpu_op"};
    fixture_random random = {3};
    fixture_event events[24];
    for (int round = 0; round < 2000; round++) {
        uint32_t count = 1 + fixture_random_below(&random, 24);
        for (uint32_t i = 0; i < count; i++) /* times are distinct, so that "earliest" is one */
            events[i] = (fixture_event){.cat = cats[fixture_random_below(&random, 6)],
                                        .track = fixture_random_below(&random, 3),
                                        .ts = (int64_t)fixture_random_below(&random, 100) * 100 + i,
                                        .dur = 1,
                                        .bind = fixture_random_below(&random, 6)};
        kino__trace *trace = fixture_new(events, count);
        const uint32_t *launch = kino__link_launch(trace);
        bool ok = true;
        for (uint32_t i = 0; i < count; i++) {
            bool is_call = events[i].cat == cats[0] || events[i].cat == cats[1];
            int64_t best = -1;
            for (uint32_t j = 0; j < count && events[i].bind && events[i].cat != cats[5]; j++) {
                bool is_call_too = events[j].cat == cats[0] || events[j].cat == cats[1];
                if (events[j].bind != events[i].bind || is_call == is_call_too ||
                    events[j].cat == cats[5])
                    continue;
                const char *second = is_call ? cats[4] : cats[1];
                bool is_second = events[j].cat == second;
                bool was_second = best >= 0 && events[best].cat == second;
                if (best < 0 || (was_second && !is_second) ||
                    (was_second == is_second && events[j].ts < events[best].ts))
                    best = j;
            }
            ok = CHECK_EQ(at(trace, launch, i), best) && ok;
        }
        kino__trace_free(trace);
        if (!ok)
            break;
    }
}

TEST(op_is_the_one_with_the_external_id_before_the_one_around_the_call)
{
    kino__trace *trace =
        FIXTURE(OP(.ts = 0, .dur = 100, .external = 5), /* 0 */
                OP(.ts = 10, .dur = 50),                /* 1: around the call */
                CALL(.ts = 20, .dur = 5, .bind = 1, .external = 5),
                KERNEL(.ts = 200, .dur = 5, .bind = 1, .external = 5),
                CALL(.ts = 30, .dur = 5, .bind = 2),                     /* 4: no id */
                KERNEL(.ts = 210, .dur = 5, .bind = 2),                  /* 5: by its call */
                KERNEL(.ts = 220, .dur = 5, .bind = 3),                  /* 6: nothing known */
                KERNEL(.ts = 230, .dur = 5, .bind = 1, .external = 77)); /* 7: unknown id */
    const uint32_t *op = kino__link_op(trace);
    static const int64_t want[] = {-1, -1, 0, 0, 1, 1, -1, 0};
    for (uint32_t i = 0; i < 8; i++)
        CHECK_EQ(at(trace, op, i), want[i]);
    kino__trace_free(trace);
}

TEST(op_with_an_id_goes_before_an_annotation_with_it)
{
    kino__trace *trace =
        FIXTURE({.cat = "user_annotation", .ts = 0, .dur = 100, .external = 5},
                OP(.ts = 10, .dur = 50, .external = 5), KERNEL(.ts = 200, .dur = 5, .external = 5),
                {.cat = "user_annotation", .ts = 0, .dur = 90, .external = 6},
                KERNEL(.ts = 210, .dur = 5, .external = 6));
    const uint32_t *op = kino__link_op(trace);
    CHECK_EQ(at(trace, op, 2), 1);
    CHECK_EQ(at(trace, op, 4), 3);
    kino__trace_free(trace);
}

TEST(op_around_a_call_is_found_through_spans_that_are_no_ops)
{
    kino__trace *trace =
        FIXTURE(OP(.ts = 0, .dur = 100), {.cat = "python_function", .ts = 1, .dur = 90},
                {.cat = "cuda_driver", .ts = 2, .dur = 80}, CALL(.ts = 3, .dur = 2, .bind = 4),
                KERNEL(.ts = 50, .dur = 1, .bind = 4));
    const uint32_t *op = kino__link_op(trace);
    static const int64_t want[] = {-1, -1, 0, 0, 0};
    for (uint32_t i = 0; i < 5; i++)
        CHECK_EQ(at(trace, op, i), want[i]);
    kino__trace_free(trace);
}
