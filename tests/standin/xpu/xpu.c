/* xpu.c - the other half of the stand-in: a runtime, a device and Level Zero's list of devices. The
 * device begins 2000 ns after it is told and works as long as it is told. */
#define _GNU_SOURCE
#include "xpu.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/library.h"
#include "vendor.h"

enum { QUEUES = 16, LATENCY_NS = 2000 };
static uint64_t free_at[QUEUES];
static void *const CONTEXT = (void *)0xc0;

static void *queue_handle(uint64_t queue)
{
    return (void *)(uintptr_t)(0xf000 + queue);
}

static uint64_t begin_on(uint64_t queue, uint64_t length)
{
    uint64_t start = standin_now() + LATENCY_NS, *free = &free_at[queue % QUEUES];
    if (*free > start)
        start = *free;
    *free = start + length;
    return start;
}

void standin_uuid(int device, uint8_t out[16])
{
    for (int i = 0; i < 16; i++)
        out[i] = (uint8_t)(16 * device + i);
}

/* -- calls */

static pti_view_record_api begin_call(int view, int group, uint32_t api, uint32_t correlation)
{
    pti_view_record_api r = {{view}, standin_now(), 0, group, api, 0, 0, correlation, 0};
    r._process_id = (uint32_t)getpid();
    r._thread_id = (uint32_t)gettid();
    return r;
}

static void end_call(pti_view_record_api *r)
{
    r->_end_timestamp = standin_now();
    standin_add(r, sizeof *r, 0, 0);
}

static pti_view_record_api begin_runtime_call(uint32_t api)
{
    return begin_call(VIEW_RUNTIME_API, GROUP_SYCL, api, standin_correlation());
}

static void call_driver(uint32_t correlation)
{
    pti_view_record_api r = begin_call(VIEW_DRIVER_API, GROUP_LEVEL_ZERO, 0, correlation);
    end_call(&r);
}

/* -- work */

static void run_kernel(uint64_t queue, const char *name, const char *file, uint64_t length,
                       uint32_t correlation)
{
    static uint64_t kernel;
    pti_view_record_kernel k;
    memset(&k, 0, sizeof k);
    k._view_kind._view_kind = VIEW_KERNEL;
    k._queue_handle = queue_handle(queue);
    k._context_handle = CONTEXT;
    k._name = name;
    k._source_file_name = file;
    k._source_line_number = file ? 42 : 0;
    k._kernel_id = ++kernel;
    k._correlation_id = correlation;
    k._thread_id = (uint32_t)gettid();
    standin_uuid(0, k._device_uuid);
    k._start_timestamp = begin_on(queue, length);
    k._end_timestamp = k._start_timestamp + length;
    k._append_timestamp = k._start_timestamp - 1500;
    k._submit_timestamp = k._start_timestamp - 500;
    k._sycl_task_begin_timestamp = k._start_timestamp - 1800;
    k._sycl_node_id = 9;
    k._sycl_queue_id = queue;
    k._sycl_invocation_id = 3;
    standin_add(&k, sizeof k, k._end_timestamp, 1);
}

void xpu_kernel(uint64_t queue, const char *name, const char *file, uint64_t length)
{
    pti_view_record_api call = begin_runtime_call(0);
    call_driver(call._correlation_id);
    run_kernel(queue, name, file, length, call._correlation_id);
    end_call(&call);
}

void xpu_graph(uint64_t queue)
{
    pti_view_record_api call = begin_runtime_call(3);
    for (uint64_t i = 1; i <= 3; i++)
        run_kernel(queue, "node", NULL, i * 1000, call._correlation_id);
    end_call(&call);
}

