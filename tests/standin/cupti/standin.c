/* standin.c - a stand-in for libcupti.so and libcuda.so: the C interface of both, with made-up
 * devices and records that a test plays back through the real callbacks and buffers.
 *
 * Written from the documentation (the table of records by byte offset), not from the backend, so
 * that both are compared. The environment says what goes wrong:
 *
 *   STANDIN_VERSION=27           of CUPTI (default 130100); records have that version's sizes
 *   STANDIN_FAIL=function:code   this function always returns the code
 *   STANDIN_OTHER=name           somebody else is CUPTI's subscriber
 *   STANDIN_DEVICES=1            how many devices (default 2)
 *   STANDIN_UNKNOWN=39           the driver does not know this attribute
 *   STANDIN_SKEW=1000            ns by which CUPTI's own clock is ahead
 *   STANDIN_PPM=100              and by how much faster it runs
 *   STANDIN_BUFFER=65536         how much of a buffer is used at most */
#define _GNU_SOURCE
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { KINDS = 64, FUNCTIONS = 96, HELD = 256, DEPTH = 64, MAX_LIMIT = 12, OTHER = 39 };

static struct {
    pthread_mutex_t lock;
    pthread_mutex_t writing; /* one record at a time; taken before the other one */
    void (*request)(uint8_t **, size_t *, size_t *);
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
    uint64_t (*timestamp)(void);
    void (*callback)(void *, int, uint32_t, const void *);
    void *user;
    enum { NOT_STARTED, STARTING, STARTED } cuda;
    int is_subscribed, domains, thread_id_type, is_reversed;
    uint8_t enabled[KINDS];
    uint8_t *buffer;
    size_t size, used;
    struct {
        uint8_t *data;
        size_t size, used;
    } held[HELD];
    unsigned held_count, out;
    size_t dropped;
    struct {
        const char *name;
        unsigned count;
    } functions[FUNCTIONS];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    uint64_t ids[8][DEPTH];
    int count[8];
} externals;

static long number(const char *variable, long otherwise)
{
    const char *text = getenv(variable);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* Every function begins with this: counts the call, and says what it must return. */
static int enter(const char *name)
{
    const char *fail = getenv("STANDIN_FAIL");
    size_t size = strlen(name);
    pthread_mutex_lock(&self.lock);
    unsigned i = 0;
    while (i < FUNCTIONS - 1 && self.functions[i].name && strcmp(self.functions[i].name, name) != 0)
        i++;
    self.functions[i].name = name;
    self.functions[i].count++;
    pthread_mutex_unlock(&self.lock);
    return fail && strncmp(fail, name, size) == 0 && fail[size] == ':'
               ? (int)strtol(fail + size + 1, NULL, 10)
               : 0;
}
int standin_enter(const char *name);
int standin_enter(const char *name) /* for standin_pm.c */
{
    return enter(name);
}
#define ENTER()                                                                                    \
    do {                                                                                           \
        int result_ = enter(__func__);                                                             \
        if (result_)                                                                               \
            return result_;                                                                        \
    } while (0)

unsigned standin_calls(const char *function)
{
    for (unsigned i = 0; i < FUNCTIONS && self.functions[i].name; i++)
        if (strcmp(self.functions[i].name, function) == 0)
            return self.functions[i].count;
    return 0;
}

/* -- clock */

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t own_clock(void)
{
    static uint64_t first;
    uint64_t now = raw_ns();
    if (!first)
        first = now;
    return now + (uint64_t)number("STANDIN_SKEW", 0) +
           (now - first) * (uint64_t)number("STANDIN_PPM", 0) / 1000000;
}

uint64_t standin_now(void)
{
    return self.timestamp ? self.timestamp() : own_clock();
}

int cuptiGetTimestamp(uint64_t *time)
{
    ENTER();
    *time = standin_now();
    return 0;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*timestamp)(void))
{
    ENTER();
    if (!timestamp)
        return 1;
    self.timestamp = timestamp;
    return 0;
}

/* -- versions and names */

uint32_t standin_version(void)
{
    return (uint32_t)number("STANDIN_VERSION", 130100);
}

int cuptiGetVersion(uint32_t *version)
{
    ENTER();
    *version = standin_version();
    return 0;
}

