/* example.c - some OpenCL work to look at: vector add, matrix product, copies, a fill, a map, on
 * two queues. It checks its results.
 *
 *   make && ./recorded trace.json               records by itself (built with WITH_KINO)
 *   kino record -o trace.json -- ./plain        knows nothing of kino
 *   kino report trace.json; kino analyze queue-length trace.json */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WITH_KINO
#    include <kino/kino.h>
#    include <kino/opencl.h>
#else
#    define KINO_ZONE(name) ((void)0)
#endif

enum { COUNT = 1 << 16, SIDE = 64, ROUNDS = 4 };

static const char source[] =
    "kernel void vector_add(global const float *a, global const float *b, global float *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
    "kernel void matmul(global const float *a, global const float *b, global float *c, int n)\n"
    "{ size_t x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "  for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];\n"
    "  c[y * n + x] = sum; }\n";

static void must(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "example: %s failed: %d\n", what, status);
    exit(status == CL_DEVICE_NOT_FOUND || status == -1001 ? 77 : 1); /* 77: no OpenCL here */
}

typedef struct setup {
    cl_context context;
    cl_command_queue compute, copies;
    cl_program program;
    cl_kernel add, product;
    cl_mem a, b, c;
} setup;

static setup open_device(void)
{
    setup s;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    const char *text = source;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    s.context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    s.compute = clCreateCommandQueue(s.context, device, 0, &status);
    must(status, "clCreateCommandQueue");
    s.copies = clCreateCommandQueue(s.context, device, 0, &status);
    must(status, "clCreateCommandQueue");
    s.program = clCreateProgramWithSource(s.context, 1, &text, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(clBuildProgram(s.program, 1, &device, "", NULL, NULL), "clBuildProgram");
    s.add = clCreateKernel(s.program, "vector_add", &status);
    must(status, "clCreateKernel");
    s.product = clCreateKernel(s.program, "matmul", &status);
    must(status, "clCreateKernel");
    cl_mem *const buffers[] = {&s.a, &s.b, &s.c};
    for (int i = 0; i < 3; i++) {
        *buffers[i] =
            clCreateBuffer(s.context, CL_MEM_READ_WRITE, COUNT * sizeof(float), NULL, &status);
        must(status, "clCreateBuffer");
    }
    return s;
}

static void set_buffers(cl_kernel kernel, const setup *s)
{
    must(clSetKernelArg(kernel, 0, sizeof s->a, &s->a), "clSetKernelArg");
    must(clSetKernelArg(kernel, 1, sizeof s->b, &s->b), "clSetKernelArg");
    must(clSetKernelArg(kernel, 2, sizeof s->c, &s->c), "clSetKernelArg");
}

/* b is filled, a is copied by the other queue meanwhile; the sum is read back. */
static int vector_add(const setup *s, const float *numbers, float *sums)
{
    const size_t global = COUNT, local = 64;
    const float two = 2;
    cl_event copied, filled;
    KINO_ZONE("vector add");
    must(clEnqueueWriteBuffer(s->copies, s->a, CL_FALSE, 0, COUNT * sizeof *numbers, numbers, 0,
                              NULL, &copied),
         "clEnqueueWriteBuffer");
    must(clEnqueueFillBuffer(s->compute, s->b, &two, sizeof two, 0, COUNT * sizeof two, 0, NULL,
                             &filled),
         "clEnqueueFillBuffer");
    must(clFlush(s->copies), "clFlush");
    set_buffers(s->add, s);
    const cl_event waits[] = {copied, filled};
    must(clEnqueueNDRangeKernel(s->compute, s->add, 1, NULL, &global, &local, 2, waits, NULL),
         "clEnqueueNDRangeKernel");
    must(clEnqueueReadBuffer(s->compute, s->c, CL_TRUE, 0, COUNT * sizeof *sums, sums, 0, NULL,
                             NULL),
         "clEnqueueReadBuffer");
    must(clReleaseEvent(copied), "clReleaseEvent");
    must(clReleaseEvent(filled), "clReleaseEvent");
    for (int i = 0; i < COUNT; i++)
        if (sums[i] != numbers[i] + 2)
            return 1;
    return 0;
}

/* The product of a (ones) and b (twos), then a copy of it that is looked at through a map. */
static int matrix_product(const setup *s)
{
    const size_t global[] = {SIDE, SIDE}, local[] = {8, 8};
    const float one = 1, two = 2;
    const int side = SIDE;
    const size_t bytes = sizeof(float) * SIDE * SIDE;
    cl_int status;
    KINO_ZONE("matrix product");
    must(clEnqueueFillBuffer(s->compute, s->a, &one, sizeof one, 0, bytes, 0, NULL, NULL),
         "clEnqueueFillBuffer");
    must(clEnqueueFillBuffer(s->compute, s->b, &two, sizeof two, 0, bytes, 0, NULL, NULL),
         "clEnqueueFillBuffer");
    set_buffers(s->product, s);
    must(clSetKernelArg(s->product, 3, sizeof side, &side), "clSetKernelArg");
    must(clEnqueueNDRangeKernel(s->compute, s->product, 2, NULL, global, local, 0, NULL, NULL),
         "clEnqueueNDRangeKernel");
    must(clEnqueueCopyBuffer(s->compute, s->c, s->a, 0, 0, bytes, 0, NULL, NULL),
         "clEnqueueCopyBuffer");
    must(clFinish(s->compute), "clFinish");
    float *mapped =
        clEnqueueMapBuffer(s->copies, s->a, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, &status);
    must(status, "clEnqueueMapBuffer");
    int wrong = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        wrong += mapped[i] != 2 * SIDE;
    must(clEnqueueUnmapMemObject(s->copies, s->a, mapped, 0, NULL, NULL),
         "clEnqueueUnmapMemObject");
    must(clFinish(s->copies), "clFinish");
    return wrong != 0;
}

static void close_device(const setup *s)
{
    const cl_mem buffers[] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++)
        must(clReleaseMemObject(buffers[i]), "clReleaseMemObject");
    must(clReleaseKernel(s->add), "clReleaseKernel");
    must(clReleaseKernel(s->product), "clReleaseKernel");
    must(clReleaseProgram(s->program), "clReleaseProgram");
    must(clReleaseCommandQueue(s->compute), "clReleaseCommandQueue");
    must(clReleaseCommandQueue(s->copies), "clReleaseCommandQueue");
    must(clReleaseContext(s->context), "clReleaseContext");
}

