/* cupti_abi.h - what we know of CUPTI's and the CUDA driver's C interface, in our own words:
 * nothing of CUDA is needed to build. tests/standin/cupti/check_abi.c compares all of it with the
 * real headers where they are installed.
 *
 * Records of activities are read by copying as many bytes as the version of CUPTI at hand has
 * (cupti_work.c): newer versions only append, what an older one does not have stays 0. */
#ifndef KINO__BACKEND_CUPTI_ABI_H
#define KINO__BACKEND_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

/* -- results */

/* With what a user can do about it; "" where the name says all. */
#define KINO__CUPTI_RESULT_MAP(X)                                                                  \
    X(INVALID_DEVICE, 2, "")                                                                       \
    X(INVALID_CONTEXT, 3, "")                                                                      \
    X(MAX_LIMIT_REACHED, 12, "")                                                                   \
    X(NOT_COMPATIBLE, 14, "")                                                                      \
    X(NOT_INITIALIZED, 15, "the CUDA driver does not work here")                                   \
    X(NOT_SUPPORTED, 27, "")                                                                       \
    X(VIRTUALIZED_DEVICE_NOT_SUPPORTED, 33, "this kind of virtual GPU cannot be profiled")         \
    X(INSUFFICIENT_PRIVILEGES, 35,                                                                 \
      "profiling is restricted to administrators; set the NVIDIA driver option "                   \
      "NVreg_RestrictProfilingToAdminUsers=0")                                                     \
    X(OLD_PROFILER_API_INITIALIZED, 36, "")                                                        \
    X(LEGACY_PROFILER_NOT_SUPPORTED, 38, "")                                                       \
    X(MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39, "another profiler is using CUPTI")                   \
    X(VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40,                                              \
      "the host of the virtual GPU does not allow profiling")                                      \
    X(UNKNOWN, 999, "")
enum {
    CUPTI_OK = 0,
#define RESULT_ENUM(name, value, hint) CUPTI_##name = value,
    KINO__CUPTI_RESULT_MAP(RESULT_ENUM)
#undef RESULT_ENUM
};

/* -- numbers */

enum {
    CUPTI_KIND_MEMCPY = 1,
    CUPTI_KIND_MEMSET = 2,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_KIND_MARKER = 12,
    CUPTI_KIND_OVERHEAD = 17,
    CUPTI_KIND_MEMCPY2 = 22, /* between devices */
    CUPTI_KIND_CUDA_EVENT = 36,
    CUPTI_KIND_SYNCHRONIZATION = 38,
    CUPTI_KIND_EXTERNAL_CORRELATION = 39,
    CUPTI_KIND_MEMORY2 = 49,
    CUPTI_KIND_JIT = 52,

    CUPTI_DOMAIN_DRIVER = 1,
    CUPTI_DOMAIN_RUNTIME = 2,
    CUPTI_SITE_EXIT = 1,

    CUPTI_FLUSH_FORCED = 1,
    CUPTI_EXTERNAL_CUSTOM0 = 3, /* operators */
    CUPTI_EXTERNAL_CUSTOM1 = 4, /* annotations */
    CUPTI_THREAD_ID_SYSTEM = 1,

    CUPTI_SYNC_EVENT = 1,
    CUPTI_SYNC_STREAM_WAIT = 2,
    CUPTI_SYNC_STREAM = 3,
    CUPTI_SYNC_CONTEXT = 4,

    CUPTI_MEMORY_ALLOCATION = 1,
    CUPTI_MEMORY_RELEASE = 2,

    CUPTI_MARKER_INSTANT = 1,
    CUPTI_MARKER_START = 2,
    CUPTI_MARKER_END = 4,
    CUPTI_OBJECT_THREAD = 2,
};
#define CUPTI_NO_STREAM UINT32_MAX

/* Versions (cuptiGetVersion). Until CUDA 12.9 they are counted, then they are 10000 * major +
 * 100 * minor + update. */
