/* measure_opencl.c - rates of OpenCL devices: a matrix product in tiles, and a triad.
 *
 * The loader is opened at run time; the few types and numbers of its ABI that are needed stand
 * here. The product exists twice, and the faster one counts: 4 x 4 elements per work item from
 * tiles in local memory, as GPUs like it, and 4 x 16 without, as CPUs do. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/measure.h"

enum {
    MOST_DEVICES = 16,
    SIZE = 1024, /* of the matrices */
    ITEMS = 16,  /* of a group, in each direction */
    TRIAD_ELEMENTS = 1 << 24,
    ROUNDS = 5,
    DEVICE_TYPE_ALL = -1,
    DEVICE_NAME = 0x102B,
};

/* -- what is used of OpenCL -- */

typedef struct _cl_any *cl_handle;

typedef struct opencl {
    void *library;
    int32_t (*platforms)(uint32_t count, cl_handle *platforms, uint32_t *found);
    int32_t (*devices)(cl_handle platform, uint64_t type, uint32_t count, cl_handle *devices,
                       uint32_t *found);
    int32_t (*device_info)(cl_handle device, uint32_t what, size_t size, void *value, size_t *used);
    cl_handle (*context)(const intptr_t *properties, uint32_t count, const cl_handle *devices,
                         void *notify, void *data, int32_t *error);
    cl_handle (*queue)(cl_handle context, cl_handle device, uint64_t properties, int32_t *error);
    cl_handle (*buffer)(cl_handle context, uint64_t flags, size_t size, void *host, int32_t *error);
    cl_handle (*program)(cl_handle context, uint32_t count, const char **texts,
                         const size_t *lengths, int32_t *error);
    int32_t (*build)(cl_handle program, uint32_t count, const cl_handle *devices,
                     const char *options, void *notify, void *data);
    cl_handle (*kernel)(cl_handle program, const char *name, int32_t *error);
    int32_t (*set_arg)(cl_handle kernel, uint32_t index, size_t size, const void *value);
    int32_t (*run)(cl_handle queue, cl_handle kernel, uint32_t dimensions, const size_t *offset,
                   const size_t *global, const size_t *local, uint32_t waits,
                   const cl_handle *events, cl_handle *event);
    int32_t (*finish)(cl_handle queue);
    int32_t (*release_buffer)(cl_handle), (*release_kernel)(cl_handle),
        (*release_program)(cl_handle), (*release_queue)(cl_handle), (*release_context)(cl_handle);
} opencl;

static bool load(opencl *cl)
{
    const struct {
        const char *name;
        void *slot;
    } wanted[] = {
        {"clGetPlatformIDs", &cl->platforms},
        {"clGetDeviceIDs", &cl->devices},
        {"clGetDeviceInfo", &cl->device_info},
        {"clCreateContext", &cl->context},
        {"clCreateCommandQueue", &cl->queue},
        {"clCreateBuffer", &cl->buffer},
        {"clCreateProgramWithSource", &cl->program},
        {"clBuildProgram", &cl->build},
        {"clCreateKernel", &cl->kernel},
        {"clSetKernelArg", &cl->set_arg},
        {"clEnqueueNDRangeKernel", &cl->run},
        {"clFinish", &cl->finish},
        {"clReleaseMemObject", &cl->release_buffer},
        {"clReleaseKernel", &cl->release_kernel},
        {"clReleaseProgram", &cl->release_program},
        {"clReleaseCommandQueue", &cl->release_queue},
        {"clReleaseContext", &cl->release_context},
    };
    cl->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; cl->library && i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(cl->library, wanted[i].name);
        if (!found)
            return false;
        memcpy(wanted[i].slot, &found, sizeof found);
    }
    return cl->library != NULL;
}

/* -- one device -- */

