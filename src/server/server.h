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
    const char *host;  /* an address, or "localhost" */
    unsigned port;     /* 0: any that is free */
    const char *token; /* NULL: none, or one is made when others can reach us */
    uint64_t memory;   /* bytes; 0: half of the machine's */
    unsigned jobs;     /* threads for one piece of work; 0: all processors */
    unsigned scan_ms;  /* between looks at the folders; 0: 2 s */
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

#endif
