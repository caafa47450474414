/* metrics_gpu_dcgm.c - NVIDIA's GPUs through a host engine of DCGM that runs already: all that NVML
 * knows, and the profiling fields (how busy SMs, tensor cores, memory and links were).
 *
 * An engine inside the daemon would cost it threads and tens of MB: where none runs, NVML is used.
 * KINO_DCGM_ADDRESS says where it is ("127.0.0.1" by default). */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/metrics_gpu.h"

/* -- what is used of DCGM -- */

typedef struct dcgm_value {
    unsigned version;
    unsigned short field, type;
    int status;
    int64_t time_us;
    union {
        int64_t integer;
        double real;
        char text[256];
        char bytes[4096];
    } as;
} dcgm_value;
static_assert(sizeof(dcgm_value) == 24 + 4096, "as DCGM has it: callbacks get arrays of them");

typedef uintptr_t dcgm_id; /* of a handle, a group, a group of fields */
typedef int dcgm_value_fn(int entity_group, unsigned entity, dcgm_value *values, int count,
                          void *context);

#define DCGM_FUNCTIONS(X)                                                                          \
    X(init, "dcgmInit", (void))                                                                    \
    X(shutdown, "dcgmShutdown", (void))                                                            \
    X(connect, "dcgmConnect", (const char *, dcgm_id *))                                           \
    X(disconnect, "dcgmDisconnect", (dcgm_id))                                                     \
    X(make_fields, "dcgmFieldGroupCreate",                                                         \
      (dcgm_id, int, unsigned short *, const char *, dcgm_id *))                                   \
    X(free_fields, "dcgmFieldGroupDestroy", (dcgm_id, dcgm_id))                                    \
    X(watch, "dcgmWatchFields", (dcgm_id, dcgm_id, dcgm_id, long long, double, int))               \
    X(latest, "dcgmGetLatestValues_v2", (dcgm_id, dcgm_id, dcgm_id, dcgm_value_fn *, void *))      \
    X(pause, "dcgmProfPause", (dcgm_id))                                                           \
    X(resume, "dcgmProfResume", (dcgm_id))

enum {
    DCGM_OK = 0,
    DCGM_ALL_GPUS = 0x7fffffff,
    DCGM_ENTITY_GPU = 1,
    DCGM_NAME = 50,
    DCGM_UUID = 54
};

typedef struct field {
    unsigned short id;
    unsigned value; /* KINO__GPU_* */
    double factor;  /* from DCGM's unit to ours */
} field;

static const field fields[] = {
    {100, KINO__GPU_SM_CLOCK, 1e6},
    {101, KINO__GPU_MEMORY_CLOCK, 1e6},
    {150, KINO__GPU_TEMPERATURE, 1e3},
    {155, KINO__GPU_POWER, 1e3},
    {156, KINO__GPU_ENERGY, 1}, /* mJ */
    {203, KINO__GPU_UTILIZATION, 1e4},
    {204, KINO__GPU_MEMORY_UTILIZATION, 1e4},
    {250, KINO__GPU_MEMORY_TOTAL, 1048576}, /* MiB */
    {252, KINO__GPU_MEMORY_USED, 1048576},
    {1001, KINO__GPU_GRAPHICS_ACTIVE, 1e6},
    {1002, KINO__GPU_SM_ACTIVE, 1e6},
    {1003, KINO__GPU_SM_OCCUPANCY, 1e6},
    {1004, KINO__GPU_TENSOR_ACTIVE, 1e6},
    {1005, KINO__GPU_DRAM_ACTIVE, 1e6},
    {1006, KINO__GPU_FP64_ACTIVE, 1e6},
    {1007, KINO__GPU_FP32_ACTIVE, 1e6},
    {1008, KINO__GPU_FP16_ACTIVE, 1e6},
    {1009, KINO__GPU_PCIE_SENT, 1},
    {1010, KINO__GPU_PCIE_RECEIVED, 1},
    {1011, KINO__GPU_NVLINK_SENT, 1},
    {1012, KINO__GPU_NVLINK_RECEIVED, 1},
};
enum { FIELDS = sizeof fields / sizeof fields[0], FIRST_PROFILING = 1001 };

typedef struct state {
#define X(name, symbol, parameters) int(*name) parameters;
    DCGM_FUNCTIONS(X)
#undef X
    const char *(*error_text)(int);
    bool is_started, is_connected;
    dcgm_id handle, basic, profiling; /* profiling: 0 where the GPUs do not have it */
    bool is_paused;
} state;

static bool fail(const state *self, int status, const char *what, char *reason)
{
    const char *text = self->error_text ? self->error_text(status) : NULL;
    (void)snprintf(reason, KINO__MISS_SIZE, "DCGM: %s: %s (%d)", what, text ? text : "error",
                   status);
    return false;
}

/* Groups of fields have names that must be new in the host engine. */
static int watch_fields(const state *self, bool is_profiling, int64_t interval_ns, dcgm_id *out)
{
    unsigned short ids[FIELDS + 2];
    int count = 0;
    char name[64];
    if (!is_profiling) {
        ids[count++] = DCGM_NAME;
        ids[count++] = DCGM_UUID;
    }
    for (size_t i = 0; i < FIELDS; i++)
        if ((fields[i].id >= FIRST_PROFILING) == is_profiling)
            ids[count++] = fields[i].id;
    (void)snprintf(name, sizeof name, "kino-%d-%s", (int)getpid(),
                   is_profiling ? "profiling" : "basic");
    int status = self->make_fields(self->handle, count, ids, name, out);
    if (status != DCGM_OK)
        return status;
    status = self->watch(self->handle, DCGM_ALL_GPUS, *out, interval_ns / 1000, 10.0, 2);
    if (status != DCGM_OK) {
        if (self->free_fields)
            (void)self->free_fields(self->handle, *out);
        *out = 0;
    }
    return status;
}

