/* opencl_layer.c - the code of an OpenCL layer alone: what a kernel's call costs in it when the
 * runtime below does nothing.
 *
 *   bench_opencl_layer LAYER.so
 *
 * bench_opencl measures the same above a real runtime, whose own time is twenty times as long and
 * varies by more than what is looked for. Prints one line of JSON: call_ns, the best batch. */
#include "bench.h"

#if __has_include(<CL/cl_layer.h>)
#    define CL_TARGET_OPENCL_VERSION 300
#    define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#    include <CL/cl.h>
#    include <CL/cl_icd.h>
#    include <CL/cl_layer.h>
#    include <dlfcn.h>
#    include <ftw.h>

enum { BATCH = 400, BATCHES = 300, EVENTS = 1 << 20 };

typedef cl_int init_layer(cl_uint, const cl_icd_dispatch *, cl_uint *, const cl_icd_dispatch **);

static char handles[EVENTS]; /* what handles point to */

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint wait_count, const cl_event *waits, cl_event *event)
{
    static unsigned next;
    (void)queue, (void)kernel, (void)dims, (void)offset, (void)global, (void)local;
    (void)wait_count, (void)waits;
    if (event)
        *event = (cl_event)&handles[next++ % EVENTS];
    return CL_SUCCESS;
}

static cl_command_queue CL_API_CALL make_queue(cl_context context, cl_device_id device,
                                               cl_command_queue_properties properties,
                                               cl_int *status)
{
    (void)context, (void)device, (void)properties;
    *status = CL_SUCCESS;
    return (cl_command_queue)&handles[0];
}

static cl_kernel CL_API_CALL make_kernel(cl_program program, const char *name, cl_int *status)
{
    (void)program, (void)name;
    *status = CL_SUCCESS;
    return (cl_kernel)&handles[1];
}

/* Whatever is asked for is 0: a command is CL_COMPLETE, a name is empty. */
static void answer(size_t room, void *out, size_t *size)
{
    if (out)
        memset(out, 0, room);
    if (size)
        *size = 1;
}

static cl_int CL_API_CALL ask_event(cl_event event, cl_event_info what, size_t room, void *out,
                                    size_t *size)
{
    (void)event, (void)what;
    answer(room, out, size);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL ask_kernel(cl_kernel kernel, cl_kernel_info what, size_t room, void *out,
                                     size_t *size)
{
    (void)kernel, (void)what;
    answer(room, out, size);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL ask_device(cl_device_id device, cl_device_info what, size_t room,
                                     void *out, size_t *size)
{
    (void)device, (void)what;
    answer(room, out, size);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL ask_time(cl_event event, cl_profiling_info what, size_t room, void *out,
                                   size_t *size)
{
    struct timespec now;
    (void)event, (void)what, (void)room, (void)size;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    *(cl_ulong *)out = (cl_ulong)now.tv_sec * 1000000000 + (cl_ulong)now.tv_nsec;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL count_event(cl_event event)
{
    (void)event;
    return CL_SUCCESS;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

int main(int argc, char **argv)
{
    static const cl_icd_dispatch runtime = {
        .clEnqueueNDRangeKernel = enqueue,
        .clCreateCommandQueue = make_queue,
        .clCreateKernel = make_kernel,
        .clGetEventInfo = ask_event,
        .clGetKernelInfo = ask_kernel,
        .clGetDeviceInfo = ask_device,
        .clGetEventProfilingInfo = ask_time,
        .clRetainEvent = count_event,
        .clReleaseEvent = count_event,
    };
    const cl_icd_dispatch *top = NULL;
    cl_uint count = 0;
    cl_int status = CL_SUCCESS;
    const size_t one = 1;
    if (argc != 2)
        bench_die("usage:", "bench_opencl_layer LAYER.so");
    char folder[] = "/tmp/kino-bench-XXXXXX", trace[sizeof folder + 8];
    if (!mkdtemp(folder))
        bench_die("cannot make", folder);
    snprintf(trace, sizeof trace, "%s/t.json", folder);
    setenv("KINO_DIR", folder, 1);
    setenv("KINO_TRACE", trace, 1); /* so that libkino_inject records */
    void *library = dlopen(argv[1], RTLD_NOW);
    void *symbol = library ? dlsym(library, "clInitLayer") : NULL;
    init_layer *init;
    memcpy(&init, &symbol, sizeof init);
    if (!symbol || init(sizeof runtime / sizeof(void *), &runtime, &count, &top) != CL_SUCCESS)
        bench_die("not an OpenCL layer:", argv[1]);
    cl_command_queue queue = top->clCreateCommandQueue(NULL, (cl_device_id)&handles[2], 0, &status);
    cl_kernel kernel = top->clCreateKernel(NULL, "nothing", &status);
    double best = 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        usleep(batch % 10 ? 300 : 15000); /* its thread takes what there is */
        double start = bench_wall();
        for (int i = 0; i < BATCH; i++)
            top->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
        double each = (bench_wall() - start) / BATCH;
        best = each < best ? each : best;
    }
    printf("{\"bench\": \"opencl_layer\", \"call_ns\": %.1f}\n", best * 1e9);
    fflush(stdout);
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    _exit(0); /* the layer has nothing to write */
}
#else
int main(void)
{
    fputs("bench_opencl_layer: skipped: built without opencl-headers\n", stderr);
    return 77;
}
#endif
