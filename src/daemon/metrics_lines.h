/* metrics_lines.h - each sample as a line of JSON, appended to a file, a pipe or standard output
 * (--metrics-json).
 *
 * The loop never waits for a reader: what a pipe does not take at once is kept up to a limit, and
 * whole lines are dropped beyond it; the next line that gets through says how many. */
#ifndef KINO__DAEMON_METRICS_LINES_H
#define KINO__DAEMON_METRICS_LINES_H

#include "daemon/metrics.h"

typedef struct kino__metrics_lines kino__metrics_lines;

/* "-" is standard output. A file is appended to and made (0644) when it is missing. */
KINO_NODISCARD kino_status kino__metrics_lines_open(const char *path, kino__metrics_lines **out,
                                                    kino_error *err);
/* After each sample. Failing is no news after the first time: the message is in err then. */
KINO_NODISCARD kino_status kino__metrics_lines_write(kino__metrics_lines *lines,
                                                     const kino__metrics *metrics, kino_error *err);
void kino__metrics_lines_close(kino__metrics_lines *lines); /* NULL is fine */

#endif
