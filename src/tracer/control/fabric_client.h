/* fabric_client.h - the process's end of the connection to the daemon: polls go out, configurations
 * come in. Nothing here ever waits; the thread that has the client (request_sources.c) sleeps on
 * its socket.
 *
 * A reply counts when it comes from the daemon's address and from a user who may rule this process:
 * root, the process's own user, or the one of KINO_DAEMON_UID. Everything else is dropped and
 * counted. A reply that is late is as good as one in time, since it is not waited for. */
#ifndef KINO__TRACER_FABRIC_CLIENT_H
#define KINO__TRACER_FABRIC_CLIENT_H

#include <sys/types.h>

#include "tracer/control/held.h"
#include "wire/fabric.h"

typedef struct kino__fabric_options {
    const char *folder; /* KINETO_IPC_SOCKET_DIR; NULL or "": abstract names */
    const char *daemon; /* its name; NULL: "dynolog" */
    const char *job;    /* SLURM_JOB_ID, or NULL */
    int64_t daemon_uid; /* besides root and ourselves; -1: nobody */
} kino__fabric_options;

typedef struct kino__fabric_counts {
    uint64_t polls;       /* that were sent */
    uint64_t unsent;      /* the daemon was not there, or did not read */
    uint64_t replies;     /* that counted */
    uint64_t texts;       /* of them, with a configuration */
    uint64_t bad_replies; /* that did not count */
} kino__fabric_counts;

typedef struct kino__fabric_client {
    kino__held socket; /* the program may close it: then it is opened again */
    pid_t pid;
    int64_t daemon_uid;
    kino__fabric_address own, daemon;
    kino__fabric_poll poll;
    kino__fabric_counts counts;
} kino__fabric_client;

/* Nothing is left to close on failure. */
KINO_NODISCARD kino_status kino__fabric_open(const kino__fabric_options *options,
                                             kino__fabric_client *out, kino_error *err);
/* Also removes the socket's file, except in a forked child. */
void kino__fabric_close(kino__fabric_client *client);

/* Sends a poll: `accepts` when a configuration would be taken. KINO_UNAVAILABLE: the daemon does
 * not listen, or has not read what it was sent before. */
kino_status kino__fabric_send(kino__fabric_client *client, bool accepts, kino_error *err);

/* Tells Kino's daemon about a request of its; no answer comes. It may be lost. */
void kino__fabric_send_report(const kino__fabric_client *client, const kino__fabric_report *report);

/* Takes the next datagram. KINO_OK: *text is in `buffer`, empty when there is nothing to do;
 * KINO_NOT_FOUND: there is none; KINO_FORMAT: it was dropped, and why. */
kino_status kino__fabric_receive(kino__fabric_client *client, void *buffer, size_t size,
                                 kino_str *text, kino_error *err);

/* The pids of a process and its ancestors, at most `max`, without pid 1 unless it is the process
 * itself. */
uint32_t kino__fabric_ancestors(pid_t pid, int32_t *out, uint32_t max);

#endif