static bool open_dcgm(void *context, void *library, int64_t interval_ns, char *reason)
{
    state *self = context;
#define X(name, symbol, parameters) *(void **)(&self->name) = dlsym(library, symbol);
    DCGM_FUNCTIONS(X)
#undef X
    *(void **)(&self->error_text) = dlsym(library, "errorString");
    if (!self->init || !self->connect || !self->make_fields || !self->watch || !self->latest) {
        (void)snprintf(reason, KINO__MISS_SIZE, "DCGM: its library lacks a required function");
        return false;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody calls setenv here */
    const char *address = getenv("KINO_DCGM_ADDRESS");
    int status = self->init();
    if (status != DCGM_OK)
        return fail(self, status, "cannot start", reason);
    self->is_started = true;
    status = self->connect(address && address[0] ? address : "127.0.0.1", &self->handle);
    if (status != DCGM_OK)
        return fail(self, status, "no host engine is running", reason);
    self->is_connected = true;
    status = watch_fields(self, false, interval_ns, &self->basic);
    if (status != DCGM_OK)
        return fail(self, status, "cannot watch fields", reason);
    (void)watch_fields(self, true, interval_ns, &self->profiling);
    return true;
}

static bool has_profiling(const void *context)
{
    const state *self = context;
    return self->profiling && self->pause && self->resume;
}

static void pause_profiling(void *context, bool is_paused)
{
    state *self = context;
    (void)(is_paused ? self->pause : self->resume)(self->handle);
    self->is_paused = is_paused;
}

static void close_dcgm(void *context)
{
    state *self = context;
    if (self->is_paused)
        pause_profiling(self, false);
    if (self->is_connected && self->free_fields) {
        (void)self->free_fields(self->handle, self->basic);
        if (self->profiling)
            (void)self->free_fields(self->handle, self->profiling);
    }
    if (self->is_connected && self->disconnect)
        (void)self->disconnect(self->handle);
    if (self->is_started && self->shutdown)
        (void)self->shutdown();
}

/* -- values -- */

typedef struct list {
    kino__gpu *gpus;
    unsigned count, most;
} list;

static kino__gpu *find_gpu(list *all, unsigned entity)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->gpus[i].index == entity)
            return &all->gpus[i];
    if (all->count == all->most)
        return NULL;
    kino__gpu_init(&all->gpus[all->count], "dcgm", entity);
    return &all->gpus[all->count++];
}

/* DCGM says "not there" with values from 2^47 (reals) and 0x7ffffffffffffff0 (integers) on. */
static int64_t number_of(const dcgm_value *value, double factor)
{
    double real;
    if (value->type == 'd')
        real = value->as.real;
    else if (value->type == 'i' && value->as.integer < 0x7ffffffffffffff0)
        real = (double)value->as.integer;
    else
        return KINO_NO_INT;
    if (!(real >= 0) || real >= 140737488355328.0)
        return KINO_NO_INT;
    real = real * factor + 0.5;
    return real < 9e18 ? (int64_t)real : KINO_NO_INT;
}

static void set_text(char *out, const dcgm_value *value)
{
    size_t length = strnlen(value->as.text, KINO__LABEL_SIZE - 1);
    if (value->type != 's' || value->as.text[0] == '<') /* "<<<NULL>>>" */
        return;
    memcpy(out, value->as.text, length);
    out[length] = '\0';
}

static void take_value(kino__gpu *gpu, const dcgm_value *value)
{
    if (value->status != DCGM_OK)
        return;
    if (value->field == DCGM_NAME)
        set_text(gpu->name, value);
    if (value->field == DCGM_UUID)
        set_text(gpu->uuid, value);
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].id == value->field)
            gpu->values[fields[i].value] = number_of(value, fields[i].factor);
}

static int take_values(int entity_group, unsigned entity, dcgm_value *values, int count,
                       void *context)
{
    if (entity_group != DCGM_ENTITY_GPU)
        return 0;
    kino__gpu *gpu = find_gpu(context, entity);
    for (int i = 0; gpu && i < count; i++)
        take_value(gpu, &values[i]);
    return 0;
}

static unsigned read_dcgm(void *context, kino__gpu *gpus, unsigned most)
{
    const state *self = context;
    list all = {gpus, 0, most};
    if (self->latest(self->handle, DCGM_ALL_GPUS, self->basic, take_values, &all) != DCGM_OK)
        return 0;
    if (self->profiling && !self->is_paused)
        (void)self->latest(self->handle, DCGM_ALL_GPUS, self->profiling, take_values, &all);
    return all.count;
}

static const char *const libraries[] = {"libdcgm.so.4", "libdcgm.so.3", "libdcgm.so", NULL};

const kino__gpu_library kino__gpu_dcgm = {
    .name = "dcgm",
    .environment = "KINO_DCGM_LIBRARY",
    .libraries = libraries,
    .is_nvidia = true,
    .state_size = sizeof(state),
    .open = open_dcgm,
    .read = read_dcgm,
    .close = close_dcgm,
    .has_profiling = has_profiling,
    .pause_profiling = pause_profiling,
};
