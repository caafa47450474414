/* empty_layer.c - what an OpenCL layer costs that only looks: the yardstick for libkino_inject.
 *
 * It does the same to the program's commands (profiling on, an event for each, a list, a thread
 * that looks every 10 ms which are done, reads their four times and lets them go) and writes
 * nothing down. bench_opencl loads it through OPENCL_LAYERS. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 1 << 16, ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *) };

static cl_icd_dispatch target, table;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cl_event incoming[ROOM], waiting[ROOM];
static size_t incoming_count, waiting_count;
static cl_ulong sum; /* so that the times are really read */

static cl_int CL_API_CALL on_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                    const size_t *offset, const size_t *global, const size_t *local,
                                    cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    cl_event own, *out = event ? event : &own;
    cl_int status = target.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local,
                                                  wait_count, waits, out);
    if (status != CL_SUCCESS)
        return status;
    if (event)
        (void)target.clRetainEvent(*event);
    pthread_mutex_lock(&lock);
    if (incoming_count < ROOM)
        incoming[incoming_count++] = *out;
    pthread_mutex_unlock(&lock);
    return status;
}

static cl_command_queue CL_API_CALL on_queue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties properties, cl_int *status)
{
    return target.clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE,
                                       status);
}

static int settle(cl_event event)
{
    cl_int status = CL_COMPLETE;
    (void)target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                NULL);
    if (status > CL_COMPLETE)
        return 0;
    for (cl_uint i = 0; i < 4; i++) {
        cl_ulong time = 0;
        (void)target.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED + i, sizeof time,
                                             &time, NULL);
        sum += time;
    }
    (void)target.clReleaseEvent(event);
    return 1;
}

static void *run(void *unused)
{
    const struct timespec pause = {0, 10000000};
    for (;;) {
        (void)nanosleep(&pause, NULL);
        pthread_mutex_lock(&lock);
        size_t taken = incoming_count;
        if (taken > ROOM - waiting_count)
            taken = ROOM - waiting_count;
        memcpy(waiting + waiting_count, incoming, taken * sizeof *incoming);
        memmove(incoming, incoming + taken, (incoming_count - taken) * sizeof *incoming);
        incoming_count -= taken;
        waiting_count += taken;
        pthread_mutex_unlock(&lock);
        size_t done = 0; /* one queue, in order */
        while (done < waiting_count && settle(waiting[done]))
            done++;
        memmove(waiting, waiting + done, (waiting_count - done) * sizeof *waiting);
        waiting_count -= done;
    }
    return unused;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out,
                                               size_t *size_out)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    if (what != CL_LAYER_API_VERSION || (out && room < sizeof version))
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, &version, sizeof version);
    if (size_out)
        *size_out = sizeof version;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint count, const cl_icd_dispatch *next,
                                            cl_uint *count_out, const cl_icd_dispatch **out)
{
    pthread_t thread;
    cl_uint known = count < ENTRIES ? count : ENTRIES;
    memcpy(&target, next, known * sizeof(void *));
    table = target;
    table.clEnqueueNDRangeKernel = on_kernel;
    table.clCreateCommandQueue = on_queue;
    *count_out = known;
    *out = &table;
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        return CL_OUT_OF_HOST_MEMORY;
    (void)pthread_setname_np(thread, "empty-layer");
    return CL_SUCCESS;
}
