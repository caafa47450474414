/* xpu_abi.h - the parts of Intel's PTI and Level Zero that the XPU backend uses, declared anew.
 *
 * PTI ("Profiling Tools Interfaces for GPU", libpti_view): versions 0.12 to 1.x, whose records
 * begin alike; newer ones append. Records have no size, so what is believed here is checked
 * otherwise: the version, the functions that must be there, and of every record its device and its
 * times (xpu_rows.c). Level Zero (libze_loader): version 1, whose structs have a type and never
 * change. Nothing of either is needed to build. */
#ifndef KINO__TRACER_BACKEND_XPU_ABI_H
#define KINO__TRACER_BACKEND_XPU_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { PTI_MAJOR_MAX = 1, PTI_MINOR_MIN = 12 /* of major 0 */ };

typedef int pti_result;
enum { PTI_SUCCESS = 0 };

/* Kinds of records. */
enum {
    PTI_KERNEL = 1,
    PTI_DRIVER_API = 3,
    PTI_OVERHEAD = 5,
    PTI_RUNTIME_API = 6,
    PTI_EXTERNAL = 7,
    PTI_COPY = 8,
    PTI_FILL = 9,
    PTI_COPY_P2P = 10,
    PTI_SYNCHRONIZATION = 11,
    PTI_COMMUNICATION = 12,
};
enum { PTI_EXTERNAL_OPERATOR = 2, PTI_EXTERNAL_RANGE = 3 }; /* CUSTOM_0 and CUSTOM_1 */
enum { PTI_CLASS_GPU_OPERATION = 1, PTI_GROUP_ALL = 0x7fffffff };
enum { PTI_PCI_BYTES = 16, PTI_UUID_BYTES = 16 };
#define PTI_NO_QUEUE (UINT64_MAX - 1)

/* -- records; each begins with its kind */

typedef struct pti_record {
    uint32_t kind;
} pti_record;
typedef struct pti_kernel {
    uint32_t kind;
    const void *queue, *context;
    const char *name;
    const char *file; /* NULL: not known */
    uint64_t line;
    uint64_t kernel;
    uint32_t correlation, thread;
    char pci[PTI_PCI_BYTES];
    uint8_t uuid[PTI_UUID_BYTES];
    uint64_t appended, start, end, submitted; /* ns; 0: not known */
    uint64_t task_begin, enqueue_begin;
    uint64_t node;
    uint64_t sycl_queue;
    uint32_t invocation;
} pti_kernel;
typedef struct pti_transfer { /* a part of the following three */
    uint64_t operation;
    uint32_t correlation, thread;
    uint64_t appended, start, end, submitted;
    uint64_t bytes;
} pti_transfer;
typedef struct pti_copy {
    uint32_t kind;
    uint32_t type, from, to;
    const void *queue, *context;
    const char *name; /* of the call of Level Zero */
    char pci[PTI_PCI_BYTES];
    uint8_t uuid[PTI_UUID_BYTES];
    pti_transfer transfer;
    uint64_t sycl_queue;
} pti_copy;
typedef struct pti_copy_p2p {
    uint32_t kind;
    uint32_t type, from, to;
    const void *queue, *context;
    const char *name;
    char from_pci[PTI_PCI_BYTES], to_pci[PTI_PCI_BYTES];
    uint8_t from_uuid[PTI_UUID_BYTES], to_uuid[PTI_UUID_BYTES];
    pti_transfer transfer;
    uint64_t sycl_queue;
} pti_copy_p2p;
typedef struct pti_fill {
    uint32_t kind;
    uint32_t memory;
    const void *queue, *context;
    const char *name;
    char pci[PTI_PCI_BYTES];
    uint8_t uuid[PTI_UUID_BYTES];
    pti_transfer transfer;
    uint64_t value;
    uint64_t sycl_queue;
} pti_fill;
typedef struct pti_api {
    uint32_t kind;
    uint64_t start, end;
    uint32_t group, api;
    uint32_t process, thread;
    uint32_t correlation;
    uint32_t result;
} pti_api;
typedef struct pti_external {
    uint32_t kind;
    uint32_t correlation;
    uint64_t id;
    uint32_t external_kind;
} pti_external;
typedef struct pti_overhead {
    uint32_t kind;
    uint64_t start, end;
    uint32_t thread, api;
    uint64_t count;
    uint64_t cost; /* ns within start and end */
    uint32_t overhead_kind;
} pti_overhead;
typedef struct pti_synchronization {
    uint32_t kind;
    uint32_t type;
    const void *context, *queue, *event;
    uint64_t start, end;
    uint32_t thread, correlation;
    uint32_t wait_events;
    uint32_t result;
    uint32_t api, group;
} pti_synchronization;
typedef struct pti_communication {
    uint32_t kind;
    const char *name;
    uint64_t start, end;
    uint32_t process, thread;
    uint64_t communicator;
} pti_communication;

/* -- functions */

typedef void (*pti_requested)(unsigned char **buffer, size_t *size);
typedef void (*pti_completed)(unsigned char *buffer, size_t size, size_t used);
typedef uint64_t (*pti_timestamp)(void);

