/* nvprof_calls.c - CUPTI's numbers of calls. */
#include "reader/nvprof_calls.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct call_name {
    int64_t number;
    const char *name;
} call_name;

static const call_name runtime_calls[] = {
    {3, "cudaGetDeviceCount"},
    {4, "cudaGetDeviceProperties"},
    {10, "cudaGetLastError"},
    {11, "cudaPeekAtLastError"},
    {13, "cudaLaunch"},
    {14, "cudaFuncSetCacheConfig"},
    {15, "cudaFuncGetAttributes"},
    {16, "cudaSetDevice"},
    {17, "cudaGetDevice"},
    {20, "cudaMalloc"},
    {22, "cudaFree"},
    {25, "cudaMallocHost"},
    {26, "cudaFreeHost"},
    {27, "cudaHostAlloc"},
    {30, "cudaMemGetInfo"},
    {31, "cudaMemcpy"},
    {32, "cudaMemcpy2D"},
    {39, "cudaMemcpyToSymbol"},
    {40, "cudaMemcpyFromSymbol"},
    {41, "cudaMemcpyAsync"},
    {44, "cudaMemcpy2DAsync"},
    {49, "cudaMemset"},
    {50, "cudaMemset2D"},
    {51, "cudaMemsetAsync"},
    {52, "cudaMemset2DAsync"},
    {129, "cudaStreamCreate"},
    {130, "cudaStreamDestroy"},
    {131, "cudaStreamSynchronize"},
    {132, "cudaStreamQuery"},
    {133, "cudaEventCreate"},
    {134, "cudaEventCreateWithFlags"},
    {135, "cudaEventRecord"},
    {136, "cudaEventDestroy"},
    {137, "cudaEventSynchronize"},
    {138, "cudaEventQuery"},
    {139, "cudaEventElapsedTime"},
    {147, "cudaStreamWaitEvent"},
    {165, "cudaDeviceSynchronize"},
    {200, "cudaDeviceGetAttribute"},
    {211, "cudaLaunchKernel"},
    {269, "cudaLaunchCooperativeKernel"},
    {311, "cudaGraphLaunch"},
};

static const call_name driver_calls[] = {
    {307, "cuLaunchKernel"},
};

static const char *find(const call_name *calls, size_t count, int64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return NULL;
}

const char *kino__nvprof_call_name(bool is_driver, int64_t number, char *text, size_t size)
{
    const char *name =
        is_driver ? find(driver_calls, sizeof driver_calls / sizeof *driver_calls, number)
                  : find(runtime_calls, sizeof runtime_calls / sizeof *runtime_calls, number);
    if (name)
        return name;
    (void)snprintf(text, size, "%s call %" PRId64, is_driver ? "driver" : "runtime", number);
    return text;
}
