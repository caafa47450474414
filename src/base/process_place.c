/* process_place.c - see process_place.h. */
#include "base/process_place.h"

#include "base/json_out.h"
#include "base/map.h"

/* One launcher's variables; the first that has a rank is believed. torchrun comes first: it may run
 * inside of all others. */
static const struct launcher {
    const char *rank, *world_size, *local_rank;
} launchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static const char *const jobs[] = {"SLURM_JOB_ID", "SLURM_JOBID", "TORCHELASTIC_RUN_ID",
                                   "PMIX_NAMESPACE"};

/* -- the environment */

typedef struct environment {
    const char *(*get)(void *context, const char *name);
    void *context;
} environment;

static int64_t number_of(const environment *e, const char *name)
{
    const char *text = e->get(e->context, name);
    int64_t number;
    return text && kino__str_to_int(kino__str_from(text), &number) && number >= 0 ? number : -1;
}

static void find_job(const environment *e, kino__process_place *place)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs && !place->job[0]; i++) {
        const char *text = e->get(e->context, jobs[i]);
        size_t size = text ? strlen(text) : 0;
        if (size && size < sizeof place->job && strcmp(text, "none") != 0) /* torchrun's default */
            memcpy(place->job, text, size + 1);
    }
}

kino__process_place kino__process_place_find(const char *(*get)(void *context, const char *name),
                                             void *context)
{
    const environment e = {get, context};
    kino__process_place place = KINO__PROCESS_PLACE_INIT;
    for (int i = 0; i < LAUNCHERS && place.rank < 0; i++) {
        place.rank = number_of(&e, launchers[i].rank);
        if (place.rank < 0)
            continue;
        place.source = i;
        place.world_size = number_of(&e, launchers[i].world_size);
        place.local_rank = number_of(&e, launchers[i].local_rank);
        if (place.world_size <= place.rank) /* one of them is not what it seems */
            place.world_size = -1;
    }
    find_job(&e, &place);
    return place;
}

const char *kino__process_variable(void *context, const char *name)
{
    const kino_str *text = context;
    size_t size = strlen(name);
    for (size_t at = 0; at < text->size;) {
        const char *entry = text->data + at;
        const char *end = memchr(entry, '\0', text->size - at);
        if (!end)
            return NULL; /* cut off */
        if ((size_t)(end - entry) > size && entry[size] == '=' && memcmp(entry, name, size) == 0)
            return entry + size + 1;
        at += (size_t)(end - entry) + 1;
    }
    return NULL;
}

/* -- roles */

const char *kino__process_role_word(kino__process_role role)
{
    static const char *const words[] = {NULL, "rank", "launcher", "helper"};
    return words[role];
}

kino__process_role kino__process_role_find(kino_str word)
{
    for (int role = KINO__PROCESS_RANK; role <= KINO__PROCESS_HELPER; role++)
        if (kino__str_is(word, kino__process_role_word((kino__process_role)role)))
            return (kino__process_role)role;
    return KINO__PROCESS_UNKNOWN;
}

bool kino__process_is_same_rank(const kino__process_place *a, const kino__process_place *b)
{
    return a->rank >= 0 && a->rank == b->rank && a->source == b->source;
}

/* Who has a rank of its own makes launchers of those above, up to one that has the same. */
static void look_up(kino__process_node *nodes, const kino__map *by_pid, kino__process_node *node)
{
    int64_t parent = node->parent;
    for (int level = 0; level < KINO__PROCESS_ANCESTORS_MAX && parent > 0; level++) {
        const uint32_t *at = kino__map_get(by_pid, kino__hash_u64((uint64_t)parent));
        kino__process_node *above = at ? &nodes[*at] : NULL;
        if (!above || above == node)
            return;
        if (kino__process_is_same_rank(&node->place, &above->place)) {
            node->role = KINO__PROCESS_HELPER;
            return;
        }
        above->role = KINO__PROCESS_LAUNCHER;
        parent = above->parent;
    }
}

