/* failing_heap.h - malloc, calloc, realloc and aligned_alloc of our own code fail after so many
 * successes, for walking through every allocation of an operation that takes no allocator. The test
 * program is linked with --wrap for them; what libraries (SQLite, zlib) ask for does not fail.
 *
 *   for (size_t n = 0;; n++) {
 *       failing_heap_start(n);
 *       kino_status st = do_it(&err);
 *       if (failing_heap_stop() == 0)
 *           break;
 *       CHECK(st == KINO_NOMEM);
 *   } */
#ifndef KINO_TEST_FAILING_HEAP_H
#define KINO_TEST_FAILING_HEAP_H

#include <kino/base.h>

/* The first `successes` requests for memory succeed, all later ones fail, on any thread. */
void failing_heap_start(size_t successes);
/* Ends that; how many requests failed. */
size_t failing_heap_stop(void);

/* Walks through an operation until nothing fails any more: each round succeeds or says that memory
 * is out. Returns the rounds. */
size_t failing_heap_walk(kino_status (*operation)(void *context, kino_error *err), void *context);

#endif
