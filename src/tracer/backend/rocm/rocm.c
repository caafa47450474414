/* rocm.c - the ROCm backend: AMD GPUs by rocprofiler-sdk. Its devices, and its part in sessions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/rocm/rocm_internal.h"
#include "tracer/device/device_library.h"
#include "tracer/device/device_ticker.h"

enum {
    PAUSE_NS = 500000,    /* between two looks at what is still running */
    FETCH_NS = 200000000, /* between two fetches of records, while it is recorded */
    VERSION_MAX = sizeof kino__rocm.version,
};

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): of the process */
static kino__ticker ticker = KINO__TICKER_INIT;
static pthread_mutex_t ticker_lock = PTHREAD_MUTEX_INITIALIZER; /* sessions, the end of ROCm */
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

void kino__rocm_stop_fetching(void)
{
    pthread_mutex_lock(&ticker_lock);
    kino__ticker_stop(&ticker);
    pthread_mutex_unlock(&ticker_lock);
}

/* -- devices */

static int64_t memory_of(const rocp_agent *agent)
{
    int64_t sum = 0;
    for (uint32_t i = 0; agent->banks && i < agent->memory_banks; i++)
        if (agent->banks[i].heap == ROCP_HEAP_FB_PUBLIC ||
            agent->banks[i].heap == ROCP_HEAP_FB_PRIVATE)
            sum += (int64_t)agent->banks[i].bytes;
    return sum > 0 ? sum : KINO_NO_INT;
}

static void add_device(const rocp_agent *agent)
{
    const kino_device_property properties[] = {
        {"computeMajor", NULL, agent->gfx_version / 10000},
        {"computeMinor", NULL, agent->gfx_version / 100 % 100},
        {"maxThreadsPerBlock", NULL, agent->block_max},
        {"maxThreadsPerMultiprocessor", NULL, (int64_t)agent->waves_per_unit * agent->wave_size},
        {"warpSize", NULL, agent->wave_size},
        {"sharedMemPerBlock", NULL, (int64_t)agent->lds_kib * 1024},
        {"numSms", NULL, agent->compute_units},
        {"maxSharedMemoryPerMultiProcessor", NULL, (int64_t)agent->lds_kib * 1024},
    };
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    if (kino__rocm.device_count == KINO__ROCM_DEVICES)
        return;
    info.name = agent->product && *agent->product ? agent->product : agent->name;
    info.memory_bytes = memory_of(agent);
    info.properties = properties;
    info.property_count = sizeof properties / sizeof *properties;
    uint32_t number = kino__rocm.host->add_device(kino__rocm.host, &info);
    if (number != KINO_DEVICE_HOST)
        kino__rocm.devices[kino__rocm.device_count++] =
            (kino__rocm_device){agent->id.handle, number, 0};
}

/* In the order in which ROCm counts GPUs. */
static rocp_status add_devices(int version, const void **agents, size_t count, void *data)
{
    (void)version;
    (void)data;
    for (int32_t wanted = 0; wanted < (int32_t)count; wanted++)
        for (size_t i = 0; i < count; i++) {
            const rocp_agent *agent = agents[i];
            if (agent && agent->size >= sizeof *agent && agent->type == ROCP_AGENT_GPU &&
                agent->logical_node_of_type == wanted)
                add_device(agent);
        }
    return ROCP_SUCCESS;
}

/* -- what libkino asks */

static kino_status probe(void *context, kino_error *err)
{
    (void)context;
    if (kino__rocm.is_over)
        return kino__fail(err, KINO_UNAVAILABLE, "rocprofiler has been finalized in this process");
    KINO_TRY(kino__rocm_enter(err));
    if (kino__rocm.device_count == 0 &&
        !CHECK(query_available_agents,
               (ROCP_AGENT_VERSION_0, add_devices, sizeof(rocp_agent), NULL), err))
        return err->code;
    if (kino__rocm.device_count == 0)
        return kino__fail(err, KINO_NOT_FOUND, "rocprofiler sees no GPU");
    return KINO_OK;
}

static void tell_version(void)
{
    char text[VERSION_MAX];
    (void)snprintf(text, sizeof text, "%u.%u", kino__rocm.major, kino__rocm.minor);
    (void)!kino__rocm.host->metadata(kino__rocm.host, "rocprofiler-sdk_version", text, NULL);
}

