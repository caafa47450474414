/* xpu_internal.h - the XPU backend, shared by its files.
 *
 *   xpu.c          the library, sessions
 *   xpu_devices.c  GPUs, as Level Zero describes them
 *   xpu_buffers.c  buffers of records: handed to PTI, taken back, decoded
 *   xpu_rows.c     records as rows
 *
 * PTI has no handle for its users: callbacks and state are the process's. Buffers that PTI has
 * filled are kept until something asks for the rows, or half of them are full: what belongs
 * together (a kernel, the function around its launch) may be in buffers of different threads. */
#ifndef KINO__TRACER_BACKEND_XPU_INTERNAL_H
#define KINO__TRACER_BACKEND_XPU_INTERNAL_H

#include <pthread.h>

#include <kino/device.h>

#include "tracer/backend/xpu/xpu_abi.h"
#include "tracer/device/device_follow.h"

enum {
    KINO__XPU_DEVICES = 256, /* with their tiles */
    KINO__XPU_BUFFERS = 64,
    KINO__XPU_BUFFER_BYTES = 1 << 19,
    KINO__XPU_RELATIONS = 1 << 17, /* correlations that are kept, a power of two: they count up */
    KINO__XPU_NAMES = 1 << 14,     /* ranges whose name is kept, the same */
};

/* Keys of arguments. */
#define KINO__XPU_KEY_MAP(X)                                                                       \
    X(CORRELATION, "correlation")                                                                  \
    X(APPENDED, "appended")                                                                        \
    X(APPENDED_REL, "appended_rel_to_start")                                                       \
    X(SUBMITTED, "submitted")                                                                      \
    X(SUBMITTED_REL, "submitted_rel_to_start")                                                     \
    X(TASK, "sycl_task_begin")                                                                     \
    X(TASK_REL, "sycl_task_begin_rel_to_start")                                                    \
    X(ENQUEUE, "sycl_enqk_begin")                                                                  \
    X(ENQUEUE_REL, "sycl_enqk_begin_rel_to_start")                                                 \
    X(DEVICE, "device")                                                                            \
    X(CONTEXT, "context")                                                                          \
    X(SYCL_QUEUE, "sycl queue")                                                                    \
    X(L0_QUEUE, "l0 queue")                                                                        \
    X(FILE, "source_file_name")                                                                    \
    X(LINE, "source_line_number")                                                                  \
    X(KERNEL, "kernel_id")                                                                         \
    X(NODE, "sycl_node_id")                                                                        \
    X(INVOCATION, "sycl_invocation_id")                                                            \
    X(L0_CALL, "l0 call")                                                                          \
    X(OPERATION, "memory opration id")                                                             \
    X(BYTES, "bytes")                                                                              \
    X(BANDWIDTH, "memory bandwidth (GB/s)")                                                        \
    X(TYPE, "Type")                                                                                \
    X(CONTEXT_HANDLE, "Context_handle")                                                            \
    X(QUEUE_HANDLE, "Queue_handle")                                                                \
    X(EVENT_HANDLE, "Event_handle")                                                                \
    X(WAIT_EVENTS, "Number_wait_events")                                                           \
    X(RESULT, "Return_code")                                                                       \
    X(COST, "overhead cost")                                                                       \
    X(OCCUPANCY, "overhead occupancy")                                                             \
    X(COUNT, "overhead count")                                                                     \
    X(COMMUNICATOR, "Communicator_id")
typedef enum kino__xpu_key {
#define KINO__XPU_KEY(name, text) KINO__XPU_##name,
    KINO__XPU_KEY_MAP(KINO__XPU_KEY)
#undef KINO__XPU_KEY
        KINO__XPU_KEYS
} kino__xpu_key;

typedef struct kino__xpu_device { /* or a tile of one */
    uint8_t uuid[PTI_UUID_BYTES];
    uint32_t number; /* in the trace */
} kino__xpu_device;

/* What is known of a correlation. */
typedef struct kino__xpu_relation {
    uint32_t correlation; /* 0: nothing */
    bool is_launched;     /* a call of the runtime was seen, */
    bool has_work;        /* work of a device was seen */
    uint64_t operator_id, range;
} kino__xpu_relation;

typedef struct kino__xpu_state {
    const kino_device_host *host;
    pti_functions pti;
    ze_functions ze;
    char version[32];
    kino__xpu_device devices[KINO__XPU_DEVICES];
    uint32_t device_count;
    uint32_t clock; /* kino_device_clock: what PTI's times are */
    uint32_t keys[KINO__XPU_KEYS];
    uint32_t kinds;      /* of this session */
    uint64_t start_time; /* PTI's: what began earlier is of no session */
    int64_t base_ns;     /* from PTI's times to times of the trace, for those in arguments: */
                         /* unless its clock is its own */
    bool knows_launches; /* calls that are seen are those that give work to devices */
} kino__xpu_state;

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above */
extern kino__xpu_state kino__xpu;

static inline bool kino__xpu_wants(uint32_t kind)
{
    return kino__xpu.kinds & KINO_DEVICE_BIT(kind);
}

/* xpu.c: what PTI's times are now. */
uint64_t kino__xpu_now(void);

/* xpu_devices.c: asks Level Zero for its GPUs and adds them. */
kino_status kino__xpu_add_devices(kino_error *err);
/* NULL: not one of them. */
const kino__xpu_device *kino__xpu_device_of(const uint8_t uuid[PTI_UUID_BYTES]);

/* xpu_buffers.c. Memory for all buffers; false when there is none. */
bool kino__xpu_buffers_make(void);
void kino__xpu_requested(unsigned char **buffer, size_t *size);
void kino__xpu_completed(unsigned char *buffer, size_t size, size_t used);
/* Before a session; rows from all buffers that have come back. */
void kino__xpu_buffers_begin(void);
void kino__xpu_decode(void);
/* Calls whose work has not come; at the end of the session they are given up. */
uint64_t kino__xpu_missing(void);
/* Behind the last decode: rows of ranges; what went wrong, or "". */
void kino__xpu_buffers_end(char *problem, size_t size);
void kino__xpu_name_range(uint64_t id, const char *name);

/* xpu_rows.c. Called by the decoder, with its lock. NULL relation: not known. False: the record is
 * not what it should be. */
bool kino__xpu_row(const pti_record *record, const kino__xpu_relation *relation,
                   kino__follow_range range, kino__follow_rows *rows);
/* The correlation of work and calls that have one, else 0. */
uint32_t kino__xpu_correlation(const pti_record *record);

#endif
