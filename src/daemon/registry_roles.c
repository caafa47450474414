/* registry_roles.c - which processes are ranks, which started them, which were started by them.
 *
 * A process declares its ancestors when it registers. They are believed among processes of one user
 * only: whoever lies gets traces of his own listed apart. */
#include "daemon/registry.h"

/* A launcher is known by its pid and the user whose ranks it started. */
static uint64_t key_of(int64_t pid, uid_t uid)
{
    return kino__hash_u64((uint64_t)pid << 32 ^ (uint64_t)uid);
}

/* The nearest ancestor with the same rank and source, among the registered. */
static bool is_inherited(const kino__registry *r, kino__process *p)
{
    const kino__process_place *own = &kino__registry_about(p)->place;
    for (uint32_t i = 1; i < p->pid_count && own->rank >= 0; i++) {
        kino__process *above = kino__registry_find_quickly(r, p->pids[i]);
        if (above && above != p && above->id.uid == p->id.uid &&
            kino__process_is_same_rank(own, &kino__registry_about(above)->place))
            return true;
    }
    return false;
}

bool kino__registry_note_rank(const kino__registry *r, kino__process *p, kino__map *launchers)
{
    bool ok = true;
    if (kino__registry_about(p)->place.rank >= 0 && !is_inherited(r, p))
        for (uint32_t i = 1; i < p->pid_count && ok; i++)
            ok = kino__map_put(launchers, key_of(p->pids[i], p->id.uid), 0) != NULL;
    return ok;
}

kino__process_role kino__registry_role(const kino__registry *r, const kino__map *launchers,
                                       kino__process *p)
{
    if (is_inherited(r, p))
        return KINO__PROCESS_HELPER;
    if (kino__map_get(launchers, key_of(p->id.pid, p->id.uid)))
        return KINO__PROCESS_LAUNCHER;
    return kino__registry_about(p)->place.rank >= 0 ? KINO__PROCESS_RANK : KINO__PROCESS_UNKNOWN;
}
