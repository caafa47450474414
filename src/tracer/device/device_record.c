/* device_record.c - what backends are given (kino_device_host): names, devices, activities, clocks.
 *
 * An activity and its arguments are written with one reservation and appear at once. Its times are
 * converted to CLOCK_MONOTONIC_RAW when it is handed over, from what is known of the device's clock
 * by then; readers take them from there to the trace's clock with the anchors of the recording. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_out.h"
#include "base/prefetch.h"
#include "tracer/activity.h"
#include "tracer/device/device.h"
#include "tracer/thread_ring.h"
#include "tracer/ticks.h"

enum {
    ARGS_MAX = 64,       /* of an activity */
    ARG_TEXT_MAX = 4096, /* bytes of one of them */
    SAMPLES = 5,         /* of a device's clock, of which the tightest counts */
    SAMPLE_EVERY = 256,  /* activities of a device, the clock is read again */
    ANCHOR_ERROR_NS = 200,
};

static kino__backend *backend_of(const kino_device_host *host)
{
    return host->self;
}

/* -- the host's clock */

void kino__devices_anchor(kino__devices *all, uint32_t clock)
{
    pthread_mutex_lock(&all->clock_lock);
    kino__ring_anchor now = kino__clock_anchor(clock);
    if (all->clock != clock) {
        all->clock = clock;
        all->first = now;
    }
    all->last = now;
    pthread_mutex_unlock(&all->clock_lock);
}

/* A line through both anchors. Behind the last one it is followed half as far as they are apart. */
static void refresh(kino__devices *all, uint64_t stamp)
{
    uint64_t apart = all->last.ticks - all->first.ticks;
    if (all->clock &&
        (apart == 0 || (stamp > all->last.ticks && stamp - all->last.ticks > apart / 2)))
        all->last = kino__clock_anchor(all->clock);
}

static int64_t stamp_to_ns(kino__devices *all, uint64_t stamp)
{
    pthread_mutex_lock(&all->clock_lock);
    refresh(all, stamp);
    __int128 ticks = (__int128)all->last.ticks - all->first.ticks;
    __int128 ns = (__int128)all->last.raw_ns - all->first.raw_ns;
    __int128 from = (__int128)stamp - all->first.ticks;
    int64_t result = all->first.raw_ns + (int64_t)(ticks > 0 ? from * ns / ticks : 0);
    pthread_mutex_unlock(&all->clock_lock);
    return result;
}

static uint64_t ns_to_stamp(kino__devices *all, int64_t raw_ns)
{
    pthread_mutex_lock(&all->clock_lock);
    __int128 ticks = (__int128)all->last.ticks - all->first.ticks;
    __int128 ns = (__int128)all->last.raw_ns - all->first.raw_ns;
    __int128 from = (__int128)raw_ns - all->first.raw_ns;
    uint64_t result = all->first.ticks + (uint64_t)(int64_t)(ns > 0 ? from * ticks / ns : 0);
    pthread_mutex_unlock(&all->clock_lock);
    return result;
}

static uint64_t stamp(const kino_device_host *host)
{
    return kino__clock_ticks(backend_of(host)->all->clock);
}

/* -- the devices' clocks */

static kino__device *find_device(kino__devices *all, uint32_t number)
{
    uint32_t count = __atomic_load_n(&all->device_count, __ATOMIC_ACQUIRE); /* add_device */
    return number < count ? all->devices[number] : NULL;
}

static void clock_bound(const kino_device_host *host, uint32_t number, uint64_t time,
                        uint64_t before, uint64_t after)
{
    kino__devices *all = backend_of(host)->all;
    kino__device *d = find_device(all, number);
    if (!d || !all->clock || time > INT64_MAX || before > after)
        return;
    int64_t from = stamp_to_ns(all, before) - ANCHOR_ERROR_NS;
    int64_t to = stamp_to_ns(all, after) + ANCHOR_ERROR_NS;
    pthread_mutex_lock(&d->lock);
    if (kino__device_clock_observe(&d->clock, (int64_t)time, from, to))
        __atomic_store_n(&d->is_hosts, !d->clock.is_foreign, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&d->lock);
}

