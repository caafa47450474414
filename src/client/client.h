/* client.h - asking a daemon: ours through its unix socket, or anything that speaks Dynolog's RPC.
 *
 *   kino__client client;
 *   KINO_TRY(kino__client_open(&client, &where, err));          finds it, and finds out what it is
 *   kino__client_answer answer;
 *   KINO_TRY(kino__client_call(&client, request, &answer, err));    one connection for each call
 *   ... kino__json_in_member(answer.root, "processes") ...
 *   kino__client_answer_deinit(&answer);
 *
 * Frame: int32 length in the machine's byte order, then that many bytes of JSON; both ways. A
 * Dynolog daemon answers to five functions and closes the connection without a word for all else;
 * it dies when its caller hangs up before the answer, so a call always waits for it. Every wait has
 * a limit. One thread at a time. */
#ifndef KINO__CLIENT_CLIENT_H
#define KINO__CLIENT_CLIENT_H

#include <sys/types.h>

#include <kino/base.h>

#include "base/json_in.h"

enum { KINO__CLIENT_PORT = 1778, KINO__CLIENT_TIMEOUT_MS = 10000 };

typedef struct kino__client_where {
    const char *socket; /* NULL: the usual places */
    const char *host;   /* NULL: this machine's socket, then its loopback port */
    unsigned port;      /* 0: 1778 */
    int timeout_ms;     /* of a call; 0: KINO__CLIENT_TIMEOUT_MS */
} kino__client_where;

typedef enum kino__client_kind {
    KINO__CLIENT_KINO,    /* everything */
    KINO__CLIENT_DYNOLOG, /* getStatus, getVersion, setKinetOnDemandRequest, dcgmProf... */
} kino__client_kind;

typedef struct kino__client {
    kino__client_kind kind;
    char place[300];  /* for people: "/run/kino/daemon.sock", "localhost:1778" */
    char version[64]; /* of a Dynolog daemon, or "" */
    char socket[108]; /* "": host and port */
    const char *host; /* borrowed from `where` */
    char port[12];    /* any unsigned number */
    bool is_local;    /* its files are this machine's */
    uid_t uid;        /* whose daemon it is, by the kernel; (uid_t)-1: not known (TCP) */
    int timeout_ms;
} kino__client;

/* KINO_NOT_FOUND when nobody answers: the message says where was looked, and how to start one. */
KINO_NODISCARD kino_status kino__client_open(kino__client *out, const kino__client_where *where,
                                             kino_error *err);

typedef struct kino__client_answer {
    const kino__json_in *root; /* an object */
    kino__arena arena;         /* of all of it */
} kino__client_answer;

/* Sends one request, a JSON object. KINO_FORMAT: what came is no answer; KINO_ARGUMENT: the daemon
 * refused, and says why in err; KINO_NOT_FOUND: it is not there (any more); KINO_IO: the connection
 * broke. To be deinitialised after KINO_OK
 * only. */
KINO_NODISCARD kino_status kino__client_call(const kino__client *client, kino_str request,
                                             kino__client_answer *out, kino_error *err);
void kino__client_answer_deinit(kino__client_answer *answer);

/* Whose processes this daemon may speak for: (uid_t)-1 for those of root and of our own, which know
 * from the kernel; the user of any other. */
uid_t kino__client_limit(const kino__client *client);

/* A call without arguments: {"fn": name}. */
KINO_NODISCARD kino_status kino__client_ask(const kino__client *client, const char *function,
                                            kino__client_answer *out, kino_error *err);

#endif
