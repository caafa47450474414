/* doctor_device.c - kino doctor: AMD, Intel, OpenCL and plug-ins. NVIDIA is in doctor_cuda.c.
 *
 * As there: the library is loaded and called in a child process, and only what answered counts. */
#include "record/doctor_device.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "record/doctor_own.h"

bool kino__doctor_has_pci(unsigned vendor)
{
    DIR *folder = opendir("/sys/bus/pci/devices");
    const struct dirent *entry;
    bool is_found = false;
    while (folder && !is_found && (entry = readdir(folder))) { /* NOLINT(concurrency-mt-unsafe) */
        char path[320], text[32];
        (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", entry->d_name);
        if (entry->d_name[0] == '.' || !kino__doctor_read(path, text, sizeof text) ||
            strtoul(text, NULL, 16) != vendor)
            continue;
        (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", entry->d_name);
        if (!kino__doctor_read(path, text, sizeof text))
            continue;
        unsigned long class = strtoul(text, NULL, 16) >> 16;
        is_found = class == 0x03 || class == 0x12; /* display controller, accelerator */
    }
    if (folder)
        (void)closedir(folder);
    return is_found;
}

/* -- AMD -- */

enum { HAS_LIBRARY, MAJOR, MINOR, PATCH, ANSWER, COUNT, TOOLS };

static void look_at_rocm(kino__probe_result *r, void *context)
{
    const char *given = kino__doctor_variable("KINO_ROCPROFILER_LIBRARY");
    const char *named[] = {given, NULL};
    static const char *const names[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so",
                                        "/opt/rocm/lib/librocprofiler-sdk.so.1", NULL};
    (void)context;
    void *library = kino__probe_library(r, given ? named : names);
    if (!library)
        return;
    r->numbers[HAS_LIBRARY] = 1;
    kino__probe_stage(r, "rocprofiler_get_version");
    int (*version)(uint32_t *, uint32_t *, uint32_t *) =
        (int (*)(uint32_t *, uint32_t *, uint32_t *))dlsym(library, "rocprofiler_get_version");
    uint32_t major = 0, minor = 0, patch = 0;
    r->numbers[ANSWER] = version ? version(&major, &minor, &patch) : -1;
    r->numbers[MAJOR] = major;
    r->numbers[MINOR] = minor;
    r->numbers[PATCH] = patch;
}

/* GPUs that the kernel's driver knows. */
static int count_kfd(void)
{
    DIR *folder = opendir("/sys/class/kfd/kfd/topology/nodes");
    const struct dirent *entry;
    int count = 0;
    while (folder && (entry = readdir(folder))) { /* NOLINT(concurrency-mt-unsafe) */
        char path[320];
        int64_t id;
        (void)snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%s/gpu_id",
                       entry->d_name);
        count += entry->d_name[0] != '.' && kino__doctor_read_int(path, &id) && id != 0;
    }
    if (folder)
        (void)closedir(folder);
    return count;
}

static void look_rocm(kino__doctor *d)
{
    kino__probe probe;
    kino__probe_run(&probe, look_at_rocm, NULL, KINO__DEVICE_TIMEOUT_MS);
    const int64_t *n = probe.result.numbers;
    int gpus = count_kfd();
    bool has_gpu = gpus > 0 || kino__doctor_has_pci(0x1002);
    kino__doctor_item item = {.name = "rocm", .title = "AMD (ROCm, rocprofiler-sdk)"};
    item.means = "kernels, copies and HIP calls of AMD GPUs are not recorded";
    if (n[HAS_LIBRARY])
        item.value =
            kino__doctor_text(d, "%" PRId64 ".%" PRId64 ".%" PRId64, n[MAJOR], n[MINOR], n[PATCH]);
    if (probe.end != KINO__PROBE_DONE) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = kino__probe_story(d, &probe, KINO__DEVICE_TIMEOUT_MS);
        item.fix = "reinstall ROCm: the failure is inside its library";
    } else if (!n[HAS_LIBRARY]) {
        item.state = KINO__DOCTOR_MISSING;
        item.found =
            has_gpu ? kino__doctor_text(d, "an AMD GPU is present, but not librocprofiler-sdk (%s)",
                                        probe.result.texts[0])
                    : "no AMD GPU and no librocprofiler-sdk";
        item.fix = has_gpu ? "install rocprofiler-sdk of ROCm 7 or later, or set "
                             "KINO_ROCPROFILER_LIBRARY=/path/librocprofiler-sdk.so.1"
                           : NULL;
    } else if (gpus == 0 || access("/dev/kfd", R_OK | W_OK) != 0) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(d, "rocprofiler-sdk %s, but %s", item.value,
                                       gpus == 0 ? "the kernel reports no AMD GPU"
                                                 : "this user cannot open /dev/kfd");
        item.fix = gpus == 0 ? "load amdgpu; in a container: --device /dev/kfd --device /dev/dri"
                             : "add this user to the groups render and video";
    } else if (n[ANSWER] != 0 || n[MAJOR] < 1) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(d, "rocprofiler-sdk %s is older than 1.0", item.value);
        item.fix = "install ROCm 7 or later";
    } else {
        item.found = kino__doctor_text(d, "rocprofiler-sdk %s, %d GPU%s", item.value, gpus,
                                       gpus == 1 ? "" : "s");
        item.means = "kernels, copies and HIP calls are recorded";
    }
    kino__doctor_add(d, &item);
}

