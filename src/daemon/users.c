/* users.c - see users.h. */
#include "daemon/users.h"

#include <stdlib.h>

void kino__users_init(kino__users *users)
{
    *users = (kino__users){0};
    kino__map_init(&users->index, NULL);
}

void kino__users_deinit(kino__users *users)
{
    for (size_t i = 0; i < users->items.count; i++)
        free(users->items.items[i]);
    kino__vec_deinit(&users->items);
    kino__map_deinit(&users->index);
}

kino__user *kino__users_get(kino__users *users, uid_t uid)
{
    const uint32_t *found = kino__map_get(&users->index, uid);
    if (found)
        return users->items.items[*found];
    kino__user *user = calloc(1, sizeof *user);
    if (!user || !kino__vec_reserve(&users->items, 1) ||
        !kino__map_put(&users->index, uid, (uint32_t)users->items.count)) {
        free(user);
        return NULL;
    }
    user->uid = uid;
    users->items.items[users->items.count++] = user;
    return user;
}
