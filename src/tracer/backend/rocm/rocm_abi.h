/* rocm_abi.h - the part of rocprofiler-sdk's C interface that the ROCm backend uses, declared anew.
 *
 * Meant is version 1.x, which comes with ROCm 7 (before it, records and numbers of kinds were
 * different). Nothing of ROCm is needed to build; what is believed here is checked at run time: the
 * version, the names of the kinds, and the size that every struct of the library begins with.
 * Structs are declared as far as they are read; the library may know longer ones. */
#ifndef KINO__TRACER_BACKEND_ROCM_ABI_H
#define KINO__TRACER_BACKEND_ROCM_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ROCP_LIBRARY "librocprofiler-sdk.so.1"
enum { ROCP_MAJOR = 1 };

/* rocprofiler_status_t: those that are told apart. */
enum {
    ROCP_SUCCESS = 0,
    ROCP_CONTEXT_CONFLICT = 12,
    ROCP_BUFFER_BUSY = 14,
    ROCP_CONFIGURATION_LOCKED = 16,
};

/* The kinds that are used, with the names that the library must have for them; 0: there are rows
 * without it. */
#define ROCP_CALLBACK_KIND_MAP(X)                                                                  \
    X(HIP_RUNTIME_API, 5, 1)                                                                       \
    X(MARKER_CORE_API, 7, 0)                                                                       \
    X(CODE_OBJECT, 10, 1)                                                                          \
    X(KERNEL_DISPATCH, 12, 0)
#define ROCP_BUFFER_KIND_MAP(X)                                                                    \
    X(MEMORY_COPY, 10, 1)                                                                          \
    X(KERNEL_DISPATCH, 11, 1)                                                                      \
    X(SCRATCH_MEMORY, 12, 0)                                                                       \
    X(MEMORY_ALLOCATION, 16, 0)
enum {
#define ROCP_CALLBACK_ENUM(name, value, is_needed) ROCP_CALLBACK_##name = value,
#define ROCP_BUFFER_ENUM(name, value, is_needed)   ROCP_BUFFER_##name = value,
    ROCP_CALLBACK_KIND_MAP(ROCP_CALLBACK_ENUM) ROCP_BUFFER_KIND_MAP(ROCP_BUFFER_ENUM)
#undef ROCP_CALLBACK_ENUM
#undef ROCP_BUFFER_ENUM
};

enum { ROCP_PHASE_ENTER = 1, ROCP_PHASE_EXIT = 2 }; /* of callbacks; also load, unload */
enum { ROCP_CODE_KERNEL_SYMBOL = 2, ROCP_CODE_HOST_SYMBOL = 3 }; /* operations of CODE_OBJECT */
enum { ROCP_AGENT_VERSION_0 = 1, ROCP_AGENT_GPU = 2 };
enum { ROCP_CATEGORY_TRACING = 1 }; /* of records in buffers */
enum { ROCP_POLICY_LOSSLESS = 2 };
enum { ROCP_COPY_HTOH = 1, ROCP_COPY_HTOD = 2, ROCP_COPY_DTOH = 3, ROCP_COPY_DTOD = 4 };
enum { ROCP_SCRATCH_ALLOC = 1, ROCP_SCRATCH_FREE = 2, ROCP_SCRATCH_RECLAIM = 3 };
enum { ROCP_MEMORY_ALLOC = 1, ROCP_MEMORY_VMEM_ALLOC = 2, ROCP_MEMORY_FREE = 3 };
enum {
    ROCP_MARK = 0,
    ROCP_RANGE_PUSH = 1,
    ROCP_RANGE_POP = 2,
    ROCP_RANGE_START = 3,
    ROCP_RANGE_STOP = 4
};                                                          /* operations of MARKER_CORE_API */
enum { ROCP_HEAP_FB_PUBLIC = 1, ROCP_HEAP_FB_PRIVATE = 2 }; /* memory banks on the card */

typedef int rocp_status;
typedef struct rocp_id {
    uint64_t handle;
} rocp_id; /* of contexts, buffers, agents, queues */
typedef union rocp_user_data {
    uint64_t value;
    void *ptr;
} rocp_user_data;
typedef struct rocp_dim3 {
    uint32_t x, y, z;
} rocp_dim3;

/* Of calls and memory; of work of the device, which has no ancestor. */
typedef struct rocp_correlation {
    uint64_t internal;
    rocp_user_data external;
    uint64_t ancestor;
} rocp_correlation;
typedef struct rocp_async_correlation {
    uint64_t internal;
    rocp_user_data external;
} rocp_async_correlation;

/* -- callbacks */

