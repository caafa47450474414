/* test_interval.c - interval algebra against sets of single nanoseconds. */
#include <string.h>

#include "store/interval.h"
#include "unit/failing_allocator.h"
#include "unit/fixture.h"
#include "unit/test.h"

enum { TIMES = 48 };

/* A set of times as bits: the slow and obvious form. */
static uint64_t bits_of(const kino__interval *items, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        for (int64_t t = items[i].start; t < items[i].end; t++)
            bits |= (uint64_t)1 << t;
    return bits;
}

static bool is_normal(const kino__intervals *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].end <= list->items[i].start ||
            (i && list->items[i].start <= list->items[i - 1].end))
            return false;
    return true;
}

static kino__intervals random_list(fixture_random *random, uint64_t *bits)
{
    kino__intervals list = {0};
    uint32_t count = fixture_random_below(random, 9);
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = fixture_random_below(random, TIMES - 8);
        kino__interval *slot = kino__vec_add(&list);
        REQUIRE(slot != NULL);
        *slot = (kino__interval){start, start + fixture_random_below(random, 9) - 1};
    }
    *bits = bits_of(list.items, list.count);
    kino__intervals_sort(list.items, list.count);
    list.count = kino__intervals_unite(list.items, list.count);
    return list;
}

TEST(intervals_unite_joins_what_overlaps_or_touches_and_drops_what_is_empty)
{
    kino__interval items[] = {{0, 5}, {3, 4}, {5, 7}, {8, 8}, {9, 6}, {9, 12}, {11, 20}};
    REQUIRE_EQ(kino__intervals_unite(items, 7), 2);
    CHECK_EQ(items[0].start, 0);
    CHECK_EQ(items[0].end, 7);
    CHECK_EQ(items[1].start, 9);
    CHECK_EQ(items[1].end, 20);
    CHECK_EQ(kino__intervals_total(items, 2), 18);
}

TEST(intervals_behave_like_sets_of_time)
{
    fixture_random random = {7};
    kino__intervals out = {0};
    for (int round = 0; round < 3000; round++) {
        uint64_t x, y;
        kino__intervals a = random_list(&random, &x), b = random_list(&random, &y);
        CHECK(is_normal(&a));
        CHECK_EQ(bits_of(a.items, a.count), x);
        CHECK_EQ(kino__intervals_total(a.items, a.count), __builtin_popcountll(x));
        REQUIRE(kino__intervals_union(&a, &b, &out));
        CHECK_EQ(bits_of(out.items, out.count), x | y);
        CHECK(is_normal(&out));
        REQUIRE(kino__intervals_intersect(&a, &b, &out));
        CHECK_EQ(bits_of(out.items, out.count), x & y);
        CHECK(is_normal(&out));
        REQUIRE(kino__intervals_subtract(&a, &b, &out));
        bool ok = CHECK_EQ(bits_of(out.items, out.count), x & ~y);
        ok = CHECK(is_normal(&out)) && ok;
        kino__vec_deinit(&a);
        kino__vec_deinit(&b);
        if (!ok)
            break;
    }
    kino__vec_deinit(&out);
}

TEST(intervals_at_the_ends_of_time_saturate)
{
    kino__interval late = kino__interval_of(INT64_MAX - 3, 10);
    CHECK_EQ(late.end, INT64_MAX);
    CHECK_EQ(kino__interval_of(5, -2).end, 5);
    CHECK_EQ(kino__interval_of(5, KINO_NO_TIME).end, 5);
    kino__interval all[] = {{INT64_MIN, 0}, {1, INT64_MAX}};
    CHECK_EQ(kino__intervals_total(all, 2), INT64_MAX);
}

TEST(intervals_are_empty_when_memory_is_out)
{
    failing_allocator failing;
    failing_allocator_init(&failing, 0);
    kino__interval x[] = {{0, 10}}, y[] = {{2, 3}};
    kino__intervals a = {.items = x, .count = 1}, b = {.items = y, .count = 1};
    kino__intervals out = {.allocator = &failing.allocator};
    CHECK(!kino__intervals_union(&a, &b, &out));
    CHECK(!kino__intervals_intersect(&a, &b, &out));
    CHECK(!kino__intervals_subtract(&a, &b, &out));
    CHECK_EQ(out.count, 0);
}
