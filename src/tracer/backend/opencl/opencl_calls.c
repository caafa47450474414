/* opencl_calls.c - the functions that stand between the program and OpenCL. See opencl_internal.h.
 *
 * Each does what it was asked with the arguments it was given, and returns what the runtime said.
 * There are two differences, both hidden from the program: queues are made with profiling on, and
 * commands get an event also when the program wants none. So what could show them is answered as
 * if they were not: properties of queues, times of events of queues that have none by the
 * program's wish, counts of references. */
#include <stdlib.h>
#include <string.h>

#include "tracer/backend/opencl/opencl_internal.h"

#define UNWRAP(...) __VA_ARGS__

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see opencl_internal.h */
kino__opencl_call_info kino__opencl_calls[KINO__OPENCL_CALLS] = {
#define ENQUEUE(function, kind, work, ...)                                                         \
    [KINO__OPENCL_##function] = {#function, work, KINO_DEVICE_##kind, 0, 0},
#define OTHER(function, kind, work)                                                                \
    [KINO__OPENCL_##function] = {#function, work, KINO_DEVICE_##kind, 0, 0},
#define CALL(type, function, ...)                                                                  \
    [KINO__OPENCL_##function] = {#function, "", KINO_DEVICE_RUNTIME, 0, 0},
#include "tracer/backend/opencl/opencl_calls.def"
#undef ENQUEUE
#undef CALL
#undef OTHER
};

void kino__opencl_name_calls(void)
{
    const kino_device_host *host = kino__opencl_host;
    for (int i = 0; i < KINO__OPENCL_CALLS; i++) {
        kino__opencl_call_info *info = &kino__opencl_calls[i];
        info->call_text = host->name(host, KINO_DEVICE_RUNTIME, info->function);
        if (info->work[0])
            info->work_text = host->name(host, info->kind, info->work);
    }
}

/* -- bytes of a command */

static size_t volume(const size_t *region)
{
    return region ? region[0] * region[1] * region[2] : 0;
}

static size_t pixels(cl_mem image, const size_t *region)
{
    size_t size = 0;
    if (!kino__opencl_host || !kino__opencl_host->is_recording(kino__opencl_host) ||
        kino__opencl_target.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof size, &size,
                                           NULL) != CL_SUCCESS)
        return 0;
    return size * volume(region);
}

/* -- the functions of the list */

static uint64_t begin(kino__opencl_call number)
{
    const kino_device_host *host = kino__opencl_host;
    return host ? host->call_begin(host, kino__opencl_calls[number].call_text, 0) : 0;
}

static void end(uint64_t call)
{
    if (call)
        kino__opencl_host->call_end(kino__opencl_host, call);
}

#define ENQUEUE(function, kind, name, size_in_bytes, parameters, arguments)                        \
    static cl_int CL_API_CALL on_##function(cl_command_queue queue, UNWRAP parameters,             \
                                            cl_uint wait_count, const cl_event *waits,             \
                                            cl_event *event)                                       \
    {                                                                                              \
        kino__opencl_work work = {.command.amount.bytes = (size_in_bytes)};                        \
        event = kino__opencl_enter(&work, KINO__OPENCL_##function, queue, event);                  \
        cl_int status =                                                                            \
            kino__opencl_target.function(queue, UNWRAP arguments, wait_count, waits, event);       \
        kino__opencl_leave(&work, status);                                                         \
        return status;                                                                             \
    }
#define CALL(type, function, parameters, arguments)                                                \
    static type CL_API_CALL on_##function(UNWRAP parameters)                                       \
    {                                                                                              \
        uint64_t call = begin(KINO__OPENCL_##function);                                            \
        type result = kino__opencl_target.function(UNWRAP arguments);                              \
        end(call);                                                                                 \
        return result;                                                                             \
    }
#define OTHER(function, kind, work)
#include "tracer/backend/opencl/opencl_calls.def"
#undef ENQUEUE
#undef CALL
#undef OTHER

/* -- kernels */

static void note_sizes(kino__opencl_command *command, cl_uint dims, const size_t *global,
                       const size_t *local)
{
    command->amount.bytes = 0;
    if (!global || dims > 3)
        return;
    command->dims = (uint8_t)dims;
    command->has_local = local != NULL;
    for (cl_uint i = 0; i < dims; i++) {
        command->amount.sizes[i].global = global[i];
        command->amount.sizes[i].local = local ? local[i] : 0;
    }
}

static cl_int CL_API_CALL on_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                    cl_uint dims, const size_t *offset,
                                                    const size_t *global, const size_t *local,
                                                    cl_uint wait_count, const cl_event *waits,
                                                    cl_event *event)
{
    kino__opencl_work work; /* filled in by enter and note_sizes: no time for zeros */
    work.kernel = kernel;
    event = kino__opencl_enter(&work, KINO__OPENCL_clEnqueueNDRangeKernel, queue, event);
    cl_int status = kino__opencl_target.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global,
                                                               local, wait_count, waits, event);
    if (work.call)
        note_sizes(&work.command, dims, global, local);
    kino__opencl_leave(&work, status);
    return status;
}

static cl_int CL_API_CALL on_clEnqueueTask(cl_command_queue queue, cl_kernel kernel,
                                           cl_uint wait_count, const cl_event *waits,
                                           cl_event *event)
{
    kino__opencl_work work = {.kernel = kernel};
    event = kino__opencl_enter(&work, KINO__OPENCL_clEnqueueTask, queue, event);
    cl_int status = kino__opencl_target.clEnqueueTask(queue, kernel, wait_count, waits, event);
    kino__opencl_leave(&work, status);
    return status;
}

static cl_kernel CL_API_CALL on_clCreateKernel(cl_program program, const char *name, cl_int *status)
{
    uint64_t call = begin(KINO__OPENCL_clCreateKernel);
    cl_kernel kernel = kino__opencl_target.clCreateKernel(program, name, status);
    end(call);
    if (kernel)
        kino__opencl_add_kernel(kernel);
    return kernel;
}

static cl_int CL_API_CALL on_clCreateKernelsInProgram(cl_program program, cl_uint room,
                                                      cl_kernel *kernels, cl_uint *count)
{
    cl_uint made = 0;
    uint64_t call = begin(KINO__OPENCL_clCreateKernelsInProgram);
    cl_int status =
        kino__opencl_target.clCreateKernelsInProgram(program, room, kernels, count ? count : &made);
    end(call);
    if (count)
        made = *count;
    for (cl_uint i = 0; status == CL_SUCCESS && kernels && i < made && i < room; i++)
        kino__opencl_add_kernel(kernels[i]);
    return status;
}

static cl_kernel CL_API_CALL on_clCloneKernel(cl_kernel from, cl_int *status)
{
    uint64_t call = begin(KINO__OPENCL_clCloneKernel);
    cl_kernel kernel = kino__opencl_target.clCloneKernel(from, status);
    end(call);
    if (kernel)
        kino__opencl_add_kernel(kernel);
    return kernel;
}

/* -- maps: they return an address */

static void *CL_API_CALL on_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer,
                                               cl_bool blocking, cl_map_flags flags, size_t offset,
                                               size_t size, cl_uint wait_count,
                                               const cl_event *waits, cl_event *event,
                                               cl_int *status)
{
    cl_int own = CL_SUCCESS;
    kino__opencl_work work = {.command.amount.bytes = size};
    status = status ? status : &own;
    event = kino__opencl_enter(&work, KINO__OPENCL_clEnqueueMapBuffer, queue, event);
    void *mapped = kino__opencl_target.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset,
                                                          size, wait_count, waits, event, status);
    kino__opencl_leave(&work, *status);
    return mapped;
}

