/* failing_allocator.c - see the header. */
#include "unit/failing_allocator.h"

#include <stdlib.h>

/* malloc_usable_size would hide a wrong old_size; a header of our own does not. */
typedef union header {
    size_t size;
    max_align_t align;
} header;

static void *resize(void *context, void *old, size_t old_size, size_t new_size)
{
    failing_allocator *failing = context;
    header *block = old ? (header *)old - 1 : NULL;
    if (block)
        CHECK_EQ(block->size, old_size);
    if (new_size == 0) {
        failing->held_bytes -= block ? block->size : 0;
        free(block);
        return NULL;
    }
    if (failing->successes_left == 0) {
        failing->failures++;
        return NULL;
    }
    failing->successes_left--;
    header *moved = realloc(block, sizeof *moved + new_size);
    REQUIRE(moved != NULL);
    failing->held_bytes += new_size - old_size;
    moved->size = new_size;
    return moved + 1;
}

void failing_allocator_init(failing_allocator *failing, size_t successes)
{
    *failing = (failing_allocator){.allocator = {resize, failing}, .successes_left = successes};
}
