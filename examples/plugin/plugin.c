/* plugin.c - a whole device plug-in to start from: copy it, and put your device where the made-up
 * one is.
 *
 *   make
 *   KINO_PLUGINS=./plugin.so ./program trace.json
 *   kino report trace.json
 *
 * The made-up device has a clock of its own (it starts at another time than the host's and runs
 * 50 millionths too fast), two queues, and a driver with a thread that gives it a kernel every
 * millisecond and a copy with every fifth. A real plug-in gets its activities from the driver's
 * own recorder instead (a buffer that it completes, events, callbacks); what it does with them is
 * the same. Steps, marked below:
 *
 *   1  the entry: keep what libkino gives, return what the plug-in is
 *   2  probe: is the device there? Tell libkino about it
 *   3  prepare and start: everything slow first, then begin to collect
 *   4  the host's calls: on the thread that makes them
 *   5  activities: with the times that the device's own clock showed
 *   6  stop and flush: end collecting, hand over what is left
 *   7  the clock: let libkino read it; or tell it what you observed (clock_bound) */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <kino/device.h>

enum { KERNEL_QUEUE = 1, COPY_QUEUE = 2, PENDING_MAX = 256 };
static const uint64_t period_ns = 1000000, kernel_ns = 400000, copy_ns = 200000;
static const uint64_t copy_bytes = 4096;

/* What the device has been given and has not told about yet. */
typedef struct command {
    uint64_t correlation, start, end;
    bool is_copy;
} command;

static struct {
    const kino_device_host *host;
    uint32_t device;
    uint32_t launch, enqueue, kernel, copy, busy; /* numbers of names */
    uint32_t grid, bytes;                         /* numbers of keys */
    pthread_t driver;
    bool runs; /* atomic */
    command pending[PENDING_MAX];
    size_t pending_count;
} self;

/* -- the device */

static uint64_t host_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t device_ns(void)
{
    uint64_t host = host_ns();
    return 5000000000000u + host + host / 20000;
}

/* (4) A call of the driver, as its thread makes it. The correlation ties it to what comes of it. */
static command submit(bool is_copy, uint64_t earliest)
{
    const kino_device_host *host = self.host;
    uint64_t correlation = host->correlations(host, 1);
    uint64_t call = host->call_begin(host, is_copy ? self.enqueue : self.launch, correlation);
    uint64_t now = device_ns();
    command c = {correlation, now > earliest ? now : earliest, 0, is_copy};
    c.end = c.start + (is_copy ? copy_ns : kernel_ns);
    host->call_end(host, call);
    return c;
}

/* (5) What the device did, in its own time. */
static void hand_over(const command *c)
{
    const kino_device_host *host = self.host;
    kino_device_arg grid = {self.grid, KINO_DEVICE_ARG_JSON, {.text = "[16,1,1]"}};
    kino_device_arg bytes = {self.bytes, KINO_DEVICE_ARG_UINT, {.u = copy_bytes}};
    kino_device_activity activity = KINO_DEVICE_ACTIVITY_INIT;
    activity.kind = c->is_copy ? KINO_DEVICE_MEMCPY : KINO_DEVICE_KERNEL;
    activity.name = c->is_copy ? self.copy : self.kernel;
    activity.device = self.device;
    activity.stream = c->is_copy ? COPY_QUEUE : KERNEL_QUEUE;
    activity.start = c->start;
    activity.end = c->end;
    activity.correlation = c->correlation;
    activity.args = c->is_copy ? &bytes : &grid;
    activity.arg_count = 1;
    host->activity(host, &activity);
    if (!c->is_copy)
        host->counter(host, self.device, self.busy, c->end, 100.0 * kernel_ns / period_ns);
}

/* Hands over what has ended by now and keeps the rest. */
static void collect(void)
{
    uint64_t now = device_ns();
    size_t kept = 0;
    for (size_t i = 0; i < self.pending_count; i++) {
        if (self.pending[i].end <= now)
            hand_over(&self.pending[i]);
        else
            self.pending[kept++] = self.pending[i];
    }
    self.pending_count = kept;
}

static void *drive(void *unused)
{
    (void)unused;
    const struct timespec pause = {0, (long)period_ns};
    uint64_t free_at[2] = {0, 0};
    for (unsigned round = 0; __atomic_load_n(&self.runs, __ATOMIC_ACQUIRE); round++) {
        for (int is_copy = 0; is_copy < 2; is_copy++) {
            if ((is_copy && round % 5) || self.pending_count == PENDING_MAX)
                continue;
            command c = submit(is_copy, free_at[is_copy]);
            free_at[is_copy] = c.end;
            self.pending[self.pending_count++] = c;
        }
        (void)nanosleep(&pause, NULL);
        collect();
    }
    return NULL;
}

