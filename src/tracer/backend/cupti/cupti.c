/* cupti.c - the CUPTI backend: CUDA's work and calls in the trace, as Kineto shows them.
 *
 * Nothing of CUDA is linked: CUPTI is found at run time (cupti_load.c). A session's life:
 *
 *   prepare   our clock, our subscription, our buffers; kinds of records are switched on, so that
 *             CUPTI's own preparations are over when the recording begins
 *   start     records count from here on; a thread empties the buffers
 *   stop      kinds are switched off
 *   flush     the rest is decoded; then CUPTI is left (cupti_attach.c)
 *
 * A call that fails costs what it was for, and is said in one line. */
#include "tracer/backend/cupti/cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_out.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/cupti/cupti_internal.h"
#include "tracer/device/device_library.h"

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see cupti_internal.h */
kino__cupti_state kino__cupti = {.decode_lock = PTHREAD_MUTEX_INITIALIZER};

/* -- time */

uint64_t kino__cupti_now(void)
{
    uint64_t time = 0;
    if (kino__cupti.has_timestamps)
        return kino__backend_now();
    int result =
        kino__cupti.calls.cuptiGetTimestamp ? kino__cupti.calls.cuptiGetTimestamp(&time) : -1;
    return result == CUPTI_OK ? time : 0;
}

static bool now(void *context, uint32_t device, uint64_t *out)
{
    (void)context;
    (void)device;
    *out = kino__cupti.has_ended ? 0 : kino__cupti_now();
    return *out != 0;
}

/* -- metadata */

/* Of the runtime that is in the process, when it is a library. */
static int runtime_version(void)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};
    int (*ask)(int *) = NULL;
    int version = 0;
    bool is_found = kino__library_find(RTLD_DEFAULT, "cudaRuntimeGetVersion", &ask);
    for (size_t i = 0; i < sizeof names / sizeof *names && !is_found; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        is_found = library && kino__library_find(library, "cudaRuntimeGetVersion", &ask);
    }
    return is_found && ask(&version) == 0 ? version : 0;
}

static void write_versions(void)
{
    const kino_device_host *host = kino__cupti.host;
    int driver = 0, runtime = runtime_version();
    kino__backend_tell_number(host, "cupti_version", kino__cupti.version);
    if (runtime)
        kino__backend_tell_number(host, "cuda_runtime_version", runtime);
    int result = kino__cupti.cuda.cuDriverGetVersion ? kino__cupti.cuda.cuDriverGetVersion(&driver)
                                                     : CUDA_NOT_SUPPORTED;
    if (result == 0)
        kino__backend_tell_number(host, "cuda_driver_version", driver);
    else if (kino__cupti.cuda.cuDeviceGetCount) /* else there is no driver, which was said */
        kino__cuda_problem("cuDriverGetVersion", result);
}

/* What became of all records: "kino_cupti". */
static void write_counts(void)
{
    static const char *const names[KINO__CUPTI_COUNTS] = {
#define COUNT_NAME(name, text) [KINO__CUPTI_##name] = (text),
        KINO__CUPTI_COUNT_MAP(COUNT_NAME)
#undef COUNT_NAME
    };
    kino__buffer text = {0};
    kino__json json = {.out = &text};
    kino__json_begin_object(&json);
    for (int i = 0; i < KINO__CUPTI_COUNTS; i++) {
        uint64_t count = __atomic_load_n(&kino__cupti.counts[i], __ATOMIC_RELAXED);
        if (!count && i != KINO__CUPTI_RECORDS)
            continue;
        kino__json_key(&json, names[i]);
        kino__json_uint(&json, count);
    }
    kino__json_end_object(&json);
    kino__buffer_add(&text, (kino_str){"", 1});
    if (!text.failed)
        (void)!kino__cupti.host->metadata(kino__cupti.host, "kino_cupti", text.data, NULL);
    kino__buffer_deinit(&text);
}

/* -- kinds of records */

/* An allocator of a framework tells of its own memory; what it asks CUDA for would be counted
 * twice. */
static bool is_memory_wanted(void)
{
    const char *said = secure_getenv("KINO_CUPTI_MEMORY");
    if (said && *said)
        return strcmp(said, "0") != 0;
    void *torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (torch)
        (void)dlclose(torch);
    return !torch;
}