void xpu_copy(uint64_t queue, int type, uint64_t bytes)
{
    pti_view_record_api call = begin_runtime_call(1);
    pti_view_record_memory_copy r;
    memset(&r, 0, sizeof r);
    r._view_kind._view_kind = VIEW_COPY;
    r._memcpy_type = type;
    r._mem_src = type == 6 ? 1 : 2;
    r._mem_dst = type == 9 ? 1 : 2;
    r._queue_handle = queue_handle(queue);
    r._context_handle = CONTEXT;
    r._name = "zeCommandListAppendMemoryCopy";
    standin_uuid(1, r._device_uuid);
    r._mem_op_id = 5;
    r._correlation_id = call._correlation_id;
    r._thread_id = (uint32_t)gettid();
    r._start_timestamp = begin_on(queue, bytes);
    r._end_timestamp = r._start_timestamp + bytes; /* 1 GB/s */
    r._append_timestamp = r._start_timestamp - 700;
    r._submit_timestamp = r._start_timestamp + 250; /* clocks of host and device differ */
    r._bytes = bytes;
    r._sycl_queue_id = queue;
    standin_add(&r, sizeof r, r._end_timestamp, 1);
    end_call(&call);
}

void xpu_copy_p2p(uint64_t queue, uint64_t bytes)
{
    pti_view_record_api call = begin_runtime_call(1);
    pti_view_record_memory_copy_p2p r;
    memset(&r, 0, sizeof r);
    r._view_kind._view_kind = VIEW_COPY_P2P;
    r._memcpy_type = 10;
    r._mem_src = r._mem_dst = 2;
    r._queue_handle = queue_handle(queue);
    r._context_handle = CONTEXT;
    r._name = "zeCommandListAppendMemoryCopy";
    standin_uuid(1, r._src_uuid);
    standin_uuid(0, r._dst_uuid);
    r._mem_op_id = 6;
    r._correlation_id = call._correlation_id;
    r._start_timestamp = begin_on(queue, bytes);
    r._end_timestamp = r._start_timestamp + bytes;
    r._bytes = bytes;
    r._sycl_queue_id = queue;
    standin_add(&r, sizeof r, r._end_timestamp, 1);
    end_call(&call);
}

void xpu_fill(uint64_t queue, uint64_t value, uint64_t bytes)
{
    pti_view_record_api call = begin_runtime_call(2);
    pti_view_record_memory_fill r;
    memset(&r, 0, sizeof r);
    r._view_kind._view_kind = VIEW_FILL;
    r._mem_type = 2;
    r._queue_handle = queue_handle(queue);
    r._context_handle = CONTEXT;
    r._name = "zeCommandListAppendMemoryFill";
    standin_uuid(0, r._device_uuid);
    r._mem_op_id = 7;
    r._correlation_id = call._correlation_id;
    r._thread_id = (uint32_t)gettid();
    r._start_timestamp = begin_on(queue, 2 * bytes);
    r._end_timestamp = r._start_timestamp + 2 * bytes; /* 0.5 GB/s */
    r._bytes = bytes;
    r._value_for_set = value;
    r._sycl_queue_id = queue;
    standin_add(&r, sizeof r, r._end_timestamp, 1);
    end_call(&call);
}

void xpu_wait(void)
{
    pti_view_record_synchronization r;
    memset(&r, 0, sizeof r);
    r._view_kind._view_kind = VIEW_SYNCHRONIZATION;
    r._synch_type = 4;
    r._context_handle = CONTEXT;
    r._queue_handle = NULL;
    r._event_handle = (void *)0xe1;
    r._start_timestamp = standin_now();
    r._thread_id = (uint32_t)gettid();
    r._correlation_id = standin_correlation();
    r._number_wait_events = 2;
    r._api_id = 1;
    r._api_group = GROUP_LEVEL_ZERO;
    for (int i = 0; i < QUEUES; i++)
        while (free_at[i] > standin_now())
            nanosleep(&(struct timespec){0, 20000}, NULL);
    r._end_timestamp = standin_now();
    standin_add(&r, sizeof r, 0, 0);
}

void xpu_overhead(uint64_t length, uint64_t cost)
{
    pti_view_record_overhead r;
    memset(&r, 0, sizeof r);
    r._view_kind._view_kind = VIEW_OVERHEAD;
    r._overhead_start_timestamp_ns = standin_now();
    r._overhead_end_timestamp_ns = r._overhead_start_timestamp_ns + length;
    r._overhead_thread_id = (uint32_t)gettid();
    r._overhead_count = 12;
    r._overhead_duration_ns = cost;
    r._overhead_kind = 3;
    standin_add(&r, sizeof r, 0, 0);
}

