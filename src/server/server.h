/* server.h - kino serve: the engine behind HTTP (docs/formats/http.md). For src/cli.
 *
 *   MHD thread          reads requests, sends answers, never computes
 *   fast lane, slow lane  threads that work: tiles never wait behind an analysis
 *   loaders, scanner    of the catalogue
 *   minder              time limits, clients that are gone, requests that wait for a load
 *
 * docs/internals/server.md has the picture. */
#ifndef KINO__SERVER_SERVER_H
#define KINO__SERVER_SERVER_H

#include <kino/base.h>

typedef struct kino__server kino__server;

typedef struct kino__server_options {
    const char *const *paths; /* outlive the server */
    size_t path_count;
    const char *host;   /* an address, or "localhost" */
    unsigned port;      /* 0: any that is free */
    const char *socket; /* path of a unix socket to listen on instead; NULL: none */
    const char *token;  /* NULL: none, or one is made when others can reach us */
    /* Below which path it is served, as "/x" or "/x/"; NULL: "/". */
    const char *base_path;
    /* Names besides its own that a Host header may have, of proxies before it; "*": any, with
     * a token. They outlive the server. */
    const char *const *hosts;
    size_t host_count;
    const char *frame_ancestors; /* who may show it in a frame, as CSP says it; NULL: 'none' */
    uint64_t memory;             /* bytes; 0: half of the machine's */
    unsigned jobs;               /* threads for one piece of work; 0: all processors */
    unsigned scan_ms;            /* between looks at the folders; 0: 2 s */
} kino__server_options;

/* Starts to serve; returns at once. */
KINO_NODISCARD kino_status kino__server_start(const kino__server_options *options,
                                              kino__server **out, kino_error *err);
/* Where it is, with the token where one is needed. Owned by the server. */
const char *kino__server_url(const kino__server *server);
/* How many runs there are. */
size_t kino__server_run_count(kino__server *server);
/* Ends all work and all connections. */
void kino__server_stop(kino__server *server);

/* Is this a token that can be used? Letters, digits and -._~, 8 to 128 of them. */
bool kino__server_token_is_good(const char *token);
/* Is this a path that can be served below? Begins with /; segments of letters, digits and -._~@%+:,
 * none of them "." or "..". */
bool kino__server_base_path_is_good(const char *path);
/* Is this the name of a host, or "*"? */
bool kino__server_host_is_good(const char *name);
/* Can this be in a policy without ending its directive? */
bool kino__server_frames_are_good(const char *sources);

#endif
