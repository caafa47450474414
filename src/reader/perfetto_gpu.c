/* perfetto_gpu.c - work and counters of GPUs. */
#include <stdio.h>

#include "base/decimal.h"
#include "reader/perfetto_internal.h"

typedef struct stage {
    uint64_t event_id, gpu, queue_iid, stage_iid, name_iid, kernel_iid, queue;
    int64_t duration, stream, correlation;
    kino_str name, waits;
    bool has_queue_iid, has_waits;
} stage;

/* -- what a stage is -- */

static void read_extra(kino_str message, stage *out)
{
    kino_str name = kino__perfetto_member(message, 1), value = kino__perfetto_member(message, 2);
    int64_t number;
    if (kino__str_is(name, "stream id") && kino__str_to_int(value, &number))
        out->stream = number;
    else if (kino__str_is(name, "correlation") && kino__str_to_int(value, &number))
        out->correlation = number;
}

static stage read_stage(kino__perfetto *p, kino_str message)
{
    stage s = {.stream = KINO_NO_INT, .correlation = KINO_NO_INT};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        uint64_t number = kino__proto_uint(&f);
        switch (f.number) {
        case 1:
            s.event_id = number;
            break;
        case 2:
            s.duration = number <= INT64_MAX ? (int64_t)number : 0;
            break;
        case 3:
            s.queue = number;
            break;
        case 6:
            read_extra(kino__proto_text(&f), &s);
            break;
        case 11:
            s.gpu = number;
            break;
        case 13:
            s.queue_iid = number;
            s.has_queue_iid = true;
            break;
        case 14:
            s.stage_iid = number;
            break;
        case 17:
            s.name = kino__proto_text(&f);
            break;
        case 18:
            s.has_waits = true;
            break;
        case 19:
            s.kernel_iid = number;
            break;
        case 20:
            s.name_iid = number;
            break;
        default:
            break;
        }
    }
    if (m.why)
        kino__ledger_add(p->ledger, KINO__DAMAGE_BROKEN_EVENT, p->offset);
    return s;
}

/* -- its row -- */

/* The number in "[007] stream 7", which tells lanes apart, and in "stream 7". */
static int64_t lane_number(kino_str lane)
{
    const char *end = lane.size && lane.data[0] == '[' ? memchr(lane.data, ']', lane.size) : NULL;
    int64_t number = 0;
    for (const char *at = lane.data + 1; end && at < end; at++) {
        if (*at < '0' || *at > '9' || number > INT32_MAX)
            return KINO_NO_INT;
        number = number * 10 + (*at - '0');
    }
    return end ? number : KINO_NO_INT;
}

static int64_t stream_in(kino_str lane)
{
    static const char word[] = "stream ";
    for (size_t i = 0; i + sizeof word - 1 < lane.size; i++)
        if (memcmp(lane.data + i, word, sizeof word - 1) == 0) {
            kino_str rest = {lane.data + i + sizeof word - 1, lane.size - i - sizeof word + 1};
            int64_t number;
            return kino__str_to_int(rest, &number) ? number : KINO_NO_INT;
        }
    return KINO_NO_INT;
}

/* "[007] stream 7" is called "stream 7", "[500] compute" stays what it is called. */
static kino_str lane_name(kino_str lane)
{
    const char *end = lane.size && lane.data[0] == '[' ? memchr(lane.data, ']', lane.size) : NULL;
    size_t skip = end ? (size_t)(end - lane.data) + 1 : 0;
    skip += skip && skip < lane.size && lane.data[skip] == ' ';
    return (kino_str){lane.data + skip, lane.size - skip};
}

