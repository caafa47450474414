/* standin.c - a stand-in for libcupti.so: its C interface, with records that a test plays back
 * through the real callbacks and buffers. Counters are in standin_pm.c, the driver and its devices
 * in standin_cuda.c.
 *
 * Written from the documentation (the table of records by byte offset), not from the backend, so
 * that both are compared. The environment says what goes wrong:
 *
 *   STANDIN_FAIL                 see ../common/library.h
 *   STANDIN_VERSION=27           of CUPTI (default 130100); records have that version's sizes
 *   STANDIN_OTHER=name           somebody else is CUPTI's subscriber
 *   STANDIN_SKEW=1000            ns by which CUPTI's own clock is ahead
 *   STANDIN_PPM=100              and by how much faster it runs
 *   STANDIN_BUFFER=65536         how much of a buffer is used at most */
#define _GNU_SOURCE
#include "standin.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/library.h"

enum { KINDS = 64, HELD = 256, DEPTH = 64, MAX_LIMIT = 12, OTHER = 39 };

static struct {
    pthread_mutex_t lock;
    pthread_mutex_t writing; /* one record at a time; taken before the other one */
    void (*request)(uint8_t **, size_t *, size_t *);
    void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
    uint64_t (*timestamp)(void);
    void (*callback)(void *, int, uint32_t, const void *);
    void *user;
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
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER};

static __thread struct {
    uint64_t ids[8][DEPTH];
    int count[8];
} externals;

unsigned standin_calls(const char *function)
{
    return calls_of(function, 0);
}

/* -- clock */

static uint64_t own_clock(void)
{
    static uint64_t first;
    uint64_t now = clock_ns(CLOCK_MONOTONIC_RAW);
    if (!first)
        first = now;
    return now + (uint64_t)setting("STANDIN_SKEW", 0) +
           (now - first) * (uint64_t)setting("STANDIN_PPM", 0) / 1000000;
}

uint64_t standin_now(void)
{
    return self.timestamp ? self.timestamp() : own_clock();
}

int cuptiGetTimestamp(uint64_t *time)
{
    FAIL_IF_WANTED();
    *time = standin_now();
    return 0;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*timestamp)(void))
{
    FAIL_IF_WANTED();
    if (!timestamp)
        return 1;
    self.timestamp = timestamp;
    return 0;
}

/* -- versions and names */

uint32_t standin_version(void)
{
    return (uint32_t)setting("STANDIN_VERSION", 130100);
}

int cuptiGetVersion(uint32_t *version)
{
    FAIL_IF_WANTED();
    *version = standin_version();
    return 0;
}

int cuptiGetResultString(int result, const char **text)
{
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
    if (p && p->size != sizeof *p)
        return 1;
    if (p && p->old_name && other)
        snprintf(p->old_name, p->old_size, "%s", other);
    return cuptiSubscribe(subscriber, callback, user);
}

int cuptiUnsubscribe(void *subscriber)
{
    FAIL_IF_WANTED();
    if (subscriber != &self || !self.is_subscribed)
        return 1;
    self.is_subscribed = self.domains = 0;
    return 0;
}

int cuptiEnableDomain(uint32_t is_enabled, void *subscriber, int domain)
{
    FAIL_IF_WANTED();
    if (subscriber != &self || !self.is_subscribed)
        return 1;
    self.domains = is_enabled ? self.domains | 1 << domain : self.domains & ~(1 << domain);
    return 0;
}

int cuptiFinalize(void)
{
    FAIL_IF_WANTED();
    memset(self.enabled, 0, sizeof self.enabled);
    self.request = NULL;
    self.complete = NULL;
    self.timestamp = NULL;
    return 0;
}

int cuptiGetThreadIdType(int *type)
{
    FAIL_IF_WANTED();
    *type = self.thread_id_type;
    return 0;
}

int cuptiSetThreadIdType(int type)
{
    FAIL_IF_WANTED();
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
    size_t most = (size_t)setting("STANDIN_BUFFER", 1 << 30);
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

int cuptiActivityRegisterCallbacks(void (*request)(uint8_t **, size_t *, size_t *),
                                   void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    FAIL_IF_WANTED();
    self.request = request;
    self.complete = complete;
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    FAIL_IF_WANTED();
    if (kind >= KINDS || !standin_size(kind))
        return 21;
    self.enabled[kind] = 1;
    return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
    FAIL_IF_WANTED();
    self.enabled[kind] = 0;
    return 0;
}

int cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t is_enabled)
{
    FAIL_IF_WANTED();
    return cbid == 17 && !is_enabled ? 0 : 1;
}

int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t is_enabled)
{
    FAIL_IF_WANTED();
    return (cbid == 304 || cbid == 392 || cbid == 686) && !is_enabled ? 0 : 1;
}

int cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t is_enabled)
{
    FAIL_IF_WANTED();
    return is_enabled <= 1 ? 0 : 1;
}

int cuptiActivityFlushAll(uint32_t flags)
{
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
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
    FAIL_IF_WANTED();
    (void)context;
    (void)stream;
    *dropped = self.dropped;
    self.dropped = 0;
    return 0;
}

/* -- external ids, calls */

int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    FAIL_IF_WANTED();
    if (kind < 0 || kind >= 8 || externals.count[kind] == DEPTH)
        return 1;
    externals.ids[kind][externals.count[kind]++] = id;
    return 0;
}

int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
    FAIL_IF_WANTED();
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
