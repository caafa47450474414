/* xpu.c - the XPU backend: Intel GPUs by PTI. The library, and the backend's part in sessions.
 *
 * PTI's views are switched on with a session and off with its end; times are taken from our clock,
 * so that calls and work are on the timeline without any conversion. PTI serves one user at a
 * time: whoever sets callbacks last gets the records. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "tracer/backend/backend.h"
#include "tracer/backend/xpu/xpu_internal.h"
#include "tracer/device/device_library.h"
#include "tracer/device/device_ticker.h"

enum {
    PAUSE_NS = 500000,    /* between two looks at what is still running */
    FETCH_NS = 200000000, /* between two fetches of records, while it is recorded */
    CARDS = 16,
    FIRST_CARD = 128,
};
#define VARIABLE "KINO_PTI_LIBRARY"
static const char *const library_names[] = {"libpti_view.so.1", "libpti_view.so.0",
                                            "libpti_view.so", NULL};

/* The views, by what a session wants. */
static const struct {
    uint32_t kind; /* KINO_DEVICE_... */
    uint32_t view;
    const char *what;
} views[] = {
    {KINO_DEVICE_EXTERNAL, PTI_EXTERNAL, "relations to functions"},
    {KINO_DEVICE_KERNEL, PTI_KERNEL, "kernels"},
    {KINO_DEVICE_MEMCPY, PTI_COPY, "copies"},
    {KINO_DEVICE_MEMCPY, PTI_COPY_P2P, "copies between devices"},
    {KINO_DEVICE_MEMSET, PTI_FILL, "fills"},
    {KINO_DEVICE_XPU_RUNTIME, PTI_RUNTIME_API, "runtime calls"},
    {KINO_DEVICE_XPU_DRIVER, PTI_DRIVER_API, "driver calls"},
    {KINO_DEVICE_XPU_SYNC, PTI_SYNCHRONIZATION, "synchronization"},
    {KINO_DEVICE_OVERHEAD, PTI_OVERHEAD, "overhead"},
    {KINO_DEVICE_COLLECTIVE, PTI_COMMUNICATION, "collectives"},
};
enum { VIEWS = sizeof views / sizeof *views };

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the process's */
kino__xpu_state kino__xpu;

