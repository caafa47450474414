/* arena.c - bump allocation in blocks. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/asan_interface.h>
#    define POISON(p, n)   ASAN_POISON_MEMORY_REGION(p, n)
#    define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#    define POISON(p, n)   ((void)(p), (void)(n))
#    define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

struct kino__arena_block {
    kino__arena_block *older;
    size_t size; /* of data */
    size_t used;
    _Alignas(16) char data[];
};

enum { FIRST_BLOCK = 64 << 10, LARGEST_STEP = 8 << 20 };

void kino__arena_init(kino__arena *arena, const kino__allocator *allocator)
{
    *arena = (kino__arena){.allocator = allocator};
}

static void free_newest(kino__arena *arena)
{
    kino__arena_block *block = arena->newest;
    arena->newest = block->older;
    arena->total -= block->size;
    UNPOISON(block->data, block->size);
    kino__resize(arena->allocator, block, sizeof *block + block->size, 0);
}

void kino__arena_deinit(kino__arena *arena)
{
    while (arena->newest)
        free_newest(arena);
}

static kino__arena_block *add_block(kino__arena *arena, size_t at_least)
{
    size_t size = arena->newest ? arena->newest->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    if (size < at_least)
        size = at_least;
    if (size > SIZE_MAX - sizeof(kino__arena_block))
        return NULL;
    kino__arena_block *block = kino__resize(arena->allocator, NULL, 0, sizeof *block + size);
    if (!block)
        return NULL;
    block->older = arena->newest;
    block->size = size;
    block->used = 0;
    POISON(block->data, size);
    arena->newest = block;
    arena->total += size;
    return block;
}

void *kino__arena_alloc(kino__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded == 0)
        rounded = 16;
    kino__arena_block *block = arena->newest;
    if (!block || block->size - block->used < rounded) {
        block = add_block(arena, rounded);
        if (!block)
            return NULL;
    }
    void *p = block->data + block->used;
    block->used += rounded;
    UNPOISON(p, size);
    return p;
}

kino_str kino__arena_copy(kino__arena *arena, kino_str text)
{
    char *p = kino__arena_alloc(arena, text.size + 1);
    if (!p)
        return (kino_str){NULL, 0};
    if (text.size)
        memcpy(p, text.data, text.size);
    p[text.size] = 0;
    return (kino_str){p, text.size};
}

kino_str kino__arena_format(kino__arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    kino_str out = {NULL, 0};
    char *p = n < 0 ? NULL : kino__arena_alloc(arena, (size_t)n + 1);
    if (p && vsnprintf(p, (size_t)n + 1, format, again) == n)
        out = (kino_str){p, (size_t)n};
    va_end(again);
    return out;
}

kino__arena_mark kino__arena_get_mark(const kino__arena *arena)
{
    return (kino__arena_mark){arena->newest, arena->newest ? arena->newest->used : 0};
}

void kino__arena_rewind(kino__arena *arena, kino__arena_mark mark)
{
    while (arena->newest && arena->newest != mark.block)
        free_newest(arena);
    if (arena->newest) {
        arena->newest->used = mark.used;
        POISON(arena->newest->data + mark.used, arena->newest->size - mark.used);
    }
}

const char *kino__join_path(kino__arena *arena, const char *folder, const char *name)
{
    size_t size = strlen(folder);
    bool has_slash = size && folder[size - 1] == '/';
    return kino__arena_format(arena, "%s%s%s", folder, has_slash ? "" : "/", name).data;
}
