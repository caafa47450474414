/* client_request.h - traces on request, from the side of who asks: kino trigger.
 *
 * With our daemon a request is an object with a number, and each target has a state that the daemon
 * knows. A Dynolog daemon takes the text and tells only which processes will get it; what becomes
 * of them is then seen in their files and in the list of processes, where they are on this
 * machine. */
#ifndef KINO__CLIENT_REQUEST_H
#define KINO__CLIENT_REQUEST_H

#include "client/client.h"
#include "client/collect.h"

typedef struct kino__on_demand_options {
    /* who: those that fit everything that is given */
    const int64_t *pids;
    size_t pid_count;
    int64_t job;      /* KINO_NO_INT: not by job */
    const char *name; /* of the command, a pattern; or NULL */
    bool all;
    int64_t process_limit; /* KINO_NO_INT: none */
    /* when */
    int64_t duration_ms; /* KINO_NO_INT: by iterations, or 500 */
    int64_t iterations;  /* KINO_NO_INT: by time */
    int64_t round_up;    /* begin at a multiple of this iteration; KINO_NO_INT: at the next */
    int64_t start_ms;    /* Unix time; KINO_NO_INT: as soon as possible */
    int64_t warmup_ms;   /* KINO_NO_INT: as the process has it, 5 s */
    int64_t timeout_ms;  /* KINO_NO_INT: the daemon's */
    /* what */
    const char *const *activities; /* names as in ACTIVITY_TYPES */
    size_t activity_count;
    const char *output; /* absolute; or NULL */
    bool record_shapes, with_stacks, profile_memory, with_flops, with_modules, gpu_only;
    bool wants_kino; /* .kino files from those who can write them; our daemon only */
} kino__on_demand_options;
#define KINO__ON_DEMAND_OPTIONS_INIT                                                               \
    {                                                                                              \
        .job = KINO_NO_INT, .process_limit = KINO_NO_INT, .duration_ms = KINO_NO_INT,              \
        .iterations = KINO_NO_INT, .round_up = KINO_NO_INT, .start_ms = KINO_NO_INT,               \
        .warmup_ms = KINO_NO_INT, .timeout_ms = KINO_NO_INT                                        \
    }

typedef struct kino__on_demand_target {
    int64_t pid, rank, bytes; /* KINO_NO_INT: not known */
    /* what a daemon of ours knows besides; KINO_NO_INT, NULL: not known */
    int64_t own_pid, world_size, local_rank;
    const char *role, *job;
    bool has_about;      /* its file says so itself */
    const char *state;   /* "queued", ..., see daemon/requests.h */
    const char *path;    /* NULL: not known */
    const char *message; /* or NULL */
    bool has_ended;
    kino__collect_from from; /* whose file it is */
    /* Dynolog: what was there before */
    uint64_t inode_before, size_seen;
} kino__on_demand_target;

typedef struct kino__on_demand {
    char request[24];      /* its number, as the daemon writes it; "": a Dynolog daemon */
    const char *reason;    /* why nothing matched; or NULL */
    int64_t matched, busy; /* busy: have a request already, and were not asked */
    int64_t denied;        /* of other users */
    KINO__VEC(kino__on_demand_target) targets;
    kino__arena arena;  /* of all texts; made anew with each look at our daemon */
    int64_t give_up_ms; /* Dynolog: on the monotonic clock */
} kino__on_demand;

/* Asks for traces. *out is to be deinitialised whatever is returned. KINO_ARGUMENT: refused. */
KINO_NODISCARD kino_status kino__on_demand_send(const kino__client *client,
                                                const kino__on_demand_options *options,
                                                kino__on_demand *out, kino_error *err);
/* Finds out the states anew. */
KINO_NODISCARD kino_status kino__on_demand_look(const kino__client *client,
                                                kino__on_demand *trigger, kino_error *err);
/* Ends what has not begun. */
KINO_NODISCARD kino_status kino__on_demand_cancel(const kino__client *client, const char *request,
                                                  kino_error *err);
/* A request that somebody made before, by its number. */
KINO_NODISCARD kino_status kino__on_demand_find(const kino__client *client, const char *request,
                                                kino__on_demand *out, kino_error *err);
void kino__on_demand_deinit(kino__on_demand *trigger);

/* How many targets have not ended. */
size_t kino__on_demand_open_count(const kino__on_demand *trigger);
/* How many are in this state. */
size_t kino__on_demand_count(const kino__on_demand *trigger, const char *state);

/* libkineto's name for a process's file: "_PID" before the first ".pt.trace.json", else before the
 * first ".json", else nowhere. */
void kino__on_demand_path(kino__buffer *out, const char *path, int64_t pid);

#endif
