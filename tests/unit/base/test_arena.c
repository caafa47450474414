/* test_arena.c - bump allocation, marks, and the end of memory. */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

TEST(arena_blocks_are_aligned_and_do_not_overlap)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    unsigned char *blocks[600];
    for (size_t i = 0; i < 600; i++) {
        size_t size = i * 7 % 900; /* also zero bytes, and more than one block in all */
        blocks[i] = kino__arena_alloc(&arena, size);
        REQUIRE(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < 600; i++)
        for (size_t k = 0; k < i * 7 % 900; k++)
            REQUIRE_EQ(blocks[i][k], i % 251);
    kino__arena_deinit(&arena);
    CHECK_EQ(arena.newest, NULL);
    CHECK_EQ(arena.total, 0);
}

TEST(arena_rewind_restores_mark)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    kino_str kept = kino__arena_copy(&arena, (kino_str){"kept", 4});
    kino__arena_mark mark = kino__arena_get_mark(&arena);
    void *first = kino__arena_alloc(&arena, 100);
    size_t total = arena.total;
    for (int i = 0; i < 50; i++)
        REQUIRE(kino__arena_alloc(&arena, 100000) != NULL);
    CHECK(arena.total > total);
    kino__arena_rewind(&arena, mark);
    CHECK_EQ(arena.total, total);
    CHECK_EQ(kino__arena_alloc(&arena, 100), first);
    CHECK_STR(kept, "kept");
    kino__arena_deinit(&arena);
}

TEST(arena_rewind_to_a_mark_of_the_empty_arena_frees_all)
{
    failing_allocator counting;
    failing_allocator_init(&counting, SIZE_MAX);
    kino__arena arena;
    kino__arena_init(&arena, &counting.allocator);
    kino__arena_mark mark = kino__arena_get_mark(&arena);
    REQUIRE(kino__arena_alloc(&arena, 1) != NULL);
    CHECK(counting.held_bytes > 0);
    kino__arena_rewind(&arena, mark);
    CHECK_EQ(counting.held_bytes, 0);
    kino__arena_deinit(&arena);
}

TEST(arena_copy_and_format_are_terminated)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    kino_str copy = kino__arena_copy(&arena, (kino_str){"abcdef", 3});
    CHECK_STR(copy, "abc");
    CHECK_EQ(copy.data[3], 0);
    kino_str empty = kino__arena_copy(&arena, (kino_str){NULL, 0});
    REQUIRE(empty.data != NULL);
    CHECK_STR(empty.data, "");
    kino_str text = kino__arena_format(&arena, "%s is %d", "six", 6);
    CHECK_STR(text, "six is 6");
    CHECK_STR(text.data, "six is 6");
    kino__arena_deinit(&arena);
}

TEST(arena_survives_each_failing_allocation)
{
    for (size_t n = 0; n < 3; n++) {
        failing_allocator failing;
        failing_allocator_init(&failing, n);
        kino__arena arena;
        kino__arena_init(&arena, &failing.allocator);
        size_t got = 0;
        while (kino__arena_alloc(&arena, 60000))
            got++;
        CHECK(got >= n);
        CHECK_EQ(kino__arena_copy(&arena, (kino_str){"x", 100000}).data, (const char *)NULL);
        CHECK(failing.failures > 0);
        kino__arena_deinit(&arena);
        CHECK_EQ(failing.held_bytes, 0);
    }
}

TEST(arena_refuses_impossible_sizes)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    CHECK_EQ(kino__arena_alloc(&arena, SIZE_MAX), NULL);
    CHECK_EQ(kino__arena_alloc(&arena, SIZE_MAX - 20), NULL);
    CHECK(kino__arena_alloc(&arena, 16) != NULL);
    kino__arena_deinit(&arena);
}

#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/asan_interface.h>

TEST(arena_poisons_what_was_not_handed_out)
{
    kino__arena arena;
    kino__arena_init(&arena, NULL);
    kino__arena_mark mark;
    char *p = kino__arena_alloc(&arena, 32);
    mark = kino__arena_get_mark(&arena);
    CHECK(!__asan_address_is_poisoned(p + 31));
    CHECK(__asan_address_is_poisoned(p + 32));
    char *q = kino__arena_alloc(&arena, 32);
    CHECK(!__asan_address_is_poisoned(q));
    kino__arena_rewind(&arena, mark);
    CHECK(__asan_address_is_poisoned(q));
    kino__arena_deinit(&arena);
}
#endif
