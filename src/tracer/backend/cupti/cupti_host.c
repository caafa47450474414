/* cupti_host.c - records of what is not work of a device: calls, waits and events, CUPTI's own
 * overhead, memory, markers.
 *
 * Which calls are left out, and from which an arrow starts, is Kineto's choice. Waits of streams
 * are put off to the end: they are shown only on streams that did something. */
#include <stdlib.h>
#include <string.h>

#include "tracer/backend/cupti/cupti_records.h"

enum {
    WAITS = 1 << 15,   /* of streams that are put off */
    MARKERS = 1 << 12, /* that are open at a time */
};

typedef struct open_marker {
    uint32_t id, name, thread;
    uint64_t start; /* 0: an empty place */
} open_marker;

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): under decode_lock */
static struct {
    cupti_sync *waits;
    uint32_t wait_count;
    open_marker markers[MARKERS];
} self;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

bool kino__cupti_host_begin(void)
{
    if (!self.waits)
        self.waits = malloc(WAITS * sizeof *self.waits);
    self.wait_count = 0;
    memset(self.markers, 0, sizeof self.markers);
    return self.waits != NULL;
}

/* -- calls */

static bool is_among(uint32_t cbid, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == cbid)
            return true;
    return false;
}
#define IS_AMONG(cbid, list) is_among((cbid), (list), sizeof(list) / sizeof *(list))

/* Runtime: GetLastError, SetDevice, GetDevice, EventCreate, EventCreateWithFlags, EventDestroy are
 * left out. Driver: only LaunchKernel, LaunchKernelEx, MemCreate, MemRelease, MemMap, MemUnmap,
 * MemExportToShareableHandle, MemImportFromShareableHandle are shown. */
static bool is_shown(int domain, uint32_t cbid)
{
    static const uint32_t noise[] = {10, 16, 17, 133, 134, 136};
    static const uint32_t shown[] = {307, 549, 550, 551, 552, 554, 555, 652};
    return domain == CUPTI_DOMAIN_RUNTIME ? !IS_AMONG(cbid, noise) : IS_AMONG(cbid, shown);
}

/* Runtime: Memcpy ... Memset2DAsync, StreamSynchronize, StreamWaitEvent, DeviceSynchronize,
 * LaunchKernel, LaunchCooperativeKernel, ...MultiDevice, GraphLaunch, LaunchKernelExC. Driver:
 * LaunchKernel, LaunchKernelEx. */
static bool starts_flow(int domain, uint32_t cbid)
{
    static const uint32_t runtime[] = {131, 147, 165, 211, 269, 272, 311, 430};
    static const uint32_t driver[] = {307, 652};
    if (domain == CUPTI_DOMAIN_RUNTIME)
        return (cbid >= 31 && cbid <= 52) || IS_AMONG(cbid, runtime);
    return IS_AMONG(cbid, driver);
}

static void on_host(kino_device_activity *a, uint32_t thread)
{
    a->device = KINO_DEVICE_HOST;
    a->stream = thread;
    a->flags |= KINO_DEVICE_CLOCK_OF;
    a->clock_of = kino__cupti_device(0);
}

static void decode_call(const void *record, int domain)
{
    cupti_api call;
    memcpy(&call, record, sizeof call);
    uint32_t kind =
        domain == CUPTI_DOMAIN_RUNTIME ? KINO_DEVICE_CUDA_RUNTIME : KINO_DEVICE_CUDA_DRIVER;
    if (!kino__cupti_is_wanted(kind))
        return;
    if (!is_shown(domain, call.cbid)) {
        kino__cupti_add(KINO__CUPTI_FILTERED, 1);
        return;
    }
    if (!kino__cupti_is_usable(call.start, &call.end))
        return;
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    kino__cupti_args args = {.count = 0};
    a.kind = kind;
    a.name = kino__cupti_call_name(domain, call.cbid);
    a.start = call.start;
    a.end = call.end;
    a.correlation = call.correlation;
    a.external = kino__cupti_relation_of(call.correlation)->external[0];
    on_host(&a, kino__cupti_thread_of(call.thread));
    if (!starts_flow(domain, call.cbid))
        a.flags |= KINO_DEVICE_FLOW_END; /* as Kineto has it: an arrow that comes from nowhere */
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CBID, call.cbid);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CORRELATION, call.correlation);
    kino__cupti_hand_over(&a, &args);
}

/* -- waits and events */

