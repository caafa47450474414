/* xplane_line.c - the events of a line: a thread of the host, a stream of a GPU, or one of the rows
 * that a TPU's profiler makes. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "reader/xplane_internal.h"

enum { PS = 1000 };

typedef struct line {
    int64_t id, display_id, start_ns;
    kino_str name;
    kino__xline_kind kind;
    int64_t tid;
    uint32_t row;
} line;

/* What is read of an event before it is known what it is. */
typedef struct event {
    int64_t name, step, correlation;
    uint64_t offset_ps, duration_ps, flow, types[2], ids[2];
    int64_t value; /* of counters */
    bool has_time, is_memcpy, is_memset, has_flow, has_producer, has_consumer, has_stats;
} event;

/* -- what a line is -- */

/* Threads are named "python/1234" and "Host Threads/1234/NVTX". */
static int64_t thread_number(kino_str name)
{
    const char *slash = memchr(name.data, '/', name.size);
    int64_t number = 0;
    if (!slash)
        return KINO_NO_INT;
    const char *at = slash + 1, *end = name.data + name.size;
    for (; at < end && isdigit((unsigned char)*at) && number < INT64_MAX / 100; at++)
        number = number * 10 + (*at - '0');
    return at > slash + 1 && (at == end || *at == '/') ? number : KINO_NO_INT;
}

static bool is_derived(kino_str name)
{
    static const char *const names[] = {
        "XLA Modules", "XLA Ops", "XLA TraceMe",   "Framework Ops",  "Framework Name Scope",
        "Source code", "Source",  "Async XLA Ops", "TensorFlow Ops", "TensorFlow Name Scope",
        "Overlay"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (kino__str_is(name, names[i]))
            return true;
    return kino__str_starts_with(name, KINO__STR("Sparse Core"));
}

static kino__xline_kind kind_of(const kino__xplace *place, kino_str name)
{
    if (kino__str_contains(name, KINO__STR("overhead")))
        return KINO__XLINE_OVERHEAD;
    if (place->device == KINO_NO_INT)
        return KINO__XLINE_HOST;
    if (kino__str_is(name, "_counters_"))
        return KINO__XLINE_COUNTERS;
    if (kino__str_is(name, "Steps"))
        return KINO__XLINE_STEPS;
    if (place->is_tpu && kino__str_is(name, "XLA Ops"))
        return KINO__XLINE_WORK;
    return is_derived(name) || place->is_tpu ? KINO__XLINE_DERIVED : KINO__XLINE_WORK;
}

static line read_head(const kino__xplace *place, kino_str message)
{
    line l = {.name = {"", 0}};
    kino_str shown = {"", 0};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        if (f.number == 1)
            l.id = kino__proto_int(&f);
        else if (f.number == 2)
            l.name = kino__proto_text(&f);
        else if (f.number == 3)
            l.start_ns = kino__proto_int(&f);
        else if (f.number == 10)
            l.display_id = kino__proto_int(&f);
        else if (f.number == 11)
            shown = kino__proto_text(&f);
    }
    l.kind = kind_of(place, l.name);
    int64_t number = place->device == KINO_NO_INT ? thread_number(l.name) : KINO_NO_INT;
    int64_t id = l.display_id ? l.display_id : l.id;
    l.tid = number != KINO_NO_INT ? number : id;
    l.name = shown.size ? shown : l.name;
    return l;
}

static kino__label int_label(int64_t number)
{
    return (kino__label){KINO__LABEL_INT, KINO_NO_STRING, number};
}

/* "Stream #7(Kernel)" is called as Kineto calls it. */
static void name_line(kino__xreader *r, const kino__xplace *place, const line *l)
{
    char text[48];
    kino_str name = l->name;
    if (l->kind == KINO__XLINE_WORK && kino__str_starts_with(name, KINO__STR("Stream #"))) {
        int size = snprintf(text, sizeof text, "stream %" PRId64, l->tid);
        name = (kino_str){text, (size_t)size};
    }
    kino__xreader_name(r, place->pid, l->tid, "thread_name", "name", name);
}

/* -- an event -- */