static void sample_device(const kino__backend *b, uint32_t number)
{
    uint64_t best_time = 0, best_before = 0, best_after = UINT64_MAX;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t time = 0, before = stamp(&b->host);
        if (!b->def.now(b->def.context, number, &time))
            return;
        uint64_t after = stamp(&b->host);
        if (after - before < best_after - best_before) {
            best_time = time;
            best_before = before;
            best_after = after;
        }
    }
    clock_bound(&b->host, number, best_time, best_before, best_after);
}

void kino__device_sample(const kino__backend *b)
{
    uint32_t count = __atomic_load_n(&b->all->device_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; b->def.now && i < count; i++)
        if (b->all->devices[i]->backend == b &&
            b->all->devices[i]->clock_kind == KINO_DEVICE_CLOCK_OWN)
            sample_device(b, i);
}

/* Times of an activity on the clock that goes into the ring; false when they are not known. */
static bool convert(kino__backend *b, uint32_t number, kino__activity *out)
{
    kino__device *d = find_device(b->all, number);
    if (!d || d->backend != b || out->start > INT64_MAX || out->end > INT64_MAX)
        return false;
    out->clock =
        d->clock_kind == KINO_DEVICE_CLOCK_REAL ? KINO__ACTIVITY_REAL_NS : KINO__ACTIVITY_RAW_NS;
    if (d->clock_kind != KINO_DEVICE_CLOCK_OWN)
        return true;
    uint32_t count = __atomic_load_n(&d->handed_over, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&d->handed_over, count, __ATOMIC_RELAXED); /* about: nothing depends on it */
    if (b->def.now && count % SAMPLE_EVERY == 0)
        sample_device(b, number);
    if (__atomic_load_n(&d->is_hosts, __ATOMIC_RELAXED))
        return true;
    pthread_mutex_lock(&d->lock);
    int64_t start = kino__device_clock_convert(&d->clock, (int64_t)out->start);
    int64_t end = kino__device_clock_convert(&d->clock, (int64_t)out->end);
    pthread_mutex_unlock(&d->lock);
    out->start = (uint64_t)start;
    out->end = (uint64_t)end;
    return start > 0 && end > 0; /* KINO_NO_TIME is negative */
}

/* -- names and devices */

static const char *category_of(uint32_t kind)
{
    switch (kind) {
#define CASE(name, value, text)                                                                    \
    case value:                                                                                    \
        return text;
        KINO_DEVICE_KIND_MAP(CASE)
#undef CASE
    default:
        return "other";
    }
}

static uint32_t name(const kino_device_host *host, uint32_t kind, const char *text)
{
    (void)host;
    uint32_t number = kino_text(text ? text : "", category_of(kind));
    return number ? number : KINO__TEXT_LOST;
}

static uint32_t key(const kino_device_host *host, const char *text)
{
    (void)host;
    uint32_t number = kino_text(text ? text : "", "");
    return number ? number : KINO__TEXT_LOST;
}

/* An object of "deviceProperties": id, name, memory, then what the backend says. */
static void write_properties(kino__buffer *out, uint32_t number, const kino_device_info *info)
{
    kino__json json = {.out = out};
    kino__json_begin_object(&json);
    kino__json_key(&json, "id");
    kino__json_uint(&json, number);
    kino__json_key(&json, "name");
    kino__json_string(&json, kino__str_from(info->name ? info->name : ""));
    if (info->memory_bytes != KINO_NO_INT) {
        kino__json_key(&json, "totalGlobalMem");
        kino__json_int(&json, info->memory_bytes);
    }
    for (size_t i = 0; i < info->property_count; i++) {
        const kino_device_property *p = &info->properties[i];
        kino__json_key(&json, p->key ? p->key : "");
        if (p->text)
            kino__json_string(&json, kino__str_from(p->text));
        else
            kino__json_int(&json, p->number);
    }
    kino__json_end_object(&json);
}

