/* The thread that fetches records from time to time. */
#include <time.h>
#include <unistd.h>

#include "tracer/device/device_ticker.h"
#include "unit/test.h"

static int ticks;

static void count(void)
{
    __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

static int ticks_now(void)
{
    return __atomic_load_n(&ticks, __ATOMIC_RELAXED);
}

static void wait_for(int wanted)
{
    for (int i = 0; i < 5000 && ticks_now() < wanted; i++)
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
}

TEST_THREADS(a_ticker_ticks_until_it_is_stopped)
{
    static kino__ticker ticker = KINO__TICKER_INIT;
    kino__ticker_stop(&ticker); /* never started */
    kino__ticker_start(&ticker, 1000000, count);
    kino__ticker_start(&ticker, 1000000, count); /* it runs already */
    wait_for(3);
    CHECK(ticks_now() >= 3);
    kino__ticker_stop(&ticker);
    int before = ticks_now();
    (void)nanosleep(&(struct timespec){0, 20000000}, NULL);
    CHECK_EQ(ticks_now(), before);
    kino__ticker_start(&ticker, 1000000, count); /* again */
    wait_for(before + 2);
    CHECK(ticks_now() >= before + 2);
    kino__ticker_stop(&ticker);
}

TEST_THREADS(a_ticker_with_a_long_period_is_stopped_at_once)
{
    static kino__ticker ticker = KINO__TICKER_INIT;
    struct timespec begin, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    kino__ticker_start(&ticker, UINT64_C(3600) * 1000000000, count);
    kino__ticker_stop(&ticker);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    CHECK_EQ(ticks_now(), 0);
    CHECK(end.tv_sec - begin.tv_sec < 60);
}

TEST(a_forked_child_forgets_the_ticker_and_can_have_its_own)
{
    static kino__ticker ticker = KINO__TICKER_INIT;
    ticker.is_running = true; /* as it is in a child, where the thread is not */
    kino__ticker_forget(&ticker);
    kino__ticker_stop(&ticker); /* waits for nobody */
    kino__ticker_start(&ticker, 1000000, count);
    wait_for(1);
    CHECK(ticks_now() >= 1);
    kino__ticker_stop(&ticker);
}
