/* device.c - steps with work on a made-up device, whose times are known: each step launches a
 * kernel of 100 us, a collective of 50 us and a copy of 30 us, one behind the other with 20 us
 * between them, on stream 7.
 *
 *   device OUT STEPS */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <kino/device.h>
#include <kino/kino.h>

static const struct work {
    const char *call, *name;
    kino_device_kind kind;
    uint64_t us;
} works[] = {
    {"cudaLaunchKernel", "gemm_kernel", KINO_DEVICE_KERNEL, 100},
    {"cudaLaunchKernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", KINO_DEVICE_KERNEL, 50},
    {"cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", KINO_DEVICE_MEMCPY, 30}};
enum { WORKS = 3, STREAM = 7, GAP_US = 20 };

static const kino_device_host *host;
static uint32_t device;

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static kino_status probe(void *context, kino_error *err)
{
    (void)context;
    (void)err;
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    info.clock = KINO_DEVICE_CLOCK_RAW;
    info.name = "made-up device";
    info.memory_bytes = 1 << 30;
    device = host->add_device(host, &info);
    return KINO_OK;
}

static const kino_device_backend *entry(const kino_device_host *given, kino_error *err)
{
    static const kino_device_backend backend = {.size = sizeof backend,
                                                .kinds = KINO_DEVICE_BIT(KINO_DEVICE_KERNEL) |
                                                         KINO_DEVICE_BIT(KINO_DEVICE_MEMCPY) |
                                                         KINO_DEVICE_BIT(KINO_DEVICE_CUDA_RUNTIME),
                                                .name = "made-up",
                                                .version = "1",
                                                .probe = probe};
    (void)err;
    host = given;
    return &backend;
}

/* Returns when the device is done with it. */
static uint64_t launch(const struct work *work, uint64_t earliest)
{
    uint64_t correlation = host->correlations(host, 1);
    uint64_t call =
        host->call_begin(host, host->name(host, KINO_DEVICE_CUDA_RUNTIME, work->call), correlation);
    host->call_end(host, call);
    uint64_t now = raw_ns();
    kino_device_arg bytes = {host->key(host, "bytes"), KINO_DEVICE_ARG_UINT, {.u = 4096}};
    kino_device_activity activity = KINO_DEVICE_ACTIVITY_INIT;
    activity.kind = work->kind;
    activity.name = host->name(host, work->kind, work->name);
    activity.device = device;
    activity.stream = STREAM;
    activity.start = now > earliest ? now : earliest;
    activity.end = activity.start + work->us * 1000;
    activity.correlation = correlation;
    if (work->kind == KINO_DEVICE_MEMCPY) {
        activity.args = &bytes;
        activity.arg_count = 1;
    }
    host->activity(host, &activity);
    return activity.end + GAP_US * 1000;
}

static void step(void)
{
    KINO_ZONE("aten::addmm");
    uint64_t next = 0;
    for (int i = 0; i < WORKS; i++)
        next = launch(&works[i], next);
    while (raw_ns() < next)
        ;
}

int main(int argc, char **argv)
{
    kino_error error = {0};
    if (argc < 3)
        return 2;
    if (kino_device_register("made-up", entry, &error) != KINO_OK ||
        kino_prepare(NULL, &error) != KINO_OK || kino_start(&error) != KINO_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    long steps = strtol(argv[2], NULL, 10);
    for (long i = 0; i < steps; i++) {
        step();
        (void)kino_step();
    }
    kino_end(kino_begin("quotes \" and \\, \x01, \xff and \xc3\xa9", "cpu_op"));
    if (kino_stop(&error) != KINO_OK || kino_save(argv[1], &error) != KINO_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return 0;
}
