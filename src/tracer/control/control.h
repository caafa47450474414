/* control.h - traces on request, put together: the controller with its thread, the sessions that it
 * drives, clients, loggers, and where requests come from. One per process; it hangs from the
 * tracer and is made when somebody first needs it.
 *
 * Locks, outer first: the controller's, the tracer's; control's own is never held while another is
 * taken. Clients, loggers and requests have theirs, which are held for moments only. */
#ifndef KINO__TRACER_CONTROL_H
#define KINO__TRACER_CONTROL_H

#include "tracer/control/clients.h"
#include "tracer/control/controller.h"
#include "tracer/control/loggers.h"
#include "tracer/control/request_sources.h"
#include "tracer/tracer.h"

/* The request of Kino's daemon that it is told about. */
typedef struct kino__control_request_report {
    uint64_t request;         /* the daemon's number; 0: none */
    uint64_t id;              /* the controller's */
    kino__fabric_event event; /* the last that was said */
} kino__control_request_report;

typedef struct kino__control {
    kino__tracer *tracer;
    kino__controller controller;
    kino__clients clients;
    kino__loggers loggers;
    uint32_t session;       /* number of the session that was prepared for a request; 0: none */
    uint32_t is_collecting; /* atomic: clients hear of steps */
    pthread_mutex_t lock;   /* of the following */
    pthread_cond_t wake;
    bool has_work, ends, has_thread;
    bool is_paused; /* the thread is to leave, or has left, and comes back */
    pthread_t thread;
    char *warnings; /* of the last text, or NULL */
    size_t warning_count;
    kino__control_request_report report;
    pthread_mutex_t listen_lock; /* of requests; held while they start and stop */
    bool is_listening;
    kino__request_sources requests;
} kino__control;

/* The process's, made when needed; NULL when memory or the tracer is missing. */
kino__control *kino__control_get(void);
/* The same if it was made already. Takes no lock. */
kino__control *kino__control_peek(kino__tracer *t);

/* kino_step: step `number` begins. */
void kino__control_step(kino__tracer *t, uint64_t number);
/* kino_prepare by the program: whatever a request has prepared or collects gives way to it. */
void kino__control_yield(kino__tracer *t);

/* To a URL that is not of file://; `write` makes the file that its logger gets. */
KINO_NODISCARD kino_status kino__control_save(const char *url, kino__trace_writer write,
                                              void *context, kino_error *err);
/* Has it a logger? */
KINO_NODISCARD kino_status kino__control_save_check(const char *url, kino_error *err);

/* Reads a text and hands it to the controller. `label` names it in messages. */
kino_status kino__control_request(kino__control *k, kino_str text, const char *label,
                                  kino__origin origin, kino_error *err);

/* control_report.c: the daemon is told that a text of its was taken or refused (by the thread that
 * listens), and how it goes on (by the controller's). */
void kino__control_report_taken(kino__control *k, kino_str text, kino_status status,
                                const kino_error *err);
void kino__control_report(kino__control *k);

/* control_session.c: what the controller does to sessions. */
kino__controller_ops kino__control_ops(kino__control *k);
/* No session is there that is still of use to the program. */
bool kino__control_session_is_free(kino__tracer *t);
/* Makes sure that the thread runs. */
KINO_NODISCARD kino_status kino__control_thread(kino__control *k, kino_error *err);
void kino__control_wake(kino__control *k);
/* Has the threads of requests and sessions end, and begin again: for calls that the system permits
 * to processes with one thread only. A trace that is being written is written first. */
void kino__control_pause(kino__tracer *t);
void kino__control_resume(kino__tracer *t);

/* control_start.c: listening to the outside, as the environment says when `options` is NULL. */
KINO_NODISCARD kino_status kino__control_listen(kino__control *k,
                                                const kino_control_options *options,
                                                kino_error *err);

#endif