static int run(void)
{
    float *numbers = malloc(COUNT * sizeof *numbers), *sums = malloc(COUNT * sizeof *sums);
    int wrong = !numbers || !sums;
    setup s = open_device();
    for (int i = 0; !wrong && i < COUNT; i++)
        numbers[i] = (float)i;
    for (int round = 0; !wrong && round < ROUNDS; round++)
        wrong = vector_add(&s, numbers, sums) || matrix_product(&s);
    close_device(&s);
    free(numbers);
    free(sums);
    puts(wrong ? "wrong results" : "all results are right");
    return wrong;
}

#ifdef WITH_KINO
int main(int argc, char **argv)
{
    kino_error error;
    if (argc != 2) {
        fprintf(stderr, "usage: %s TRACE\n", argv[0]);
        return 2;
    }
    if (kino_opencl_enable(&error) != KINO_OK || kino_prepare(NULL, &error) != KINO_OK ||
        kino_start(&error) != KINO_OK) {
        fprintf(stderr, "example: %s\n", error.message);
        return 1;
    }
    int wrong = run();
    if (kino_stop(&error) != KINO_OK || kino_save(argv[1], &error) != KINO_OK) {
        fprintf(stderr, "example: %s\n", error.message);
        return 1;
    }
    return wrong;
}
#else
int main(void)
{
    return run();
}
#endif
