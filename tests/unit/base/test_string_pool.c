/* test_string_pool.c - interning. */
#include <stdio.h>

#include "base/string_pool.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

static kino_str numbered(char text[32], int i)
{
    return (kino_str){text, (size_t)snprintf(text, 32, "aten::op_%d", i)};
}

TEST(string_pool_numbers_in_order_of_first_addition)
{
    kino__string_pool pool;
    kino__string_pool_init(&pool, NULL);
    char text[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 5000; i++)
            REQUIRE_EQ(kino__string_pool_add(&pool, numbered(text, i)), i);
    CHECK_EQ(kino__string_pool_count(&pool), 5000);
    for (int i = 0; i < 5000; i++) {
        CHECK_EQ(kino__string_pool_find(&pool, numbered(text, i)), i);
        CHECK_STR(kino__string_pool_text(&pool, (kino_strid)i), numbered(text, i));
    }
    CHECK_EQ(kino__string_pool_find(&pool, KINO__STR("never added")), KINO_NO_STRING);
    kino__string_pool_deinit(&pool);
}

TEST(string_pool_tells_zeros_lengths_and_the_empty_text_apart)
{
    kino__string_pool pool;
    kino__string_pool_init(&pool, NULL);
    CHECK_EQ(kino__string_pool_find(&pool, KINO__STR("")), KINO_NO_STRING);
    CHECK_EQ(kino__string_pool_add(&pool, KINO__STR("")), 0);
    CHECK_EQ(kino__string_pool_add(&pool, KINO__STR("\0")), 1);
    CHECK_EQ(kino__string_pool_add(&pool, KINO__STR("\0\0")), 2);
    CHECK_EQ(kino__string_pool_add(&pool, (kino_str){NULL, 0}), 0);
    CHECK_STR(kino__string_pool_text(&pool, KINO_NO_STRING), "");
    kino__string_pool_deinit(&pool);
}

TEST(string_pool_copies_unless_told_to_borrow)
{
    kino__string_pool pool;
    kino__string_pool_init(&pool, NULL);
    char copied[] = "copied", borrowed[] = "borrowed";
    kino_strid a = kino__string_pool_add(&pool, (kino_str){copied, 6});
    kino_strid b = kino__string_pool_add_borrowed(&pool, (kino_str){borrowed, 8});
    CHECK_EQ(kino__string_pool_text(&pool, b).data, borrowed);
    copied[0] = 'X';
    CHECK_STR(kino__string_pool_text(&pool, a), "copied");
    CHECK_EQ(kino__string_pool_add(&pool, (kino_str){"borrowed", 8}), b);
    kino__string_pool_deinit(&pool);
}

TEST(string_pool_survives_each_failing_allocation)
{
    for (size_t n = 0;; n++) {
        failing_allocator failing;
        failing_allocator_init(&failing, n);
        kino__string_pool pool;
        kino__string_pool_init(&pool, &failing.allocator);
        char text[32];
        int added = 0;
        while (added < 300 && kino__string_pool_add(&pool, numbered(text, added)) != KINO_NO_STRING)
            added++;
        CHECK_EQ(kino__string_pool_count(&pool), added);
        for (int i = 0; i < added; i++)
            CHECK_EQ(kino__string_pool_find(&pool, numbered(text, i)), i);
        kino__string_pool_deinit(&pool);
        CHECK_EQ(failing.held_bytes, 0);
        if (added == 300) {
            CHECK(n > 4); /* slots, texts, hashes, arena, and growth */
            break;
        }
        REQUIRE(n < 1000);
    }
}
