/* metrics_gpu.c - GPUs: a thread that asks vendors' libraries, and what a sample takes from it.
 *
 * A driver may take long to start, and may hang for ever; the daemon's loop must not. So all
 * calls are the thread's, which reads shortly before a sample is due and leaves the numbers for
 * it:
 *
 *      loop:     sample .......................... sample    takes the newest reading, and says
 *      thread:          (sleeps) ........ read ok            when the next one is wanted
 *
 * A reading that is too old is not used: then GPUs are missing, with the reason. The thread
 * begins with the second sample (the daemon has given up its privileges by then, and so has the
 * thread) and ends at once where no library is. */
#include "daemon/metrics_gpu.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock.h"

#define SHARE(key, help, remembered)                                                               \
    {                                                                                              \
        key "_ratio", "gpu_" key "_ratio", NULL, help, KINO__GAUGE, 6, remembered                  \
    }
#define LINK(key, help)                                                                            \
    {                                                                                              \
        key "_bytes_per_second", "gpu_" key "_bytes_per_second", NULL, help, KINO__GAUGE, 0, false \
    }

static const kino__metric metrics_of[KINO__GPU_VALUES] = {
    [KINO__GPU_UTILIZATION] =
        SHARE("utilization", "Share of time in which a kernel was running on the GPU.", true),
    [KINO__GPU_MEMORY_UTILIZATION] = SHARE(
        "memory_utilization", "Share of time in which GPU memory was read or written.", false),
    [KINO__GPU_MEMORY_USED] = {"memory_used_bytes", "gpu_memory_used_bytes", NULL,
                               "GPU memory in use.", KINO__GAUGE, 0, true},
    [KINO__GPU_MEMORY_TOTAL] = {"memory_total_bytes", "gpu_memory_total_bytes", NULL,
                                "Total GPU memory.", KINO__GAUGE, 0, false},
    [KINO__GPU_POWER] = {"power_watts", "gpu_power_watts", NULL, "Power draw of the GPU.",
                         KINO__GAUGE, 3, true},
    [KINO__GPU_ENERGY] = {"energy_joules", "gpu_energy_joules_total", NULL,
                          "Energy used by the GPU.", KINO__COUNTER, 3, false},
    [KINO__GPU_TEMPERATURE] = {"temperature_celsius", "gpu_temperature_celsius", NULL,
                               "Temperature of the GPU.", KINO__GAUGE, 3, false},
    [KINO__GPU_SM_CLOCK] = {"sm_clock_hertz", "gpu_sm_clock_hertz", NULL,
                            "Clock frequency of the SMs.", KINO__GAUGE, 0, true},
    [KINO__GPU_MEMORY_CLOCK] = {"memory_clock_hertz", "gpu_memory_clock_hertz", NULL,
                                "Clock frequency of the GPU memory.", KINO__GAUGE, 0, false},
    [KINO__GPU_GRAPHICS_ACTIVE] =
        SHARE("graphics_active",
              "Share of cycles in which the graphics or compute engine was busy.", false),
    [KINO__GPU_SM_ACTIVE] =
        SHARE("sm_active", "Share of cycles in which an SM had at least one warp assigned.", true),
    [KINO__GPU_SM_OCCUPANCY] =
        SHARE("sm_occupancy", "Resident warps as a share of the maximum.", false),
    [KINO__GPU_TENSOR_ACTIVE] =
        SHARE("tensor_active", "Share of cycles in which the tensor cores were busy.", true),
    [KINO__GPU_DRAM_ACTIVE] =
        SHARE("dram_active", "Share of cycles in which the memory interface was busy.", true),
    [KINO__GPU_FP64_ACTIVE] =
        SHARE("fp64_active", "Share of cycles in which the FP64 pipe was busy.", false),
    [KINO__GPU_FP32_ACTIVE] =
        SHARE("fp32_active", "Share of cycles in which the FP32 pipe was busy.", false),
    [KINO__GPU_FP16_ACTIVE] =
        SHARE("fp16_active", "Share of cycles in which the FP16 pipe was busy.", false),
    [KINO__GPU_PCIE_SENT] = LINK("pcie_sent", "Bytes sent by the GPU over PCIe."),
    [KINO__GPU_PCIE_RECEIVED] = LINK("pcie_received", "Bytes received by the GPU over PCIe."),
    [KINO__GPU_NVLINK_SENT] = LINK("nvlink_sent", "Bytes sent by the GPU over NVLink."),
    [KINO__GPU_NVLINK_RECEIVED] = LINK("nvlink_received", "Bytes received by the GPU over NVLink."),
};
static const kino__metric_class gpu_class = {"gpu", metrics_of, KINO__GPU_VALUES, KINO__GPU_MOST};

