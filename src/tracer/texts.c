/* texts.c - the log of names, and metadata. See texts.h. */
#include "tracer/texts.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/json_out.h"

enum {
    LOG_BYTES = 16 << 20, /* of address space; used as it fills */
    PART_MAX = 4096,      /* bytes of a name, a category, a file, a function */
    LOCK_TRIES = 20000,
};

static const kino_str lost_name = {"(name lost)", sizeof "(name lost)" - 1};

/* -- the lock: gives up instead of waiting for ever (the owner may be the interrupted caller) */

static bool lock(kino__texts *texts)
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!__atomic_exchange_n(&texts->lock, 1, __ATOMIC_ACQUIRE))
            return true;
        if (i > 100)
            sched_yield();
    }
    return false;
}

static void unlock(kino__texts *texts)
{
    __atomic_store_n(&texts->lock, 0, __ATOMIC_RELEASE);
}

/* -- entries */

static uint32_t entry_size(const kino_str parts[4])
{
    size_t size = sizeof(kino__ring_text);
    for (int i = 0; i < 4; i++)
        size += parts[i].size;
    return (uint32_t)((size + 7) & ~(size_t)7);
}

/* Writes an entry but for its first word; returns how many bytes it has. */
static uint32_t write_entry(char *at, const kino__ring_text *head, const kino_str parts[4])
{
    kino__ring_text entry = *head;
    entry.size = entry_size(parts);
    for (int i = 0; i < 4; i++)
        entry.sizes[i] = (uint32_t)parts[i].size;
    memcpy(at + 4, (const char *)&entry + 4, sizeof entry - 4);
    at += sizeof entry;
    for (int i = 0; i < 4; at += parts[i].size, i++)
        if (parts[i].size)
            memcpy(at, parts[i].data, parts[i].size);
    return entry.size;
}

/* Into the capture's file, if there is one, the first word last; the lock is held. */
static void publish(kino__capture *capture, const kino__ring_text *head, const kino_str parts[4])
{
    if (!capture)
        return;
    uint64_t offset = capture->texts_used;
    if (offset + entry_size(parts) + 8 > capture->texts_bytes) { /* zeros stay behind it */
        __atomic_fetch_add(&capture->meta->dropped[KINO__DROP_TEXTS], 1, __ATOMIC_RELAXED);
        return;
    }
    char *to = capture->texts + offset;
    uint32_t size = write_entry(to, head, parts);
    capture->texts_used += size;
    __atomic_store_n((uint32_t *)(void *)to, size, __ATOMIC_RELEASE);
}

/* Appends to the log; the lock is held. Returns the offset, or UINT64_MAX when there is no room. */
static uint64_t append(kino__texts *texts, const kino__ring_text *head, const kino_str parts[4])
{
    uint64_t offset = texts->used;
    if (offset + entry_size(parts) + 8 > texts->log_bytes)
        return UINT64_MAX;
    uint32_t size = write_entry(texts->log + offset, head, parts);
    memcpy(texts->log + offset, &size, sizeof size);
    texts->used += size;
    publish(texts->capture, head, parts);
    return offset;
}

