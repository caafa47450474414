/* requests.h - traces that were asked for, from the question to the file.
 *
 *   queued --> delivered --> warming-up --> recording --> written
 *      |           |             |              |
 *      +-----------+-------------+--------------+--> refused, timed-out, cancelled, gone, lost
 *
 * A request has targets, one a process; a process has at most one target that has not ended. States
 * of an unmodified libkineto are derived: it says with each poll only whether it would take a
 * request (idle) or not (busy), so "delivered, busy, idle" is a trace that ran, and the file says
 * when it is written. libkino tells (wire/fabric.h, "kino"). Requests that have ended are kept for
 * a while. A small file remembers the ones that have not: after a restart they are lost, and it can
 * be said which. */
#ifndef KINO__DAEMON_REQUESTS_H
#define KINO__DAEMON_REQUESTS_H

#include "base/json_out.h"
#include "daemon/registry.h"
#include "daemon/trace_file.h"
#include "daemon/users.h"
#include "wire/trace_config.h"

/* NAME and the word that is shown. Those from WRITTEN on are the end. */
#define KINO__TARGET_STATES(X)                                                                     \
    X(QUEUED, "queued")                                                                            \
    X(DELIVERED, "delivered")                                                                      \
    X(WARMING_UP, "warming-up")                                                                    \
    X(RECORDING, "recording")                                                                      \
    X(WRITTEN, "written")                                                                          \
    X(REFUSED, "refused")                                                                          \
    X(TIMED_OUT, "timed-out")                                                                      \
    X(CANCELLED, "cancelled")                                                                      \
    X(GONE, "gone")                                                                                \
    X(LOST, "lost")

typedef enum kino__target_state {
#define KINO__TARGET_STATE_ENUM(name, word) KINO__TARGET_##name,
    KINO__TARGET_STATES(KINO__TARGET_STATE_ENUM)
#undef KINO__TARGET_STATE_ENUM
} kino__target_state;

const char *kino__target_state_word(kino__target_state state);

enum {
    KINO__REQUESTS_KEPT = 64,       /* that have ended */
    KINO__REQUESTS_TARGETS = 65536, /* of all requests together */
    KINO__REQUESTS_OPEN_MAX = 64,   /* of one user, not ended */
    KINO__REQUESTS_USER_MAX = 1024, /* targets of one user's requests, not ended; root: no limit */
    KINO__REQUESTS_PROCESS_MAX = 4, /* targets of one process, not ended */
    KINO__REQUEST_TIMEOUT_S = 600,  /* unless the request says otherwise */
    KINO__REQUEST_SILENCE_S = 60,   /* of the process, while it waits */
};

typedef struct kino__request kino__request;

typedef struct kino__target {
    kino__request *request;
    kino__process *process; /* NULL: not any more */
    kino__process_identity id;
    kino__process_place place;
    kino__process_role role; /* by the processes that are registered; see registry_roles.c */
    kino__target_state state;
    char *text;    /* until it is delivered */
    char *message; /* for people, or NULL */
    int64_t bytes; /* of the file; -1: not known */
    kino__trace_file file;
    kino__trace_file other; /* where libkineto writes when it does not like the path; or none */
    /* Times of the monotonic clock, which nobody sets; 0: not yet. */
    int64_t start_ms, delivered_ms, idle_since_ms;
    int64_t delay_ms, duration_ms; /* start_ms is delay_ms after the delivery unless it is given */
    bool is_by_iteration, has_start, is_kino, was_busy, has_reports;
    struct kino__target *older; /* what the process was asked for before, and has not ended */
    /* requests_look.c */
    bool is_listed, is_due, is_unwatched; /* in the lists below; the kernel does not tell */
    struct kino__target *previous_open, *next_open, *next_due;
    int64_t looked_ms;
} kino__target;

