/* doctor_cuda.c - kino doctor: NVIDIA. The driver, and CUPTI as far as it really works.
 *
 * CUPTI loads, tells its version and takes callbacks on any machine; the first call that needs the
 * driver is the first that tells the truth: cuptiActivityEnable, and cuptiSubscribe, which also
 * knows whether another profiler is there already. The declarations are our own. */
#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "record/doctor_device.h"

enum {
    CUPTI_CONCURRENT_KERNEL = 10,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUDA_NO_DEVICE = 100,
    CUDA_STUB = 34
};

/* Numbers of the probes' results. */
enum { CUDA_INIT, CUDA_VERSION, CUDA_DEVICES, CUDA_HAS_LIBRARY };
enum { CUPTI_VERSION, CUPTI_REGISTER, CUPTI_ENABLE, CUPTI_SUBSCRIBE, CUPTI_HAS_LIBRARY };

/* -- the driver -- */

static void look_at_driver(kino__probe_result *r, void *context)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    (void)context;
    void *library = kino__probe_library(r, names);
    if (!library)
        return;
    r->numbers[CUDA_HAS_LIBRARY] = 1;
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
    int (*version)(int *) = (int (*)(int *))dlsym(library, "cuDriverGetVersion");
    int (*count)(int *) = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
    int (*name)(char *, int, int) = (int (*)(char *, int, int))dlsym(library, "cuDeviceGetName");
    int number = 0;
    if (version && version(&number) == 0)
        r->numbers[CUDA_VERSION] = number;
    kino__probe_stage(r, "cuInit");
    r->numbers[CUDA_INIT] = init ? init(0) : -1;
    number = 0;
    if (r->numbers[CUDA_INIT] == 0 && count && count(&number) == 0)
        r->numbers[CUDA_DEVICES] = number;
    if (number > 0 && name)
        (void)name(r->texts[1], KINO__PROBE_TEXT, 0);
}

static const char *version_text(kino__doctor *d, int64_t cuda)
{
    return kino__doctor_text(d, "%" PRId64 ".%" PRId64, cuda / 1000, cuda % 1000 / 10);
}

static void check_driver(kino__doctor *d, bool has_gpu)
{
    kino__probe probe;
    char module[160] = "";
    kino__probe_run(&probe, look_at_driver, NULL, KINO__DEVICE_TIMEOUT_MS);
    const int64_t *n = probe.result.numbers;
    bool has_module = kino__doctor_read("/proc/driver/nvidia/version", module, sizeof module);
    kino__doctor_item item = {.name = "cuda", .title = "NVIDIA driver"};
    item.means = "CUDA programs cannot run here";
    if (probe.end != KINO__PROBE_DONE) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = kino__probe_story(d, &probe, KINO__DEVICE_TIMEOUT_MS);
        item.fix = "reinstall the driver: the failure is inside its library";
    } else if (!n[CUDA_HAS_LIBRARY]) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = has_gpu ? "an NVIDIA GPU is present, but not its driver library (libcuda.so.1)"
                             : "no NVIDIA GPU and no libcuda.so.1";
        item.fix = has_gpu ? "install the driver; in a container: docker run --gpus all" : NULL;
    } else if (n[CUDA_INIT] != 0) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = kino__doctor_text(
            d, "libcuda.so.1 is installed, but cuInit returned %" PRId64 "%s", n[CUDA_INIT],
            n[CUDA_INIT] == CUDA_NO_DEVICE ? " (no device)"
            : n[CUDA_INIT] == CUDA_STUB    ? " (a stub for linking, not the driver)"
                                           : "");
        item.fix = has_module ? "see 'nvidia-smi' and 'dmesg | grep -i nvrm' for the reason"
                              : "load the kernel module (nvidia), or pass the devices into the "
                                "container (docker run --gpus all)";
    } else {
        item.value = version_text(d, n[CUDA_VERSION]);
        item.found =
            kino__doctor_text(d, "CUDA %s, %" PRId64 " device%s: %s", item.value, n[CUDA_DEVICES],
                              n[CUDA_DEVICES] == 1 ? "" : "s", probe.result.texts[1]);
        item.means = NULL;
    }
    kino__doctor_add(d, &item);
}

/* -- CUPTI -- */

static void take_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = NULL;
    *size = *records = 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as CUPTI declares it */
static void give_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context;
    (void)stream;
    (void)buffer;
    (void)size;
    (void)valid;
}

