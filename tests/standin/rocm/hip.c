/* hip.c - the other half of the stand-in: as much of the HIP runtime and ROCTX as the tests call,
 * with a device that needs 1000 ns for each block of a kernel and 1 ns for each byte of a copy. */
#define _GNU_SOURCE
#include "hip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vendor.h"

enum { BLOCK_NS = 1000, LATENCY_NS = 2000, STREAMS = 16 };

typedef struct timeline {
    const void *stream;
    uint64_t free_at;
} timeline;
static timeline timelines[STREAMS];

/* -- kernels: the address of the host function is all that identifies them */

void standin_vector_add(void)
{
}
void standin_scale(void)
{
}
static const struct {
    void (*host)(void);
    const char *symbol;
    uint64_t number;
} kernels[] = {
    {standin_vector_add, "_Z10vector_addPfS_S_i", 5},
    {standin_scale, "scale", 6},
};

static uint64_t kernel_of(const void *function)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const void *host;
        memcpy(&host, &kernels[i].host, sizeof host);
        if (host == function)
            return kernels[i].number;
    }
    return 77; /* code nobody was told of */
}

/* Loads the code: tools hear of the kernels. */
static void load(void)
{
    static int is_loaded;
    rocprofiler_user_data_t user = {0};
    standin_use();
    if (is_loaded++)
        return;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        char symbol[64];
        const void *host;
        memcpy(&host, &kernels[i].host, sizeof host);
        snprintf(symbol, sizeof symbol, "%s.kd", kernels[i].symbol);
        kernel_symbol_t device = {.size = sizeof device,
                                  .kernel_id = kernels[i].number,
                                  .code_object_id = 1,
                                  .kernel_name = symbol};
        host_symbol_t side = {.size = sizeof side,
                              .host_function_id = i,
                              .kernel_id = kernels[i].number,
                              .host_function = host,
                              .device_function = kernels[i].symbol};
        standin_callback(CODE_OBJECT, 2, ENTER, 0, &user, &device);
        standin_callback(CODE_OBJECT, 3, ENTER, 0, &user, &side);
    }
}

/* -- the device */

static uint64_t begin_on(const void *stream, uint64_t length)
{
    timeline *t = NULL;
    for (int i = 0; i < STREAMS && !t; i++)
        if (timelines[i].stream == stream || !timelines[i].free_at)
            t = &timelines[i];
    uint64_t start = standin_device_now() + LATENCY_NS;
    if (t->free_at > start)
        start = t->free_at;
    t->stream = stream;
    t->free_at = start + length;
    return start;
}

static uint64_t queue_of(const void *stream)
{
    return 100 + (uint64_t)(uintptr_t)stream % 7; /* streams share a few queues */
}

static int is_capturing;

void standin_capture(int is_on)
{
    is_capturing = is_on;
}

static void run_kernel(uint64_t kernel, dim3_t grid, dim3_t block, const void *stream,
                       uint64_t correlation)
{
    static uint64_t dispatches;
    rocprofiler_user_data_t user = {0};
    if (is_capturing)
        return;
    uint64_t length = (uint64_t)grid.x * grid.y * grid.z * BLOCK_NS;
    uint64_t start = begin_on(stream, length);
    dispatch_record_t r = {.size = sizeof r, .kind = KERNEL_DISPATCH, .operation = 2};
    r.correlation_id.internal = correlation;
    r.thread_id = (uint64_t)gettid();
    r.start_timestamp = start;
    r.end_timestamp = start + length;
    r.dispatch_info.size = sizeof r.dispatch_info - sizeof r.dispatch_info.reserved;
    r.dispatch_info.agent_id.handle = GPU_AGENT;
    r.dispatch_info.queue_id.handle = queue_of(stream);
    r.dispatch_info.kernel_id = kernel;
    r.dispatch_info.workgroup_size = block;
    r.dispatch_info.grid_size = (dim3_t){grid.x * block.x, grid.y * block.y, grid.z * block.z};
    r.pipe_id = -1;
    r.dispatch_info.dispatch_id = __atomic_add_fetch(&dispatches, 1, __ATOMIC_RELAXED);
    dispatch_data_t data = {sizeof data, 0, 0, r.dispatch_info, -1};
    standin_callback(DISPATCH_CALLBACK, 1, ENTER, correlation, &user, &data);
    standin_callback(DISPATCH_CALLBACK, 1, EXIT, correlation, &user, &data);
    standin_record(KERNEL_DISPATCH, &r, sizeof r, r.end_timestamp);
}

