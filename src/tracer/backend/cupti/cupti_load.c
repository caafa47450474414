/* cupti_load.c - finding CUPTI and the CUDA driver, and words for what they refuse.
 *
 * CUPTI is taken from the path in KINO_CUPTI_LIBRARY; else the copy that is in the process already;
 * else by its name, where CUDA is in use or a GPU is in the machine. Everybody else pays for a few
 * questions to the linker and two to the file system, and nothing is loaded. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/cupti/cupti_internal.h"

static const char *const cupti_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                          "libcupti.so.11.8", "libcupti.so.11.2"};
/* Where toolkits are that the linker does not know. */
static const char *const cupti_paths[] = {"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                                          "/usr/local/cuda/lib64/libcupti.so"};
static const char driver_name[] = "libcuda.so.1";

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* -- libraries */

static void *find_loaded(void)
{
    for (size_t i = 0; i < COUNT_OF(cupti_names); i++) {
        void *library = dlopen(cupti_names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) {
            kino__cupti.library = cupti_names[i];
            return library;
        }
    }
    return NULL;
}

static void *load_by_name(void)
{
    for (size_t i = 0; i < COUNT_OF(cupti_names) + COUNT_OF(cupti_paths); i++) {
        const char *name =
            i < COUNT_OF(cupti_names) ? cupti_names[i] : cupti_paths[i - COUNT_OF(cupti_names)];
        void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        if (library) {
            kino__cupti.library = name;
            return library;
        }
    }
    return NULL;
}

/* Under `kino record` every process of a command gets here, and CUDA tells when it is used. */
static bool is_cuda_here(void)
{
    void *driver = dlopen(driver_name, RTLD_LAZY | RTLD_NOLOAD);
    if (driver)
        (void)dlclose(driver);
    if (driver || secure_getenv("KINO_RECORD_FOLDER"))
        return driver != NULL;
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static void *load_cupti(kino_error *err)
{
    const char *path = secure_getenv("KINO_CUPTI_LIBRARY");
    if (path && *path) {
        void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        const char *why = library ? NULL : dlerror(); /* NOLINT(concurrency-mt-unsafe): ours */
        kino__cupti.library = path;
        if (!library)
            (void)kino__fail(err, KINO_IO, "KINO_CUPTI_LIBRARY cannot be loaded: %s",
                             why ? why : "unknown reason");
        return library;
    }
    void *library = find_loaded();
    if (!library && !is_cuda_here()) {
        (void)kino__fail(err, KINO_NOT_FOUND, "no CUDA on this machine");
        return NULL;
    }
    if (!library)
        library = load_by_name();
    if (!library)
        (void)kino__fail(err, KINO_UNAVAILABLE,
                         "CUDA is installed, but libcupti.so was not found: install CUPTI from the "
                         "CUDA toolkit, or set KINO_CUPTI_LIBRARY to its path");
    return library;
}

/* -- functions */

static kino_status find_cupti(void *library, kino_error *err)
{
#define WANTED(name, is_needed, parameters) {#name, is_needed, offsetof(cupti_calls, name)},
    static const kino__backend_function list[] = {KINO__CUPTI_CALL_MAP(WANTED)};
#undef WANTED
    const char *missing = kino__backend_find(library, list, COUNT_OF(list), &kino__cupti.calls);
    if (missing)
        return kino__fail(err, KINO_FORMAT, "'%s' is not CUPTI: it has no %s", kino__cupti.library,
                          missing);
    return KINO_OK;
}

static kino_status find_driver(kino_error *err)
{
#define WANTED(name, is_needed, parameters) {#name, is_needed, offsetof(cuda_calls, name)},
    static const kino__backend_function list[] = {KINO__CUDA_CALL_MAP(WANTED)};
#undef WANTED
    void *library = dlopen(driver_name, RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return kino__fail(err, KINO_NOT_FOUND, "the CUDA driver (%s) is not on this machine",
                          driver_name);
    const char *missing = kino__backend_find(library, list, COUNT_OF(list), &kino__cupti.cuda);
    if (missing)
        return kino__fail(err, KINO_FORMAT, "%s has no %s", driver_name, missing);
    return KINO_OK;
}

static kino_status check_version(kino_error *err)
{
    uint32_t version = 0;
    int result = kino__cupti.calls.cuptiGetVersion(&version);
    if (result != CUPTI_OK)
        return kino__cupti_fail(err, "cuptiGetVersion", result);
    bool is_counted = version >= CUPTI_VERSION_11_0 && version < 100;
    bool is_dated = version >= CUPTI_VERSION_13_0 && version < CUPTI_VERSION_14_0;
    if (!is_counted && !is_dated)
        return kino__fail(err, KINO_FORMAT,
                          "unsupported CUPTI version %u (supported: CUDA 11.0 to 13.x)", version);
    kino__cupti.version = version;
    (void)snprintf(kino__cupti.version_text, sizeof kino__cupti.version_text, "%u", version);
    return KINO_OK;
}

kino_status kino__cupti_as_named(kino_status st, kino_error *err)
{
    const char *path = secure_getenv("KINO_CUPTI_LIBRARY");
    if (st == KINO_NOT_FOUND && path && *path)
        st = err->code = KINO_UNAVAILABLE;
    return st;
}

static void on_nothing(void *user, int domain, uint32_t cbid, const void *data)
{
    (void)user;
    (void)domain;
    (void)cbid;
    (void)data;
}

/* CUPTI needs the driver: where it takes a subscriber all the same, the driver is somewhere that
 * we do not know, and only what it says of devices is missing. */
static bool works_alone(void)
{
    void *subscriber = NULL;
    memset(&kino__cupti.cuda, 0, sizeof kino__cupti.cuda);
    if (kino__cupti.calls.cuptiSubscribe(&subscriber, on_nothing, NULL) != CUPTI_OK)
        return false;
    (void)kino__cupti.calls.cuptiUnsubscribe(subscriber);
    return true;
}

kino_status kino__cupti_load(kino_error *err)
{
    void *library = load_cupti(err);
    if (!library)
        return err->code;
    KINO_TRY(find_cupti(library, err));
    KINO_TRY(check_version(err));
    kino_status st = find_driver(err);
    if (st != KINO_OK && works_alone()) {
        kino__cupti.host->problem(kino__cupti.host, err->message);
        kino__error_clear(err);
        return KINO_OK;
    }
    return kino__cupti_as_named(st, err);
}

/* -- errors */

static const char *hint_of(int result)
{
    switch (result) {
#define HINT(name, value, hint)                                                                    \
    case value:                                                                                    \
        return hint;
        KINO__CUPTI_RESULT_MAP(HINT)
#undef HINT
    default:
        return "";
    }
}

void kino__cupti_explain(char *out, size_t size, const char *call, int result)
{
    const char *text = NULL, *hint = hint_of(result);
    if (!kino__cupti.calls.cuptiGetResultString ||
        kino__cupti.calls.cuptiGetResultString(result, &text) != CUPTI_OK)
        text = NULL;
    (void)snprintf(out, size, "%s failed: %s%s%d%s%s%s", call, text ? text : "error",
                   text ? " (" : " ", result, text ? ")" : "", *hint ? ": " : "", hint);
}

void kino__cupti_problem(const char *call, int result)
{
    char text[240];
    kino__cupti_explain(text, sizeof text, call, result);
    kino__cupti.host->problem(kino__cupti.host, text);
}

kino_status kino__cupti_fail(kino_error *err, const char *call, int result)
{
    char text[240];
    kino__cupti_explain(text, sizeof text, call, result);
    return kino__fail(err, KINO_UNAVAILABLE, "%s", text);
}

/* -- others */

typedef struct search {
    char *out;
    size_t size;
} search;

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    static const struct {
        const char *part, *name;
    } known[] = {
        {"libToolsInjection", "Nsight Systems"},
        {"libcuda-injection", "Nsight Compute"},
        {"libNvToolsInjection", "Nsight"},
        {"libcuinj64", "nvprof"},
        {"libsanitizer-collection", "compute-sanitizer"},
        {"libscorep", "Score-P"},
        {"libhpcrun", "HPCToolkit"},
        {"libTAU", "TAU"},
        {"libxprof", "XProf"},
        {"libtorch_cpu", "PyTorch's profiler"},
    };
    search *s = context;
    (void)size;
    const char *file = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    file = file ? file + 1 : info->dlpi_name;
    for (size_t i = 0; file && i < COUNT_OF(known); i++)
        if (strncmp(file, known[i].part, strlen(known[i].part)) == 0) {
            (void)snprintf(s->out, s->size, "%s (%s)", known[i].name, file);
            return i + 1 < COUNT_OF(known); /* the last one is a guess: perhaps there is better */
        }
    return 0;
}

void kino__cupti_name_others(char *out, size_t size)
{
    search s = {out, size};
    out[0] = '\0';
    (void)dl_iterate_phdr(look_at, &s);
    const char *injected = secure_getenv("CUDA_INJECTION64_PATH");
    if (!out[0] && injected && *injected && !strstr(injected, "libkino"))
        (void)snprintf(out, size, "'%.160s' (CUDA_INJECTION64_PATH)", injected);
}
