/* vendor.h - rocprofiler-sdk 1.x as its public headers have it: what the stand-in plays back. Kept
 * apart from src/tracer/backend/rocm/rocm_abi.h on purpose, with whole structs where that one has
 * beginnings: a wrong offset there shows here. */
#ifndef STANDIN_ROCM_VENDOR_H
#define STANDIN_ROCM_VENDOR_H

#include <stddef.h>
#include <stdint.h>

typedef int rocprofiler_status_t;
typedef union {
    uint64_t value;
    void *ptr;
} rocprofiler_user_data_t;
typedef struct {
    uint64_t handle;
} handle_t;
typedef struct {
    uint32_t x, y, z;
} dim3_t;
typedef struct {
    uint64_t internal;
    rocprofiler_user_data_t external;
    uint64_t ancestor;
} correlation_t;
typedef struct {
    uint64_t internal;
    rocprofiler_user_data_t external;
} async_correlation_t;

typedef struct {
    handle_t context_id;
    uint64_t thread_id;
    correlation_t correlation_id;
    int kind;
    int32_t operation;
    int phase;
    void *payload;
} callback_record_t;
typedef void (*callback_t)(callback_record_t record, rocprofiler_user_data_t *user, void *data);

typedef struct {
    union {
        struct {
            uint32_t category;
            uint32_t kind;
        };
        uint64_t hash;
    };
    void *payload;
} record_header_t;
typedef void (*buffer_callback_t)(handle_t context, handle_t buffer, record_header_t **headers,
                                  size_t count, void *data, uint64_t drop_count);

/* Arguments of HIP's functions; the union is as long as the longest of all of HIP. */
typedef struct {
    uint64_t size;
    union {
        struct {
            const void *function_address;
            dim3_t numBlocks;
            dim3_t dimBlocks;
            void **args;
            size_t sharedMemBytes;
            void *stream;
            void *startEvent;
            void *stopEvent;
            int flags;
        } hipExtLaunchKernel;
        struct {
            const void *f;
            dim3_t gridDim;
            dim3_t blockDimX;
            void **kernelParams;
            unsigned int sharedMemBytes;
            void *stream;
        } hipLaunchCooperativeKernel;
        struct {
            void *f;
            unsigned int gridDimX, gridDimY, gridDimZ;
            unsigned int blockDimX, blockDimY, blockDimZ;
            unsigned int sharedMemBytes;
            void *stream;
            void **kernelParams;
            void **extra;
        } hipModuleLaunchKernel;
        struct {
            void *f;
            uint32_t globalWorkSizeX, globalWorkSizeY, globalWorkSizeZ;
            uint32_t localWorkSizeX, localWorkSizeY, localWorkSizeZ;
            size_t sharedMemBytes;
            void *hStream;
            void **kernelParams;
            void **extra;
            void *startEvent;
            void *stopEvent;
            uint32_t flags;
        } hipExtModuleLaunchKernel;
        struct {
            void *dst;
            const void *src;
            size_t sizeBytes;
            int kind;
            void *stream;
        } hipMemcpyAsync;
        struct {
            void **ptr;
            size_t size;
        } hipMalloc;
        struct {
            void *ptr;
        } hipFree;
        struct {
            void *graphExec;
            void *stream;
        } hipGraphLaunch;
        char longest[160];
    } args;
    union {
        int hipError;
        void *pointer;
        char longest[24];
    } retval;
} hip_data_t;
typedef struct {
    uint64_t size;
    union {
        struct {
            const char *message;
        } roctxMarkA;
        struct {
            uint64_t id;
        } roctxRangeStop;
        struct {
            const char *name;
            const void *stream;
        } roctxNameHipStream;
    } args;
    union {
        int32_t int32;
        int64_t int64;
        uint64_t range;
    } retval;
} marker_data_t;

typedef struct {
    uint64_t size, kernel_id, code_object_id;
    const char *kernel_name;
    uint64_t kernel_object;
    uint32_t kernarg_segment_size, kernarg_segment_alignment;
    uint32_t group_segment_size, private_segment_size;
    uint32_t sgpr_count, arch_vgpr_count, accum_vgpr_count;
    int64_t kernel_code_entry_byte_offset;
    uint64_t kernel_address;
} kernel_symbol_t;
typedef struct {
    uint64_t size, host_function_id, kernel_id, code_object_id;
    const void *host_function, *modules;
    const char *device_function;
    uint32_t thread_limit;
    dim3_t thread_ids, block_ids, block_dims, grid_dims;
    uint64_t workgroup_size;
} host_symbol_t;

