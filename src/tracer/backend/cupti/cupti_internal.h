/* cupti_internal.h - the parts of the CUPTI backend and how they work together.
 *
 *   cupti.c            entry, sessions: prepare, start, stop, flush
 *   cupti_attach.c     taking CUPTI for ourselves, and leaving it
 *   cupti_load.c       finding the libraries, their functions, words for errors
 *   cupti_devices.c    devices and their properties, by the CUDA driver
 *   cupti_buffers.c    CUPTI's buffers: bounded, handed out, taken back, queued; the collector
 *   cupti_records.c    records of buffers become activities: the passes over them
 *   cupti_work.c       ... what devices do
 *   cupti_host.c       ... calls, waits, events and the rest
 *   cupti_relations.c  what records say about each other: functions, calls, events, annotations
 *   cupti_threads.c    which thread a call was made on
 *   cupti_args.c       arguments, kept once where many activities have the same
 *   cupti_names.c      names of kernels, calls, copies
 *   cupti_pm.c         performance counters
 *
 * One instance per process, `kino__cupti`. Session callbacks come one at a time; CUPTI's callbacks
 * come on any thread and only touch the buffers (their lock). Decoding is done by the collector or
 * by a flush, under decode_lock; no lock of ours is held while CUPTI is called, but decode_lock,
 * which no callback takes. */
#ifndef KINO__BACKEND_CUPTI_INTERNAL_H
#define KINO__BACKEND_CUPTI_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include <kino/device.h>

#include "base/cuda_occupancy.h"
#include "tracer/backend/cupti/cupti_abi.h"

enum {
    KINO__CUPTI_DEVICES = 64,
    KINO__CUPTI_BUFFER_SIZE = 4 << 20, /* bytes of one */
    KINO__CUPTI_BUFFERS_MIN = 2,
    KINO__CUPTI_BUFFERS_MAX = 1024,
    KINO__CUPTI_BUFFERS = 8, /* when nobody says how many */
};

/* -- the instance */

/* Why something of CUPTI's is not in the trace, with its name there. */
#define KINO__CUPTI_COUNT_MAP(X)                                                                   \
    X(RECORDS, "records")                  /* all that were read */                                \
    X(OUTSIDE, "outside_of_window")        /* began before the start, or ended behind the stop */  \
    X(FILTERED, "calls_left_out")          /* noisy calls, as Kineto leaves them out */            \
    X(IDLE_WAITS, "waits_on_idle_streams") /* likewise */                                          \
    X(UNKNOWN, "unknown_records")          /* kinds that nobody asked for */                       \
    X(INCOMPLETE, "incomplete")            /* no times: they were under way at the end; lost */    \
    X(DROPPED, "dropped_by_cupti")         /* lost */                                              \
    X(NO_BUFFER, "without_buffer")         /* times that all buffers were full */                  \
    X(SPILLED, "spilled")                  /* records that came meanwhile; lost */
typedef enum kino__cupti_count {
#define COUNT_ENUM(name, text) KINO__CUPTI_##name,
    KINO__CUPTI_COUNT_MAP(COUNT_ENUM)
#undef COUNT_ENUM
        KINO__CUPTI_COUNTS
} kino__cupti_count;

typedef struct kino__cupti_state {
    const kino_device_host *host;
    cupti_calls calls;
    cuda_calls cuda;
    uint32_t version;
    char version_text[32];
    const char *library; /* what was loaded */

    /* devices: only the decoder, and the entry before it */
    bool has_to_ask; /* for devices, with the first record */
    bool has_list;   /* the driver has told of all of them */
    uint32_t device_count;
    uint32_t numbers[KINO__CUPTI_DEVICES]; /* in the trace; by CUDA's */
    kino__cuda_limits limits[KINO__CUPTI_DEVICES];

    uint32_t kinds;                    /* of the session: KINO_DEVICE_BIT */
    bool has_timestamps;               /* CUPTI reads our clock */
    int timestamp_result;              /* why not */
    int thread_id_type;                /* what it was before */
    bool is_pushing;                   /* atomic: external ids are wanted */
    uint64_t enabled;                  /* bits of CUPTI's kinds */
    uint64_t window_start, window_end; /* CUPTI's clock; 0: not yet */

    bool is_running; /* between start and stop */
    bool has_ended;  /* a forked child: CUPTI is not for us any more */

    pthread_mutex_t decode_lock;
    uint64_t counts[KINO__CUPTI_COUNTS]; /* atomic */
} kino__cupti_state;

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above */
extern kino__cupti_state kino__cupti;

static inline void kino__cupti_add(kino__cupti_count what, uint64_t number)
{
    __atomic_fetch_add(&kino__cupti.counts[what], number, __ATOMIC_RELAXED);
}

