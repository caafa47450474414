/* metrics_http.h - /metrics over HTTP, in the daemon's loop.
 *
 * Answers GET and HEAD of /metrics (Prometheus' text) and of / (one line about it), everything
 * else with 404 or 405; one request per connection; limits of size, time and number of
 * connections, so that a slow or silent client costs a descriptor for a few seconds and never
 * makes anybody wait.
 *
 * A client sees the host and, of processes, those of his user: the kernel says whose the other end
 * is, and whoever comes from another machine is nobody. Root and whoever has the token see all. A
 * Host header must name this machine: a page of somebody else's, whose name leads here, gets
 * nothing. */
#ifndef KINO__DAEMON_METRICS_HTTP_H
#define KINO__DAEMON_METRICS_HTTP_H

#include "daemon/loop.h"
#include "daemon/metrics.h"

typedef struct kino__metrics_http kino__metrics_http;

typedef struct kino__metrics_http_options {
    const char *address;    /* "HOST:PORT" or "[HOST]:PORT" (numbers only; port 0: any) */
    const char *hosts;      /* further names that a Host header may have, "a,b"; NULL, "": none */
    const char *token_file; /* NULL, "": no token */
} kino__metrics_http_options;

/* Loop, metrics and texts must live longer. KINO_ARGUMENT: the file has no good token, or everybody
 * can read it. */
KINO_NODISCARD kino_status kino__metrics_http_open(kino__loop *loop, kino__metrics *metrics,
                                                   const kino__metrics_http_options *options,
                                                   kino__metrics_http **out, kino_error *err);
/* The port that is listened at. */
unsigned kino__metrics_http_port(const kino__metrics_http *http);
void kino__metrics_http_close(kino__metrics_http *http); /* NULL is fine */

#endif
