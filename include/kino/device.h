/* kino/device.h - how a device (a GPU, an NPU, a simulator) takes part in a recording.
 *
 * A backend is one struct of callbacks that knows one kind of device: it finds out when the device
 * did what, and hands that over. libkino decides when it records, brings all clocks together, and
 * writes the trace. A backend comes into a process in one of three ways, with the same code:
 *
 *   plug-in     KINO_PLUGINS=/path/a.so:/path/b.so; each is loaded when a session is prepared and
 *               exports the function kino_device_plugin_v1
 *   by itself   a library that is in the process for other reasons (a layer of a runtime, a
 *               framework) calls kino_device_register
 *   built in    the program does, or libkino has it (CUDA by CUPTI): those are searched for when a
 *               session is prepared, and not mentioned where there is no such device
 *
 * examples/plugin is a complete plug-in to start from. The calls that libkino makes to a backend:
 *
 *   probe                       once: is there a driver, is there a device? Cheap. Adds devices.
 *   prepare, start, stop, flush for each session: stop ends collecting, flush hands over what the
 *                               device still has
 *
 * A backend never ends or delays the program: errors are reported in the trace ("kino_devices") and
 * by kino_device_get, and the session continues without that backend.
 *
 * This is ABI: structs begin with their size and grow at the end only; a backend leaves what it
 * does not know at 0, libkino takes missing fields for 0. Numbers of kinds are those of Kineto. */
#ifndef KINO_DEVICE_H
#define KINO_DEVICE_H

#include <kino/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KINO_DEVICE_VERSION 1

/* What an activity is. The category in the trace is the word on the right. */
#define KINO_DEVICE_KIND_MAP(X)                                                                    \
    X(ANNOTATION, 1, "user_annotation") /* host: a range of the user's */                          \
    X(GPU_ANNOTATION, 2, "gpu_user_annotation")                                                    \
    X(MEMCPY, 3, "gpu_memcpy")                                                                     \
    X(MEMSET, 4, "gpu_memset")                                                                     \
    X(KERNEL, 5, "kernel")                                                                         \
    X(EXTERNAL, 6, "external_correlation") /* only a wish: push and pop are wanted */              \
    X(CUDA_RUNTIME, 7, "cuda_runtime")     /* host */                                              \
    X(CUDA_DRIVER, 8, "cuda_driver")       /* host */                                              \
    X(MEMORY, 9, "cpu_instant_event")      /* allocations: see memory */                           \
    X(OVERHEAD, 11, "overhead")                                                                    \
    X(MTIA_RUNTIME, 12, "mtia_runtime") /* host */                                                 \
    X(MTIA_CCP, 13, "mtia_ccp_events")                                                             \
    X(SYNC, 15, "cuda_sync")                                                                       \
    X(EVENT, 16, "cuda_event")                                                                     \
    X(HPU_OP, 20, "hpu_op")                                                                        \
    X(XPU_RUNTIME, 21, "xpu_runtime") /* host */                                                   \
    X(XPU_DRIVER, 22, "xpu_driver")   /* host */                                                   \
    X(COLLECTIVE, 23, "collective_comm")                                                           \
    X(RUNTIME, 24, "privateuse1_runtime") /* host: a call of the device's runtime */               \
    X(DRIVER, 25, "privateuse1_driver")   /* host: a call of its driver */                         \
    X(XPU_SYNC, 27, "xpu_sync")           /* host */                                               \
    X(COUNTERS, 28, "hardware_counters")  /* values over time, not activities */
typedef enum kino_device_kind {
#define KINO_DEVICE_KIND_ENUM(name, value, text) KINO_DEVICE_##name = value,
    KINO_DEVICE_KIND_MAP(KINO_DEVICE_KIND_ENUM)
#undef KINO_DEVICE_KIND_ENUM
} kino_device_kind;
#define KINO_DEVICE_BIT(kind) (1u << (kind))

