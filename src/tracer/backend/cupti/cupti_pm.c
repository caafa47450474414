/* cupti_pm.c - performance counters of one device, sampled once a millisecond: counter tracks.
 *
 * Switched on by naming metrics and a device (KINO_CUPTI_PM_METRICS, KINO_CUPTI_PM_DEVICE, or the
 * keys of a request, which are Kineto's). All metrics must fit into one pass, because nothing is
 * run twice. The hardware writes samples into a buffer of its own; a thread has them decoded every
 * 10 ms. The first sample is thrown away: it began before the recording.
 *
 * A failure costs the counters, nothing else. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "tracer/backend/cupti/cupti_internal.h"
#include "tracer/backend/cupti/cupti_pm_abi.h"
#include "tracer/device/device_library.h"
#include "tracer/tracer.h"

enum {
    METRICS_MAX = 64,
    TEXT_MAX = 4096,
    SAMPLES = 1024, /* of an image */
    INTERVAL_NS = 1000000,
    HARDWARE_SIZE = 64 << 20,
    ROUND_NS = 10000000,
};

typedef enum pm_call {
#define CALL_ENUM(name) PM_##name,
    KINO__PM_CALL_MAP(CALL_ENUM)
#undef CALL_ENUM
        PM_CALLS
} pm_call;

static const char *const call_names[PM_CALLS] = {
#define CALL_NAME(name) #name,
    KINO__PM_CALL_MAP(CALL_NAME)
#undef CALL_NAME
};

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): one instance; session callbacks
 * take turns, and the thread lives between start and stop */
static struct {
    int (*calls[PM_CALLS])(void *params);
    bool is_initialized, is_on; /* the profiler; a session has counters */
    char text[TEXT_MAX];        /* the names */
    const char *names[METRICS_MAX];
    uint32_t numbers[METRICS_MAX];
    size_t count;
    uint32_t cuda;          /* the device */
    void *host, *object;    /* CUPTI's */
    uint8_t *config, *data; /* images */
    size_t config_size, data_size;
    bool has_first; /* the first sample was thrown away */
    bool has_thread;
    uint32_t is_ending; /* atomic */
    pthread_t thread;
} self;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

static int call(pm_call which, void *params)
{
    return self.calls[which](params);
}

/* Says what failed, once a session. */
static bool works(pm_call which, void *params)
{
    int result = call(which, params);
    if (result != CUPTI_OK)
        kino__cupti_problem(call_names[which], result);
    return result == CUPTI_OK;
}
#define WORKS(name, params) works(PM_##name, params)

static void say(const char *text)
{
    kino__cupti.host->problem(kino__cupti.host, text);
}

/* -- settings */

static bool find_calls(void)
{
    void *library = dlopen(kino__cupti.library, RTLD_LAZY | RTLD_NOLOAD);
    bool is_found = library != NULL;
    for (int i = 0; i < PM_CALLS && is_found; i++)
        is_found = kino__library_find(library, call_names[i], &self.calls[i]);
    return is_found;
}

/* "a, b" as names. */
static void split_names(const char *list)
{
    (void)snprintf(self.text, sizeof self.text, "%s", list);
    self.count = 0;
    for (char *at = self.text; *at && self.count < METRICS_MAX;) {
        char *end = at + strcspn(at, ", ");
        bool is_last = !*end;
        *end = '\0';
        if (*at) {
            self.names[self.count] = at;
            self.numbers[self.count++] =
                kino__cupti.host->name(kino__cupti.host, KINO_DEVICE_COUNTERS, at);
        }
        at = is_last ? end : end + 1;
    }
}

/* Are counters asked for, and can they be? */
static bool read_settings(const char *metrics, int64_t device)
{
    const char *said_metrics = secure_getenv("KINO_CUPTI_PM_METRICS");
    const char *said_device = secure_getenv("KINO_CUPTI_PM_DEVICE");
    if (!metrics || !*metrics) {
        metrics = said_metrics;
        device = said_device && *said_device ? strtol(said_device, NULL, 10) : -1;
    }
    if (!metrics || !*metrics)
        return false;
    split_names(metrics);
    self.cuda = (uint32_t)device;
    if (kino__cupti.has_to_ask)
        say("no counters: the program has not initialized CUDA yet");
    else if (device < 0 || self.cuda >= kino__cupti.device_count)
        say("no counters: no such device (KINO_CUPTI_PM_DEVICE)");
    else if (!find_calls())
        say("no counters: this CUPTI cannot sample them (requires CUDA 12.8)");
    else if (!kino__cupti.has_timestamps)
        say("no counters: CUPTI does not accept Kino's clock");
    else
        return self.count > 0;
    return false;
}

