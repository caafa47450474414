/* nvml.c - stands in for libnvidia-ml.so.1: two GPUs with known values, the second of which is ill.
 *
 *   KINO_STANDIN_INIT=9    nvmlInit_v2 fails with that status
 *   KINO_STANDIN_HANG=x    questions about use do not come back as long as the file x is there
 *   KINO_STANDIN_PID=123   that process uses 3 GiB of the first GPU */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct {
    unsigned int gpu, memory;
} nvmlUtilization_t;
typedef struct {
    unsigned long long total, free, used;
} nvmlMemory_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int status);
int nvmlDeviceGetCount_v2(unsigned int *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device);
int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length);
int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length);
int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *use);
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts);
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules);
int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *degrees);
int nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *megahertz);
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                            nvmlProcessInfo_t *processes);

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, TOO_SMALL = 7, LOST = 15 };

static struct nvmlDevice_st {
    int is_started;
    unsigned long long energy_mj;
} devices[2] = {{0, 1000000}, {0, 0}};

static int setting(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

int nvmlInit_v2(void)
{
    int status = setting("KINO_STANDIN_INIT");
    devices[0].is_started = status == 0;
    return status;
}

int nvmlShutdown(void)
{
    devices[0].is_started = 0;
    return OK;
}

const char *nvmlErrorString(int status)
{
    return status == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = 2;
    return devices[0].is_started ? OK : 1;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    if (index >= 2)
        return INVALID;
    *device = &devices[index];
    return OK;
}

int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    (void)snprintf(name, length, "%s",
                   device == &devices[0] ? "Stand-in 80GB" : "Stand-in \"ill\"");
    return OK;
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    if (device != &devices[0])
        return NOT_SUPPORTED;
    (void)snprintf(uuid, length, "GPU-6f1c0b1e-0000-4000-8000-000000000001");
    return OK;
}

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *use)
{
    const char *hangs = getenv("KINO_STANDIN_HANG");
    while (hangs && access(hangs, F_OK) == 0)
        (void)usleep(10000);
    *use = (nvmlUtilization_t){37, 12};
    return device == &devices[0] ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    const unsigned long long gib = 1ull << 30;
    *memory = (nvmlMemory_t){80 * gib, 59 * gib, 21 * gib};
    return device == &devices[0] ? OK : LOST;
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *milliwatts)
{
    *milliwatts = device == &devices[0] ? 251300 : 60000;
    return OK;
}

/* 500 J more with each question. */
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *millijoules)
{
    if (device != &devices[0])
        return NOT_SUPPORTED;
    *millijoules = device->energy_mj;
    device->energy_mj += 500000;
    return OK;
}

int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *degrees)
{
    *degrees = 61;
    return device == &devices[0] && sensor == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned int *megahertz)
{
    *megahertz = type == 1 ? 1410 : type == 2 ? 1215 : 0;
    return device == &devices[0] ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                            nvmlProcessInfo_t *processes)
{
    int pid = setting("KINO_STANDIN_PID");
    if (device != &devices[0])
        return NOT_SUPPORTED;
    if (*count < 2)
        return TOO_SMALL;
    *count = pid ? 2 : 0;
    processes[0] = (nvmlProcessInfo_t){(unsigned int)pid, 3ull << 30, 0, 0};
    processes[1] = (nvmlProcessInfo_t){4194000, ~0ull, 0, 0}; /* its memory is not known */
    return OK;
}
