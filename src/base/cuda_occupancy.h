/* cuda_occupancy.h - how many blocks of a kernel a multiprocessor of an NVIDIA GPU can hold. */
#ifndef KINO__BASE_CUDA_OCCUPANCY_H
#define KINO__BASE_CUDA_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct kino__cuda_limits { /* of a device; 0: not known */
    int32_t major, minor, threads_per_block, threads_per_sm, registers_per_block, warp_size;
    int32_t shared_per_block, sm_count, registers_per_sm, shared_per_block_optin, shared_per_sm;
    int32_t shared_reserved;
} kino__cuda_limits;

typedef struct kino__occupancy {
    bool is_known;
    int32_t active_blocks;
    uint32_t factors; /* bits in the order of the texts: WARPS, REGS, SMEM, BLOCKS */
    int32_t limit_registers, limit_shared, limit_warps, limit_blocks, limit_barriers;
    int64_t registers_per_block, shared_per_block;
} kino__occupancy;

/* What one launch needs. */
typedef struct kino__cuda_launch {
    int32_t threads, registers, static_shared, dynamic_shared;
} kino__cuda_launch;

kino__occupancy kino__cuda_occupancy(const kino__cuda_limits *limits,
                                     const kino__cuda_launch *launch);

/* Of the threads that a multiprocessor could hold those that so many blocks have, in whole percent as
 * Kineto rounds it; -100: not known. */
int64_t kino__cuda_achieved_percent(const kino__occupancy *occupancy,
                                    const kino__cuda_limits *limits, float blocks_per_sm,
                                    int32_t threads);

#endif