/* -- what libkino asks */

/* (2) Cheap: only look. A reason in err leaves the plug-in out, and the trace says why. */
static kino_status probe(void *context, kino_error *err)
{
    (void)context;
    const kino_device_host *host = self.host;
    if (getenv("KINO_EXAMPLE_ABSENT")) {
        (void)snprintf(err->message, sizeof err->message, "KINO_EXAMPLE_ABSENT is set");
        return KINO_NOT_FOUND;
    }
    const kino_device_property properties[] = {
        {"maxComputeUnits", NULL, 16},
        {"vendor", "nobody", 0},
    };
    kino_device_info info = KINO_DEVICE_INFO_INIT;
    info.name = "made-up device";
    info.memory_bytes = 1 << 30;
    info.properties = properties;
    info.property_count = sizeof properties / sizeof *properties;
    self.device = host->add_device(host, &info);
    return KINO_OK;
}

/* (3) Names are given numbers here, so that handing over is cheap. */
static kino_status prepare(void *context, const kino_device_request *request, kino_error *err)
{
    (void)context;
    (void)request; /* request->kinds: what is wanted; this one always gives all */
    (void)err;
    const kino_device_host *host = self.host;
    self.launch = host->name(host, KINO_DEVICE_RUNTIME, "exLaunchKernel");
    self.enqueue = host->name(host, KINO_DEVICE_RUNTIME, "exMemcpyAsync");
    self.kernel = host->name(host, KINO_DEVICE_KERNEL, "made_up_kernel");
    self.copy = host->name(host, KINO_DEVICE_MEMCPY, "Memcpy HtoD (Pageable -> Device)");
    self.busy = host->name(host, KINO_DEVICE_COUNTERS, "made-up device busy %");
    self.grid = host->key(host, "grid");
    self.bytes = host->key(host, "bytes");
    return KINO_OK;
}

static kino_status start(void *context, kino_error *err)
{
    (void)context;
    self.pending_count = 0;
    __atomic_store_n(&self.runs, true, __ATOMIC_RELEASE);
    if (pthread_create(&self.driver, NULL, drive, NULL) == 0)
        return KINO_OK;
    __atomic_store_n(&self.runs, false, __ATOMIC_RELEASE);
    (void)snprintf(err->message, sizeof err->message, "cannot make a thread");
    return KINO_UNAVAILABLE;
}

/* (6) No new work from here on. */
static void stop(void *context)
{
    (void)context;
    if (__atomic_exchange_n(&self.runs, false, __ATOMIC_ACQ_REL))
        pthread_join(self.driver, NULL);
}

/* While recording the driver's thread does it; behind stop there is nobody else. */
static void flush(void *context, uint64_t deadline_ns)
{
    (void)context;
    const struct timespec pause = {0, 100000};
    if (__atomic_load_n(&self.runs, __ATOMIC_ACQUIRE))
        return;
    for (collect(); self.pending_count && host_ns() < deadline_ns; collect())
        (void)nanosleep(&pause, NULL);
    if (self.pending_count)
        self.host->lost(self.host, self.pending_count);
    self.pending_count = 0;
}

/* (7) */
static bool now(void *context, uint32_t device, uint64_t *out)
{
    (void)context;
    (void)device;
    *out = device_ns();
    return true;
}

static void forked(void *context)
{
    (void)context;
    self.runs = false; /* the thread is in the parent */
}

static const kino_device_backend backend = {
    .size = sizeof backend,
    .kinds = KINO_DEVICE_BIT(KINO_DEVICE_KERNEL) | KINO_DEVICE_BIT(KINO_DEVICE_MEMCPY) |
             KINO_DEVICE_BIT(KINO_DEVICE_RUNTIME) | KINO_DEVICE_BIT(KINO_DEVICE_COUNTERS),
    .name = "example",
    .version = "1.0",
    .probe = probe,
    .prepare = prepare,
    .start = start,
    .stop = stop,
    .flush = flush,
    .now = now,
    .forked = forked,
};

/* (1) */
KINO_API const kino_device_backend *kino_device_plugin_v1(const kino_device_host *host,
                                                          kino_error *err);

const kino_device_backend *kino_device_plugin_v1(const kino_device_host *host, kino_error *err)
{
    if (host->version != KINO_DEVICE_VERSION || host->size < sizeof *host) {
        (void)snprintf(err->message, sizeof err->message, "it needs a newer libkino");
        return NULL;
    }
    self.host = host;
    return &backend;
}
