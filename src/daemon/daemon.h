/* daemon.h - kino daemon: on-demand traces from live processes, and monitoring; one process, one
 * loop. */
#ifndef KINO__DAEMON_DAEMON_H
#define KINO__DAEMON_DAEMON_H

#include "daemon/settings.h"

/* Runs until SIGTERM or SIGINT. SIGHUP reads the settings again. What happens is on standard
 * error. */
KINO_NODISCARD kino_status kino__daemon_run(const kino__settings_sources *sources, kino_error *err);

#endif
