/* controller.h - the machine that carries out requests for traces.
 *
 *            request            start time / step        end            written
 *   WAIT ------------> WARMUP --------------> COLLECT -------> PROCESS --------> WAIT
 *     ^    prepare               start                   stop            process   |
 *     +----- refused, failed, cancelled <------------------------------------------+
 *
 * It knows nothing of sessions, threads or clocks: all it does goes through a table of functions,
 * so that tests walk every transition with a clock of their own. A thread (control.c) calls
 * kino__controller_run whenever the deadline that it returned has come, or `wake` was called; the
 * program's threads call kino__controller_step. Functions of the table are called without the
 * controller's lock, one at a time; other callers leave the rest to whoever is at it.
 *
 * Rules (docs/internals/recorder-control.md): one request at a time, others are refused; nothing is
 * replaced by something else without being refused first; the end of a timed trace is measured on
 * the monotonic clock, its start on the wall clock, which other machines share. */
#ifndef KINO__TRACER_CONTROLLER_H
#define KINO__TRACER_CONTROLLER_H

#include <pthread.h>

#include "wire/trace_config.h"

enum {
    KINO__CONTROLLER_PERIOD_MS = 1000, /* longest sleep while something is under way; also how much
                                          earlier than the warm-up a timed request is prepared */
    KINO__CONTROLLER_LEAD_STEPS = 16,  /* the same for iterations, in steps */
    KINO__CONTROLLER_URL_MAX = 1024,
};

/* No deadline: sleep until woken. */
#define KINO__CONTROLLER_NEVER INT64_MAX

typedef enum kino__controller_state {
    KINO__CONTROL_WAIT,
    KINO__CONTROL_WARMUP,
    KINO__CONTROL_COLLECT,
    KINO__CONTROL_PROCESS,
} kino__controller_state;

typedef enum kino__origin {
    KINO__ORIGIN_PROGRAM, /* kino_request */
    KINO__ORIGIN_START,   /* file or environment, when the process starts */
    KINO__ORIGIN_FILE,    /* the file has changed */
    KINO__ORIGIN_SIGNAL,
    KINO__ORIGIN_DAEMON,
} kino__origin;

typedef struct kino__now {
    int64_t wall_ns; /* Unix time */
    int64_t mono_ns;
} kino__now;

/* context is the first argument of all. Those marked * may take long and are called by
 * kino__controller_run only. */
typedef struct kino__controller_ops {
    void *context;
    kino__now (*now)(void *context);
    /* kino__controller_run has something to do. */
    void (*wake)(void *context);
    /* Why no request can be taken now (the program records by itself), or NULL. Lock held: only
     * looks. */
    const char *(*refusal)(void *context, const kino__config *config);
    kino_status (*prepare)(void *context, const kino__config *config, kino_error *err); /* * */
    kino_status (*start)(void *context, kino_error *err);
    /* Nothing more is to be recorded; stop follows. Called by a step that ends the window. */
    void (*pause)(void *context);
    kino_status (*stop)(void *context, kino_error *err);                                /* * */
    kino_status (*process)(void *context, const kino__config *config, kino_error *err); /* * */
    void (*discard)(void *context); /* * gives up whatever was prepared or recorded */
    bool (*is_full)(void *context); /* the buffers are used up */
    /* PROFILE_MEMORY, KINO_DUMP */
    kino_status (*snapshot)(void *context, const kino__config *config, kino_error *err); /* * */
    kino_status (*dump)(void *context, const kino__config *config, kino_error *err);     /* * */
} kino__controller_ops;

/* How a request ended. */
typedef struct kino__outcome {
    uint64_t id; /* of the request, from 1; 0: there was none */
    kino__origin origin;
    kino_status status; /* KINO_OK: the trace is there */
    char message[240];  /* why not; or what is to be said of it */
    char url[KINO__CONTROLLER_URL_MAX];
} kino__outcome;

typedef struct kino__controller {
    kino__controller_ops ops;
    pthread_mutex_t lock;
    pthread_cond_t idle; /* there is no request */
    kino__controller_state state;
    bool is_at_work; /* a function of the table runs */
    bool has_request;
    bool is_cancelled; /* has been asked to */
    bool is_paused;
    bool is_ending;      /* the process ends */
    kino__config config; /* of the request */
    kino__origin origin;
    int64_t start_step, end_step; /* by iteration */
    int64_t seen_step;            /* the last that has looked here */
    int64_t end_mono_ns;          /* timed, while collecting */
    char note[160];               /* for the outcome */
    const char *cancel_reason;
    int64_t step;         /* atomic: the last that began; 0: none was reported */
    uint32_t wants_steps; /* atomic: a step may have to do something */
    uint64_t request_count;
    uint64_t done_count, refused_count, failed_count, cancelled_count;
    kino__outcome last;
} kino__controller;

void kino__controller_init(kino__controller *c, const kino__controller_ops *ops);
/* Nothing may be under way. */
void kino__controller_deinit(kino__controller *c);

/* Takes the request (and the config, which is left empty) or refuses it with the reason. Any
 * thread; never blocks for long. */
KINO_NODISCARD kino_status kino__controller_request(kino__controller *c, kino__config *config,
                                                    kino__origin origin, kino_error *err);
/* Notes a request that was refused before it came here: text that cannot be read. */
void kino__controller_refused(kino__controller *c, kino__origin origin, const kino_error *err);

/* Gives up the request: at once when it still waits, otherwise as soon as the running thread comes
 * to it. KINO_NOT_FOUND: there is none; KINO_UNAVAILABLE: its trace is being written. */
kino_status kino__controller_cancel(kino__controller *c, kino_error *err);
/* Waits until there is no request. */
void kino__controller_wait_idle(kino__controller *c);
/* The program wants to record by itself: gives up what is prepared or collected and waits for that,
 * also for a trace that is being written. A request whose time has not come stays. */
void kino__controller_preempt(kino__controller *c);
/* The process ends: what is being collected is written, all else given up, nothing more taken. */
void kino__controller_end(kino__controller *c);

/* Step `number` begins. Any thread, as often as it likes. */
void kino__controller_step(kino__controller *c, int64_t number);

/* Does what is due and returns the monotonic time at which there is more to do. One thread. */
int64_t kino__controller_run(kino__controller *c);

/* Can a request be taken now? */
bool kino__controller_is_free(kino__controller *c);

const char *kino__controller_state_text(kino__controller_state state);

#endif