static uint32_t add_device(const kino_device_host *host, const kino_device_info *info)
{
    kino__backend *b = backend_of(host);
    kino__devices *all = b->all;
    kino__device *d = info && info->size >= sizeof *info ? calloc(1, sizeof *d) : NULL;
    uint32_t number = KINO_DEVICE_HOST;
    if (!d)
        return number;
    d->backend = b;
    d->clock_kind = info->clock;
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_lock(&all->add_lock); /* not the registry's: a stop that waits for us holds it */
    if (all->device_count < KINO__DEVICES && info->clock <= KINO_DEVICE_CLOCK_REAL) {
        kino__buffer text = {0};
        number = all->device_count;
        all->devices[number] = d;
        __atomic_store_n(&all->device_count, number + 1, __ATOMIC_RELEASE); /* find_device */
        write_properties(&text, number, info);
        kino__tracer *t = kino__tracer_get();
        /* without memory the trace lacks them, and nothing else */
        bool is_there = t && !text.failed &&
                        kino__texts_device(&t->texts, kino__buffer_str(&text), NULL) == KINO_OK;
        (void)is_there;
        kino__buffer_deinit(&text);
    } else {
        free(d);
    }
    pthread_mutex_unlock(&all->add_lock);
    return number;
}

/* -- activities */

static bool is_recording(const kino_device_host *host)
{
    return __atomic_load_n(&backend_of(host)->is_on, __ATOMIC_RELAXED);
}

static uint64_t correlations(const kino_device_host *host, uint32_t count)
{
    return __atomic_fetch_add(&backend_of(host)->all->correlation, count, __ATOMIC_RELAXED) + 1;
}

static void lost(const kino_device_host *host, uint64_t count)
{
    __atomic_fetch_add(&backend_of(host)->lost, count, __ATOMIC_RELAXED);
}

static bool is_text(const kino_device_arg *arg)
{
    return arg->type == KINO_DEVICE_ARG_TEXT || arg->type == KINO_DEVICE_ARG_JSON ||
           arg->type == KINO_DEVICE_ARG_OBJECT;
}

static size_t text_size(const kino_device_arg *arg)
{
    return is_text(arg) && arg->value.text ? strnlen(arg->value.text, ARG_TEXT_MAX) : 0;
}

/* The calling thread's segment with so much room, or NULL. */
static kino_impl_v1_segment *find_room(uint32_t need)
{
    uint32_t session = __atomic_load_n(&kino_impl_v1_active, __ATOMIC_RELAXED);
    if (!session)
        return NULL;
    kino_impl_v1_segment *segment = kino_impl_v1_room(session, 1, need);
    kino__tracer *t = segment ? NULL : kino__tracer_get();
    return t ? kino__ring_room(t, need) : segment;
}

/* The record of an argument and its text of so many bytes; returns how many records. */
static uint32_t fill_arg(kino_impl_v1_record *at, const kino_device_arg *arg, size_t size,
                         uint64_t reference)
{
    uint32_t following = kino__ring_records_for(size);
    for (uint32_t i = 0; i < following; i++) {
        uint64_t words[4] = {0};
        size_t done = (size_t)i * sizeof words, left = size - done;
        memcpy(words, arg->value.text + done, left < sizeof words ? left : sizeof words);
        kino_impl_v1_fill(at + 1 + i, words[0], words[1], words[2], words[3]);
    }
    kino_impl_v1_fill(at, 0, is_text(arg) ? size : arg->value.u,
                      kino_impl_v1_head(arg->key, KINO_IMPL_V1_ARG, arg->type, following),
                      reference);
    return 1 + following;
}

