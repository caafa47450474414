/* texts.c - the log of names and metadata. See texts.h. */
#include "tracer/texts.h"

#include <sched.h>
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

/* Copies an entry to the capture's file, its first word last. */
static void publish(kino__capture *capture, const char *log, uint64_t offset)
{
    const kino__ring_text *entry = (const kino__ring_text *)(const void *)(log + offset);
    if (!capture)
        return;
    if (offset + entry->size + 8 > capture->texts_bytes) { /* a word of zeros stays behind it */
        __atomic_fetch_add(&capture->meta->dropped[KINO__DROP_TEXTS], 1, __ATOMIC_RELAXED);
        return;
    }
    char *to = capture->texts + offset;
    memcpy(to + 4, log + offset + 4, entry->size - 4);
    __atomic_store_n((uint32_t *)(void *)to, entry->size, __ATOMIC_RELEASE);
}

/* Appends; the lock is held. Returns the offset, or UINT64_MAX when there is no room. */
static uint64_t append(kino__texts *texts, const kino__ring_text *head, const kino_str parts[4])
{
    uint32_t size = entry_size(parts);
    if (texts->used + size + 8 > texts->log_bytes)
        return UINT64_MAX;
    uint64_t offset = texts->used;
    char *at = texts->log + offset;
    kino__ring_text entry = *head;
    entry.size = size;
    for (int i = 0; i < 4; i++)
        entry.sizes[i] = (uint32_t)parts[i].size;
    memcpy(at, &entry, sizeof entry);
    at += sizeof entry;
    for (int i = 0; i < 4; at += parts[i].size, i++)
        if (parts[i].size)
            memcpy(at, parts[i].data, parts[i].size);
    texts->used += size;
    publish(texts->capture, texts->log, offset);
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

static const kino__ring_text *entry_at(const kino__texts *texts, uint64_t offset)
{
    return (const kino__ring_text *)(const void *)(texts->log + offset);
}

static kino_str part_at(const kino__ring_text *entry, int part)
{
    const char *at = (const char *)(entry + 1);
    for (int i = 0; i < part; i++)
        at += entry->sizes[i];
    return (kino_str){at, entry->sizes[part]};
}

/* The lock is held. */
static kino_status set_key(kino__texts *texts, kino_str key, kino_str json, bool is_default,
                           kino_error *err)
{
    uint32_t i = 0;
    while (i < texts->key_count &&
           !kino__str_equal(part_at(entry_at(texts, texts->keys[i].offset), 0), key))
        i++;
    if (i < texts->key_count) {
        if (is_default && !texts->keys[i].is_default)
            return KINO_OK;
        if (kino__str_equal(part_at(entry_at(texts, texts->keys[i].offset), 1), json)) {
            texts->keys[i].is_default = is_default;
            return KINO_OK;
        }
    } else if (i == KINO__TEXTS_KEYS) {
        return kino__fail(err, KINO_LIMIT, "more than %d keys of metadata", KINO__TEXTS_KEYS);
    }
    const kino_str parts[4] = {key, json, {"", 0}, {"", 0}};
    uint64_t offset = append(texts, &(kino__ring_text){.kind = KINO__TEXT_METADATA}, parts);
    if (offset == UINT64_MAX)
        return kino__fail(err, KINO_LIMIT, "no room for more metadata");
    texts->keys[i].offset = offset;
    texts->keys[i].is_default = is_default;
    if (i == texts->key_count)
        texts->key_count++;
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

void kino__texts_attach(kino__texts *texts, kino__capture *capture)
{
    while (!lock(texts))
        ;
    texts->capture = NULL;
    if (capture && is_made(texts)) {
        for (uint64_t at = 0; at < texts->used; at += entry_at(texts, at)->size)
            publish(capture, texts->log, at);
        texts->capture = capture;
    }
    unlock(texts);
}