enum {
    CUPTI_VERSION_11_0 = 13, /* the oldest that is understood */
    CUPTI_VERSION_12_0 = 19,
    CUPTI_VERSION_12_9 = 27, /* may be refused a buffer */
    CUPTI_VERSION_13_0 = 130000,
    CUPTI_VERSION_13_1 = 130100,
    CUPTI_VERSION_14_0 = 140000, /* the first that is not known */
};

/* -- records; every one begins with its kind */

typedef struct cupti_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_memory_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total;
    uint32_t correlation;
    int64_t grid_id;
    const char *name;
    void *reserved0;
    uint64_t queued, submitted;
    uint8_t launch_type, is_carveout_requested, carveout_requested, padding[1];
    uint32_t shared_executed;
    uint64_t graph_node_id; /* CUDA 11 has no more than this and the next two */
    uint32_t shmem_limit_config;
    uint32_t graph_id;
    void *access_policy_window;
    uint32_t channel, channel_type;
    uint32_t cluster[3];
    uint32_t cluster_policy;
    uint64_t local_total_v2;
    uint32_t max_cluster_size, max_active_clusters; /* up to here 208 bytes: CUDA 12 */
    uint8_t is_device_launched, reserved1[7];
    int32_t priority; /* CUDA 13.1 */
    int32_t reserved2;
} cupti_kernel;

typedef struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source, target, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t correlation, runtime_correlation, padding;
    void *reserved0;
    uint64_t graph_node_id; /* CUDA 12 */
    uint32_t graph_id, channel, channel_type, padding2;
} cupti_memcpy;

typedef struct cupti_memcpy_peer {
    uint32_t kind;
    uint8_t copy_kind, source, target, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream;
    uint32_t source_device, source_context, target_device, target_context;
    uint32_t correlation;
    void *reserved0;
    uint64_t graph_node_id; /* CUDA 12 */
    uint32_t graph_id, channel, channel_type, padding;
} cupti_memcpy_peer;

typedef struct cupti_memset {
    uint32_t kind;
    uint32_t value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t padding;
    void *reserved0;
    uint64_t graph_node_id; /* CUDA 12 */
    uint32_t graph_id, channel, channel_type, padding2;
} cupti_memset;

typedef struct cupti_api {
    uint32_t kind;
    uint32_t cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
} cupti_api;

typedef struct cupti_sync {
    uint32_t kind;
    uint32_t type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
} cupti_sync;

typedef struct cupti_cuda_event {
    uint32_t kind;
    uint32_t correlation, context, stream, event, padding;
    uint32_t device, padding2; /* CUDA 13 */
    void *reserved0;
    uint64_t device_time;
} cupti_cuda_event;

typedef struct cupti_overhead {
    uint32_t kind;
    uint32_t overhead_kind, object_kind, object[3];
    uint64_t start, end;
} cupti_overhead;

typedef struct cupti_external {
    uint32_t kind;
    uint32_t external_kind;
    uint64_t external_id;
    uint32_t correlation, reserved0;
} cupti_external;

typedef struct cupti_memory {
    uint32_t kind;
    uint32_t operation, memory_kind, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
} cupti_memory;

typedef struct cupti_marker {
    uint32_t kind;
    uint32_t flags;
    uint64_t time;
    uint32_t id, object_kind;
    uint32_t process, thread, object_rest; /* when the object is a thread */
    uint32_t padding;
    const char *name; /* of the begin */
    const char *domain;
} cupti_marker;

typedef struct cupti_jit {
    uint32_t kind;
    uint32_t entry, operation, device;
    uint64_t start, end;
    uint32_t correlation, padding;
} cupti_jit;

/* -- functions */

typedef void (*cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *record_limit);
typedef void (*cupti_complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                  size_t valid);
typedef uint64_t (*cupti_timestamp_fn)(void);
typedef void (*cupti_callback_fn)(void *user, int domain, uint32_t cbid, const void *data);

/* What a callback of the domains runtime and driver is told, as far as we look. */
typedef struct cupti_callback_data {
    int site;
} cupti_callback_data;

