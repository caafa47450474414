/* helper.c - see helper.h. */
#include "inject/helper.h"

#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "tracer/alone.h"
#include "tracer/tracer.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of this process */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* by CLOCK_REALTIME: sleeps are cut into short ones anyway */
    bool is_paused;
    struct {
        void (*run)(void); /* NULL: there is nothing to do */
        bool is_running;
    } items[KINO__HELPER_COUNT];
} helpers = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *run(void *context)
{
    uint32_t which = (uint32_t)(uintptr_t)context;
    pthread_mutex_lock(&helpers.lock);
    while (!helpers.is_paused && helpers.items[which].run) {
        void (*work)(void) = helpers.items[which].run;
        pthread_mutex_unlock(&helpers.lock);
        work();
        pthread_mutex_lock(&helpers.lock);
        if (!helpers.is_paused) /* all is done, or nobody is left */
            helpers.items[which].run = NULL;
    }
    helpers.items[which].is_running = false;
    pthread_mutex_unlock(&helpers.lock);
    return NULL;
}

/* The lock is held. */
static void start(uint32_t which)
{
    pthread_t thread;
    if (helpers.is_paused || helpers.items[which].is_running || !helpers.items[which].run)
        return;
    helpers.items[which].is_running = true;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the number is all that the thread needs */
    if (kino__tracer_thread(&thread, run, (void *)(uintptr_t)which))
        (void)pthread_detach(thread);
    else
        helpers.items[which].is_running = false;
}

void kino__helper_start(kino__helper which, void (*work)(void))
{
    pthread_mutex_lock(&helpers.lock);
    helpers.items[which].run = work;
    start((uint32_t)which);
    pthread_mutex_unlock(&helpers.lock);
}

static struct timespec soon(int64_t left_ns)
{
    const int64_t longest = (int64_t)KINO__ALONE_MS * 1000000;
    int64_t at = kino__clock_ns(CLOCK_REALTIME) + (left_ns < longest ? left_ns : longest);
    return (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
}

bool kino__helper_sleep(uint64_t until_ns)
{
    int64_t left;
    bool goes_on = true;
    pthread_mutex_lock(&helpers.lock);
    while ((goes_on = !helpers.is_paused) &&
           (left = (int64_t)until_ns - kino__clock_ns(CLOCK_MONOTONIC)) > 0) {
        struct timespec at = soon(left);
        (void)pthread_cond_timedwait(&helpers.changed, &helpers.lock, &at);
        if (kino__is_alone()) {
            goes_on = false;
            break;
        }
    }
    pthread_mutex_unlock(&helpers.lock);
    return goes_on;
}

void kino__helpers_pause(void)
{
    pthread_mutex_lock(&helpers.lock);
    helpers.is_paused = true;
    pthread_cond_broadcast(&helpers.changed);
    pthread_mutex_unlock(&helpers.lock);
}

void kino__helpers_resume(void)
{
    pthread_mutex_lock(&helpers.lock);
    helpers.is_paused = false;
    for (uint32_t i = 0; i < KINO__HELPER_COUNT; i++)
        start(i);
    pthread_mutex_unlock(&helpers.lock);
}

void kino__helpers_forked(void)
{
    pthread_mutex_init(&helpers.lock, NULL);
    pthread_cond_init(&helpers.changed, NULL);
    helpers.is_paused = false;
    for (uint32_t i = 0; i < KINO__HELPER_COUNT; i++) {
        helpers.items[i].run = NULL;
        helpers.items[i].is_running = false;
    }
}