typedef struct rocp_callback_record {
    rocp_id context;
    uint64_t thread;
    rocp_correlation correlation;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
} rocp_callback_record;
typedef void (*rocp_callback)(rocp_callback_record record, rocp_user_data *user, void *data);

/* Payloads of calls: the arguments as they stand in the prototype. */
typedef struct rocp_launch_args { /* hipLaunchKernel, hipExtLaunchKernel */
    const void *function;
    rocp_dim3 grid, block;
    void **args;
    size_t shared_bytes;
    void *stream;
} rocp_launch_args;
typedef struct rocp_cooperative_args { /* hipLaunchCooperativeKernel */
    const void *function;
    rocp_dim3 grid, block;
    void **args;
    unsigned shared_bytes;
    void *stream;
} rocp_cooperative_args;
typedef struct rocp_module_args { /* hipModuleLaunchKernel */
    void *function;
    uint32_t grid[3], block[3];
    unsigned shared_bytes;
    void *stream;
} rocp_module_args;
typedef struct rocp_ext_module_args { /* hipExtModuleLaunchKernel, hipHccModuleLaunchKernel */
    void *function;
    uint32_t items[3], block[3]; /* items: of the whole grid */
    size_t shared_bytes;
    void *stream;
} rocp_ext_module_args;
typedef struct rocp_copy_args { /* hipMemcpy (without the stream), ...Async, ...WithStream */
    void *to;
    const void *from;
    size_t bytes;
    int kind;
    void *stream;
} rocp_copy_args;
typedef struct rocp_malloc_args {
    void **pointer;
    size_t bytes;
} rocp_malloc_args;
typedef struct rocp_free_args {
    void *pointer;
} rocp_free_args;
typedef struct rocp_graph_args { /* hipGraphLaunch */
    void *graph;
    void *stream;
} rocp_graph_args;
typedef struct rocp_marker_args { /* roctxMarkA, roctxRangePushA, roctxRangeStartA */
    const char *message;
} rocp_marker_args;
typedef struct rocp_range_args { /* roctxRangeStop */
    uint64_t range;
} rocp_range_args;

typedef struct rocp_hip_payload {
    uint64_t size;
    union {
        rocp_launch_args launch;
        rocp_cooperative_args cooperative;
        rocp_module_args module;
        rocp_ext_module_args ext_module;
        rocp_copy_args copy;
        rocp_malloc_args allocation;
        rocp_free_args release;
        rocp_graph_args graph;
    } args; /* the library's is longer: what is returned stands behind it, and is not read */
} rocp_hip_payload;
typedef struct rocp_marker_payload {
    uint64_t size;
    union {
        rocp_marker_args message;
        rocp_range_args range;
        uint64_t words[2];
    } args;
    uint64_t result; /* roctxRangeStartA: the range's number */
} rocp_marker_payload;
typedef struct rocp_kernel_symbol {
    uint64_t size;
    uint64_t kernel;
    uint64_t code_object;
    const char *name;
} rocp_kernel_symbol;
typedef struct rocp_host_symbol {
    uint64_t size;
    uint64_t host_function_id;
    uint64_t kernel;
    uint64_t code_object;
    const void *host_function;
    const void *modules;
    const char *name;
} rocp_host_symbol;

enum { ROCP_DISPATCH_ENQUEUE = 1 }; /* operation of KERNEL_DISPATCH: it is given to the device */
typedef struct rocp_enqueue {
    uint64_t size;
    uint64_t start, end;
    uint64_t info_size;
    rocp_id agent, queue;
    uint64_t kernel;
    uint64_t dispatch; /* counts up over the process */
} rocp_enqueue;

/* -- buffers */

typedef struct rocp_header {
    uint32_t category, kind;
    void *payload;
} rocp_header;
typedef void (*rocp_buffer_callback)(rocp_id context, rocp_id buffer, rocp_header **headers,
                                     size_t count, void *data, uint64_t dropped);

typedef struct rocp_dispatch {
    uint64_t size;
    uint32_t kind, operation;
    rocp_async_correlation correlation;
    uint64_t thread;
    uint64_t start, end;
    uint64_t info_size;
    rocp_id agent, queue;
    uint64_t kernel;
    uint64_t dispatch;
    uint32_t private_bytes, group_bytes;
    rocp_dim3 block;
    rocp_dim3 items; /* of the whole grid */
} rocp_dispatch;
typedef struct rocp_copy {
    uint64_t size;
    uint32_t kind, operation;
    rocp_async_correlation correlation;
    uint64_t thread;
    uint64_t start, end;
    rocp_id to, from; /* agents */
    uint64_t bytes;
} rocp_copy;
typedef struct rocp_allocation {
    uint64_t size;
    uint32_t kind, operation;
    rocp_correlation correlation;
    uint64_t thread;
    uint64_t start, end;
    rocp_id agent;
    uint64_t address;
    uint64_t bytes;
} rocp_allocation;
typedef struct rocp_scratch {
    uint64_t size;
    uint32_t kind, operation;
    rocp_correlation correlation;
    rocp_id agent, queue;
    uint64_t thread;
    uint64_t start, end;
} rocp_scratch;

