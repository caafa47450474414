/* metrics_http.h - /metrics over HTTP, in the daemon's loop.
 *
 * Answers GET and HEAD of /metrics (Prometheus' text) and of / (one line about it), everything
 * else with 404 or 405; one request per connection; limits of size, time and number of
 * connections, so that a slow or silent client costs a descriptor for a few seconds and never
 * makes anybody wait. */
#ifndef KINO__DAEMON_METRICS_HTTP_H
#define KINO__DAEMON_METRICS_HTTP_H

#include "daemon/loop.h"
#include "daemon/metrics.h"

typedef struct kino__metrics_http kino__metrics_http;

/* Listens at "HOST:PORT" or "[HOST]:PORT" (numbers only; port 0: any). Loop and metrics must live
 * longer. */
KINO_NODISCARD kino_status kino__metrics_http_open(kino__loop *loop, kino__metrics *metrics,
                                                   const char *address, kino__metrics_http **out,
                                                   kino_error *err);
/* The port that is listened at. */
unsigned kino__metrics_http_port(const kino__metrics_http *http);
void kino__metrics_http_close(kino__metrics_http *http); /* NULL is fine */

#endif