bool kino__process_roles(kino__process_node *nodes, size_t count)
{
    kino__map by_pid;
    kino__map_init(&by_pid, NULL);
    bool ok = count < UINT32_MAX;
    for (size_t i = 0; i < count && ok; i++) {
        uint32_t *slot =
            kino__map_put(&by_pid, kino__hash_u64((uint64_t)nodes[i].pid), (uint32_t)i);
        ok = slot != NULL;
        nodes[i].role = nodes[i].place.rank >= 0 ? KINO__PROCESS_RANK : KINO__PROCESS_UNKNOWN;
    }
    for (size_t i = 0; i < count && ok; i++)
        if (nodes[i].place.rank >= 0)
            look_up(nodes, &by_pid, &nodes[i]);
    /* What neither has a rank nor started one, but was started by one (without its environment). */
    for (size_t i = 0; i < count && ok; i++) {
        const uint32_t *at = kino__map_get(&by_pid, kino__hash_u64((uint64_t)nodes[i].parent));
        for (int level = 0;
             nodes[i].role == KINO__PROCESS_UNKNOWN && at && level < KINO__PROCESS_ANCESTORS_MAX;
             level++) {
            if (nodes[*at].place.rank >= 0 && nodes[*at].role != KINO__PROCESS_LAUNCHER)
                nodes[i].role = KINO__PROCESS_HELPER;
            at = kino__map_get(&by_pid, kino__hash_u64((uint64_t)nodes[*at].parent));
        }
    }
    kino__map_deinit(&by_pid);
    return ok;
}

/* -- as text */

static void write_number(kino__json *json, const char *key, int64_t number)
{
    kino__json_key(json, key);
    kino__json_int(json, number);
}

static void write_text(kino__json *json, const char *key, const char *text)
{
    kino__json_key(json, key);
    kino__json_text(json, text);
}

void kino__process_place_write(const kino__process_place *place, kino__buffer *out)
{
    if (place->rank < 0)
        return;
    kino__buffer_printf(out, "{\"rank\": %lld", (long long)place->rank);
    if (place->world_size >= 0)
        kino__buffer_printf(out, ", \"world_size\": %lld", (long long)place->world_size);
    if (place->local_rank >= 0)
        kino__buffer_printf(out, ", \"local_rank\": %lld", (long long)place->local_rank);
    kino__buffer_add(out, KINO__STR("}"));
}

static void write_process(kino__json *json, const kino__process_about *about)
{
    const char *role = kino__process_role_word(about->role);
    kino__json_begin_object(json);
    if (role)
        write_text(json, "role", role);
    if (about->pid > 0)
        write_number(json, "pid", about->pid);
    if (about->role == KINO__PROCESS_HELPER && about->place->rank >= 0)
        write_number(json, "of_rank", about->place->rank);
    if (about->iterations > 0)
        write_number(json, "iterations", about->iterations);
    if (about->place->job[0])
        write_text(json, "job", about->place->job);
    kino__json_end_object(json);
}

void kino__process_member_write(const kino__process_about *about, kino__buffer *out)
{
    kino__json json = {.out = out};
    write_process(&json, about);
}

void kino__process_about_write(const kino__process_about *about, kino__buffer *out)
{
    kino__json json = {.out = out};
    kino__buffer info = {0};
    if (about->role != KINO__PROCESS_LAUNCHER && about->role != KINO__PROCESS_HELPER)
        kino__process_place_write(about->place, &info);
    kino__json_begin_object(&json);
    write_number(&json, "kinoSidecar", 1);
    if (about->host && *about->host)
        write_text(&json, "host_name", about->host);
    if (info.size) {
        kino__json_key(&json, "distributedInfo");
        kino__json_raw(&json, kino__buffer_str(&info));
    }
    kino__json_key(&json, "kino_process");
    write_process(&json, about);
    kino__json_end_object(&json);
    out->failed |= info.failed;
    kino__buffer_deinit(&info);
}

void kino__sidecar_path(const char *trace, kino__buffer *out)
{
    static const kino_str packed[] = {KINO__STR(".gz"), KINO__STR(".zst")};
    kino_str path = kino__str_from(trace);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (kino__str_ends_with(path, packed[i]))
            path.size -= packed[i].size;
    kino__buffer_add(out, path);
    kino__buffer_add(out, KINO__STR(KINO__SIDECAR_SUFFIX));
    kino__buffer_add(out, (kino_str){"", 1});
}
