/* daemon_options.h - what kino trigger, kino status and kino doctor share: which daemon, which
 * processes, and times as people write them. */
#ifndef KINO__CLI_DAEMON_OPTIONS_H
#define KINO__CLI_DAEMON_OPTIONS_H

#include "base/arena.h"
#include "cli/cli.h"
#include "daemon/client.h"

typedef struct kino__daemon_options {
    const char *socket, *host;
    unsigned port;
} kino__daemon_options;

#define KINO__DAEMON_OPTIONS(type, field)                                                          \
    {"socket",                                                                                     \
     KINO__OPTION_TEXT,                                                                            \
     "PATH",                                                                                       \
     "the daemon's unix socket (default: $KINO_DAEMON_SOCKET, else $XDG_RUNTIME_DIR/kino or "      \
     "/run/kino)",                                                                                 \
     offsetof(type, field.socket),                                                                 \
     false},                                                                                       \
        {"host",                                                                                   \
         KINO__OPTION_TEXT,                                                                        \
         "NAME",                                                                                   \
         "ask over TCP instead, as dyno does: a Dynolog daemon, also on another machine",          \
         offsetof(type, field.host),                                                               \
         false},                                                                                   \
    {                                                                                              \
        "port", KINO__OPTION_UINT, "N", "TCP port of the daemon (default: 1778)",                  \
            offsetof(type, field.port), false                                                      \
    }

/* Opens the daemon. 0, or an exit code (already reported). */
int kino__daemon_connect(const kino__command *command, const kino__daemon_options *options,
                         kino__client *out);

/* Numbers as in "4711,4712". False (and a usage message) when it is anything else. */
typedef struct kino__pid_list {
    KINO__VEC(int64_t) items;
} kino__pid_list;
bool kino__pid_list_parse(const kino__command *command, const char *text, kino__pid_list *out);

/* "500ms", "2s", "1.5m" to milliseconds; false when it is anything else. */
bool kino__parse_duration(const char *text, int64_t *out_ms);
/* "+30s" (from now), "@1700000000.5" (Unix time), "2026-11-16T07:30:00" (local; with Z: UTC) or
 * "07:30:00" (today) to Unix time in ms; false when it is anything else. */
bool kino__parse_start(const char *text, int64_t now_ms, int64_t *out_ms);

/* The cells of a table that is made here, added row after row. */
typedef struct kino__cells {
    KINO__VEC(kino_cell) items;
    bool failed;
} kino__cells;
void kino__cells_add_int(kino__cells *cells, int64_t value);     /* KINO_NO_INT: null */
void kino__cells_add_text(kino__cells *cells, const char *text); /* NULL: null */

#endif
