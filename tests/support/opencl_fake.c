/* opencl_fake.c - the OpenCL layer on a made-up runtime, for what a real one does not do on demand:
 * commands that never end or fail, a clock of its own, queues that refuse profiling, short tables.
 * Needs no OpenCL but its headers. Prints what is wrong; the trace it saves is for the caller.
 *
 *   opencl_fake LAYER TRACE */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <kino/device.h>
#include <kino/kino.h>

enum { EVENTS = 64, AHEAD_S = 1000 };

/* Handles are addresses of these. */
static struct fake_event {
    cl_uint count;
    cl_int status;
    cl_ulong times[4];
} events[EVENTS];
static int event_count;
static cl_int next_status;
static int queue, kernel, device, refuses_profiling, asked_for_profiling, wrong;

static void check(int held, const char *what)
{
    if (!held)
        printf("wrong: %s\n", what);
    wrong += !held;
}

static cl_ulong device_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (cl_ulong)(now.tv_sec + AHEAD_S) * 1000000000u + (cl_ulong)now.tv_nsec;
}

static cl_int CL_API_CALL enqueue(cl_command_queue q, cl_kernel k, cl_uint dims,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint count, const cl_event *waits, cl_event *event)
{
    (void)q, (void)k, (void)offset, (void)global, (void)local, (void)count, (void)waits;
    if (dims == 9)
        return CL_INVALID_WORK_DIMENSION;
    check(event != NULL, "every command has an event while recording");
    struct fake_event *e = &events[event_count++];
    *e = (struct fake_event){1, next_status, {device_ns(), 0, 0, 0}};
    for (int i = 1; i < 4; i++)
        e->times[i] = e->times[0] + (cl_ulong)i * 1000;
    if (event)
        *event = (cl_event)(void *)e;
    return CL_SUCCESS;
}

static struct fake_event *of(cl_event event)
{
    return (struct fake_event *)(void *)event;
}

static cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t room, void *out,
                                     size_t *size)
{
    const void *queue_handle = &queue;
    const void *value = what == CL_EVENT_REFERENCE_COUNT ? (const void *)&of(event)->count
                        : what == CL_EVENT_COMMAND_EXECUTION_STATUS
                            ? (const void *)&of(event)->status
                            : (const void *)&queue_handle;
    size_t bytes = what == CL_EVENT_COMMAND_QUEUE ? sizeof queue_handle : 4;
    if (out && room >= bytes)
        memcpy(out, value, bytes);
    if (size)
        *size = bytes;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL profile(cl_event event, cl_profiling_info what, size_t room, void *out,
                                  size_t *size)
{
    (void)room, (void)size;
    memcpy(out, &of(event)->times[what - CL_PROFILING_COMMAND_QUEUED], sizeof(cl_ulong));
    return CL_SUCCESS;
}

static cl_int CL_API_CALL retain(cl_event event)
{
    __atomic_fetch_add(&of(event)->count, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL release(cl_event event)
{
    __atomic_fetch_sub(&of(event)->count, 1, __ATOMIC_SEQ_CST);
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL make_queue(cl_context context, cl_device_id d,
                                               cl_command_queue_properties flags, cl_int *status)
{
    (void)context, (void)d;
    asked_for_profiling += (flags & CL_QUEUE_PROFILING_ENABLE) != 0;
    int refused = refuses_profiling && flags & CL_QUEUE_PROFILING_ENABLE;
    *status = refused ? CL_INVALID_QUEUE_PROPERTIES : CL_SUCCESS;
    return refused ? NULL : (cl_command_queue)(void *)&queue;
}

static cl_int CL_API_CALL device_info(cl_device_id d, cl_device_info what, size_t room, void *out,
                                      size_t *size)
{
    (void)d, (void)what;
    memset(out, 0, room);
    if (size)
        *size = 8;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL kernel_info(cl_kernel k, cl_kernel_info what, size_t room, void *out,
                                      size_t *size)
{
    (void)k, (void)what, (void)size;
    (void)snprintf(out, room, "fake \"kernel\"");
    return CL_SUCCESS;
}

static kino_device_state state_now(void)
{
    kino_device_state state = {.size = sizeof state};
    (void)kino_device_get(0, &state);
    return state;
}

static void check_info(pfn_clGetLayerInfo info)
{
    cl_layer_api_version version = 0;
    char name[64] = "";
    size_t size = 0;
    check(info(CL_LAYER_API_VERSION, sizeof version, &version, &size) == CL_SUCCESS &&
              version == CL_LAYER_API_VERSION_100 && size == sizeof version,
          "the version of the layer");
    check(info(CL_LAYER_NAME, sizeof name, name, NULL) == CL_SUCCESS && !strncmp(name, "kino ", 5),
          "the name of the layer");
    check(info(CL_LAYER_NAME, 2, name, NULL) == CL_INVALID_VALUE, "a name that does not fit");
    check(info(1, sizeof name, name, NULL) == CL_INVALID_VALUE, "an unknown question");
}

static cl_uint asked_count(const cl_icd_dispatch *layer, cl_event event)
{
    cl_uint count = 99;
    check(layer->clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL) ==
              CL_SUCCESS,
          "asking for references");
    return count;
}

/* A kernel that is never done, one that fails, one without an event of the program's, a call that
 * fails. */
static void run(const cl_icd_dispatch *layer)
{
    cl_command_queue q = (cl_command_queue)(void *)&queue;
    cl_kernel k = (cl_kernel)(void *)&kernel;
    const size_t size = 8;
    cl_event endless = NULL, failing = NULL, none = NULL;
    next_status = CL_RUNNING;
    check(layer->clEnqueueNDRangeKernel(q, k, 1, NULL, &size, &size, 0, NULL, &endless) == 0,
          "an endless kernel");
    check(of(endless)->count == 2, "the layer keeps an event");
    check(asked_count(layer, endless) == 1, "the program does not see that");
    const struct timespec pause = {0, 30000000};
    (void)nanosleep(&pause, NULL);
    check(of(endless)->count == 2 && asked_count(layer, endless) == 1,
          "nor later, while it is not done");
    cl_ulong time = 0;
    check(layer->clGetEventProfilingInfo(endless, CL_PROFILING_COMMAND_START, sizeof time, &time,
                                         NULL) == CL_PROFILING_INFO_NOT_AVAILABLE,
          "times the program did not ask for");
    check(layer->clEnqueueNDRangeKernel(q, k, 9, NULL, &size, &size, 0, NULL, &none) ==
                  CL_INVALID_WORK_DIMENSION &&
              !none,
          "a call that fails");
    next_status = -5;
    check(layer->clEnqueueNDRangeKernel(q, k, 1, NULL, &size, NULL, 0, NULL, &failing) == 0,
          "a kernel that fails");
}

int main(int argc, char **argv)
{
    cl_icd_dispatch target;
    const cl_icd_dispatch *layer = NULL;
    cl_uint count = 0;
    cl_int status = 0;
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library)
        return 2;
    void *symbols[2] = {dlsym(library, "clGetLayerInfo"), dlsym(library, "clInitLayer")};
    pfn_clGetLayerInfo info;
    pfn_clInitLayer init;
    memcpy(&info, &symbols[0], sizeof info);
    memcpy(&init, &symbols[1], sizeof init);
    check_info(info);

    memset(&target, 0, sizeof target);
    target.clEnqueueNDRangeKernel = enqueue;
    target.clGetEventInfo = event_info;
    target.clGetEventProfilingInfo = profile;
    target.clRetainEvent = retain;
    target.clReleaseEvent = release;
    target.clCreateCommandQueue = make_queue;
    target.clGetDeviceInfo = device_info;
    target.clGetKernelInfo = kernel_info;
    /* A table that ends behind clEnqueueNDRangeKernel: an old loader's. */
    cl_uint known =
        (cl_uint)(offsetof(cl_icd_dispatch, clEnqueueNDRangeKernel) / sizeof(void *)) + 1;
    check(init(known, &target, &count, &layer) == CL_SUCCESS && count == known, "a short table");
    check(init(known, NULL, &count, &layer) == CL_INVALID_VALUE, "no table");
    check(layer->clFinish == NULL && layer->clCreateKernel == NULL, "no function where none was");

    cl_device_id d = (cl_device_id)(void *)&device;
    check(layer->clCreateCommandQueue(NULL, d, 0, &status) && asked_for_profiling == 1,
          "queues have profiling");
    kino_error error;
    if (kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK) {
        printf("wrong: %s\n", error.message);
        return 1;
    }
    for (int i = 0; i < 3; i++) { /* of one that the layer did not see made: it asks its name */
        const size_t size[] = {100, 10}, local[] = {8, 5};
        check(layer->clEnqueueNDRangeKernel((cl_command_queue)(void *)&queue,
                                            (cl_kernel)(void *)&kernel, 2, NULL, size, local, 0,
                                            NULL, NULL) == CL_SUCCESS,
              "a kernel");
    }
    run(layer);
    struct timespec before, after;
    (void)clock_gettime(CLOCK_MONOTONIC, &before);
    check(kino_stop(&error) == KINO_OK, "stop");
    (void)clock_gettime(CLOCK_MONOTONIC, &after);
    double seconds =
        (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
    check(seconds < 0.25, "a stop does not wait for endless work"); /* 20 ms on a quiet machine */
    check(state_now().activities == 3 && state_now().lost == 2, "what is recorded, what is lost");
    for (int i = 0; i < event_count; i++)
        check(events[i].count == (i < 3 ? 0 : 1), "all events are let go");
    check(kino_save(argv[2], &error) == KINO_OK, "save");

    refuses_profiling = 1;
    check(layer->clCreateCommandQueue(NULL, d, 0, &status) != NULL && status == CL_SUCCESS,
          "a queue that refuses profiling is made without");
    printf("%s\n", wrong ? "not well" : "well");
    return wrong != 0;
}
