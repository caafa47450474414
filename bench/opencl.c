/* opencl.c - what recording OpenCL costs the host, per kernel, above a layer that only looks.
 *
 *   bench_opencl --kino PATH/libkino_inject.so --empty PATH/empty_layer.so [--kernels N]
 *                [--rounds N]
 *
 * The same small program runs in fresh processes under no layer, the empty one and ours, in turn.
 * It puts kernels that do nothing into a queue that a user event holds back, so that the runtime's
 * workers do not disturb, and lets them run in between. Host time is the processor time of the
 * thread that puts them in, over the calls alone (call), and that of the layer's own thread
 * (collect); both per kernel, in ns. Of a process the best batch counts, since what else runs on
 * the machine only adds; of the processes the lower quartile, since a few are just lucky.
 * Exit code 77: there is no OpenCL here. */
#include "bench.h"

#if __has_include(<CL/cl.h>)
#    define CL_TARGET_OPENCL_VERSION 120
#    include <CL/cl.h>
#    include <dirent.h>
#    include <dlfcn.h>
#    include <sys/wait.h>

enum { BATCH = 500, SAMPLES_MAX = 512 };

/* The functions are looked up by hand: this program links nothing of OpenCL. */
#    define FUNCTIONS(X)                                                                           \
        X(clGetPlatformIDs)                                                                        \
        X(clGetDeviceIDs)                                                                          \
        X(clCreateContext)                                                                         \
        X(clCreateCommandQueue)                                                                    \
        X(clCreateProgramWithSource)                                                               \
        X(clBuildProgram)                                                                          \
        X(clCreateKernel)                                                                          \
        X(clCreateUserEvent)                                                                       \
        X(clSetUserEventStatus)                                                                    \
        X(clEnqueueNDRangeKernel)                                                                  \
        X(clFinish)                                                                                \
        X(clReleaseEvent)
static struct {
#    define DECLARE(name) __typeof__(name) *name;
    FUNCTIONS(DECLARE)
} cl;

static bool load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    bool is_whole = library != NULL;
#    define LOOK_UP(name)                                                                          \
        if (is_whole) {                                                                            \
            void *symbol = dlsym(library, #name);                                                  \
            memcpy(&cl.name, &symbol, sizeof symbol);                                              \
            is_whole = symbol != NULL;                                                             \
        }
    FUNCTIONS(LOOK_UP)
    return is_whole;
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Processor time of the thread of this process that has this name; 0: there is none. */
static uint64_t thread_ns(const char *name)
{
    DIR *folder = opendir("/proc/self/task");
    uint64_t ns = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[320], text[64] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        bool is_it =
            file && fgets(text, sizeof text, file) && strncmp(text, name, strlen(name)) == 0;
        if (file)
            fclose(file);
        if (!is_it)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", entry->d_name);
        file = fopen(path, "r");
        if (file && fgets(text, sizeof text, file))
            ns = strtoull(text, NULL, 10);
        if (file)
            fclose(file);
    }
    if (folder)
        closedir(folder);
    return ns;
}

static double least(const double *values, size_t count)
{
    double best = values[0];
    for (size_t i = 1; i < count; i++)
        best = values[i] < best ? values[i] : best;
    return best;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double lower_quartile(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 4];
}

static void must(cl_int status, const char *what)
{
    if (status != CL_SUCCESS)
        bench_die("OpenCL failed in", what);
}

/* One batch behind a closed gate; returns ns of the calling thread per kernel. */
static double put_in(cl_context context, cl_command_queue queue, cl_kernel kernel)
{
    const size_t one = 1;
    cl_int status;
    cl_event gate = cl.clCreateUserEvent(context, &status);
    must(status, "clCreateUserEvent");
    must(cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 1, &gate, NULL), "kernel");
    uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < BATCH; i++)
        must(cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
             "kernel");
    uint64_t after = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    must(cl.clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(cl.clFinish(queue), "clFinish");
    must(cl.clReleaseEvent(gate), "clReleaseEvent");
    return (double)(after - before) / BATCH;
}

