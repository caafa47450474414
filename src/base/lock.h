/* lock.h - mutexes with a rank. A thread takes them from the outermost rank to the innermost.
 *
 * All locks but the recorder's are listed here. Debug builds remember what each thread holds and
 * stop where the order is broken, also when no two threads happen to meet; release builds are plain
 * mutexes. A condition is waited for with its mutex, which the thread does not hold meanwhile. */
#ifndef KINO__BASE_LOCK_H
#define KINO__BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>

typedef enum kino__lock_rank {
    KINO__LOCK_SERVER,                           /* requests that are worked on */
    KINO__LOCK_LANE,                             /* requests that wait for a thread */
    KINO__LOCK_CATALOG,                          /* the runs of a server */
    KINO__LOCK_CACHE,                            /* answers of a server */
    KINO__LOCK_COLLECTOR,                        /* what the thread of a GPU library has measured */
    KINO__LOCK_WORK,                             /* costs of a trace, while they are computed */
    KINO__LOCK_LINK,                             /* links of a trace, while they are made */
    KINO__LOCK_LINK_LAST = KINO__LOCK_LINK + 15, /* one made from another takes its lock, too */
    KINO__LOCK_ARGS,                             /* columns of arguments, while they are made */
    KINO__LOCK_SOURCE,                           /* columns of a trace, while they are loaded */
    KINO__LOCK_DECOMPRESSED, /* text on its way from who decompresses to who parses */
    KINO__LOCK_POOL,         /* work of a pool of threads */
    KINO__LOCK_MAPPED        /* files that are mapped */
} kino__lock_rank;

typedef struct kino__mutex {
    pthread_mutex_t mutex;
#ifndef NDEBUG
    kino__lock_rank rank;
#endif
} kino__mutex;

#ifdef NDEBUG
#    define KINO__MUTEX_INIT(rank)                                                                 \
        {                                                                                          \
            PTHREAD_MUTEX_INITIALIZER                                                              \
        }
#    define KINO__LOCK_TAKEN(m) ((void)0)
#    define KINO__LOCK_GIVEN(m) ((void)0)
#else
#    define KINO__MUTEX_INIT(rank)                                                                 \
        {                                                                                          \
            PTHREAD_MUTEX_INITIALIZER, rank                                                        \
        }
#    define KINO__LOCK_TAKEN(m) kino__lock_taken(m)
#    define KINO__LOCK_GIVEN(m) kino__lock_given(m)
/* Is about to be taken: aborts when the thread holds one that is not further out. */
void kino__lock_taken(const kino__mutex *mutex);
void kino__lock_given(const kino__mutex *mutex);
#endif

static inline void kino__mutex_init(kino__mutex *m, kino__lock_rank rank)
{
    (void)pthread_mutex_init(&m->mutex, NULL);
#ifndef NDEBUG
    m->rank = rank;
#else
    (void)rank;
#endif
}

static inline void kino__mutex_destroy(kino__mutex *m)
{
    (void)pthread_mutex_destroy(&m->mutex);
}

static inline void kino__mutex_lock(kino__mutex *m)
{
    KINO__LOCK_TAKEN(m);
    (void)pthread_mutex_lock(&m->mutex);
}

static inline void kino__mutex_unlock(kino__mutex *m)
{
    (void)pthread_mutex_unlock(&m->mutex);
    KINO__LOCK_GIVEN(m);
}

static inline void kino__mutex_wait(kino__mutex *m, pthread_cond_t *condition)
{
    KINO__LOCK_GIVEN(m);
    (void)pthread_cond_wait(condition, &m->mutex);
    KINO__LOCK_TAKEN(m);
}

/* 0, or ETIMEDOUT. */
static inline int kino__mutex_wait_until(kino__mutex *m, pthread_cond_t *condition,
                                         const struct timespec *until)
{
    KINO__LOCK_GIVEN(m);
    int status = pthread_cond_timedwait(condition, &m->mutex, until);
    KINO__LOCK_TAKEN(m);
    return status;
}

#endif
