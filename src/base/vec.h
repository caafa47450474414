/* vec.h - one growing array for everyone, typed by macro.
 *
 *   KINO__VEC(int64_t) times = {0};
 *   int64_t *slot = kino__vec_add(&times);      NULL when memory is out; the array is as it was
 *   for (size_t i = 0; i < times.count; i++) ... times.items[i] ...
 *   kino__vec_deinit(&times);
 *
 * Growth is 1.5 times plus a constant, checked for overflow. Items move when the array grows. */
#ifndef KINO__BASE_VEC_H
#define KINO__BASE_VEC_H

#include <stddef.h>
#include <string.h>

#include "base/allocator.h"

#define KINO__VEC(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
        const kino__allocator *allocator;                                                          \
    }

/* Makes room for `extra` more items; false when it cannot. */
#define kino__vec_reserve(v, extra)                                                                \
    ((v)->capacity - (v)->count >= (size_t)(extra) ||                                              \
     kino__vec_grow((void **)&(v)->items, &(v)->capacity, (v)->count, (size_t)(extra),             \
                    sizeof *(v)->items, (v)->allocator))

/* A new slot at the end, not initialised, or NULL. */
#define kino__vec_add(v) (kino__vec_reserve(v, 1) ? &(v)->items[(v)->count++] : NULL)

/* Adds all items of another array of the same type; false when memory is out. */
#define kino__vec_append(v, from)                                                                  \
    (kino__vec_reserve(v, (from)->count) &&                                                        \
     ((from)->count == 0 || memcpy((v)->items + (v)->count, (from)->items,                         \
                                   (from)->count * sizeof *(v)->items) != NULL) &&                 \
     ((v)->count += (from)->count, true))

/* Gives back the room behind the last item, where that is possible. */
#define kino__vec_trim(v)                                                                          \
    kino__vec_shrink((void **)&(v)->items, &(v)->capacity, (v)->count, sizeof *(v)->items,         \
                     (v)->allocator)

#define kino__vec_deinit(v)                                                                        \
    ((void)kino__resize((v)->allocator, (v)->items, (v)->capacity * sizeof *(v)->items, 0),        \
     (v)->items = NULL, (v)->count = (v)->capacity = 0)

bool kino__vec_grow(void **items, size_t *capacity, size_t count, size_t extra, size_t item_size,
                    const kino__allocator *allocator);
void kino__vec_shrink(void **items, size_t *capacity, size_t count, size_t item_size,
                      const kino__allocator *allocator);

#endif