static void on_callback(void *user, int domain, uint32_t id, const void *data)
{
    (void)user;
    (void)domain;
    (void)id;
    (void)data;
}

/* The library by name, and where it lies when the loader does not know it. */
static void *open_cupti(kino__probe_result *r)
{
    const char *given = kino__doctor_variable("KINO_CUPTI_LIBRARY");
    const char *named[] = {given, NULL};
    /* As the recorder looks for it (tracer/backend/cupti/cupti_load.c). */
    static const char *const names[] = {"libcupti.so.13",
                                        "libcupti.so.12",
                                        "libcupti.so",
                                        "libcupti.so.11.8",
                                        "libcupti.so.11.2",
                                        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                        "/usr/local/cuda/lib64/libcupti.so",
                                        NULL};
    /* Where else it may lie. */
    static const char *const places[] = {"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*",
                                         "/usr/local/cuda*/targets/*/lib/libcupti.so*",
                                         "/opt/cuda/extras/CUPTI/lib64/libcupti.so*"};
    if (given)
        return kino__probe_library(r, named);
    void *library = kino__probe_library(r, names);
    for (size_t i = 0; !library && i < sizeof places / sizeof *places; i++) {
        glob_t found = {0};
        if (glob(places[i], 0, NULL, &found) == 0) { /* NOLINT(concurrency-mt-unsafe) */
            const char *one[] = {found.gl_pathv[found.gl_pathc - 1], NULL};
            library = kino__probe_library(r, one);
            r->texts[3][0] = library ? 1 : 0; /* found by looking, not by the loader */
        }
        globfree(&found);
    }
    return library;
}