static const kino__metric process_metrics[] = {
    {"memory_bytes", "gpu_process_memory_bytes", NULL,
     "GPU memory used by a process; with job and rank if it is registered.", KINO__GAUGE, 0, false},
};
static const kino__metric_class process_class = {"gpu_process", process_metrics, 1,
                                                 KINO__GPU_MOST *KINO__GPU_PROCESSES};
static const kino__metric_class *const classes[] = {&gpu_class, &process_class, NULL};

/* In the order of trying; DCGM knows more than NVML about the same GPUs. */
static const kino__gpu_library *const all_libraries[] = {&kino__gpu_dcgm, &kino__gpu_nvml,
                                                         &kino__gpu_rocm_smi};
enum { LIBRARIES = sizeof all_libraries / sizeof all_libraries[0] };

typedef struct reading {
    kino__gpu gpus[KINO__GPU_MOST];
    unsigned count;
    int64_t read_ns; /* KINO_NO_TIME: there is none yet */
    char reason[KINO__MISS_SIZE];
    bool has_ended; /* no library, nothing will come */
} reading;

/* Shared by loop and thread. */
typedef struct shared {
    kino__mutex mutex; /* guards what follows */
    pthread_cond_t changed;
    bool must_stop, has_stopped;
    int64_t due_ns;          /* of the next sample */
    int64_t paused_until_ns; /* profiling is */
    bool has_profiling;
    reading newest;
    /* the thread's alone */
    int64_t interval_ns;
    bool is_paused;
    void *states[LIBRARIES]; /* NULL: not open */
    reading next;
} shared;

typedef struct state {
    shared *shared; /* NULL: the thread was not started */
    pthread_t thread;
    bool has_failed;
    int64_t started_ns;
    kino__gpu gpus[KINO__GPU_MOST]; /* a sample's copy */
} state;

void kino__gpu_init(kino__gpu *gpu, const char *source, unsigned index)
{
    *gpu = (kino__gpu){.source = source, .index = index};
    for (unsigned i = 0; i < KINO__GPU_VALUES; i++)
        gpu->values[i] = KINO_NO_INT;
}

/* -- the thread -- */

