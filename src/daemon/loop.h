/* loop.h - one thread that waits for everything: descriptors, timers, signals of others' making.
 *
 *   kino__loop_new(&loop, &err);
 *   kino__loop_add_fd(loop, fd, EPOLLIN, on_ready, context, &watch, &err);
 *   kino__loop_add_timer(loop, 1000000000, on_second, context, &timer, &err);
 *   kino__loop_run(loop, &err);            until kino__loop_stop
 *
 * Callbacks never wait. A callback may remove any watch and any timer, its own too, and add new
 * ones: what is removed is not called any more, not even for an event that has come already, and is
 * freed when the round is over. All from the one thread that runs the loop. */
#ifndef KINO__DAEMON_LOOP_H
#define KINO__DAEMON_LOOP_H

#include <sys/epoll.h>

#include <kino/base.h>

typedef struct kino__loop kino__loop;
typedef struct kino__loop_watch kino__loop_watch;
typedef struct kino__loop_timer kino__loop_timer;

/* events: EPOLLIN, EPOLLOUT, EPOLLHUP, EPOLLERR. */
typedef void kino__loop_ready_fn(void *context, uint32_t events);
/* now_ns: kino__loop_now. */
typedef void kino__loop_timer_fn(void *context, int64_t now_ns);

KINO_NODISCARD kino_status kino__loop_new(kino__loop **out, kino_error *err);
/* All watches and timers go with it; descriptors are not closed. */
void kino__loop_free(kino__loop *loop);

/* Level-triggered. The descriptor stays the caller's, who removes the watch before closing it. out
 * may be NULL where nobody removes it. */
KINO_NODISCARD kino_status kino__loop_add_fd(kino__loop *loop, int fd, uint32_t events,
                                             kino__loop_ready_fn *ready, void *context,
                                             kino__loop_watch **out, kino_error *err);
/* Other events from now on. */
void kino__loop_set_events(kino__loop *loop, kino__loop_watch *watch, uint32_t events);
/* NULL is fine. */
void kino__loop_remove_fd(kino__loop *loop, kino__loop_watch *watch);

/* Called every interval_ns, the first time after one; a round that comes late does not bring the
 * missed ones with it. 0: not before kino__loop_set_timer says so. out may be NULL. */
KINO_NODISCARD kino_status kino__loop_add_timer(kino__loop *loop, int64_t interval_ns,
                                                kino__loop_timer_fn *fire, void *context,
                                                kino__loop_timer **out, kino_error *err);
/* Another interval, counted from now; 0: it rests. */
void kino__loop_set_timer(kino__loop *loop, kino__loop_timer *timer, int64_t interval_ns);
/* NULL is fine. */
void kino__loop_remove_timer(kino__loop *loop, kino__loop_timer *timer);

/* The monotonic clock, ns; read once a round. */
int64_t kino__loop_now(const kino__loop *loop);

/* Returns KINO_OK after kino__loop_stop. */
KINO_NODISCARD kino_status kino__loop_run(kino__loop *loop, kino_error *err);
/* One round: waits at most `wait_ms` (-1: for the next timer), then calls what is due. For tests,
 * and for loops within other loops. */
KINO_NODISCARD kino_status kino__loop_turn(kino__loop *loop, int wait_ms, kino_error *err);
/* The round that runs is finished first. */
void kino__loop_stop(kino__loop *loop);

#endif
