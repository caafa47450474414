/* failing_allocator.h - an allocator that counts what is held and fails after so many successes,
 * for walking through each allocation of a module:
 *
 *   for (size_t n = 0;; n++) {
 *       failing_allocator_init(&failing, n);
 *       if (do_it(&failing.allocator))
 *           break;
 *       CHECK_EQ(failing.held_bytes, 0);
 *   }
 *
 * Sizes are checked as well: whoever frees or moves a block must know how large it is. */
#ifndef KINO_TEST_FAILING_ALLOCATOR_H
#define KINO_TEST_FAILING_ALLOCATOR_H

#include "base/allocator.h"
#include "unit/test.h"

typedef struct failing_allocator {
    kino__allocator allocator;
    size_t successes_left;
    size_t held_bytes;
    size_t failures;
} failing_allocator;

/* The first `successes` requests for memory succeed, all later ones fail. Freeing always works. */
void failing_allocator_init(failing_allocator *failing, size_t successes);

#endif
