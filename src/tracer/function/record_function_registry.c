/* record_function_registry.c - who listens: the callbacks of the process and of its threads, and
 * what happens to them when threads come and go and when the process forks. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "tracer/function/record_function_internal.h"

/* One registry for the process: NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables) */
/* All bits set: the thread has not joined, and the first function that it opens makes it join. */
__thread kino_impl_v1_record_thread kino_impl_v1_record_self
    __attribute__((tls_model("initial-exec"))) = {UINT32_MAX, 0, NULL};

static kino__record_registry own = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                    .spans = KINO_RECORD_SPANS_INIT};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static kino__record_registry *shared; /* the first copy's; set by `once`; NULL: none */
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- locks */

void kino__record_lock(kino__record_thread *thread)
{
    while (__atomic_exchange_n(&thread->lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

void kino__record_unlock(kino__record_thread *thread)
{
    __atomic_store_n(&thread->lock, 0, __ATOMIC_RELEASE);
}

/* -- entries */

kino_status kino__record_entry_new(const kino_record_callback *callback, kino__record_entry **out,
                                   kino_error *err)
{
    *out = NULL;
    if (!callback || callback->size < sizeof *callback)
        return kino__fail(err, KINO_ARGUMENT, "callback not initialized");
    if (!(callback->probability >= 0 && callback->probability <= 1))
        return kino__fail(err, KINO_ARGUMENT, "invalid sampling probability %g (expected: 0 to 1)",
                          callback->probability);
    if (callback->scopes & ~KINO_SCOPES_ALL)
        return kino__fail(err, KINO_ARGUMENT, "invalid scopes 0x%x (known: 0x%x)", callback->scopes,
                          KINO_SCOPES_ALL);
    kino__record_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return kino__fail_nomem(err);
    *entry = (kino__record_entry){*callback, 0, 1};
    *out = entry;
    return KINO_OK;
}

void kino__record_ref(kino__record_entry *entry)
{
    __atomic_fetch_add(&entry->references, 1, __ATOMIC_RELAXED);
}

void kino__record_unref(kino__record_entry *entry)
{
    /* acquire: the last one sees what all others did before they let go */
    if (!entry || __atomic_sub_fetch(&entry->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (entry->callback.release)
        entry->callback.release(entry->callback.user);
    free(entry);
}

int kino__record_find(const kino__record_list *list, uint64_t handle)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].entry->handle == handle)
            return (int)i;
    return -1;
}

bool kino__record_append(kino__record_list *list, kino__record_entry *entry)
{
    if (list->count == KINO_RECORD_CALLBACKS_MAX)
        return false;
    list->items[list->count++] = (kino__record_item){entry, true};
    return true;
}

kino__record_entry *kino__record_cut_out(kino__record_list *list, uint64_t handle)
{
    int at = kino__record_find(list, handle);
    if (at < 0)
        return NULL;
    kino__record_entry *entry = list->items[at].entry;
    list->count--;
    memmove(&list->items[at], &list->items[at + 1],
            (list->count - (uint32_t)at) * sizeof *list->items);
    return entry;
}

/* -- tables */

void kino__record_publish(kino__record_thread *thread)
{
    uint32_t scopes = thread->is_enabled ? thread->scopes : 0;
    for (uint32_t i = 0; i < thread->self_count; i++)
        __atomic_store_n(&thread->selves[i]->scopes, scopes, __ATOMIC_RELAXED);
}

static void add_rows(kino__record_thread *thread, const kino__record_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        kino__record_entry *entry = list->items[i].entry;
        const kino_record_callback *callback = &entry->callback;
        if (!list->items[i].is_enabled || callback->probability == 0)
            continue;
        kino__record_row *row = &thread->rows[thread->row_count++];
        *row = (kino__record_row){.entry = entry};
        thread->scopes |= callback->scopes;
        for (uint32_t scope = 0; scope < KINO_SCOPE_COUNT; scope++)
            if (callback->probability < 1 && callback->scopes >> scope & 1)
                row->tries[scope] = kino__record_tries(&thread->random, callback->probability);
    }
}

/* Samples are drawn anew, which changes nothing: a geometric distribution has no memory. */
void kino__record_rebuild(kino__record_registry *r, kino__record_thread *thread)
{
    thread->row_count = 0;
    thread->scopes = 0;
    add_rows(thread, &r->globals);
    add_rows(thread, &thread->locals);
    for (uint32_t scope = 0; scope < KINO_SCOPE_COUNT; scope++)
        kino__record_wind_up(thread, scope);
    kino__record_publish(thread);
}

void kino__record_rebuild_all(kino__record_registry *r)
{
    for (kino__record_thread *thread = r->threads; thread; thread = thread->next) {
        kino__record_lock(thread);
        kino__record_rebuild(r, thread);
        kino__record_unlock(thread);
    }
}

/* -- threads */

uint64_t kino__record_seed(const kino__record_registry *r, const kino__record_thread *thread)
{
    uint64_t seed = r->seed;
    if (!seed) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        seed = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    return kino__record_mix(seed, thread->id);
}

static kino__record_thread *join(kino__record_registry *r)
{
    kino__record_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->is_enabled = true;
    thread->selves[thread->self_count++] = &kino_impl_v1_record_self;
    pthread_mutex_lock(&r->lock);
    thread->id = ++r->thread_count;
    thread->random = kino__record_seed(r, thread);
    thread->next = r->threads;
    r->threads = thread;
    kino__record_lock(thread);
    kino__record_rebuild(r, thread);
    kino__record_unlock(thread);
    pthread_mutex_unlock(&r->lock);
    kino_impl_v1_record_self.thread = thread;
    (void)pthread_setspecific(r->key, thread);
    return thread;
}

/* The thread came through another copy of the library before. One copy too many has no fast path:
 * it asks each time. */
static void join_also(kino__record_thread *thread)
{
    kino__record_lock(thread);
    if (thread->self_count < KINO__TRACER_COPIES) {
        thread->selves[thread->self_count++] = &kino_impl_v1_record_self;
        kino_impl_v1_record_self.thread = thread;
        kino__record_publish(thread);
    }
    kino__record_unlock(thread);
}

kino__record_thread *kino__record_thread_get(void)
{
    if (__builtin_expect(kino_impl_v1_record_self.thread != NULL, 1))
        return kino_impl_v1_record_self.thread;
    kino__record_registry *r = kino__record_registry_get();
    kino__record_thread *thread = r ? pthread_getspecific(r->key) : NULL;
    if (thread)
        join_also(thread);
    else if (r)
        thread = join(r);
    return thread;
}

void kino__record_drop_all(kino__record_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        kino__record_unref(list->items[i].entry);
    list->count = 0;
}

/* A function opened later, in other destructors, makes the thread join again. */
static void leave(void *context)
{
    kino__record_registry *r = kino__record_registry_get();
    kino__record_thread *thread = context;
    pthread_mutex_lock(&r->lock);
    kino__record_thread **link = &r->threads;
    while (*link != thread)
        link = &(*link)->next;
    *link = thread->next;
    pthread_mutex_unlock(&r->lock);
    for (uint32_t i = 0; i < thread->self_count; i++) {
        thread->selves[i]->thread = NULL;
        __atomic_store_n(&thread->selves[i]->scopes, UINT32_MAX, __ATOMIC_RELAXED);
    }
    kino__record_drop_all(&thread->locals);
    free(thread);
}

/* -- the process */

static void before_fork(void)
{
    pthread_mutex_lock(&own.lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&own.lock);
}

/* There is one thread, this one. The others' memory stays: nobody could tell who uses it. */
static void after_fork_child(void)
{
    kino__record_registry *r = &own;
    kino__record_thread *thread = pthread_getspecific(r->key);
    r->threads = thread;
    r->spans_are_on = false;
    kino__record_entry *spans = kino__record_cut_out(&r->globals, r->spans_handle);
    r->spans_handle = 0;
    if (thread) {
        thread->next = NULL;
        thread->lock = 0;
        kino__record_rebuild(r, thread);
    }
    pthread_mutex_unlock(&r->lock); /* the thread that forked took it */
    kino__record_unref(spans);
}

static void load(void)
{
    kino__tracer *t = kino__tracer_get();
    if (!t)
        return;
    void *first = __atomic_load_n(&t->records, __ATOMIC_ACQUIRE);
    if (!first && pthread_key_create(&own.key, leave) == 0) {
        if (__atomic_compare_exchange_n(&t->records, &first, &own, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            first = &own;
            pthread_atfork(before_fork, after_fork_parent, after_fork_child);
        } else {
            (void)pthread_key_delete(own.key);
        }
    }
    shared = first;
}

kino__record_registry *kino__record_registry_get(void)
{
    pthread_once(&once, load);
    return shared;
}
