/* samples_space.c - what is mapped where, and the frames of call chains. */
#include "record/samples_space.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/search.h"

void kino__space_init(kino__space *space, int32_t pid)
{
    *space = (kino__space){.pid = pid};
    kino__map_init(&space->places, NULL);
    kino__map_init(&space->rules, NULL);
}

void kino__space_deinit(kino__space *space)
{
    kino__vec_deinit(&space->maps);
    kino__map_deinit(&space->places);
    kino__map_deinit(&space->rules);
}

static void forget_addresses(kino__space *space)
{
    kino__map_deinit(&space->places);
    kino__map_init(&space->places, NULL);
    kino__map_deinit(&space->rules);
    kino__map_init(&space->rules, NULL);
}

void kino__space_clear(kino__space *space)
{
    space->maps.count = 0;
    forget_addresses(space);
}

bool kino__space_copy(kino__space *child, const kino__space *parent)
{
    kino__space_clear(child);
    return kino__vec_append(&child->maps, &parent->maps);
}

/* The first part that ends behind the address. */
static size_t lower(const kino__space *space, uint64_t address)
{
    return KINO__SEARCH(size_t, i, 0, space->maps.count, space->maps.items[i].end <= address);
}

const kino__space_map *kino__space_find(const kino__space *space, uint64_t address)
{
    size_t at = lower(space, address);
    return at < space->maps.count && space->maps.items[at].start <= address ? &space->maps.items[at]
                                                                            : NULL;
}

/* Takes [start, end) out of the parts from `at` on; there is room for one part more. */
static void cut(kino__space *space, size_t at, uint64_t start, uint64_t end)
{
    kino__space_map *maps = space->maps.items;
    size_t last = at;
    while (last < space->maps.count && maps[last].start < end)
        last++;
    if (last == at)
        return;
    kino__space_map left = maps[at], right = maps[last - 1];
    bool has_left = left.start<start, has_right = right.end> end;
    if (has_right) {
        right.offset += end - right.start;
        right.start = end;
    }
    left.end = start;
    size_t kept = (size_t)has_left + has_right;
    memmove(maps + at + kept, maps + last, (space->maps.count - last) * sizeof *maps);
    if (has_left)
        maps[at] = left;
    if (has_right)
        maps[at + has_left] = right;
    space->maps.count = space->maps.count - (last - at) + kept;
}

bool kino__space_add(kino__space *space, kino__symbols *symbols, const kino__perf_map *map)
{
    if (map->size == 0 || map->size > UINT64_MAX - map->address)
        return true;
    kino__symbol_file file = {.path = map->path,
                              .build_id = {(const char *)map->build_id, map->build_id_size},
                              .inode = map->inode,
                              .major = map->major,
                              .minor = map->minor};
    kino__space_map part = {.start = map->address, .end = map->address + map->size};
    bool is_vdso = kino__str_is(map->path, "[vdso]");
    part.is_file = is_vdso || kino__symbols_is_file(map->path);
    part.offset = is_vdso ? 0 : map->offset;
    part.module = part.is_file ? kino__symbols_module(symbols, &file)
                               : kino__symbols_made_code(symbols, space->pid);
    if (part.module == KINO__NO_MODULE || !kino__vec_reserve(&space->maps, 2))
        return false;
    size_t at = lower(space, part.start);
    if (at < space->maps.count && space->maps.items[at].start < part.end) {
        cut(space, at, part.start, part.end);
        forget_addresses(space); /* what was known may be wrong now */
        at = lower(space, part.start);
    }
    kino__space_map *maps = space->maps.items;
    memmove(maps + at + 1, maps + at, (space->maps.count - at) * sizeof *maps);
    maps[at] = part;
    space->maps.count++;
    return true;
}

/* ---- frames ---- */

/* UINT32_MAX: nothing is mapped there. */
static uint32_t user_place(kino__space *space, kino__symbols *symbols, uint64_t address)
{
    uint32_t *known = kino__map_put(&space->places, address, UINT32_MAX - 1);
    if (known && *known != UINT32_MAX - 1)
        return *known;
    const kino__space_map *map = kino__space_find(space, address);
    uint32_t place = UINT32_MAX;
    if (map)
        place = kino__symbols_find(symbols, map->module,
                                   map->is_file ? address - map->start + map->offset : address);
    if (known)
        *known = place;
    return place;
}

kino__unwind_rule kino__space_rule(kino__space *space, kino__symbols *symbols, uint64_t address)
{
    uint32_t *known = kino__map_put(&space->rules, address, UINT32_MAX);
    uint32_t rule = known ? *known : UINT32_MAX;
    if (rule == UINT32_MAX) {
        const kino__space_map *map = kino__space_find(space, address);
        if (map && map->is_file)
            rule =
                kino__symbols_find_rule(symbols, map->module, address - map->start + map->offset);
        else
            rule = 0;
        if (known)
            *known = rule;
    }
    return kino__symbols_rule(symbols, rule);
}

static bool add_place(kino__symbols *symbols, uint32_t place, kino__frame_vec *frames)
{
    kino__symbol_frames found = kino__symbols_frames(symbols, place);
    if (!kino__vec_reserve(frames, found.count))
        return false;
    for (size_t i = 0; i < found.count; i++)
        frames->items[frames->count++] = found.items[i];
    return true;
}

static void reverse(kino__frame_vec *frames)
{
    for (size_t i = 0, j = frames->count; i + 1 < j; i++) {
        kino__symbol_frame swap = frames->items[i];
        frames->items[i] = frames->items[--j];
        frames->items[j] = swap;
    }
}

bool kino__space_frames(kino__space *space, kino__symbols *symbols, uint64_t ip,
                        kino__perf_words chain, kino__frame_vec *frames)
{
    bool in_kernel = false, is_return = false, ok = true, has_chain = false;
    frames->count = 0;
    for (size_t i = 0; i < chain.count && ok; i++) {
        uint64_t address = kino__perf_word(chain, i);
        if (address >= (uint64_t)PERF_CONTEXT_MAX) { /* a mark: what follows is in ... */
            in_kernel = address == (uint64_t)PERF_CONTEXT_KERNEL;
            is_return = false;
            continue;
        }
        has_chain = true;
        /* The call stands before the address that it returns to. */
        address -= is_return && address > 0;
        uint32_t place = in_kernel ? kino__symbols_find(symbols, KINO__MODULE_KERNEL, address)
                                   : user_place(space, symbols, address);
        if (place == UINT32_MAX)
            break;
        ok = add_place(symbols, place, frames);
        is_return = true;
    }
    if (!has_chain && ok) {
        uint32_t place = ip >> 63 ? kino__symbols_find(symbols, KINO__MODULE_KERNEL, ip)
                                  : user_place(space, symbols, ip);
        ok = place == UINT32_MAX || add_place(symbols, place, frames);
    }
    if (!frames->count && ok)
        ok = add_place(symbols, kino__symbols_find(symbols, KINO__MODULE_UNKNOWN, 0), frames);
    reverse(frames);
    return ok;
}