static void *CL_API_CALL on_clEnqueueMapImage(cl_command_queue queue, cl_mem image,
                                              cl_bool blocking, cl_map_flags flags,
                                              const size_t *at, const size_t *region, size_t *row,
                                              size_t *slice, cl_uint wait_count,
                                              const cl_event *waits, cl_event *event,
                                              cl_int *status)
{
    cl_int own = CL_SUCCESS;
    kino__opencl_work work = {.command.amount.bytes = pixels(image, region)};
    status = status ? status : &own;
    event = kino__opencl_enter(&work, KINO__OPENCL_clEnqueueMapImage, queue, event);
    void *mapped = kino__opencl_target.clEnqueueMapImage(
        queue, image, blocking, flags, at, region, row, slice, wait_count, waits, event, status);
    kino__opencl_leave(&work, *status);
    return mapped;
}

/* -- queues: made with profiling */

static cl_command_queue CL_API_CALL on_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                            cl_command_queue_properties asked,
                                                            cl_int *status)
{
    cl_command_queue queue = kino__opencl_target.clCreateCommandQueue(
        context, device, asked | CL_QUEUE_PROFILING_ENABLE, status);
    bool has_times = queue != NULL;
    if (!queue) /* as the program wants it; the reason is the runtime's */
        queue = kino__opencl_target.clCreateCommandQueue(context, device, asked, status);
    if (queue)
        kino__opencl_add_queue(queue, device, has_times, asked, NULL);
    return queue;
}

enum { PROPERTIES_MAX = 64 }; /* numbers in a list of properties */