static void run_copy(int kind, size_t bytes, const void *stream, uint64_t correlation)
{
    uint64_t start = begin_on(stream, bytes);
    copy_record_t r = {.size = sizeof r, .kind = MEMORY_COPY};
    r.operation = kind + 1; /* HIP counts from host to host as 0 */
    r.correlation_id.internal = correlation;
    r.thread_id = (uint64_t)gettid();
    r.start_timestamp = start;
    r.end_timestamp = start + bytes;
    r.dst_agent_id.handle = kind == 2 || kind == 0 ? CPU_AGENT : GPU_AGENT;
    r.src_agent_id.handle = kind == 1 || kind == 0 ? CPU_AGENT : GPU_AGENT;
    r.bytes = bytes;
    standin_record(MEMORY_COPY, &r, sizeof r, r.end_timestamp);
}

static void note_memory(int operation, const void *pointer, size_t bytes, uint64_t correlation)
{
    allocation_record_t r = {.size = sizeof r, .kind = MEMORY_ALLOCATION, .operation = operation};
    r.correlation_id.internal = correlation;
    r.thread_id = (uint64_t)gettid();
    r.start_timestamp = standin_device_now();
    r.end_timestamp = r.start_timestamp + 100;
    r.agent_id.handle = operation == 1 ? GPU_AGENT : 0;
    r.address = (uint64_t)(uintptr_t)pointer;
    r.allocation_size = bytes;
    standin_record(MEMORY_ALLOCATION, &r, sizeof r, 0);
}

void standin_scratch(int operation, uint64_t length)
{
    scratch_record_t r = {.size = sizeof r, .kind = SCRATCH_MEMORY, .operation = operation};
    r.correlation_id.internal = standin_correlation();
    r.agent_id.handle = GPU_AGENT;
    r.queue_id.handle = 100;
    r.thread_id = (uint64_t)gettid();
    r.start_timestamp = standin_device_now();
    r.end_timestamp = r.start_timestamp + length;
    standin_record(SCRATCH_MEMORY, &r, sizeof r, 0);
}

/* -- functions: each between its two callbacks */

#define BEGIN(function)                                                                            \
    hip_data_t data = {.size = sizeof data};                                                       \
    rocprofiler_user_data_t user = {0};                                                            \
    const int operation = ID_##function;                                                           \
    load();                                                                                        \
    const uint64_t correlation = standin_correlation()
#define ENTER_CALL() standin_callback(HIP_RUNTIME_API, operation, ENTER, correlation, &user, &data)
#define LEAVE_CALL()                                                                               \
    standin_callback(HIP_RUNTIME_API, operation, EXIT, correlation, &user, &data);                 \
    return 0

static dim3_t dim(hip_dim3 d)
{
    return (dim3_t){d.x, d.y, d.z};
}

int hipLaunchKernel(const void *function, hip_dim3 grid, hip_dim3 block, void **args, size_t shared,
                    void *stream)
{
    BEGIN(hipLaunchKernel);
    data.args.hipExtLaunchKernel.function_address = function;
    data.args.hipExtLaunchKernel.numBlocks = dim(grid);
    data.args.hipExtLaunchKernel.dimBlocks = dim(block);
    data.args.hipExtLaunchKernel.args = args;
    data.args.hipExtLaunchKernel.sharedMemBytes = shared;
    data.args.hipExtLaunchKernel.stream = stream;
    ENTER_CALL();
    run_kernel(kernel_of(function), dim(grid), dim(block), stream, correlation);
    LEAVE_CALL();
}

