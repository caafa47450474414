/* daemon_internal.h - what the daemon consists of, for the functions that answer about it. */
#ifndef KINO__DAEMON_DAEMON_INTERNAL_H
#define KINO__DAEMON_DAEMON_INTERNAL_H

#include "daemon/daemon.h"
#include "daemon/fabric_server.h"
#include "daemon/metrics.h"
#include "daemon/metrics_http.h"
#include "daemon/metrics_lines.h"
#include "daemon/registry.h"
#include "daemon/requests.h"
#include "daemon/rpc.h"

typedef struct kino__daemon {
    const kino__settings_sources *sources;
    kino__settings settings;
    kino__log log;
    kino__loop *loop;
    int signals; /* a signalfd, or -1 */
    int64_t started_ns;
    kino__registry registry;
    kino__requests requests;
    kino__fabric_server fabric;
    kino__rpc rpc;
    kino__metrics *metrics; /* NULL: none */
    kino__metrics_http *metrics_http;
    kino__metrics_lines *metrics_lines;
    kino__loop_timer *metrics_timer;
    bool has_failed_lines;
} kino__daemon;

#endif
