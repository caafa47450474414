/* lane.h - threads that work on requests, first come, first served, from a queue with an end. */
#ifndef KINO__SERVER_LANE_H
#define KINO__SERVER_LANE_H

#include <pthread.h>

#include "base/lock.h"
#include "server/request.h"

enum { KINO__LANE_THREADS = 8 };

/* The calling thread, and those it makes, come after others from now on. */
void kino__thread_lower_priority(int by);

typedef struct kino__lane {
    kino__mutex lock;
    pthread_cond_t more;
    kino__http_request *first, *last; /* guarded by lock, as all below */
    size_t count, most;
    bool is_ending;
    uint64_t busy[KINO__LANE_THREADS]; /* exclusive numbers being worked on */
    /* constant */
    int nice;
    void (*work)(kino__http_request *request);
    pthread_t threads[KINO__LANE_THREADS];
    unsigned thread_count;
} kino__lane;

/* `nice` is added to the threads' priority, and to that of the threads they make. Must be ended
 * also after a failure. */
KINO_NODISCARD kino_status kino__lane_start(kino__lane *lane, unsigned threads, size_t most,
                                            int nice, void (*work)(kino__http_request *request),
                                            kino_error *err);
/* False: the queue is full, or the lane is ending. */
bool kino__lane_add(kino__lane *lane, kino__http_request *request);
/* Takes nothing more; works off what is queued; waits for the threads. */
void kino__lane_end(kino__lane *lane);

#endif
