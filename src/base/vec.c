/* vec.c - growth of typed arrays. */
#include "base/vec.h"

bool kino__vec_grow(void **items, size_t *capacity, size_t count, size_t extra, size_t item_size,
                    const kino__allocator *allocator)
{
    size_t need, wanted, bytes;
    if (__builtin_add_overflow(count, extra, &need))
        return false;
    wanted = *capacity + *capacity / 2 + 16;
    if (wanted < need)
        wanted = need;
    if (!kino__mul_size(wanted, item_size, &bytes))
        return false;
    void *moved = kino__resize(allocator, *items, *capacity * item_size, bytes);
    if (!moved)
        return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

void kino__vec_shrink(void **items, size_t *capacity, size_t count, size_t item_size,
                      const kino__allocator *allocator)
{
    if (count == 0 || count == *capacity)
        return;
    void *moved = kino__resize(allocator, *items, *capacity * item_size, count * item_size);
    if (!moved)
        return;
    *items = moved;
    *capacity = count;
}