typedef struct cupti_subscriber_params {
    size_t size;
    const char *name;
    char *old_name; /* of the one that is there already */
    size_t old_name_size;
} cupti_subscriber_params;
enum { CUPTI_OLD_NAME_SIZE = 64 };

/* X(name, is needed, parameters). All return a result. What is not needed came with some version,
 * or is only about comfort. */
#define KINO__CUPTI_CALL_MAP(X)                                                                    \
    X(cuptiGetVersion, 1, (uint32_t * version))                                                    \
    X(cuptiGetResultString, 0, (int result, const char **text))                                    \
    X(cuptiGetCallbackName, 0, (int domain, uint32_t cbid, const char **name))                     \
    X(cuptiGetTimestamp, 0, (uint64_t * time))                                                     \
    X(cuptiSubscribe, 1, (void **subscriber, cupti_callback_fn callback, void *user))              \
    X(cuptiSubscribe_v2, 0,                                                                        \
      (void **subscriber, cupti_callback_fn callback, void *user,                                  \
       cupti_subscriber_params *params))                                                           \
    X(cuptiUnsubscribe, 1, (void *subscriber))                                                     \
    X(cuptiEnableDomain, 0, (uint32_t is_enabled, void *subscriber, int domain))                   \
    X(cuptiFinalize, 0, (void))                                                                    \
    X(cuptiGetThreadIdType, 0, (int *type))                                                        \
    X(cuptiSetThreadIdType, 0, (int type))                                                         \
    X(cuptiActivityRegisterTimestampCallback, 0, (cupti_timestamp_fn timestamp))                   \
    X(cuptiActivityRegisterCallbacks, 1, (cupti_request_fn request, cupti_complete_fn complete))   \
    X(cuptiActivityEnable, 1, (uint32_t kind))                                                     \
    X(cuptiActivityDisable, 1, (uint32_t kind))                                                    \
    X(cuptiActivityEnableRuntimeApi, 0, (uint32_t cbid, uint8_t is_enabled))                       \
    X(cuptiActivityEnableDriverApi, 0, (uint32_t cbid, uint8_t is_enabled))                        \
    X(cuptiActivityEnableCudaEventDeviceTimestamps, 0, (uint8_t is_enabled))                       \
    X(cuptiActivityFlushAll, 1, (uint32_t flags))                                                  \
    X(cuptiActivityGetNextRecord, 1, (uint8_t * buffer, size_t valid, void **record))              \
    X(cuptiActivityGetNumDroppedRecords, 0, (void *context, uint32_t stream, size_t *dropped))     \
    X(cuptiActivityPushExternalCorrelationId, 0, (int kind, uint64_t id))                          \
    X(cuptiActivityPopExternalCorrelationId, 0, (int kind, uint64_t *last))

typedef struct cupti_calls {
#define CALL_MEMBER(name, is_needed, parameters) int(*name) parameters;
    KINO__CUPTI_CALL_MAP(CALL_MEMBER)
#undef CALL_MEMBER
} cupti_calls;

/* The CUDA driver: what devices there are. */
#define KINO__CUDA_CALL_MAP(X)                                                                     \
    X(cuDriverGetVersion, 0, (int *version))                                                       \
    X(cuDeviceGetCount, 1, (int *count))                                                           \
    X(cuDeviceGet, 1, (int *device, int ordinal))                                                  \
    X(cuDeviceGetName, 0, (char *name, int size, int device))                                      \
    X(cuDeviceTotalMem_v2, 0, (size_t * bytes, int device))                                        \
    X(cuDeviceGetAttribute, 0, (int *value, int attribute, int device))

typedef struct cuda_calls {
#define CALL_MEMBER(name, is_needed, parameters) int(*name) parameters;
    KINO__CUDA_CALL_MAP(CALL_MEMBER)
#undef CALL_MEMBER
} cuda_calls;
enum { CUDA_NOT_INITIALIZED = 3, CUDA_NO_DEVICE = 100, CUDA_NOT_SUPPORTED = 801 };

#endif
