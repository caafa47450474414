/* held.h - a descriptor that is kept open in somebody else's process. Programs close descriptors
 * they do not know and open files of their own, which then have the same numbers: so the number is
 * a high one, and before each use it is asked whether it still means what was opened. Only for
 * descriptors that have an inode of their own: files, sockets and pipes, not events or timers. */
#ifndef KINO__TRACER_HELD_H
#define KINO__TRACER_HELD_H

#include <sys/types.h>

#include <kino/base.h>

typedef struct kino__held {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
} kino__held;

#define KINO__HELD_NONE ((kino__held){.fd = -1})

/* Owns `fd` from now on, perhaps under another number. */
void kino__held_take(kino__held *out, int fd);
/* The number, or -1 when there is none or it is somebody else's now. Async-signal-safe. */
int kino__held_fd(const kino__held *held);
/* Closes it if it is ours. Async-signal-safe. */
void kino__held_close(kino__held *held);

#endif
