/* test_vec.c - typed growing arrays. */
#include <stdint.h>

#include "base/vec.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

TEST(vec_keeps_items_when_it_grows)
{
    KINO__VEC(int64_t) v = {0};
    for (int64_t i = 0; i < 1000; i++) {
        int64_t *slot = kino__vec_add(&v);
        REQUIRE(slot != NULL);
        *slot = i * i;
    }
    CHECK_EQ(v.count, 1000);
    CHECK(v.capacity >= 1000);
    for (int64_t i = 0; i < 1000; i++)
        CHECK_EQ(v.items[i], i * i);
    kino__vec_deinit(&v);
    CHECK_EQ(v.count, 0);
    CHECK_EQ(v.items, NULL);
}

TEST(vec_reserve_makes_room_for_exactly_that_many_adds)
{
    KINO__VEC(char) v = {0};
    REQUIRE(kino__vec_reserve(&v, 5000));
    char *before = v.items;
    for (int i = 0; i < 5000; i++)
        REQUIRE(kino__vec_add(&v) != NULL);
    CHECK_EQ(v.items, before);
    kino__vec_deinit(&v);
}

TEST(vec_is_as_it_was_when_memory_is_out)
{
    failing_allocator failing;
    failing_allocator_init(&failing, 1);
    KINO__VEC(int) v = {.allocator = &failing.allocator};
    size_t added = 0;
    for (int *slot; (slot = kino__vec_add(&v)) != NULL; added++)
        *slot = (int)added;
    CHECK(added > 0);
    CHECK_EQ(v.count, added);
    for (size_t i = 0; i < added; i++)
        CHECK_EQ(v.items[i], i);
    kino__vec_deinit(&v);
    CHECK_EQ(failing.held_bytes, 0);
}

TEST(vec_refuses_sizes_that_overflow)
{
    KINO__VEC(int64_t) v = {0};
    CHECK(!kino__vec_reserve(&v, SIZE_MAX / 4));
    REQUIRE(kino__vec_add(&v) != NULL);
    CHECK(!kino__vec_reserve(&v, SIZE_MAX));
    CHECK_EQ(v.count, 1);
    kino__vec_deinit(&v);
}
