/* device_external.c - record functions as owners of device work: each gets a number, backends hear
 * of its begin and end on the thread, and what the thread launches in between carries the number.
 *
 * Begin and end must come in pairs on the same thread for the backend's runtime, whatever sessions
 * do meanwhile: a stack per thread remembers who heard of the begin. Functions that end on another
 * thread, or deeper than the stack is, are not followed. */
#include <stdlib.h>

#include "tracer/device/device.h"

enum { DEPTH = 64 };

typedef struct open_function {
    uint64_t span, id;
    uint32_t backends; /* bits: who heard of it */
    uint32_t kind;
} open_function;

typedef struct stack {
    open_function open[DEPTH];
    kino__devices *all;
    uint32_t count;
} stack;

/* Thread-local variables of libkino must be small, or dlopen of it fails: a stack is allocated for
 * threads that have functions while a backend listens. The key is there to free it. */
/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): of each thread */
static __thread stack *mine;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_key;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static void release(void *memory)
{
    mine = NULL;
    free(memory);
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, release) == 0;
}

/* NULL: memory is out. */
static stack *stack_of_thread(void)
{
    if (mine)
        return mine;
    (void)pthread_once(&once, make_key);
    stack *fresh = has_key ? calloc(1, sizeof *fresh) : NULL;
    if (fresh && pthread_setspecific(key, fresh) != 0) {
        free(fresh);
        fresh = NULL;
    }
    return mine = fresh;
}

void kino__external_add(kino__devices *all, kino__backend *b)
{
    uint32_t count = all->external_count;
    if (count == KINO__DEVICE_EXTERNALS)
        return;
    all->externals[count] = b;
    __atomic_store_n(&all->external_count, count + 1, __ATOMIC_RELEASE); /* _begin, _end */
}

uint64_t kino__external_begin(kino__tracer *t, uint64_t span, uint32_t kind, const char *name)
{
    kino__devices *all = __atomic_load_n(&t->devices, __ATOMIC_ACQUIRE);
    uint32_t count = all ? __atomic_load_n(&all->external_count, __ATOMIC_ACQUIRE) : 0;
    uint32_t backends = 0;
    uint64_t id = 0;
    stack *open = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const kino__backend *b = all->externals[i];
        if (!__atomic_load_n(&b->is_on, __ATOMIC_RELAXED))
            continue;
        open = stack_of_thread();
        if (!open || open->count == DEPTH)
            return 0;
        if (!id)
            id = __atomic_add_fetch(&all->external, 1, __ATOMIC_RELAXED);
        b->def.push(b->def.context, kind, id, name ? name : "");
        backends |= 1u << i;
    }
    if (backends) {
        open->open[open->count++] = (open_function){span, id, backends, kind};
        open->all = all;
    }
    return id;
}

void kino__external_describe(uint64_t span, const char *json)
{
    const open_function *f = mine && mine->count ? &mine->open[mine->count - 1] : NULL;
    for (uint32_t i = 0; f && f->span == span && i < KINO__DEVICE_EXTERNALS; i++)
        if (f->backends & 1u << i && mine->all->externals[i]->def.describe) {
            const kino__backend *b = mine->all->externals[i];
            b->def.describe(b->def.context, f->id, json);
        }
}

static void pop(const open_function *f)
{
    for (uint32_t i = 0; i < KINO__DEVICE_EXTERNALS; i++)
        if (f->backends & 1u << i) {
            const kino__backend *b = mine->all->externals[i];
            b->def.pop(b->def.context, f->kind);
        }
}

/* Those above it on the stack have ended elsewhere, or never. */
void kino__external_end(uint64_t span)
{
    uint32_t at = mine ? mine->count : 0;
    while (at > 0 && mine->open[at - 1].span != span)
        at--;
    if (at == 0)
        return;
    while (mine->count >= at)
        pop(&mine->open[--mine->count]);
}
