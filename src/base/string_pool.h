/* string_pool.h - each distinct string once, named by a 32-bit number in order of first addition.
 *
 * Texts are copied into the pool's arena, or borrowed where the caller promises that they outlive
 * it (names in a mapped file). Lookups are a hash and one comparison. Reading is for any thread
 * once nothing is added any more; adding is for one thread at a time. */
#ifndef KINO__BASE_STRING_POOL_H
#define KINO__BASE_STRING_POOL_H

#include "base/arena.h"
#include "base/str.h"

typedef struct kino__string_pool {
    KINO__VEC(kino_str) texts;
    KINO__VEC(uint64_t) hashes;
    uint32_t *slots; /* id + 1, or 0; open addressing */
    size_t slot_count;
    kino__arena arena;
} kino__string_pool;

void kino__string_pool_init(kino__string_pool *pool, const kino__allocator *allocator);
void kino__string_pool_deinit(kino__string_pool *pool);

/* The number of the text, added if new. KINO_NO_STRING when memory (or 2^32 - 1 strings) is out. */
kino_strid kino__string_pool_add(kino__string_pool *pool, kino_str text);

/* The same without copying the bytes: they must outlive the pool. */
kino_strid kino__string_pool_add_borrowed(kino__string_pool *pool, kino_str text);

/* The number of the text, or KINO_NO_STRING when it was never added. */
kino_strid kino__string_pool_find(const kino__string_pool *pool, kino_str text);

static inline size_t kino__string_pool_count(const kino__string_pool *pool)
{
    return pool->texts.count;
}

/* The text of a number; empty for KINO_NO_STRING. */
static inline kino_str kino__string_pool_text(const kino__string_pool *pool, kino_strid id)
{
    return id < pool->texts.count ? pool->texts.items[id] : (kino_str){"", 0};
}

#endif
