/* test_lock.c - the order of locks: kept, it costs nothing; broken, a debug build stops. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"
#include "unit/test.h"

TEST(locks_from_the_outermost_to_the_innermost_are_fine_in_any_order_of_release)
{
    kino__mutex outer, inner;
    kino__mutex_init(&outer, KINO__LOCK_CATALOG);
    kino__mutex_init(&inner, KINO__LOCK_POOL);
    for (int round = 0; round < 100; round++) {
        kino__mutex_lock(&outer);
        kino__mutex_lock(&inner);
        kino__mutex_unlock(round % 2 ? &outer : &inner);
        kino__mutex_unlock(round % 2 ? &inner : &outer);
    }
    kino__mutex_destroy(&outer);
    kino__mutex_destroy(&inner);
}

TEST(lock_is_not_held_while_a_condition_is_waited_for)
{
    kino__mutex mutex = KINO__MUTEX_INIT(KINO__LOCK_POOL);
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec past = {1, 0};
    kino__mutex_lock(&mutex);
    CHECK_EQ(kino__mutex_wait_until(&mutex, &never, &past), ETIMEDOUT);
    kino__mutex_unlock(&mutex);
    kino__mutex_lock(&mutex); /* it is free */
    kino__mutex_unlock(&mutex);
}

/* How a process ends that takes two locks in this order. */
static int end_of(kino__lock_rank first, kino__lock_rank second)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        kino__mutex a, b;
        kino__mutex_init(&a, first);
        kino__mutex_init(&b, second);
        (void)!freopen("/dev/null", "w", stderr);
        kino__mutex_lock(&a);
        kino__mutex_lock(&b);
        _exit(0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

TEST(locks_out_of_order_stop_a_debug_build)
{
    CHECK_EQ(end_of(KINO__LOCK_CATALOG, KINO__LOCK_POOL), 0);
#ifdef NDEBUG
    CHECK_EQ(end_of(KINO__LOCK_POOL, KINO__LOCK_CATALOG), 0);
#else
    CHECK_EQ(WTERMSIG(end_of(KINO__LOCK_POOL, KINO__LOCK_CATALOG)), SIGABRT);
    CHECK_EQ(WTERMSIG(end_of(KINO__LOCK_POOL, KINO__LOCK_POOL)), SIGABRT);
#endif
}