/* -- Intel -- */

static void look_at_xpu(kino__probe_result *r, void *context)
{
    static const char *const names[] = {"libze_loader.so.1", "libze_loader.so", NULL};
    const char *given = kino__doctor_variable("KINO_PTI_LIBRARY");
    const char *named[] = {given, NULL};
    static const char *const tools[] = {"libpti_view.so.1", "libpti_view.so.0", "libpti_view.so",
                                        NULL};
    (void)context;
    void *library = kino__probe_library(r, names);
    if (library) {
        r->numbers[HAS_LIBRARY] = 1;
        int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "zeInit");
        int (*drivers)(uint32_t *, void *) =
            (int (*)(uint32_t *, void *))dlsym(library, "zeDriverGet");
        kino__probe_stage(r, "zeInit");
        r->numbers[ANSWER] = init ? init(0) : -1;
        uint32_t count = 0;
        if (r->numbers[ANSWER] == 0 && drivers && drivers(&count, NULL) == 0)
            r->numbers[COUNT] = count;
    }
    kino__probe_text(r, 0, "%s", "");
    void *tool = kino__probe_library(r, given ? named : tools);
    if (!tool)
        return;
    r->numbers[TOOLS] = 1;
    const char *(*version)(void) = (const char *(*)(void))dlsym(tool, "ptiVersionString");
    kino__probe_stage(r, "ptiVersionString");
    const char *text = version ? version() : NULL;
    kino__probe_text(r, 1, "%s", text ? text : "of unknown version");
}

static void look_xpu(kino__doctor *d)
{
    kino__probe probe;
    kino__probe_run(&probe, look_at_xpu, NULL, KINO__DEVICE_TIMEOUT_MS);
    const int64_t *n = probe.result.numbers;
    bool has_gpu = kino__doctor_has_pci(0x8086);
    kino__doctor_item item = {.name = "xpu", .title = "Intel (Level Zero, PTI)"};
    item.means = "kernels, copies and calls of Intel GPUs are not recorded";
    item.fix = has_gpu ? "install the Level Zero driver and Intel PTI (libpti_view), or set "
                         "KINO_PTI_LIBRARY=/path/libpti_view.so"
                       : NULL;
    if (n[TOOLS])
        item.value = kino__doctor_text(d, "%s", probe.result.texts[1]);
    if (probe.end != KINO__PROBE_DONE) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = kino__probe_story(d, &probe, KINO__DEVICE_TIMEOUT_MS);
        item.fix = "reinstall the Level Zero driver: the failure is inside its library";
    } else if (!n[HAS_LIBRARY] && !n[TOOLS]) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = has_gpu ? "an Intel GPU is present, but not libze_loader and libpti_view"
                             : "no Intel GPU, libze_loader or libpti_view";
    } else if (!n[TOOLS]) {
        item.state = has_gpu ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_MISSING;
        item.found = kino__doctor_text(d,
                                       "Level Zero with %" PRId64 " driver%s, no libpti_view "
                                       "(%s)",
                                       n[COUNT], n[COUNT] == 1 ? "" : "s", probe.result.texts[0]);
    } else if (n[ANSWER] != 0 || n[COUNT] == 0) {
        item.state = KINO__DOCTOR_LIMITED;
        item.found = kino__doctor_text(d, "PTI %s, but %s", item.value,
                                       n[HAS_LIBRARY] ? "Level Zero has no driver (zeInit)"
                                                      : "libze_loader is not installed");
    } else {
        item.found = kino__doctor_text(d, "PTI %s, Level Zero with %" PRId64 " driver%s",
                                       item.value, n[COUNT], n[COUNT] == 1 ? "" : "s");
        item.means = "kernels, copies and calls are recorded";
        item.fix = NULL;
    }
    kino__doctor_add(d, &item);
}

/* -- OpenCL -- */