void xpu_collective(const char *name, uint64_t length)
{
    pti_view_record_comms r;
    memset(&r, 0, sizeof r);
    r._view_kind._view_kind = VIEW_COMMUNICATION;
    r._name = name;
    r._start_timestamp = standin_now();
    r._end_timestamp = r._start_timestamp + length;
    r._process_id = (uint32_t)getpid();
    r._thread_id = (uint32_t)gettid();
    r._communicator_id = 77;
    standin_add(&r, sizeof r, 0, 0);
}

/* -- Level Zero */

int zeInit(uint32_t flags)
{
    FAIL_IF_WANTED();
    return flags == 1 ? 0 : 0x78000004;
}

int zeDriverGet(uint32_t *count, void **drivers)
{
    FAIL_IF_WANTED();
    *count = 1;
    drivers[0] = (void *)0xd1;
    return 0;
}

int zeDriverGetProperties(void *driver, void *out)
{
    struct {
        uint32_t stype;
        void *next;
        uint8_t uuid[16];
        uint32_t driverVersion;
    } *properties = out;
    FAIL_IF_WANTED();
    if (driver != (void *)0xd1 || properties->stype != 1)
        return 0x78000004;
    properties->driverVersion = 1u << 24 | 3u << 16 | 27642u;
    return 0;
}

/* A CPU and two GPUs. */
int zeDeviceGet(void *driver, uint32_t *count, void **devices)
{
    (void)driver;
    FAIL_IF_WANTED();
    *count = 1 + (uint32_t)setting("STANDIN_GPUS", 2);
    for (uint32_t i = 0; i < *count; i++)
        devices[i] = (void *)(uintptr_t)(1 + i);
    return 0;
}

/* The first GPU has a tile when it is the only one: then it is what the second would be. */
int zeDeviceGetSubDevices(void *device, uint32_t *count, void **devices)
{
    FAIL_IF_WANTED();
    *count = device == (void *)2 && setting("STANDIN_GPUS", 2) == 1;
    if (*count)
        devices[0] = (void *)3;
    return 0;
}

int zeDeviceGetProperties(void *device, void *out)
{
    struct {
        uint32_t stype;
        void *next;
        uint32_t type, vendorId, deviceId, flags, subdeviceId, coreClockRate;
        uint64_t maxMemAllocSize;
        uint32_t maxHardwareContexts, maxCommandQueuePriority, numThreadsPerEU;
        uint32_t physicalEUSimdWidth, numEUsPerSubslice, numSubslicesPerSlice, numSlices;
        uint64_t timerResolution;
        uint32_t timestampValidBits, kernelTimestampValidBits;
        uint8_t uuid[16];
        char name[256];
    } *p = out;
    int number = (int)(uintptr_t)device;
    FAIL_IF_WANTED();
    if (p->stype != 3)
        return 0x78000004;
    p->type = number == 1 ? 2 : 1;
    p->vendorId = 0x8086;
    p->coreClockRate = 1600;
    p->maxMemAllocSize = 48ull << 30;
    p->numEUsPerSubslice = 8;
    p->numSubslicesPerSlice = 16;
    p->numSlices = 4;
    standin_uuid(number - 2, p->uuid);
    snprintf(p->name, sizeof p->name, "Stand-in Data Center GPU");
    return 0;
}

int zeDeviceGetComputeProperties(void *device, void *out)
{
    struct {
        uint32_t stype;
        void *next;
        uint32_t maxTotalGroupSize, maxGroupSize[3], maxGroupCount[3], maxSharedLocalMemory;
    } *p = out;
    (void)device;
    FAIL_IF_WANTED();
    if (p->stype != 4)
        return 0x78000004;
    p->maxTotalGroupSize = 1024;
    p->maxSharedLocalMemory = 131072;
    return 0;
}

int zeDeviceGetMemoryProperties(void *device, uint32_t *count, void *out)
{
    struct {
        uint32_t stype;
        void *next;
        uint32_t flags, maxClockRate, maxBusWidth;
        uint64_t totalSize;
        char name[256];
    } *p = out;
    (void)device;
    FAIL_IF_WANTED();
    if (p->stype != 7)
        return 0x78000004;
    *count = 2; /* tiles */
    p[0].totalSize = p[1].totalSize = 32ull << 30;
    return 0;
}
