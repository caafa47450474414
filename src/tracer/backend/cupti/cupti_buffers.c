/* cupti_buffers.c - the memory that CUPTI writes records into: a fixed number of buffers, touched
 * before the session begins; and the thread that empties them while it is recorded.
 *
 *   free ─ request ─► CUPTI has it ─ complete ─► full ─ learnt ─ decoded ─► free
 *
 * A full buffer waits for one round of the collector, because what its records need may stand in a
 * buffer that comes later; when buffers run short it does not. When there is none left, CUPTI gets
 * none and drops records, which it counts. Versions before CUDA 12.9 crash at that: they get small
 * ones, whose records are counted and thrown away. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "tracer/backend/cupti/cupti_internal.h"
#include "tracer/tracer.h"

enum {
    ROUND_MS = 500, /* of the collector: how late work is in the recorder's buffers */
    SPILL_SIZE = 64 << 10,
    ALIGNMENT = 8,
};

typedef enum buffer_state { FREE, GIVEN, FULL } buffer_state;

typedef struct buffer {
    uint8_t *data;
    size_t valid;
    buffer_state state;
    bool is_spill, is_learnt;
    void *context;
    uint32_t stream;
    struct buffer *next;
    struct buffer *other; /* in the list of spills */
} buffer;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): one instance */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    buffer pool[KINO__CUPTI_BUFFERS_MAX];
    uint32_t count, free_count;
    buffer *spills;
    buffer *full, **full_end; /* in the order in which they came */
    bool has_thread, is_ending;
    pthread_t thread;
    buffer *waiting, **waiting_end; /* decode_lock: taken from `full`, not decoded yet */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* -- the pool */

kino_status kino__cupti_buffers_prepare(uint32_t count, kino_error *err)
{
    kino_status st = KINO_OK;
    pthread_mutex_lock(&self.lock);
    if (!self.full_end)
        self.full_end = &self.full;
    if (!self.waiting_end)
        self.waiting_end = &self.waiting;
    for (uint32_t i = 0; i < count && i < KINO__CUPTI_BUFFERS_MAX && st == KINO_OK; i++) {
        buffer *b = &self.pool[i];
        if (b->data)
            continue;
        b->data = aligned_alloc(4096, KINO__CUPTI_BUFFER_SIZE);
        if (!b->data) {
            st = kino__fail_nomem(err);
            break;
        }
        memset(b->data, 0, KINO__CUPTI_BUFFER_SIZE);
        b->state = FREE;
        self.free_count++;
        if (i >= self.count)
            self.count = i + 1;
    }
    pthread_mutex_unlock(&self.lock);
    return st;
}

void kino__cupti_buffers_release(void)
{
    pthread_mutex_lock(&self.lock);
    for (uint32_t i = 0; i < self.count; i++) {
        buffer *b = &self.pool[i];
        if (!b->data || b->state != FREE)
            continue; /* CUPTI may still write to it */
        free(b->data);
        b->data = NULL;
        self.free_count--;
    }
    pthread_mutex_unlock(&self.lock);
}

/* The locks of a forked child's parent may have been held; its buffers are of no use. */
void kino__cupti_buffers_forked(void)
{
    pthread_mutex_init(&self.lock, NULL);
    self.has_thread = false;
}

static bool must_give(void)
{
    return kino__cupti.version < CUPTI_VERSION_12_9;
}

static uint8_t *give_spill(void)
{
    buffer *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->is_spill = true;
    b->data = aligned_alloc(ALIGNMENT, SPILL_SIZE);
    if (!b->data) {
        free(b);
        return NULL;
    }
    uint8_t *data = b->data;
    pthread_mutex_lock(&self.lock);
    b->other = self.spills;
    self.spills = b;
    pthread_mutex_unlock(&self.lock);
    return data;
}

static void free_spill(buffer *b)
{
    pthread_mutex_lock(&self.lock);
    buffer **at = &self.spills;
    while (*at && *at != b)
        at = &(*at)->other;
    if (*at)
        *at = b->other;
    pthread_mutex_unlock(&self.lock);
    free(b->data);
    free(b);
}

void kino__cupti_request(uint8_t **out, size_t *size, size_t *record_limit)
{
    *out = NULL;
    *size = KINO__CUPTI_BUFFER_SIZE;
    *record_limit = 0;
    kino__cupti_thread_note();
    pthread_mutex_lock(&self.lock);
    for (uint32_t i = 0; i < self.count && !*out && self.free_count; i++) {
        buffer *b = &self.pool[i];
        if (!b->data || b->state != FREE)
            continue;
        b->state = GIVEN;
        self.free_count--;
        *out = b->data;
    }
    pthread_mutex_unlock(&self.lock);
    if (*out)
        return;
    kino__cupti_add(KINO__CUPTI_NO_BUFFER, 1);
    *size = 0;
    if (must_give()) {
        *out = give_spill();
        *size = *out ? SPILL_SIZE : 0;
    }
}