/* -- cupti_load.c */

/* Loads CUPTI and the driver into the instance. KINO_NOT_FOUND: there is no CUDA here. */
kino_status kino__cupti_load(kino_error *err);
/* "Not found" is a refusal like others for those who named the library themselves. */
kino_status kino__cupti_as_named(kino_status st, kino_error *err);
/* "cuptiSubscribe failed: CUPTI_ERROR_... (39): another profiler has CUPTI" */
void kino__cupti_explain(char *out, size_t size, const char *call, int result);
/* The same as a problem of the session that goes on, or as the reason why it does not. */
void kino__cupti_problem(const char *call, int result);
kino_status kino__cupti_fail(kino_error *err, const char *call, int result);
/* Who may have CUPTI instead of us, by what is in the process; "" when nothing is known. */
void kino__cupti_name_others(char *out, size_t size);

/* -- cupti_devices.c */

/* The driver did not answer: said, and missing in the trace. */
void kino__cuda_problem(const char *call, int result);
/* Adds all devices, or notes that they must be asked for later. */
kino_status kino__cupti_add_devices(kino_error *err);
/* The number in the trace of one of CUDA's; one that does not exist when that is not known. */
uint32_t kino__cupti_device(uint32_t cuda);

/* -- cupti.c */

/* What CUPTI's times are now; 0: it does not say. */
uint64_t kino__cupti_now(void);

/* -- cupti_attach.c */

/* Makes us CUPTI's one subscriber. */
kino_status kino__cupti_attach(kino_error *err);
/* Behind the last flush: at the end of the program's next call of CUDA, CUPTI is shut down and the
 * program runs as if it had never been there. */
void kino__cupti_detach(void);
bool kino__cupti_is_attached(void);

/* -- cupti_pm.c: counters, when somebody asks for them */

/* `metrics`, separated by commas, of a device as CUDA counts; NULL: the environment says. */
void kino__cupti_pm_prepare(const char *metrics, int64_t device);
void kino__cupti_pm_start(void);
void kino__cupti_pm_stop(void);

/* -- cupti_buffers.c */

/* Buffers for a session, all touched. */
kino_status kino__cupti_buffers_prepare(uint32_t count, kino_error *err);
/* Those that CUPTI does not have are given back to the system. */
void kino__cupti_buffers_release(void);
void kino__cupti_request(uint8_t **buffer, size_t *size, size_t *record_limit);
void kino__cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                          size_t valid);
bool kino__cupti_collector_start(void);
void kino__cupti_collector_stop(void);
/* Decodes what is there: everything, or what has waited long enough for what belongs to it. */
void kino__cupti_collect(bool everything);
void kino__cupti_buffers_forked(void);

/* -- cupti_records.c; decode_lock is held */

/* First what records of a buffer say about others, then, when all buffers were looked at, the
 * records themselves. */
void kino__cupti_learn(uint8_t *buffer, size_t valid);
void kino__cupti_decode(uint8_t *buffer, size_t valid);
/* What could only be known at the end. */
void kino__cupti_decode_rest(void);
/* A new session. False: memory is out. */
bool kino__cupti_decode_begin(void);

/* -- cupti_relations.c; decode_lock is held */

typedef struct kino__cupti_relation {
    uint32_t correlation; /* 0: an empty place */
    uint32_t thread;      /* of the call */
    uint64_t external[2]; /* the function, the annotation; 0: none */
} kino__cupti_relation;

typedef struct kino__cupti_recording { /* of a CUDA event */
    uint32_t context, event, correlation, stream;
} kino__cupti_recording;

bool kino__cupti_relations_begin(void);
kino__cupti_relation *kino__cupti_relation_make(uint32_t correlation);
/* Never NULL; what is not known is 0. */
const kino__cupti_relation *kino__cupti_relation_of(uint32_t correlation);
void kino__cupti_event_recorded(kino__cupti_recording recording);
/* The last recording of the event before the wait, or NULL. */
const kino__cupti_recording *kino__cupti_event_source(uint32_t context, uint32_t event,
                                                      uint32_t correlation);
/* Work inside an annotation; kino__cupti_annotations_end hands rows over. */
void kino__cupti_annotate(uint64_t id, uint32_t device, uint32_t stream, uint64_t start,
                          uint64_t end);
void kino__cupti_annotations_end(void);
/* Any thread. */
void kino__cupti_annotation_named(uint64_t id, const char *name);

/* -- cupti_threads.c */

