/* metrics_gpu_nvml.c - NVIDIA's GPUs through NVML (libnvidia-ml.so.1, part of the driver). */
#include <dlfcn.h>
#include <stdio.h>

#include "daemon/metrics_gpu.h"

/* -- what is used of NVML -- */

typedef struct nvml_device *nvml_device;
typedef struct nvml_utilization {
    unsigned gpu, memory; /* percent */
} nvml_utilization;
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;
typedef struct nvml_process { /* of _v3; _v2 is the same */
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} nvml_process;

enum { NVML_OK = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

#define NVML_FUNCTIONS(X)                                                                          \
    X(init, "nvmlInit_v2", (void))                                                                 \
    X(shutdown, "nvmlShutdown", (void))                                                            \
    X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                                \
    X(device, "nvmlDeviceGetHandleByIndex_v2", (unsigned, nvml_device *))                          \
    X(name, "nvmlDeviceGetName", (nvml_device, char *, unsigned))                                  \
    X(uuid, "nvmlDeviceGetUUID", (nvml_device, char *, unsigned))                                  \
    X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_device, nvml_utilization *))             \
    X(memory, "nvmlDeviceGetMemoryInfo", (nvml_device, nvml_memory *))                             \
    X(power, "nvmlDeviceGetPowerUsage", (nvml_device, unsigned *))                                 \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", (nvml_device, unsigned long long *))          \
    X(temperature, "nvmlDeviceGetTemperature", (nvml_device, int, unsigned *))                     \
    X(clock, "nvmlDeviceGetClockInfo", (nvml_device, int, unsigned *))                             \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
      (nvml_device, unsigned *, nvml_process *))

typedef struct state {
#define X(field, symbol, parameters) int(*field) parameters;
    NVML_FUNCTIONS(X)
#undef X
    const char *(*error_text)(int);
    bool is_open;
} state;

static bool open_nvml(void *context, void *library, int64_t interval_ns, char *reason)
{
    state *self = context;
    (void)interval_ns;
#define X(field, symbol, parameters) *(void **)(&self->field) = dlsym(library, symbol);
    NVML_FUNCTIONS(X)
#undef X
    *(void **)(&self->error_text) = dlsym(library, "nvmlErrorString");
    if (!self->init || !self->count || !self->device) {
        (void)snprintf(reason, KINO__MISS_SIZE, "NVML is too old: nvmlInit_v2 is missing");
        return false;
    }
    int status = self->init();
    if (status != NVML_OK) {
        (void)snprintf(reason, KINO__MISS_SIZE, "cannot initialize NVML: %s (%d)",
                       self->error_text ? self->error_text(status) : "error", status);
        return false;
    }
    self->is_open = true;
    return true;
}

static void close_nvml(void *context)
{
    state *self = context;
    if (self->is_open && self->shutdown)
        (void)self->shutdown();
}

static void read_identity(const state *self, nvml_device device, kino__gpu *gpu)
{
    if (!self->name || self->name(device, gpu->name, sizeof gpu->name) != NVML_OK)
        gpu->name[0] = '\0';
    if (!self->uuid || self->uuid(device, gpu->uuid, sizeof gpu->uuid) != NVML_OK)
        gpu->uuid[0] = '\0';
}

static void read_use(const state *self, nvml_device device, int64_t *values)
{
    nvml_utilization use;
    nvml_memory memory;
    if (self->utilization && self->utilization(device, &use) == NVML_OK) {
        values[KINO__GPU_UTILIZATION] = kino__gpu_percent(use.gpu);
        values[KINO__GPU_MEMORY_UTILIZATION] = kino__gpu_percent(use.memory);
    }
    if (self->memory && self->memory(device, &memory) == NVML_OK) {
        values[KINO__GPU_MEMORY_USED] = (int64_t)memory.used;
        values[KINO__GPU_MEMORY_TOTAL] = (int64_t)memory.total;
    }
}

static void read_state(const state *self, nvml_device device, int64_t *values)
{
    unsigned value;
    unsigned long long energy_mj;
    if (self->power && self->power(device, &value) == NVML_OK)
        values[KINO__GPU_POWER] = value; /* mW */
    if (self->energy && self->energy(device, &energy_mj) == NVML_OK)
        values[KINO__GPU_ENERGY] = (int64_t)energy_mj;
    if (self->temperature && self->temperature(device, 0, &value) == NVML_OK)
        values[KINO__GPU_TEMPERATURE] = (int64_t)value * 1000;
    if (self->clock && self->clock(device, NVML_CLOCK_SM, &value) == NVML_OK)
        values[KINO__GPU_SM_CLOCK] = (int64_t)value * 1000000;
    if (self->clock && self->clock(device, NVML_CLOCK_MEMORY, &value) == NVML_OK)
        values[KINO__GPU_MEMORY_CLOCK] = (int64_t)value * 1000000;
}

/* When there are more, NVML gives none of them: so asks for many, and keeps some. */
static void read_processes(const state *self, nvml_device device, kino__gpu *gpu)
{
    enum { ASKED = 128 };
    nvml_process found[ASKED];
    unsigned count = ASKED;
    if (!self->processes || self->processes(device, &count, found) != NVML_OK)
        return;
    for (unsigned i = 0; i < count && i < ASKED && gpu->process_count < KINO__GPU_PROCESSES; i++) {
        bool is_known = found[i].memory <= INT64_MAX;
        gpu->processes[gpu->process_count++] =
            (kino__gpu_process){found[i].pid, is_known ? (int64_t)found[i].memory : KINO_NO_INT};
    }
}

static unsigned read_nvml(void *context, kino__gpu *gpus, unsigned most)
{
    const state *self = context;
    unsigned count = 0, read = 0;
    if (self->count(&count) != NVML_OK)
        return 0;
    for (unsigned i = 0; i < count && read < most; i++) {
        nvml_device device;
        kino__gpu *gpu = &gpus[read];
        if (self->device(i, &device) != NVML_OK)
            continue;
        kino__gpu_init(gpu, "nvml", i);
        read_identity(self, device, gpu);
        read_use(self, device, gpu->values);
        read_state(self, device, gpu->values);
        read_processes(self, device, gpu);
        read++;
    }
    return read;
}

static const char *const libraries[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};

const kino__gpu_library kino__gpu_nvml = {
    .name = "nvml",
    .environment = "KINO_NVML_LIBRARY",
    .libraries = libraries,
    .is_nvidia = true,
    .state_size = sizeof(state),
    .open = open_nvml,
    .read = read_nvml,
    .close = close_nvml,
};
