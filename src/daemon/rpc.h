/* rpc.h - questions over stream sockets: Dynolog's frames, its five functions and Kino's own.
 *
 *   | length (4, native) | JSON ... |      both ways; one question and one answer a connection
 *
 * TCP on the loopback interface for dyno, and a unix socket for kino. Nobody makes others wait: a
 * connection has a deadline, a user a number of them, the oldest goes first, and memory grows with
 * what has come, not with what was announced. The functions: docs/formats/daemon.md. */
#ifndef KINO__DAEMON_RPC_H
#define KINO__DAEMON_RPC_H

#include "base/json_in.h"
#include "base/json_out.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/users.h"

struct kino__daemon;

enum {
    KINO__RPC_REQUEST_MAX = 64 << 10,
    KINO__RPC_CONNECTIONS_MAX = 256,
    KINO__RPC_USER_MAX = 64,  /* connections of one user */
    KINO__RPC_TURN_MS = 5,    /* for answers, in one turn of the loop: others wait for the next */
    KINO__RPC_SHARE_MS = 100, /* for the answers of one user, in half a second; root: no limit */
    KINO__RPC_READ_MS = 5000,
    KINO__RPC_WRITE_MS = 10000,
};

typedef struct kino__rpc_connection kino__rpc_connection;

typedef struct kino__rpc_listener {
    struct kino__rpc *rpc;
    int fd; /* -1: not open */
    bool is_unix;
    kino__loop_watch *watch;
} kino__rpc_listener;

typedef struct kino__rpc {
    struct kino__daemon *daemon;
    kino__loop *loop;
    kino__log *log;
    kino__rpc_listener listeners[3]; /* unix, 127.0.0.1, ::1 */
    const char *path;                /* of the unix socket, once it is ours */
    unsigned port;                   /* of TCP; 0: none */
    kino__rpc_connection *connections[KINO__RPC_CONNECTIONS_MAX]; /* the oldest first */
    size_t count;
    kino__loop_timer *timer; /* deadlines; rests while there are no connections */
    uint64_t calls, refused;
    kino__users users;         /* what each has spent of the loop's time */
    int64_t turn_ns, spent_ns; /* by answers: in which turn of the loop, and how long */
} kino__rpc;

/* path "": no unix socket; port -1: no TCP. */
KINO_NODISCARD kino_status kino__rpc_open(kino__rpc *rpc, struct kino__daemon *daemon,
                                          kino__loop *loop, kino__log *log, const char *path,
                                          int64_t port, kino_error *err);
/* Also after a failure, and of a zeroed one. */
void kino__rpc_close(kino__rpc *rpc);

/* One question. `uid`: who asks, KINO__NOBODY when that is not known. */
typedef struct kino__rpc_call {
    struct kino__daemon *daemon;
    const kino__json_in *request; /* an object */
    uid_t uid;
    bool is_unix; /* Kino's functions are there, too */
} kino__rpc_call;

/* Answers the JSON in `body` into `answer`. false: the connection is closed without an answer, as
 * Dynolog does. */
bool kino__rpc_answer(struct kino__daemon *daemon, kino_str body, uid_t uid, bool is_unix,
                      kino__buffer *answer);

/* The families of functions; false: there is none of that name, or it has no answer. */
bool kino__rpc_dynolog(const kino__rpc_call *call, kino_str function, kino__json *answer);
bool kino__rpc_kino(const kino__rpc_call *call, kino_str function, kino__json *answer);
/* For both: a member with a list of processes. */
void kino__rpc_put_pids(kino__json *json, const char *key, const int32_t *pids, size_t count);

#endif
