/* rocm_internal.h - the ROCm backend, shared by its files.
 *
 *   rocm.c        devices, sessions
 *   rocm_tool.c   how it becomes a tool of rocprofiler
 *   rocm_calls.c  calls of the HIP runtime and ROCTX ranges, in callbacks on the program's threads
 *   rocm_names.c  kernels and their names
 *   rocm_work.c   records of what devices did, in callbacks on a thread of rocprofiler
 *
 * A call that gives work to a device leaves a note under its correlation (kino__rocm_launch); the
 * record of the work, which comes later and on another thread, takes stream and size from there.
 * Notes are never freed: the table is a ring over correlations, which count up. */
#ifndef KINO__TRACER_BACKEND_ROCM_INTERNAL_H
#define KINO__TRACER_BACKEND_ROCM_INTERNAL_H

#include <pthread.h>

#include <kino/device.h>

#include "tracer/backend/rocm/rocm.h"
#include "tracer/device/device_follow.h"

enum {
    KINO__ROCM_LAUNCHES = 1 << 16, /* notes that are kept, a power of two */
    KINO__ROCM_DEVICES = 64,
    KINO__ROCM_BUFFER = 4 << 20, /* bytes of records in rocprofiler; it has two of them */
};

/* Keys of arguments. */
#define KINO__ROCM_KEY_MAP(X)                                                                      \
    X(DEVICE, "device")                                                                            \
    X(STREAM, "stream")                                                                            \
    X(QUEUE, "hsa_queue")                                                                          \
    X(CORRELATION, "correlation")                                                                  \
    X(KIND, "kind")                                                                                \
    X(BYTES, "bytes")                                                                              \
    X(BANDWIDTH, "memory bandwidth (GB/s)")                                                        \
    X(GRID, "grid")                                                                                \
    X(BLOCK, "block")                                                                              \
    X(SHARED, "shared memory")                                                                     \
    X(CID, "cid")                                                                                  \
    X(FROM, "src")                                                                                 \
    X(TO, "dst")                                                                                   \
    X(POINTER, "ptr")
typedef enum kino__rocm_key {
#define KINO__ROCM_KEY(name, text) KINO__ROCM_##name,
    KINO__ROCM_KEY_MAP(KINO__ROCM_KEY)
#undef KINO__ROCM_KEY
        KINO__ROCM_KEYS
} kino__rocm_key;
enum { KINO__ROCM_ARGS = 8, KINO__ROCM_SIZE_BYTES = 40 }; /* "[4294967295, 4294967295, ...]" */

/* What a call that gives work to a device says of it. */
typedef struct kino__rocm_launch {
    uint64_t correlation; /* atomic; 0 while the note is written */
    uint64_t stream;      /* the program's handle */
    uint64_t operator_id;
    kino__follow_range range;
    uint32_t grid[3], block[3]; /* all 0: not known */
    bool has_stream;
} kino__rocm_launch;

typedef struct kino__rocm_device {
    uint64_t agent;
    uint32_t number; /* in the trace */
    uint32_t streams;
} kino__rocm_device;

typedef struct kino__rocm_state {
    bool is_on;        /* the context is started */
    bool is_over;      /* rocprofiler has ended, or this is a forked child */
    char problem[200]; /* the first service that cannot be had; "" */
    char version[32];
    uint32_t major, minor;
    const kino_device_host *host; /* NULL: libkino has not asked for us yet */
    rocp_functions call;
    void *library;
    rocp_id names, context, buffer; /* contexts: kernels' names, for ever; what is recorded */
    kino__rocm_device devices[KINO__ROCM_DEVICES];
    uint32_t device_count;
    uint32_t keys[KINO__ROCM_KEYS]; /* their numbers */
    uint32_t session;               /* atomic: counts them */
    kino__rocm_launch *launches;    /* KINO__ROCM_LAUNCHES, from the first session on */
    uint32_t kinds;                 /* atomic: of this session */
    uint64_t start_time;            /* on the devices' clock: what began earlier is of no session */
    uint64_t pending;               /* atomic: kernels of this session that are not done */
    uint64_t first_dispatch;        /* atomic: the number of the first of them */
    uint64_t dropped;               /* atomic: records that did not come, or were not read */
    uint64_t odd_records;           /* atomic: of a size or kind that is not known */
    bool has_calls;                 /* atomic: a call of HIP was seen */
    bool is_late;                   /* HIP was loaded before the tool was registered */
} kino__rocm_state;