/* HIP may only be asked when the program uses it: a question would wake it up. */
static void tell_hip_versions(void *hip)
{
    static const struct {
        const char *function, *key;
    } known[] = {{"hipRuntimeGetVersion", "hip_runtime_version"},
                 {"hipDriverGetVersion", "hip_driver_version"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int (*ask)(int *) = NULL;
        int value = 0;
        if (kino__library_find(hip, known[i].function, &ask) && ask(&value) == 0)
            kino__backend_tell_number(kino__rocm.host, known[i].key, value);
    }
}

/* Which other tools are there: they cost time, too. */
static void tell_others(void)
{
    char name[128];
    if (kino__rocm_other(name, sizeof name))
        kino__backend_tell_text(kino__rocm.host, "rocprofiler_other_tool", name);
}

static kino_status prepare(void *context, const kino_device_request *request, kino_error *err)
{
    (void)context;
    if (kino__rocm.is_over)
        return kino__fail(
            err, KINO_UNAVAILABLE,
            "rocprofiler has been finalized in this process, or the process was created by fork()");
    if (!kino__rocm.launches)
        kino__rocm.launches = kino__backend_map(KINO__ROCM_LAUNCHES * sizeof *kino__rocm.launches);
    if (!kino__rocm.launches)
        return kino__fail_nomem(err);
    __atomic_store_n(&kino__rocm.kinds, request->kinds, __ATOMIC_RELAXED);
    __atomic_store_n(&kino__rocm.pending, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&kino__rocm.first_dispatch, UINT64_MAX, __ATOMIC_RELAXED);
    __atomic_store_n(&kino__rocm.dropped, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&kino__rocm.odd_records, 0, __ATOMIC_RELAXED);
    kino__rocm_calls_begin();
    kino__rocm_work_begin();
    tell_version();
    tell_others();
    if (kino__rocm.problem[0])
        kino__rocm.host->problem(kino__rocm.host, kino__rocm.problem);
    return KINO_OK;
}

/* What goes wrong here is told at the end, when it is tried again. */
static void fetch(void)
{
    if (!kino__rocm.is_over)
        (void)kino__rocm.call.flush_buffer(kino__rocm.buffer);
}

static kino_status start(void *context, kino_error *err)
{
    (void)context;
    char other[128];
    __atomic_add_fetch(&kino__rocm.session, 1, __ATOMIC_RELAXED);
    if (!CHECK(get_timestamp, (&kino__rocm.start_time), err))
        return err->code;
    rocp_status status = kino__rocm.call.start_context(kino__rocm.context);
    if (status == ROCP_CONTEXT_CONFLICT && kino__rocm_other(other, sizeof other))
        return kino__fail(err, KINO_UNAVAILABLE,
                          "rocprofiler_start_context failed: another tool is recording: %s", other);
    if (!kino__rocm_check("start_context", status, err))
        return err->code;
    kino__rocm.is_on = true;
    pthread_mutex_lock(&ticker_lock);
    if (kino__rocm.buffer.handle && !kino__rocm.is_over)
        kino__ticker_start(&ticker, FETCH_NS, fetch);
    pthread_mutex_unlock(&ticker_lock);
    return KINO_OK;
}

static void stop(void *context)
{
    (void)context;
    kino__rocm_stop_fetching();
    if (kino__rocm.is_over || !kino__rocm.is_on)
        return;
    kino__rocm.is_on = false;
    if (kino__rocm.call.stop_context(kino__rocm.context) != ROCP_SUCCESS)
        kino__rocm.host->problem(kino__rocm.host, "rocprofiler_stop_context failed");
}

/* Kernels that were launched, have no record, and are not among those that were dropped. */
static uint64_t missing(void)
{
    uint64_t pending = __atomic_load_n(&kino__rocm.pending, __ATOMIC_RELAXED);
    uint64_t dropped = __atomic_load_n(&kino__rocm.dropped, __ATOMIC_RELAXED);
    return pending > dropped ? pending - dropped : 0;
}

/* Until all kernels that were launched are done, or it is time. */
static rocp_status drain(uint64_t deadline_ns)
{
    for (;;) {
        rocp_status status = kino__rocm.call.flush_buffer(kino__rocm.buffer);
        bool is_done = status != ROCP_BUFFER_BUSY && missing() == 0;
        if (is_done || (status != ROCP_SUCCESS && status != ROCP_BUFFER_BUSY) ||
            kino__backend_now() + PAUSE_NS >= deadline_ns)
            return status;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

/* What went wrong since the session began; only the thread that drives it may say so. */
static void tell_problems(rocp_status flushed)
{
    const kino_device_host *host = kino__rocm.host;
    kino_error text = {0};
    uint64_t odd = __atomic_load_n(&kino__rocm.odd_records, __ATOMIC_RELAXED);
    if (!kino__rocm_check("flush_buffer", flushed, &text))
        host->problem(host, text.message);
    if (odd) {
        (void)kino__fail(&text, KINO_FORMAT,
                         "%llu records of rocprofiler-sdk %s have an unknown format",
                         (unsigned long long)odd, kino__rocm.version);
        host->problem(host, text.message);
    }
}

/* Behind a session: what HIP is, or that none of its calls was seen although it was there first. */
static void tell_of_hip(void)
{
    const kino_device_host *host = kino__rocm.host;
    void *hip = kino__rocm.is_over ? NULL : kino__rocm_hip();
    if (!hip)
        return;
    if (__atomic_load_n(&kino__rocm.has_calls, __ATOMIC_RELAXED))
        tell_hip_versions(hip);
    else if (kino__rocm.is_late)
        host->problem(host, "no HIP calls were recorded; if there were any, ROCm was initialized "
                            "before the recording was prepared: use 'kino record'");
    (void)dlclose(hip);
}

static void flush(void *context, uint64_t deadline_ns)
{
    (void)context;
    rocp_status status = ROCP_SUCCESS;
    bool is_end = !kino__rocm.is_on;
    if (kino__rocm.buffer.handle && !kino__rocm.is_over)
        status = drain(deadline_ns);
    if (!is_end)
        return;
    kino__rocm.host->lost(kino__rocm.host, missing());
    __atomic_store_n(&kino__rocm.pending, 0, __ATOMIC_RELAXED);
    kino__rocm_work_end();
    tell_problems(status);
    tell_of_hip();
}

static bool now(void *context, uint32_t device, uint64_t *out)
{
    (void)context;
    (void)device;
    return !kino__rocm.is_over && kino__rocm.call.get_timestamp(out) == ROCP_SUCCESS;
}

/* ROCm does not survive a fork. */
static void forked(void *context)
{
    (void)context;
    kino__ticker_forget(&ticker);
    ticker_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    kino__rocm.is_over = true;
    kino__rocm.is_on = false;
}

#define BIT(kind) KINO_DEVICE_BIT(KINO_DEVICE_##kind)
/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): its version comes late */
static kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = BIT(KERNEL) | BIT(MEMCPY) | BIT(CUDA_RUNTIME) | BIT(OVERHEAD) | BIT(MEMORY) |
             BIT(ANNOTATION) | BIT(GPU_ANNOTATION) | BIT(EXTERNAL),
    .name = "rocm",
    .version = kino__rocm.version,
    .probe = probe,
    .prepare = prepare,
    .start = start,
    .stop = stop,
    .flush = flush,
    .now = now,
    .forked = forked,
    .push = kino__rocm_push,
    .pop = kino__rocm_pop,
    .describe = kino__backend_describe,
};

const kino_device_backend *kino__rocm_entry(const kino_device_host *host, kino_error *err);

/* Under 'kino record' rocprofiler calls us when ROCm is used; most processes never do. */
static bool is_injected(void)
{
    const char *tools = secure_getenv("ROCP_TOOL_LIBRARIES");
    return tools && strstr(tools, "/libkino_inject.so");
}

/* Where there is no AMD GPU the library is not even looked for. */
static bool may_be_here(void)
{
    return kino__rocm.library || secure_getenv(KINO__ROCM_VARIABLE) ||
           dlopen(ROCP_LIBRARY, RTLD_LAZY | RTLD_NOLOAD) || /* stays: it is never closed */
           (!is_injected() && access("/dev/kfd", F_OK) == 0);
}

const kino_device_backend *kino__rocm_entry(const kino_device_host *host, kino_error *err)
{
    if (!may_be_here()) {
        (void)kino__fail(err, KINO_NOT_FOUND, "ROCm is not in use, or there is no AMD GPU");
        return NULL;
    }
    if (!kino__rocm_open(err))
        return NULL;
#define KEY(name, text) kino__rocm.keys[KINO__ROCM_##name] = host->key(host, text);
    KINO__ROCM_KEY_MAP(KEY)
#undef KEY
    __atomic_store_n(&kino__rocm.host, host, __ATOMIC_RELEASE); /* callbacks may be under way */
    return &backend;
}