enum { CL_PLATFORM_NAME = 0x0902, MOST_PLATFORMS = 16 };
enum { CL_HAS, CL_KNOWS_LAYERS, CL_ANSWER, CL_PLATFORMS, CL_DEVICES, CL_LAYER_LOADED };

/* Does the file of the loader know the variable that names layers? */
static bool knows_layers(const char *path)
{
    kino__file file;
    if (kino__file_open(path, &file, NULL) != KINO_OK)
        return false;
    bool is_there = memmem(file.data, file.size, "OPENCL_LAYERS", sizeof "OPENCL_LAYERS") != NULL;
    kino__file_close(&file);
    return is_there;
}

/* context: the path of our layer, or NULL. */
static void look_at_opencl(kino__probe_result *r, void *context)
{
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so", NULL};
    const char *layer = context;
    if (layer) /* NOLINTNEXTLINE(concurrency-mt-unsafe): a child with one thread */
        (void)setenv("OPENCL_LAYERS", layer, 1);
    (void)unsetenv("KINO_TRACE");         /* NOLINT(concurrency-mt-unsafe): the same */
    (void)unsetenv("KINO_RECORD_FOLDER"); /* NOLINT(concurrency-mt-unsafe): it must not record */
    void *library = kino__probe_library(r, names);
    if (!library)
        return;
    r->numbers[CL_HAS] = 1;
    int (*platforms)(unsigned, void **, unsigned *) =
        (int (*)(unsigned, void **, unsigned *))dlsym(library, "clGetPlatformIDs");
    int (*info)(void *, unsigned, size_t, void *, size_t *) =
        (int (*)(void *, unsigned, size_t, void *, size_t *))dlsym(library, "clGetPlatformInfo");
    int (*devices)(void *, uint64_t, unsigned, void **, unsigned *) =
        (int (*)(void *, uint64_t, unsigned, void **, unsigned *))dlsym(library, "clGetDeviceIDs");
    Dl_info place;
    if (platforms && dladdr((void *)(uintptr_t)platforms, &place) && place.dli_fname) {
        kino__probe_text(r, 0, "%s", place.dli_fname);
        r->numbers[CL_KNOWS_LAYERS] = knows_layers(place.dli_fname);
    }
    void *found[MOST_PLATFORMS];
    unsigned count = 0, all = 0;
    kino__probe_stage(r, "clGetPlatformIDs");
    r->numbers[CL_ANSWER] = platforms ? platforms(MOST_PLATFORMS, found, &count) : -1;
    for (unsigned i = 0; r->numbers[CL_ANSWER] == 0 && i < count && i < MOST_PLATFORMS; i++) {
        unsigned some = 0;
        kino__probe_stage(r, "clGetDeviceIDs");
        if (devices && devices(found[i], UINT32_MAX, 0, NULL, &some) == 0)
            all += some;
        if (i == 0 && info)
            (void)info(found[i], CL_PLATFORM_NAME, KINO__PROBE_TEXT - 1, r->texts[1], NULL);
    }
    r->numbers[CL_PLATFORMS] = r->numbers[CL_ANSWER] == 0 ? count : 0;
    r->numbers[CL_DEVICES] = all;
    void *loaded = layer ? dlopen(layer, RTLD_NOW | RTLD_NOLOAD) : NULL;
    r->numbers[CL_LAYER_LOADED] = loaded != NULL;
    if (layer && !loaded && !dlopen(layer, RTLD_NOW | RTLD_LOCAL)) {
        const char *why = dlerror(); /* NOLINT(concurrency-mt-unsafe): a child with one thread */
        kino__probe_text(r, 2, "%s", why ? why : "");
    }
}

static void check_layer(kino__doctor *d, const kino__probe *probe, const char *layer)
{
    const int64_t *n = probe->result.numbers;
    const char *why = probe->result.texts[2];
    kino__doctor_item item = {.name = "opencl-layer", .title = "OpenCL layers"};
    if (n[CL_LAYER_LOADED]) {
        item.found = kino__doctor_text(d, "the loader supports layers: it loaded %s", layer);
        item.means = "commands of OpenCL programs are recorded";
    } else if (n[CL_KNOWS_LAYERS]) {
        item.state = layer ? KINO__DOCTOR_LIMITED : KINO__DOCTOR_UNKNOWN;
        item.found =
            layer ? kino__doctor_text(d, "the loader supports OPENCL_LAYERS, but did not load %s",
                                      why[0] ? why : layer)
                  : "the loader supports OPENCL_LAYERS; not tested, because Kino's layer was not "
                    "found";
        item.means = layer ? "commands of OpenCL programs are not recorded" : NULL;
    } else {
        item.state = KINO__DOCTOR_MISSING;
        item.found =
            kino__doctor_text(d, "the loader (%s) does not support layers", probe->result.texts[0]);
        item.means = "commands of OpenCL programs are not recorded";
        item.fix = "install a newer loader: ocl-icd 2.3.0, Khronos 2020.12, or later";
    }
    kino__doctor_add(d, &item);
}