/* FUNCTION(type, name, is needed, arguments). What is not is comfort, and Kineto does without. */
#define PTI_FUNCTION_MAP(FUNCTION)                                                                 \
    FUNCTION(const char *, ptiVersionString, 1, (void))                                            \
    FUNCTION(const char *, ptiResultTypeToString, 0, (pti_result result))                          \
    FUNCTION(pti_result, ptiViewSetCallbacks, 1,                                                   \
             (pti_requested requested, pti_completed completed))                                   \
    FUNCTION(pti_result, ptiViewSetTimestampCallback, 0, (pti_timestamp timestamp))                \
    FUNCTION(uint64_t, ptiViewGetTimestamp, 0, (void))                                             \
    FUNCTION(pti_result, ptiViewGPULocalAvailable, 1, (void))                                      \
    FUNCTION(pti_result, ptiViewEnable, 1, (uint32_t kind))                                        \
    FUNCTION(pti_result, ptiViewDisable, 1, (uint32_t kind))                                       \
    FUNCTION(pti_result, ptiFlushAllViews, 1, (void))                                              \
    FUNCTION(pti_result, ptiViewGetNextRecord, 1,                                                  \
             (uint8_t * buffer, size_t used, pti_record * *record))                                \
    FUNCTION(pti_result, ptiViewPushExternalCorrelationId, 1, (uint32_t kind, uint64_t id))        \
    FUNCTION(pti_result, ptiViewPopExternalCorrelationId, 1, (uint32_t kind, uint64_t * id))       \
    FUNCTION(pti_result, ptiViewGetApiIdName, 1,                                                   \
             (uint32_t group, uint32_t api, const char **name))                                    \
    FUNCTION(pti_result, ptiViewEnableRuntimeApiClass, 1,                                          \
             (uint32_t enable, uint32_t api_class, uint32_t group))                                \
    FUNCTION(const char *, ptiViewMemcpyTypeToString, 1, (uint32_t type))                          \
    FUNCTION(const char *, ptiViewMemoryTypeToString, 1, (uint32_t type))

typedef struct pti_functions {
#define PTI_FUNCTION_POINTER(type, name, is_needed, arguments) type(*name) arguments;
    PTI_FUNCTION_MAP(PTI_FUNCTION_POINTER)
#undef PTI_FUNCTION_POINTER
} pti_functions;

/* -- Level Zero */

typedef int ze_result;
enum { ZE_GPU_ONLY = 1, ZE_TYPE_GPU = 1 };
enum {
    ZE_DRIVER_PROPERTIES = 1,
    ZE_DEVICE_PROPERTIES = 3,
    ZE_COMPUTE_PROPERTIES = 4,
    ZE_MEMORY_PROPERTIES = 7,
};
typedef struct ze_driver_properties {
    uint32_t structure;
    void *next;
    uint8_t uuid[16];
    uint32_t version;
} ze_driver_properties;
typedef struct ze_device_properties {
    uint32_t structure;
    void *next;
    uint32_t type;
    uint32_t vendor, device, flags, subdevice;
    uint32_t clock_mhz;
    uint64_t allocation_max;
    uint32_t contexts_max, priority_max;
    uint32_t threads_per_eu, simd_width, eus_per_subslice, subslices_per_slice, slices;
    uint64_t timer_resolution;
    uint32_t timestamp_bits, kernel_timestamp_bits;
    uint8_t uuid[PTI_UUID_BYTES];
    char name[256];
} ze_device_properties;
typedef struct ze_compute_properties {
    uint32_t structure;
    void *next;
    uint32_t group_max;
    uint32_t group_max_dim[3], group_count_dim[3];
    uint32_t local_bytes;
    uint32_t subgroup_count, subgroup_sizes[8];
} ze_compute_properties;
/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): theirs */
typedef struct ze_memory_properties {
    uint32_t structure;
    void *next;
    uint32_t flags, clock, width;
    uint64_t bytes;
    char name[256];
} ze_memory_properties;

#define ZE_FUNCTION_MAP(FUNCTION)                                                                  \
    FUNCTION(zeInit, (uint32_t flags))                                                             \
    FUNCTION(zeDriverGet, (uint32_t * count, void **drivers))                                      \
    FUNCTION(zeDriverGetProperties, (void *driver, ze_driver_properties *out))                     \
    FUNCTION(zeDeviceGet, (void *driver, uint32_t *count, void **devices))                         \
    FUNCTION(zeDeviceGetSubDevices, (void *device, uint32_t *count, void **devices))               \
    FUNCTION(zeDeviceGetProperties, (void *device, ze_device_properties *out))                     \
    FUNCTION(zeDeviceGetComputeProperties, (void *device, ze_compute_properties *out))             \
    FUNCTION(zeDeviceGetMemoryProperties,                                                          \
             (void *device, uint32_t *count, ze_memory_properties *out))

typedef struct ze_functions {
#define ZE_FUNCTION_POINTER(name, arguments) ze_result(*name) arguments;
    ZE_FUNCTION_MAP(ZE_FUNCTION_POINTER)
#undef ZE_FUNCTION_POINTER
} ze_functions;

#endif
