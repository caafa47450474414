/* metrics_gpu_rocm_smi.c - AMD's GPUs through ROCm SMI (librocm_smi64.so). */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>

#include "daemon/metrics_gpu.h"

#define RSMI_FUNCTIONS(X)                                                                          \
    X(init, "rsmi_init", (uint64_t))                                                               \
    X(shutdown, "rsmi_shut_down", (void))                                                          \
    X(count, "rsmi_num_monitor_devices", (uint32_t *))                                             \
    X(name, "rsmi_dev_name_get", (uint32_t, char *, size_t))                                       \
    X(unique_id, "rsmi_dev_unique_id_get", (uint32_t, uint64_t *))                                 \
    X(busy, "rsmi_dev_busy_percent_get", (uint32_t, uint32_t *))                                   \
    X(memory_busy, "rsmi_dev_memory_busy_percent_get", (uint32_t, uint32_t *))                     \
    X(memory_total, "rsmi_dev_memory_total_get", (uint32_t, int, uint64_t *))                      \
    X(memory_used, "rsmi_dev_memory_usage_get", (uint32_t, int, uint64_t *))                       \
    X(socket_power, "rsmi_dev_current_socket_power_get", (uint32_t, uint64_t *))                   \
    X(average_power, "rsmi_dev_power_ave_get", (uint32_t, uint32_t, uint64_t *))                   \
    X(energy, "rsmi_dev_energy_count_get", (uint32_t, uint64_t *, float *, uint64_t *))            \
    X(temperature, "rsmi_dev_temp_metric_get", (uint32_t, uint32_t, int, int64_t *))               \
    X(clock, "rsmi_dev_gpu_clk_freq_get", (uint32_t, int, void *))

enum {
    RSMI_OK = 0,
    RSMI_VRAM = 0,
    RSMI_JUNCTION = 1,
    RSMI_CURRENT = 0,
    RSMI_SYSTEM_CLOCK = 0,
    RSMI_MEMORY_CLOCK = 4
};

typedef struct state {
#define X(field, symbol, parameters) int(*field) parameters;
    RSMI_FUNCTIONS(X)
#undef X
    bool is_open;
} state;

static bool open_rocm_smi(void *context, void *library, int64_t interval_ns, char *reason)
{
    state *self = context;
    (void)interval_ns;
#define X(field, symbol, parameters) *(void **)(&self->field) = dlsym(library, symbol);
    RSMI_FUNCTIONS(X)
#undef X
    if (!self->init || !self->count) {
        (void)snprintf(reason, KINO__MISS_SIZE, "ROCm SMI: its library lacks rsmi_init");
        return false;
    }
    int status = self->init(0);
    if (status != RSMI_OK) {
        (void)snprintf(reason, KINO__MISS_SIZE, "cannot initialize ROCm SMI (status %d)", status);
        return false;
    }
    self->is_open = true;
    return true;
}

static void close_rocm_smi(void *context)
{
    state *self = context;
    if (self->is_open && self->shutdown)
        (void)self->shutdown();
}

static void read_identity(const state *self, uint32_t device, kino__gpu *gpu)
{
    uint64_t id;
    if (!self->name || self->name(device, gpu->name, sizeof gpu->name) != RSMI_OK)
        gpu->name[0] = '\0';
    gpu->name[sizeof gpu->name - 1] = '\0';
    if (self->unique_id && self->unique_id(device, &id) == RSMI_OK)
        (void)snprintf(gpu->uuid, sizeof gpu->uuid, "%016" PRIx64, id);
}

static void read_use(const state *self, uint32_t device, int64_t *values)
{
    uint32_t percent;
    uint64_t bytes;
    if (self->busy && self->busy(device, &percent) == RSMI_OK)
        values[KINO__GPU_UTILIZATION] = kino__gpu_percent(percent);
    if (self->memory_busy && self->memory_busy(device, &percent) == RSMI_OK)
        values[KINO__GPU_MEMORY_UTILIZATION] = kino__gpu_percent(percent);
    if (self->memory_total && self->memory_total(device, RSMI_VRAM, &bytes) == RSMI_OK)
        values[KINO__GPU_MEMORY_TOTAL] = (int64_t)bytes;
    if (self->memory_used && self->memory_used(device, RSMI_VRAM, &bytes) == RSMI_OK)
        values[KINO__GPU_MEMORY_USED] = (int64_t)bytes;
}

/* The list of clocks has the current one's index. Newer releases have a flag in front of it,
 * under the same name of the function: the numbers tell which one it is, as an index is below
 * its count.
 *   older: u32 count, u32 current, u64 hz[32]
 *   newer: bool, u32 count, u32 current, u64 hz[33] */
static int64_t read_clock(const state *self, uint32_t device, int type)
{
    uint64_t words[64] = {0};
    uint32_t head[4];
    if (!self->clock || self->clock(device, type, words) != RSMI_OK)
        return KINO_NO_INT;
    memcpy(head, words, sizeof head);
    bool is_older = head[0] >= 1 && head[0] <= 33 && head[1] < head[0];
    uint32_t count = is_older ? head[0] : head[1], current = is_older ? head[1] : head[2];
    if (count == 0 || count > 33 || current >= count)
        return KINO_NO_INT;
    uint64_t hz = words[(is_older ? 1 : 2) + current];
    return hz <= INT64_MAX ? (int64_t)hz : KINO_NO_INT;
}

static void read_state(const state *self, uint32_t device, int64_t *values)
{
    uint64_t microwatts, count, time;
    int64_t millidegrees;
    float microjoules = 0;
    if ((self->socket_power && self->socket_power(device, &microwatts) == RSMI_OK) ||
        (self->average_power && self->average_power(device, 0, &microwatts) == RSMI_OK))
        values[KINO__GPU_POWER] = (int64_t)(microwatts / 1000);
    if (self->energy && self->energy(device, &count, &microjoules, &time) == RSMI_OK)
        values[KINO__GPU_ENERGY] = (int64_t)((double)count * (double)microjoules / 1000);
    if (self->temperature &&
        self->temperature(device, RSMI_JUNCTION, RSMI_CURRENT, &millidegrees) == RSMI_OK)
        values[KINO__GPU_TEMPERATURE] = millidegrees;
    values[KINO__GPU_SM_CLOCK] = read_clock(self, device, RSMI_SYSTEM_CLOCK);
    values[KINO__GPU_MEMORY_CLOCK] = read_clock(self, device, RSMI_MEMORY_CLOCK);
}

static unsigned read_rocm_smi(void *context, kino__gpu *gpus, unsigned most)
{
    const state *self = context;
    uint32_t count = 0;
    if (self->count(&count) != RSMI_OK)
        return 0;
    unsigned read = count < most ? count : most;
    for (unsigned i = 0; i < read; i++) {
        kino__gpu_init(&gpus[i], "rocm_smi", i);
        read_identity(self, i, &gpus[i]);
        read_use(self, i, gpus[i].values);
        read_state(self, i, gpus[i].values);
    }
    return read;
}

static const char *const libraries[] = {"librocm_smi64.so.7", "librocm_smi64.so.6",
                                        "librocm_smi64.so.5", "librocm_smi64.so.1",
                                        "librocm_smi64.so",   NULL};

const kino__gpu_library kino__gpu_rocm_smi = {
    .name = "rocm_smi",
    .environment = "KINO_ROCM_SMI_LIBRARY",
    .libraries = libraries,
    .is_nvidia = false,
    .state_size = sizeof(state),
    .open = open_rocm_smi,
    .read = read_rocm_smi,
    .close = close_rocm_smi,
};
