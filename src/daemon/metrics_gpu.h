/* metrics_gpu.h - for the files that read GPUs: one per vendor's library, loaded when it is there.
 *
 * A new library: src/daemon/metrics_gpu_<name>.c with a kino__gpu_library, its line in the table of
 * metrics_gpu.c, and a stand-in in tests/standin/<name>/ that plays known values. Own declarations
 * of the few functions that are used; each may be missing, and each may fail, alone: then its value
 * is missing, and the others are not. All calls come from one thread of their own, so that a driver
 * that hangs makes nobody wait. */
#ifndef KINO__DAEMON_METRICS_GPU_H
#define KINO__DAEMON_METRICS_GPU_H

#include "daemon/metrics_internal.h"

enum {
    KINO__GPU_UTILIZATION, /* shares have 6 digits */
    KINO__GPU_MEMORY_UTILIZATION,
    KINO__GPU_MEMORY_USED, /* bytes */
    KINO__GPU_MEMORY_TOTAL,
    KINO__GPU_POWER,       /* W, 3 digits */
    KINO__GPU_ENERGY,      /* J, 3 digits; a counter */
    KINO__GPU_TEMPERATURE, /* degrees Celsius, 3 digits */
    KINO__GPU_SM_CLOCK,    /* Hz */
    KINO__GPU_MEMORY_CLOCK,
    KINO__GPU_GRAPHICS_ACTIVE, /* from here on by DCGM's profiling only */
    KINO__GPU_SM_ACTIVE,
    KINO__GPU_SM_OCCUPANCY,
    KINO__GPU_TENSOR_ACTIVE,
    KINO__GPU_DRAM_ACTIVE,
    KINO__GPU_FP64_ACTIVE,
    KINO__GPU_FP32_ACTIVE,
    KINO__GPU_FP16_ACTIVE,
    KINO__GPU_PCIE_SENT, /* bytes per second */
    KINO__GPU_PCIE_RECEIVED,
    KINO__GPU_NVLINK_SENT,
    KINO__GPU_NVLINK_RECEIVED,
    KINO__GPU_VALUES
};

enum { KINO__GPU_MOST = 32, KINO__GPU_PROCESSES = 16 };

typedef struct kino__gpu_process {
    int64_t pid, memory_bytes; /* memory may be KINO_NO_INT */
} kino__gpu_process;

/* One GPU as read; all values are KINO_NO_INT until they are known. */
typedef struct kino__gpu {
    const char *source; /* the library's name */
    unsigned index;
    char name[KINO__LABEL_SIZE], uuid[KINO__LABEL_SIZE];
    int64_t values[KINO__GPU_VALUES];
    kino__gpu_process processes[KINO__GPU_PROCESSES];
    unsigned process_count;
} kino__gpu;

typedef struct kino__gpu_library {
    const char *name;
    const char *environment;      /* a variable with the library's path, for tests and odd places */
    const char *const *libraries; /* names to try, ends with NULL */
    bool is_nvidia; /* of two libraries for the same GPUs the first one that works is used */
    size_t state_size;
    /* False: not usable; the reason is written. */
    bool (*open)(void *state, void *library, int64_t interval_ns, char reason[KINO__MISS_SIZE]);
    /* Fills in what can be read of each; returns how many there are. */
    unsigned (*read)(void *state, kino__gpu *gpus, unsigned most);
    void (*close)(void *state);
    /* Profiling fields, which others (Nsight) may want to have for themselves; NULL: there are
     * none. */
    bool (*has_profiling)(const void *state);
    void (*pause_profiling)(void *state, bool is_paused);
} kino__gpu_library;

extern const kino__gpu_library kino__gpu_nvml, kino__gpu_dcgm, kino__gpu_rocm_smi;

/* The GPU number `index`, with nothing known of it. */
void kino__gpu_init(kino__gpu *gpu, const char *source, unsigned index);

/* Percent (whole) as a share with 6 digits. */
static inline int64_t kino__gpu_percent(int64_t percent)
{
    return percent >= 0 && percent <= 100 ? percent * 10000 : KINO_NO_INT;
}

#endif