/* Only then CUPTI hears of NVTX. */
static bool is_nvtx_wanted(void)
{
    const char *path = secure_getenv("NVTX_INJECTION64_PATH");
    return path && strstr(path, "cupti");
}

typedef struct kind_of_records {
    uint32_t wanted;  /* kino_device_kind */
    uint32_t cupti;   /* CUPTI's */
    uint32_t since;   /* version */
    const char *name; /* for people */
    bool (*is_wanted)(void);
} kind_of_records;

/* In Kineto's order; memory, compiler and NVTX are ours. */
static const kind_of_records kinds[] = {
    {KINO_DEVICE_MEMCPY, CUPTI_KIND_MEMCPY, 0, "memcpy", NULL},
    {KINO_DEVICE_MEMSET, CUPTI_KIND_MEMSET, 0, "memset", NULL},
    {KINO_DEVICE_KERNEL, CUPTI_KIND_CONCURRENT_KERNEL, 0, "kernel", NULL},
    {KINO_DEVICE_EXTERNAL, CUPTI_KIND_EXTERNAL_CORRELATION, 0, "external correlation", NULL},
    {KINO_DEVICE_SYNC, CUPTI_KIND_SYNCHRONIZATION, 0, "synchronization", NULL},
    {KINO_DEVICE_CUDA_RUNTIME, CUPTI_KIND_RUNTIME, 0, "runtime", NULL},
    {KINO_DEVICE_CUDA_DRIVER, CUPTI_KIND_DRIVER, 0, "driver", NULL},
    {KINO_DEVICE_OVERHEAD, CUPTI_KIND_OVERHEAD, 0, "overhead", NULL},
    {KINO_DEVICE_OVERHEAD, CUPTI_KIND_JIT, CUPTI_VERSION_12_0, "jit", NULL},
    {KINO_DEVICE_MEMORY, CUPTI_KIND_MEMORY2, CUPTI_VERSION_12_0, "memory", is_memory_wanted},
    {KINO_DEVICE_ANNOTATION, CUPTI_KIND_MARKER, CUPTI_VERSION_12_0, "nvtx", is_nvtx_wanted},
};

/* Calls that are not worth a record; the functions came with CUDA 12.5. */
static void switch_off_noise(void)
{
    static const uint32_t driver[] = {686, 392, 304};
    const cupti_calls *calls = &kino__cupti.calls;
    int result = CUPTI_OK;
    if (kino__cupti.enabled & 1ull << CUPTI_KIND_RUNTIME && calls->cuptiActivityEnableRuntimeApi)
        result = calls->cuptiActivityEnableRuntimeApi(17, 0);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiActivityEnableRuntimeApi", result);
    bool has_driver = kino__cupti.enabled & 1ull << CUPTI_KIND_DRIVER;
    for (size_t i = 0; has_driver && i < sizeof driver / sizeof *driver; i++) {
        result = calls->cuptiActivityEnableDriverApi
                     ? calls->cuptiActivityEnableDriverApi(driver[i], 0)
                     : CUPTI_OK;
        if (result != CUPTI_OK)
            kino__cupti_problem("cuptiActivityEnableDriverApi", result);
    }
}

static void ask_for_event_times(void)
{
    const cupti_calls *calls = &kino__cupti.calls;
    bool is_wanted = kino__cupti.enabled & 1ull << CUPTI_KIND_SYNCHRONIZATION;
    if (!is_wanted || !calls->cuptiActivityEnableCudaEventDeviceTimestamps)
        return;
    int result = calls->cuptiActivityEnableCudaEventDeviceTimestamps(1);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiActivityEnableCudaEventDeviceTimestamps", result);
}

