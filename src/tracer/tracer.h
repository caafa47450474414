/* tracer.h - the recorder's one struct, and the duties that belong to the process: load, copies of
 * the library, fork, exit.
 *
 * There is one tracer in a process however many copies of this library are in it (linked into the
 * program, libkino.so, a Python extension). Copies find each other when they are loaded, by an ELF
 * note (tracer.c); the first one's struct is everybody's, the others work on it with their own code
 * and only have their own `active` flag and thread-local ring. That needs the same layout, so a
 * copy of another layout stays without a tracer: its macros do nothing, its functions say why.
 *
 * Memory of buffers is never unmapped: when a session is given up, plain memory takes the place of
 * its files, at the same addresses, until no thread is in the session any more (capture.h). So a
 * thread that was stopped in the middle of a begin, and a span that is ended a day later, write
 * where they harm nobody, and recording needs no lock. */
#ifndef KINO__TRACER_TRACER_H
#define KINO__TRACER_TRACER_H

#include <pthread.h>

#include <kino/kino.h>

#include "tracer/capture.h"
#include "tracer/texts.h"

enum {
    KINO__TRACER_LAYOUT = 6, /* rises with every change of the structs of this folder */
    KINO__TRACER_COPIES = 16,
};

typedef struct kino__saver {
    bool is_running; /* somebody writes a trace from the capture */
    bool is_pending; /* somebody will: what was recorded must stay */
    bool is_handing; /* an asynchronous one by a logger is under way, on this thread */
    pthread_t hander;
    bool has_outcome;   /* of an asynchronous one that nobody asked for yet */
    kino_status status; /* of it */
    kino_error error;
} kino__saver;

typedef struct kino__tracer {
    uint32_t layout;
    uint32_t size;
    /* Guards everything here but what says otherwise. Never held while writing a trace. */
    pthread_mutex_t lock;
    pthread_cond_t saved; /* a saver has ended */
    kino_session_phase phase;
    uint32_t session_count; /* sessions are numbered from 1 */
    kino__capture *capture; /* of the session, or NULL; changed under lock, read by all (acquire) */
    kino__capture *released; /* by earlier sessions, to be used again */
    char *exit_path;         /* or NULL */
    uint32_t next_owner;     /* atomic */
    uint64_t step;           /* atomic: number of the step that runs */
    kino_span step_span;     /* under step_lock: of the step that runs, when it is recorded */
    uint64_t step_ticks;     /* when it began; 0: before the session */
    uint32_t step_session;
    uint32_t step_lock; /* spin */
    uint32_t active;    /* what the flags of all copies are, atomic */
    uint32_t *flags[KINO__TRACER_COPIES];
    kino__saver saver;
    kino__texts texts;
    /* the clock thread */
    pthread_t clock_thread;
    pthread_mutex_t clock_lock;
    pthread_cond_t clock_wake;
    bool clock_runs, clock_ends;
    bool is_saved;      /* what was stopped is in a file: a request may take the session's place */
    void *devices;      /* device.c: backends and their devices; atomic, or NULL */
    void *control;      /* control.c: requests, clients, loggers; atomic, or NULL */
    void *records;      /* record_function_registry.c: who listens; atomic, or NULL */
    bool has_trace_id;  /* of the session that was prepared last */
    uint64_t last_step; /* atomic: the session ends where this step begins; 0: not by steps */
    uint32_t wanted;    /* what `active` would be if it were not paused */
    bool is_paused;     /* nothing is recorded, whatever sessions do; atomic, changed under lock */
    bool is_quiet; /* atomic: the program filters its system calls: ours would end it. Set for good
                      by libkino_inject, which sees the filter come */
} kino__tracer;

/* The process's tracer, or NULL when it belongs to a copy of another layout. Any thread. */
kino__tracer *kino__tracer_get(void);
kino_status kino__tracer_missing(kino_error *err);

/* session.c: kino_prepare; is_soon: in a program that did not choose the moment (capture.h). */
KINO_NODISCARD kino_status kino__session_prepare(const kino_session_options *options, bool is_soon,
                                                 kino_error *err);
/* session.c: the program wants nothing recorded for a while; sessions go on, and those that are
 * started meanwhile wait as well. Spans that are open may be ended. For collectors with such a
 * switch. */
void kino__session_pause(bool is_paused);
bool kino__session_is_paused(void);
/* session.c: the session ends as it is, without a system call: devices are not asked for what they
 * have. The files say that it was stopped. */
void kino__session_freeze(void);

/* Sets the flags of all copies; while it is paused, when it is not any more. The lock is held. */
void kino__tracer_activate(kino__tracer *t, uint32_t active);

/* Waits for a kino_save_async by a logger, unless the logger is what calls. */
void kino__save_wait_handing(kino__tracer *t);

/* Starts a thread of ours: no signals, a name. False: there is none. */
bool kino__tracer_thread(pthread_t *out, void *(*run)(void *), void *context);

#endif