int cuptiGetResultString(int result, const char **text)
{
    ENTER();
    *text = result == 35   ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : result == 15 ? "CUPTI_ERROR_NOT_INITIALIZED"
                           : "CUPTI_ERROR_UNKNOWN";
    return 0;
}

int cuptiGetCallbackName(int domain, uint32_t cbid, const char **name)
{
    static const struct {
        int domain;
        uint32_t cbid;
        const char *name;
    } known[] = {
        {2, 10, "cudaGetLastError_v3020"},
        {2, 20, "cudaMalloc_v3020"},
        {2, 41, "cudaMemcpyAsync_v3020"},
        {2, 51, "cudaMemsetAsync_v3020"},
        {2, 131, "cudaStreamSynchronize_v3020"},
        {2, 135, "cudaEventRecord_v3020"},
        {2, 137, "cudaEventSynchronize_v3020"},
        {2, 147, "cudaStreamWaitEvent_v3020"},
        {2, 165, "cudaDeviceSynchronize_v3020"},
        {2, 211, "cudaLaunchKernel_v7000"},
        {2, 311, "cudaGraphLaunch_v10000"},
        {2, 161, "cudaMemcpyPeerAsync_v4000"},
        {1, 307, "cuLaunchKernel"},
        {1, 430, "cuStreamGetCtx_v2"},
        {1, 550, "cuMemRelease"},
    };
    ENTER();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].domain == domain && known[i].cbid == cbid) {
            *name = known[i].name;
            return 0;
        }
    *name = NULL;
    return 1;
}

/* -- subscription */

int cuptiSubscribe(void **subscriber, void (*callback)(void *, int, uint32_t, const void *),
                   void *user)
{
    ENTER();
    if (self.is_subscribed || getenv("STANDIN_OTHER"))
        return OTHER;
    self.is_subscribed = 1;
    self.callback = callback;
    self.user = user;
    *subscriber = &self;
    return 0;
}

int cuptiSubscribe_v2(void **subscriber, void (*callback)(void *, int, uint32_t, const void *),
                      void *user, void *params)
{
    const char *other = getenv("STANDIN_OTHER");
    struct {
        size_t size;
        const char *name;
        char *old_name;
        size_t old_size;
    } *p = params;
    ENTER();
    if (p && p->size != sizeof *p)
        return 1;
    if (p && p->old_name && other)
        snprintf(p->old_name, p->old_size, "%s", other);
    return cuptiSubscribe(subscriber, callback, user);
}

int cuptiUnsubscribe(void *subscriber)
{
    ENTER();
    if (subscriber != &self || !self.is_subscribed)
        return 1;
    self.is_subscribed = self.domains = 0;
    return 0;
}

int cuptiEnableDomain(uint32_t is_enabled, void *subscriber, int domain)
{
    ENTER();
    if (subscriber != &self || !self.is_subscribed)
        return 1;
    self.domains = is_enabled ? self.domains | 1 << domain : self.domains & ~(1 << domain);
    return 0;
}

int cuptiFinalize(void)
{
    ENTER();
    memset(self.enabled, 0, sizeof self.enabled);
    self.request = NULL;
    self.complete = NULL;
    self.timestamp = NULL;
    return 0;
}

int cuptiGetThreadIdType(int *type)
{
    ENTER();
    *type = self.thread_id_type;
    return 0;
}

int cuptiSetThreadIdType(int type)
{
    ENTER();
    self.thread_id_type = type;
    return 0;
}

/* -- records */

size_t standin_size(uint32_t kind)
{
    uint32_t v = standin_version();
    switch (kind) {
    case 1:
        return v >= 130000 ? 96 : v >= 19 ? 88 : 72;
    case 2:
        return v >= 19 ? 88 : 72;
    case 4:
    case 5:
        return 40;
    case 10:
        return v >= 130100 ? 224 : v >= 130000 ? 216 : v >= 19 ? 208 : v >= 15 ? 168 : 160;
    case 12:
        return 56;
    case 17:
        return v >= 130000 ? 56 : 40;
    case 22:
        return v >= 19 ? 96 : 80;
    case 36:
        return v >= 130000 ? 56 : 24;
    case 38:
        return v >= 130000 ? 56 : 40;
    case 39:
        return 24;
    case 49:
        return 128;
    case 52:
        return v >= 130000 ? 72 : 64;
    case 60:
        return 16; /* one that nobody knows */
    default:
        return 0;
    }
}