struct kino__request {
    kino__request *next; /* older */
    uint64_t id;
    uid_t uid;
    int64_t created_ms; /* Unix time */
    int64_t made_ms;    /* the same on the monotonic clock */
    int64_t timeout_ms;
    KINO__VEC(kino__target *) targets;
    size_t open; /* targets that have not ended */
};

typedef struct kino__requests {
    kino__loop *loop;
    kino__log *log;
    kino__loop_timer *timer; /* rests while nothing is open */
    kino__request *newest;
    size_t count, open, target_count;
    uint64_t next_id, total;
    const char *state_path; /* NULL: nothing is remembered */
    kino__users users;      /* whose requests: open targets; whose files: what is due */
    kino__file_watches watches;
    kino__target *first_open, *last_open; /* all that have not ended; for the clock */
    kino__user *first_due, *last_due;     /* users with files to look at, in turn */
    size_t due;
    uint64_t looks; /* at files, so far */
} kino__requests;

/* Reads what the file remembers. A file that cannot be read is a line in the log. */
KINO_NODISCARD kino_status kino__requests_init(kino__requests *requests, kino__loop *loop,
                                               kino__log *log, const char *state_path,
                                               kino_error *err);
void kino__requests_deinit(kino__requests *requests);

/* A new request without targets; kino__request_start or kino__request_drop follow. KINO_LIMIT: this
 * user has too many open. */
KINO_NODISCARD kino_status kino__request_new(kino__requests *requests, uid_t uid,
                                             kino__request **out, kino_error *err);

/* What a target is asked for. */
typedef struct kino__target_options {
    kino_str text;              /* rebuilt; with the path */
    const kino__config *config; /* the same, parsed */
    const char *path;           /* of the file that this process will write */
    bool is_refused;            /* do not ask: `message` says why */
    const char *message;        /* or NULL */
} kino__target_options;

/* KINO_LIMIT: too many; KINO_ARGUMENT: one waits for the process already. */
KINO_NODISCARD kino_status kino__request_add(kino__requests *requests, kino__request *request,
                                             kino__process *process,
                                             const kino__target_options *options, kino_error *err);
/* From now on it is delivered and shown. */
void kino__request_start(kino__requests *requests, kino__request *request);
void kino__request_drop(kino__requests *requests, kino__request *request);

/* NULL: there is none, or it is forgotten. */
kino__request *kino__requests_find(const kino__requests *requests, uint64_t id);
/* Ends what has not been delivered; what has been goes on, with a message. Returns how many. */
size_t kino__request_cancel(kino__requests *requests, kino__request *request);

/* One state for the whole: the least advanced that is open, else the worst end. */
kino__target_state kino__request_state(const kino__request *request);

/* -- what the fabric hears */

/* A request waits for it, not delivered yet. */
bool kino__requests_is_busy(const kino__process *process);
/* It has as many that have not ended as it may. */
bool kino__requests_is_full(const kino__process *process);

/* The text that waits for this process; empty: none, or it would be thrown away now, while the
 * process waits for the start of another. */
kino_str kino__requests_text(const kino__process *process);
/* It has been sent. */
void kino__requests_delivered(kino__requests *requests, kino__process *process);
/* A poll, before its answer. */
void kino__requests_polled(kino__requests *requests, kino__process *process, int32_t mask);
/* What libkino says. false: it knows no such request. */
bool kino__requests_report(kino__requests *requests, kino__process *process,
                           const kino__fabric_report *report);
/* The process is about to be forgotten. */
void kino__requests_gone(kino__requests *requests, kino__process *process, bool has_ended);

/* Looks at files that the kernel has told of, and at the clock: a bounded number of each, users in
 * turn; the timer does it. */
void kino__requests_look(kino__requests *requests);

/* The members "request", "state", "time_ms", "uid" and, when asked for, "targets" of an open
 * object. */
void kino__request_json(const kino__request *request, bool with_targets, kino__json *json);

/* requests_state.c: writes and reads the file. */
void kino__requests_save(const kino__requests *requests);
void kino__requests_load(kino__requests *requests);

#endif
