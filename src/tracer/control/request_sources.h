/* request_sources.h - where requests from outside come from: a file, a signal, the daemon.
 *
 * One thread sleeps on the daemon's socket and on an event of ours; it wakes up for a datagram, for
 * a signal, and when a poll or a look at the file is due. It makes no request itself but hands the
 * text to whoever drives the controller. kino__requests_turn is one round of it, with the time as
 * an argument, so that tests need neither thread nor patience. */
#ifndef KINO__TRACER_REQUEST_SOURCES_H
#define KINO__TRACER_REQUEST_SOURCES_H

#include <pthread.h>
#include <time.h>

#include "tracer/control/controller.h"
#include "tracer/control/fabric_client.h"

enum {
    KINO__REQUESTS_BASE_MS = 300000, /* between two looks at a file of settings */
    KINO__REQUESTS_POLL_MIN_MS = 100,
    KINO__REQUESTS_REST_MS = 10, /* for which a socket with bad datagrams is left alone */
};

/* Called by the thread, with nothing held. */
typedef struct kino__requests_ops {
    void *context;
    /* `label` names the text in messages. */
    void (*request)(void *context, kino_str text, const char *label, kino__origin origin);
    void (*refused)(void *context, kino__origin origin, const kino_error *err);
    bool (*is_free)(void *context); /* could a request be taken? */
} kino__requests_ops;

typedef struct kino__requests_options {
    const char *file; /* NULL: none */
    bool is_request;  /* the file is a request when it says so, now and when it changes */
    const char *text; /* what a signal asks for when there is no file; NULL: the defaults */
    int signal;       /* 0: as the file says */
    int use_daemon;   /* 1, 0, or -1: as the file says */
    kino__fabric_options fabric;
} kino__requests_options;

typedef struct kino__request_sources {
    kino__requests_ops ops;
    char *file, *text;
    bool is_request;
    struct timespec file_time; /* of the text that was read */
    int64_t file_size;
    bool has_file;
    int signal;         /* 0: none */
    uint32_t signals;   /* atomic: that came */
    kino__held wake[2]; /* a pipe, to read and to write: ends the thread's sleep */
    bool has_daemon;
    kino__fabric_client client; /* of it */
    char *buffer;               /* of datagrams */
    pthread_mutex_t lock;       /* of the client's counts */
    kino__fabric_counts counts; /* a copy to look at */
    int64_t interval_ms;
    int64_t next_poll_ns, next_look_ns, rest_until_ns;
    bool has_thread, is_paused;
    uint32_t ends; /* atomic */
    pthread_t thread;
} kino__request_sources;

/* Reads the file, opens the socket, takes the signal; the thread is started where one is needed. A
 * file that cannot be read is noted (`refused`) and does not prevent the rest. */
KINO_NODISCARD kino_status kino__requests_start(kino__request_sources *r,
                                                const kino__requests_ops *ops,
                                                const kino__requests_options *options,
                                                kino_error *err);
/* The same without the thread. */
KINO_NODISCARD kino_status kino__requests_open(kino__request_sources *r,
                                               const kino__requests_ops *ops,
                                               const kino__requests_options *options,
                                               kino_error *err);
void kino__requests_stop(kino__request_sources *r);
/* Its thread ends for a while; what comes meanwhile waits. For one thread at a time. */
void kino__requests_pause(kino__request_sources *r);
void kino__requests_resume(kino__request_sources *r);
/* Nothing is open yet. */
void kino__requests_clear(kino__request_sources *r);
/* In a forked child: closes what is the parent's. Async-signal-safe. */
void kino__requests_forked(kino__request_sources *r);

/* Does what is due; returns when it is to be called again (KINO__CONTROLLER_NEVER: not before
 * something comes). */
int64_t kino__requests_turn(kino__request_sources *r, int64_t now_ns);

#endif
