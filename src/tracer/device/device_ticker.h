/* device_ticker.h - for backends whose records wait in the vendor's buffers: a thread that fetches
 * them from time to time while it is recorded, so that a program that dies leaves its work. */
#ifndef KINO__TRACER_DEVICE_TICKER_H
#define KINO__TRACER_DEVICE_TICKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A static variable of the backend, initialised with KINO__TICKER_INIT. Start and stop take turns,
 * on the thread that drives sessions. */
typedef struct kino__ticker {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    void (*tick)(void);
    uint64_t period_ns;
    bool is_running, is_ending;
} kino__ticker;
#define KINO__TICKER_INIT                                                                          \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER                        \
    }

/* Without a thread (there is none to be had) records come at the end. */
void kino__ticker_start(kino__ticker *ticker, uint64_t period_ns, void (*tick)(void));
/* Behind it `tick` is not called any more, and no call is under way. */
void kino__ticker_stop(kino__ticker *ticker);
/* In a forked child, where the thread is gone. */
void kino__ticker_forget(kino__ticker *ticker);

#endif