static void note_stat(const kino__xplace *place, kino_str message, event *out)
{
    kino__xstat stat = kino__xstat_read(place->plane, message);
    int64_t value = kino__xstat_int(&stat);
    out->has_stats = true;
    switch (stat.name ? stat.name->kind : KINO__XSTAT_OTHER) {
    case KINO__XSTAT_CORRELATION:
        out->correlation = value;
        break;
    case KINO__XSTAT_STEP:
        out->step = value;
        break;
    case KINO__XSTAT_MEMCPY:
        out->is_memcpy = true;
        break;
    case KINO__XSTAT_MEMSET:
    case KINO__XSTAT_MEMSET_OLD:
        out->is_memset = true;
        break;
    case KINO__XSTAT_PRODUCER_TYPE:
        out->types[0] = (uint64_t)value;
        break;
    case KINO__XSTAT_PRODUCER:
        out->ids[0] = (uint64_t)value;
        out->has_producer = true;
        break;
    case KINO__XSTAT_CONSUMER_TYPE:
        out->types[1] = (uint64_t)value;
        break;
    case KINO__XSTAT_CONSUMER:
        out->ids[1] = (uint64_t)value;
        out->has_consumer = true;
        break;
    case KINO__XSTAT_FLOW:
        out->flow = (uint64_t)value;
        out->has_flow = true;
        break;
    default:
        break;
    }
}

static event read_event(kino__xreader *r, const kino__xplace *place, kino_str message)
{
    event e = {.step = KINO_NO_INT, .correlation = KINO_NO_INT, .has_time = true};
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    while (kino__proto_next(&m, &f)) {
        switch (f.number) {
        case 1:
            e.name = kino__proto_int(&f);
            break;
        case 2:
            e.offset_ps = kino__proto_uint(&f);
            break;
        case 3:
            e.duration_ps = kino__proto_uint(&f);
            break;
        case 4:
            note_stat(place, kino__proto_text(&f), &e);
            break;
        case 5:
            e.has_time = false; /* how often it happened */
            break;
        default:
            break;
        }
    }
    if (m.why)
        kino__ledger_add(r->ledger, KINO__DAMAGE_BROKEN_EVENT,
                         (uint64_t)(message.data - r->space->bytes.data));
    return e;
}

/* Starts are rounded down and ends up, so that what touched still touches. False: no such time. */
static bool set_times(const kino__xreader *r, const line *l, const event *e, kino__built_event *out)
{
    const int64_t epoch = INT64_C(100000000000000000);
    int64_t start = l->start_ns, end_ps;
    if (r->base != KINO_NO_INT && start >= epoch)
        start -= r->base;
    if (e->offset_ps > INT64_MAX || e->duration_ps > INT64_MAX ||
        __builtin_add_overflow((int64_t)e->offset_ps, (int64_t)e->duration_ps, &end_ps) ||
        __builtin_add_overflow(start, (int64_t)e->offset_ps / PS, &out->ts) || start < 0)
        return false;
    out->dur = end_ps / PS + (end_ps % PS != 0) - (int64_t)e->offset_ps / PS;
    return out->ts <= INT64_MAX - out->dur;
}

static kino_strid name_of(kino__xreader *r, const kino__xplace *place, int64_t id,
                          kino__xname **name)
{
    char text[48];
    *name = (kino__xname *)kino__xplane_name(place->plane, id);
    if (!*name) {
        int size = snprintf(text, sizeof text, "event %" PRId64, id);
        return kino__event_builder_text(&r->events, (kino_str){text, (size_t)size});
    }
    kino__xname *n = *name;
    if (n->text == KINO_NO_STRING) {
        kino_str shown = n->display.size && place->is_tpu ? n->display : n->name;
        if (kino__str_ends_with(shown, KINO__STR(".kd")))
            shown.size -= 3;
        n->text = kino__event_builder_text(&r->events, shown);
    }
    return n->text;
}

static bool begins(kino_str text, const char *prefix)
{
    return kino__str_starts_with(text, kino__str_from(prefix));
}

static uint16_t host_category(const kino__xreader *r, const event *e, kino_str name)
{
    bool is_driver = name.size > 2 && begins(name, "cu") && isupper((unsigned char)name.data[2]);
    if (e->step != KINO_NO_INT)
        return r->annotation;
    if (e->correlation != KINO_NO_INT)
        return is_driver ? r->driver : r->runtime;
    return begins(name, "$") ? r->python : r->op;
}

static uint16_t category_of(const kino__xreader *r, const line *l, const event *e, kino_str name)
{
    switch (l->kind) {
    case KINO__XLINE_HOST:
        return host_category(r, e, name);
    case KINO__XLINE_OVERHEAD:
        return r->overhead;
    case KINO__XLINE_WORK:
        if (e->is_memcpy || begins(name, "Memcpy") || begins(name, "Copy"))
            return r->memcpy;
        return e->is_memset || begins(name, "Memset") ? r->memset : r->kernel;
    case KINO__XLINE_STEPS:
        return r->annotation;
    case KINO__XLINE_DERIVED:
    case KINO__XLINE_COUNTERS:
        break;
    }
    return l->kind == KINO__XLINE_COUNTERS ? KINO__CATEGORY_NONE : r->gpu_annotation;
}