typedef enum kino_device_clock {
    KINO_DEVICE_CLOCK_OWN = 0, /* ns (about) of the device: see clock_bound */
    KINO_DEVICE_CLOCK_RAW = 1, /* ns of CLOCK_MONOTONIC_RAW of this machine */
    KINO_DEVICE_CLOCK_REAL = 2 /* ns of CLOCK_REALTIME of this machine */
} kino_device_clock;

typedef enum kino_device_arg_type {
    KINO_DEVICE_ARG_INT = 1,
    KINO_DEVICE_ARG_UINT = 2,
    KINO_DEVICE_ARG_DOUBLE = 3,
    KINO_DEVICE_ARG_TEXT = 5,
    KINO_DEVICE_ARG_JSON = 6, /* text that is JSON: "[8,8,1]" */
    /* Several details that many activities have in common, kept once: `u` is the number that
     * kino_device_host.key has given to a JSON object, {"grid": [8,8,1], "block": [64,1,1]}; its
     * members take the argument's place. `key` does not count. */
    KINO_DEVICE_ARG_MEMBERS = 9,
    KINO_DEVICE_ARG_OBJECT = 10 /* the same for `text`, which is such an object */
} kino_device_arg_type;

/* A detail of an activity. */
typedef struct kino_device_arg {
    uint32_t key; /* kino_device_host.key */
    uint32_t type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        const char *text; /* copied */
    } value;
} kino_device_arg;

/* A property of a device, for "deviceProperties" of the trace; number or text. */
typedef struct kino_device_property {
    const char *key;
    const char *text; /* NULL: the number counts */
    int64_t number;
} kino_device_property;

typedef struct kino_device_info {
    uint32_t size; /* KINO_DEVICE_INFO_INIT */
    uint32_t clock;
    const char *name;
    int64_t memory_bytes; /* KINO_NO_INT: unknown */
    const kino_device_property *properties;
    size_t property_count;
} kino_device_info;
#define KINO_DEVICE_INFO_INIT                                                                      \
    {                                                                                              \
        sizeof(kino_device_info), KINO_DEVICE_CLOCK_OWN, NULL, KINO_NO_INT, NULL, 0                \
    }

/* The device of activities that are calls of the host (kinds marked so): `stream` is then the
 * thread's id (gettid), 0 for the calling thread. */
#define KINO_DEVICE_HOST UINT32_MAX

/* What is different about an activity. */
enum {
    KINO_DEVICE_ARGS_WHOLE = 1, /* args are all: "device", "stream", "correlation" are not added */
    KINO_DEVICE_NO_FLOW = 2,    /* no arrow in spite of the correlation */
    KINO_DEVICE_FLOW_END = 4,   /* an arrow ends at this call, instead of starting there */
    KINO_DEVICE_ROW_SYNC = 8,   /* of devices: on the row "stream N (sync)" */
    KINO_DEVICE_ROW_WHOLE = 16, /* of devices: on the row "Device N"; stream does not count */
    KINO_DEVICE_ROW_OVERHEAD = 32, /* calls: on the row of what profiling itself costs */
    KINO_DEVICE_CLOCK_OF = 64,     /* calls: times are on the clock of the device `clock_of` */
    KINO_DEVICE_ROW_CAPITAL = 128, /* of devices: the row is "Stream N", as Kineto has it on XPU */
};

/* What a device did. */
typedef struct kino_device_activity {
    uint32_t size; /* KINO_DEVICE_ACTIVITY_INIT */
    uint32_t kind;
    uint32_t name;   /* kino_device_host.name */
    uint32_t device; /* kino_device_host.add_device, or KINO_DEVICE_HOST */
    uint64_t stream; /* queue; small numbers that no other queue of the process has are best */
    uint64_t start;  /* on the device's clock; calls of the host: a stamp. Never 0 */
    uint64_t end;
    uint64_t correlation; /* the same number as the call that caused it; 0: none */
    const kino_device_arg *args;
    uint32_t arg_count;
    uint32_t flags;    /* KINO_DEVICE_ARGS_WHOLE, ... */
    uint64_t external; /* "External id": the number of the function it belongs to; 0: none */
    uint32_t clock_of; /* a device */
    uint32_t reserved;
} kino_device_activity;
#define KINO_DEVICE_ACTIVITY_INIT                                                                  \
    {                                                                                              \
        sizeof(kino_device_activity), 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0                     \
    }

