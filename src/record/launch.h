/* launch.h - running the program: its start can be held back, signals pass through, and the caller
 * does something meanwhile. */
#ifndef KINO__RECORD_LAUNCH_H
#define KINO__RECORD_LAUNCH_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <kino/base.h>

typedef struct kino__program_launch {
    pid_t pid;       /* 0: not started, or it has been waited for */
    int gate;        /* a byte in it lets the child go on; -1: done */
    int failure;     /* what exec said comes out of it; -1: done */
    int signals;     /* signalfd */
    sigset_t before; /* the mask that the program gets, and we afterwards */
    struct sigaction before_child, before_pipe,
        before_size;  /* the same, of SIGCHLD, SIGPIPE, SIGXFSZ */
    bool is_blocking; /* signals are blocked */
    int status;       /* of waitpid, when it has ended */
    /* when it has ended: a thread that looks for signals to us */
    pthread_t watcher;
    bool has_watcher;
    int wake;         /* eventfd: the thread shall end */
    uint32_t is_told; /* atomic: one has come */
} kino__program_launch;

typedef struct kino__launch_options {
    const char *path;
    char *const *arguments; /* NULL at the end */
    char *const *environment;
    char *main; /* "NAME=00000000000" in the environment: gets the child's number; or NULL */
} kino__launch_options;

/* The child waits before its exec until kino__launch_go. Must be deinitialised also after a
 * failure. */
KINO_NODISCARD kino_status kino__launch_start(kino__program_launch *out,
                                              const kino__launch_options *options, kino_error *err);
/* KINO_NOT_FOUND, KINO_UNAVAILABLE: exec failed. */
KINO_NODISCARD kino_status kino__launch_go(kino__program_launch *launch, kino_error *err);

/* Waits until the program ends, `fd` (or -1) is readable, or so many ms are over (-1: no limit);
 * hands signals on. True: the program has ended. */
bool kino__launch_wait(kino__program_launch *launch, int fd, int timeout_ms);

/* For what is done when it has ended: did somebody tell us to end, too? A signal that comes right
 * behind the end does not count, it was for both. While the program runs signals are handed on. */
bool kino__launch_is_told_to_end(kino__program_launch *launch);

/* Signals are ours again. Kills and waits for a child that never ran. */
void kino__launch_deinit(kino__program_launch *launch);

#endif