/* -- setting up: each step needs the one before */

static bool get_availability(uint8_t **out)
{
    pm_availability a = {KINO__PM_SIZE(pm_availability, image), NULL, self.cuda, 0, NULL};
    if (!WORKS(cuptiPmSamplingGetCounterAvailability, &a))
        return false;
    a.image = *out = calloc(1, a.image_size ? a.image_size : 1);
    return a.image && WORKS(cuptiPmSamplingGetCounterAvailability, &a);
}

static bool make_host(void)
{
    uint8_t *availability = NULL;
    pm_chip chip = {KINO__PM_SIZE(pm_chip, name), NULL, self.cuda, NULL};
    bool is_ready = WORKS(cuptiDeviceGetChipName, &chip) && get_availability(&availability);
    pm_host host = {
        KINO__PM_SIZE(pm_host, host), NULL, PM_PROFILER_TYPE, chip.name, availability, NULL};
    is_ready = is_ready && WORKS(cuptiProfilerHostInitialize, &host);
    free(availability);
    self.host = is_ready ? host.host : NULL;
    return is_ready;
}

static bool make_config(void)
{
    pm_metrics metrics = {KINO__PM_SIZE(pm_metrics, count), NULL, self.host, self.names,
                          self.count};
    pm_image image = {KINO__PM_SIZE(pm_image, image_size), NULL, self.host, 0, NULL};
    if (!WORKS(cuptiProfilerHostConfigAddMetrics, &metrics) ||
        !WORKS(cuptiProfilerHostGetConfigImageSize, &image))
        return false;
    self.config_size = image.image_size;
    self.config = calloc(1, image.image_size ? image.image_size : 1);
    image.size = KINO__PM_SIZE(pm_image, image);
    image.image = self.config;
    pm_passes passes = {KINO__PM_SIZE(pm_passes, count), NULL, self.config_size, self.config, 0};
    if (!self.config || !WORKS(cuptiProfilerHostGetConfigImage, &image) ||
        !WORKS(cuptiProfilerHostGetNumOfPasses, &passes))
        return false;
    if (passes.count != 1)
        say("no counters: too many metrics for one pass; request fewer");
    return passes.count == 1;
}

static bool clear_data(void)
{
    pm_data_init init = {KINO__PM_SIZE(pm_data_init, data), NULL, self.object, self.data_size,
                         self.data};
    return WORKS(cuptiPmSamplingCounterDataImageInitialize, &init);
}

static bool make_object(void)
{
    pm_enable enable = {KINO__PM_SIZE(pm_enable, object), NULL, self.cuda, NULL};
    if (!WORKS(cuptiPmSamplingEnable, &enable))
        return false;
    self.object = enable.object;
    pm_config config = {KINO__PM_SIZE(pm_config, append),
                        NULL,
                        self.object,
                        self.config_size,
                        self.config,
                        HARDWARE_SIZE,
                        INTERVAL_NS,
                        PM_TRIGGER_TIME,
                        PM_KEEP_LATEST};
    pm_data_size size = {KINO__PM_SIZE(pm_data_size, data_size),
                         NULL,
                         self.object,
                         self.names,
                         self.count,
                         SAMPLES,
                         0};
    if (!WORKS(cuptiPmSamplingSetConfig, &config) ||
        !WORKS(cuptiPmSamplingGetCounterDataSize, &size))
        return false;
    self.data_size = size.data_size;
    self.data = calloc(1, size.data_size ? size.data_size : 1);
    return self.data && clear_data();
}

