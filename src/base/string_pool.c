/* string_pool.c - interning of strings. */
#include "base/string_pool.h"

void kino__string_pool_init(kino__string_pool *pool, const kino__allocator *allocator)
{
    *pool = (kino__string_pool){0};
    pool->texts.allocator = pool->hashes.allocator = allocator;
    kino__arena_init(&pool->arena, allocator);
}

void kino__string_pool_deinit(kino__string_pool *pool)
{
    const kino__allocator *allocator = pool->texts.allocator;
    kino__resize(allocator, pool->slots, pool->slot_count * sizeof *pool->slots, 0);
    kino__vec_deinit(&pool->texts);
    kino__vec_deinit(&pool->hashes);
    kino__arena_deinit(&pool->arena);
    pool->slots = NULL;
    pool->slot_count = 0;
}

/* The slot that holds the text, or the empty one where it belongs. */
static size_t find_slot(const kino__string_pool *pool, kino_str text, uint64_t hash)
{
    size_t mask = pool->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        uint32_t id = pool->slots[i];
        if (id == 0)
            return i;
        if (pool->hashes.items[id - 1] == hash && kino__str_equal(pool->texts.items[id - 1], text))
            return i;
    }
}

static bool grow_slots(kino__string_pool *pool)
{
    const kino__allocator *allocator = pool->texts.allocator;
    size_t count = pool->slot_count ? pool->slot_count * 2 : 256;
    uint32_t *slots = kino__resize(allocator, NULL, 0, count * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0, count * sizeof *slots);
    for (size_t id = 0; id < pool->texts.count; id++) {
        size_t i = (size_t)pool->hashes.items[id] & (count - 1);
        while (slots[i])
            i = (i + 1) & (count - 1);
        slots[i] = (uint32_t)id + 1;
    }
    kino__resize(allocator, pool->slots, pool->slot_count * sizeof *pool->slots, 0);
    pool->slots = slots;
    pool->slot_count = count;
    return true;
}

static kino_strid add(kino__string_pool *pool, kino_str text, bool copy)
{
    if (pool->texts.count * 2 >= pool->slot_count && !grow_slots(pool))
        return KINO_NO_STRING;
    uint64_t hash = kino__hash_bytes(text.data, text.size);
    size_t slot = find_slot(pool, text, hash);
    if (pool->slots[slot])
        return pool->slots[slot] - 1;
    if (pool->texts.count >= KINO_NO_STRING - 1)
        return KINO_NO_STRING;
    if (!kino__vec_reserve(&pool->texts, 1) || !kino__vec_reserve(&pool->hashes, 1))
        return KINO_NO_STRING;
    if (copy) {
        text = kino__arena_copy(&pool->arena, text);
        if (!text.data)
            return KINO_NO_STRING;
    }
    *kino__vec_add(&pool->texts) = text;
    *kino__vec_add(&pool->hashes) = hash;
    pool->slots[slot] = (uint32_t)pool->texts.count;
    return (kino_strid)(pool->texts.count - 1);
}

kino_strid kino__string_pool_add(kino__string_pool *pool, kino_str text)
{
    return add(pool, text, true);
}

kino_strid kino__string_pool_add_borrowed(kino__string_pool *pool, kino_str text)
{
    return add(pool, text, false);
}

kino_strid kino__string_pool_find(const kino__string_pool *pool, kino_str text)
{
    if (pool->slot_count == 0)
        return KINO_NO_STRING;
    size_t slot = find_slot(pool, text, kino__hash_bytes(text.data, text.size));
    return pool->slots[slot] ? pool->slots[slot] - 1 : KINO_NO_STRING;
}