/* Copies the list with profiling on; false when it is too long or the queue is the device's own. */
static bool with_profiling(const cl_queue_properties *asked, cl_queue_properties *list,
                           cl_command_queue_properties *flags)
{
    size_t at = 0;
    bool has_flags = false;
    *flags = 0;
    for (; asked && asked[at]; at += 2) {
        if (at + 5 > PROPERTIES_MAX)
            return false;
        list[at] = asked[at];
        list[at + 1] = asked[at + 1];
        if (asked[at] == CL_QUEUE_PROPERTIES) {
            *flags = asked[at + 1];
            list[at + 1] |= CL_QUEUE_PROFILING_ENABLE;
            has_flags = true;
        }
    }
    if (!has_flags) {
        list[at++] = CL_QUEUE_PROPERTIES;
        list[at++] = CL_QUEUE_PROFILING_ENABLE;
    }
    list[at] = 0;
    return !(*flags & CL_QUEUE_ON_DEVICE);
}

static cl_command_queue CL_API_CALL on_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties *asked, cl_int *status)
{
    cl_queue_properties list[PROPERTIES_MAX];
    cl_command_queue_properties flags;
    cl_command_queue queue = NULL;
    bool is_changed = with_profiling(asked, list, &flags);
    if (is_changed)
        queue =
            kino__opencl_target.clCreateCommandQueueWithProperties(context, device, list, status);
    bool has_times = queue != NULL || flags & CL_QUEUE_PROFILING_ENABLE;
    if (!queue)
        queue =
            kino__opencl_target.clCreateCommandQueueWithProperties(context, device, asked, status);
    if (queue)
        kino__opencl_add_queue(queue, device, has_times, flags, asked);
    return queue;
}

/* Events of a queue keep it alive: what is done is let go first. */
static cl_int CL_API_CALL on_clReleaseCommandQueue(cl_command_queue queue)
{
    kino__opencl_collect();
    return kino__opencl_target.clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL on_clReleaseContext(cl_context context)
{
    kino__opencl_collect();
    return kino__opencl_target.clReleaseContext(context);
}

/* -- answers that would show us */

static cl_int answer(const void *value, size_t size, size_t room, void *out, size_t *size_out)
{
    if (out && room < size)
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, size);
    if (size_out)
        *size_out = size;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL on_clGetCommandQueueInfo(cl_command_queue queue,
                                                   cl_command_queue_info what, size_t room,
                                                   void *out, size_t *size_out)
{
    const kino__opencl_queue *known = kino__opencl_find_queue(queue);
    cl_command_queue_properties flags;
    if (known && what == CL_QUEUE_PROPERTIES_ARRAY && known->has_times && !known->asked_for_it)
        return answer(known->asked, known->asked_count * sizeof *known->asked, room, out, size_out);
    cl_int status = kino__opencl_target.clGetCommandQueueInfo(queue, what, room, out, size_out);
    if (known && what == CL_QUEUE_PROPERTIES && status == CL_SUCCESS && out &&
        room >= sizeof flags && !known->asked_for_it) {
        memcpy(&flags, out, sizeof flags);
        flags &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
        memcpy(out, &flags, sizeof flags);
    }
    return status;
}

static cl_int CL_API_CALL on_clGetEventProfilingInfo(cl_event event, cl_profiling_info what,
                                                     size_t room, void *out, size_t *size_out)
{
    cl_command_queue queue = NULL;
    cl_int status = kino__opencl_target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue,
                                                       &queue, NULL);
    const kino__opencl_queue *known =
        status == CL_SUCCESS && queue ? kino__opencl_find_queue(queue) : NULL;
    if (known && !known->asked_for_it)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    return kino__opencl_target.clGetEventProfilingInfo(event, what, room, out, size_out);
}

static cl_int CL_API_CALL on_clGetEventInfo(cl_event event, cl_event_info what, size_t room,
                                            void *out, size_t *size_out)
{
    cl_uint count;
    if (what != CL_EVENT_REFERENCE_COUNT)
        return kino__opencl_target.clGetEventInfo(event, what, room, out, size_out);
    cl_int status = kino__opencl_reference_count(event, &count);
    return status == CL_SUCCESS ? answer(&count, sizeof count, room, out, size_out) : status;
}

/* -- the table */

void kino__opencl_fill(cl_icd_dispatch *table)
{
#define REPLACE(function)                                                                          \
    if (kino__opencl_target.function)                                                              \
        table->function = on_##function;
#define ENQUEUE(function, ...)    REPLACE(function)
#define OTHER(function, ...)      REPLACE(function)
#define CALL(type, function, ...) REPLACE(function)
#include "tracer/backend/opencl/opencl_calls.def"
#undef ENQUEUE
#undef CALL
#undef OTHER
    REPLACE(clCreateCommandQueue)
    REPLACE(clCreateCommandQueueWithProperties)
    REPLACE(clReleaseCommandQueue)
    REPLACE(clReleaseContext)
    REPLACE(clGetCommandQueueInfo)
    REPLACE(clGetEventProfilingInfo)
    REPLACE(clGetEventInfo)
#undef REPLACE
}
