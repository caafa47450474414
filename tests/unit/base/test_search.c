/* test_search.c - the one binary search, against a walk from the front. */
#include "base/search.h"
#include "unit/test.h"

static size_t walk(const int *items, size_t first, size_t end, int most)
{
    while (first < end && items[first] <= most)
        first++;
    return first;
}

TEST(search_gives_what_a_walk_gives)
{
    static const int items[] = {-3, -3, 0, 1, 1, 1, 4, 9};
    for (size_t count = 0; count <= 8; count++)
        for (size_t first = 0; first <= count; first++)
            for (int most = -4; most <= 10; most++) {
                size_t at = KINO__SEARCH(size_t, i, first, count, items[i] <= most);
                size_t last = KINO__SEARCH_LAST(size_t, i, first, count, items[i] <= most);
                size_t want = walk(items, first, count, most);
                CHECK_EQ(at, want);
                CHECK_EQ(last, want > first ? want - 1 : first);
            }
}

TEST(search_of_the_largest_numbers_does_not_overflow)
{
    uint32_t at = KINO__SEARCH(uint32_t, i, UINT32_MAX - 9, UINT32_MAX, i < UINT32_MAX - 2);
    CHECK_EQ(at, UINT32_MAX - 2);
}