static void fill_activity(kino_impl_v1_record *at, const kino__activity *a)
{
    uint64_t row[2] = {(uint64_t)a->pid, (uint64_t)a->tid};
    kino_impl_v1_fill(at + 1, row[0], row[1], a->external, a->flags);
    kino_impl_v1_fill(at, a->start, a->end,
                      kino_impl_v1_head(a->text, KINO_IMPL_V1_ACTIVITY, a->clock, 1),
                      a->correlation);
}

/* All of it or nothing. */
static void write_activity(kino__activity *a, const kino_device_arg *args, uint32_t count)
{
    size_t sizes[ARGS_MAX];
    uint32_t need = 2;
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = text_size(&args[i]);
        need += 1 + kino__ring_records_for(sizes[i]);
    }
    kino_impl_v1_segment *segment = find_room(need);
    if (!segment) /* counted as dropped */
        return;
    uint32_t first = segment->count, at = first + 2;
    uint64_t span = segment->stamp << 48 | (uint64_t)(uintptr_t)&segment->records[first];
    uint64_t reference = kino_impl_v1_reference(span, segment);
    if (a->tid == 0 && !(a->flags & (KINO__ACTIVITY_ON_DEVICE | KINO__ACTIVITY_ROW_OVERHEAD)))
        a->tid = segment->tid;
    fill_activity(&segment->records[first], a);
    for (uint32_t i = 0; i < count; i++)
        at += fill_arg(&segment->records[at], &args[i], sizes[i], reference);
    __atomic_store_n(&segment->count, at, __ATOMIC_RELEASE);
}

static bool is_arg(const kino_device_arg *arg)
{
    return (arg->type >= KINO_DEVICE_ARG_INT && arg->type <= KINO_DEVICE_ARG_JSON &&
            arg->type != KINO_IMPL_V1_ARG_BOOL) ||
           arg->type == KINO_DEVICE_ARG_MEMBERS || arg->type == KINO_DEVICE_ARG_OBJECT;
}

static bool is_valid(const kino_device_activity *given)
{
    if (!given->name || !given->start || given->end < given->start || given->arg_count > ARGS_MAX)
        return false;
    for (uint32_t i = 0; i < given->arg_count; i++)
        if (!is_arg(&given->args[i]))
            return false;
    return true;
}

/* The row of an activity, and what else its flags say. */
static void place_activity(const kino__backend *b, const kino_device_activity *given,
                           kino__activity *a)
{
    enum { SYNC_ROW = 1000000, WHOLE_ROW = 1, OVERHEAD_PID = -1 }; /* Kineto's */
    bool on_host = given->device == KINO_DEVICE_HOST, starts = on_host;
    a->pid = on_host ? __atomic_load_n(&b->all->pid, __ATOMIC_RELAXED) : given->device;
    a->tid = (int64_t)given->stream;
    a->flags = on_host ? 0 : KINO__ACTIVITY_ON_DEVICE;
    if (on_host && given->flags & KINO_DEVICE_ROW_OVERHEAD) {
        a->pid = OVERHEAD_PID;
        a->flags |= KINO__ACTIVITY_ROW_OVERHEAD;
    } else if (!on_host && given->flags & KINO_DEVICE_ROW_SYNC) {
        a->tid += SYNC_ROW;
        a->flags |= KINO__ACTIVITY_ROW_SYNC;
    } else if (!on_host && given->flags & KINO_DEVICE_ROW_WHOLE) {
        a->tid = WHOLE_ROW;
        a->flags |= KINO__ACTIVITY_ROW_WHOLE;
    }
    if (!on_host && given->flags & KINO_DEVICE_ROW_CAPITAL)
        a->flags |= KINO__ACTIVITY_ROW_CAPITAL;
    if (given->flags & KINO_DEVICE_ARGS_WHOLE)
        a->flags |= KINO__ACTIVITY_ARGS_WHOLE;
    if (given->flags & KINO_DEVICE_FLOW_END)
        starts = false;
    if (a->correlation && !(given->flags & KINO_DEVICE_NO_FLOW))
        a->flags |= starts ? KINO__ACTIVITY_FLOW_START : KINO__ACTIVITY_FLOW_END;
}