static const char source[] =
    "#define T 16\n"
    "__kernel void fill(__global float *x) { x[get_global_id(0)] = 1.0f; }\n"
    "__kernel void triad(__global float4 *a, __global const float4 *b, __global const float4 *c)\n"
    "{ size_t i = get_global_id(0); a[i] = b[i] + 3.0f * c[i]; }\n"
    "__kernel __attribute__((reqd_work_group_size(T, T, 1)))\n"
    "void gemm(__global float *c, __global const float *a, __global const float *b, int n)\n"
    "{\n"
    "    __local float at[T][4 * T], bt[T][4 * T];\n"
    "    int x = get_local_id(0), y = get_local_id(1);\n"
    "    int column = get_group_id(0) * 4 * T, row = get_group_id(1) * 4 * T;\n"
    "    float4 sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};\n"
    "    for (int k = 0; k < n; k += T) {\n"
    "        vstore4((float4)(a[(row + 4 * y) * n + k + x], a[(row + 4 * y + 1) * n + k + x],\n"
    "                a[(row + 4 * y + 2) * n + k + x], a[(row + 4 * y + 3) * n + k + x]),\n"
    "                y, at[x]);\n"
    "        vstore4(vload4(0, b + (k + y) * n + column + 4 * x), x, bt[y]);\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        for (int i = 0; i < T; i++) {\n"
    "            float4 u = vload4(y, at[i]), v = vload4(x, bt[i]);\n"
    "            sum[0] = fma((float4)(u.x), v, sum[0]); sum[1] = fma((float4)(u.y), v, sum[1]);\n"
    "            sum[2] = fma((float4)(u.z), v, sum[2]); sum[3] = fma((float4)(u.w), v, sum[3]);\n"
    "        }\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        vstore4(sum[i], 0, c + (row + 4 * y + i) * n + column + 4 * x);\n"
    "}\n"
    "__kernel void gemm_wide(__global float *c, __global const float *a,\n"
    "                        __global const float *b, int n)\n"
    "{\n"
    "    int column = get_global_id(0) * 16, row = get_global_id(1) * 4;\n"
    "    float16 s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;\n"
    "    for (int k = 0; k < n; k++) {\n"
    "        float16 v = vload16(0, b + k * n + column);\n"
    "        s0 += a[row * n + k] * v; s1 += a[(row + 1) * n + k] * v;\n"
    "        s2 += a[(row + 2) * n + k] * v; s3 += a[(row + 3) * n + k] * v;\n"
    "    }\n"
    "    vstore16(s0, 0, c + row * n + column); vstore16(s1, 0, c + (row + 1) * n + column);\n"
    "    vstore16(s2, 0, c + (row + 2) * n + column); vstore16(s3, 0, c + (row + 3) * n + "
    "column);\n"
    "}\n";

typedef struct device_run {
    const opencl *cl;
    cl_handle context, queue, program, buffers[3];
} device_run;

/* The time of one run of a kernel, the best of several; 0: it failed. */
static double time_kernel(const device_run *run, cl_handle kernel, uint32_t dimensions,
                          const size_t *global, const size_t *local)
{
    double best = 0;
    for (int i = 0; i <= ROUNDS; i++) {
        int64_t start = kino__clock_ns(CLOCK_MONOTONIC);
        if (run->cl->run(run->queue, kernel, dimensions, NULL, global, local, 0, NULL, NULL) != 0 ||
            run->cl->finish(run->queue) != 0)
            return 0;
        double ns = (double)(kino__clock_ns(CLOCK_MONOTONIC) - start);
        if (i > 0 && (best == 0 || ns < best)) /* the first one warms up */
            best = ns;
    }
    return best;
}

static bool set_buffers(const device_run *run, cl_handle kernel, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (run->cl->set_arg(kernel, i, sizeof(cl_handle), &run->buffers[i]) != 0)
            return false;
    return true;
}

static bool fill(device_run *run)
{
    const size_t elements = TRIAD_ELEMENTS;
    cl_handle kernel = run->cl->kernel(run->program, "fill", NULL);
    bool ok = kernel != NULL;
    for (int i = 0; ok && i < 3; i++)
        ok = run->cl->set_arg(kernel, 0, sizeof(cl_handle), &run->buffers[i]) == 0 &&
             run->cl->run(run->queue, kernel, 1, NULL, &elements, NULL, 0, NULL, NULL) == 0;
    if (kernel)
        (void)run->cl->release_kernel(kernel);
    return ok && run->cl->finish(run->queue) == 0;
}

