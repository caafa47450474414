/* device_ticker.c - a thread that does something from time to time. See device_ticker.h. */
#include "tracer/device/device_ticker.h"

#include <time.h>

#include "tracer/tracer.h"

static struct timespec later(uint64_t ns)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_REALTIME, &time); /* what conditions wait by */
    ns += (uint64_t)time.tv_nsec;
    time.tv_sec += (time_t)(ns / 1000000000);
    time.tv_nsec = (long)(ns % 1000000000);
    return time;
}

static void *run(void *context)
{
    kino__ticker *ticker = context;
    pthread_mutex_lock(&ticker->lock);
    while (!ticker->is_ending) {
        struct timespec at = later(ticker->period_ns);
        (void)pthread_cond_timedwait(&ticker->wake, &ticker->lock, &at);
        if (ticker->is_ending)
            break;
        pthread_mutex_unlock(&ticker->lock);
        ticker->tick();
        pthread_mutex_lock(&ticker->lock);
    }
    pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

void kino__ticker_start(kino__ticker *ticker, uint64_t period_ns, void (*tick)(void))
{
    if (ticker->is_running)
        return;
    ticker->tick = tick;
    ticker->period_ns = period_ns;
    ticker->is_ending = false;
    ticker->is_running = kino__tracer_thread(&ticker->thread, run, ticker);
}

void kino__ticker_stop(kino__ticker *ticker)
{
    if (!ticker->is_running)
        return;
    pthread_mutex_lock(&ticker->lock);
    ticker->is_ending = true;
    pthread_cond_signal(&ticker->wake);
    pthread_mutex_unlock(&ticker->lock);
    (void)pthread_join(ticker->thread, NULL);
    ticker->is_running = false;
}

void kino__ticker_forget(kino__ticker *ticker)
{
    *ticker = (kino__ticker)KINO__TICKER_INIT;
}