static void activity(const kino_device_host *host, const kino_device_activity *given)
{
    kino__backend *b = backend_of(host);
    kino_device_activity full = {0}; /* what the backend does not know is 0 */
    if (!kino_is_recording())
        return;
    if (given->size < offsetof(kino_device_activity, external)) {
        lost(host, 1);
        return;
    }
    memcpy(&full, given, given->size < sizeof full ? given->size : sizeof full);
    kino__activity a = {
        .text = full.name,
        .clock = KINO__ACTIVITY_TICKS,
        .start = full.start,
        .end = full.end,
        .correlation = full.correlation,
        .external = full.external,
    };
    bool has_clock = full.device != KINO_DEVICE_HOST || full.flags & KINO_DEVICE_CLOCK_OF;
    uint32_t clock_of = full.device != KINO_DEVICE_HOST ? full.device : full.clock_of;
    if (!is_valid(&full) || (has_clock && !convert(b, clock_of, &a))) {
        lost(host, 1);
        return;
    }
    place_activity(b, &full, &a);
    write_activity(&a, full.args, full.arg_count);
    kino__groups_work(&b->all->groups, full.kind, full.external);
    __atomic_fetch_add(&b->activities, 1, __ATOMIC_RELAXED);
}

/* -- calls */

static uint64_t call_begin(const kino_device_host *host, uint32_t text, uint64_t number)
{
    const kino__backend *b = backend_of(host);
    kino_impl_v1_segment *segment = is_recording(host) ? find_room(2) : NULL;
    if (!segment)
        return 0;
    bool is_slow = b->all->clock != KINO__RING_CLOCK_TSC;
    uint32_t count = segment->count;
    kino_impl_v1_record *record = &segment->records[count];
    kino__activity a = {
        .text = text,
        .clock = KINO__ACTIVITY_TICKS,
        .correlation = number,
        .pid = __atomic_load_n(&b->all->pid, __ATOMIC_RELAXED),
        .tid = segment->tid,
        .flags = number ? KINO__ACTIVITY_FLOW_START : 0,
        .start = is_slow ? stamp(host) : kino_impl_v1_ticks(),
    };
    fill_activity(record, &a);
    __atomic_store_n(&segment->count, count + 2, __ATOMIC_RELEASE);
    kino__prefetch_to_write(record + 2);
    return segment->stamp << 48 | (uint64_t)(uintptr_t)record |
           (is_slow ? (uint64_t)KINO_IMPL_V1_SLOW_CLOCK : 0);
}

static void call_end(const kino_device_host *host, uint64_t call)
{
    (void)host;
    kino_impl_v1_end(call);
}

static void call_arg(const kino_device_host *host, uint64_t call, const kino_device_arg *arg)
{
    (void)host;
    const kino_impl_v1_segment *of = kino_impl_v1_segment_of(call);
    if (!call || !arg || !is_arg(arg) || (uint16_t)of->stamp != (uint16_t)(call >> 48))
        return;
    size_t size = text_size(arg);
    kino_impl_v1_segment *segment = find_room(1 + kino__ring_records_for(size));
    if (!segment)
        return;
    uint32_t count = segment->count;
    uint64_t reference = kino_impl_v1_reference(call, of);
    count += fill_arg(&segment->records[count], arg, size, reference);
    __atomic_store_n(&segment->count, count, __ATOMIC_RELEASE);
}

/* -- the rest */

/* A device's time as ticks, which is all that points in time have; 0: it is not known. */
static uint64_t device_ticks(kino__backend *b, uint32_t device, uint64_t time)
{
    kino__activity a = {.start = time, .end = time};
    if (!time || !convert(b, device, &a))
        return 0;
    int64_t raw_ns = (int64_t)a.start;
    if (a.clock == KINO__ACTIVITY_REAL_NS) /* by the last anchor */
        raw_ns += b->all->last.raw_ns - b->all->last.real_ns;
    return ns_to_stamp(b->all, raw_ns);
}

