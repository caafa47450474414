/* opencl_answers.c - asks OpenCL everything whose answer a layer might change, and prints what it
 * says: properties of queues, times of events, counts of references, statuses of calls that must
 * fail. test_opencl.py runs it with and without the layer: both must print the same. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <time.h>

static cl_context context;
static cl_device_id device;
static cl_kernel kernel;

static void CL_CALLBACK done(cl_event event, cl_int status, void *count)
{
    (void)event;
    __atomic_fetch_add((int *)count, status == CL_COMPLETE, __ATOMIC_SEQ_CST);
}

/* The runtime's own threads let their references go a little later. */
static void settle(void)
{
    const struct timespec pause = {0, 60000000};
    (void)nanosleep(&pause, NULL);
}

static void ask_event(const char *what, cl_event event)
{
    cl_uint count = 0;
    cl_ulong time = 0;
    size_t size = 0;
    cl_int counted = clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, &size);
    cl_int small = clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, 1, &count, NULL);
    cl_int timed =
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof time, &time, NULL);
    printf("%s: count %d %u %zu, small %d, time %d %d\n", what, counted, count, size, small, timed,
           time != 0);
}

static void use_queue(const char *what, cl_command_queue queue)
{
    cl_command_queue_properties flags = 99;
    cl_queue_properties list[16] = {0};
    size_t size = 0, global = 4;
    cl_event event, event2;
    int callbacks = 0;
    cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof flags, &flags, &size);
    printf("%s: properties %d %u %zu", what, status, (unsigned)flags, size);
    status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
    printf(", list %d of %zu", status, size);
    for (size_t i = 0; i < size / sizeof *list; i++)
        printf(" %u", (unsigned)list[i]);
    status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, &event);
    (void)clSetEventCallback(event, CL_COMPLETE, done, &callbacks);
    printf("\n%s: kernel %d", what, status);
    global = 2;
    status = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &global, 1, &event, &event2);
    printf(" %d, finish %d\n", status, clFinish(queue));
    settle();
    (void)clRetainEvent(event2);
    ask_event("event", event);
    ask_event("retained event", event2);
    (void)clReleaseEvent(event2);
    ask_event("released event", event2);
    while (!__atomic_load_n(&callbacks, __ATOMIC_SEQ_CST))
        ;
    printf("callbacks %d, releases %d %d\n", callbacks, clReleaseEvent(event),
           clReleaseEvent(event2));
    /* what must fail */
    cl_event none = NULL;
    status = clEnqueueNDRangeKernel(queue, kernel, 9, NULL, &global, NULL, 0, NULL, &none);
    printf("9 dimensions %d %d", status, none == NULL);
    status = clEnqueueNDRangeKernel(queue, kernel, 9, NULL, &global, NULL, 0, NULL, NULL);
    printf(" %d", status);
    status = clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 4, &flags, 0, NULL, NULL);
    printf(", no buffer %d", status);
    void *mapped =
        clEnqueueMapBuffer(queue, NULL, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, &status);
    printf(", map %d %d", mapped == NULL, status);
    mapped = clEnqueueMapBuffer(queue, NULL, CL_TRUE, CL_MAP_READ, 0, 4, 0, NULL, NULL, NULL);
    printf(" %d, release %d\n", mapped == NULL, clReleaseCommandQueue(queue));
}

int main(void)
{
    static const char *const source = "kernel void nothing(void) {}";
    const char *text = source;
    const cl_queue_properties with_times[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES,
                                                CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const cl_queue_properties bad[] = {0x7777, 1, 0};
    cl_platform_id platform;
    cl_int status = 0;
    if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 77;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    printf("build %d", clBuildProgram(program, 1, &device, "", NULL, NULL));
    kernel = clCreateKernel(program, "nothing", &status);
    printf(", kernel %d", status);
    cl_kernel missing = clCreateKernel(program, "missing", &status);
    printf(", missing %d %d\n", missing == NULL, status);
    use_queue("plain", clCreateCommandQueueWithProperties(context, device, NULL, &status));
    use_queue("old", clCreateCommandQueue(context, device, 0, &status));
    use_queue("old with times",
              clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status));
    use_queue("with times",
              clCreateCommandQueueWithProperties(context, device, with_times, &status));
    use_queue("out of order",
              clCreateCommandQueueWithProperties(context, device, out_of_order, &status));
    cl_command_queue none = clCreateCommandQueueWithProperties(context, device, bad, &status);
    printf("bad properties %d %d\n", none == NULL, status);
    none = clCreateCommandQueue(context, NULL, 0, &status);
    printf("no device %d %d\n", none == NULL, status);
    cl_uint count = 0;
    settle();
    status = clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
    printf("context %d %u", status, count);
    printf(", releases %d %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program),
           clReleaseContext(context));
    return 0;
}
