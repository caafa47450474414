/* large.c - memory for large arrays; see the header. In front of each block stands its size. */
#include "base/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 64,            /* keeps the alignment */
    PAGES_FROM = 1 << 20, /* bytes; smaller blocks come from the C library */
};

static size_t *head_of(void *block)
{
    return (size_t *)(void *)((char *)block - HEAD);
}

void *kino__large_new(size_t count, size_t item)
{
    size_t size;
    if (!kino__mul_size(count, item, &size) || size > SIZE_MAX / 2)
        return NULL;
    size = (size + HEAD + HEAD - 1) & ~(size_t)(HEAD - 1); /* with the head, and a multiple of it */
    char *head = size >= PAGES_FROM ? kino__pages_new(size) : aligned_alloc(HEAD, size);
    if (!head)
        return NULL;
    if (size < PAGES_FROM)
        memset(head, 0, size);
    *(size_t *)(void *)head = size;
    return head + HEAD;
}

void kino__large_free(void *array)
{
    if (!array)
        return;
    size_t *head = head_of(array);
    if (*head >= PAGES_FROM)
        kino__pages_free(head, *head);
    else
        free(head);
}

static void *resize(void *context, void *old, size_t old_size, size_t new_size)
{
    (void)context;
    void *fresh = NULL;
    if (new_size) {
        fresh = kino__large_new(new_size, 1);
        if (!fresh)
            return NULL;
        if (old)
            memcpy(fresh, old, old_size < new_size ? old_size : new_size);
    }
    kino__large_free(old);
    return fresh;
}

const kino__allocator kino__large_allocator = {resize, NULL};
