/* fabric_server.h - the daemon's end of the fabric: datagrams in, answers out at once.
 *
 * Two sockets at most: the abstract name and one in a folder; an answer leaves through the socket
 * that the question came in on, since a client dies of an answer from anywhere else. Who asks is
 * what the kernel says (SO_PASSCRED). What must never happen to a client, and does not:
 *   - an answer to an address that is not of the socket's own kind
 *   - two answers, or one that comes late: what cannot be sent now, or would be old, is dropped
 *   - a text that nobody asked for: all answers but those with a request are empty */
#ifndef KINO__DAEMON_FABRIC_SERVER_H
#define KINO__DAEMON_FABRIC_SERVER_H

#include "daemon/registry.h"
#include "daemon/requests.h"

enum {
    /* Older clients wait 50 ms; what has waited longer than this for us is not answered. */
    KINO__FABRIC_LATE_MS = 40,
    KINO__FABRIC_DELAYS = 32, /* classes of the time from receiving to sending: 2^i us */
};

typedef struct kino__fabric_statistics {
    uint64_t datagrams, replies, texts, reports;
    uint64_t bad;                         /* no datagrams of ours, or of nobody we could answer */
    uint64_t late;                        /* not answered since too old */
    uint64_t dropped;                     /* answers that could not be sent */
    uint64_t delays[KINO__FABRIC_DELAYS]; /* answers by the time they took: < 2^i us */
} kino__fabric_statistics;

typedef struct kino__fabric_socket {
    struct kino__fabric_server *server;
    int fd; /* -1: not open */
    kino__loop_watch *watch;
    kino__fabric_address address;
    char folder[sizeof(struct sockaddr_un)]; /* with "/" behind it; "": abstract */
} kino__fabric_socket;

typedef struct kino__fabric_server {
    kino__loop *loop;
    kino__log *log;
    kino__registry *registry;
    kino__requests *requests;
    kino__fabric_socket sockets[2]; /* abstract, folder */
    struct kino__fabric_batch *batch;
    kino__fabric_statistics statistics;
    int64_t turn_ns, spent_ns; /* on new processes: in which turn of the loop, and how long */
} kino__fabric_server;

typedef struct kino__fabric_server_options {
    bool is_abstract;   /* listen at the abstract name */
    const char *folder; /* and in this folder; NULL or "": no */
} kino__fabric_server_options;

/* KINO_UNAVAILABLE: another daemon is there already. */
KINO_NODISCARD kino_status kino__fabric_server_open(kino__fabric_server *server,
                                                    const kino__fabric_server_options *options,
                                                    kino__loop *loop, kino__log *log,
                                                    kino__registry *registry,
                                                    kino__requests *requests, kino_error *err);
/* Also after a failure, and of a zeroed one. */
void kino__fabric_server_close(kino__fabric_server *server);

/* One datagram, as if it had come from this socket: for fuzzing and tests. */
typedef struct kino__fabric_datagram {
    kino_str bytes;
    kino__fabric_address from;
    int32_t pid; /* 0: not known */
    uid_t uid;
    int64_t age_ns;
} kino__fabric_datagram;

typedef enum kino__fabric_verdict {
    KINO__FABRIC_IGNORE,       /* no answer */
    KINO__FABRIC_ANSWER_EMPTY, /* "nothing to do" */
    KINO__FABRIC_ANSWER_TEXT,  /* `answer` is a request */
    KINO__FABRIC_ANSWER_COUNT, /* `count` */
} kino__fabric_verdict;

typedef struct kino__fabric_answer {
    kino__fabric_verdict verdict;
    kino_str text;
    int32_t count;
    kino__process *process; /* NULL: not registered yet */
} kino__fabric_answer;

/* Decides; sends nothing. A process that is not known yet gets an empty answer, and is registered
 * afterwards by kino__fabric_settle. */
kino__fabric_answer kino__fabric_judge(kino__fabric_socket *socket,
                                       const kino__fabric_datagram *datagram);
void kino__fabric_settle(kino__fabric_socket *socket, const kino__fabric_datagram *datagram,
                         const kino__fabric_answer *answer, bool is_sent);

#endif
