/* trigger.h - from "trace these processes" to a request: who matches, who may, what each is told.
 *
 * The text is parsed, checked and put together again for each process; the path is one that the
 * process could write to. */
#ifndef KINO__DAEMON_TRIGGER_H
#define KINO__DAEMON_TRIGGER_H

#include "daemon/registry.h"
#include "daemon/requests.h"

enum { KINO__TRIGGER_PIDS_MAX = 4096, KINO__TRIGGER_TEXT_MAX = 8192 };

typedef struct kino__trigger {
    uid_t caller;
    /* Who; a process matches when it fits everything that is given. */
    const int64_t *pids; /* it, or an ancestor */
    size_t pid_count;
    bool has_job;
    int64_t job;
    kino_str name; /* a pattern for its name or its command; empty: any */
    int64_t limit; /* of processes; -1: none */
    /* What */
    kino_str text;      /* lines of KEY=VALUE */
    bool has_path;      /* the text has the path; else `output` is it */
    kino_str output;    /* file or folder; empty: /tmp/kino_REQUEST.json */
    bool wants_kino;    /* .kino from those who can */
    int64_t timeout_ms; /* 0: the usual */
} kino__trigger;

typedef struct kino__trigger_result {
    kino__request *request;                      /* NULL: nobody was asked */
    KINO__VEC(int32_t) matched, triggered, busy; /* pids */
    size_t denied;                               /* of other users */
    kino_error reason;                           /* when nobody matched: why */
} kino__trigger_result;

/* KINO_FORMAT, KINO_ARGUMENT: the text or the path is refused. Nobody who matches is no failure.
 * *out is to be deinitialised whatever is returned. */
KINO_NODISCARD kino_status kino__trigger_run(kino__registry *registry, kino__requests *requests,
                                             const kino__trigger *trigger,
                                             kino__trigger_result *out, kino_error *err);
void kino__trigger_result_deinit(kino__trigger_result *result);

#endif