/* Memory of a device that was allocated or freed. */
typedef struct kino_device_memory {
    uint32_t size; /* sizeof(kino_device_memory) */
    uint32_t device;
    int32_t device_type; /* as PyTorch counts: 1 CUDA, ... */
    uint32_t reserved;
    uint64_t thread; /* of the call (gettid); 0 for the calling thread */
    uint64_t time;   /* on the device's clock */
    uint64_t address;
    int64_t bytes; /* negative: freed */
} kino_device_memory;

/* What libkino does for a backend. Each backend gets its own; it stays valid forever. The first
 * argument is always this struct. Any thread may call; nothing here blocks for long, and all but
 * name, key and add_device are meant for hot paths. Outside of a recording nothing is kept.
 *
 * Activities go into the buffer of the calling thread: a backend that collects on a thread of its
 * own does not disturb the program's. */
typedef struct kino_device_host kino_device_host;
struct kino_device_host {
    uint32_t size;
    uint32_t version; /* KINO_DEVICE_VERSION */
    void *self;       /* libkino's */

    bool (*is_recording)(const kino_device_host *host);

    /* The number of a name for activities of a kind (or a counter); of a key of arguments. Known
     * ones are found again. Valid as long as the process. Never fails: without memory it is the
     * number of "(name lost)". */
    uint32_t (*name)(const kino_device_host *host, uint32_t kind, const char *name);
    uint32_t (*key)(const kino_device_host *host, const char *key);

    /* A device, once per process; its number in the trace. KINO_DEVICE_HOST when there are too
     * many. Mostly called by probe; later is fine. */
    uint32_t (*add_device)(const kino_device_host *host, const kino_device_info *info);

    /* The first of `count` consecutive numbers that are not used elsewhere: for `correlation`. */
    uint64_t (*correlations)(const kino_device_host *host, uint32_t count);

    void (*activity)(const kino_device_host *host, const kino_device_activity *activity);

    /* A call of the host that begins now on the calling thread, and its end. Open calls are seen
     * when the process dies. 0: nothing is recorded; call_end and call_arg take that. */
    uint64_t (*call_begin)(const kino_device_host *host, uint32_t name, uint64_t correlation);
    void (*call_arg)(const kino_device_host *host, uint64_t call, const kino_device_arg *arg);
    void (*call_end)(const kino_device_host *host, uint64_t call);

    /* A value at a time of the device's clock; the name is of kind KINO_DEVICE_COUNTERS. */
    void (*counter)(const kino_device_host *host, uint32_t device, uint32_t name, uint64_t time,
                    double value);

    /* The current time, as cheaply as possible: for clock_bound and for calls. Not ns. */
    uint64_t (*stamp)(const kino_device_host *host);
    /* The device's clock showed `time` at some instant between two stamps. Devices with a clock of
     * their own need at least one such observation before their first activity; each one makes the
     * conversion better. libkino calls `now` of the backend for the same end. */
    void (*clock_bound)(const kino_device_host *host, uint32_t device, uint64_t time,
                        uint64_t before, uint64_t after);

    /* So many activities could not be had: the trace says so. */
    void (*lost)(const kino_device_host *host, uint64_t count);

    /* A top-level key of the trace with its JSON. */
    kino_status (*metadata)(const kino_device_host *host, const char *key, const char *json,
                            kino_error *err);

    /* One line about something that does not work while the rest continues; reported by
     * kino_device_get and in the trace. The first line of a session is kept. */
    void (*problem)(const kino_device_host *host, const char *text);

    void (*memory)(const kino_device_host *host, const kino_device_memory *event);
};

/* What a session wants. */
typedef struct kino_device_request {
    uint32_t size;
    uint32_t kinds;          /* KINO_DEVICE_BIT of each */
    uint32_t buffer_mb;      /* memory for records of the device's driver, at most; 0: as usual */
    int32_t counters_device; /* whose hardware counters, as its driver counts devices; -1: none */
    const char *counters;    /* which ones, separated by commas; NULL: none */
} kino_device_request;