/* What cannot be had is left out; nothing at all is a failure. */
static kino_status enable_kinds(uint32_t wanted, kino_error *err)
{
    char call[64] = "";
    int failure = CUPTI_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind_of_records *k = &kinds[i];
        if (!(wanted & KINO_DEVICE_BIT(k->wanted)) || kino__cupti.version < k->since ||
            (k->is_wanted && !k->is_wanted()))
            continue;
        int result = kino__cupti.calls.cuptiActivityEnable(k->cupti);
        if (result == CUPTI_OK) {
            kino__cupti.enabled |= 1ull << k->cupti;
            continue;
        }
        if (failure == CUPTI_OK) {
            failure = result;
            (void)snprintf(call, sizeof call, "cuptiActivityEnable(%s)", k->name);
        }
    }
    if (failure != CUPTI_OK && !kino__cupti.enabled)
        return kino__cupti_fail(err, call, failure);
    if (failure != CUPTI_OK)
        kino__cupti_problem(call, failure);
    switch_off_noise();
    ask_for_event_times();
    return KINO_OK;
}

static void disable_kinds(void)
{
    for (uint32_t kind = 0; kind < 64; kind++) {
        if (!(kino__cupti.enabled & 1ull << kind))
            continue;
        int result = kino__cupti.calls.cuptiActivityDisable(kind);
        if (result != CUPTI_OK)
            kino__cupti_problem("cuptiActivityDisable", result);
    }
    kino__cupti.enabled = 0;
}

/* -- prepare */

/* Threads by the number that everybody else has for them. */
static void ask_for_thread_ids(void)
{
    const cupti_calls *calls = &kino__cupti.calls;
    kino__cupti.thread_id_type = 0; /* the usual one */
    int result = calls->cuptiGetThreadIdType
                     ? calls->cuptiGetThreadIdType(&kino__cupti.thread_id_type)
                     : CUPTI_OK;
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiGetThreadIdType", result);
    result = calls->cuptiSetThreadIdType ? calls->cuptiSetThreadIdType(CUPTI_THREAD_ID_SYSTEM)
                                         : CUPTI_OK; /* cupti_threads.c */
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiSetThreadIdType (calls may be on rows of unknown threads)",
                            result);
}

static uint32_t buffer_count(uint32_t wanted_mb)
{
    const char *said = secure_getenv("KINO_CUPTI_BUFFER_MB");
    long mb = said ? strtol(said, NULL, 10) : (long)wanted_mb;
    long count = (mb << 20) / KINO__CUPTI_BUFFER_SIZE;
    if (mb <= 0)
        return KINO__CUPTI_BUFFERS;
    return count < KINO__CUPTI_BUFFERS_MIN   ? KINO__CUPTI_BUFFERS_MIN
           : count > KINO__CUPTI_BUFFERS_MAX ? KINO__CUPTI_BUFFERS_MAX
                                             : (uint32_t)count;
}

static kino_status register_clock(kino_error *err)
{
    if (kino__cupti.has_timestamps) { /* others may have changed it since the last session */
        int result = kino__cupti.calls.cuptiActivityRegisterTimestampCallback(kino__backend_now);
        return result == CUPTI_OK
                   ? KINO_OK
                   : kino__cupti_fail(err, "cuptiActivityRegisterTimestampCallback", result);
    }
    if (kino__cupti.timestamp_result != CUPTI_NOT_SUPPORTED)
        kino__cupti_problem("cuptiActivityRegisterTimestampCallback (times are converted instead)",
                            kino__cupti.timestamp_result);
    if (kino__cupti_now())
        return KINO_OK;
    return kino__fail(err, KINO_UNAVAILABLE,
                      "CUPTI neither accepts Kino's clock nor reports its own (cuptiGetTimestamp)");
}

/* Behind the subscription. */
static kino_status set_up(const kino_device_request *request, kino_error *err)
{
    KINO_TRY(kino__cupti_buffers_prepare(buffer_count(request->buffer_mb), err));
    pthread_mutex_lock(&kino__cupti.decode_lock);
    bool has_memory = kino__cupti_decode_begin();
    pthread_mutex_unlock(&kino__cupti.decode_lock);
    if (!has_memory)
        return kino__fail_nomem(err);
    ask_for_thread_ids();
    int result =
        kino__cupti.calls.cuptiActivityRegisterCallbacks(kino__cupti_request, kino__cupti_complete);
    if (result != CUPTI_OK)
        return kino__cupti_fail(err, "cuptiActivityRegisterCallbacks", result);
    return enable_kinds(request->kinds, err);
}