static void look_opencl(kino__doctor *d)
{
    kino__probe probe;
    const char *layer = kino__doctor_inject_library(d, NULL);
    kino__probe_run(&probe, look_at_opencl, (void *)(uintptr_t)layer, KINO__DEVICE_TIMEOUT_MS);
    const int64_t *n = probe.result.numbers;
    kino__doctor_item item = {.name = "opencl", .title = "OpenCL"};
    if (probe.end != KINO__PROBE_DONE) {
        item.state = KINO__DOCTOR_UNKNOWN;
        item.found = kino__probe_story(d, &probe, KINO__DEVICE_TIMEOUT_MS);
        item.fix = "remove the failing runtime from /etc/OpenCL/vendors";
    } else if (!n[CL_HAS]) {
        item.state = KINO__DOCTOR_MISSING;
        item.found = "no libOpenCL.so.1";
        item.means = "OpenCL programs cannot run here";
        item.fix = "if you need OpenCL, install an ICD loader (ocl-icd) and a runtime";
    } else if (n[CL_PLATFORMS] == 0) {
        item.state = KINO__DOCTOR_LIMITED;
        item.value = "0";
        item.found = kino__doctor_text(
            d, "a loader, but no platform (clGetPlatformIDs returned %" PRId64 ")", n[CL_ANSWER]);
        item.means = "OpenCL programs have no device to run on";
        item.fix = "install a runtime, which adds a file to /etc/OpenCL/vendors";
    } else {
        item.value = kino__doctor_text(d, "%" PRId64, n[CL_PLATFORMS]);
        item.found =
            kino__doctor_text(d, "%" PRId64 " platform%s (%s), %" PRId64 " device%s",
                              n[CL_PLATFORMS], n[CL_PLATFORMS] == 1 ? "" : "s",
                              probe.result.texts[1], n[CL_DEVICES], n[CL_DEVICES] == 1 ? "" : "s");
        if (n[CL_DEVICES] == 0) {
            item.state = KINO__DOCTOR_LIMITED;
            item.means = "OpenCL programs of this user have no device to run on";
            item.fix = "check that this user may use the device (group render or video) and can "
                       "write to the runtime's cache (HOME)";
        }
    }
    kino__doctor_add(d, &item);
    if (probe.end == KINO__PROBE_DONE && n[CL_HAS])
        check_layer(d, &probe, layer);
}

/* -- plug-ins for other devices -- */

static void look_at_plugin(kino__probe_result *r, void *context)
{
    const char *names[] = {context, NULL};
    void *library = kino__probe_library(r, names);
    r->numbers[HAS_LIBRARY] = library != NULL;
    r->numbers[ANSWER] = library && dlsym(library, "kino_device_plugin_v1");
}

static void check_plugins(kino__doctor *d)
{
    const char *list = kino__doctor_variable("KINO_PLUGINS");
    while (list && *list) {
        size_t size = strcspn(list, ":");
        const char *path = kino__doctor_text(d, "%.*s", (int)size, list);
        list += size + (list[size] == ':');
        if (!*path)
            continue;
        kino__probe probe;
        kino__probe_run(&probe, look_at_plugin, (void *)(uintptr_t)path, KINO__DEVICE_TIMEOUT_MS);
        kino__doctor_item item = {
            .name = "plugin", .title = "plug-in (KINO_PLUGINS)", .value = path};
        if (probe.end == KINO__PROBE_DONE && probe.result.numbers[ANSWER]) {
            item.found = kino__doctor_text(d, "%s loads and has its entry point", path);
        } else {
            item.state = KINO__DOCTOR_MISSING;
            item.found =
                probe.end != KINO__PROBE_DONE
                    ? kino__probe_story(d, &probe, KINO__DEVICE_TIMEOUT_MS)
                : probe.result.numbers[HAS_LIBRARY]
                    ? kino__doctor_text(d, "%s has no function kino_device_plugin_v1", path)
                    : kino__doctor_text(d, "%s", probe.result.texts[0]);
            item.means = "its device is not in any trace";
            item.fix = "fix or unset KINO_PLUGINS";
        }
        kino__doctor_add(d, &item);
    }
}

void kino__doctor_look_device(kino__doctor *doctor)
{
    kino__doctor_look_cuda(doctor);
    look_rocm(doctor);
    look_xpu(doctor);
    look_opencl(doctor);
    check_plugins(doctor);
}
