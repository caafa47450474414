/* daemon_options.h - what kino trigger and kino status share: which daemon, which processes, times
 * as people write them, and the table of a request's traces. */
#ifndef KINO__CLI_DAEMON_OPTIONS_H
#define KINO__CLI_DAEMON_OPTIONS_H

#include "base/arena.h"
#include "cli/own_tables.h"
#include "client/client_request.h"

typedef struct kino__daemon_options {
    const char *socket, *host;
    unsigned port;
} kino__daemon_options;

#define KINO__DAEMON_OPTIONS(type, field)                                                          \
    {"socket",                                                                                     \
     KINO__OPTION_TEXT,                                                                            \
     "PATH",                                                                                       \
     "connect to the daemon at this unix socket (default: $KINO_DAEMON_SOCKET, else "              \
     "$XDG_RUNTIME_DIR/kino or /run/kino)",                                                        \
     offsetof(type, field.socket),                                                                 \
     false},                                                                                       \
        {"host",                                                                                   \
         KINO__OPTION_TEXT,                                                                        \
         "NAME",                                                                                   \
         "connect over TCP as dyno does, to a Dynolog daemon on this or another machine",          \
         offsetof(type, field.host),                                                               \
         false},                                                                                   \
    {                                                                                              \
        "port", KINO__OPTION_UINT, "N", "connect to TCP port N (default: 1778)",                   \
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

/* Columns of the table of traces. */
enum {
    KINO__TRACES_RANK = 1,
    KINO__TRACES_SIZE = 3,
    KINO__TRACES_MESSAGE = 5,
    KINO__TRACES_REQUEST = 6,
};

/* The traces of a request, a row a process; the request's own column where it is wanted. */
void kino__own_tables_add_traces(kino__own_tables *tables, const kino__on_demand *of,
                                 bool with_request);

#endif
