/* standin_cuda.c - the stand-in's CUDA driver (libcuda.so): made-up devices, and a start in which
 * it must not be called.
 *
 *   STANDIN_DEVICES=1            how many devices (default 2)
 *   STANDIN_UNKNOWN=39           the driver does not know this attribute */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/library.h"
#include "standin.h"

static enum { NOT_STARTED, STARTING, STARTED } phase;
static void (*at_end)(void);

void standin_at_end(void (*what)(void))
{
    at_end = what;
}

__attribute__((destructor)) static void end(void)
{
    if (at_end)
        at_end();
}

/* As the driver does it: who is injected is called in the middle, and must not call back. */
int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    FAIL_IF_WANTED();
    if (phase == STARTING) {
        fprintf(stderr, "stand-in: cuInit within cuInit never returns\n");
        abort();
    }
    if (phase == NOT_STARTED && path && *path) {
        phase = STARTING;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*inject)(void) = NULL;
        void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
        memcpy(&inject, &symbol, sizeof symbol);
        if (inject)
            inject();
    }
    phase = STARTED;
    return flags ? 1 : 0;
}

/* What every other function of the driver says before. */
static int refuse(const char *function)
{
    if (phase == STARTING) {
        fprintf(stderr, "stand-in: %s within cuInit never returns\n", function);
        abort();
    }
    return phase == STARTED ? 0 : 3;
}

int cuDriverGetVersion(int *version)
{
    FAIL_IF_WANTED();
    *version = 13010;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    FAIL_IF_WANTED();
    *count = (int)setting("STANDIN_DEVICES", 2);
    return refuse(__func__);
}

int cuDeviceGet(int *device, int ordinal)
{
    FAIL_IF_WANTED();
    *device = ordinal;
    return refuse(__func__);
}

int cuDeviceGetName(char *name, int size, int device)
{
    FAIL_IF_WANTED();
    snprintf(name, (size_t)size, "Demo \"GPU\" %d", device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    FAIL_IF_WANTED();
    *bytes = (size_t)1 << (30 + device);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int known[][2] = {{1, 1024},    {8, 49152},  {10, 32},     {12, 65536},
                                   {16, 4},      {39, 2048},  {75, 9},      {76, 0},
                                   {81, 233472}, {82, 65536}, {97, 232448}, {111, 1024}};
    FAIL_IF_WANTED();
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == attribute && attribute != setting("STANDIN_UNKNOWN", -1)) {
            *value = known[i][1];
            return 0;
        }
    return 1;
}