/* The lock is held, and given back while the profiler is called. */
static void hand_over(uint8_t *data, size_t size, size_t used)
{
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t) = self.complete;
    self.out--;
    pthread_mutex_unlock(&self.lock);
    if (complete)
        complete(NULL, 0, data, size, used);
    pthread_mutex_lock(&self.lock);
}

static void hold(void)
{
    if (!self.buffer || self.held_count == HELD)
        return;
    self.held[self.held_count].data = self.buffer;
    self.held[self.held_count].size = self.size;
    self.held[self.held_count++].used = self.used;
    self.buffer = NULL;
}

void standin_cut(void)
{
    pthread_mutex_lock(&self.lock);
    hold();
    pthread_mutex_unlock(&self.lock);
}

void standin_reverse(int is_reversed)
{
    self.is_reversed = is_reversed;
}

void standin_drop(size_t count)
{
    self.dropped += count;
}

unsigned standin_buffers_held(void)
{
    return self.out;
}

static int has_room(size_t size)
{
    size_t most = (size_t)number("STANDIN_BUFFER", 1 << 30);
    if (self.buffer && self.used + size > (self.size < most ? self.size : most)) {
        uint8_t *full = self.buffer;
        self.buffer = NULL;
        hand_over(full, self.size, self.used);
    }
    if (self.buffer)
        return 1;
    size_t limit = 0;
    void (*request)(uint8_t **, size_t *, size_t *) = self.request;
    uint8_t *buffer = NULL;
    size_t got = 0;
    pthread_mutex_unlock(&self.lock);
    if (request)
        request(&buffer, &got, &limit);
    pthread_mutex_lock(&self.lock);
    if (!buffer) {
        if (standin_version() < 27) {
            fprintf(stderr, "stand-in: this version of CUPTI crashes without a buffer\n");
            abort();
        }
        return 0;
    }
    if ((uintptr_t)buffer % 8) {
        fprintf(stderr, "stand-in: a buffer that is not aligned\n");
        abort();
    }
    self.buffer = buffer;
    self.size = got;
    self.used = 0;
    self.out++;
    return 1;
}

void standin_record(const void *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    size_t size = standin_size(kind);
    /* what comes along with others: peer copies with copies, events with waits */
    uint32_t switched = kind == 22 ? 1 : kind == 36 ? 38 : kind == 60 ? 10 : kind;
    pthread_mutex_lock(&self.writing);
    pthread_mutex_lock(&self.lock);
    if (self.enabled[switched]) {
        if (has_room(size)) {
            memcpy(self.buffer + self.used, record, size);
            self.used += size;
        } else {
            self.dropped++;
        }
    }
    pthread_mutex_unlock(&self.lock);
    pthread_mutex_unlock(&self.writing);
}

int standin_is_enabled(uint32_t kind)
{
    return self.enabled[kind];
}

int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    ENTER();
    self.request = request;
    self.complete = complete;
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    ENTER();
    if (kind >= KINDS || !standin_size(kind))
        return 21;
    self.enabled[kind] = 1;
    return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
    ENTER();
    self.enabled[kind] = 0;
    return 0;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t is_enabled)
{
    ENTER();
    return cbid == 17 && !is_enabled ? 0 : 1;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t is_enabled)
{
    ENTER();
    return (cbid == 304 || cbid == 392 || cbid == 686) && !is_enabled ? 0 : 1;
}

int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t is_enabled)
{
    ENTER();
    return is_enabled <= 1 ? 0 : 1;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    ENTER();
    (void)flags;
    pthread_mutex_lock(&self.lock);
    hold();
    unsigned count = self.held_count;
    self.held_count = 0;
    __typeof__(self.held[0]) held[HELD];
    memcpy(held, self.held, sizeof held);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = self.is_reversed ? count - 1 - i : i;
        hand_over(held[at].data, held[at].size, held[at].used);
    }
    pthread_mutex_unlock(&self.lock);
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *at = *record;
    ENTER();
    if (at) {
        uint32_t kind;
        memcpy(&kind, at, sizeof kind);
        at += standin_size(kind);
    } else {
        at = buffer;
    }
    if (at >= buffer + valid)
        return MAX_LIMIT;
    *record = at;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    ENTER();
    (void)context;
    (void)stream;
    *dropped = self.dropped;
    self.dropped = 0;
    return 0;
}

