/* cupti_devices.c - which GPUs there are and what they can do, asked of the CUDA driver.
 *
 * The driver's attributes have numbers that never change, unlike the struct of the runtime. What
 * the driver does not tell is missing in the trace, not 0. CUDA is never initialised from here:
 * programs fork before they do that, or choose devices; until then devices are not known. Where
 * there is no driver, or it does not answer, a device that has records is its number only. */
#include <stdio.h>

#include "base/error.h"
#include "tracer/backend/cupti/cupti_internal.h"

/* Members of "deviceProperties" behind id, name and memory, in Kineto's order. */
#define ATTRIBUTE_MAP(X)                                                                           \
    X(major, 75, "computeMajor")                                                                   \
    X(minor, 76, "computeMinor")                                                                   \
    X(threads_per_block, 1, "maxThreadsPerBlock")                                                  \
    X(threads_per_sm, 39, "maxThreadsPerMultiprocessor")                                           \
    X(registers_per_block, 12, "regsPerBlock")                                                     \
    X(warp_size, 10, "warpSize")                                                                   \
    X(shared_per_block, 8, "sharedMemPerBlock")                                                    \
    X(sm_count, 16, "numSms")                                                                      \
    X(registers_per_sm, 82, "regsPerMultiprocessor")                                               \
    X(shared_per_block_optin, 97, "sharedMemPerBlockOptin")                                        \
    X(shared_per_sm, 81, "sharedMemPerMultiprocessor")
enum { SHARED_RESERVED = 111, ATTRIBUTES_MAX = 16 };

void kino__cuda_problem(const char *call, int result)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%s failed: CUDA error %d (no result)", call, result);
    kino__cupti.host->problem(kino__cupti.host, text);
}

static bool is_answered(const char *call, int result)
{
    if (result != 0)
        kino__cuda_problem(call, result);
    return result == 0;
}

static bool ask(int attribute, int device, int32_t *out)
{
    int value = 0;
    bool is_known =
        is_answered("cuDeviceGetAttribute",
                    kino__cupti.cuda.cuDeviceGetAttribute
                        ? kino__cupti.cuda.cuDeviceGetAttribute(&value, attribute, device)
                        : CUDA_NOT_SUPPORTED);
    *out = is_known ? value : 0;
    return is_known;
}

static uint32_t describe(int device, kino__cuda_limits *limits)
{
    kino_device_property properties[ATTRIBUTES_MAX];
    char name[256] = "";
    size_t count = 0, bytes = 0;
    kino_device_info info = KINO_DEVICE_INFO_INIT;
#define ASK(member, attribute, key)                                                                \
    if (ask(attribute, device, &limits->member))                                                   \
        properties[count++] = (kino_device_property){(key), NULL, limits->member};
    ATTRIBUTE_MAP(ASK)
#undef ASK
    (void)ask(SHARED_RESERVED, device, &limits->shared_reserved);
    if (is_answered("cuDeviceGetName",
                    kino__cupti.cuda.cuDeviceGetName
                        ? kino__cupti.cuda.cuDeviceGetName(name, sizeof name - 1, device)
                        : CUDA_NOT_SUPPORTED))
        info.name = name;
    if (is_answered("cuDeviceTotalMem_v2",
                    kino__cupti.cuda.cuDeviceTotalMem_v2
                        ? kino__cupti.cuda.cuDeviceTotalMem_v2(&bytes, device)
                        : CUDA_NOT_SUPPORTED))
        info.memory_bytes = (int64_t)bytes;
    info.clock = kino__cupti.has_timestamps ? KINO_DEVICE_CLOCK_RAW : KINO_DEVICE_CLOCK_OWN;
    info.properties = properties;
    info.property_count = count;
    return kino__cupti.host->add_device(kino__cupti.host, &info);
}

static kino_status fail(kino_error *err, const char *call, int result)
{
    bool is_none = result == CUDA_NO_DEVICE;
    return kino__fail(err, is_none ? KINO_NOT_FOUND : KINO_UNAVAILABLE,
                      is_none ? "%s: CUDA sees no device (error %d)" : "%s failed: CUDA error %d",
                      call, result);
}

kino_status kino__cupti_add_devices(kino_error *err)
{
    int count = 0, device;
    kino__cupti.has_to_ask = false;
    if (!kino__cupti.cuda.cuDeviceGetCount)
        return KINO_OK; /* there is no driver: see make_up */
    int result = kino__cupti.cuda.cuDeviceGetCount(&count);
    kino__cupti.has_to_ask = result == CUDA_NOT_INITIALIZED;
    if (kino__cupti.has_to_ask)
        return KINO_OK;
    if (result != 0 || count <= 0)
        return fail(err, "cuDeviceGetCount", result ? result : CUDA_NO_DEVICE);
    for (int i = 0; i < count && i < KINO__CUPTI_DEVICES; i++) {
        result = kino__cupti.cuda.cuDeviceGet(&device, i);
        if (result != 0)
            return fail(err, "cuDeviceGet", result);
        kino__cupti.numbers[i] = describe(device, &kino__cupti.limits[i]);
        kino__cupti.device_count = (uint32_t)i + 1;
    }
    kino__cupti.has_list = true;
    return KINO_OK;
}

/* Devices that came in the middle of a session have no time yet. */
static void bound_clock(uint32_t cuda)
{
    const kino_device_host *host = kino__cupti.host;
    uint64_t before = host->stamp(host);
    uint64_t time = kino__cupti.has_timestamps ? 0 : kino__cupti_now();
    if (time)
        host->clock_bound(host, kino__cupti.numbers[cuda], time, before, host->stamp(host));
}

/* The program had not initialised CUDA when the backend came; now there are records. */
static void add_late(void)
{
    const kino_device_host *host = kino__cupti.host;
    kino_error err = {0};
    if (kino__cupti_add_devices(&err) != KINO_OK)
        host->problem(host, err.message);
    for (uint32_t i = 0; i < kino__cupti.device_count; i++)
        bound_clock(i);
}

/* Records speak of it, the driver of nothing: rows without its properties are better than none. */
static void make_up(uint32_t cuda)
{
    char name[32];
    for (uint32_t i = kino__cupti.device_count; i <= cuda; i++) {
        kino_device_info info = KINO_DEVICE_INFO_INIT;
        (void)snprintf(name, sizeof name, "CUDA device %u", i);
        info.name = name;
        info.clock = kino__cupti.has_timestamps ? KINO_DEVICE_CLOCK_RAW : KINO_DEVICE_CLOCK_OWN;
        kino__cupti.numbers[i] = kino__cupti.host->add_device(kino__cupti.host, &info);
        kino__cupti.device_count = i + 1;
        bound_clock(i);
    }
}

uint32_t kino__cupti_device(uint32_t cuda)
{
    if (kino__cupti.has_to_ask)
        add_late();
    bool is_open = !kino__cupti.has_list && !kino__cupti.has_to_ask;
    if (is_open && cuda >= kino__cupti.device_count && cuda < KINO__CUPTI_DEVICES)
        make_up(cuda);
    uint32_t number =
        cuda < kino__cupti.device_count ? kino__cupti.numbers[cuda] : KINO_DEVICE_HOST;
    return number != KINO_DEVICE_HOST ? number : UINT32_MAX - 1;
}