/* Callbacks of rocprofiler may come on any thread: one state for the process.
 * NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables) */
extern kino__rocm_state kino__rocm;

/* For callbacks, which may come before libkino has asked for us. */
static inline const kino_device_host *kino__rocm_host(void)
{
    return __atomic_load_n(&kino__rocm.host, __ATOMIC_ACQUIRE); /* kino__rocm_entry */
}

static inline bool kino__rocm_wants(uint32_t kind)
{
    return __atomic_load_n(&kino__rocm.kinds, __ATOMIC_RELAXED) & KINO_DEVICE_BIT(kind);
}

/* How many blocks cover so many items. */
static inline uint32_t kino__rocm_blocks(uint32_t items, uint32_t block)
{
    return block ? items / block + (items % block != 0) : 0;
}

/* Arguments of a row. */
typedef struct kino__rocm_args {
    kino_device_arg items[KINO__ROCM_ARGS];
    uint32_t count;
    char texts[3][KINO__ROCM_SIZE_BYTES]; /* of those that are made for it */
} kino__rocm_args;
static inline void kino__rocm_add_int(kino__rocm_args *args, kino__rocm_key key, uint64_t value)
{
    args->items[args->count++] =
        (kino_device_arg){kino__rocm.keys[key], KINO_DEVICE_ARG_UINT, {.u = value}};
}
static inline void kino__rocm_add_text(kino__rocm_args *args, kino__rocm_key key, uint32_t type,
                                       const char *text)
{
    args->items[args->count++] = (kino_device_arg){kino__rocm.keys[key], type, {.text = text}};
}
/* "[x, y, z]" in one of the texts. */
void kino__rocm_add_size(kino__rocm_args *args, kino__rocm_key key, const uint32_t size[3],
                         char text[KINO__ROCM_SIZE_BYTES]);

/* rocm.c: behind it nothing asks rocprofiler for records but the caller. Any thread. */
void kino__rocm_stop_fetching(void);

/* rocm_tool.c */
#define KINO__ROCM_VARIABLE "KINO_ROCPROFILER_LIBRARY"
/* Finds the library and its functions; false with the reason: KINO_NOT_FOUND when it is absent. */
bool kino__rocm_open(kino_error *err);
/* The file name of another tool of rocprofiler in the process; false: there is none. */
bool kino__rocm_other(char *out, size_t size);
/* HIP, if the process has it; to be closed. */
void *kino__rocm_hip(void);
/* Becomes a tool of rocprofiler, unless that is done. */
kino_status kino__rocm_enter(kino_error *err);
/* True when the call worked; else *err has one line about it. */
bool kino__rocm_check(const char *function, rocp_status status, kino_error *err);
#define CHECK(function, arguments, err)                                                            \
    kino__rocm_check(#function, kino__rocm.call.function arguments, err)

/* rocm_calls.c */
/* Before a session. */
void kino__rocm_calls_begin(void);
/* The operations of the HIP runtime that are traced; their number, 0 when they cannot be asked. */
size_t kino__rocm_operations(int32_t *out, size_t room);
void kino__rocm_on_call(rocp_callback_record record, rocp_user_data *user, void *data);
/* A kernel is given to a device: counted, so that a stop knows how many to wait for. */
void kino__rocm_on_enqueue(rocp_callback_record record, rocp_user_data *user, void *data);
void kino__rocm_on_marker(rocp_callback_record record, rocp_user_data *user, void *data);
void kino__rocm_push(void *context, uint32_t kind, uint64_t id, const char *name);
void kino__rocm_pop(void *context, uint32_t kind);
/* A copy of the note of the correlation; false: there is none (any more). */
bool kino__rocm_launch_of(uint64_t correlation, kino__rocm_launch *out);

/* rocm_names.c */
void kino__rocm_on_code(rocp_callback_record record, rocp_user_data *user, void *data);
/* The number of the kernel's name. */
uint32_t kino__rocm_kernel_name(uint64_t kernel);
/* The number of {"kernel": name} for a host function, or 0. Hot. */
uint32_t kino__rocm_function_members(const void *function);

/* rocm_work.c */
void kino__rocm_on_records(rocp_id context, rocp_id buffer, rocp_header **headers, size_t count,
                           void *data, uint64_t dropped);
/* Before a session; at its end, when all records have come. */
void kino__rocm_work_begin(void);
void kino__rocm_work_end(void);

#endif
