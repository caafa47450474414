/* profile_ids.h - from ids (external ids, flow ids) to 32-bit values. Ids that are counted up, as
 * all profilers do, are places of an array; others go to a hash map. */
#ifndef KINO__MODEL_PROFILE_IDS_H
#define KINO__MODEL_PROFILE_IDS_H

#include "base/map.h"
#include "model/profile/profile.h"

typedef struct kino__ids {
    uint32_t *direct; /* value + 1; 0: none */
    uint64_t direct_count;
    kino__map rest;
} kino__ids;

/* For about `count` ids, most of them up to `largest`. False when memory is out. */
bool kino__ids_init(kino__ids *ids, uint64_t largest, size_t count);
void kino__ids_deinit(kino__ids *ids);
/* The value of an id, KINO__NO_NODE: none. */
static inline uint32_t kino__ids_get(const kino__ids *ids, uint64_t id)
{
    if (id < ids->direct_count)
        return ids->direct[id] - 1;
    const uint32_t *value = ids->rest.count ? kino__map_get(&ids->rest, id) : NULL;
    return value ? *value : KINO__NO_NODE;
}
bool kino__ids_set(kino__ids *ids, uint64_t id, uint32_t value);

#endif