int hipLaunchCooperativeKernel(const void *function, hip_dim3 grid, hip_dim3 block, void **args,
                               unsigned shared, void *stream)
{
    BEGIN(hipLaunchCooperativeKernel);
    data.args.hipLaunchCooperativeKernel.f = function;
    data.args.hipLaunchCooperativeKernel.gridDim = dim(grid);
    data.args.hipLaunchCooperativeKernel.blockDimX = dim(block);
    data.args.hipLaunchCooperativeKernel.kernelParams = args;
    data.args.hipLaunchCooperativeKernel.sharedMemBytes = shared;
    data.args.hipLaunchCooperativeKernel.stream = stream;
    ENTER_CALL();
    run_kernel(kernel_of(function), dim(grid), dim(block), stream, correlation);
    LEAVE_CALL();
}

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *stream, void **params,
                          void **extra)
{
    BEGIN(hipModuleLaunchKernel);
    data.args.hipModuleLaunchKernel.f = function;
    data.args.hipModuleLaunchKernel.gridDimX = gx;
    data.args.hipModuleLaunchKernel.gridDimY = gy;
    data.args.hipModuleLaunchKernel.gridDimZ = gz;
    data.args.hipModuleLaunchKernel.blockDimX = bx;
    data.args.hipModuleLaunchKernel.blockDimY = by;
    data.args.hipModuleLaunchKernel.blockDimZ = bz;
    data.args.hipModuleLaunchKernel.sharedMemBytes = shared;
    data.args.hipModuleLaunchKernel.stream = stream;
    data.args.hipModuleLaunchKernel.kernelParams = params;
    data.args.hipModuleLaunchKernel.extra = extra;
    ENTER_CALL();
    run_kernel(kernel_of(function), (dim3_t){gx, gy, gz}, (dim3_t){bx, by, bz}, stream,
               correlation);
    LEAVE_CALL();
}

int hipExtModuleLaunchKernel(void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                             uint32_t by, uint32_t bz, size_t shared, void *stream, void **params,
                             void **extra, void *start, void *stop, uint32_t flags)
{
    BEGIN(hipExtModuleLaunchKernel);
    data.args.hipExtModuleLaunchKernel.f = function;
    data.args.hipExtModuleLaunchKernel.globalWorkSizeX = gx;
    data.args.hipExtModuleLaunchKernel.globalWorkSizeY = gy;
    data.args.hipExtModuleLaunchKernel.globalWorkSizeZ = gz;
    data.args.hipExtModuleLaunchKernel.localWorkSizeX = bx;
    data.args.hipExtModuleLaunchKernel.localWorkSizeY = by;
    data.args.hipExtModuleLaunchKernel.localWorkSizeZ = bz;
    data.args.hipExtModuleLaunchKernel.sharedMemBytes = shared;
    data.args.hipExtModuleLaunchKernel.hStream = stream;
    data.args.hipExtModuleLaunchKernel.kernelParams = params;
    data.args.hipExtModuleLaunchKernel.extra = extra;
    data.args.hipExtModuleLaunchKernel.startEvent = start;
    data.args.hipExtModuleLaunchKernel.stopEvent = stop;
    data.args.hipExtModuleLaunchKernel.flags = flags;
    ENTER_CALL();
    run_kernel(kernel_of(function), (dim3_t){gx / bx, gy / by, gz / bz}, (dim3_t){bx, by, bz},
               stream, correlation);
    LEAVE_CALL();
}