/* -- agents */

typedef struct rocp_memory_bank {
    uint32_t heap, flags, width, clock;
    uint64_t bytes;
} rocp_memory_bank;
typedef struct rocp_agent {
    uint64_t size;
    rocp_id id;
    uint32_t type;
    uint32_t cpu_cores, simds, memory_banks, caches, links;
    uint32_t cpu_base, simd_base;
    uint32_t waves_per_simd, lds_kib, gds_kib, gws;
    uint32_t wave_size, xccs, compute_units, arrays, shader_banks;
    uint32_t arrays_per_engine, units_per_array, simds_per_unit, scratch_slots;
    uint32_t gfx_version; /* 90402: gfx942 */
    uint16_t vendor_id, device_id;
    uint32_t location, domain, render_minor;
    uint32_t sdma_engines, sdma_xgmi_engines, sdma_queues, compute_queues;
    uint32_t cpu_clock, gpu_clock;
    uint32_t sdma_firmware, firmware, capability;
    uint32_t units_per_engine, waves_per_unit, family;
    uint32_t block_max, grid_max;
    uint64_t local_bytes, hive, gpu;
    rocp_dim3 block_max_dim, grid_max_dim;
    const rocp_memory_bank *banks;
    const void *cache_list, *link_list;
    const char *name, *vendor, *product, *model;
    uint32_t node;
    int32_t logical_node, logical_node_of_type;
} rocp_agent;
typedef rocp_status (*rocp_agent_callback)(int version, const void **agents, size_t count,
                                           void *data);

/* -- registration */

typedef struct rocp_client {
    size_t size;
    const char *name;
    const uint32_t handle;
} rocp_client;
typedef void (*rocp_finish)(rocp_client client);
typedef struct rocp_tool {
    size_t size;
    int (*initialize)(rocp_finish finish, void *data);
    void (*finalize)(void *data);
    void *data;
} rocp_tool;
typedef rocp_tool *(*rocp_configure)(uint32_t version, const char *text, uint32_t priority,
                                     rocp_client *client);

/* The functions: FUNCTION(name without "rocprofiler_", arguments). All return a rocp_status. */
#define ROCP_FUNCTION_MAP(FUNCTION)                                                                \
    FUNCTION(get_version, (uint32_t * major, uint32_t * minor, uint32_t * patch))                  \
    FUNCTION(get_timestamp, (uint64_t * out))                                                      \
    FUNCTION(is_initialized, (int *out))                                                           \
    FUNCTION(force_configure, (rocp_configure configure))                                          \
    FUNCTION(query_available_agents,                                                               \
             (int version, rocp_agent_callback callback, size_t agent_size, void *data))           \
    FUNCTION(query_callback_tracing_kind_name,                                                     \
             (uint32_t kind, const char **name, uint64_t *name_size))                              \
    FUNCTION(query_buffer_tracing_kind_name,                                                       \
             (uint32_t kind, const char **name, uint64_t *name_size))                              \
    FUNCTION(query_callback_tracing_kind_operation_name,                                           \
             (uint32_t kind, int32_t operation, const char **name, uint64_t *name_size))           \
    FUNCTION(create_context, (rocp_id * out))                                                      \
    FUNCTION(start_context, (rocp_id context))                                                     \
    FUNCTION(stop_context, (rocp_id context))                                                      \
    FUNCTION(create_buffer, (rocp_id context, size_t size, size_t watermark, int policy,           \
                             rocp_buffer_callback callback, void *data, rocp_id *out))             \
    FUNCTION(flush_buffer, (rocp_id buffer))                                                       \
    FUNCTION(configure_callback_tracing_service,                                                   \
             (rocp_id context, uint32_t kind, const int32_t *operations, size_t count,             \
              rocp_callback callback, void *data))                                                 \
    FUNCTION(                                                                                      \
        configure_buffer_tracing_service,                                                          \
        (rocp_id context, uint32_t kind, const int32_t *operations, size_t count, rocp_id buffer))

typedef struct rocp_functions {
#define ROCP_FUNCTION_POINTER(name, arguments) rocp_status(*name) arguments;
    ROCP_FUNCTION_MAP(ROCP_FUNCTION_POINTER)
#undef ROCP_FUNCTION_POINTER
    const char *(*get_status_string)(rocp_status status);
} rocp_functions;

#endif
