/* large.h - memory for arrays as long as a trace: in huge pages where they are large, because the
 * first touch of small pages costs more than most of what is done with them. */
#ifndef KINO__BASE_LARGE_H
#define KINO__BASE_LARGE_H

#include "base/allocator.h"

/* count items, zeroed, aligned to a cache line; NULL when memory is out. Freeing NULL is fine. */
void *kino__large_new(size_t count, size_t item);
void kino__large_free(void *array);

/* For the allocator of a KINO__VEC that may become large. Making room at once is best. */
extern const kino__allocator kino__large_allocator;

#endif