/* -- external ids, calls */

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    ENTER();
    if (kind < 0 || kind >= 8 || externals.count[kind] == DEPTH)
        return 1;
    externals.ids[kind][externals.count[kind]++] = id;
    return 0;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
    ENTER();
    if (kind < 0 || kind >= 8)
        return 1;
    if (externals.count[kind] == 0)
        return 18;
    *last = externals.ids[kind][--externals.count[kind]];
    return 0;
}

static void put32(uint8_t *record, size_t offset, uint32_t value)
{
    memcpy(record + offset, &value, sizeof value);
}

static void put64(uint8_t *record, size_t offset, uint64_t value)
{
    memcpy(record + offset, &value, sizeof value);
}

static void call_back(int domain, uint32_t cbid, int site)
{
    const struct {
        int site;
        const char *name;
    } data = {site, "a call"};
    if (self.is_subscribed && self.domains & 1 << domain)
        self.callback(self.user, domain, cbid, &data);
}

void standin_call(int domain, uint32_t cbid, uint64_t start, uint64_t end, uint32_t correlation)
{
    uint8_t record[40] = {0};
    call_back(domain, cbid, 0);
    for (int kind = 0; kind < 8; kind++) {
        uint8_t external[24] = {0};
        if (!externals.count[kind])
            continue;
        put32(external, 0, 39);
        put32(external, 4, (uint32_t)kind);
        put64(external, 8, externals.ids[kind][externals.count[kind] - 1]);
        put32(external, 16, correlation);
        standin_record(external);
    }
    put32(record, 0, domain == 2 ? 5 : 4);
    put32(record, 4, cbid);
    put64(record, 8, start);
    put64(record, 16, end);
    put32(record, 24, (uint32_t)getpid());
    put32(record, 28,
          self.thread_id_type == 1 ? (uint32_t)syscall(SYS_gettid)
                                   : (uint32_t)(uintptr_t)pthread_self());
    put32(record, 32, correlation);
    standin_record(record);
    call_back(domain, cbid, 1);
}

/* -- the driver */

static void (*at_end)(void);

void standin_at_end(void (*what)(void))
{
    at_end = what;
}

__attribute__((destructor)) static void end(void)
{
    if (at_end)
        at_end();
}

/* As the driver does it: who is injected is called in the middle, and must not call back. */
int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    ENTER();
    if (self.cuda == STARTING) {
        fprintf(stderr, "stand-in: cuInit within cuInit never returns\n");
        abort();
    }
    if (self.cuda == NOT_STARTED && path && *path) {
        self.cuda = STARTING;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*inject)(void) = NULL;
        void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
        memcpy(&inject, &symbol, sizeof symbol);
        if (inject)
            inject();
    }
    self.cuda = STARTED;
    return flags ? 1 : 0;
}

/* What every other function of the driver says before. */
static int refuse(const char *function)
{
    if (self.cuda == STARTING) {
        fprintf(stderr, "stand-in: %s within cuInit never returns\n", function);
        abort();
    }
    return self.cuda == STARTED ? 0 : 3;
}

int cuDriverGetVersion(int *version)
{
    ENTER();
    *version = 13010;
    return 0;
}

int cuDeviceGetCount(int *count)
{
    ENTER();
    *count = (int)number("STANDIN_DEVICES", 2);
    return refuse(__func__);
}

int cuDeviceGet(int *device, int ordinal)
{
    ENTER();
    *device = ordinal;
    return refuse(__func__);
}

int cuDeviceGetName(char *name, int size, int device)
{
    ENTER();
    snprintf(name, (size_t)size, "Demo \"GPU\" %d", device);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER();
    *bytes = (size_t)1 << (30 + device);
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const int known[][2] = {{1, 1024},    {8, 49152},  {10, 32},     {12, 65536},
                                   {16, 4},      {39, 2048},  {75, 9},      {76, 0},
                                   {81, 233472}, {82, 65536}, {97, 232448}, {111, 1024}};
    ENTER();
    (void)device;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == attribute && attribute != number("STANDIN_UNKNOWN", -1)) {
            *value = known[i][1];
            return 0;
        }
    return 1;
}
