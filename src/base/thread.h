/* thread.h - a pool of threads that share out numbered pieces of work.
 *
 * kino__pool_run calls work(context, worker, i) once for each i in [0, count), on the pool's
 * threads and the caller's, in increasing order of start; `worker` is in [0, kino__pool_jobs). It
 * returns when all are done. A pool of one job (or a NULL pool) runs everything on the caller's
 * thread. One run at a time. */
#ifndef KINO__BASE_THREAD_H
#define KINO__BASE_THREAD_H

#include <kino/base.h>

typedef struct kino__pool kino__pool;

typedef void (*kino__pool_work)(void *context, unsigned worker, size_t index);

/* jobs = 0: as many as there are processors this process may use. */
KINO_NODISCARD kino_status kino__pool_new(unsigned jobs, kino__pool **out, kino_error *err);
void kino__pool_free(kino__pool *pool);

unsigned kino__pool_jobs(const kino__pool *pool);
void kino__pool_run(kino__pool *pool, size_t count, kino__pool_work work, void *context);

unsigned kino__processor_count(void);

#endif
