/* users.h - what each user takes of the daemon: a number of things, and a queue of things that
 * wait.
 *
 *   kino__user *user = kino__users_get(&users, uid);      made when it is new; NULL: memory is out
 *   user->count++;
 *
 * Everybody has a share; root has no limits, since it may anyway. */
#ifndef KINO__DAEMON_USERS_H
#define KINO__DAEMON_USERS_H

#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"

struct kino__target;

typedef struct kino__user {
    uid_t uid;
    size_t count;                        /* of whatever the owner of the table counts */
    int64_t spent_ns, window_ns;         /* of the loop's time, since when */
    struct kino__target *due, *due_last; /* files to be looked at (requests_look.c) */
    struct kino__user *next_due;         /* who has some, too */
} kino__user;

typedef struct kino__users {
    kino__map index; /* uid --> place in items */
    KINO__VEC(kino__user *) items;
} kino__users;

void kino__users_init(kino__users *users);
void kino__users_deinit(kino__users *users);
kino__user *kino__users_get(kino__users *users, uid_t uid);

#endif
