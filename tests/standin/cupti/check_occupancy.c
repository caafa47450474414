/* check_occupancy.c - our calculation of occupancy beside NVIDIA's (cuda_occupancy.h), over all
 * generations and many shapes. Exits with 1 at the first difference. */
#include <cuda_occupancy.h>
#include <limits.h>
#include <stdio.h>

#include "tracer/backend/cupti/cupti_internal.h"

static const kino__cuda_limits devices[] = {
    /* major, minor, threads: block, SM; registers: block; warp; shared: block; SMs; registers: SM;
     * shared: block at most, SM, reserved */
    {6, 0, 1024, 2048, 65536, 32, 49152, 56, 65536, 49152, 65536, 0},
    {6, 1, 1024, 2048, 65536, 32, 49152, 28, 65536, 49152, 98304, 0},
    {7, 0, 1024, 2048, 65536, 32, 49152, 80, 65536, 98304, 98304, 0},
    {7, 5, 1024, 1024, 65536, 32, 49152, 40, 65536, 65536, 65536, 0},
    {8, 0, 1024, 2048, 65536, 32, 49152, 108, 65536, 166912, 167936, 1024},
    {8, 6, 1024, 1536, 65536, 32, 49152, 84, 65536, 101376, 102400, 1024},
    {8, 9, 1024, 1536, 65536, 32, 49152, 128, 65536, 101376, 102400, 1024},
    {9, 0, 1024, 2048, 65536, 32, 49152, 132, 65536, 232448, 233472, 1024},
    {10, 0, 1024, 2048, 65536, 32, 49152, 148, 65536, 232448, 233472, 1024},
    {10, 1, 1024, 1536, 65536, 32, 49152, 20, 65536, 232448, 233472, 1024},
    {12, 0, 1024, 1536, 65536, 32, 49152, 170, 65536, 101376, 102400, 1024},
};

static int differs(const kino__cuda_limits *d, const kino__cuda_launch *launch)
{
    cudaOccDeviceProp properties = {0};
    cudaOccFuncAttributes function = {0};
    cudaOccDeviceState state = {0};
    cudaOccResult theirs = {0};
    properties.computeMajor = d->major;
    properties.computeMinor = d->minor;
    properties.maxThreadsPerBlock = d->threads_per_block;
    properties.maxThreadsPerMultiprocessor = d->threads_per_sm;
    properties.regsPerBlock = d->registers_per_block;
    properties.regsPerMultiprocessor = d->registers_per_sm;
    properties.warpSize = d->warp_size;
    properties.sharedMemPerBlock = (size_t)d->shared_per_block;
    properties.sharedMemPerMultiprocessor = (size_t)d->shared_per_sm;
    properties.numSms = d->sm_count;
    properties.sharedMemPerBlockOptin = (size_t)d->shared_per_block_optin;
    properties.reservedSharedMemPerBlock = (size_t)d->shared_reserved;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT; /* what the constructor for C++ does */
    function.maxThreadsPerBlock = INT_MAX;
    function.numRegs = launch->registers;
    function.sharedSizeBytes = (size_t)launch->static_shared;
    function.partitionedGCConfig = PARTITIONED_GC_OFF;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_DEFAULT;
    cudaOccError result = cudaOccMaxActiveBlocksPerMultiprocessor(
        &theirs, &properties, &function, &state, launch->threads, (size_t)launch->dynamic_shared);
    kino__occupancy ours = kino__cuda_occupancy(d, launch);
    unsigned factors = (theirs.limitingFactors & OCC_LIMIT_WARPS ? 1u : 0) |
                       (theirs.limitingFactors & OCC_LIMIT_REGISTERS ? 2u : 0) |
                       (theirs.limitingFactors & OCC_LIMIT_SHARED_MEMORY ? 4u : 0) |
                       (theirs.limitingFactors & OCC_LIMIT_BLOCKS ? 8u : 0);
    return (result == CUDA_OCC_SUCCESS) != ours.is_known ||
           (ours.is_known &&
            (ours.active_blocks != theirs.activeBlocksPerMultiprocessor ||
             ours.factors != factors || ours.limit_registers != theirs.blockLimitRegs ||
             ours.limit_shared != theirs.blockLimitSharedMem ||
             ours.limit_warps != theirs.blockLimitWarps ||
             ours.limit_blocks != theirs.blockLimitBlocks ||
             ours.limit_barriers != theirs.blockLimitBarriers ||
             ours.registers_per_block != theirs.allocatedRegistersPerBlock ||
             ours.shared_per_block != (int64_t)theirs.allocatedSharedMemPerBlock));
}

int main(void)
{
    static const int32_t threads[] = {0,   1,   31,  32,  33,   96,   128,
                                      250, 256, 512, 768, 1000, 1024, 1025};
    static const int32_t registers[] = {0,  1,  16,  24,  32,  33,  40, 63,
                                        64, 96, 128, 168, 255, 256, 257};
    static const int32_t shared[] = {0,     1,     128,   1000,  4096,  16384,
                                     40000, 48127, 49152, 49153, 100000};
#define EACH(index, list) for (size_t index = 0; index < sizeof(list) / sizeof *(list); index++)
    EACH(d, devices)
    EACH(t, threads)
    EACH(r, registers)
    EACH(s, shared)
    EACH(y, shared)
    {
        kino__cuda_launch launch = {threads[t], registers[r], shared[s], shared[y]};
        if (differs(&devices[d], &launch)) {
            fprintf(stderr, "%d.%d: %d threads, %d registers, %d + %d bytes of shared memory\n",
                    devices[d].major, devices[d].minor, launch.threads, launch.registers,
                    launch.static_shared, launch.dynamic_shared);
            return 1;
        }
    }
    return 0;
}