/* What a session leaves: CUPTI as it was. */
static void tear_down(void)
{
    const cupti_calls *calls = &kino__cupti.calls;
    if (calls->cuptiSetThreadIdType && kino__cupti.thread_id_type != CUPTI_THREAD_ID_SYSTEM)
        (void)calls->cuptiSetThreadIdType(kino__cupti.thread_id_type);
    kino__cupti_buffers_release();
    kino__cupti_detach();
}

static kino_status prepare(void *context, const kino_device_request *request, kino_error *err)
{
    (void)context;
    if (kino__cupti.has_ended)
        return kino__fail(err, KINO_UNAVAILABLE, "CUDA does not work in a forked child");
    kino__cupti.kinds = request->kinds;
    kino__cupti.enabled = 0;
    kino__cupti_thread_note();
    __atomic_store_n(&kino__cupti.window_start, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&kino__cupti.window_end, 0, __ATOMIC_RELAXED);
    memset(kino__cupti.counts, 0, sizeof kino__cupti.counts);
    KINO_TRY(register_clock(err));
    KINO_TRY(kino__cupti_attach(err));
    kino_status st = set_up(request, err);
    if (st != KINO_OK) {
        disable_kinds();
        tear_down();
        return st;
    }
    write_versions();
    if (request->kinds & KINO_DEVICE_BIT(KINO_DEVICE_COUNTERS))
        kino__cupti_pm_prepare(request->counters, request->counters_device);
    return KINO_OK;
}

/* -- start, stop, flush */

static void set_pushing(bool is_on)
{
    bool can = kino__cupti.calls.cuptiActivityPushExternalCorrelationId &&
               kino__cupti.calls.cuptiActivityPopExternalCorrelationId &&
               kino__cupti.enabled & 1ull << CUPTI_KIND_EXTERNAL_CORRELATION;
    __atomic_store_n(&kino__cupti.is_pushing, is_on && can, __ATOMIC_RELAXED);
}

/* What came while the session was only prepared is thrown away, because it is before the window. */
static kino_status start(void *context, kino_error *err)
{
    (void)context;
    int result = kino__cupti.calls.cuptiActivityFlushAll(0);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiActivityFlushAll", result);
    kino__cupti_collect(true);
    memset(kino__cupti.counts, 0, sizeof kino__cupti.counts);
    if (!kino__cupti_collector_start())
        return kino__fail(err, KINO_UNAVAILABLE, "cannot start a thread");
    kino__cupti.is_running = true;
    set_pushing(true);
    __atomic_store_n(&kino__cupti.window_start, kino__cupti_now(), __ATOMIC_RELAXED);
    kino__cupti_pm_start();
    return KINO_OK;
}

static void stop(void *context)
{
    (void)context;
    if (kino__cupti.has_ended)
        return;
    __atomic_store_n(&kino__cupti.window_end, kino__cupti_now(), __ATOMIC_RELAXED);
    set_pushing(false);
    kino__cupti_pm_stop();
    kino__cupti_collector_stop();
    disable_kinds();
    if (!kino__cupti.is_running) { /* it was only prepared: nobody flushes */
        (void)kino__cupti.calls.cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
        kino__cupti_collect(true);
        tear_down();
    }
    kino__cupti.is_running = false;
}

static void flush(void *context, uint64_t deadline_ns)
{
    (void)context;
    (void)deadline_ns; /* CUPTI waits for nothing */
    bool is_end = !kino__cupti.is_running;
    if (kino__cupti.has_ended)
        return;
    int result = kino__cupti.calls.cuptiActivityFlushAll(is_end ? CUPTI_FLUSH_FORCED : 0);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiActivityFlushAll", result);
    kino__cupti_collect(true);
    pthread_mutex_lock(&kino__cupti.decode_lock);
    kino__cupti_decode_rest();
    pthread_mutex_unlock(&kino__cupti.decode_lock);
    write_counts();
    if (is_end)
        tear_down();
}

static void forked(void *context)
{
    (void)context;
    kino__cupti.has_ended = true;
    kino__cupti.is_running = false;
    kino__cupti.is_pushing = false;
    pthread_mutex_init(&kino__cupti.decode_lock, NULL);
    kino__cupti_buffers_forked();
    kino__cupti_threads_forked();
}

/* -- functions of the program */

