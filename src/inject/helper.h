/* helper.h - the few threads that the recording of a program may need beside those of libkino: one
 * for the window (--delay, --duration), one that begins a little after a fork.
 *
 * They give way: a program with one thread may do what the system forbids to others (unshare, setns
 * of user namespaces), so they end when it wants to, and begin again. They end as well when they
 * are the last threads of the process. */
#ifndef KINO__INJECT_HELPER_H
#define KINO__INJECT_HELPER_H

#include <kino/base.h>

typedef enum kino__helper {
    KINO__HELPER_WINDOW,
    KINO__HELPER_LATER,
    KINO__HELPER_COUNT,
} kino__helper;

/* `run` sleeps by kino__helper_sleep and returns when that says false; it is then called again,
 * from its beginning, when threads may be there again. */
void kino__helper_start(kino__helper which, void (*run)(void));

/* Until a time of CLOCK_MONOTONIC in ns. False: the thread is to end. */
bool kino__helper_sleep(uint64_t until_ns);

/* Asks all to end; they do a moment later. Then has them begin again. */
void kino__helpers_pause(void);
void kino__helpers_resume(void);

/* In a forked child: there is none. */
void kino__helpers_forked(void);

#endif
