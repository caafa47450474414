/* pti.c - a stand-in for libpti_view.so: views, buffers, external correlation.
 *
 * What it does besides is told by the environment:
 *   STANDIN_FAIL (../common/library.h)
 *   STANDIN_VERSION=0.14.0  STANDIN_SKEW=ns (its own clock is ahead)  STANDIN_ORDER=reverse (full
 *   buffers come back in another order)  STANDIN_ROOM=bytes (of a buffer that are used)
 *   STANDIN_SHIFT=bytes (records have another layout)  STANDIN_KEEP=n (buffers never come back)
 *   STANDIN_DEAF=1 (takes a clock, and does not use it)
 * Built with STANDIN_NO_CLOCK it has no function about times, and the time of day as its clock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../common/held.h"
#include "../common/library.h"
#include "vendor.h"
#include "xpu.h"

#ifdef STANDIN_NO_CLOCK
#    define DEFAULT_CLOCK CLOCK_REALTIME
#else
#    define DEFAULT_CLOCK CLOCK_MONOTONIC
#endif

enum { FULL = 256, STACK = 64 };

typedef struct block {
    unsigned char *data;
    size_t size, used;
} block;

static struct {
    void (*requested)(unsigned char **, size_t *);
    void (*completed)(unsigned char *, size_t, size_t);
    uint64_t (*timestamp)(void);
    int is_on[VIEWS];
    uint32_t correlation;
} self;

static __thread struct {
    uint64_t ids[2][STACK];
    int count[2];
} external;

/* -- versions, texts, clock */

const char *ptiVersionString(void)
{
    const char *text = getenv("STANDIN_VERSION");
    return text ? text : "0.14.0";
}

const char *ptiResultTypeToString(pti_result result)
{
    return result == 200 ? "PTI_ERROR_INTERNAL" : "PTI_ERROR_BAD_ARGUMENT";
}

const char *ptiViewMemcpyTypeToString(int type)
{
    return type == 6 ? "H2D" : type == 9 ? "D2H" : type == 10 ? "D2D" : "M2M";
}

const char *ptiViewMemoryTypeToString(int type)
{
    return type == 1 ? "Host" : type == 2 ? "Device" : "Memory";
}

pti_result ptiViewGetApiIdName(int group, uint32_t api, const char **name)
{
    static const char *const sycl[] = {"urEnqueueKernelLaunch", "urEnqueueUSMMemcpy",
                                       "urEnqueueUSMFill", "urEnqueueCommandBufferExp"};
    static const char *const level_zero[] = {"zeCommandListAppendLaunchKernel",
                                             "zeEventHostSynchronize"};
    FAIL_IF_WANTED();
    if (group == GROUP_SYCL && api < 4)
        *name = sycl[api];
    else if (group == GROUP_LEVEL_ZERO && api < 2)
        *name = level_zero[api];
    else
        return 7;
    return 0;
}

uint64_t standin_now(void)
{
    if (self.timestamp)
        return self.timestamp();
    return clock_ns(DEFAULT_CLOCK) + (uint64_t)setting("STANDIN_SKEW", 0);
}

#ifndef STANDIN_NO_CLOCK
uint64_t ptiViewGetTimestamp(void)
{
    return standin_now();
}

pti_result ptiViewSetTimestampCallback(uint64_t (*timestamp)(void))
{
    FAIL_IF_WANTED();
    if (!setting("STANDIN_DEAF", 0))
        self.timestamp = timestamp;
    return 0;
}
#endif

/* -- views */

pti_result ptiViewSetCallbacks(void (*requested)(unsigned char **, size_t *),
                               void (*completed)(unsigned char *, size_t, size_t))
{
    FAIL_IF_WANTED();
    self.requested = requested;
    self.completed = completed;
    return 0;
}

pti_result ptiViewGPULocalAvailable(void)
{
    FAIL_IF_WANTED();
    return 0;
}

pti_result ptiViewEnable(int view)
{
    FAIL_IF_WANTED();
    if (view <= 0 || view >= VIEWS || !self.requested)
        return 3;
    self.is_on[view] = 1;
    for (long i = setting("STANDIN_KEEP", 0); view == VIEW_KERNEL && i > 0; i--) {
        unsigned char *buffer;
        size_t size;
        self.requested(&buffer, &size);
    }
    return 0;
}

pti_result ptiViewDisable(int view)
{
    FAIL_IF_WANTED();
    self.is_on[view] = 0;
    return 0;
}