static void counter(const kino_device_host *host, uint32_t device, uint32_t text, uint64_t time,
                    double value)
{
    kino__backend *b = backend_of(host);
    if (!kino_is_recording())
        return;
    uint64_t ticks = text ? device_ticks(b, device, time) : 0;
    if (!ticks) {
        lost(host, 1);
        return;
    }
    kino_impl_v1_segment *segment = find_room(1);
    if (!segment)
        return;
    uint32_t count = segment->count;
    kino_impl_v1_fill(&segment->records[count], ticks, kino_impl_v1_double_bits(value),
                      kino_impl_v1_head(text, KINO_IMPL_V1_COUNTER,
                                        KINO_IMPL_V1_FLAG_DOUBLE | KINO__COUNTER_OF_DEVICE, 0),
                      device);
    __atomic_store_n(&segment->count, count + 1, __ATOMIC_RELEASE);
}

static void memory(const kino_device_host *host, const kino_device_memory *event)
{
    static kino_impl_v1_site site = {"[memory]", "cpu_instant_event", __FILE__, __func__, 0, 0};
    kino__backend *b = backend_of(host);
    if (!kino_is_recording() || event->size < sizeof *event)
        return;
    uint64_t ticks = device_ticks(b, event->device, event->time);
    uint32_t text = kino_text(site.name, site.category);
    if (!ticks) {
        lost(host, 1);
        return;
    }
    kino__ring_memory more = {event->address, KINO_NO_INT, KINO_NO_INT, event->device_type,
                              event->device_type == 0 ? -1 : (int32_t)event->device};
    uint64_t words[4];
    memcpy(words, &more, sizeof words);
    kino_impl_v1_segment *segment = find_room(3);
    if (!segment)
        return;
    uint32_t count = segment->count;
    kino_impl_v1_record *at = &segment->records[count];
    kino_impl_v1_fill(at + 1, words[0], words[1], words[2], words[3]);
    kino_impl_v1_fill(at + 2, event->thread ? event->thread : segment->tid, 0, 0, 0);
    kino_impl_v1_fill(at, ticks, (uint64_t)event->bytes,
                      kino_impl_v1_head(text ? text : KINO__TEXT_LOST, KINO_IMPL_V1_MEMORY,
                                        KINO__MEMORY_OF_THREAD, 2),
                      0);
    __atomic_store_n(&segment->count, count + 3, __ATOMIC_RELEASE);
    __atomic_fetch_add(&b->activities, 1, __ATOMIC_RELAXED);
}

/* Without the registry's lock: a stop holds it, and may wait for the thread that says this. */
static void problem(const kino_device_host *host, const char *text)
{
    kino__backend *b = backend_of(host);
    uint32_t state = KINO__PROBLEM_NONE;
    if (!text || !__atomic_compare_exchange_n(&b->problem_state, &state, KINO__PROBLEM_WRITING,
                                              false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    size_t size = strnlen(text, sizeof b->problem - 1);
    memcpy(b->problem, text, size);
    b->problem[size] = '\0';
    __atomic_store_n(&b->problem_state, KINO__PROBLEM_SAID, __ATOMIC_RELEASE); /* device.c */
}

static kino_status metadata(const kino_device_host *host, const char *key_text, const char *json,
                            kino_error *err)
{
    (void)host;
    return kino_metadata(key_text, json, err);
}

void kino__device_host_init(kino__backend *b)
{
    b->host = (kino_device_host){
        .size = sizeof b->host,
        .version = KINO_DEVICE_VERSION,
        .self = b,
        .is_recording = is_recording,
        .name = name,
        .key = key,
        .add_device = add_device,
        .correlations = correlations,
        .activity = activity,
        .call_begin = call_begin,
        .call_arg = call_arg,
        .call_end = call_end,
        .counter = counter,
        .stamp = stamp,
        .clock_bound = clock_bound,
        .lost = lost,
        .metadata = metadata,
        .problem = problem,
        .memory = memory,
    };
}
