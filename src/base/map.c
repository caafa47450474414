/* map.c - hash map from 64-bit keys to 32-bit values. */
#include "base/map.h"

#include <string.h>

void kino__map_init(kino__map *map, const kino__allocator *allocator)
{
    *map = (kino__map){.allocator = allocator};
}

void kino__map_deinit(kino__map *map)
{
    kino__resize(map->allocator, map->slots, map->slot_count * sizeof *map->slots, 0);
    *map = (kino__map){.allocator = map->allocator};
}

static kino__map_slot *find(kino__map_slot *slots, size_t slot_count, uint64_t key)
{
    size_t i = (size_t)kino__hash_u64(key) & (slot_count - 1);
    while (slots[i].used && slots[i].key != key)
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static bool rehash(kino__map *map, size_t slot_count)
{
    size_t bytes;
    if (!kino__mul_size(slot_count, sizeof *map->slots, &bytes))
        return false;
    kino__map_slot *slots = kino__resize(map->allocator, NULL, 0, bytes);
    if (!slots)
        return false;
    memset(slots, 0, bytes);
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].used)
            *find(slots, slot_count, map->slots[i].key) = map->slots[i];
    kino__resize(map->allocator, map->slots, map->slot_count * sizeof *map->slots, 0);
    map->slots = slots;
    map->slot_count = slot_count;
    return true;
}

bool kino__map_reserve(kino__map *map, size_t count)
{
    if (count > SIZE_MAX / 4)
        return false;
    size_t slots = map->slot_count ? map->slot_count : 16;
    while (slots < count + count / 2 + 1)
        slots *= 2;
    return slots == map->slot_count || rehash(map, slots);
}

uint32_t *kino__map_put(kino__map *map, uint64_t key, uint32_t fresh)
{
    if ((map->count + 1) * 3 > map->slot_count * 2 &&
        !rehash(map, map->slot_count ? map->slot_count * 2 : 16))
        return NULL;
    kino__map_slot *slot = find(map->slots, map->slot_count, key);
    if (!slot->used) {
        *slot = (kino__map_slot){key, fresh, 1};
        map->count++;
    }
    return &slot->value;
}

uint32_t *kino__map_get(const kino__map *map, uint64_t key)
{
    if (map->slot_count == 0)
        return NULL;
    kino__map_slot *slot = find(map->slots, map->slot_count, key);
    return slot->used ? &slot->value : NULL;
}
