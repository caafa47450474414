/* test_trace.c - looking things up in a loaded trace. */
#include <stdlib.h>

#include "base/str.h"
#include "store/trace.h"
#include "unit/fixture.h"
#include "unit/test.h"

TEST(the_track_of_a_row_is_found)
{
    kino__trace *trace =
        FIXTURE({.track = 1, .cat = "cpu_op", .ts = 1}, {.track = 1, .cat = "cpu_op", .ts = 2},
                {.track = 5, .cat = "cpu_op", .ts = 1}, {.track = 9, .cat = "kernel", .ts = 1},
                {.track = 9, .cat = "kernel", .ts = 7}, {.track = 9, .cat = "kernel", .ts = 8});
    static const uint32_t want[] = {0, 0, 1, 2, 2, 2};
    for (uint32_t row = 0; row < 6; row++)
        CHECK_EQ(kino__trace_track_of(trace, row), want[row]);
    kino__trace_free(trace);
}

TEST(odd_entries_are_found_by_number_and_kind)
{
    kino__trace *trace;
    REQUIRE_EQ(kino__trace_new(&trace, NULL), KINO_OK);
    static const kino__odd list[] = {{2, KINO__ODD_TEXT, 10, 1},
                                     {2, KINO__ODD_WIDE_BIND, 20, 0},
                                     {5, KINO__ODD_END, 30, 2},
                                     {9, KINO__ODD_TEXT, 40, 0},
                                     {9, KINO__ODD_WIDE_EXTERNAL, 50, 0}};
    enum { COUNT = sizeof list / sizeof *list };
    for (int i = 0; i < COUNT; i++) {
        kino__odd *slot = kino__vec_add(&trace->odd);
        REQUIRE(slot != NULL);
        *slot = list[i];
    }
    for (uint32_t number = 0; number < 12; number++)
        for (int kind = KINO__ODD_TEXT; kind <= KINO__ODD_WIDE_EXTERNAL; kind++) {
            const kino__odd *want = NULL; /* by looking at all */
            for (int i = 0; i < COUNT; i++)
                if (list[i].number == number && list[i].kind == (uint32_t)kind)
                    want = &list[i];
            const kino__odd *got = kino__trace_odd(trace, number, (kino__odd_kind)kind);
            CHECK_EQ(got != NULL, want != NULL);
            if (got && want)
                CHECK_EQ(got->a, want->a);
        }
    kino__trace_free(trace);
}

TEST(numbers_are_absent_narrow_or_wide)
{
    kino__trace *trace =
        FIXTURE({.track = 1, .ts = 1, .bind = 7, .external = 8}, {.track = 1, .ts = 2},
                {.track = 1, .ts = 3, .bind = INT64_C(1) << 40, .external = -5},
                {.track = 1, .ts = 4, .ph = 's', .bind = 9});
    CHECK_EQ(kino__trace_correlation(trace, 0), 7);
    CHECK_EQ(kino__trace_external(trace, 0), 8);
    CHECK_EQ(kino__trace_correlation(trace, 1), KINO_NO_INT);
    CHECK_EQ(kino__trace_external(trace, 1), KINO_NO_INT);
    CHECK_EQ(kino__trace_correlation(trace, 2), INT64_C(1) << 40);
    CHECK_EQ(kino__trace_external(trace, 2), -5);
    /* a flow has an id, a span a correlation */
    CHECK_EQ(kino__trace_correlation(trace, 3), KINO_NO_INT);
    CHECK_EQ(kino__trace_bind_id(trace, 3), 9);
    CHECK_EQ(kino__trace_bind_id(trace, 0), KINO_NO_INT);
    kino__trace_free(trace);
}

TEST(file_order_is_by_number)
{
    kino__trace *trace = FIXTURE({.track = 9, .ts = 1}, {.track = 1, .ts = 5},
                                 {.track = 9, .ts = 0}, {.track = 1, .ts = 2});
    uint32_t *rows = kino__trace_file_order_new(trace);
    REQUIRE(rows != NULL);
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ(trace->number[rows[i]], i);
    free(rows);
    kino__trace_free(trace);
}

TEST(the_last_of_two_top_level_keys_counts)
{
    kino__trace *trace;
    REQUIRE_EQ(kino__trace_new(&trace, NULL), KINO_OK);
    static const kino__metadata list[] = {
        {{"a", 1}, {"1", 1}}, {{"b", 1}, {"2", 1}}, {{"a", 1}, {"3", 1}}};
    for (int i = 0; i < 3; i++) {
        kino__metadata *slot = kino__vec_add(&trace->metadata);
        REQUIRE(slot != NULL);
        *slot = list[i];
    }
    CHECK_STR(kino__trace_metadata(trace, "a"), "3");
    CHECK_STR(kino__trace_metadata(trace, "b"), "2");
    CHECK_STR(kino__trace_metadata(trace, "c"), "");
    kino__trace_free(trace);
}
