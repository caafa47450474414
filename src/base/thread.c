/* thread.c - a fork-join pool: a mutex, two conditions, one atomic counter handing out indexes. */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/lock.h"

struct kino__pool {
    unsigned jobs;
    unsigned threads; /* really started: jobs - 1, or fewer when the system refused */
    pthread_t *ids;
    kino__mutex lock;
    pthread_cond_t has_work; /* generation changed or stop */
    pthread_cond_t is_idle;  /* busy reached 0 */
    uint64_t generation;     /* guarded by lock, as all down to stop */
    unsigned busy;
    unsigned next_worker;
    bool stop;
    kino__pool_work work; /* set before the generation changes, read after */
    void *context;
    size_t count;
    atomic_size_t next; /* relaxed: only hands out numbers; the lock publishes the results */
};

unsigned kino__processor_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        int n = CPU_COUNT(&set);
        if (n > 0)
            return (unsigned)n;
    }
    return 1;
}

static void drain(kino__pool *pool, unsigned worker)
{
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (i >= pool->count)
            return;
        pool->work(pool->context, worker, i);
    }
}

static void *thread_main(void *argument)
{
    kino__pool *pool = argument;
    uint64_t seen = 0;
    kino__mutex_lock(&pool->lock);
    unsigned worker = ++pool->next_worker;
    for (;;) {
        while (pool->generation == seen && !pool->stop)
            kino__mutex_wait(&pool->lock, &pool->has_work);
        if (pool->stop)
            break;
        seen = pool->generation;
        kino__mutex_unlock(&pool->lock);
        drain(pool, worker);
        kino__mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->is_idle);
    }
    kino__mutex_unlock(&pool->lock);
    return NULL;
}

kino_status kino__pool_new(unsigned jobs, kino__pool **out, kino_error *err)
{
    *out = NULL;
    if (jobs == 0)
        jobs = kino__processor_count();
    if (jobs > 256)
        jobs = 256;
    kino__pool *pool = calloc(1, sizeof *pool);
    pthread_t *ids = calloc(jobs, sizeof *ids);
    if (!pool || !ids) {
        free(pool);
        free(ids);
        return kino__fail_nomem(err);
    }
    pool->jobs = jobs;
    pool->ids = ids;
    kino__mutex_init(&pool->lock, KINO__LOCK_POOL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->is_idle, NULL);
    while (pool->threads + 1 < jobs &&
           pthread_create(&ids[pool->threads], NULL, thread_main, pool) == 0)
        pool->threads++; /* fewer threads than asked for is slower, not wrong */
    *out = pool;
    return KINO_OK;
}

void kino__pool_free(kino__pool *pool)
{
    if (!pool)
        return;
    kino__mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->has_work);
    kino__mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->threads; i++)
        pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->is_idle);
    pthread_cond_destroy(&pool->has_work);
    kino__mutex_destroy(&pool->lock);
    free(pool->ids);
    free(pool);
}

unsigned kino__pool_jobs(const kino__pool *pool)
{
    return pool ? pool->jobs : 1;
}

void kino__pool_run(kino__pool *pool, size_t count, kino__pool_work work, void *context)
{
    if (!pool || pool->threads == 0 || count < 2) {
        for (size_t i = 0; i < count; i++)
            work(context, 0, i);
        return;
    }
    kino__mutex_lock(&pool->lock);
    pool->work = work;
    pool->context = context;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->busy = pool->threads;
    pool->generation++;
    pthread_cond_broadcast(&pool->has_work);
    kino__mutex_unlock(&pool->lock);
    drain(pool, 0);
    kino__mutex_lock(&pool->lock);
    while (pool->busy)
        kino__mutex_wait(&pool->lock, &pool->is_idle);
    kino__mutex_unlock(&pool->lock);
}