static struct {
    void *library;
    bool is_enabled[VIEWS];
    bool is_on;     /* a session is recorded */
    bool is_over;   /* PTI may be gone: the process exits, or */
    bool is_forked; /* this is a forked child */
    bool has_exit;  /* at_exit is registered */
    kino__ticker ticker;
    pthread_mutex_t lock; /* of the ticker: sessions, and the end of the process */
} self = {.ticker = KINO__TICKER_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- the library */

static bool find_functions(void *library, kino_error *err)
{
#define WANTED(type, name, is_needed, arguments) {#name, is_needed, offsetof(pti_functions, name)},
    static const kino__backend_function list[] = {PTI_FUNCTION_MAP(WANTED)};
#undef WANTED
    const char *missing =
        kino__backend_find(library, list, sizeof list / sizeof *list, &kino__xpu.pti);
    if (missing)
        (void)kino__fail(err, KINO_UNAVAILABLE, "unsupported PTI: it has no %s", missing);
    return !missing;
}

static bool check_version(kino_error *err)
{
    const char *text = kino__xpu.pti.ptiVersionString();
    unsigned major = 0, minor = 0;
    (void)snprintf(kino__xpu.version, sizeof kino__xpu.version, "%s", text ? text : "");
    if (text && sscanf(text, "%u.%u", &major, &minor) == 2 && /* NOLINT(cert-err34-c): digits */
        major <= PTI_MAJOR_MAX && (major > 0 || minor >= PTI_MINOR_MIN))
        return true;
    (void)kino__fail(err, KINO_UNAVAILABLE, "unsupported PTI %s (supported: 0.%d to %d.x)",
                     kino__xpu.version[0] ? kino__xpu.version : "without a version", PTI_MINOR_MIN,
                     PTI_MAJOR_MAX);
    return false;
}

static bool open_library(kino_error *err)
{
    if (self.library)
        return true;
    void *library = kino__library_open(VARIABLE, library_names, err);
    if (!library || !find_functions(library, err) || !check_version(err))
        return false;
    self.library = library;
    return true;
}

/* True when the call worked; else *err has one line about it. */
static bool check(const char *function, pti_result result, kino_error *err)
{
    if (result == PTI_SUCCESS)
        return true;
    const char *text =
        kino__xpu.pti.ptiResultTypeToString ? kino__xpu.pti.ptiResultTypeToString(result) : NULL;
    (void)kino__fail(err, KINO_UNAVAILABLE, "%s failed: %s (%d)", function,
                     text ? text : "unknown reason", result);
    return false;
}
#define CHECK(function, arguments, err) check(#function, kino__xpu.pti.function arguments, err)

static void tell(const char *what, const kino_error *reason)
{
    kino_error text;
    (void)kino__fail(&text, KINO_UNAVAILABLE, "no %s: %s", what, reason->message);
    kino__xpu.host->problem(kino__xpu.host, text.message);
}

/* -- the clock */

uint64_t kino__xpu_now(void)
{
    if (kino__xpu.pti.ptiViewGetTimestamp)
        return kino__xpu.pti.ptiViewGetTimestamp();
    return kino__xpu.clock == KINO_DEVICE_CLOCK_RAW ? kino__backend_now()
                                                    : kino__backend_clock_ns(CLOCK_REALTIME);
}

/* Ours, if PTI takes it and then really has it; else its own. One that does not even tell its own
 * has the usual one: the time of day. */
static uint32_t choose_clock(void)
{
    const uint64_t second_ns = 1000000000;
    kino_error reason;
    bool is_taken = kino__xpu.pti.ptiViewSetTimestampCallback &&
                    CHECK(ptiViewSetTimestampCallback, (kino__backend_now), &reason);
    if (!kino__xpu.pti.ptiViewGetTimestamp)
        return is_taken ? KINO_DEVICE_CLOCK_RAW : KINO_DEVICE_CLOCK_REAL;
    uint64_t theirs = kino__xpu.pti.ptiViewGetTimestamp(), ours = kino__backend_now();
    bool is_same = theirs < ours + second_ns && ours < theirs + second_ns;
    return is_taken && is_same ? KINO_DEVICE_CLOCK_RAW : KINO_DEVICE_CLOCK_OWN;
}

/* Times of traces are relative to a multiple of three average months, as Kineto's are. */
static int64_t trace_offset(void)
{
    const int64_t unit_ns = 7889238 * (int64_t)1000000000;
    int64_t real = (int64_t)kino__backend_clock_ns(CLOCK_REALTIME);
    int64_t raw = (int64_t)kino__backend_now();
    int64_t apart = kino__xpu.clock == KINO_DEVICE_CLOCK_RAW ? real - raw : 0;
    return apart - real / unit_ns * unit_ns;
}

/* -- what libkino asks */

static kino_status probe(void *context, kino_error *err)
{
    (void)context;
    if (kino__xpu.device_count)
        return KINO_OK;
    kino__xpu.clock = choose_clock();
    return kino__xpu_add_devices(err);
}

/* PTI has one user at a time. */
static void tell_others(void)
{
    char name[128];
    if (kino__library_user("libpti_view.so", &kino__xpu, name, sizeof name))
        kino__backend_tell_text(kino__xpu.host, "xpupti_other_user", name);
}

static kino_status prepare(void *context, const kino_device_request *request, kino_error *err)
{
    (void)context;
    const kino_device_host *host = kino__xpu.host;
    kino_error reason;
    if (self.is_over)
        return kino__fail(err, KINO_UNAVAILABLE,
                          "this process was created by fork() or is exiting");
    if (!kino__xpu_buffers_make())
        return kino__fail_nomem(err);
    kino__xpu.kinds = request->kinds;
    kino__xpu_buffers_begin();
    if (!CHECK(ptiViewSetCallbacks, (kino__xpu_requested, kino__xpu_completed), err))
        return err->code;
    if (!CHECK(ptiViewGPULocalAvailable, (), &reason))
        host->problem(host, reason.message);
    kino__backend_tell_text(host, "xpupti_version", kino__xpu.version);
    tell_others();
    return KINO_OK;
}

static void enable(size_t number)
{
    kino_error reason;
    if (!kino__xpu_wants(views[number].kind))
        return;
    self.is_enabled[number] = CHECK(ptiViewEnable, (views[number].view), &reason);
    if (!self.is_enabled[number])
        tell(views[number].what, &reason);
}

/* Of the runtime, only the calls that give work to devices: there are too many others. */
static void choose_calls(void)
{
    kino_error reason;
    kino__xpu.knows_launches =
        kino__xpu_wants(KINO_DEVICE_XPU_RUNTIME) &&
        CHECK(ptiViewEnableRuntimeApiClass, (1, PTI_CLASS_GPU_OPERATION, PTI_GROUP_ALL), &reason);
    if (kino__xpu_wants(KINO_DEVICE_XPU_RUNTIME) && !kino__xpu.knows_launches)
        tell("selection of calls", &reason);
}

/* What goes wrong here is told at the end, when it is tried again. */
static void fetch(void)
{
    (void)kino__xpu.pti.ptiFlushAllViews();
    kino__xpu_decode();
}

static void stop_fetching(void)
{
    pthread_mutex_lock(&self.lock);
    kino__ticker_stop(&self.ticker);
    pthread_mutex_unlock(&self.lock);
}

/* Runs before what PTI does at exit, because it was registered later. */
static void at_exit(void)
{
    if (self.is_over)
        return;
    stop_fetching();
    if (self.is_on)
        fetch();
    self.is_over = true;
}

static kino_status start(void *context, kino_error *err)
{
    (void)context;
    size_t count = 0;
    kino__xpu.base_ns = trace_offset();
    kino__xpu.start_time = kino__xpu_now();
    self.is_on = true;
    for (size_t i = 0; i < VIEWS; i++) {
        enable(i);
        count += self.is_enabled[i];
        if (views[i].view == PTI_RUNTIME_API && self.is_enabled[i])
            choose_calls();
    }
    if (count == 0)
        return kino__fail(err, KINO_UNAVAILABLE, "PTI provides none of its views");
    if (!self.has_exit)
        self.has_exit = atexit(at_exit) == 0;
    pthread_mutex_lock(&self.lock);
    kino__ticker_start(&self.ticker, FETCH_NS, fetch);
    pthread_mutex_unlock(&self.lock);
    return KINO_OK;
}

static void stop(void *context)
{
    (void)context;
    kino_error reason;
    self.is_on = false;
    stop_fetching();
    for (size_t i = 0; i < VIEWS; i++)
        if (self.is_enabled[i] && !self.is_over) {
            self.is_enabled[i] = false;
            if (!CHECK(ptiViewDisable, (views[i].view), &reason))
                kino__xpu.host->problem(kino__xpu.host, reason.message);
        }
}

/* Until all work that was launched is done, or it is time. */
static void drain(uint64_t deadline_ns)
{
    kino_error reason;
    for (;;) {
        if (!CHECK(ptiFlushAllViews, (), &reason)) {
            kino__xpu.host->problem(kino__xpu.host, reason.message);
            kino__xpu_decode();
            return;
        }
        kino__xpu_decode();
        if (kino__xpu_missing() == 0 || kino__backend_now() + PAUSE_NS >= deadline_ns)
            return;
        (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

static void flush(void *context, uint64_t deadline_ns)
{
    (void)context;
    const kino_device_host *host = kino__xpu.host;
    char problem[160];
    if (self.is_forked)
        return;
    if (!self.is_over)
        drain(deadline_ns);
    if (self.is_on)
        return;
    host->lost(host, kino__xpu_missing());
    kino__xpu_buffers_end(problem, sizeof problem);
    if (problem[0])
        host->problem(host, problem);
}

static bool now(void *context, uint32_t device, uint64_t *out)
{
    (void)context;
    (void)device;
    *out = self.is_over ? 0 : kino__xpu_now();
    return *out != 0;
}

static void forked(void *context)
{
    (void)context;
    kino__ticker_forget(&self.ticker);
    self.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    self.is_over = self.is_forked = true;
    self.is_on = false;
}

static void push(void *context, uint32_t kind, uint64_t id, const char *name)
{
    (void)context;
    bool is_range = kind == KINO_DEVICE_ANNOTATION;
    if (is_range)
        kino__xpu_name_range(id, name);
    (void)kino__xpu.pti.ptiViewPushExternalCorrelationId(
        is_range ? PTI_EXTERNAL_RANGE : PTI_EXTERNAL_OPERATOR, id);
}

static void pop(void *context, uint32_t kind)
{
    (void)context;
    uint64_t id = 0;
    if (!self.is_over)
        (void)kino__xpu.pti.ptiViewPopExternalCorrelationId(
            kind == KINO_DEVICE_ANNOTATION ? PTI_EXTERNAL_RANGE : PTI_EXTERNAL_OPERATOR, &id);
}

#define BIT(kind) KINO_DEVICE_BIT(KINO_DEVICE_##kind)
static const kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = BIT(KERNEL) | BIT(MEMCPY) | BIT(MEMSET) | BIT(XPU_RUNTIME) | BIT(XPU_DRIVER) |
             BIT(XPU_SYNC) | BIT(OVERHEAD) | BIT(COLLECTIVE) | BIT(GPU_ANNOTATION) | BIT(EXTERNAL),
    .name = "xpu",
    .version = kino__xpu.version,
    .probe = probe,
    .prepare = prepare,
    .start = start,
    .stop = stop,
    .flush = flush,
    .now = now,
    .forked = forked,
    .push = push,
    .pop = pop,
    .describe = kino__backend_describe,
};

const kino_device_backend *kino__xpu_entry(const kino_device_host *host, kino_error *err);

/* A card of Intel's: one of /sys/class/drm/renderD128, ... */
static bool has_card(void)
{
    char path[64], vendor[16];
    for (int i = 0; i < CARDS; i++) {
        (void)snprintf(path, sizeof path, "/sys/class/drm/renderD%d/device/vendor", FIRST_CARD + i);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        bool is_intel = fgets(vendor, sizeof vendor, file) && strncmp(vendor, "0x8086", 6) == 0;
        (void)fclose(file);
        if (is_intel)
            return true;
    }
    return false;
}

static bool is_loaded(void)
{
    for (size_t i = 0; library_names[i]; i++)
        if (dlopen(library_names[i], RTLD_LAZY | RTLD_NOLOAD)) /* stays: it is never closed */
            return true;
    return false;
}

const kino_device_backend *kino__xpu_entry(const kino_device_host *host, kino_error *err)
{
    if (!self.library && !secure_getenv(VARIABLE) && !is_loaded() && !has_card()) {
        (void)kino__fail(err, KINO_NOT_FOUND, "no Intel GPU found");
        return NULL;
    }
    if (!open_library(err))
        return NULL;
#define KEY(name, text) kino__xpu.keys[KINO__XPU_##name] = host->key(host, text);
    KINO__XPU_KEY_MAP(KEY)
#undef KEY
    kino__xpu.host = host;
    return &backend;
}
