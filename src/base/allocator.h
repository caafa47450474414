/* allocator.h - the value through which memory is asked for, so that tests can make the n-th
 * request fail.
 *
 * A NULL allocator means the C library's. One function does everything: resize(NULL, 0, n)
 * allocates, resize(p, n, m) moves, resize(p, n, 0) frees and returns NULL. On failure the old
 * block stays valid. */
#ifndef KINO__BASE_ALLOCATOR_H
#define KINO__BASE_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kino__allocator {
    void *(*resize)(void *context, void *old, size_t old_size, size_t new_size);
    void *context;
} kino__allocator;

void *kino__resize(const kino__allocator *a, void *old, size_t old_size, size_t new_size);

/* *out = a * b; false on overflow. Sizes that come from input are multiplied with this. */
static inline bool kino__mul_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Large anonymous memory, zeroed, in huge pages where the system gives them; NULL on failure.
 * For columns: first touch is the cost, and a huge page is touched once instead of 512 times. */
void *kino__pages_new(size_t size);
void kino__pages_free(void *pages, size_t size);
/* Gives back the memory of a part of such a block: its pages that lie wholly inside. Nobody reads it
 * any more; the block is freed as a whole. */
void kino__pages_drop(void *start, size_t size);

#endif
