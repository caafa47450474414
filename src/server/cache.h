/* cache.h - answers that were made before, by a key that names all they depend on. The least
 * recently used ones go when they are too many. Any thread. */
#ifndef KINO__SERVER_CACHE_H
#define KINO__SERVER_CACHE_H

#include "server/body.h"

typedef struct kino__cache kino__cache;

/* What is kept of an answer: its bytes, and the same in gzip or NULL. */
typedef struct kino__cached {
    kino__body *plain, *gzip;
    bool is_truncated;
} kino__cached;

kino__cache *kino__cache_new(uint64_t limit_bytes); /* NULL when memory is out */
void kino__cache_free(kino__cache *cache);

/* True: *out has references of its own to be given back. */
bool kino__cache_get(kino__cache *cache, kino_str key, kino__cached *out);
/* Keeps references of its own; what is too large, or finds no memory, is not kept. */
void kino__cache_put(kino__cache *cache, kino_str key, const kino__cached *value);
uint64_t kino__cache_bytes(kino__cache *cache);

#endif
