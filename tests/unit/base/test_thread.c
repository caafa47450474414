/* test_thread.c - the pool hands out each piece once, and the results are seen afterwards. */
#include <sched.h>
#include <stdatomic.h>

#include "base/thread.h"
#include "unit/test.h"

enum { PIECES = 5000, JOBS = 4 };

typedef struct tally {
    unsigned times[PIECES]; /* not atomic: TSan and the count tell when two workers share a piece */
    atomic_uint per_worker[JOBS];
    atomic_uint bad_worker;
} tally;

static void count_piece(void *context, unsigned worker, size_t index)
{
    tally *t = context;
    t->times[index]++;
    if (worker < JOBS)
        atomic_fetch_add_explicit(&t->per_worker[worker], 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&t->bad_worker, 1, memory_order_relaxed);
}

static void check_run(kino__pool *pool, size_t count)
{
    static tally t;
    t = (tally){0};
    kino__pool_run(pool, count, count_piece, &t);
    for (size_t i = 0; i < PIECES; i++)
        REQUIRE_EQ(t.times[i], i < count);
    CHECK_EQ(atomic_load(&t.bad_worker), 0);
    unsigned sum = 0;
    for (unsigned w = 0; w < JOBS; w++)
        sum += atomic_load(&t.per_worker[w]);
    CHECK_EQ(sum, count);
}

TEST_THREADS(pool_runs_each_piece_exactly_once)
{
    kino__pool *pool;
    REQUIRE(kino__pool_new(JOBS, &pool, NULL) == KINO_OK);
    CHECK_EQ(kino__pool_jobs(pool), JOBS);
    for (int round = 0; round < 50; round++)
        check_run(pool, (size_t)round * 7 % 200);
    check_run(pool, PIECES);
    kino__pool_free(pool);
}

typedef struct meeting {
    atomic_uint arrived;
} meeting;

static void wait_for_other(void *context, unsigned worker, size_t index)
{
    (void)worker, (void)index;
    meeting *m = context;
    atomic_fetch_add(&m->arrived, 1);
    while (atomic_load(&m->arrived) <
           2) /* hangs (and the time limit speaks) unless two run at once */
        sched_yield();
}

TEST_THREADS(pool_really_works_at_the_same_time)
{
    kino__pool *pool;
    REQUIRE(kino__pool_new(2, &pool, NULL) == KINO_OK);
    meeting m = {0};
    kino__pool_run(pool, 2, wait_for_other, &m);
    CHECK_EQ(atomic_load(&m.arrived), 2);
    kino__pool_free(pool);
}

static void note_order(void *context, unsigned worker, size_t index)
{
    size_t *next = context;
    CHECK_EQ(worker, 0);
    CHECK_EQ(index, (*next)++);
}

TEST(pool_of_one_job_and_no_pool_run_in_order_on_the_caller)
{
    kino__pool *pool;
    REQUIRE(kino__pool_new(1, &pool, NULL) == KINO_OK);
    size_t next = 0;
    kino__pool_run(pool, 100, note_order, &next);
    CHECK_EQ(next, 100);
    kino__pool_free(pool);
    next = 0;
    kino__pool_run(NULL, 100, note_order, &next);
    CHECK_EQ(next, 100);
    CHECK_EQ(kino__pool_jobs(NULL), 1);
    kino__pool_free(NULL);
}

TEST_THREADS(pool_takes_the_processors_it_may_use)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_EQ(kino__processor_count(), 1);
    kino__pool *pool;
    REQUIRE(kino__pool_new(0, &pool, NULL) == KINO_OK);
    CHECK_EQ(kino__pool_jobs(pool), 1);
    kino__pool_free(pool);
}
