/* sized.h - structs that begin with their size, across a library's boundary.
 *
 * A caller's struct may be shorter than ours (it was compiled earlier) or longer (later): what both
 * have is copied, and the rest stays as it was. */
#ifndef KINO__BASE_SIZED_H
#define KINO__BASE_SIZED_H

#include <stdint.h>
#include <string.h>

static inline void kino__options_copy(void *to, size_t ours, const void *from, uint32_t theirs)
{
    memcpy(to, from, theirs < ours ? theirs : ours);
}

/* Options with their defaults become what the caller gave; NULL gives nothing. */
#define KINO__TAKE_OPTIONS(defaults, given)                                                        \
    do {                                                                                           \
        if (given)                                                                                 \
            kino__options_copy(&(defaults), sizeof(defaults), (given), (given)->size);             \
    } while (0)

/* Fills as much of a caller's struct as the caller knows of. */
#define KINO__GIVE_INFO(out, info) kino__options_copy((out), sizeof(info), &(info), (out)->size)

#endif
