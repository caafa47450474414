/* record_function_internal.h - what the files record_function*.c share: callbacks, threads and the
 * registry that knows them all.
 *
 * A callback is an entry, counted by the lists that have it. The global list and the list of a
 * thread make up the thread's table, global ones first, which is all that opening a function looks
 * at. A change of the global list rewrites the tables of all threads, each under the lock of its
 * thread, so opening a function takes that one lock, which hardly ever anybody else holds, and no
 * thread has to be waited for:
 *
 *   registry ── globals: entry, entry, ...                   lock: mutex
 *      └─ thread ─ thread ─ thread                           lock: spin
 *           ├─ locals: entry, ...
 *           ├─ table:  globals, then locals; countdowns of samples
 *           └─ selves: a bit per scope, in a thread-local variable: what the fast path tests
 *
 * Ranks: registry, then one thread. No callback is ever called with a lock held. Copies of the
 * library share the registry and its threads; each has its own thread-local variable. */
#ifndef KINO__TRACER_RECORD_FUNCTION_INTERNAL_H
#define KINO__TRACER_RECORD_FUNCTION_INTERNAL_H

#include <pthread.h>

#include <kino/record_function.h>

#include "tracer/tracer.h"

typedef struct kino__record_entry {
    kino_record_callback callback;
    uint64_t handle;
    uint32_t references; /* atomic: of lists; when it has a release, also of functions that run */
} kino__record_entry;

typedef struct kino__record_item {
    kino__record_entry *entry;
    bool is_enabled;
} kino__record_item;

typedef struct kino__record_list {
    uint32_t count;
    kino__record_item items[KINO_RECORD_CALLBACKS_MAX];
} kino__record_list;

typedef struct kino__record_row {
    kino__record_entry *entry;
    uint32_t tries[KINO_SCOPE_COUNT]; /* functions until it takes part in one; 0: not sampled */
} kino__record_row;

enum { KINO__RECORD_ROWS = 2 * KINO_RECORD_CALLBACKS_MAX };

typedef struct kino__record_thread {
    struct kino__record_thread *next; /* registry's lock */
    kino__record_list locals; /* registry's lock; changed by the thread only, so it may read them */
    uint32_t lock;            /* spin; for all up to the line */
    bool is_enabled;          /* changed by the thread only, so it may read it */
    kino_impl_v1_record_thread *selves[KINO__TRACER_COPIES]; /* its thread-local variables */
    uint32_t self_count;
    uint32_t scopes; /* of the rows */
    uint32_t row_count;
    kino__record_row rows[KINO__RECORD_ROWS];
    uint32_t countdown[KINO_SCOPE_COUNT]; /* smallest tries; 0: nothing is sampled */
    uint32_t interval[KINO_SCOPE_COUNT];  /* what it was when it was set */
    uint64_t random;
    /* ---- the thread's own */
    uint64_t id; /* logical */
    int64_t sequence;
    bool is_calling; /* callbacks: functions opened inside them are nobody's */
} kino__record_thread;

typedef struct kino__record_registry {
    pthread_key_t key; /* whose value is the kino__record_thread */
    pthread_mutex_t lock;
    kino__record_list globals;    /* lock */
    kino__record_thread *threads; /* lock */
    uint64_t thread_count;        /* lock: logical numbers given so far */
    uint64_t seed;                /* lock */
    uint64_t next_handle;         /* atomic */
    uint64_t next_id;             /* atomic: of functions */
    /* the recorder's own callback */
    kino_record_spans_options spans; /* lock */
    bool spans_are_on;               /* lock */
    uint64_t spans_handle;           /* lock; 0: not added */
} kino__record_registry;

/* The process's, or NULL when the tracer belongs to a copy of another layout. */
kino__record_registry *kino__record_registry_get(void);
/* The calling thread's, made when it is needed; NULL when memory is out. */
kino__record_thread *kino__record_thread_get(void);

void kino__record_lock(kino__record_thread *thread);
void kino__record_unlock(kino__record_thread *thread);

/* Makes the table of a thread anew; both locks are held. */
void kino__record_rebuild(kino__record_registry *r, kino__record_thread *thread);
/* Of all threads; the registry's lock is held. */
void kino__record_rebuild_all(kino__record_registry *r);
/* The word says which scopes to open; the thread's lock is held. */
void kino__record_publish(kino__record_thread *thread);

void kino__record_ref(kino__record_entry *entry);
/* The last one calls `release`: no lock may be held. NULL is fine. */
void kino__record_unref(kino__record_entry *entry);

/* The next number of tries of a callback with this probability: 1 + geometric; UINT32_MAX: never.
 */
uint32_t kino__record_tries(uint64_t *random, double probability);
/* A seed that is not 0, from two numbers. */
uint64_t kino__record_mix(uint64_t a, uint64_t b);
/* Where a thread's samples begin; the registry's lock is held. */
uint64_t kino__record_seed(const kino__record_registry *r, const kino__record_thread *thread);
/* Sets the countdown of a scope from the rows; the thread's lock is held. */
void kino__record_wind_up(kino__record_thread *thread, uint32_t scope);
/* A function of the scope is opened: does anybody sample it? Then those rows have 0 tries left; the
 * caller draws new ones and winds up. The thread's lock is held. */
bool kino__record_count_down(kino__record_thread *thread, uint32_t scope);

/* An entry with one reference, the caller's. */
KINO_NODISCARD kino_status kino__record_entry_new(const kino_record_callback *callback,
                                                  kino__record_entry **out, kino_error *err);
/* Lists; the locks that guard them are held. Where an entry is, or -1; false: it is full; the entry
 * that was there, or NULL (its reference is the caller's now). */
int kino__record_find(const kino__record_list *list, uint64_t handle);
bool kino__record_append(kino__record_list *list, kino__record_entry *entry);
kino__record_entry *kino__record_cut_out(kino__record_list *list, uint64_t handle);
/* Drops the references of all: no lock may be held. */
void kino__record_drop_all(kino__record_list *list);

#endif
