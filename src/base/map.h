/* map.h - a hash map from 64-bit keys to 32-bit values, open addressing; the join table of every
 * link.
 *
 * One thread at a time while it changes, any thread afterwards. */
#ifndef KINO__BASE_MAP_H
#define KINO__BASE_MAP_H

#include <kino/base.h>

#include "base/allocator.h"

typedef struct kino__map_slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
} kino__map_slot;

typedef struct kino__map {
    kino__map_slot *slots;
    size_t slot_count; /* power of two, or 0 */
    size_t count;
    const kino__allocator *allocator;
} kino__map;

void kino__map_init(kino__map *map, const kino__allocator *allocator);
void kino__map_deinit(kino__map *map);

/* Room for this many keys without growing; false when memory is out. */
bool kino__map_reserve(kino__map *map, size_t count);

/* The place of the key's value, made (as `fresh`) when the key is new; NULL when memory is out. */
uint32_t *kino__map_put(kino__map *map, uint64_t key, uint32_t fresh);

/* The place of the key's value, or NULL. */
uint32_t *kino__map_get(const kino__map *map, uint64_t key);

static inline uint64_t kino__hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
}

#endif
