/* progress.h - how long work tells how far it is, and hears that it should stop.
 *
 * The library only calls back; drawing is the program's business. One value is shared by all
 * workers of a job: adding is a relaxed atomic, and the callback runs on one thread at a time. */
#ifndef KINO__BASE_PROGRESS_H
#define KINO__BASE_PROGRESS_H

#include <stdatomic.h>

#include <kino/base.h>

/* Returns false to cancel. `total` is 0 when it is not known. */
typedef bool (*kino__progress_report)(void *context, const char *what, uint64_t done,
                                      uint64_t total);

typedef struct kino__progress {
    kino__progress_report report; /* NULL: nobody listens */
    void *context;
    const char *what;
    uint64_t total;
    _Atomic uint64_t done;
    _Atomic uint64_t next_report; /* the value of done at which somebody reports */
    atomic_bool cancelled;
} kino__progress;

void kino__progress_init(kino__progress *progress, kino__progress_report report, void *context);

/* Starts a new stage; resets done. Owner thread only, while no worker runs. */
void kino__progress_stage(kino__progress *progress, const char *what, uint64_t total);

/* Adds work done; false when the job should stop. NULL progress is allowed. Any thread. */
bool kino__progress_add(kino__progress *progress, uint64_t amount);

static inline bool kino__progress_is_cancelled(const kino__progress *progress)
{
    return progress && atomic_load_explicit(&((kino__progress *)(uintptr_t)progress)->cancelled,
                                            memory_order_relaxed);
}

#endif
