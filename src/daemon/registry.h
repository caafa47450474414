/* registry.h - the processes that poll the daemon, each known by what the kernel says.
 *
 *   pid --> process { identity, pids as declared, job, endpoints[], contexts[], target }
 *
 * Key is the real pid with its start time: a pid that has gone to another process makes a new
 * record. A pidfd says at once when a process ends; where there is none, a look at /proc now and
 * then does. What the process declares (pids, job) serves for matching and for file names only.
 * Several sockets of one process are several endpoints of one record. Nothing here sends. */
#ifndef KINO__DAEMON_REGISTRY_H
#define KINO__DAEMON_REGISTRY_H

#include "base/map.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/process.h"
#include "daemon/users.h"
#include "wire/fabric.h"

struct kino__target;

enum {
    KINO__REGISTRY_PROCESSES_MAX = 65536,
    KINO__REGISTRY_USER_MAX = 512, /* of one user, unless it is set otherwise; root: no limit */
    KINO__REGISTRY_ENDPOINTS_MAX = 256, /* of a process; more are answered but not remembered */
    KINO__REGISTRY_CONTEXTS_MAX = 64,   /* of a process */
    KINO__REGISTRY_PIDS_MAX = 32,       /* declared; more are not remembered */
};

typedef struct kino__endpoint {
    uint64_t address; /* a hash of it */
    int64_t seen_ns;
    bool is_kino; /* libkino's */
} kino__endpoint;

typedef struct kino__registry_context {
    int32_t gpu;
    int64_t job;
} kino__registry_context;

typedef struct kino__registry kino__registry;

typedef struct kino__process {
    struct kino__process *next; /* of the same hash */
    kino__registry *registry;
    kino__process_identity id;
    int pidfd; /* -1: none */
    kino__loop_watch *watch;
    int64_t first_seen_ns, last_seen_ns;
    int64_t job;  /* as declared */
    int32_t mask; /* of the last poll */
    uint64_t polls;
    uint32_t pid_count;
    int32_t *pids; /* as declared, own first */
    KINO__VEC(kino__endpoint) endpoints;
    KINO__VEC(kino__registry_context) contexts;
    struct kino__target *target;      /* what it was asked for last, until that has ended */
    kino__process_description *about; /* made when somebody asks */
    bool is_kino;                     /* libkino is in it */
    bool has_events;                  /* an older libkineto: it asks for events, too */
} kino__process;

struct kino__registry {
    kino__loop *loop;
    kino__log *log;
    kino__process **buckets;
    size_t bucket_count, count, endpoint_count;
    kino__users users; /* count: processes */
    size_t user_max;
    /* Before a process is forgotten: it has ended, or it has been silent. */
    void (*gone)(void *context, kino__process *process, bool has_ended);
    void *context;
};

void kino__registry_init(kino__registry *registry, kino__loop *loop, kino__log *log);
void kino__registry_deinit(kino__registry *registry);

/* The record of a living process; NULL: none, or the process has ended (its record is dropped). */
kino__process *kino__registry_find(kino__registry *registry, int32_t pid);
/* The same without a look at whether it lives: the loop will say so in a moment. For what does no
 * harm when it reaches somebody who has got the pid since. */
kino__process *kino__registry_find_quickly(const kino__registry *registry, int32_t pid);

/* Has this user as many processes here as he may? Asked before anything is read about another. */
bool kino__registry_is_full(kino__registry *registry, uid_t uid);

/* The same, made when there is none. NULL: no such process, too many, or memory is out. */
kino__process *kino__registry_add(kino__registry *registry, int32_t pid, int64_t now_ns);

/* Does the process have libkino, and is this another's address? PyTorch's libkineto asks for itself
 * then, and libkino is the one who gets requests: a request is one trace. */
bool kino__registry_is_second(const kino__process *process, const kino__fabric_address *address);

/* Notes a poll. `address` is the sender's. Of a second one only that it was there. */
void kino__registry_poll(kino__registry *registry, kino__process *process,
                         const kino__fabric_poll *poll, const kino__fabric_address *address,
                         int64_t now_ns);

/* Notes a context; returns how many processes are registered for its job and device, -1: it cannot
 * be noted. */
int32_t kino__registry_add_context(kino__registry *registry, kino__process *process,
                                   const kino__fabric_context *context);

/* Drops what has ended, and what has been silent for silence_ns and has nothing to do. */
void kino__registry_sweep(kino__registry *registry, int64_t now_ns, int64_t silence_ns);

/* All processes, one after another, in no order: NULL begins, NULL ends. None may be dropped in
 * between. */
kino__process *kino__registry_next(const kino__registry *registry, const kino__process *after);

/* What people call it; made on the first question. Never NULL. */
const kino__process_description *kino__registry_about(kino__process *process);

/* What a process is among others that are asked together: one that shares its rank with a process
 * above it only inherited the environment; one above others that have ranks of their own started
 * them. First each of them is noted, then each is asked for. False: memory is out. */
KINO_NODISCARD bool kino__registry_note_rank(const kino__registry *registry, kino__process *process,
                                             kino__map *launchers);
kino__process_role kino__registry_role(const kino__registry *registry, const kino__map *launchers,
                                       kino__process *process);

/* Does it declare this pid, for itself or for an ancestor, or is it really its own? */
bool kino__registry_has_pid(const kino__process *process, int64_t pid);

#endif