static void *load(const kino__gpu_library *library)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody calls setenv here */
    const char *path = getenv(library->environment);
    if (path && path[0])
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *handle = NULL;
    for (size_t i = 0; !handle && library->libraries[i]; i++)
        handle = dlopen(library->libraries[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

/* Vendors' libraries stay loaded: they may have threads of their own. */
static bool open_library(shared *self, size_t index, char *reason)
{
    const kino__gpu_library *library = all_libraries[index];
    void *handle = load(library);
    if (!handle)
        return false;
    void *made = calloc(1, library->state_size);
    if (made && library->open(made, handle, self->interval_ns, reason)) {
        self->states[index] = made;
        return true;
    }
    if (made)
        library->close(made);
    free(made);
    return false;
}

static bool open_libraries(shared *self, char *reason)
{
    bool is_any = false, has_nvidia = false;
    for (size_t i = 0; i < LIBRARIES; i++) {
        if (all_libraries[i]->is_nvidia && has_nvidia)
            continue;
        char why[KINO__MISS_SIZE] = "";
        if (open_library(self, i, why)) {
            is_any = true;
            has_nvidia |= all_libraries[i]->is_nvidia;
        } else if (why[0] != '\0') {
            memcpy(reason, why, sizeof why);
        }
    }
    if (!is_any && reason[0] == '\0')
        (void)snprintf(reason, KINO__MISS_SIZE, "none of NVML, DCGM and ROCm SMI is installed");
    return is_any;
}

static void read_all(shared *self)
{
    reading *next = &self->next;
    next->count = 0;
    for (size_t i = 0; i < LIBRARIES; i++)
        if (self->states[i])
            next->count += all_libraries[i]->read(self->states[i], next->gpus + next->count,
                                                  KINO__GPU_MOST - next->count);
    next->read_ns = kino__clock_ns(CLOCK_MONOTONIC);
}

static void publish(shared *self)
{
    kino__mutex_lock(&self->mutex);
    self->newest = self->next;
    kino__mutex_unlock(&self->mutex);
}

/* Others may have asked for the GPUs' profiling counters, or their time may be over. */
static void follow_pause(shared *self, bool is_paused)
{
    for (size_t i = 0; i < LIBRARIES; i++)
        if (self->states[i] && all_libraries[i]->has_profiling &&
            all_libraries[i]->has_profiling(self->states[i]))
            all_libraries[i]->pause_profiling(self->states[i], is_paused);
    self->is_paused = is_paused;
}

/* Sleeps until `lead_ns` before the next sample; false: it is time to end. */
static bool wait_for_turn(shared *self, int64_t lead_ns, int64_t *last_due_ns)
{
    kino__mutex_lock(&self->mutex);
    while (!self->must_stop) {
        bool is_paused = kino__clock_ns(CLOCK_MONOTONIC) < self->paused_until_ns;
        if (is_paused != self->is_paused) {
            kino__mutex_unlock(&self->mutex);
            follow_pause(self, is_paused);
            kino__mutex_lock(&self->mutex);
            continue;
        }
        int64_t wake_ns = self->due_ns - lead_ns;
        if (self->due_ns <= *last_due_ns) { /* the loop has not come by yet */
            kino__mutex_wait(&self->mutex, &self->changed);
            continue;
        }
        if (kino__clock_ns(CLOCK_MONOTONIC) >= wake_ns)
            break;
        struct timespec until = {wake_ns / 1000000000, wake_ns % 1000000000};
        (void)kino__mutex_wait_until(&self->mutex, &self->changed, &until);
    }
    *last_due_ns = self->due_ns;
    bool goes_on = !self->must_stop;
    kino__mutex_unlock(&self->mutex);
    return goes_on;
}

static void work(shared *self)
{
    int64_t last_due_ns = INT64_MIN, lead_ns = self->interval_ns; /* the first one at once */
    self->next.read_ns = KINO_NO_TIME;
    if (!open_libraries(self, self->next.reason)) {
        self->next.has_ended = true;
        publish(self);
        return;
    }
    self->next.reason[0] = '\0';
    kino__mutex_lock(&self->mutex);
    for (size_t i = 0; i < LIBRARIES; i++)
        self->has_profiling |= self->states[i] && all_libraries[i]->has_profiling &&
                               all_libraries[i]->has_profiling(self->states[i]);
    kino__mutex_unlock(&self->mutex);
    while (wait_for_turn(self, lead_ns, &last_due_ns)) {
        int64_t begin_ns = kino__clock_ns(CLOCK_MONOTONIC);
        read_all(self);
        publish(self);
        lead_ns = (self->next.read_ns - begin_ns) * 2 + 1000000;
        if (lead_ns > self->interval_ns / 2)
            lead_ns = self->interval_ns / 2;
    }
    for (size_t i = 0; i < LIBRARIES; i++)
        if (self->states[i])
            all_libraries[i]->close(self->states[i]);
}

static void *run(void *context)
{
    shared *self = context;
    work(self);
    kino__mutex_lock(&self->mutex);
    self->has_stopped = true;
    (void)pthread_cond_signal(&self->changed);
    kino__mutex_unlock(&self->mutex);
    return NULL;
}

static void shared_free(shared *self)
{
    for (size_t i = 0; i < LIBRARIES; i++)
        free(self->states[i]);
    (void)pthread_cond_destroy(&self->changed);
    kino__mutex_destroy(&self->mutex);
    free(self);
}

/* -- the loop's side -- */

static shared *shared_new(int64_t interval_ns)
{
    shared *self = calloc(1, sizeof *self);
    pthread_condattr_t attributes;
    if (!self)
        return NULL;
    self->interval_ns = interval_ns;
    self->newest.read_ns = KINO_NO_TIME;
    kino__mutex_init(&self->mutex, KINO__LOCK_COLLECTOR);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&self->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return self;
}

/* Signals are the loop's: the thread takes none. */
static bool start_thread(state *self, int64_t interval_ns)
{
    sigset_t all, before;
    self->shared = shared_new(interval_ns);
    if (!self->shared)
        return false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(&self->thread, NULL, run, self->shared);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status != 0) {
        shared_free(self->shared);
        self->shared = NULL;
    }
    return status == 0;
}

static bool open_gpu(void *context, kino__metrics *metrics)
{
    (void)context;
    (void)metrics;
    return true;
}

/* A thread that hangs in a driver is left to the end of the process. */
static void close_gpu(void *context)
{
    state *self = context;
    shared *with = self->shared;
    if (!with)
        return;
    int64_t until_ns = kino__clock_ns(CLOCK_MONOTONIC) + 1000000000;
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    kino__mutex_lock(&with->mutex);
    with->must_stop = true;
    (void)pthread_cond_signal(&with->changed);
    int status = 0;
    while (!with->has_stopped && status == 0)
        status = kino__mutex_wait_until(&with->mutex, &with->changed, &until);
    bool has_stopped = with->has_stopped;
    kino__mutex_unlock(&with->mutex);
    if (!has_stopped) {
        (void)pthread_detach(self->thread);
        return;
    }
    (void)pthread_join(self->thread, NULL);
    shared_free(with);
}

bool kino__metrics_pause_profiling(kino__metrics *metrics, int64_t seconds)
{
    state *self = metrics->slots[KINO__COLLECTOR_gpu].state;
    shared *with = self ? self->shared : NULL;
    if (!with)
        return false;
    int64_t most = INT64_MAX / 4000000000;
    kino__mutex_lock(&with->mutex);
    bool has_profiling = with->has_profiling;
    int64_t now_ns = kino__clock_ns(CLOCK_MONOTONIC);
    bool was_paused = now_ns < with->paused_until_ns;
    if (has_profiling)
        with->paused_until_ns =
            seconds > 0 ? now_ns + (seconds < most ? seconds : most) * 1000000000 : 0;
    (void)pthread_cond_signal(&with->changed);
    kino__mutex_unlock(&with->mutex);
    return has_profiling && (seconds > 0 || was_paused);
}

static void label(kino__thing *thing, const char *name, const char *value)
{
    if (value[0] != '\0')
        kino__thing_label(thing, name, kino__str_from(value));
}

static void show_gpu(kino__metrics *metrics, const kino__gpu *gpu, int64_t read_ns)
{
    char key[64], index[16];
    int size = snprintf(key, sizeof key, "%s:%u", gpu->source, gpu->index);
    kino__thing *thing = kino__metrics_thing(metrics, &gpu_class, (kino_str){key, (size_t)size});
    if (!thing)
        return;
    if (thing->is_new) {
        (void)snprintf(index, sizeof index, "%u", gpu->index);
        label(thing, "gpu", index);
        label(thing, "uuid", gpu->uuid);
        label(thing, "name", gpu->name);
        label(thing, "source", gpu->source);
    }
    kino__thing_read_at(thing, read_ns);
    for (unsigned i = 0; i < KINO__GPU_VALUES; i++) {
        if (metrics_of[i].kind == KINO__GAUGE)
            kino__thing_gauge(thing, i, gpu->values[i]);
        else
            kino__thing_count(thing, i, gpu->values[i]);
    }
}

static const kino__watched *find_watched(const kino__metrics *metrics, int64_t pid)
{
    for (size_t i = 0; i < metrics->watched_count; i++)
        if (metrics->watched[i].process.pid == pid)
            return &metrics->watched[i];
    return NULL;
}

/* Of a process that is not registered, /proc says whose it is; root's when it does not. */
static uid_t owner_of(const kino__metrics *metrics, const kino__watched *watched, int64_t pid)
{
    char path[512];
    struct stat info;
    if (watched)
        return watched->process.uid;
    int size = snprintf(path, sizeof path, "%s/%" PRId64, metrics->proc, pid);
    return size > 0 && (size_t)size < sizeof path && stat(path, &info) == 0 ? info.st_uid : 0;
}

static void show_process(kino__metrics *metrics, const kino__gpu *gpu, const kino__gpu_process *one)
{
    char key[96], text[32];
    const kino__watched *watched = find_watched(metrics, one->pid);
    int size = snprintf(key, sizeof key, "%s:%u:%" PRId64 ":%" PRId64 ":%" PRId64, gpu->source,
                        gpu->index, one->pid, watched ? watched->process.job : -1,
                        watched ? watched->process.rank : -1);
    kino__thing *thing =
        kino__metrics_thing(metrics, &process_class, (kino_str){key, (size_t)size});
    if (!thing)
        return;
    kino__thing_own(thing, owner_of(metrics, watched, one->pid));
    if (thing->is_new) {
        (void)snprintf(text, sizeof text, "%u", gpu->index);
        label(thing, "gpu", text);
        label(thing, "uuid", gpu->uuid);
        (void)snprintf(text, sizeof text, "%" PRId64, one->pid);
        label(thing, "pid", text);
        if (watched)
            kino__label_job(thing, watched);
    }
    kino__thing_gauge(thing, 0, one->memory_bytes);
}

/* Copies what there is; the thread never holds the lock for long. */
static unsigned take_reading(state *self, kino__metrics *metrics, int64_t *read_ns)
{
    shared *from = self->shared;
    unsigned count = 0;
    kino__mutex_lock(&from->mutex);
    const reading *newest = &from->newest;
    int64_t age_ns = newest->read_ns == KINO_NO_TIME ? metrics->now_ns - self->started_ns
                                                     : metrics->now_ns - newest->read_ns;
    *read_ns = newest->read_ns;
    if (newest->has_ended || newest->reason[0] != '\0')
        kino__collector_miss(metrics, "%s", newest->reason);
    else if (age_ns > 2 * from->interval_ns)
        kino__collector_miss(metrics, "the driver has not answered for %lld s",
                             (long long)(age_ns / 1000000000));
    else if (newest->read_ns == KINO_NO_TIME)
        kino__collector_miss(metrics, "not read yet");
    else
        count = newest->count;
    if (count > 0)
        memcpy(self->gpus, newest->gpus, count * sizeof *self->gpus);
    from->due_ns = metrics->now_ns + from->interval_ns;
    (void)pthread_cond_signal(&from->changed);
    kino__mutex_unlock(&from->mutex);
    return count;
}

static void sample_gpu(void *context, kino__metrics *metrics)
{
    state *self = context;
    int64_t read_ns;
    if (metrics->samples < 2) {
        kino__collector_miss(metrics, "not read yet");
        return;
    }
    if (!self->shared && !self->has_failed) {
        self->started_ns = metrics->now_ns;
        self->has_failed = !start_thread(self, metrics->settings.interval_ns);
    }
    if (self->has_failed) {
        kino__collector_miss(metrics, "cannot start a thread");
        return;
    }
    unsigned count = take_reading(self, metrics, &read_ns);
    for (unsigned i = 0; i < count; i++) {
        show_gpu(metrics, &self->gpus[i], read_ns);
        for (unsigned k = 0; k < self->gpus[i].process_count; k++)
            show_process(metrics, &self->gpus[i], &self->gpus[i].processes[k]);
    }
}

const kino__collector kino__collector_gpu = {
    .name = "gpu",
    .help = "GPUs, through NVML, DCGM or ROCm SMI",
    .classes = classes,
    .state_size = sizeof(state),
    .open = open_gpu,
    .sample = sample_gpu,
    .close = close_gpu,
};