static void *map_memory(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static uint64_t hash_of(const kino__ring_text *head, const kino_str parts[4])
{
    uint64_t hash = head->line;
    for (int i = 0; i < 4; i++)
        hash = (hash ^ kino__hash_bytes(parts[i].data, parts[i].size)) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static bool is_same(const kino__ring_text *entry, const kino__ring_text *head,
                    const kino_str parts[4])
{
    if (entry->line != head->line)
        return false;
    const char *at = (const char *)(entry + 1);
    for (int i = 0; i < 4; at += entry->sizes[i], i++)
        if (entry->sizes[i] != parts[i].size ||
            (parts[i].size && memcmp(at, parts[i].data, parts[i].size) != 0))
            return false;
    return true;
}

/* The number of a known name, or 0 and the free place in the table. */
static uint32_t look_up(const kino__texts *texts, uint64_t hash, const kino__ring_text *head,
                        const kino_str parts[4], uint32_t *place)
{
    /* acquire pairs with the release of the insertion: the table is seen before its content */
    uint32_t *table = __atomic_load_n(&texts->table, __ATOMIC_ACQUIRE);
    *place = (uint32_t)hash % KINO__TEXTS_SLOTS;
    while (table) {
        uint32_t found = __atomic_load_n(&table[*place], __ATOMIC_ACQUIRE);
        if (!found)
            return 0;
        const kino__ring_text *entry =
            (const kino__ring_text *)(const void *)(texts->log + ((uint64_t)found - 1) * 8);
        if (is_same(entry, head, parts))
            return entry->id;
        *place = (*place + 1) % KINO__TEXTS_SLOTS;
    }
    return 0;
}

/* Makes a name; the lock is held. */
static uint32_t insert(kino__texts *texts, const kino__ring_text *head, const kino_str parts[4])
{
    uint32_t place, id = look_up(texts, hash_of(head, parts), head, parts, &place);
    if (id)
        return id;
    if (texts->name_count >= KINO__TEXTS_NAMES_MAX)
        return KINO__TEXT_LOST;
    kino__ring_text entry = *head;
    entry.kind = KINO__TEXT_NAME;
    entry.id = texts->name_count + 1;
    uint64_t offset = append(texts, &entry, parts);
    if (offset == UINT64_MAX)
        return KINO__TEXT_LOST;
    texts->name_count++;
    __atomic_store_n(&texts->table[place], (uint32_t)(offset / 8) + 1, __ATOMIC_RELEASE);
    return entry.id;
}

/* Log and table, made when they are first needed; the lock is held. */
static bool is_made(kino__texts *texts)
{
    if (texts->table)
        return true;
    if (!texts->log)
        texts->log = map_memory(LOG_BYTES);
    uint32_t *table = texts->log ? map_memory(KINO__TEXTS_SLOTS * sizeof *table) : NULL;
    if (!table)
        return false;
    texts->log_bytes = LOG_BYTES;
    __atomic_store_n(&texts->table, table, __ATOMIC_RELEASE);
    const kino_str parts[4] = {lost_name, {"", 0}, {"", 0}, {"", 0}};
    (void)insert(texts, &(kino__ring_text){0}, parts);
    return true;
}

/* -- names */

uint32_t kino__texts_name(kino__texts *texts, const kino__ring_text *head, const kino_str parts[4],
                          bool *busy)
{
    uint32_t place;
    if (busy)
        *busy = false;
    uint32_t id = look_up(texts, hash_of(head, parts), head, parts, &place);
    if (id)
        return id;
    if (!lock(texts)) {
        if (busy)
            *busy = true;
        return KINO__TEXT_LOST;
    }
    id = is_made(texts) ? insert(texts, head, parts) : KINO__TEXT_LOST;
    unlock(texts);
    return id;
}

static kino_str part_of(const char *text)
{
    return (kino_str){text ? text : "", text ? strnlen(text, PART_MAX) : 0};
}

uint32_t kino__texts_find(kino__texts *texts, const char *name, const char *category)
{
    const kino_str parts[4] = {part_of(name), part_of(category), {"", 0}, {"", 0}};
    return kino__texts_name(texts, &(kino__ring_text){0}, parts, NULL);
}

uint32_t kino__texts_site(kino__texts *texts, kino_impl_v1_site *site)
{
    const kino_str parts[4] = {part_of(site->name), part_of(site->category), part_of(site->file),
                               part_of(site->function)};
    bool busy;
    uint32_t id = kino__texts_name(texts, &(kino__ring_text){.line = site->line}, parts, &busy);
    if (!busy)
        __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
    return id;
}

/* -- metadata */

static void publish_key(kino__capture *capture, const kino__texts *texts, uint32_t i)
{
    const kino_str parts[4] = {{texts->keys[i].key, texts->keys[i].key_size},
                               {texts->keys[i].json, texts->keys[i].json_size},
                               {"", 0},
                               {"", 0}};
    publish(capture, &(kino__ring_text){.kind = KINO__TEXT_METADATA}, parts);
}

static char *copy_of(kino_str text)
{
    char *copy = malloc(text.size + 1);
    if (copy && text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}

/* Where the key is, or the place behind the last one; KINO__TEXTS_KEYS: there is none. */
static uint32_t find_key(const kino__texts *texts, kino_str key)
{
    for (uint32_t i = 0; i < texts->key_count; i++)
        if (kino__str_equal((kino_str){texts->keys[i].key, texts->keys[i].key_size}, key))
            return i;
    return texts->key_count;
}

/* The lock is held. */
static kino_status replace_value(kino__texts *texts, uint32_t i, kino_str key, kino_str json,
                                 kino_error *err)
{
    bool is_new = i == texts->key_count;
    char *value = copy_of(json);
    if (is_new && value)
        texts->keys[i].key = copy_of(key);
    if (!value || !texts->keys[i].key) {
        free(value);
        return kino__fail_nomem(err);
    }
    if (is_new)
        texts->keys[i].key_size = key.size;
    else
        free(texts->keys[i].json);
    texts->keys[i].json = value;
    texts->keys[i].json_size = json.size;
    texts->key_count += is_new;
    publish_key(texts->capture, texts, i);
    return KINO_OK;
}

/* The lock is held. */
static kino_status set_key(kino__texts *texts, kino_str key, kino_str json, bool is_default,
                           kino_error *err)
{
    uint32_t i = find_key(texts, key);
    if (i == KINO__TEXTS_KEYS)
        return kino__fail(err, KINO_LIMIT, "more than %d keys of metadata", KINO__TEXTS_KEYS);
    bool is_known = i < texts->key_count;
    if (is_known && is_default && !texts->keys[i].is_default)
        return KINO_OK;
    if (!is_known ||
        !kino__str_equal((kino_str){texts->keys[i].json, texts->keys[i].json_size}, json))
        KINO_TRY(replace_value(texts, i, key, json, err));
    texts->keys[i].is_default = is_default;
    return KINO_OK;
}

static kino_status lock_made(kino__texts *texts, kino_error *err)
{
    if (!lock(texts))
        return kino__fail(err, KINO_UNAVAILABLE, "the recorder's metadata is in use");
    if (is_made(texts))
        return KINO_OK;
    unlock(texts);
    return kino__fail_nomem(err);
}

kino_status kino__texts_metadata(kino__texts *texts, kino_str key, kino_str json, bool is_default,
                                 kino_error *err)
{
    if (!kino__json_is_valid(json))
        return kino__fail(err, KINO_ARGUMENT, "the value of '%.*s' is not JSON",
                          KINO__STR_ARG(key));
    KINO_TRY(lock_made(texts, err));
    kino_status st = set_key(texts, key, json, is_default, err);
    unlock(texts);
    return st;
}

void kino__texts_forget(kino__texts *texts, kino_str key, bool is_default)
{
    if (lock_made(texts, NULL) != KINO_OK)
        return;
    (void)set_key(texts, key, (kino_str){"", 0}, is_default, NULL);
    unlock(texts);
}

kino_status kino__texts_device(kino__texts *texts, kino_str json, kino_error *err)
{
    if (!kino__json_is_valid(json) || json.data[0] != '{')
        return kino__fail(err, KINO_ARGUMENT, "device properties are not a JSON object");
    KINO_TRY(lock_made(texts, err));
    const kino_str parts[4] = {{"", 0}, json, {"", 0}, {"", 0}};
    uint64_t offset = append(texts, &(kino__ring_text){.kind = KINO__TEXT_DEVICE}, parts);
    unlock(texts);
    return offset != UINT64_MAX ? KINO_OK : kino__fail(err, KINO_LIMIT, "no room for the device");
}

static uint32_t publish_logged(kino__capture *capture, const char *at)
{
    kino__ring_text entry;
    kino_str parts[4];
    memcpy(&entry, at, sizeof entry);
    at += sizeof entry;
    for (int i = 0; i < 4; at += entry.sizes[i], i++)
        parts[i] = (kino_str){at, entry.sizes[i]};
    publish(capture, &entry, parts);
    return entry.size;
}

void kino__texts_attach(kino__texts *texts, kino__capture *capture)
{
    while (!lock(texts))
        ;
    texts->capture = NULL;
    if (capture && is_made(texts)) {
        for (uint64_t at = 0; at < texts->used;)
            at += publish_logged(capture, texts->log + at);
        for (uint32_t i = 0; i < texts->key_count; i++)
            if (texts->keys[i].json_size) /* not taken back */
                publish_key(capture, texts, i);
        texts->capture = capture;
    }
    unlock(texts);
}