static void look_at_cupti(kino__probe_result *r, void *context)
{
    (void)context;
    void *library = open_cupti(r);
    if (!library)
        return;
    r->numbers[CUPTI_HAS_LIBRARY] = 1;
    int (*version)(uint32_t *) = (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion");
    int (*text)(int, const char **) =
        (int (*)(int, const char **))dlsym(library, "cuptiGetResultString");
    int (*add)(void *, void *) =
        (int (*)(void *, void *))dlsym(library, "cuptiActivityRegisterCallbacks");
    int (*enable)(int) = (int (*)(int))dlsym(library, "cuptiActivityEnable");
    int (*subscribe)(void **, void *, void *) =
        (int (*)(void **, void *, void *))dlsym(library, "cuptiSubscribe");
    Dl_info info;
    if (version && dladdr((void *)(uintptr_t)version, &info) && info.dli_fname)
        kino__probe_text(r, 0, "%s", info.dli_fname);
    uint32_t number = 0;
    kino__probe_stage(r, "cuptiGetVersion");
    if (version && version(&number) == 0)
        r->numbers[CUPTI_VERSION] = number;
    kino__probe_stage(r, "cuptiActivityRegisterCallbacks");
    r->numbers[CUPTI_REGISTER] =
        add ? add((void *)(uintptr_t)take_buffer, (void *)(uintptr_t)give_buffer) : -1;
    kino__probe_stage(r, "cuptiActivityEnable");
    r->numbers[CUPTI_ENABLE] = enable ? enable(CUPTI_CONCURRENT_KERNEL) : -1;
    const char *name = NULL;
    if (text && r->numbers[CUPTI_ENABLE] != 0 && text((int)r->numbers[CUPTI_ENABLE], &name) == 0)
        kino__probe_text(r, 1, "%s", name ? name : "");
    kino__probe_stage(r, "cuptiSubscribe");
    void *subscriber = NULL;
    r->numbers[CUPTI_SUBSCRIBE] =
        subscribe ? subscribe(&subscriber, (void *)(uintptr_t)on_callback, NULL) : -1;
    name = NULL;
    if (text && r->numbers[CUPTI_SUBSCRIBE] != 0 &&
        text((int)r->numbers[CUPTI_SUBSCRIBE], &name) == 0)
        kino__probe_text(r, 2, "%s", name ? name : "");
}

static void tell_refusal(kino__doctor *d, kino__doctor_item *item, const kino__probe_result *r,
                         bool has_driver)
{
    const int64_t *n = r->numbers;
    item->state = KINO__DOCTOR_LIMITED;
    item->found = kino__doctor_text(
        d,
        "API %" PRId64
        " in %s loads and accepts callbacks, but cuptiActivityEnable returned %" PRId64 " (%s)",
        n[CUPTI_VERSION], r->texts[0], n[CUPTI_ENABLE], r->texts[1]);
    item->means = "CUPTI cannot record anything here";
    item->fix = has_driver ? "its version must match the driver: install the CUPTI of the CUDA "
                             "version shown by nvidia-smi"
                           : "requires an NVIDIA driver and GPU: see 'NVIDIA driver'";
    if (n[CUPTI_ENABLE] == CUPTI_INSUFFICIENT_PRIVILEGES) {
        item->means = "the driver lets only administrators profile";
        item->fix = "put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in /etc/modprobe.d "
                    "and reload the module";
    }
}

static void check_cupti(kino__doctor *d, bool has_driver)
{
    kino__probe probe;
    kino__probe_run(&probe, look_at_cupti, NULL, KINO__DEVICE_TIMEOUT_MS);
    const kino__probe_result *r = &probe.result;
    const int64_t *n = r->numbers;
    kino__doctor_item item = {.name = "cupti", .title = "CUPTI"};
    if (n[CUPTI_HAS_LIBRARY])
        item.value = kino__doctor_text(d, "%" PRId64, n[CUPTI_VERSION]);
    if (probe.end != KINO__PROBE_DONE) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = kino__probe_story(d, &probe, KINO__DEVICE_TIMEOUT_MS);
        item.means = "programs that use CUPTI would fail the same way";
        item.fix = "reinstall the CUPTI that belongs to the driver's CUDA version";
    } else if (!n[CUPTI_HAS_LIBRARY]) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = kino__doctor_text(d, "no libcupti.so (%s)", r->texts[0]);
        item.means = "kernels, copies and calls of CUDA programs are not recorded unless the "
                     "program ships its own CUPTI (PyTorch does)";
        item.fix = has_driver ? "install CUPTI (cuda-cupti of the CUDA toolkit), or set "
                                "KINO_CUPTI_LIBRARY=/path/libcupti.so"
                              : NULL;
    } else if (n[CUPTI_ENABLE] != 0) {
        tell_refusal(d, &item, r, has_driver);
    } else if (n[CUPTI_SUBSCRIBE] == CUPTI_MULTIPLE_SUBSCRIBERS) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(d, "%s, but another profiler is subscribed", r->texts[0]);
        item.means = "CUPTI allows only one subscriber per process";
        item.fix = "see 'Other profilers' below and stop the other profiler";
    } else {
        item.found = kino__doctor_text(d, "API %" PRId64 " in %s, recording works",
                                       n[CUPTI_VERSION], r->texts[0]);
        item.means = "kernels, copies and calls of CUDA programs are recorded";
        if (r->texts[3][0]) {
            item.state = KINO__DOCTOR_LIMITED;
            item.means = "the recorder does not find it on its own";
            item.fix = kino__doctor_text(
                d, "set KINO_CUPTI_LIBRARY=%s, or add its directory to ldconfig", r->texts[0]);
        }
    }
    kino__doctor_add(d, &item);
}

/* Counters of the GPU (PM sampling) may be for administrators only. */
static void check_counters(kino__doctor *d)
{
    char setting[32];
    if (!kino__doctor_read_field("/proc/driver/nvidia/params", "RmProfilingAdminOnly", setting,
                                 sizeof setting))
        return;
    bool is_closed = strcmp(setting, "0") != 0 && geteuid() != 0;
    kino__doctor_item item = {.name = "gpu-counters", .title = "GPU counters"};
    item.value = kino__doctor_text(d, "%s", setting);
    item.state = is_closed ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_OK;
    item.found = is_closed ? "restricted to administrators (RmProfilingAdminOnly is 1)"
                           : "available to this user";
    item.means = is_closed
                     ? "occupancy and bandwidth counters are not recorded; kernels and copies are"
                     : NULL;
    item.fix = is_closed ? "put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' in "
                           "/etc/modprobe.d and reload the module"
                         : NULL;
    kino__doctor_add(d, &item);
}

void kino__doctor_look_cuda(kino__doctor *doctor)
{
    check_driver(doctor, kino__doctor_has_pci(0x10de));
    const kino__doctor_item *driver =
        doctor->items.count ? &doctor->items.items[doctor->items.count - 1] : NULL;
    check_cupti(doctor, driver && driver->state == KINO__DOCTOR_OK);
    check_counters(doctor);
}
