/* profile_ids.c - from ids to values, without hashing where ids are dense. */
#include <stdlib.h>

#include "model/profile/profile_internal.h"

bool kino__ids_init(kino__ids *ids, uint64_t largest, size_t count)
{
    *ids = (kino__ids){0};
    kino__map_init(&ids->rest, NULL);
    /* An array of up to 32 bytes an id; its pages are touched only where ids are. */
    if (largest >= (uint64_t)count * 8 + 1024)
        return true;
    ids->direct_count = largest + 1;
    ids->direct = calloc(ids->direct_count, sizeof *ids->direct);
    return ids->direct != NULL;
}

void kino__ids_deinit(kino__ids *ids)
{
    free(ids->direct);
    kino__map_deinit(&ids->rest);
}

bool kino__ids_set(kino__ids *ids, uint64_t id, uint32_t value)
{
    if (id < ids->direct_count) {
        ids->direct[id] = value + 1;
        return true;
    }
    uint32_t *slot = kino__map_put(&ids->rest, id, value);
    if (slot)
        *slot = value;
    return slot != NULL;
}
