/* kino/control.h - traces on request: where requests come from, who takes part, where traces go.
 *
 * Example: request half a second of trace.
 *
 *   static kino_status trace_now(kino_error *error)
 *   {
 *       return kino_request("ACTIVITIES_DURATION_MSECS=500\n"
 *                           "ACTIVITIES_LOG_FILE=/tmp/t.json", error);
 *   }
 *
 * A request is configuration text with Kineto's keys (docs/internals/recorder-control.md). It comes
 * from the program (kino_request), or from outside once kino_control_start was called or one of
 * these variables was set when the library was loaded: KINO_REQUEST, KINO_CONFIG, KINETO_CONFIG,
 * KINO_SIGNAL, KINO_USE_DAEMON, KINETO_USE_DAEMON. Requests are carried out by a thread of the
 * library, one at a time; nothing waits for it, and nothing is printed. Any thread may call these
 * functions. A child created by fork starts without requests, clients and loggers, and does not
 * listen. */
#ifndef KINO_CONTROL_H
#define KINO_CONTROL_H

#include <kino/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- requests ---------------------------------------------------------------------------------- */

/* Requests a trace and returns immediately. Invalid text, a request that cannot be carried out as
 * written, and a request that comes while another is in progress are refused with the reason. */
KINO_API kino_status kino_request(const char *config, kino_error *err);
/* Cancels the request in progress, regardless of its source; returns immediately. KINO_NOT_FOUND: there is
 * none; KINO_UNAVAILABLE: its trace is already being written. */
KINO_API kino_status kino_cancel(kino_error *err);
/* Waits until no request is in progress and returns how the last one ended: KINO_OK if its trace
 * was written, KINO_CANCELLED, or the error. KINO_NOT_FOUND: there has been none. Must not be
 * called from callbacks of clients. */
KINO_API kino_status kino_request_wait(kino_error *err);

typedef enum kino_control_phase {
    KINO_CONTROL_WAIT = 0, /* for a request, or for its time to come */
    KINO_CONTROL_WARMUP = 1,
    KINO_CONTROL_COLLECT = 2,
    KINO_CONTROL_PROCESS = 3, /* the trace is being written */
} kino_control_phase;

typedef enum kino_request_origin {
    KINO_REQUEST_PROGRAM = 0, /* kino_request */
    KINO_REQUEST_START = 1,   /* KINO_REQUEST or the file of KINO_CONFIG, at the start */
    KINO_REQUEST_FILE = 2,    /* the file has changed */
    KINO_REQUEST_SIGNAL = 3,
    KINO_REQUEST_DAEMON = 4,
} kino_request_origin;

typedef struct kino_control_state {
    uint32_t size; /* sizeof(kino_control_state), set by the caller */
    kino_control_phase phase;
    bool has_request;
    bool is_listening;  /* requests may come from outside */
    bool has_daemon;    /* requests are polled from the daemon */
    int32_t signal;     /* 0: none */
    uint64_t request;   /* number of the request in progress, or of the last one; 0: none yet */
    int64_t start_ms;   /* of a timed one: Unix time; otherwise 0 */
    int64_t start_step; /* of one by iterations; otherwise -1 */
    /* since the start */
    uint64_t done, refused, failed, cancelled;
    /* how the last request ended, or why it was refused */
    uint64_t last_request; /* 0: it was refused */
    kino_request_origin last_origin;
    kino_status last_status;
    char last_message[240];
    char last_url[1024];
    /* what was said about the last text; kino_control_warnings */
    uint64_t warnings;
    /* the daemon */
    uint64_t polls, unanswerable_polls; /* sent, and not sent because there is no daemon */
    uint64_t replies, bad_replies;
} kino_control_state;
KINO_API void kino_control_get(kino_control_state *out);

/* The warnings of the last text that was read (unknown keys, ignored lines), one per line;
 * truncated to size. Returns how many bytes there are, without the terminator. */
KINO_API size_t kino_control_warnings(char *out, size_t size);

/* -- sources of requests ----------------------------------------------------------------------- */