/* TFLOP/s of one of the products; 0: it failed. */
static double time_product(const device_run *run, const char *name, const size_t *global,
                           const size_t *local)
{
    const opencl *cl = run->cl;
    cl_handle kernel = cl->kernel(run->program, name, NULL);
    int32_t n = SIZE;
    double ns = 0;
    if (kernel && set_buffers(run, kernel, 3) && cl->set_arg(kernel, 3, sizeof n, &n) == 0)
        ns = time_kernel(run, kernel, 2, global, local);
    if (kernel)
        (void)cl->release_kernel(kernel);
    return ns > 0 ? 2.0 * SIZE * SIZE * SIZE / ns / 1e3 : 0;
}

static void time_kernels(const device_run *run, kino__measured *out)
{
    const opencl *cl = run->cl;
    const size_t size[2] = {SIZE / 4, SIZE / 4}, group[2] = {ITEMS, ITEMS};
    const size_t wide[2] = {SIZE / 16, SIZE / 4}, vectors = TRIAD_ELEMENTS / 4;
    double tiled = time_product(run, "gemm", size, group),
           direct = time_product(run, "gemm_wide", wide, NULL);
    cl_handle triad = cl->kernel(run->program, "triad", NULL);
    double ns =
        triad && set_buffers(run, triad, 3) ? time_kernel(run, triad, 1, &vectors, NULL) : 0;
    out->fp32 = tiled > direct ? tiled : direct;
    if (ns > 0)
        out->memory = 3.0 * TRIAD_ELEMENTS * sizeof(float) / ns;
    if (out->fp32 <= 0 || out->memory <= 0)
        (void)snprintf(out->reason, sizeof out->reason, "a kernel cannot be run");
    if (triad)
        (void)cl->release_kernel(triad);
}

static const char *prepare(device_run *run, cl_handle device)
{
    const opencl *cl = run->cl;
    const char *text = source;
    run->context = cl->context(NULL, 1, &device, NULL, NULL, NULL);
    run->queue = run->context ? cl->queue(run->context, device, 0, NULL) : NULL;
    if (!run->queue)
        return "a command queue cannot be created";
    run->program = cl->program(run->context, 1, &text, NULL, NULL);
    if (!run->program || cl->build(run->program, 1, &device, "", NULL, NULL) != 0)
        return "the kernels cannot be compiled";
    for (int i = 0; i < 3; i++) {
        run->buffers[i] = cl->buffer(run->context, 1, TRIAD_ELEMENTS * sizeof(float), NULL, NULL);
        if (!run->buffers[i])
            return "not enough memory on the device";
    }
    return fill(run) ? NULL : "a kernel cannot be run";
}

static void measure_device(const opencl *cl, cl_handle device, kino__measured *out)
{
    device_run run = {.cl = cl};
    *out = (kino__measured){.kind = "OpenCL"};
    if (cl->device_info(device, DEVICE_NAME, sizeof out->name - 1, out->name, NULL) != 0)
        (void)snprintf(out->name, sizeof out->name, "unnamed device");
    const char *reason = prepare(&run, device);
    if (reason)
        (void)snprintf(out->reason, sizeof out->reason, "%s", reason);
    else
        time_kernels(&run, out);
    for (int i = 0; i < 3; i++)
        if (run.buffers[i])
            (void)cl->release_buffer(run.buffers[i]);
    if (run.program)
        (void)cl->release_program(run.program);
    if (run.queue)
        (void)cl->release_queue(run.queue);
    if (run.context)
        (void)cl->release_context(run.context);
}

kino_status kino__measure_opencl(kino__measured_list *list, kino_error *err)
{
    opencl cl = {0};
    cl_handle platforms[MOST_DEVICES], devices[MOST_DEVICES];
    uint32_t platform_count = 0, count;
    if (!load(&cl) || cl.platforms(MOST_DEVICES, platforms, &platform_count) != 0)
        return KINO_OK; /* no loader, or no platform: no devices */
    if (platform_count > MOST_DEVICES)
        platform_count = MOST_DEVICES;
    for (uint32_t i = 0; i < platform_count; i++) {
        if (cl.devices(platforms[i], (uint32_t)DEVICE_TYPE_ALL, MOST_DEVICES, devices, &count) != 0)
            continue;
        for (uint32_t k = 0; k < count && k < MOST_DEVICES; k++) {
            kino__measured *out = kino__vec_add(list);
            if (!out)
                return kino__fail_nomem(err);
            measure_device(&cl, devices[k], out);
        }
    }
    return KINO_OK; /* the library stays loaded: many do not survive being unloaded */
}
