/* cache.c - a list in order of use, newest first. There are at most some hundred entries, each
 * worth milliseconds, so looking through the list costs nothing. */
#include "server/cache.h"

#include <stdlib.h>

#include "base/lock.h"

enum { MOST_ENTRIES = 512 };

typedef struct entry entry;
struct entry {
    entry *next;
    uint64_t hash, bytes;
    kino__cached value;
    size_t key_size;
    char key[];
};

struct kino__cache {
    kino__mutex lock;
    entry *first;
    uint64_t limit, bytes;
    size_t count;
};

kino__cache *kino__cache_new(uint64_t limit_bytes)
{
    kino__cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    kino__mutex_init(&cache->lock, KINO__LOCK_CACHE);
    cache->limit = limit_bytes;
    return cache;
}

static void entry_free(entry *e)
{
    kino__body_unref(e->value.plain);
    kino__body_unref(e->value.gzip);
    free(e);
}

void kino__cache_free(kino__cache *cache)
{
    if (!cache)
        return;
    for (entry *e = cache->first, *next; e; e = next) {
        next = e->next;
        entry_free(e);
    }
    kino__mutex_destroy(&cache->lock);
    free(cache);
}

/* Takes the entry of this key out of the list; NULL when there is none. */
static entry *take_out(kino__cache *cache, kino_str key, uint64_t hash)
{
    for (entry **at = &cache->first; *at; at = &(*at)->next) {
        entry *e = *at;
        if (e->hash != hash || !kino__str_equal((kino_str){e->key, e->key_size}, key))
            continue;
        *at = e->next;
        return e;
    }
    return NULL;
}

bool kino__cache_get(kino__cache *cache, kino_str key, kino__cached *out)
{
    kino__mutex_lock(&cache->lock);
    entry *e = take_out(cache, key, kino__hash_bytes(key.data, key.size));
    if (e) {
        e->next = cache->first;
        cache->first = e;
        *out = e->value;
        kino__body_ref(out->plain);
        kino__body_ref(out->gzip);
    }
    kino__mutex_unlock(&cache->lock);
    return e != NULL;
}

/* Drops the oldest entries until there is room; they are chained for freeing. */
static entry *make_room(kino__cache *cache)
{
    uint64_t bytes = 0;
    size_t count = 0;
    entry **at = &cache->first;
    while (*at && bytes + (*at)->bytes <= cache->limit && count < MOST_ENTRIES) {
        bytes += (*at)->bytes;
        count++;
        at = &(*at)->next;
    }
    entry *rest = *at;
    *at = NULL;
    cache->bytes = bytes;
    cache->count = count;
    return rest;
}

void kino__cache_put(kino__cache *cache, kino_str key, const kino__cached *value)
{
    uint64_t bytes = key.size + value->plain->size + (value->gzip ? value->gzip->size : 0);
    entry *e = bytes <= cache->limit / 4 ? malloc(sizeof *e + key.size) : NULL;
    if (!e)
        return;
    *e = (entry){.hash = kino__hash_bytes(key.data, key.size),
                 .bytes = bytes,
                 .value = *value,
                 .key_size = key.size};
    memcpy(e->key, key.data, key.size);
    kino__body_ref(e->value.plain);
    kino__body_ref(e->value.gzip);
    kino__mutex_lock(&cache->lock);
    entry *old = take_out(cache, key, e->hash);
    e->next = cache->first;
    cache->first = e;
    entry *rest = make_room(cache);
    kino__mutex_unlock(&cache->lock);
    if (old)
        entry_free(old);
    while (rest) {
        entry *next = rest->next;
        entry_free(rest);
        rest = next;
    }
}

uint64_t kino__cache_bytes(kino__cache *cache)
{
    kino__mutex_lock(&cache->lock);
    uint64_t bytes = cache->bytes;
    kino__mutex_unlock(&cache->lock);
    return bytes;
}
