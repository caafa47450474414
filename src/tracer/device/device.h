/* device.h - the backends of the process, their devices, and what sessions do with them.
 *
 * One registry per process, whichever copy of the library made it; it hangs from the tracer. Its
 * lock is taken with the tracer's lock held or without, never the other way round. It is recursive:
 * a backend's probe may load a runtime, whose layer registers a backend. Recording (activities,
 * calls) takes no lock but that of a device's clock. */
#ifndef KINO__TRACER_DEVICE_H
#define KINO__TRACER_DEVICE_H

#include <kino/device.h>

#include "base/str.h"
#include "tracer/device/device_clock.h"
#include "tracer/device/device_groups.h"
#include "tracer/tracer.h"

enum {
    KINO__DEVICE_BACKENDS = 32,
    KINO__DEVICES = 64,
    KINO__DEVICE_BUILT_IN = 8,        /* lines of backends.def, at most */
    KINO__DEVICE_EXTERNALS = 8,       /* backends that follow record functions */
    KINO__DEVICE_FLUSH_NS = 20000000, /* what a stop waits for devices at most */
};

enum { KINO__PROBLEM_NONE = 0, KINO__PROBLEM_WRITING = 1, KINO__PROBLEM_SAID = 2 };

struct kino__devices;

typedef struct kino__backend {
    kino_device_host host;   /* what it was given; self is this struct */
    kino_device_backend def; /* its own, missing fields 0 */
    struct kino__devices *all;
    kino_device_phase phase;     /* all->lock */
    bool is_excluded;            /* all->lock: failed in this session */
    bool is_built_in;            /* of backends.def */
    bool is_on;                  /* atomic: between the begins of start and stop */
    char name[256], version[32]; /* the path of a plug-in that could not be loaded */
    char error[240];             /* all->lock: why it was left out */
    char problem[240];           /* what does not work though it takes part */
    uint32_t problem_state;      /* atomic: KINO__PROBLEM_* */
    uint32_t sessions;           /* all->lock: that it was prepared for */
    uint64_t activities, lost;   /* atomic */
} kino__backend;

typedef struct kino__device {
    kino__backend *backend;
    uint32_t clock_kind;
    pthread_mutex_t lock; /* of the following */
    kino__device_clock clock;
    bool is_hosts;        /* atomic: it seems to be the host's clock, times need no conversion */
    uint32_t handed_over; /* atomic: activities */
} kino__device;

typedef struct kino__devices {
    pthread_mutex_t lock; /* recursive */
    kino__backend *backends[KINO__DEVICE_BACKENDS];
    size_t backend_count;
    pthread_mutex_t add_lock;             /* of the following two; taken last */
    kino__device *devices[KINO__DEVICES]; /* never change once they are there */
    uint32_t device_count;                /* atomic: stored after the device */
    kino_device_phase phase;              /* of the session: IDLE, PREPARED, RECORDING */
    uint32_t kinds;                       /* that sessions want */
    uint32_t buffer_mb;                   /* as in kino_device_request */
    int32_t counters_device;
    char counters[2048];
    bool has_loaded;                                  /* KINO_PLUGINS was looked at */
    kino__backend *spare[KINO__DEVICE_BUILT_IN];      /* built in, not here: for the next look */
    kino__backend *externals[KINO__DEVICE_EXTERNALS]; /* with push and pop */
    uint32_t external_count;                          /* atomic: stored after the backend */
    uint64_t external;                                /* atomic: the last number of a function */
    uint64_t correlation;                             /* atomic: the last one given out */
    int64_t pid;                                      /* atomic */
    /* The host's clock: two anchors, far apart. Under clock_lock. */
    pthread_mutex_t clock_lock;
    uint32_t clock; /* kino__ring_clock_kind; 0: no anchor yet */
    kino__ring_anchor first, last;
    kino__groups groups; /* of collectives */
} kino__devices;

/* The registry, made when needed; NULL when memory is out. */
kino__devices *kino__devices_get(kino__tracer *t);

/* Sessions call these with the tracer's lock held: at the end of prepare, behind the switch to
 * recording, before the switch back (a stop of a session that was never started included), and for
 * a dump. Nothing here fails: what goes wrong is in the trace. */
void kino__devices_prepare(kino__tracer *t);
void kino__devices_start(kino__tracer *t);
void kino__devices_stop(kino__tracer *t);
void kino__devices_flush(kino__tracer *t);
/* In a forked child. Async-signal-safe as far as backends are. */
void kino__devices_forked(kino__tracer *t);
/* Has an earlier session told distributedInfo by collectives? */
bool kino__devices_have_groups(kino__tracer *t);
/* KINO_DEVICE_BIT of each kind that sessions want from now on. */
void kino__devices_select(kino__tracer *t, uint32_t kinds);
/* The same for the other wishes of a session: kino_device_request. */
void kino__devices_configure(kino__tracer *t, uint32_t buffer_mb, int32_t device,
                             const char *counters);

/* device_load.c: adds a backend through its entry. `label` is the name, or the path of a plug-in.
 * A failure is kept as a backend of phase FAILED; entry NULL: *err has the reason. The lock is
 * held. */
kino_status kino__devices_add(kino__devices *all, const char *label, kino_device_entry entry,
                              kino_error *err);
/* Loads each plug-in of a list "a.so:b.so". The lock is held. */
void kino__devices_load(kino__devices *all, const char *list);
/* Adds the backends of backends.def whose runtime is here by now. The lock is held. */
void kino__devices_look(kino__devices *all);

/* device_external.c: record functions on the calling thread, for backends that relate work to them
 * (`push`, `pop`). A span that begins gets a number, its "External id", while such a backend
 * records; 0: nobody wants to know. The end is called for every span, with or without. */
uint64_t kino__external_begin(kino__tracer *t, uint64_t span, uint32_t kind, const char *name);
void kino__external_end(uint64_t span);
/* More about the span that has just begun: a JSON object for the kernels that it launches. */
void kino__external_describe(uint64_t span, const char *json);
/* The lock is held. */
void kino__external_add(kino__devices *all, kino__backend *backend);

/* device_record.c: what a backend is given. */
void kino__device_host_init(kino__backend *backend);
/* Has a backend's `now` read beside the host's clock for all its devices. */
void kino__device_sample(const kino__backend *backend);
/* The host's clock is looked at again when the last time is long ago. */
void kino__devices_anchor(kino__devices *all, uint32_t clock);

#endif