typedef struct kino_control_options {
    uint32_t size;      /* KINO_CONTROL_OPTIONS_INIT */
    bool use_daemon;    /* ask the daemon every few seconds */
    int32_t signal;     /* SIGUSR1, SIGUSR2, real-time: a request each time it comes; 0: none */
    const char *config; /* file with base settings and the request of the signal; NULL: none */
} kino_control_options;
#define KINO_CONTROL_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_control_options), false, 0, NULL                                               \
    }
/* Listens for requests from outside. options NULL: as the environment says. KINO_UNAVAILABLE: it
 * already does, or the signal is used by the program. A child created by fork does not listen until
 * it calls this. */
KINO_API kino_status kino_control_start(const kino_control_options *options, kino_error *err);
/* Stops listening. A request in progress continues. */
KINO_API void kino_control_stop(void);

/* -- clients: frameworks with instrumentation of their own ------------------------------------- */

enum {
    KINO_CLIENT_SHAPES = 1, /* shapes of inputs */
    KINO_CLIENT_MEMORY = 2, /* allocations */
    KINO_CLIENT_STACK = 4,
    KINO_CLIENT_FLOPS = 8,
    KINO_CLIENT_MODULES = 16,
};

/* The request; valid during the call. */
typedef struct kino_client_request {
    uint32_t size;
    uint32_t flags;          /* KINO_CLIENT_... */
    uint32_t activity_types; /* bit n: Kineto's type number n (0 cpu_op, 1 user_annotation, ...) */
    uint32_t reserved;       /* 0 */
    int64_t duration_ms;     /* 0 when by iterations */
    int64_t iterations;      /* 0 when timed */
    const char *trace_id;    /* or "" */
    const char *custom_config; /* or "" */
} kino_client_request;

/* Each may be NULL. A client that was prepared is stopped exactly once, unless it is removed
 * before; while it is being stopped none of its other callbacks runs. */
typedef struct kino_client {
    uint32_t size; /* KINO_CLIENT_INIT */
    uint32_t reserved;
    const char *name;
    void *context; /* first argument of all */
    /* Make ready what takes time. A failure ends the request. On a thread of the library. */
    kino_status (*prepare)(void *context, const kino_client_request *request, kino_error *err);
    /* Recording has begun: switch the instrumentation on. On a thread of the library or, at the
     * begin of a step, on the one that called kino_step: be quick. */
    void (*start)(void *context);
    /* A step begins while recording; on the thread that called kino_step. */
    void (*step)(void *context, uint64_t step);
    /* Switch it off. Unless is_cancelled recording continues, so that events that were kept
     * back can be handed in now. On a thread of the library. */
    void (*stop)(void *context, bool is_cancelled);
    /* PROFILE_MEMORY: record for duration_ms, then write to the path. */
    kino_status (*snapshot)(void *context, const char *path, int64_t duration_ms, kino_error *err);
} kino_client;
#define KINO_CLIENT_INIT                                                                           \
    {                                                                                              \
        sizeof(kino_client), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL                           \
    }

/* At most 16. The struct and the name are copied. *out is a number for kino_client_remove. A client
 * that comes while a trace is being taken joins with the next one. */
KINO_API kino_status kino_client_add(const kino_client *client, uint32_t *out, kino_error *err);
/* Waits for callbacks of this client that run on other threads; afterwards none is called. */
KINO_API void kino_client_remove(uint32_t client);

/* -- loggers: where traces go, by the protocol of the URL -------------------------------------- */

typedef struct kino_logger {
    uint32_t size; /* KINO_LOGGER_INIT */
    uint32_t reserved;
    const char *protocol; /* "s3" for s3://...; lower-case letters, digits, + - . */
    void *context;
    /* Takes the trace, a whole file that is removed afterwards, to where the URL says. Its format
     * follows from the end of the URL, as for kino_save. */
    kino_status (*save)(void *context, const char *url, const char *file, kino_error *err);
} kino_logger;
#define KINO_LOGGER_INIT                                                                           \
    {                                                                                              \
        sizeof(kino_logger), 0, NULL, NULL, NULL                                                   \
    }

/* Adds a protocol, or replaces the logger of one; file:// is built in and stays. At most 16. A
 * logger without save removes its protocol. kino_save takes URLs of protocols that are known. */
KINO_API kino_status kino_logger_set(const kino_logger *logger, kino_error *err);

#ifdef __cplusplus
}
#endif
#endif
