/* server_internal.h - the body of the server, for the files of this folder. */
#ifndef KINO__SERVER_INTERNAL_H
#define KINO__SERVER_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "base/lock.h"
#include "server/cache.h"
#include "server/lane.h"
#include "server/run_catalog.h"
#include "server/server.h"

/* A client's connection, from its first byte to its last. */
typedef struct kino__http_client kino__http_client;
struct kino__http_client {
    kino__server *server;
    kino__http_client *before, *after;
    int socket;
    int64_t since_ms; /* when it began to do what it does */
    bool is_served;   /* a request of it is complete; else it may send one, or be idle */
};

/* A unix socket in the file system that is ours to remove. */
typedef struct kino__socket_file {
    const char *path; /* NULL: none */
    dev_t device;
    ino_t number;
} kino__socket_file;

#define KINO__SQL_MEMORY ((uint64_t)256 << 20) /* for one statement */

struct kino__server {
    kino__server_options options; /* constant, as all down to `lock` */
    char *host;                   /* the address it is bound to, without brackets */
    unsigned port;
    char *base;      /* path that it is served below, without the last slash: "", "/x" */
    char *base_page; /* the same with it */
    char *token;     /* NULL: none is needed */
    char *cookie;    /* "Set-Cookie" that carries it */
    char *url;
    char *policy, *report_policy; /* of contents, for the UI and for reports */
    char cookie_name[32];
    /* false: bound to all addresses or with any name allowed, where the token alone decides; or on a
     * unix socket, which no name leads to */
    bool checks_host;
    uint64_t memory; /* limit */
    uint64_t salt;   /* of tags: another one with every start */
    kino__catalog *catalog;
    kino__cache *cache;
    struct MHD_Daemon *daemon;
    int listener; /* -1: none, or the daemon's */
    kino__socket_file socket_file;
    unsigned crowd; /* with more clients than these, who only sits there must go soon */
    kino__lane fast, slow, query;
    pthread_t minder;
    bool has_minder;
    kino__mutex lock;
    pthread_cond_t tick;         /* for the minder */
    bool is_ending;              /* guarded by lock, as all below */
    bool has_changed;            /* a load is done: look at those who wait */
    kino__http_request *working; /* all that are with lanes or parked */
    kino__http_request *parked;
    kino__http_client *clients;
    unsigned client_count;
};

static inline unsigned kino__server_jobs(const kino__server *server)
{
    return server->options.jobs;
}

/* -- minder.c -- */

void *kino__server_mind(void *server);
/* A request leaves the MHD thread, or comes back to it. */
void kino__server_add_working(kino__server *server, kino__http_request *request);
void kino__server_remove_working(kino__server *server, kino__http_request *request);
/* To be worked on again when a load is done; false: there is no time for that any more. */
bool kino__server_park(kino__server *server, kino__http_request *request);
/* A state in the catalogue has changed. */
void kino__server_changed(void *server);

/* A connection begins and ends; a request of it is complete, or it is idle again. */
kino__http_client *kino__server_add_client(kino__server *server, int socket); /* may be NULL */
void kino__server_remove_client(kino__server *server, kino__http_client *client);
void kino__server_mark_client(kino__http_client *client, bool is_served);

/* -- server.c -- */

/* Into its lane; false: too many are waiting. */
bool kino__server_enqueue(kino__server *server, kino__http_request *request);

/* -- server_access.c -- */

/* Who may ask, and in which frames it may be shown: from the options. */
KINO_NODISCARD kino_status kino__access_init(kino__server *server, kino_error *err);
/* The address, once it listens, and the cookie. */
KINO_NODISCARD kino_status kino__access_make_url(kino__server *server, kino_error *err);
void kino__access_deinit(kino__server *server);

/* -- listen.c -- */

/* Takes the port, or makes the socket. */
KINO_NODISCARD kino_status kino__http_listen(kino__server *server, kino_error *err);
/* Removes the socket from the file system, unless it is another one by now. */
void kino__http_unlisten(kino__server *server);

/* -- http.c -- */

/* Answers from now on. */
KINO_NODISCARD kino_status kino__http_start(kino__server *server, kino_error *err);
void kino__http_stop(kino__server *server);
/* Hands an answered request back to the MHD thread. */
void kino__http_resume(kino__http_request *request);

/* -- assets.c -- */

/* The answer for a file of the UI; false: there is none of this path. */
bool kino__asset_answer(kino__http_request *request);
bool kino__assets_are_there(void);

#endif