static cupti_cuda_event read_event(const void *record)
{
    cupti_cuda_event e;
    bool is_13 = kino__cupti.version >= CUPTI_VERSION_13_0;
    memset(&e, 0, sizeof e);
    memcpy(&e, record, is_13 ? sizeof e : offsetof(cupti_cuda_event, device));
    return e;
}

void kino__cupti_learn_event(const void *record)
{
    cupti_cuda_event e = read_event(record);
    kino__cupti_event_recorded(
        (kino__cupti_recording){e.context, e.event, e.correlation, e.stream});
}

static int64_t number_or_none(uint32_t number)
{
    return number == UINT32_MAX ? -1 : (int64_t)number;
}

static void add_source(kino__cupti_args *args, const cupti_sync *s)
{
    const kino__cupti_recording *source =
        kino__cupti_event_source(s->context, s->event, s->correlation);
    kino__cupti_arg_int(args, KINO__CUPTI_KEY_WAIT_STREAM,
                        source ? number_or_none(source->stream) : -1);
    kino__cupti_arg_int(args, KINO__CUPTI_KEY_WAIT_CORRELATION,
                        source ? (int64_t)source->correlation : -1);
    kino__cupti_arg_int(args, KINO__CUPTI_KEY_WAIT_EVENT, number_or_none(s->event));
}

/* A wait or event has its own number where it has no function: Kineto's way. */
static uint64_t external_or_own(uint32_t correlation)
{
    uint64_t external = kino__cupti_relation_of(correlation)->external[0];
    return external ? external : correlation;
}

static void write_sync(const cupti_sync *s)
{
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    kino__cupti_args args = {.count = 0};
    const char *text = kino__cupti_sync_text(s->type);
    a.kind = KINO_DEVICE_SYNC;
    a.name = kino__cupti.host->name(kino__cupti.host, KINO_DEVICE_SYNC, text);
    a.device = kino__cupti_device(kino__cupti_device_of(s->context));
    a.stream = s->stream;
    a.flags = s->stream == CUPTI_NO_STREAM ? KINO_DEVICE_ROW_WHOLE : KINO_DEVICE_ROW_SYNC;
    a.start = s->start;
    a.end = s->end;
    a.correlation = s->correlation;
    a.external = external_or_own(s->correlation);
    kino__cupti_arg_text(&args, KINO__CUPTI_KEY_SYNC_KIND, KINO_DEVICE_ARG_TEXT, text);
    if (s->type == CUPTI_SYNC_EVENT || s->type == CUPTI_SYNC_STREAM_WAIT)
        add_source(&args, s);
    kino__cupti_arg_int(&args, KINO__CUPTI_KEY_STREAM, number_or_none(s->stream));
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CORRELATION, s->correlation);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_DEVICE, a.device);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CONTEXT, s->context);
    kino__cupti_hand_over(&a, &args);
}

void kino__cupti_write_waits(void)
{
    for (uint32_t i = 0; i < self.wait_count; i++) {
        const cupti_sync *s = &self.waits[i];
        if (kino__cupti_is_stream_used(kino__cupti_device_of(s->context), s->stream))
            write_sync(s);
        else
            kino__cupti_add(KINO__CUPTI_IDLE_WAITS, 1);
    }
    self.wait_count = 0;
}

static void decode_sync(const void *record)
{
    cupti_sync s;
    memcpy(&s, record, sizeof s);
    if (!kino__cupti_is_wanted(KINO_DEVICE_SYNC) || !kino__cupti_is_usable(s.start, &s.end))
        return;
    if (s.type != CUPTI_SYNC_STREAM_WAIT) {
        write_sync(&s);
        return;
    }
    if (self.wait_count == WAITS)
        kino__cupti_write_waits();
    self.waits[self.wait_count++] = s;
}

static void decode_event(const void *record)
{
    cupti_cuda_event e = read_event(record);
    if (!kino__cupti_is_wanted(KINO_DEVICE_EVENT) || !e.device_time ||
        !kino__cupti_is_inside(e.device_time, e.device_time))
        return;
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    kino__cupti_args args = {.count = 0};
    a.kind = KINO_DEVICE_EVENT;
    a.name = kino__cupti.host->name(kino__cupti.host, KINO_DEVICE_EVENT, "cudaEvent");
    a.device = kino__cupti_device(e.device);
    a.stream = e.stream;
    a.start = e.device_time;
    a.end = e.device_time + 1;
    a.correlation = e.correlation;
    a.external = external_or_own(e.correlation);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_EVENT, e.event);
    kino__cupti_arg_int(&args, KINO__CUPTI_KEY_STREAM, number_or_none(e.stream));
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CORRELATION, e.correlation);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_DEVICE, a.device);
    kino__cupti_arg_uint(&args, KINO__CUPTI_KEY_CONTEXT, e.context);
    kino__cupti_hand_over(&a, &args);
}

