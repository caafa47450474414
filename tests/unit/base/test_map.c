/* test_map.c - the hash map, against an array that is searched from the front. */
#include "base/map.h"
#include "unit/failing_allocator.h"
#include "unit/test.h"

TEST(map_agrees_with_a_plain_list)
{
    enum { ROUNDS = 4000, KEYS = 700 };
    kino__map map;
    kino__map_init(&map, NULL);
    bool is_in[KEYS] = {false};
    uint32_t want[KEYS];
    size_t count = 0;
    uint64_t state = 1;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t k = (uint32_t)(state >> 33) % KEYS;
        uint64_t key = (uint64_t)k << 32; /* low bits alike: the hash must look at all of them */
        uint32_t *value = kino__map_get(&map, key);
        REQUIRE_EQ(value != NULL, is_in[k]);
        if (value)
            CHECK_EQ(*value, want[k]);
        value = kino__map_put(&map, key, i);
        REQUIRE(value != NULL);
        if (!is_in[k]) {
            is_in[k] = true;
            want[k] = i;
            count++;
        }
        CHECK_EQ(*value, want[k]); /* an old value is not overwritten by put ... */
        *value = want[k] = i * 3;  /* ... but through the place it returned */
    }
    CHECK_EQ(map.count, count);
    kino__map_deinit(&map);
}

TEST(map_takes_extreme_keys)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63};
    kino__map map;
    kino__map_init(&map, NULL);
    CHECK_EQ(kino__map_get(&map, 0), NULL);
    for (uint32_t i = 0; i < 5; i++)
        REQUIRE(kino__map_put(&map, keys[i], i) != NULL);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t *value = kino__map_get(&map, keys[i]);
        REQUIRE(value != NULL);
        CHECK_EQ(*value, i);
    }
    CHECK_EQ(kino__map_get(&map, 2), NULL);
    kino__map_deinit(&map);
}

TEST(map_does_not_grow_after_reserve)
{
    failing_allocator failing;
    failing_allocator_init(&failing, 1);
    kino__map map;
    kino__map_init(&map, &failing.allocator);
    REQUIRE(kino__map_reserve(&map, 1000));
    for (uint32_t i = 0; i < 1000; i++)
        REQUIRE(kino__map_put(&map, i, i) != NULL);
    CHECK_EQ(failing.failures, 0);
    kino__map_deinit(&map);
    CHECK_EQ(failing.held_bytes, 0);
}

TEST(map_keeps_its_keys_when_memory_is_out)
{
    failing_allocator failing;
    failing_allocator_init(&failing, 1);
    kino__map map;
    kino__map_init(&map, &failing.allocator);
    uint32_t added = 0;
    while (kino__map_put(&map, added, added * 2))
        added++;
    CHECK(added > 0);
    CHECK_EQ(map.count, added);
    CHECK(!kino__map_reserve(&map, 100000));
    CHECK(!kino__map_reserve(&map, SIZE_MAX));
    for (uint32_t i = 0; i < added; i++) {
        uint32_t *value = kino__map_get(&map, i);
        REQUIRE(value != NULL);
        CHECK_EQ(*value, i * 2);
    }
    kino__map_deinit(&map);
    CHECK_EQ(failing.held_bytes, 0);
}
