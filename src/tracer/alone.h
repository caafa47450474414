/* alone.h - the recorder's threads in other people's processes: who else is there, and what may
 * still be asked of the system. */
#ifndef KINO__TRACER_ALONE_H
#define KINO__TRACER_ALONE_H

#include <kino/base.h>

enum {
    KINO__ALONE_MS = 500 /* how often a thread of ours that sleeps for long looks around */
};

/* Are the recorder's own threads the only ones left? That is so when the main thread has ended by
 * pthread_exit and all others after it: then a thread of ours must end, so that the process ends,
 * as it would without the recorder (the C library calls exit(0) on the last thread). While the main
 * thread lives this costs nothing: no system call. */
bool kino__is_alone(void);
/* Which thread is the main one: when the library is loaded, and in a forked child. */
void kino__alone_load(void);
void kino__alone_forked(void);

/* Is a thread of the recorder's in this process, the calling one aside? */
bool kino__has_own_threads(void);

/* The number of the calling thread, without a system call: for programs with a filter of their own
 * on system calls, which would end the process. */
uint32_t kino__quiet_tid(void);

#endif
