/* lane.c - the queue and its threads. */
#include "server/lane.h"

#include <sys/resource.h>

#include "base/error.h"
#include "base/lock.h"

void kino__thread_lower_priority(int by)
{
    /* In Linux the value belongs to the thread. */
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + by);
}

static bool is_busy(const kino__lane *lane, uint64_t number)
{
    for (unsigned i = 0; number && i < lane->thread_count; i++)
        if (lane->busy[i] == number)
            return true;
    return false;
}

/* The first one that may be worked on now, taken out; NULL when there is none. */
static kino__http_request *take(kino__lane *lane)
{
    kino__http_request *before = NULL;
    for (kino__http_request *r = lane->first; r; before = r, r = r->next) {
        if (is_busy(lane, r->exclusive))
            continue;
        if (before)
            before->next = r->next;
        else
            lane->first = r->next;
        if (lane->last == r)
            lane->last = before;
        r->next = NULL;
        lane->count--;
        return r;
    }
    return NULL;
}

static void *work_off(void *argument)
{
    kino__lane *lane = argument;
    if (lane->nice)
        kino__thread_lower_priority(lane->nice);
    kino__mutex_lock(&lane->lock);
    unsigned index = 0;
    while (!pthread_equal(lane->threads[index], pthread_self()))
        index++;
    for (;;) {
        kino__http_request *request = take(lane);
        if (!request && lane->is_ending && !lane->first)
            break;
        if (!request) {
            kino__mutex_wait(&lane->lock, &lane->more);
            continue;
        }
        lane->busy[index] = request->exclusive;
        kino__mutex_unlock(&lane->lock);
        lane->work(request); /* gives it away */
        kino__mutex_lock(&lane->lock);
        if (lane->busy[index])
            pthread_cond_broadcast(&lane->more); /* one that had to wait may go now */
        lane->busy[index] = 0;
    }
    kino__mutex_unlock(&lane->lock);
    return NULL;
}

kino_status kino__lane_start(kino__lane *lane, unsigned threads, size_t most, int nice,
                             void (*work)(kino__http_request *request), kino_error *err)
{
    *lane = (kino__lane){.most = most, .nice = nice, .work = work};
    kino__mutex_init(&lane->lock, KINO__LOCK_LANE);
    pthread_cond_init(&lane->more, NULL);
    kino_status st = KINO_OK;
    kino__mutex_lock(&lane->lock); /* threads look for themselves in the list */
    while (lane->thread_count < threads && lane->thread_count < KINO__LANE_THREADS) {
        if (pthread_create(&lane->threads[lane->thread_count], NULL, work_off, lane) != 0) {
            st = kino__fail(err, KINO_NOMEM, "cannot start a thread");
            break;
        }
        lane->thread_count++;
    }
    kino__mutex_unlock(&lane->lock);
    return st;
}

bool kino__lane_add(kino__lane *lane, kino__http_request *request)
{
    kino__mutex_lock(&lane->lock);
    bool fits = !lane->is_ending && lane->count < lane->most;
    if (fits) {
        request->next = NULL;
        if (lane->last)
            lane->last->next = request;
        else
            lane->first = request;
        lane->last = request;
        lane->count++;
        pthread_cond_signal(&lane->more);
    }
    kino__mutex_unlock(&lane->lock);
    return fits;
}

void kino__lane_end(kino__lane *lane)
{
    if (!lane->work)
        return;
    kino__mutex_lock(&lane->lock);
    lane->is_ending = true;
    pthread_cond_broadcast(&lane->more);
    kino__mutex_unlock(&lane->lock);
    for (unsigned i = 0; i < lane->thread_count; i++)
        pthread_join(lane->threads[i], NULL);
    kino__mutex_destroy(&lane->lock);
    pthread_cond_destroy(&lane->more);
    lane->work = NULL;
}
