/* client_metrics.h - the daemon's measurements as a run of counters, built in memory.
 *
 *   kino_run *counters = NULL;
 *   KINO_TRY(kino__client_metrics(client, from_ns, to_ns, &counters, err));
 *
 * One track, the process "host metrics" with the daemon's pid; each known value is an event of
 * phase 'C' at its time on CLOCK_REALTIME, which is the clock of the traces that libkineto and
 * libkino write (docs/formats/metrics.md). */
#ifndef KINO__CLIENT_METRICS_H
#define KINO__CLIENT_METRICS_H

#include <kino/engine.h>

#include "client/client.h"

/* The samples between two times, ns since 1970. KINO_UNAVAILABLE or KINO_ARGUMENT: the daemon does
 * not collect metrics. Without a sample in that time the run has no counter. */
KINO_NODISCARD kino_status kino__client_metrics(const kino__client *client, int64_t from_ns,
                                                int64_t to_ns, kino_run **out, kino_error *err);

/* The same of an answer that is there: the member "history" of getMetrics. Values that are not what
 * the format says are left out. */
KINO_NODISCARD kino_status kino__metrics_history_run(const kino__json_in *history, kino_run **out,
                                                     kino_error *err);

#endif
