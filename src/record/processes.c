/* processes.c - what recorded processes are to each other: ranks, their launcher, their helpers. */
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "record/parts.h"

/* A process that was forked has its parent's environment; lines come in the order of the forks. */
static bool inherit(kino__parts *parts)
{
    kino__map by_pid;
    bool ok = true;
    kino__map_init(&by_pid, NULL);
    for (size_t i = 0; i < parts->seen.count && ok; i++) {
        kino__seen *seen = &parts->seen.items[i];
        const uint32_t *at = kino__map_get(&by_pid, kino__hash_u64((uint64_t)seen->parent));
        if (at && !seen->has_place && parts->seen.items[*at].has_place) {
            seen->place = parts->seen.items[*at].place;
            seen->has_place = true;
        }
        ok = kino__map_put(&by_pid, kino__hash_u64((uint64_t)seen->pid), (uint32_t)i) != NULL;
    }
    kino__map_deinit(&by_pid);
    return ok;
}

bool kino__parts_find_roles(kino__parts *parts)
{
    size_t count = parts->seen.count;
    bool has_any = false;
    for (size_t i = 0; i < count; i++)
        has_any |= parts->seen.items[i].place.rank >= 0;
    if (!has_any)
        return true;
    kino__process_node *nodes = calloc(count, sizeof *nodes);
    bool ok = nodes && inherit(parts);
    for (size_t i = 0; i < count && ok; i++) {
        const kino__seen *seen = &parts->seen.items[i];
        nodes[i] = (kino__process_node){seen->pid, seen->parent, seen->place, 0};
    }
    ok = ok && kino__process_roles(nodes, count);
    for (size_t i = 0; i < count && ok; i++)
        parts->seen.items[i].role = nodes[i].role;
    free(nodes);
    return ok;
}

int64_t kino__parts_rank(const kino__parts *parts, int64_t pid)
{
    for (size_t i = 0; i < parts->seen.count; i++) {
        const kino__seen *seen = &parts->seen.items[i];
        if (seen->pid == pid)
            return seen->role == KINO__PROCESS_RANK ? seen->place.rank : -1;
    }
    return -1;
}

void kino__parts_about(const kino__parts *parts, int64_t pid, kino__buffer *out)
{
    char host[64] = "";
    for (size_t i = 0; i < parts->seen.count; i++) {
        const kino__seen *seen = &parts->seen.items[i];
        if (seen->pid != pid)
            continue;
        if (gethostname(host, sizeof host) != 0)
            host[0] = '\0';
        host[sizeof host - 1] = '\0';
        const kino__process_about about = {
            .place = &seen->place, .role = seen->role, .pid = pid, .host = host};
        kino__process_about_write(&about, out);
        return;
    }
}