typedef struct {
    uint64_t size;
    handle_t agent_id, queue_id;
    uint64_t kernel_id, dispatch_id;
    uint32_t private_segment_size, group_segment_size;
    dim3_t workgroup_size, grid_size;
    uint8_t reserved[56];
} dispatch_info_t;
typedef struct {
    uint64_t size;
    int kind, operation;
    async_correlation_t correlation_id;
    uint64_t thread_id, start_timestamp, end_timestamp;
    dispatch_info_t dispatch_info;
    int32_t pipe_id;
} dispatch_record_t;
typedef struct {
    uint64_t size, start_timestamp, end_timestamp;
    dispatch_info_t dispatch_info;
    int32_t pipe_id;
} dispatch_data_t;
typedef struct {
    uint64_t size;
    int kind, operation;
    async_correlation_t correlation_id;
    uint64_t thread_id, start_timestamp, end_timestamp;
    handle_t dst_agent_id, src_agent_id;
    uint64_t bytes;
    uint64_t dst_address, src_address;
} copy_record_t;
typedef struct {
    uint64_t size;
    int kind, operation;
    correlation_t correlation_id;
    uint64_t thread_id, start_timestamp, end_timestamp;
    handle_t agent_id;
    uint64_t address, allocation_size;
} allocation_record_t;
typedef struct {
    uint64_t size;
    int kind, operation;
    correlation_t correlation_id;
    handle_t agent_id, queue_id;
    uint64_t thread_id, start_timestamp, end_timestamp;
    int flags;
} scratch_record_t;

typedef struct {
    uint32_t heap_type, flags, width, mem_clk_max;
    uint64_t size_in_bytes;
} mem_bank_t;
typedef struct {
    uint64_t size;
    handle_t id;
    int type;
    uint32_t cpu_cores_count, simd_count, mem_banks_count, caches_count, io_links_count;
    uint32_t cpu_core_id_base, simd_id_base, max_waves_per_simd, lds_size_in_kb, gds_size_in_kb;
    uint32_t num_gws, wave_front_size, num_xcc, cu_count, array_count, num_shader_banks;
    uint32_t simd_arrays_per_engine, cu_per_simd_array, simd_per_cu, max_slots_scratch_cu;
    uint32_t gfx_target_version;
    uint16_t vendor_id, device_id;
    uint32_t location_id, domain, drm_render_minor, num_sdma_engines, num_sdma_xgmi_engines;
    uint32_t num_sdma_queues_per_engine, num_cp_queues;
    uint32_t max_engine_clk_ccompute, max_engine_clk_fcompute;
    uint32_t sdma_fw_version, fw_version, capability;
    uint32_t cu_per_engine, max_waves_per_cu, family_id, workgroup_max_size, grid_max_size;
    uint64_t local_mem_size, hive_id, gpu_id;
    dim3_t workgroup_max_dim, grid_max_dim;
    const mem_bank_t *mem_banks;
    const void *caches, *io_links;
    const char *name, *vendor_name, *product_name, *model_name;
    uint32_t node_id;
    int32_t logical_node_id, logical_node_type_id;
    uint32_t runtime_visibility;
    uint8_t uuid[16];
} agent_t;
typedef rocprofiler_status_t (*agents_callback_t)(int version, const void **agents, size_t count,
                                                  void *data);

typedef struct {
    size_t size;
    const char *name;
    const uint32_t handle;
} client_id_t;
typedef struct {
    size_t size;
    int (*initialize)(void (*finish)(client_id_t), void *data);
    void (*finalize)(void *data);
    void *tool_data;
} tool_t;
typedef tool_t *(*configure_t)(uint32_t version, const char *text, uint32_t priority,
                               client_id_t *client);

/* -- between the two halves of the stand-in: profiler.c is rocprofiler, hip.c the runtime */

enum { HIP_RUNTIME_API = 5, MARKER_CORE_API = 7, CODE_OBJECT = 10, DISPATCH_CALLBACK = 12 };
enum { MEMORY_COPY = 10, KERNEL_DISPATCH = 11, SCRATCH_MEMORY = 12, MEMORY_ALLOCATION = 16 };
enum { ENTER = 1, EXIT = 2 };
enum { CPU_AGENT = 11, GPU_AGENT = 22, SECOND_GPU_AGENT = 33 }; /* handles */

/* The functions of HIP, numbered in this order; names are what rocprofiler calls them. */
#define HIP_FUNCTION_MAP(X)                                                                        \
    X(hipApiName)                                                                                  \
    X(hipLaunchKernel)                                                                             \
    X(hipExtLaunchKernel)                                                                          \
    X(hipLaunchCooperativeKernel)                                                                  \
    X(hipModuleLaunchKernel)                                                                       \
    X(hipExtModuleLaunchKernel)                                                                    \
    X(hipMemcpy)                                                                                   \
    X(hipMemcpyAsync)                                                                              \
    X(hipMalloc)                                                                                   \
    X(hipFree)                                                                                     \
    X(hipGraphLaunch)                                                                              \
    X(hipDeviceSynchronize)                                                                        \
    X(hipGetDevice)
enum {
#define FUNCTION_ID(name) ID_##name,
    HIP_FUNCTION_MAP(FUNCTION_ID)
#undef FUNCTION_ID
};

/* The runtime tells rocprofiler that it is used: tools are looked for. */
void standin_use(void);
uint64_t standin_device_now(void);
uint64_t standin_correlation(void); /* the next */
/* Calls the tool's callback, if it is wanted and its context is on. */
void standin_callback(int kind, int operation, int phase, uint64_t correlation,
                      rocprofiler_user_data_t *user, void *payload);
uint64_t standin_callbacks(void);
/* Work is launched. If a context is on that wants such records, this one is handed over at the
 * first flush behind the device time `ready`. */
void standin_record(int kind, const void *record, size_t size, uint64_t ready);

#endif