/* -- flows -- */

static void add_end(kino__xreader *r, kino__xend end)
{
    kino__xend *slot = kino__vec_add(&r->ends);
    r->failed |= !slot;
    end.order = (uint32_t)r->ends.count;
    if (slot)
        *slot = end;
}

static void add_ends(kino__xreader *r, const event *e, const kino__built_event *made)
{
    kino__xend end = {.ts = made->ts, .row = made->track, .has_type = true};
    if (e->has_producer) {
        end.type = e->types[0];
        end.id = e->ids[0];
        end.goes_out = true;
        add_end(r, end);
    }
    if (e->has_consumer) {
        end = (kino__xend){.type = e->types[1],
                           .id = e->ids[1],
                           .ts = made->ts,
                           .row = made->track,
                           .comes_in = true,
                           .has_type = true};
        add_end(r, end);
    }
    if (e->has_flow)
        add_end(r, (kino__xend){.type = e->flow >> 58,
                                .id = e->flow >> 2 & ((UINT64_C(1) << 56) - 1),
                                .ts = made->ts,
                                .row = made->track,
                                .comes_in = e->flow & 1,
                                .goes_out = e->flow & 2});
}

/* -- the line -- */

static void set_step(kino__xreader *r, int64_t step, kino__built_event *out)
{
    char text[48];
    int size = snprintf(text, sizeof text, "ProfilerStep#%" PRId64, step);
    out->name = kino__event_builder_text(&r->events, (kino_str){text, (size_t)size});
}

static void add_event(kino__xreader *r, const kino__xplace *place, const line *l, kino_str message,
                      uint64_t offset)
{
    event e = read_event(r, place, message);
    kino__xname *name;
    kino__built_event out = {.bind = e.correlation,
                             .external = KINO_NO_INT,
                             .track = l->row,
                             .phase = l->kind == KINO__XLINE_COUNTERS ? 'C' : 'X'};
    int64_t step = e.step;
    if (!e.has_time) {
        kino__ledger_add(r->ledger, KINO__DAMAGE_NOT_SHOWN, offset);
        return;
    }
    if (!set_times(r, l, &e, &out)) {
        kino__ledger_add(r->ledger, KINO__DAMAGE_NO_TIME, offset);
        return;
    }
    out.name = name_of(r, place, e.name, &name);
    kino_str text = name ? name->name : (kino_str){"", 0};
    out.category = category_of(r, l, &e, text);
    if (l->kind == KINO__XLINE_STEPS && !kino__str_to_int(text, &step))
        step = KINO_NO_INT;
    if (step != KINO_NO_INT)
        set_step(r, step, &out);
    if (name && name->is_memory && l->kind == KINO__XLINE_HOST) {
        out.name = kino__event_builder_text(&r->events, KINO__STR("[memory]"));
        out.category = r->instant;
        out.phase = 'i';
        out.dur = KINO_NO_TIME;
    }
    if (out.phase == 'C')
        out.dur = KINO_NO_TIME;
    out.place = offset + 1;
    r->failed |= !kino__event_builder_add(&r->events, &out);
    if (e.has_producer || e.has_consumer || e.has_flow)
        add_ends(r, &e, &out);
}

bool kino__xline_read(kino__xreader *r, const kino__xplace *place, kino_str message)
{
    line l = read_head(place, message);
    kino__xline *slot = kino__vec_add(&r->space->lines);
    uint64_t first = (uint64_t)(message.data - r->space->bytes.data);
    kino__proto m = kino__proto_start(message);
    kino__proto_field f;
    r->failed |= !slot;
    if (r->failed)
        return true;
    bool is_work = place->device != KINO_NO_INT && l.kind == KINO__XLINE_WORK;
    *slot = (kino__xline){first, place->device, is_work ? l.tid : KINO_NO_INT};
    l.row = kino__event_builder_track(&r->events, int_label(place->pid), int_label(l.tid));
    name_line(r, place, &l);
    uint64_t at = 0;
    while (kino__proto_next(&m, &f) && !r->failed) {
        if (f.number == 4 && f.data)
            add_event(r, place, &l, kino__proto_text(&f), first + at);
        at = kino__proto_offset(&m);
    }
    if (m.why)
        kino__ledger_add(r->ledger, KINO__DAMAGE_BROKEN_EVENT, first + at);
    return kino__progress_add(r->context->progress, message.size);
}