/* -- the rest */

static void write_overhead(uint32_t name, uint64_t start, uint64_t end)
{
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    const kino__cupti_args none = {.count = 0};
    if (!kino__cupti_is_wanted(KINO_DEVICE_OVERHEAD) || !kino__cupti_is_usable(start, &end))
        return;
    a.kind = KINO_DEVICE_OVERHEAD;
    a.name = name;
    a.start = start;
    a.end = end;
    a.flags = KINO_DEVICE_ROW_OVERHEAD;
    on_host(&a, 0);
    kino__cupti_hand_over(&a, &none);
}

static void decode_overhead(const void *record)
{
    cupti_overhead o;
    memcpy(&o, record, sizeof o);
    write_overhead(kino__cupti_overhead_name(o.overhead_kind), o.start, o.end);
}

static void decode_jit(const void *record)
{
    cupti_jit j;
    memcpy(&j, record, sizeof j);
    write_overhead(kino__cupti_jit_name(j.entry, j.operation), j.start, j.end);
}

static void decode_memory(const void *record)
{
    enum { PINNED = 2, TYPE_CPU = 0, TYPE_CUDA = 1 };
    cupti_memory m;
    memcpy(&m, record, sizeof m);
    if (!kino__cupti_is_wanted(KINO_DEVICE_MEMORY) || !kino__cupti_is_inside(m.time, m.time) ||
        m.bytes > INT64_MAX)
        return;
    kino_device_memory event = {.size = sizeof event};
    event.device = kino__cupti_device(m.device);
    event.device_type = m.memory_kind == PINNED ? TYPE_CPU : TYPE_CUDA;
    event.thread = kino__cupti_relation_of(m.correlation)->thread;
    event.time = m.time;
    event.address = m.address;
    event.bytes = m.operation == CUPTI_MEMORY_RELEASE ? -(int64_t)m.bytes : (int64_t)m.bytes;
    kino__cupti.host->memory(kino__cupti.host, &event);
}

/* A range of NVTX that CUPTI has heard of: begin and end are two records. */
static void write_marker(const open_marker *m, uint64_t end)
{
    kino_device_activity a = KINO_DEVICE_ACTIVITY_INIT;
    const kino__cupti_args none = {.count = 0};
    if (!kino__cupti_is_usable(m->start, &end))
        return;
    a.kind = KINO_DEVICE_ANNOTATION;
    a.name = m->name;
    a.start = m->start;
    a.end = end;
    on_host(&a, m->thread);
    kino__cupti_hand_over(&a, &none);
}

static void decode_marker(const void *record)
{
    cupti_marker m;
    memcpy(&m, record, sizeof m);
    open_marker *place = &self.markers[m.id % MARKERS];
    if (!kino__cupti_is_wanted(KINO_DEVICE_ANNOTATION))
        return;
    if (m.flags & CUPTI_MARKER_END) {
        if (place->start && place->id == m.id)
            write_marker(place, m.time);
        place->start = 0;
        return;
    }
    open_marker fresh = {
        m.id,
        kino__cupti.host->name(kino__cupti.host, KINO_DEVICE_ANNOTATION, m.name ? m.name : ""),
        m.object_kind == CUPTI_OBJECT_THREAD ? kino__cupti_thread_of(m.thread) : 0, m.time};
    if (m.flags & CUPTI_MARKER_INSTANT)
        write_marker(&fresh, m.time);
    else
        *place = fresh;
}

/* -- for the passes */

bool kino__cupti_decode_host(uint32_t kind, const void *record)
{
    switch (kind) {
    case CUPTI_KIND_RUNTIME:
        decode_call(record, CUPTI_DOMAIN_RUNTIME);
        return true;
    case CUPTI_KIND_DRIVER:
        decode_call(record, CUPTI_DOMAIN_DRIVER);
        return true;
    case CUPTI_KIND_SYNCHRONIZATION:
        decode_sync(record);
        return true;
    case CUPTI_KIND_CUDA_EVENT:
        decode_event(record);
        return true;
    case CUPTI_KIND_OVERHEAD:
        decode_overhead(record);
        return true;
    case CUPTI_KIND_JIT:
        decode_jit(record);
        return true;
    case CUPTI_KIND_MEMORY2:
        decode_memory(record);
        return true;
    case CUPTI_KIND_MARKER:
        decode_marker(record);
        return true;
    default:
        return false;
    }
}
