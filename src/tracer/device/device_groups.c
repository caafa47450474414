/* device_groups.c - process groups, from what operators and kernels say. See device_groups.h.
 *
 * A group is written down when its first operator begins, once; later ones cost a search by name.
 * The metadata is made when a session stops and when one is dumped, not with every group: entries
 * of the log of texts are never taken back. */
#include "tracer/device/device_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_out.h"
#include "tracer/device/device_collective.h"

/* -- operators */

static void clear(kino__group *group)
{
    free(group->name);
    free(group->description);
    free(group->ranks);
    *group = (kino__group){0};
}

void kino__groups_reset(kino__groups *groups)
{
    pthread_mutex_lock(&groups->lock);
    for (uint32_t i = 0; i < KINO__GROUP_NOTES; i++)
        __atomic_store_n(&groups->notes[i].id, 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < groups->count; i++)
        clear(&groups->items[i]);
    groups->count = groups->worked_count = 0;
    groups->place = kino__process_place_get();
    pthread_mutex_unlock(&groups->lock);
}

/* The number of the group; KINO__GROUPS: there is no room. The lock is held; takes the name. */
static uint32_t find_or_add(kino__groups *groups, const kino_record_function *fn, char *name)
{
    uint32_t i = 0;
    while (i < groups->count && strcmp(groups->items[i].name, name) != 0)
        i++;
    if (i < groups->count || i == KINO__GROUPS) {
        free(name);
        return i;
    }
    groups->items[i] = (kino__group){
        .name = name,
        .description = kino__collective_input(fn, "Process Group Description"),
        .ranks = kino__collective_input(fn, "Process Group Ranks"),
        .size = kino__collective_input_number(fn, "Group size"),
        .rank = kino__collective_input_number(fn, "Rank"),
    };
    groups->count++;
    return i;
}

void kino__groups_note(kino__groups *groups, const kino_record_function *fn, uint64_t external)
{
    char *name = kino__collective_input(fn, "Process Group Name");
    if (!name)
        return;
    pthread_mutex_lock(&groups->lock);
    uint32_t group = find_or_add(groups, fn, name);
    if (group < KINO__GROUPS) {
        uint64_t at = external % KINO__GROUP_NOTES;
        groups->notes[at].group = group;
        __atomic_store_n(&groups->notes[at].id, external, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&groups->lock);
}

/* -- kernels */

void kino__groups_work(kino__groups *groups, uint32_t kind, uint64_t external)
{
    uint64_t at = external % KINO__GROUP_NOTES;
    if (!external || __atomic_load_n(&groups->notes[at].id, __ATOMIC_RELAXED) != external ||
        (kind != KINO_DEVICE_KERNEL && kind != KINO_DEVICE_MTIA_CCP))
        return;
    pthread_mutex_lock(&groups->lock);
    uint32_t group = groups->notes[at].group;
    bool is_same = __atomic_load_n(&groups->notes[at].id, __ATOMIC_RELAXED) == external;
    if (is_same && group < groups->count && !groups->items[group].has_work) {
        groups->items[group].has_work = true;
        groups->items[group].is_hccl = kind == KINO_DEVICE_MTIA_CCP;
        groups->worked[groups->worked_count++] = group;
    }
    pthread_mutex_unlock(&groups->lock);
}

/* -- the metadata */

static void write_number(kino__json *json, const char *key, int64_t number)
{
    if (number < 0)
        return;
    kino__json_key(json, key);
    kino__json_int(json, number);
}

static void write_text(kino__json *json, const char *key, const char *text)
{
    if (!text)
        return;
    kino__json_key(json, key);
    kino__json_string(json, kino__str_from(text));
}

static void write_group(kino__json *json, const kino__group *group)
{
    kino__json_begin_object(json);
    write_text(json, "pg_name", group->name);
    write_text(json, "pg_desc", group->description);
    write_text(json, "backend_config", group->is_hccl ? "mtia:hccl" : "cuda:nccl");
    write_number(json, "pg_size", group->size);
    write_text(json, "ranks", group->ranks);
    kino__json_end_object(json);
}

/* The lock is held. */
static const kino__group *find_default(const kino__groups *groups)
{
    for (uint32_t i = 0; i < groups->worked_count; i++) {
        const kino__group *group = &groups->items[groups->worked[i]];
        if (group->description && strcmp(group->description, "default_pg") == 0)
            return group;
    }
    return NULL;
}

/* What the operator did not say, the environment may have. */
static void write_info(kino__json *json, const kino__groups *groups, const kino__group *world)
{
    const kino__process_place *place = &groups->place;
    kino__json_begin_object(json);
    write_text(json, "backend", world->is_hccl ? "hccl" : "nccl");
    write_number(json, "rank", world->rank >= 0 ? world->rank : place->rank);
    write_number(json, "world_size", world->size >= 0 ? world->size : place->world_size);
    write_number(json, "local_rank", place->local_rank);
    write_number(json, "pg_count", groups->worked_count);
    kino__json_key(json, "pg_config");
    kino__json_begin_array(json);
    for (uint32_t i = 0; i < groups->worked_count; i++)
        write_group(json, &groups->items[groups->worked[i]]);
    kino__json_end_array(json);
    write_text(json, "nccl_version", world->is_hccl ? "" : "unknown");
    kino__json_end_object(json);
}

void kino__groups_tell(kino__groups *groups, kino__texts *texts)
{
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    const kino_str key = KINO__STR("distributedInfo");
    pthread_mutex_lock(&groups->lock);
    const kino__group *world = find_default(groups);
    bool is_mine = world || groups->is_told;
    if (world)
        write_info(&json, groups, world);
    else if (is_mine)
        kino__process_place_write(&groups->place, &text);
    groups->is_told = world != NULL;
    pthread_mutex_unlock(&groups->lock);
    kino_status st = KINO_OK; /* without room the trace lacks it, and nothing else */
    if (is_mine && text.size && !text.failed)
        st = kino__texts_metadata(texts, key, kino__buffer_str(&text), true, NULL);
    else if (is_mine)
        kino__texts_forget(texts, key, true);
    (void)st;
    kino__buffer_deinit(&text);
}