/* What a backend is. Callbacks come one at a time, on the thread that drives the session, and may
 * be NULL; they must not call session functions (kino_prepare, ...). A status other than KINO_OK,
 * with a reason in err (never NULL), leaves the backend out: of the process (probe) or of the
 * session. `context` is handed to all of them. */
typedef struct kino_device_backend {
    uint32_t size;    /* sizeof(kino_device_backend) */
    uint32_t kinds;   /* KINO_DEVICE_BIT of each that it can record */
    const char *name; /* "opencl": letters, digits, "_", "-"; unique in the process */
    const char *version;
    void *context;
    kino_status (*probe)(void *context, kino_error *err);
    kino_status (*prepare)(void *context, const kino_device_request *request, kino_error *err);
    kino_status (*start)(void *context, kino_error *err);
    /* Also when start failed, or the session ends before it was started. */
    void (*stop)(void *context);
    /* Hands over what the device has done, at most until the time of CLOCK_MONOTONIC_RAW in ns;
     * what is not done by then is lost. Behind stop; while recording when a dump is made. */
    void (*flush)(void *context, uint64_t deadline_ns);
    /* The device's clock now; false: it cannot be read. Called around start and stop, and from
     * time to time between. */
    bool (*now)(void *context, uint32_t device, uint64_t *out);
    /* In a child made by fork(), whose threads are gone; only async-signal-safe calls. */
    void (*forked)(void *context);
    /* Record functions that begin and end on the calling thread while it is recorded: what the
     * thread gives to the device in between belongs to them. `kind` is KINO_DEVICE_ANNOTATION for
     * ranges of the user's, 0 for operators; `id` is their "External id". Hot; any thread. */
    void (*push)(void *context, uint32_t kind, uint64_t id, const char *name);
    void (*pop)(void *context, uint32_t kind);
    /* Behind push, of some functions: arguments that kernels launched by it have, too (those of a
     * collective), as a JSON object. Copied. */
    void (*describe)(void *context, uint64_t id, const char *json);
} kino_device_backend;

/* What a plug-in exports: `kino_device_plugin_v1`. The backend stays valid forever (plug-ins are
 * never unloaded). NULL with a reason in err: it cannot work here. */
typedef const kino_device_backend *(*kino_device_entry)(const kino_device_host *host,
                                                        kino_error *err);
#define KINO_DEVICE_ENTRY "kino_device_plugin_v1"

/* Adds a backend; it takes part in the session that runs. A backend of the same name that is there
 * already makes this KINO_OK without calling `entry`'s again. */
KINO_API kino_status kino_device_register(const char *name, kino_device_entry entry,
                                          kino_error *err);

/* Looks again for runtimes that libkino has a backend for (src/tracer/backend/backends.def) and
 * that were not there when the session was prepared; what is found takes part in what is recorded.
 * For those who know that one has just been loaded. */
KINO_API void kino_device_look(void);

typedef enum kino_device_phase {
    KINO_DEVICE_FAILED = 0, /* it was left out: error says why */
    KINO_DEVICE_IDLE = 1,
    KINO_DEVICE_PREPARED = 2,
    KINO_DEVICE_RECORDING = 3
} kino_device_phase;

/* How a backend, or a plug-in that could not be loaded, is doing. */
typedef struct kino_device_state {
    uint32_t size; /* sizeof(kino_device_state), set by the caller */
    kino_device_phase phase;
    char name[256]; /* of the backend, or the path of the plug-in */
    char version[32];
    uint32_t devices;
    uint64_t activities, lost; /* of this session, or the last */
    char error[240];           /* "" when there is none */
} kino_device_state;

/* The backends, numbered from 0. KINO_NOT_FOUND after the last. */
KINO_API kino_status kino_device_get(size_t index, kino_device_state *out);

#ifdef __cplusplus
}
#endif
#endif