/* On any thread, callbacks too: it costs something only once. */
void kino__cupti_thread_note(void);
/* The system's number of the thread that CUPTI calls so; the same when it is not known. */
uint32_t kino__cupti_thread_of(uint32_t number);
void kino__cupti_threads_forked(void);

/* -- cupti_names.c; decode_lock is held */

uint32_t kino__cupti_kernel_name(const char *name);
/* A call's name, by its domain. */
uint32_t kino__cupti_call_name(int domain, uint32_t cbid);
uint32_t kino__cupti_memcpy_name(uint8_t kind, uint8_t source, uint8_t target);
uint32_t kino__cupti_memset_name(uint16_t memory);
uint32_t kino__cupti_overhead_name(uint32_t kind);
uint32_t kino__cupti_jit_name(uint32_t entry, uint32_t operation);
const char *kino__cupti_sync_text(uint32_t type);

/* -- cupti_args.c; decode_lock is held */

#define KINO__CUPTI_KEY_MAP(X)                                                                     \
    X(QUEUED, "queued")                                                                            \
    X(DEVICE, "device")                                                                            \
    X(CONTEXT, "context")                                                                          \
    X(STREAM, "stream")                                                                            \
    X(CORRELATION, "correlation")                                                                  \
    X(REGISTERS, "registers per thread")                                                           \
    X(SHARED, "shared memory")                                                                     \
    X(BLOCKS, "blocks per SM")                                                                     \
    X(WARPS, "warps per SM")                                                                       \
    X(GRID, "grid")                                                                                \
    X(BLOCK, "block")                                                                              \
    X(ACHIEVED, "est. achieved occupancy %")                                                       \
    X(OCCUPANCY, "occupancy")                                                                      \
    X(GRAPH, "graph id")                                                                           \
    X(GRAPH_NODE, "graph node id")                                                                 \
    X(PRIORITY, "priority")                                                                        \
    X(CHANNEL, "channel")                                                                          \
    X(CHANNEL_TYPE, "channel_type")                                                                \
    X(BYTES, "bytes")                                                                              \
    X(BANDWIDTH, "memory bandwidth (GB/s)")                                                        \
    X(FROM_DEVICE, "fromDevice")                                                                   \
    X(IN_DEVICE, "inDevice")                                                                       \
    X(TO_DEVICE, "toDevice")                                                                       \
    X(FROM_CONTEXT, "fromContext")                                                                 \
    X(IN_CONTEXT, "inContext")                                                                     \
    X(TO_CONTEXT, "toContext")                                                                     \
    X(CBID, "cbid")                                                                                \
    X(SYNC_KIND, "cuda_sync_kind")                                                                 \
    X(WAIT_STREAM, "wait_on_stream")                                                               \
    X(WAIT_CORRELATION, "wait_on_cuda_event_record_corr_id")                                       \
    X(WAIT_EVENT, "wait_on_cuda_event_id")                                                         \
    X(EVENT, "event_id")
typedef enum kino__cupti_key {
#define KEY_ENUM(name, text) KINO__CUPTI_KEY_##name,
    KINO__CUPTI_KEY_MAP(KEY_ENUM)
#undef KEY_ENUM
        KINO__CUPTI_KEYS
} kino__cupti_key;

enum { KINO__CUPTI_ARGS = 32, KINO__CUPTI_TEXT = 768 };

/* The arguments of one activity. */
typedef struct kino__cupti_args {
    kino_device_arg items[KINO__CUPTI_ARGS];
    uint8_t keys[KINO__CUPTI_ARGS];
    uint32_t count;
    char text[KINO__CUPTI_TEXT]; /* of those that are texts */
    uint32_t used;
} kino__cupti_args;

void kino__cupti_arg_int(kino__cupti_args *args, kino__cupti_key key, int64_t value);
void kino__cupti_arg_uint(kino__cupti_args *args, kino__cupti_key key, uint64_t value);
void kino__cupti_arg_double(kino__cupti_args *args, kino__cupti_key key, double value);
/* `type` is KINO_DEVICE_ARG_TEXT or _JSON. */
void kino__cupti_arg_text(kino__cupti_args *args, kino__cupti_key key, uint32_t type,
                          const char *text);
/* Arguments that follow from `words` alone: made by `build` when they are new, else known already.
 * `group` tells groups of the same words apart. */
typedef void (*kino__cupti_build)(kino__cupti_args *args, const uint64_t *words);
void kino__cupti_arg_group(kino__cupti_args *args, uint32_t group, const uint64_t *words,
                           uint32_t count, kino__cupti_build build);
/* The members of a JSON object; `text` must outlive the arguments. */
void kino__cupti_arg_object(kino__cupti_args *args, const char *text);
bool kino__cupti_args_begin(void);

#endif
