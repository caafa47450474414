/* cuda_occupancy.c - how many blocks of a kernel a multiprocessor can hold at a time.
 *
 * The rules are those of CUDA's programming guide (registers are given out per warp in units of
 * 256, from a quarter of the file each; shared memory in units of 128 or 256 bytes), for a kernel
 * that asked for nothing special: what Kineto assumes as well. So a kernel that opted into more
 * shared memory than a block usually has shows 0 blocks, there and here. */
#include "base/cuda_occupancy.h"

#include <limits.h>

enum { REGISTER_UNIT = 256 };

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int32_t at_most_int(int64_t value)
{
    return value > INT_MAX ? INT_MAX : (int32_t)value;
}

static int32_t max_blocks(const kino__cuda_limits *d)
{
    switch (d->major) {
    case 3:
        return 16;
    case 7:
        return d->minor == 5 ? 16 : 32;
    case 8:
        return d->minor == 0 ? 32 : d->minor == 9 ? 24 : 16;
    case 10:
        return d->minor == 1 ? 24 : 32;
    case 11:
        return d->minor == 0 ? 24 : 32;
    case 12:
        return 24;
    default:
        return 32;
    }
}

static int32_t partitions(const kino__cuda_limits *d)
{
    return d->major == 6 && d->minor == 0 ? 2 : 4;
}

static int32_t limit_by_registers(const kino__cuda_limits *d, const kino__cuda_launch *launch,
                                  int32_t parts, int64_t *allocated)
{
    int32_t per_thread_max = d->major <= 6 ? 255 : 256;
    int64_t warps = round_up(launch->threads, d->warp_size) / d->warp_size;
    int64_t per_warp = round_up((int64_t)launch->registers * d->warp_size, REGISTER_UNIT);
    *allocated = per_warp * warps;
    if (d->registers_per_block < per_warp * round_up(warps, parts) ||
        launch->registers > per_thread_max)
        return 0;
    if (per_warp == 0)
        return INT_MAX;
    return at_most_int(d->registers_per_sm / parts / per_warp * parts / warps);
}

static int32_t limit_by_shared(const kino__cuda_limits *d, const kino__cuda_launch *launch,
                               int64_t *allocated)
{
    int64_t used = (int64_t)launch->static_shared + d->shared_reserved + launch->dynamic_shared;
    *allocated = round_up(used, d->major >= 8 ? 128 : 256);
    if (*allocated > d->shared_per_block + (d->major >= 8 ? d->shared_reserved : 0))
        return 0;
    return *allocated ? at_most_int(d->shared_per_sm / *allocated) : INT_MAX;
}

static bool is_known(const kino__cuda_limits *d, const kino__cuda_launch *launch)
{
    bool is_generation = d->major == 3 || (d->major >= 5 && d->major <= 12);
    return is_generation && d->threads_per_block > 0 && d->threads_per_sm > 0 &&
           d->registers_per_block > 0 && d->registers_per_sm > 0 && d->warp_size > 0 &&
           d->shared_per_block > 0 && d->shared_per_sm > 0 && d->sm_count > 0 &&
           launch->threads > 0 && launch->registers >= 0 && launch->static_shared >= 0 &&
           launch->dynamic_shared >= 0;
}

kino__occupancy kino__cuda_occupancy(const kino__cuda_limits *d, const kino__cuda_launch *launch)
{
    kino__occupancy o = {0};
    if (!is_known(d, launch))
        return o;
    o.is_known = true;
    o.limit_registers = limit_by_registers(d, launch, partitions(d), &o.registers_per_block);
    /* GP100 must also fit what its smaller siblings can do */
    if (d->major == 6 && d->minor == 0 && o.limit_registers &&
        limit_by_registers(d, launch, 4, &o.registers_per_block) == 0)
        o.limit_registers = 0;
    int64_t warps = round_up(launch->threads, d->warp_size) / d->warp_size;
    o.limit_warps = launch->threads > d->threads_per_block
                        ? 0
                        : at_most_int(d->threads_per_sm / d->warp_size / warps);
    o.limit_blocks = max_blocks(d);
    o.limit_shared = limit_by_shared(d, launch, &o.shared_per_block);
    o.limit_barriers = INT_MAX; /* how many a kernel uses is not known */
    const int32_t limits[] = {o.limit_warps, o.limit_registers, o.limit_shared, o.limit_blocks};
    o.active_blocks = limits[0];
    for (int i = 1; i < 4; i++)
        if (limits[i] < o.active_blocks)
            o.active_blocks = limits[i];
    for (int i = 0; i < 4; i++)
        if (limits[i] == o.active_blocks)
            o.factors |= 1u << i;
    return o;
}

int64_t kino__cuda_achieved_percent(const kino__occupancy *occupancy,
                                    const kino__cuda_limits *limits, float blocks_per_sm,
                                    int32_t threads)
{
    if (!occupancy->is_known)
        return -100;
    float active = (float)occupancy->active_blocks;
    float held = active < blocks_per_sm ? active : blocks_per_sm;
    float share = held * (float)threads / (float)limits->threads_per_sm;
    return (int64_t)(share * 100 + 0.5F);
}
