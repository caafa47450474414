/* xpu_devices.c - Intel's GPUs, in the order in which Level Zero lists them: a record names its
 * device by the UUID, and the position is the number that programs know it by. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/xpu/xpu_internal.h"

enum { DRIVERS_MAX = 8, MEMORIES_MAX = 16, LIST_MAX = 64, VENDOR_INTEL = 0x8086 };

static bool find_functions(void *library, kino_error *err)
{
#define WANTED(name, arguments) {#name, true, offsetof(ze_functions, name)},
    static const kino__backend_function list[] = {ZE_FUNCTION_MAP(WANTED)};
#undef WANTED
    const char *missing =
        kino__backend_find(library, list, sizeof list / sizeof *list, &kino__xpu.ze);
    if (missing)
        (void)kino__fail(err, KINO_UNAVAILABLE, "this Level Zero has no %s", missing);
    return !missing;
}

static int64_t memory_of(void *device)
{
    ze_memory_properties memories[MEMORIES_MAX] = {{0}};
    uint32_t count = MEMORIES_MAX;
    int64_t sum = 0;
    for (size_t i = 0; i < MEMORIES_MAX; i++)
        memories[i].structure = ZE_MEMORY_PROPERTIES;
    if (kino__xpu.ze.zeDeviceGetMemoryProperties(device, &count, memories) != 0)
        return KINO_NO_INT;
    for (uint32_t i = 0; i < count && i < MEMORIES_MAX; i++)
        sum += (int64_t)memories[i].bytes;
    return sum > 0 ? sum : KINO_NO_INT;
}

static void add_uuid(const ze_device_properties *device, uint32_t number)
{
    if (kino__xpu.device_count == KINO__XPU_DEVICES || number == KINO_DEVICE_HOST)
        return;
    kino__xpu_device *added = &kino__xpu.devices[kino__xpu.device_count++];
    added->number = number;
    memcpy(added->uuid, device->uuid, sizeof added->uuid);
}

/* What a tile does is on the row of its device. */
static void add_tiles(void *handle, uint32_t number)
{
    void *tiles[LIST_MAX];
    uint32_t count = LIST_MAX;
    if (kino__xpu.ze.zeDeviceGetSubDevices(handle, &count, tiles) != 0)
        return;
    for (uint32_t i = 0; i < count && i < LIST_MAX; i++) {
        ze_device_properties tile = {.structure = ZE_DEVICE_PROPERTIES};
        if (kino__xpu.ze.zeDeviceGetProperties(tiles[i], &tile) == 0)
            add_uuid(&tile, number);
    }
}

static void add_device(void *handle, const char *driver_version)
{
    ze_device_properties device = {.structure = ZE_DEVICE_PROPERTIES};
    ze_compute_properties compute = {.structure = ZE_COMPUTE_PROPERTIES};
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    if (kino__xpu.ze.zeDeviceGetProperties(handle, &device) != 0 || device.type != ZE_TYPE_GPU)
        return;
    (void)kino__xpu.ze.zeDeviceGetComputeProperties(handle, &compute);
    const kino_device_property properties[] = {
        {"maxComputeUnits", NULL,
         (int64_t)device.slices * device.subslices_per_slice * device.eus_per_subslice},
        {"maxWorkGroupSize", NULL, compute.group_max},
        {"maxClockFrequency", NULL, device.clock_mhz},
        {"maxMemAllocSize", NULL, (int64_t)device.allocation_max},
        {"localMemSize", NULL, compute.local_bytes},
        {"vendor", device.vendor == VENDOR_INTEL ? "Intel(R) Corporation" : "unknown", 0},
        {"driverVersion", driver_version, 0},
    };
    device.name[sizeof device.name - 1] = '\0';
    info.clock = kino__xpu.clock;
    info.name = device.name;
    info.memory_bytes = memory_of(handle);
    info.properties = properties;
    info.property_count = sizeof properties / sizeof *properties;
    uint32_t number = kino__xpu.host->add_device(kino__xpu.host, &info);
    add_uuid(&device, number);
    add_tiles(handle, number);
}

static void add_driver(void *driver)
{
    ze_driver_properties properties = {.structure = ZE_DRIVER_PROPERTIES};
    void *devices[LIST_MAX];
    uint32_t count = LIST_MAX;
    char version[32] = "";
    if (kino__xpu.ze.zeDriverGetProperties(driver, &properties) == 0)
        (void)snprintf(version, sizeof version, "%u.%u.%u", properties.version >> 24,
                       properties.version >> 16 & 0xff, properties.version & 0xffff);
    if (kino__xpu.ze.zeDeviceGet(driver, &count, devices) != 0)
        return;
    for (uint32_t i = 0; i < count && i < LIST_MAX; i++)
        add_device(devices[i], version);
}

kino_status kino__xpu_add_devices(kino_error *err)
{
    static const char *const names[] = {"libze_loader.so.1", "libze_loader.so", NULL};
    void *drivers[DRIVERS_MAX];
    uint32_t count = DRIVERS_MAX;
    void *library = kino__library_open("KINO_LEVEL_ZERO_LIBRARY", names, err);
    if (!library || !find_functions(library, err))
        return err->code;
    int result = kino__xpu.ze.zeInit(ZE_GPU_ONLY);
    if (result != 0)
        return kino__fail(err, KINO_UNAVAILABLE, "zeInit failed: 0x%x", (unsigned)result);
    result = kino__xpu.ze.zeDriverGet(&count, drivers);
    if (result != 0)
        return kino__fail(err, KINO_UNAVAILABLE, "zeDriverGet failed: 0x%x", (unsigned)result);
    for (uint32_t i = 0; i < count && i < DRIVERS_MAX; i++)
        add_driver(drivers[i]);
    if (kino__xpu.device_count == 0)
        return kino__fail(err, KINO_NOT_FOUND, "Level Zero sees no GPU");
    return KINO_OK;
}

const kino__xpu_device *kino__xpu_device_of(const uint8_t uuid[PTI_UUID_BYTES])
{
    for (uint32_t i = 0; i < kino__xpu.device_count; i++)
        if (memcmp(kino__xpu.devices[i].uuid, uuid, PTI_UUID_BYTES) == 0)
            return &kino__xpu.devices[i];
    return NULL;
}
