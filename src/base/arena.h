/* arena.h - memory with one common end of life: a trace's strings, a query's scratch, a request's
 * answer.
 *
 *   arena --> block --> block --> NULL        newest first; each at least 64 KiB, growing
 *             [header | used ......... | free, poisoned under ASan ]
 *
 * Alloc is a bump; mark and rewind give back what came after; deinit frees all. One thread at a
 * time. */
#ifndef KINO__BASE_ARENA_H
#define KINO__BASE_ARENA_H

#include <kino/base.h>

#include "base/allocator.h"

typedef struct kino__arena_block kino__arena_block;

typedef struct kino__arena {
    kino__arena_block *newest;
    size_t total; /* bytes held in blocks */
    const kino__allocator *allocator;
} kino__arena;

typedef struct kino__arena_mark {
    kino__arena_block *block;
    size_t used;
} kino__arena_mark;

void kino__arena_init(kino__arena *arena, const kino__allocator *allocator);
void kino__arena_deinit(kino__arena *arena);

/* Uninitialised memory, aligned to 16; NULL when there is none. */
void *kino__arena_alloc(kino__arena *arena, size_t size);

/* A copy of the bytes with a terminator behind; data is NULL on failure. */
kino_str kino__arena_copy(kino__arena *arena, kino_str text);

/* printf into the arena; data is NULL on failure. */
kino_str kino__arena_format(kino__arena *arena, const char *format, ...) KINO_PRINTF(2, 3);

/* folder/name, with one slash between them; NULL when memory is out. */
const char *kino__join_path(kino__arena *arena, const char *folder, const char *name);

kino__arena_mark kino__arena_get_mark(const kino__arena *arena);
void kino__arena_rewind(kino__arena *arena, kino__arena_mark mark);

#endif