/* A track stands for each lane, so that it has a name at the end. */
static uint32_t lane_track(kino__perfetto *p, const stage *g, kino_str lane)
{
    int64_t stream = lane_number(lane);
    if (stream == KINO_NO_INT)
        stream = g->stream != KINO_NO_INT ? g->stream : stream_in(lane);
    if (stream == KINO_NO_INT)
        stream = (int64_t)(g->has_queue_iid ? g->queue_iid : g->queue);
    uint32_t number = kino__perfetto_track_of_thread(p, (int64_t)g->gpu, stream);
    if (p->failed)
        return 0;
    kino__perfetto_track *track = &p->tracks.items.items[number];
    track->is_lane = true;
    if (!track->thread_name.size)
        track->thread_name = lane_name(lane);
    return number;
}

/* -- its name and category -- */

static uint16_t stage_category(kino__perfetto *p, const kino__perfetto_entry *spec)
{
    enum { COMPUTE = 2 };
    static const char *const categories[][2] = {
        {"Kernel", "kernel"},
        {"Memcpy", "gpu_memcpy"},
        {"Memset", "gpu_memset"},
        {"Annotation", "gpu_user_annotation"},
        {"EventRecord", "graph_event_node"},
        {"HostNode", "graph_host_node"},
    };
    const char *category = "gpu_op";
    kino_str name = spec ? spec->name : (kino_str){"", 0};
    if (spec && kino__perfetto_member_uint(spec->message, 4) == COMPUTE)
        category = "kernel";
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (kino__str_is(name, categories[i][0]))
            category = categories[i][1];
    return kino__event_builder_category(
        &p->events, kino__event_builder_text(&p->events, kino__str_from(category)));
}

static uint16_t category_of(kino__perfetto *p, kino__perfetto_entry *spec)
{
    if (!spec)
        return stage_category(p, NULL);
    if (!spec->has_category)
        spec->category = stage_category(p, spec);
    spec->has_category = true;
    return spec->category;
}

static kino_strid kernel_name(kino__perfetto *p, kino__perfetto_entry *kernel)
{
    if (kernel->text == KINO_NO_STRING) {
        kino_str name = kino__perfetto_member(kernel->message, 3);
        if (!name.size)
            name = kernel->name;
        kernel->text = kino__event_builder_text(&p->events, name);
    }
    return kernel->text;
}

static kino_strid name_of(kino__perfetto *p, const kino__perfetto_sequence *s, const stage *g)
{
    kino__perfetto_entry *kernel =
        kino__perfetto_interned(p, s, KINO__PERFETTO_KERNEL, g->kernel_iid);
    if (kernel)
        return kernel_name(p, kernel);
    if (g->name.size)
        return kino__event_builder_text(&p->events, g->name);
    if (g->name_iid)
        return kino__perfetto_interned_text(p, s, KINO__PERFETTO_NAME, g->name_iid);
    return kino__perfetto_interned_text(p, s, KINO__PERFETTO_GPU_SPEC, g->stage_iid);
}

static void add_waits(kino__perfetto *p, kino_str message)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        kino__proto_numbers ids = kino__proto_numbers_of(&f, KINO__PROTO_VARINT);
        uint64_t id;
        while (f.number == 18 && kino__proto_numbers_next(&ids, &id))
            kino__perfetto_add_flow(p, KINO__PERFETTO_FLOW_WAIT, id, false);
    }
}

void kino__perfetto_gpu_stage(kino__perfetto *p, kino__perfetto_sequence *s,
                              const kino__perfetto_packet *packet)
{
    stage g = read_stage(p, packet->gpu_stage);
    kino__perfetto_entry *lane =
        kino__perfetto_interned(p, s, KINO__PERFETTO_GPU_SPEC, g.queue_iid);
    kino_str lane_text = lane ? lane->name : (kino_str){"", 0};
    kino__perfetto_event *event = kino__perfetto_wait(p, s);
    if (!event)
        return;
    event->phase = KINO__PERFETTO_COMPLETE;
    event->dur = g.duration;
    event->track = lane_track(p, &g, lane_text);
    event->category =
        category_of(p, kino__perfetto_interned(p, s, KINO__PERFETTO_GPU_SPEC, g.stage_iid));
    event->name = name_of(p, s, &g);
    event->place = p->offset + 1;
    event->bind = g.correlation;
    uint32_t number = (uint32_t)p->waiting.count - 1;
    if (g.event_id && !kino__map_put(&p->gpu_event_of, g.event_id, number))
        p->failed = true;
    if (g.has_waits)
        add_waits(p, packet->gpu_stage);
}

