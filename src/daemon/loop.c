/* loop.c - the epoll loop.
 *
 * What is removed during a round stays in memory, marked, until the round is over: an event of it
 * may lie in the array that epoll has filled already. Timers are few: the next is found by a
 * walk.
 * They wait in a timerfd that is set only when the next one changes: a time limit for epoll_wait
 * would set a timer of the kernel's for each datagram. */
#include "daemon/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { EVENTS_MAX = 64 };

struct kino__loop_watch {
    kino__loop_watch *next, **link; /* of all, or of the removed */
    int fd;
    bool is_removed;
    kino__loop_ready_fn *ready;
    void *context;
};

struct kino__loop_timer {
    kino__loop_timer *next;
    int64_t interval_ns, due_ns;
    kino__loop_timer_fn *fire;
    void *context;
    bool is_removed;
};

struct kino__loop {
    int epoll, alarm; /* alarm: a timerfd */
    int64_t alarm_ns; /* what it is set to; INT64_MAX: it rests */
    bool is_stopped;
    int64_t now_ns;
    kino__loop_watch *watches, *removed;
    kino__loop_timer *timers;
};

kino_status kino__loop_new(kino__loop **out, kino_error *err)
{
    *out = NULL;
    kino__loop *loop = calloc(1, sizeof *loop);
    if (!loop)
        return kino__fail_nomem(err);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    loop->alarm_ns = INT64_MAX;
    if (loop->epoll < 0 || loop->alarm < 0 ||
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->alarm, &event) < 0) {
        (void)kino__fail_errno(err, errno, "cannot wait for events");
        kino__loop_free(loop);
        return KINO_IO;
    }
    loop->now_ns = kino__clock_ns(CLOCK_MONOTONIC);
    *out = loop;
    return KINO_OK;
}

static void free_watches(kino__loop_watch **list)
{
    while (*list) {
        kino__loop_watch *watch = *list;
        *list = watch->next;
        free(watch);
    }
}

/* All timers, or those that were removed. */
static void free_timers(kino__loop *loop, bool all)
{
    kino__loop_timer **link = &loop->timers;
    while (*link) {
        kino__loop_timer *timer = *link;
        if (all || timer->is_removed) {
            *link = timer->next;
            free(timer);
        } else {
            link = &timer->next;
        }
    }
}

void kino__loop_free(kino__loop *loop)
{
    if (!loop)
        return;
    free_watches(&loop->watches);
    free_watches(&loop->removed);
    free_timers(loop, true);
    if (loop->epoll >= 0)
        (void)close(loop->epoll);
    if (loop->alarm >= 0)
        (void)close(loop->alarm);
    free(loop);
}

/* -- descriptors */

static void link_watch(kino__loop_watch **list, kino__loop_watch *watch)
{
    watch->next = *list;
    watch->link = list;
    if (watch->next)
        watch->next->link = &watch->next;
    *list = watch;
}

kino_status kino__loop_add_fd(kino__loop *loop, int fd, uint32_t events, kino__loop_ready_fn *ready,
                              void *context, kino__loop_watch **out, kino_error *err)
{
    if (out)
        *out = NULL;
    kino__loop_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return kino__fail_nomem(err);
    *watch = (kino__loop_watch){.fd = fd, .ready = ready, .context = context};
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        (void)kino__fail_errno(err, errno, "cannot wait for a descriptor");
        free(watch);
        return KINO_IO;
    }
    link_watch(&loop->watches, watch);
    if (out)
        *out = watch;
    return KINO_OK;
}

void kino__loop_set_events(kino__loop *loop, kino__loop_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

void kino__loop_remove_fd(kino__loop *loop, kino__loop_watch *watch)
{
    if (!watch || watch->is_removed)
        return;
    (void)epoll_ctl(loop->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->is_removed = true;
    *watch->link = watch->next;
    if (watch->next)
        watch->next->link = watch->link;
    link_watch(&loop->removed, watch);
}

/* -- timers */

kino_status kino__loop_add_timer(kino__loop *loop, int64_t interval_ns, kino__loop_timer_fn *fire,
                                 void *context, kino__loop_timer **out, kino_error *err)
{
    if (out)
        *out = NULL;
    kino__loop_timer *timer = calloc(1, sizeof *timer);
    if (!timer)
        return kino__fail_nomem(err);
    *timer = (kino__loop_timer){.next = loop->timers, .fire = fire, .context = context};
    loop->timers = timer;
    kino__loop_set_timer(loop, timer, interval_ns);
    if (out)
        *out = timer;
    return KINO_OK;
}

void kino__loop_set_timer(kino__loop *loop, kino__loop_timer *timer, int64_t interval_ns)
{
    (void)loop;
    timer->interval_ns = interval_ns;
    timer->due_ns = interval_ns ? kino__clock_ns(CLOCK_MONOTONIC) + interval_ns : INT64_MAX;
}

void kino__loop_remove_timer(kino__loop *loop, kino__loop_timer *timer)
{
    (void)loop;
    if (timer) {
        timer->is_removed = true;
        timer->due_ns = INT64_MAX;
    }
}

static void fire_timers(kino__loop *loop)
{
    /* New timers are put in front: this walk does not meet them. */
    for (kino__loop_timer *timer = loop->timers; timer; timer = timer->next) {
        if (timer->due_ns > loop->now_ns)
            continue;
        timer->due_ns += timer->interval_ns;
        if (timer->due_ns <= loop->now_ns)
            timer->due_ns = loop->now_ns + timer->interval_ns;
        timer->fire(timer->context, loop->now_ns);
    }
}

/* Sets the alarm to the next timer, unless it is set to it already. */
static void set_alarm(kino__loop *loop)
{
    int64_t due = INT64_MAX;
    for (const kino__loop_timer *timer = loop->timers; timer; timer = timer->next)
        if (timer->due_ns < due)
            due = timer->due_ns;
    if (due == loop->alarm_ns)
        return;
    struct itimerspec when = {0}; /* all zero: it rests */
    if (due < INT64_MAX)
        when.it_value = (struct timespec){due / 1000000000, due % 1000000000};
    (void)timerfd_settime(loop->alarm, TFD_TIMER_ABSTIME, &when, NULL);
    loop->alarm_ns = due;
}

static void take_alarm(kino__loop *loop)
{
    uint64_t count;
    if (read(loop->alarm, &count, sizeof count) > 0)
        loop->alarm_ns = INT64_MAX; /* it rests now */
}

/* -- running */

int64_t kino__loop_now(const kino__loop *loop)
{
    return loop->now_ns;
}

kino_status kino__loop_turn(kino__loop *loop, int wait_ms, kino_error *err)
{
    struct epoll_event events[EVENTS_MAX];
    set_alarm(loop);
    int count = epoll_wait(loop->epoll, events, EVENTS_MAX, wait_ms);
    if (count < 0 && errno != EINTR) {
        (void)kino__fail_errno(err, errno, "cannot wait for events");
        return KINO_IO;
    }
    loop->now_ns = kino__clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < count; i++) {
        kino__loop_watch *watch = events[i].data.ptr;
        if (!watch)
            take_alarm(loop);
        else if (!watch->is_removed)
            watch->ready(watch->context, events[i].events);
    }
    fire_timers(loop);
    free_watches(&loop->removed);
    free_timers(loop, false);
    return KINO_OK;
}

kino_status kino__loop_run(kino__loop *loop, kino_error *err)
{
    while (!loop->is_stopped)
        KINO_TRY(kino__loop_turn(loop, -1, err));
    return KINO_OK;
}

void kino__loop_stop(kino__loop *loop)
{
    loop->is_stopped = true;
}
