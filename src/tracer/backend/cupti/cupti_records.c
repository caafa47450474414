/* cupti_records.c - CUPTI's records become activities: the rows that Kineto makes of them.
 *
 * What a record needs from others may stand in any buffer, so buffers are gone through twice:
 * kino__cupti_learn takes what is said about others (functions, threads, contexts, events),
 * kino__cupti_decode writes rows (cupti_work.c, cupti_host.c). */
#include "tracer/backend/cupti/cupti_records.h"

#include <string.h>

enum {
    STREAMS = 1 << 12, /* places of streams that did something; half are used at most */
    CONTEXTS = 64,
};

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): under decode_lock */
static struct {
    uint64_t streams[STREAMS]; /* device << 32 | stream, + 1 */
    uint32_t stream_count;
    struct {
        uint32_t context, device;
    } contexts[CONTEXTS];
    uint32_t context_count;
} self;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

bool kino__cupti_decode_begin(void)
{
    self.stream_count = self.context_count = 0;
    memset(self.streams, 0, sizeof self.streams);
    return kino__cupti_host_begin() && kino__cupti_relations_begin() && kino__cupti_args_begin();
}

/* -- contexts and streams */

static void note_context(uint32_t context, uint32_t device)
{
    for (uint32_t i = 0; i < self.context_count; i++)
        if (self.contexts[i].context == context)
            return;
    if (self.context_count == CONTEXTS)
        return;
    self.contexts[self.context_count].context = context;
    self.contexts[self.context_count++].device = device;
}

uint32_t kino__cupti_device_of(uint32_t context)
{
    for (uint32_t i = 0; i < self.context_count; i++)
        if (self.contexts[i].context == context)
            return self.contexts[i].device;
    return 0;
}

static uint64_t *stream_place(uint32_t device, uint32_t stream)
{
    uint64_t key = ((uint64_t)device << 32 | stream) + 1, at = key * 0x9e3779b97f4a7c15u >> 40;
    while (self.streams[at % STREAMS] && self.streams[at % STREAMS] != key)
        at++;
    return &self.streams[at % STREAMS];
}

void kino__cupti_stream_used(uint32_t device, uint32_t stream)
{
    uint64_t *place = stream_place(device, stream);
    if (!*place && self.stream_count < STREAMS / 2) {
        *place = ((uint64_t)device << 32 | stream) + 1;
        self.stream_count++;
    }
}

bool kino__cupti_is_stream_used(uint32_t device, uint32_t stream)
{
    return *stream_place(device, stream) != 0;
}

/* -- the first pass */

static void learn_external(const void *record)
{
    cupti_external e;
    memcpy(&e, record, sizeof e);
    if (!e.correlation)
        return;
    if (e.external_kind == CUPTI_EXTERNAL_CUSTOM0)
        kino__cupti_relation_make(e.correlation)->external[0] = e.external_id;
    else if (e.external_kind == CUPTI_EXTERNAL_CUSTOM1)
        kino__cupti_relation_make(e.correlation)->external[1] = e.external_id;
}

static void learn_call(const void *record)
{
    cupti_api call;
    memcpy(&call, record, sizeof call);
    if (call.correlation)
        kino__cupti_relation_make(call.correlation)->thread = kino__cupti_thread_of(call.thread);
}

static void learn_one(const void *record)
{
    uint32_t kind, context, device;
    memcpy(&kind, record, sizeof kind);
    if (kind == CUPTI_KIND_EXTERNAL_CORRELATION)
        learn_external(record);
    else if (kind == CUPTI_KIND_RUNTIME || kind == CUPTI_KIND_DRIVER)
        learn_call(record);
    else if (kind == CUPTI_KIND_CUDA_EVENT)
        kino__cupti_learn_event(record);
    else if (kino__cupti_place_of(kind, record, &context, &device))
        note_context(context, device);
}

/* -- activities */

bool kino__cupti_is_wanted(uint32_t kind)
{
    return kino__cupti.kinds & KINO_DEVICE_BIT(kind);
}

bool kino__cupti_is_inside(uint64_t start, uint64_t end)
{
    uint64_t from = __atomic_load_n(&kino__cupti.window_start, __ATOMIC_RELAXED);
    uint64_t to = __atomic_load_n(&kino__cupti.window_end, __ATOMIC_RELAXED);
    bool is = from && start >= from && (!to || end <= to);
    if (!is)
        kino__cupti_add(KINO__CUPTI_OUTSIDE, 1);
    return is;
}

/* Work of a device that was under way when the session ended has no times. */
bool kino__cupti_is_usable(uint64_t start, uint64_t *end)
{
    if (!start || !*end) {
        if (__atomic_load_n(&kino__cupti.window_start, __ATOMIC_RELAXED)) {
            kino__cupti_add(KINO__CUPTI_INCOMPLETE, 1);
            kino__cupti.host->lost(kino__cupti.host, 1);
        }
        return false;
    }
    if (*end < start)
        *end = start;
    return kino__cupti_is_inside(start, *end);
}

void kino__cupti_hand_over(kino_device_activity *a, const kino__cupti_args *args)
{
    a->args = args->items;
    a->arg_count = args->count;
    a->flags |= KINO_DEVICE_ARGS_WHOLE;
    kino__cupti.host->activity(kino__cupti.host, a);
}

/* -- the second pass */

static void decode_one(const void *record)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    kino__cupti_add(KINO__CUPTI_RECORDS, 1);
    if (kind != CUPTI_KIND_EXTERNAL_CORRELATION && /* was learnt */
        !kino__cupti_decode_work(kind, record) && !kino__cupti_decode_host(kind, record))
        kino__cupti_add(KINO__CUPTI_UNKNOWN, 1);
}

/* Where records end only CUPTI knows. */
static void each(uint8_t *buffer, size_t valid, void (*visit)(const void *record))
{
    void *record = NULL;
    int result = CUPTI_OK;
    while (valid && (result = kino__cupti.calls.cuptiActivityGetNextRecord(buffer, valid,
                                                                           &record)) == CUPTI_OK)
        visit(record);
    if (result != CUPTI_OK && result != CUPTI_MAX_LIMIT_REACHED)
        kino__cupti_problem("cuptiActivityGetNextRecord", result);
}

void kino__cupti_learn(uint8_t *buffer, size_t valid)
{
    each(buffer, valid, learn_one);
}

void kino__cupti_decode(uint8_t *buffer, size_t valid)
{
    each(buffer, valid, decode_one);
}

void kino__cupti_decode_rest(void)
{
    kino__cupti_write_waits();
    kino__cupti_annotations_end();
}