/* -- counters -- */

static uint64_t counter_key(kino_str descriptor, uint64_t id)
{
    return kino__hash_u64((uint64_t)(uintptr_t)descriptor.data ^ kino__hash_u64(id));
}

/* Names of the counters of a descriptor, once for each. */
static void learn_counters(kino__perfetto *p, kino_str descriptor)
{
    kino__proto m = kino__proto_start(descriptor);
    kino__proto_field f;
    size_t known = p->counter_of.count;
    uint32_t *mark = kino__map_put(&p->counter_of, counter_key(descriptor, UINT64_MAX), 0);
    p->failed |= !mark;
    while (p->counter_of.count > known && !p->failed && kino__proto_next(&m, &f)) {
        if (f.number != 1)
            continue;
        kino_str spec = kino__proto_text(&f), name = kino__perfetto_member(spec, 2);
        uint64_t key = counter_key(descriptor, kino__perfetto_member_uint(spec, 1));
        uint32_t text = kino__event_builder_text(&p->events, name);
        p->failed |= name.size && !kino__map_put(&p->counter_of, key, text);
    }
}

static kino_strid counter_name(kino__perfetto *p, kino_str descriptor, uint64_t id)
{
    char fallback[48];
    const uint32_t *at = kino__map_get(&p->counter_of, counter_key(descriptor, id));
    if (at)
        return *at;
    int size = snprintf(fallback, sizeof fallback, "GPU counter %llu", (unsigned long long)id);
    return kino__event_builder_text(&p->events, (kino_str){fallback, (size_t)size});
}

static void add_counter(kino__perfetto *p, const kino__perfetto_sequence *s, kino_str message,
                        kino_str descriptor, uint64_t gpu)
{
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    kino__arg_type type = KINO__ARG_INT;
    uint64_t id = 0, value = 0;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1) {
            id = kino__proto_uint(&f);
        } else if (f.number == 2 || f.number == 3) {
            type = f.number == 2 ? KINO__ARG_INT : KINO__ARG_DOUBLE;
            value = kino__proto_uint(&f);
        }
    }
    kino__event_args_add(&p->args, kino__event_builder_text(&p->events, KINO__STR("value")), type,
                         value);
    uint64_t place = kino__perfetto_args_end(p);
    kino__perfetto_event *event = kino__perfetto_wait(p, s);
    if (!event)
        return;
    event->phase = KINO__PERFETTO_COUNTER;
    event->place = place;
    event->name = counter_name(p, descriptor, id);
    event->track = kino__perfetto_track_of_gpu(p, (int64_t)gpu);
}

void kino__perfetto_gpu_counter(kino__perfetto *p, kino__perfetto_sequence *s,
                                const kino__perfetto_packet *packet)
{
    kino_str message = packet->gpu_counter;
    kino_str descriptor = kino__perfetto_member(message, 1);
    uint64_t iid = kino__perfetto_member_uint(message, 4);
    uint64_t gpu = kino__perfetto_member_uint(message, 3);
    kino__perfetto_entry *entry = kino__perfetto_interned(p, s, KINO__PERFETTO_GPU_COUNTERS, iid);
    if (entry) {
        descriptor = entry->name;
        gpu = entry->number;
    } else if (descriptor.size) {
        s->gpu_counters = descriptor; /* of all that follow without one */
    } else {
        descriptor = s->gpu_counters;
    }
    learn_counters(p, descriptor);
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f) && !p->failed)
        if (f.number == 2)
            add_counter(p, s, kino__proto_text(&f), descriptor, gpu);
}