/* What a child process does; prints "call collect". */
static int measure(int kernels)
{
    const char *text = "kernel void nothing(void) {}";
    static double samples[SAMPLES_MAX];
    size_t count = 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (!load() || cl.clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
        cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
        return 77;
    cl_context context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    cl_command_queue queue = cl.clCreateCommandQueue(context, device, 0, &status);
    must(status, "clCreateCommandQueue");
    cl_program program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(cl.clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = cl.clCreateKernel(program, "nothing", &status);
    must(status, "clCreateKernel");
    (void)put_in(context, queue, kernel); /* the first use compiles */
    usleep(30000);
    uint64_t before = thread_ns("kino-opencl") + thread_ns("empty-layer");
    for (int done = 0; done < kernels && count < SAMPLES_MAX; done += BATCH)
        samples[count++] = put_in(context, queue, kernel);
    usleep(60000); /* the layer's thread has seen all of it */
    uint64_t after = thread_ns("kino-opencl") + thread_ns("empty-layer");
    size_t all = count * (BATCH + 1);
    printf("%.1f %.1f\n", least(samples, count), (double)(after - before) / (double)all);
    return 0;
}

/* Runs this program under a layer; false: there is no OpenCL. */
static bool run_child(const char *self, const char *layer, const char *trace, const char *kernels,
                      double out[2])
{
    int ends[2];
    if (pipe(ends) != 0)
        bench_die("cannot make", "a pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        unsetenv("OPENCL_LAYERS");
        unsetenv("KINO_TRACE");
        if (layer)
            setenv("OPENCL_LAYERS", layer, 1);
        if (trace)
            setenv("KINO_TRACE", trace, 1);
        execl(self, self, "--measure", kernels, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char text[128] = "";
    ssize_t size = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return false;
    if (size <= 0 || status != 0 || sscanf(text, "%lf %lf", &out[0], &out[1]) != 2)
        bench_die("no result under", layer ? layer : "no layer");
    return true;
}

static const char *option(int argc, char **argv, const char *name, const char *fallback)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return fallback;
}

int main(int argc, char **argv)
{
    const char *measured = option(argc, argv, "--measure", NULL);
    if (measured)
        return measure((int)strtol(measured, NULL, 10));
    const char *layers[3] = {NULL, option(argc, argv, "--empty", NULL),
                             option(argc, argv, "--kino", NULL)};
    const char *kernels = option(argc, argv, "--kernels", "60000");
    long rounds = strtol(option(argc, argv, "--rounds", "9"), NULL, 10);
    static double call[3][SAMPLES_MAX], collect[3][SAMPLES_MAX];
    char trace[] = "/tmp/kino-bench-XXXXXX";
    if (!layers[1] || !layers[2])
        bench_die("usage:", "bench_opencl --kino LAYER --empty LAYER");
    int fd = mkstemp(trace);
    if (fd < 0)
        bench_die("cannot make", trace);
    close(fd);
    for (long round = 0; round < rounds && round < SAMPLES_MAX; round++)
        for (int i = 0; i < 3; i++) {
            double result[2];
            if (!run_child(argv[0], layers[i], i == 2 ? trace : NULL, kernels, result)) {
                unlink(trace);
                fprintf(stderr, "bench_opencl: skipped: there is no OpenCL device here "
                                "(pocl-opencl-icd)\n");
                return 77;
            }
            call[i][round] = result[0];
            collect[i][round] = result[1];
        }
    unlink(trace);
    double none = lower_quartile(call[0], (size_t)rounds);
    double empty[2] = {lower_quartile(call[1], (size_t)rounds),
                       lower_quartile(collect[1], (size_t)rounds)};
    double kino[2] = {lower_quartile(call[2], (size_t)rounds),
                      lower_quartile(collect[2], (size_t)rounds)};
    printf("{\"bench\": \"opencl\", \"kernels\": %s, \"rounds\": %ld, \"none_call_ns\": %.1f, "
           "\"empty_call_ns\": %.1f, \"empty_collect_ns\": %.1f, \"kino_call_ns\": %.1f, "
           "\"kino_collect_ns\": %.1f, \"call_above_empty_ns\": %.1f, "
           "\"collect_above_empty_ns\": %.1f}\n",
           kernels, rounds, none, empty[0], empty[1], kino[0], kino[1], kino[0] - empty[0],
           kino[1] - empty[1]);
    return 0;
}
#else
int main(void)
{
    fputs("bench_opencl: skipped: built without opencl-headers\n", stderr);
    return 77;
}
#endif
