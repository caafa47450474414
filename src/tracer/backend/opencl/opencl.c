/* opencl.c - the OpenCL backend: how it comes into a process, its devices, its part in sessions.
 *
 * Part of libkino_inject.so, which is a layer of the OpenCL loader:
 *
 *   OPENCL_LAYERS=/path/libkino_inject.so program
 *
 * A program that records by itself then has its OpenCL work in the trace. `kino record` does this
 * for one that does not; KINO_TRACE=trace.json does it without that program. Without the layer
 * nothing is seen: the loader gives no other way between a program and its runtime.
 *
 * Both names of the initialiser are there: ocl-icd and older loaders of Khronos call clInitLayer,
 * newer ones clInitLayerWithProperties. Loaders may initialise a layer once per process only. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <kino/kino.h>
#include <kino/opencl.h>

#include "tracer/backend/backend.h"
#include "tracer/backend/opencl/opencl_internal.h"

#ifndef KINO_VERSION
#    define KINO_VERSION "0"
#endif

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see opencl_internal.h */
cl_icd_dispatch kino__opencl_target;
const kino_device_host *kino__opencl_host;

enum { DEVICES_MAX = 64, ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *), EXIT_NS = 20000000 };

static struct {
    pthread_mutex_t lock;
    cl_device_id handles[DEVICES_MAX];
    uint32_t numbers[DEVICES_MAX];
    uint32_t count;
    cl_icd_dispatch table; /* what the loader gets */
    bool is_recording;     /* between start and stop, which take turns */
    bool has_ended;        /* the process exits: the runtime may be gone */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- devices */

static int64_t ask_number(cl_device_id device, cl_device_info what)
{
    cl_ulong value = 0; /* all numbers asked for have 4 or 8 bytes, little end first or all */
    size_t size = 0;
    cl_uint small;
    if (kino__opencl_target.clGetDeviceInfo(device, what, sizeof value, &value, &size) !=
        CL_SUCCESS)
        return 0;
    memcpy(&small, &value, sizeof small);
    return (int64_t)(size == sizeof small ? small : value);
}

static void ask_text(cl_device_id device, cl_device_info what, char text[256])
{
    if (kino__opencl_target.clGetDeviceInfo(device, what, 255, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    text[255] = '\0';
}

static uint32_t describe(cl_device_id device)
{
    char name[256], vendor[256], driver[256];
    ask_text(device, CL_DEVICE_NAME, name);
    ask_text(device, CL_DEVICE_VENDOR, vendor);
    ask_text(device, CL_DRIVER_VERSION, driver);
    const kino_device_property properties[] = {
        {"maxComputeUnits", NULL, ask_number(device, CL_DEVICE_MAX_COMPUTE_UNITS)},
        {"maxWorkGroupSize", NULL, ask_number(device, CL_DEVICE_MAX_WORK_GROUP_SIZE)},
        {"maxClockFrequency", NULL, ask_number(device, CL_DEVICE_MAX_CLOCK_FREQUENCY)},
        {"maxMemAllocSize", NULL, ask_number(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE)},
        {"localMemSize", NULL, ask_number(device, CL_DEVICE_LOCAL_MEM_SIZE)},
        {"vendor", vendor, 0},
        {"driverVersion", driver, 0},
    };
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    info.name = name;
    info.memory_bytes = ask_number(device, CL_DEVICE_GLOBAL_MEM_SIZE);
    info.properties = properties;
    info.property_count = sizeof properties / sizeof *properties;
    return kino__opencl_host->add_device(kino__opencl_host, &info);
}

uint32_t kino__opencl_add_device(cl_device_id device)
{
    uint32_t number = KINO_DEVICE_HOST;
    if (!kino__opencl_host)
        return number;
    pthread_mutex_lock(&self.lock);
    uint32_t at = 0;
    while (at < self.count && self.handles[at] != device)
        at++;
    if (at == self.count && at < DEVICES_MAX) {
        self.handles[at] = device;
        self.numbers[at] = describe(device);
        self.count++;
    }
    if (at < DEVICES_MAX)
        number = self.numbers[at];
    pthread_mutex_unlock(&self.lock);
    return number;
}

/* -- what libkino asks */

/* Not every runtime has a timer to read; the times of commands tell enough then. */
static bool now(void *context, uint32_t device, uint64_t *out)
{
    (void)context;
    cl_ulong device_ns = 0, host_ns = 0;
    cl_device_id handle = NULL;
    pthread_mutex_lock(&self.lock);
    for (uint32_t i = 0; i < self.count; i++)
        if (self.numbers[i] == device)
            handle = self.handles[i];
    pthread_mutex_unlock(&self.lock);
    if (!handle || self.has_ended || !kino__opencl_target.clGetDeviceAndHostTimer ||
        kino__opencl_target.clGetDeviceAndHostTimer(handle, &device_ns, &host_ns) != CL_SUCCESS)
        return false;
    *out = device_ns;
    return true;
}

static kino_status start(void *context, kino_error *err)
{
    (void)context;
    self.is_recording = kino__opencl_start_collector();
    if (self.is_recording)
        return KINO_OK;
    (void)snprintf(err->message, sizeof err->message, "cannot start a thread");
    return KINO_UNAVAILABLE;
}

static void stop(void *context)
{
    (void)context;
    self.is_recording = false;
    kino__opencl_stop_collector();
}

static void flush(void *context, uint64_t deadline_ns)
{
    (void)context;
    if (!self.has_ended)
        kino__opencl_finish(deadline_ns, !self.is_recording);
}

static void forked(void *context)
{
    (void)context;
    kino__opencl_forget();
}

static const kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = KINO_DEVICE_BIT(KINO_DEVICE_KERNEL) | KINO_DEVICE_BIT(KINO_DEVICE_MEMCPY) |
             KINO_DEVICE_BIT(KINO_DEVICE_MEMSET) | KINO_DEVICE_BIT(KINO_DEVICE_RUNTIME),
    .name = "opencl",
    .version = KINO_VERSION,
    .start = start,
    .stop = stop,
    .flush = flush,
    .now = now,
    .forked = forked,
};

/* -- how it comes into a process */

static const kino_device_backend *enter_process(const kino_device_host *host, kino_error *err)
{
    (void)err;
    kino__opencl_host = host;
    kino__opencl_name_calls();
    return &backend;
}

KINO_API const kino_device_backend *kino_device_plugin_v1(const kino_device_host *host,
                                                          kino_error *err);

kino_status kino_opencl_enable(kino_error *err)
{
    Dl_info info;
    char value[8192];
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, the contract says */
    const char *before = getenv("OPENCL_LAYERS");
    if (err)
        *err = (kino_error){.offset = KINO_NO_OFFSET};
    if (kino__opencl_host)
        return KINO_OK;
    bool is_found = dladdr(&self, &info) && info.dli_fname;
    if (is_found && before && strstr(before, info.dli_fname))
        return KINO_OK;
    int size = is_found ? snprintf(value, sizeof value, "%s%s%s", before ? before : "",
                                   before && *before ? ":" : "", info.dli_fname)
                        : -1;
    if (size > 0 && (size_t)size < sizeof value &&
        setenv("OPENCL_LAYERS", value, 1) == 0) /* NOLINT(concurrency-mt-unsafe): as above */
        return KINO_OK;
    if (err) {
        err->code = KINO_UNAVAILABLE;
        (void)snprintf(err->message, sizeof err->message,
                       "cannot add the OpenCL layer: its file is unknown");
    }
    return KINO_UNAVAILABLE;
}

/* For those who try: as a plug-in alone it would see nothing. */
const kino_device_backend *kino_device_plugin_v1(const kino_device_host *host, kino_error *err)
{
    (void)host;
    (void)snprintf(err->message, sizeof err->message,
                   "OpenCL can be traced only through its loader: set OPENCL_LAYERS to this path "
                   "instead of KINO_PLUGINS");
    return NULL;
}

/* Runs before what the runtime does at exit, because it was registered later. */
static void at_exit(void)
{
    uint64_t deadline_ns = kino__backend_now() + EXIT_NS;
    kino__opencl_stop_collector();
    kino__opencl_finish(deadline_ns, true);
    self.has_ended = true;
}

static cl_int take_place(cl_uint count, const cl_icd_dispatch *target)
{
    size_t known = count < ENTRIES ? count : ENTRIES;
    const size_t entry = sizeof(void *);
    memcpy(&kino__opencl_target, target, known * entry); /* the rest stays NULL */
    self.table = kino__opencl_target;
    if (kino_device_register(backend.name, enter_process, NULL) != KINO_OK)
        return CL_SUCCESS; /* the program comes first: a table without us */
    kino__opencl_fill(&self.table);
    (void)atexit(at_exit);
    kino__opencl_begin();
    return CL_SUCCESS;
}

/* The names that loaders look for. */
cl_int kino__opencl_layer_info(cl_layer_info what, size_t room, void *out, size_t *size_out);
cl_int kino__opencl_init(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                         const cl_icd_dispatch **out);
cl_int kino__opencl_init_with(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                              const cl_icd_dispatch **out, const void *properties);
cl_int kino__opencl_deinit(void);
cl_int clInitLayerWithProperties(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                                 const cl_icd_dispatch **out, const void *properties);
cl_int clDeinitLayer(void);
#define EXPORTED_AS(function) __attribute__((visibility("default"), alias(#function)))
extern __typeof__(clGetLayerInfo) clGetLayerInfo EXPORTED_AS(kino__opencl_layer_info);
extern __typeof__(clInitLayer) clInitLayer EXPORTED_AS(kino__opencl_init);
extern __typeof__(clInitLayerWithProperties)
    clInitLayerWithProperties EXPORTED_AS(kino__opencl_init_with);
extern __typeof__(clDeinitLayer) clDeinitLayer EXPORTED_AS(kino__opencl_deinit);

cl_int kino__opencl_layer_info(cl_layer_info what, size_t room, void *out, size_t *size_out)
{
    static const char name[] = "kino " KINO_VERSION;
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *value = what == CL_LAYER_NAME ? (const void *)name : &version;
    size_t size = what == CL_LAYER_NAME ? sizeof name : sizeof version;
    if ((what != CL_LAYER_NAME && what != CL_LAYER_API_VERSION) || (out && room < size) ||
        (!out && !size_out))
        return CL_INVALID_VALUE;
    if (out)
        memcpy(out, value, size);
    if (size_out)
        *size_out = size;
    return CL_SUCCESS;
}

cl_int kino__opencl_init(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                         const cl_icd_dispatch **out)
{
    if (!target || !count_out || !out)
        return CL_INVALID_VALUE;
    cl_int status = take_place(count, target);
    *count_out = count < ENTRIES ? count : ENTRIES;
    *out = &self.table;
    return status;
}

cl_int kino__opencl_init_with(cl_uint count, const cl_icd_dispatch *target, cl_uint *count_out,
                              const cl_icd_dispatch **out, const void *properties)
{
    (void)properties;
    return kino__opencl_init(count, target, count_out, out);
}

/* The loader is going: the runtime must not be called from here on. */
cl_int kino__opencl_deinit(void)
{
    if (!self.has_ended)
        at_exit();
    return CL_SUCCESS;
}
