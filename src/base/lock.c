/* lock.c - what each thread holds, in debug builds. See the header. */
#include "base/lock.h"

#ifndef NDEBUG

#    include <assert.h>
#    include <stdio.h>
#    include <stdlib.h>

enum { MOST_HELD = 32 };

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): each thread has its own */
static _Thread_local struct {
    const kino__mutex *items[MOST_HELD];
    unsigned count;
} held;

void kino__lock_taken(const kino__mutex *mutex)
{
    for (unsigned i = 0; i < held.count; i++) {
        if (held.items[i]->rank < mutex->rank)
            continue;
        (void)fprintf(stderr, "locks out of order: rank %d is held, %d is taken (base/lock.h)\n",
                      (int)held.items[i]->rank, (int)mutex->rank);
        abort();
    }
    assert(held.count < MOST_HELD);
    held.items[held.count++] = mutex;
}

void kino__lock_given(const kino__mutex *mutex)
{
    unsigned i = held.count;
    while (i > 0 && held.items[i - 1] != mutex)
        i--;
    assert(i > 0); /* by the thread that has it */
    for (; i < held.count; i++)
        held.items[i - 1] = held.items[i];
    held.count--;
}

#else
typedef int kino__lock_is_checked_in_debug_builds; /* a file must have something in it */
#endif
