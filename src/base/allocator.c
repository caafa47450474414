/* allocator.c - the default allocator and large page-backed blocks. */
#include "base/allocator.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *kino__resize(const kino__allocator *a, void *old, size_t old_size, size_t new_size)
{
    if (a)
        return a->resize(a->context, old, old_size, new_size);
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, new_size);
}

enum { HUGE_PAGE = 2 << 20 };

static size_t page_rounded(size_t size)
{
    size_t unit = size >= HUGE_PAGE ? HUGE_PAGE : 4096;
    return (size + unit - 1) & ~(unit - 1);
}

void *kino__pages_new(size_t size)
{
    if (size == 0 || size > SIZE_MAX / 2)
        return NULL;
    size_t rounded = page_rounded(size);
    /* Over-reserve to align at a huge page, then give the ends back. */
    size_t slack = rounded >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *base =
        mmap(NULL, rounded + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (slack) {
        size_t skip = (HUGE_PAGE - ((size_t)base & (HUGE_PAGE - 1))) & (HUGE_PAGE - 1);
        if (skip)
            munmap(base, skip);
        if (slack > skip)
            munmap(base + skip + rounded, slack - skip);
        base += skip;
        (void)madvise(base, rounded, MADV_HUGEPAGE); /* advice: a refusal costs speed only */
    }
    return base;
}

void kino__pages_drop(void *start, size_t size)
{
    const uintptr_t page = 4096;
    uintptr_t first = ((uintptr_t)start + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)start + size) & ~(page - 1);
    if (end > first)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

void kino__pages_free(void *pages, size_t size)
{
    if (pages)
        munmap(pages, page_rounded(size));
}