static void push(void *context, uint32_t kind, uint64_t id, const char *name)
{
    (void)context;
    bool is_annotation = kind == KINO_DEVICE_ANNOTATION;
    if (!__atomic_load_n(&kino__cupti.is_pushing, __ATOMIC_RELAXED))
        return;
    kino__cupti_thread_note();
    if (is_annotation)
        kino__cupti_annotation_named(id, name);
    int result = kino__cupti.calls.cuptiActivityPushExternalCorrelationId(
        is_annotation ? CUPTI_EXTERNAL_CUSTOM1 : CUPTI_EXTERNAL_CUSTOM0, id);
    if (result != CUPTI_OK)
        kino__cupti_problem("cuptiActivityPushExternalCorrelationId", result);
}

/* Also when the session has ended since the push. */
static void pop(void *context, uint32_t kind)
{
    uint64_t last = 0;
    (void)context;
    if (kino__cupti.has_ended || !kino__cupti_is_attached() ||
        !kino__cupti.calls.cuptiActivityPopExternalCorrelationId)
        return;
    int result = kino__cupti.calls.cuptiActivityPopExternalCorrelationId(
        kind == KINO_DEVICE_ANNOTATION ? CUPTI_EXTERNAL_CUSTOM1 : CUPTI_EXTERNAL_CUSTOM0, &last);
    if (result != CUPTI_OK && __atomic_load_n(&kino__cupti.is_pushing, __ATOMIC_RELAXED))
        kino__cupti_problem("cuptiActivityPopExternalCorrelationId", result);
}

static void describe(void *context, uint64_t id, const char *json)
{
    if (__atomic_load_n(&kino__cupti.is_pushing, __ATOMIC_RELAXED))
        kino__backend_describe(context, id, json);
}

/* -- entry */

static const kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = KINO_DEVICE_BIT(KINO_DEVICE_KERNEL) | KINO_DEVICE_BIT(KINO_DEVICE_MEMCPY) |
             KINO_DEVICE_BIT(KINO_DEVICE_MEMSET) | KINO_DEVICE_BIT(KINO_DEVICE_CUDA_RUNTIME) |
             KINO_DEVICE_BIT(KINO_DEVICE_CUDA_DRIVER) | KINO_DEVICE_BIT(KINO_DEVICE_OVERHEAD) |
             KINO_DEVICE_BIT(KINO_DEVICE_SYNC) | KINO_DEVICE_BIT(KINO_DEVICE_EVENT) |
             KINO_DEVICE_BIT(KINO_DEVICE_EXTERNAL) | KINO_DEVICE_BIT(KINO_DEVICE_MEMORY) |
             KINO_DEVICE_BIT(KINO_DEVICE_ANNOTATION) | KINO_DEVICE_BIT(KINO_DEVICE_GPU_ANNOTATION) |
             KINO_DEVICE_BIT(KINO_DEVICE_COUNTERS),
    .name = "cupti",
    .version = kino__cupti.version_text,
    .prepare = prepare,
    .start = start,
    .stop = stop,
    .flush = flush,
    .now = now,
    .forked = forked,
    .push = push,
    .pop = pop,
    .describe = describe,
};

static const kino_device_backend *enter(const kino_device_host *host, kino_error *err)
{
    kino__cupti.host = host;
    kino__cupti_thread_note();
    if (kino__cupti_load(err) != KINO_OK)
        return NULL;
    kino__cupti.timestamp_result =
        kino__cupti.calls.cuptiActivityRegisterTimestampCallback
            ? kino__cupti.calls.cuptiActivityRegisterTimestampCallback(kino__backend_now)
            : CUPTI_NOT_SUPPORTED; /* before CUDA 11.6 */
    kino__cupti.has_timestamps = kino__cupti.timestamp_result == CUPTI_OK;
    return &backend;
}

const kino_device_backend *kino__cupti_entry(const kino_device_host *host, kino_error *err)
{
    if (!enter(host, err) || kino__cupti_as_named(kino__cupti_add_devices(err), err) != KINO_OK)
        return NULL;
    return &backend;
}

const kino_device_backend *kino__cupti_injected_entry(const kino_device_host *host, kino_error *err)
{
    if (!enter(host, err))
        return NULL;
    kino__cupti.has_to_ask = true;
    return &backend;
}