pti_result ptiViewEnableRuntimeApiClass(uint32_t enable, int api_class, int group)
{
    FAIL_IF_WANTED();
    return enable == 1 && api_class == 1 && group == 0x7fffffff ? 0 : 3;
}

int xpu_views(void)
{
    int count = 0;
    for (int i = 0; i < VIEWS; i++)
        count += self.is_on[i];
    return count;
}

/* -- external correlation: of the thread */

pti_result ptiViewPushExternalCorrelationId(int kind, uint64_t id)
{
    FAIL_IF_WANTED();
    if (kind < 2 || kind > 3)
        return 3;
    external.ids[kind - 2][external.count[kind - 2]++ % STACK] = id;
    return 0;
}

pti_result ptiViewPopExternalCorrelationId(int kind, uint64_t *id)
{
    FAIL_IF_WANTED();
    if (kind < 2 || kind > 3 || external.count[kind - 2] == 0)
        return 5;
    *id = external.ids[kind - 2][--external.count[kind - 2] % STACK];
    return 0;
}

uint32_t standin_correlation(void)
{
    uint32_t correlation = __atomic_add_fetch(&self.correlation, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) {
        pti_view_record_external_correlation r = {{VIEW_EXTERNAL}, correlation, 0, i + 2};
        if (external.count[i] == 0)
            continue;
        r._external_id = external.ids[i][(external.count[i] - 1) % STACK];
        standin_add(&r, sizeof r, 0, 0);
    }
    return correlation;
}

/* -- buffers */

void standin_add(const void *record, size_t size, uint64_t ready, int is_device)
{
    pti_view_record_base base;
    memcpy(&base, record, sizeof base);
    if (self.is_on[base._view_kind])
        hold(record, size, is_device, ready, HELD_MAX);
}

/* Puts a record into the last block, or a new one; 0 when there is no buffer to be had. */
static int put(block *blocks, int *count, const held *h)
{
    size_t room = (size_t)setting("STANDIN_ROOM", 1 << 30);
    size_t shift = (size_t)setting("STANDIN_SHIFT", 0), need = h->size + shift + 16;
    block *b = *count ? &blocks[*count - 1] : NULL;
    if (!b || b->used + need > b->size) {
        if (*count == FULL)
            return 0;
        b = &blocks[*count];
        self.requested(&b->data, &b->size);
        if (!b->data || b->size < need)
            return 0;
        if (b->size > room)
            b->size = room < need ? need : room;
        b->used = 0;
        (*count)++;
    }
    uint64_t total = (need + 7) & ~(uint64_t)7; /* in front of each record: where the next is */
    memcpy(b->data + b->used, &total, sizeof total);
    memset(b->data + b->used + 8, 0x77, shift + 8);
    memcpy(b->data + b->used + 8, h->bytes, 4);
    memcpy(b->data + b->used + 8 + 4 + shift, h->bytes + 4, h->size - 4);
    b->used += total;
    return 1;
}

pti_result ptiViewGetNextRecord(uint8_t *buffer, size_t used, pti_view_record_base **record)
{
    FAIL_IF_WANTED();
    uint8_t *at = buffer;
    if (*record) {
        uint64_t total;
        at = (uint8_t *)*record - 8;
        memcpy(&total, at, sizeof total);
        at += total;
    }
    if (at + 8 >= buffer + used)
        return 1;
    *record = (pti_view_record_base *)(void *)(at + 8);
    return 0;
}

/* Work of devices comes back first: what it belongs to is in the other buffers. */
static pti_result flush(void)
{
    static block blocks[FULL];
    static held ready[HELD_MAX];
    int count = take_ready(standin_now(), ready), block_count = 0;
    for (int is_device = 1; is_device >= 0; is_device--) {
        int first = block_count;
        for (int i = 0; i < count; i++) {
            int before = block_count - first;
            if (ready[i].tag == is_device)
                put(blocks + first, &before, &ready[i]);
            block_count = first + before;
        }
    }
    int is_reverse = is_set_to("STANDIN_ORDER", "reverse");
    for (int i = 0; i < block_count; i++) {
        block *b = &blocks[is_reverse ? block_count - 1 - i : i];
        self.completed(b->data, b->size, b->used);
    }
    return 0;
}

static int is_gone;

/* Behind it the real one may crash. */
__attribute__((destructor)) static void go(void)
{
    is_gone = 1;
}

pti_result ptiFlushAllViews(void)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    FAIL_IF_WANTED();
    if (is_gone)
        abort();
    pthread_mutex_lock(&one);
    pti_result result = flush();
    pthread_mutex_unlock(&one);
    return result;
}