static buffer *find(const uint8_t *data)
{
    for (uint32_t i = 0; i < self.count; i++)
        if (self.pool[i].data == data)
            return &self.pool[i];
    buffer *spill = self.spills;
    while (spill && spill->data != data)
        spill = spill->other;
    return spill;
}

void kino__cupti_complete(void *context, uint32_t stream, uint8_t *data, size_t size, size_t valid)
{
    if (!data)
        return;
    pthread_mutex_lock(&self.lock);
    buffer *b = find(data);
    if (b && b->state != FULL) {
        b->state = FULL;
        b->valid = valid <= size ? valid : size;
        b->is_learnt = false;
        b->context = context;
        b->stream = stream;
        b->next = NULL;
        *self.full_end = b;
        self.full_end = &b->next;
    }
    bool is_short = self.free_count * 2 <= self.count;
    if (is_short && self.has_thread)
        pthread_cond_signal(&self.wake);
    pthread_mutex_unlock(&self.lock);
}

/* -- decoding; decode_lock is held */

static void count_dropped(void *context, uint32_t stream)
{
    size_t dropped = 0;
    if (!kino__cupti.calls.cuptiActivityGetNumDroppedRecords)
        return;
    int result = kino__cupti.calls.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    if (result != CUPTI_OK) {
        kino__cupti_problem("cuptiActivityGetNumDroppedRecords", result);
        return;
    }
    kino__cupti_add(KINO__CUPTI_DROPPED, dropped);
    if (dropped)
        kino__cupti.host->lost(kino__cupti.host, dropped);
}

static void count_spilled(const buffer *b)
{
    void *record = NULL;
    uint64_t count = 0;
    while (b->valid &&
           kino__cupti.calls.cuptiActivityGetNextRecord(b->data, b->valid, &record) == CUPTI_OK)
        count++;
    kino__cupti_add(KINO__CUPTI_SPILLED, count);
    kino__cupti.host->lost(kino__cupti.host, count);
}

static void take_full(void)
{
    pthread_mutex_lock(&self.lock);
    if (self.full) {
        *self.waiting_end = self.full;
        self.waiting_end = self.full_end;
        self.full = NULL;
        self.full_end = &self.full;
    }
    pthread_mutex_unlock(&self.lock);
}

static void give_back(buffer *b)
{
    if (b->is_spill) {
        free_spill(b);
        return;
    }
    pthread_mutex_lock(&self.lock);
    b->state = FREE;
    self.free_count++;
    pthread_mutex_unlock(&self.lock);
}

static bool is_short(void)
{
    pthread_mutex_lock(&self.lock);
    bool is = self.free_count * 2 <= self.count;
    pthread_mutex_unlock(&self.lock);
    return is;
}

/* All that were learnt by `until` (exclusive) leave the list. */
static void decode_until(const buffer *until)
{
    while (self.waiting && self.waiting != until) {
        buffer *b = self.waiting;
        self.waiting = b->next;
        if (!self.waiting)
            self.waiting_end = &self.waiting;
        if (!b->is_spill)
            kino__cupti_decode(b->data, b->valid);
        give_back(b);
    }
}

void kino__cupti_collect(bool everything)
{
    pthread_mutex_lock(&kino__cupti.decode_lock);
    const buffer *first_new = NULL;
    take_full();
    for (buffer *b = self.waiting; b; b = b->next) {
        if (b->is_learnt)
            continue;
        if (!first_new)
            first_new = b;
        b->is_learnt = true;
        count_dropped(b->context, b->stream);
        if (b->is_spill)
            count_spilled(b);
        else
            kino__cupti_learn(b->data, b->valid);
    }
    decode_until(everything || is_short() ? NULL : first_new);
    if (everything)
        count_dropped(NULL, 0);
    pthread_mutex_unlock(&kino__cupti.decode_lock);
}

/* -- the collector */

static void *run(void *context)
{
    (void)context;
    for (;;) {
        struct timespec until;
        bool is_late = false;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += ROUND_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&self.lock);
        while (!self.is_ending && !is_late && !(self.full && self.free_count * 2 <= self.count))
            is_late = pthread_cond_timedwait(&self.wake, &self.lock, &until) != 0;
        bool is_ending = self.is_ending;
        pthread_mutex_unlock(&self.lock);
        if (is_ending)
            return NULL;
        int result = is_late ? kino__cupti.calls.cuptiActivityFlushAll(0) : CUPTI_OK;
        if (result != CUPTI_OK)
            kino__cupti_problem("cuptiActivityFlushAll", result);
        kino__cupti_collect(false);
    }
}

bool kino__cupti_collector_start(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self.wake, &attributes);
    pthread_condattr_destroy(&attributes);
    self.is_ending = false;
    self.has_thread = kino__tracer_thread(&self.thread, run, NULL);
    return self.has_thread;
}

void kino__cupti_collector_stop(void)
{
    pthread_mutex_lock(&self.lock);
    bool has_thread = self.has_thread;
    self.is_ending = true;
    if (has_thread)
        pthread_cond_signal(&self.wake);
    self.has_thread = false;
    pthread_mutex_unlock(&self.lock);
    if (has_thread)
        (void)pthread_join(self.thread, NULL);
}
