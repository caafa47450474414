/* test_allocator.c - the allocator value, checked products, page blocks. */
#include <stdint.h>
#include <string.h>

#include "base/allocator.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

TEST(default_allocator_allocates_moves_and_frees)
{
    char *p = kino__resize(NULL, NULL, 0, 4);
    REQUIRE(p != NULL);
    memcpy(p, "abc", 4);
    p = kino__resize(NULL, p, 4, 100000);
    REQUIRE(p != NULL);
    CHECK_STR((const char *)p, "abc");
    CHECK_EQ(kino__resize(NULL, p, 100000, 0), NULL);
    CHECK_EQ(kino__resize(NULL, NULL, 0, 0), NULL);
}

TEST(failing_allocator_fails_the_nth_request_and_keeps_the_old_block)
{
    failing_allocator failing;
    failing_allocator_init(&failing, 2);
    char *p = kino__resize(&failing.allocator, NULL, 0, 10);
    REQUIRE(p != NULL);
    memcpy(p, "kept", 5);
    p = kino__resize(&failing.allocator, p, 10, 20);
    REQUIRE(p != NULL);
    CHECK_EQ(failing.held_bytes, 20);
    CHECK_EQ(kino__resize(&failing.allocator, p, 20, 30), NULL);
    CHECK_EQ(failing.failures, 1);
    CHECK_STR((const char *)p, "kept");
    kino__resize(&failing.allocator, p, 20, 0);
    CHECK_EQ(failing.held_bytes, 0);
}

TEST(mul_size_sees_overflow)
{
    size_t product = 1;
    CHECK(kino__mul_size(1u << 20, 1u << 20, &product));
    CHECK_EQ(product, (size_t)1 << 40);
    CHECK(kino__mul_size(SIZE_MAX, 1, &product));
    CHECK(kino__mul_size(0, SIZE_MAX, &product));
    CHECK(!kino__mul_size(SIZE_MAX / 2 + 1, 2, &product));
    CHECK(!kino__mul_size((size_t)1 << 32, (size_t)1 << 32, &product));
}

TEST(pages_are_zero_writable_and_aligned_when_large)
{
    static const size_t sizes[] = {1, 4096, 5000, 2 << 20, (2 << 20) + 1, 7 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *pages = kino__pages_new(sizes[i]);
        REQUIRE(pages != NULL);
        CHECK_EQ((uintptr_t)pages % (sizes[i] >= 2 << 20 ? 2 << 20 : 4096), 0);
        CHECK_EQ(pages[0], 0);
        CHECK_EQ(pages[sizes[i] - 1], 0);
        memset(pages, 0xff, sizes[i]);
        kino__pages_free(pages, sizes[i]);
    }
    CHECK_EQ(kino__pages_new(0), NULL);
    CHECK_EQ(kino__pages_new(SIZE_MAX), NULL);
    kino__pages_free(NULL, 100);
}
