/* requests_internal.h - for the files of requests. */
#ifndef KINO__DAEMON_REQUESTS_INTERNAL_H
#define KINO__DAEMON_REQUESTS_INTERNAL_H

#include "base/clock.h"
#include "daemon/requests.h"

static inline int64_t kino__requests_now_ms(void)
{
    return kino__clock_ms(CLOCK_MONOTONIC);
}

static inline bool kino__target_is_open(const kino__target *target)
{
    return target->state < KINO__TARGET_WRITTEN;
}

/* Ends it where the state is an end. */
void kino__target_set_state(kino__requests *requests, kino__target *target,
                            kino__target_state state, const char *message);
/* The process has nothing to do with it any more. */
void kino__target_leave(kino__target *target);

/* requests_look.c: from its start to its end it is in the list for the clock. */
void kino__target_list(kino__requests *requests, kino__target *target);
void kino__target_unlist(kino__requests *requests, kino__target *target);
/* Its files are watched from now on. */
void kino__target_watch(kino__requests *requests, kino__target *target);
/* Somebody should look for its file. */
void kino__target_make_due(kino__requests *requests, kino__target *target);
/* kino__file_watch_fn */
void kino__requests_heard(void *context, void *item);

#endif
