/* failing_heap.c - see the header. */
#include "unit/failing_heap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "unit/test.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static atomic_bool is_on;
static atomic_size_t asked, allowed;

static bool fails(void)
{
    if (!atomic_load(&is_on) || atomic_fetch_add(&asked, 1) < atomic_load(&allowed))
        return false;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

void failing_heap_start(size_t successes)
{
    atomic_store(&asked, 0);
    atomic_store(&allowed, successes);
    atomic_store(&is_on, true);
}

size_t failing_heap_stop(void)
{
    atomic_store(&is_on, false);
    size_t count = atomic_load(&asked), most = atomic_load(&allowed);
    return count > most ? count - most : 0;
}

size_t failing_heap_walk(kino_status (*operation)(void *context, kino_error *err), void *context)
{
    size_t rounds = 0, failures = 1;
    for (size_t n = 0; failures; n += 1, rounds++) {
        kino_error err;
        failing_heap_start(n);
        kino_status st = operation(context, &err);
        failures = failing_heap_stop();
        if (st != KINO_OK && (st != KINO_NOMEM || !failures)) {
            (void)fprintf(stderr, "allocation %zu: %s\n", n, err.message);
            CHECK_EQ(st, failures ? KINO_NOMEM : KINO_OK);
            break;
        }
    }
    return rounds;
}