/* A graph of three kernels and a copy, all with the correlation of the one call. */
int hipGraphLaunch(void *graph, void *stream)
{
    BEGIN(hipGraphLaunch);
    data.args.hipGraphLaunch.graphExec = graph;
    data.args.hipGraphLaunch.stream = stream;
    ENTER_CALL();
    for (uint32_t i = 1; i <= 3; i++)
        run_kernel(5, (dim3_t){i, 1, 1}, (dim3_t){32, 1, 1}, stream, correlation);
    run_copy(3, 4000, stream, correlation);
    LEAVE_CALL();
}

static void fill_copy(hip_data_t *data, void *to, const void *from, size_t bytes, int kind)
{
    data->args.hipMemcpyAsync.dst = to;
    data->args.hipMemcpyAsync.src = from;
    data->args.hipMemcpyAsync.sizeBytes = bytes;
    data->args.hipMemcpyAsync.kind = kind;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    BEGIN(hipMemcpy);
    fill_copy(&data, to, from, bytes, kind);
    data.args.hipMemcpyAsync.stream = (void *)0x5a5a; /* not an argument of this function */
    ENTER_CALL();
    run_copy(kind, bytes, NULL, correlation);
    LEAVE_CALL();
}

int hipMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    BEGIN(hipMemcpyAsync);
    fill_copy(&data, to, from, bytes, kind);
    data.args.hipMemcpyAsync.stream = stream;
    ENTER_CALL();
    run_copy(kind, bytes, stream, correlation);
    LEAVE_CALL();
}

int hipMalloc(void **pointer, size_t bytes)
{
    static uint64_t next = 0x7f0000000000;
    BEGIN(hipMalloc);
    data.args.hipMalloc.ptr = pointer;
    data.args.hipMalloc.size = bytes;
    ENTER_CALL();
    *pointer = (void *)(uintptr_t)next;
    next += 0x1000000;
    note_memory(1, *pointer, bytes, correlation);
    LEAVE_CALL();
}

int hipFree(void *pointer)
{
    BEGIN(hipFree);
    data.args.hipFree.ptr = pointer;
    ENTER_CALL();
    note_memory(3, pointer, 0, correlation);
    LEAVE_CALL();
}

int hipDeviceSynchronize(void)
{
    BEGIN(hipDeviceSynchronize);
    ENTER_CALL();
    for (int i = 0; i < STREAMS; i++)
        while (timelines[i].free_at > standin_device_now())
            nanosleep(&(struct timespec){0, 20000}, NULL);
    LEAVE_CALL();
}

int hipGetDevice(int *out)
{
    BEGIN(hipGetDevice);
    ENTER_CALL();
    *out = 0;
    LEAVE_CALL();
}

int hipRuntimeGetVersion(int *out)
{
    *out = 70012345;
    return 0;
}

int hipDriverGetVersion(int *out)
{
    *out = 70012346;
    return 0;
}

/* -- ROCTX */

static uint64_t marker(int operation, const char *message, uint64_t range, uint64_t result)
{
    marker_data_t data = {.size = sizeof data};
    rocprofiler_user_data_t user = {.value = 1};
    uint64_t correlation = standin_correlation();
    load();
    if (message)
        data.args.roctxMarkA.message = message;
    else
        data.args.roctxRangeStop.id = range;
    standin_callback(MARKER_CORE_API, operation, ENTER, correlation, &user, &data);
    data.retval.range = result;
    standin_callback(MARKER_CORE_API, operation, EXIT, correlation, &user, &data);
    return result;
}

void roctxMarkA(const char *message)
{
    marker(0, message, 0, 0);
}

int roctxRangePushA(const char *message)
{
    return (int)marker(1, message, 0, 0);
}

int roctxRangePop(void)
{
    return (int)marker(2, NULL, 0, 0);
}

uint64_t roctxRangeStartA(const char *message)
{
    static uint64_t last;
    return marker(3, message, 0, ++last);
}

void roctxRangeStop(uint64_t range)
{
    marker(4, NULL, range, 0);
}