static void tear_down(void)
{
    pm_object object = {KINO__PM_SIZE(pm_object, object), NULL, self.object};
    pm_object host = {KINO__PM_SIZE(pm_object, object), NULL, self.host};
    pm_basic basic = {KINO__PM_SIZE(pm_basic, priv), NULL};
    if (self.object)
        (void)WORKS(cuptiPmSamplingDisable, &object);
    if (self.host)
        (void)WORKS(cuptiProfilerHostDeinitialize, &host);
    if (self.is_initialized)
        (void)WORKS(cuptiProfilerDeInitialize, &basic);
    free(self.config);
    free(self.data);
    self.object = self.host = NULL;
    self.config = self.data = NULL;
    self.is_initialized = self.is_on = false;
}

void kino__cupti_pm_prepare(const char *metrics, int64_t device)
{
    pm_basic basic = {KINO__PM_SIZE(pm_basic, priv), NULL};
    if (!read_settings(metrics, device))
        return;
    self.is_initialized = WORKS(cuptiProfilerInitialize, &basic);
    self.is_on = self.is_initialized && make_host() && make_config() && make_object();
    if (!self.is_on)
        tear_down();
}

/* -- samples */

static void write_sample(size_t index)
{
    double values[METRICS_MAX] = {0};
    const kino_device_host *host = kino__cupti.host;
    uint32_t device = kino__cupti_device(self.cuda);
    pm_sample sample = {
        KINO__PM_SIZE(pm_sample, end), NULL, self.object, self.data, self.data_size, index, 0, 0};
    pm_values evaluate = {KINO__PM_SIZE(pm_values, values),
                          NULL,
                          self.host,
                          self.data,
                          self.data_size,
                          index,
                          self.names,
                          self.count,
                          values};
    if (!WORKS(cuptiPmSamplingCounterDataGetSampleInfo, &sample) ||
        !WORKS(cuptiProfilerHostEvaluateToGpuValues, &evaluate)) {
        host->lost(host, 1);
        return;
    }
    if (!self.has_first) {
        self.has_first = true;
        return;
    }
    for (size_t i = 0; i < self.count; i++)
        if (isfinite(values[i]))
            host->counter(host, device, self.numbers[i], sample.start, values[i]);
}

/* True: there is more. */
static bool decode(void)
{
    pm_decode d = {
        KINO__PM_SIZE(pm_decode, overflow), NULL, self.object, self.data, self.data_size, 0, 0};
    pm_data_info info = {
        KINO__PM_SIZE(pm_data_info, completed), NULL, self.data, self.data_size, 0, 0, 0};
    if (!WORKS(cuptiPmSamplingDecodeData, &d) || !WORKS(cuptiPmSamplingGetCounterDataInfo, &info))
        return false;
    if (d.overflow)
        say("counters: the hardware's buffer was too small, samples are missing");
    for (size_t i = 0; i < info.completed; i++)
        write_sample(i);
    return clear_data() && d.stop_reason == PM_STOP_DATA_FULL;
}

static void *run(void *context)
{
    (void)context;
    while (!__atomic_load_n(&self.is_ending, __ATOMIC_RELAXED)) {
        const struct timespec round = {0, ROUND_NS};
        if (!decode())
            (void)nanosleep(&round, NULL);
    }
    return NULL;
}

void kino__cupti_pm_start(void)
{
    pm_object object = {KINO__PM_SIZE(pm_object, object), NULL, self.object};
    if (!self.is_on)
        return;
    self.has_first = false;
    __atomic_store_n(&self.is_ending, 0, __ATOMIC_RELAXED);
    self.has_thread =
        WORKS(cuptiPmSamplingStart, &object) && kino__tracer_thread(&self.thread, run, NULL);
    if (!self.has_thread)
        tear_down();
}

void kino__cupti_pm_stop(void)
{
    pm_object object = {KINO__PM_SIZE(pm_object, object), NULL, self.object};
    if (!self.is_on)
        return;
    if (self.has_thread) {
        __atomic_store_n(&self.is_ending, 1, __ATOMIC_RELAXED);
        (void)pthread_join(self.thread, NULL);
        self.has_thread = false;
        (void)WORKS(cuptiPmSamplingStop, &object);
        for (int rounds = 0; decode() && rounds < SAMPLES; rounds++)
            continue;
    }
    tear_down();
}
