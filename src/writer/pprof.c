/* pprof.c - a run as a profile of pprof (docs/formats/pprof.md): stacks of spans with calls and own
 * time; of memory snapshots, stacks of allocations with what they allocated and what is still held.
 *
 * Every frame is a function and a location of its own, with the number of its text plus one. */
#include <stdlib.h>

#include "base/error.h"
#include "store/args.h"
#include "store/device_type.h"
#include "store/stack_table.h"
#include "wire/protobuf.h"
#include "writer/stack_sums.h"

/* Fields of profile.proto. */
enum { SAMPLE_TYPE = 1, SAMPLE, LOCATION = 4, FUNCTION, STRING, TIME_NANOS = 9, DEFAULT_TYPE = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL, LABEL_KEY = 1, LABEL_TEXT };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

enum { FLUSH_BYTES = 1 << 18, VALUES_MOST = 4 };
enum { LEAST_LIMIT = 16 << 20, LIMIT_PER_EVENT = 1024 }; /* frames in all samples */

typedef struct value_type {
    const char *type, *unit;
} value_type;

typedef struct profile {
    kino__sink *sink;
    kino_error *err;
    kino_status status;
    kino__buffer out, part;
    kino__string_pool texts;  /* the string table: the first is empty */
    KINO__VEC(uint64_t) path; /* locations of a sample, innermost first */
    uint64_t frames, most_frames;
} profile;

static uint64_t text_of(profile *p, kino_str text)
{
    kino_strid id = kino__string_pool_add(&p->texts, text);
    p->out.failed |= id == KINO_NO_STRING;
    return id;
}

static void flush(profile *p)
{
    if (p->status == KINO_OK && (p->out.failed || p->part.failed))
        p->status = kino__fail_nomem(p->err);
    if (p->status == KINO_OK && p->out.size)
        p->status = kino__sink_write(p->sink, kino__buffer_str(&p->out), p->err);
    p->out.size = 0;
}

static void profile_init(profile *p, kino__sink *sink, uint64_t events, kino_error *err)
{
    *p = (profile){.sink = sink, .err = err, .most_frames = LEAST_LIMIT + events * LIMIT_PER_EVENT};
    kino__string_pool_init(&p->texts, NULL);
    (void)text_of(p, KINO__STR(""));
}

static void profile_deinit(profile *p)
{
    kino__buffer_deinit(&p->out);
    kino__buffer_deinit(&p->part);
    kino__string_pool_deinit(&p->texts);
    kino__vec_deinit(&p->path);
}

/* -- pieces of the message -- */

static void put_types(profile *p, const value_type *types, size_t count, const char *shown)
{
    for (size_t i = 0; i < count; i++) {
        size_t begun = kino__proto_begin(&p->out, SAMPLE_TYPE);
        kino__proto_put_uint(&p->out, TYPE_TYPE, text_of(p, kino__str_from(types[i].type)));
        kino__proto_put_uint(&p->out, TYPE_UNIT, text_of(p, kino__str_from(types[i].unit)));
        kino__proto_end(&p->out, begun);
    }
    kino__proto_put_uint(&p->out, DEFAULT_TYPE, text_of(p, kino__str_from(shown)));
}

static void put_packed(profile *p, uint32_t number, const uint64_t *values, size_t count)
{
    p->part.size = 0;
    for (size_t i = 0; i < count; i++)
        kino__proto_put_varint(&p->part, values[i]);
    kino__proto_put_text(&p->out, number, kino__buffer_str(&p->part));
}

/* A sample of the locations in p->path. */
static void put_sample(profile *p, const uint64_t *values, size_t count, kino_str device)
{
    size_t begun = kino__proto_begin(&p->out, SAMPLE);
    put_packed(p, SAMPLE_LOCATIONS, p->path.items, p->path.count);
    put_packed(p, SAMPLE_VALUES, values, count);
    if (device.size) {
        size_t label = kino__proto_begin(&p->out, SAMPLE_LABEL);
        kino__proto_put_uint(&p->out, LABEL_KEY, text_of(p, KINO__STR("device")));
        kino__proto_put_uint(&p->out, LABEL_TEXT, text_of(p, device));
        kino__proto_end(&p->out, label);
    }
    kino__proto_end(&p->out, begun);
    p->frames += p->path.count;
    if (p->frames > p->most_frames && p->status == KINO_OK)
        p->status = kino__fail(p->err, KINO_LIMIT,
                               "its deep stacks have more than %llu frames in all; select fewer "
                               "with --stacks op or --stacks python, or write speedscope or .kino",
                               (unsigned long long)p->most_frames);
    if (p->out.size >= FLUSH_BYTES)
        flush(p);
}

static void add_location(profile *p, uint32_t frame)
{
    uint64_t *slot = kino__vec_add(&p->path);
    p->out.failed |= !slot;
    if (slot)
        *slot = (uint64_t)frame + 1;
}

typedef struct frame_parts {
    kino_str file, name;
    uint64_t line;
} frame_parts;

/* "file.py(12): name"; anything else is a name. */
static frame_parts split_frame(kino_str text)
{
    frame_parts parts = {.file = {"", 0}, .name = text};
    const char *colon = memmem(text.data, text.size, "): ", 3);
    const char *open = colon ? memrchr(text.data, '(', (size_t)(colon - text.data)) : NULL;
    int64_t line;
    if (!open || !kino__str_to_int((kino_str){open + 1, (size_t)(colon - open - 1)}, &line) ||
        line < 0)
        return parts;
    parts.line = (uint64_t)line;
    parts.file = (kino_str){text.data, (size_t)(open - text.data)};
    parts.name = (kino_str){colon + 3, (size_t)(text.data + text.size - colon - 3)};
    return parts;
}

static void put_frame(profile *p, uint32_t frame, kino_str text)
{
    frame_parts parts = split_frame(text);
    uint64_t id = (uint64_t)frame + 1;
    size_t begun = kino__proto_begin(&p->out, FUNCTION);
    kino__proto_put_uint(&p->out, FUNCTION_ID, id);
    kino__proto_put_uint(&p->out, FUNCTION_NAME, text_of(p, parts.name));
    kino__proto_put_uint(&p->out, FUNCTION_SYSTEM_NAME, text_of(p, text));
    kino__proto_put_uint(&p->out, FUNCTION_FILE, text_of(p, parts.file));
    kino__proto_put_uint(&p->out, FUNCTION_LINE, parts.line);
    kino__proto_end(&p->out, begun);
    begun = kino__proto_begin(&p->out, LOCATION);
    kino__proto_put_uint(&p->out, LOCATION_ID, id);
    size_t line = kino__proto_begin(&p->out, LOCATION_LINE);
    kino__proto_put_uint(&p->out, LINE_FUNCTION, id);
    kino__proto_put_uint(&p->out, LINE_LINE, parts.line);
    kino__proto_end(&p->out, line);
    kino__proto_end(&p->out, begun);
    if (p->out.size >= FLUSH_BYTES)
        flush(p);
}

static kino_status finish(profile *p, const kino__run *run)
{
    const kino__trace *first = run->traces.count ? run->traces.items[0] : NULL;
    if (first && first->is_epoch)
        kino__proto_put_int(&p->out, TIME_NANOS, first->origin_ns);
    for (size_t i = 0; i < kino__string_pool_count(&p->texts); i++) {
        kino__proto_put_text(&p->out, STRING, kino__string_pool_text(&p->texts, (kino_strid)i));
        if (p->out.size >= FLUSH_BYTES)
            flush(p);
    }
    flush(p);
    return p->status;
}

/* -- spans -- */

static uint64_t clamp(__int128 ns)
{
    return ns < 0 ? 0 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

static void put_stacks(profile *p, const kino__stack_sums *sums)
{
    for (uint32_t i = 0; i < sums->nodes.count && p->status == KINO_OK; i++) {
        const kino__stack_sum *n = &sums->nodes.items[i];
        uint64_t values[] = {n->calls, clamp(n->own_ns)};
        p->path.count = 0;
        if (n->calls == 0)
            continue;
        for (uint32_t at = i; at != KINO__NO_SUM; at = sums->nodes.items[at].parent)
            add_location(p, sums->nodes.items[at].frame);
        put_sample(p, values, sizeof values / sizeof *values, (kino_str){"", 0});
    }
}

static kino_status write_spans(const kino__run *run, kino__sink *sink,
                               const kino__write_context *context, kino_error *err)
{
    static const value_type types[] = {{"calls", "count"}, {"time", "nanoseconds"}};
    kino__stack_sums sums;
    kino_status st = kino__stack_sums_init(&sums, run, context, false, err);
    if (st == KINO_OK) {
        profile p;
        profile_init(&p, sink, sums.event_count, err);
        put_types(&p, types, sizeof types / sizeof *types, "time");
        put_stacks(&p, &sums);
        for (size_t i = 0; i < kino__string_pool_count(&sums.frames.texts); i++)
            put_frame(&p, (uint32_t)i, kino__string_pool_text(&sums.frames.texts, (kino_strid)i));
        st = finish(&p, run);
        profile_deinit(&p);
    }
    kino__stack_sums_deinit(&sums);
    return st;
}

/* -- memory -- */

/* What a call stack of a trace allocated on a device, and what of it is held at the end. */
typedef struct held {
    uint64_t values[VALUES_MOST]; /* allocations, bytes; blocks held, bytes */
    int64_t type, device;
    uint32_t stack;
} held;

typedef struct heap {
    profile *p;
    const kino__trace *trace;
    const kino__stack_table *stacks;
    const int64_t *bytes, *stack, *type, *device;
    const kino_strid *state;
    const kino__string_pool *states;
    kino__string_pool *frames; /* of all traces */
    kino__map of_stack;
    KINO__VEC(held) sums;
} heap;

static bool take_columns(heap *h)
{
    static const char *const keys[] = {"Bytes", KINO__STACK_ARG, "Device Type", "Device Id"};
    if (!kino__args_prepare(h->trace, keys, sizeof keys / sizeof *keys))
        return false;
    h->bytes = kino__args_int_column(h->trace, keys[0]);
    h->stack = kino__args_int_column(h->trace, keys[1]);
    h->type = kino__args_int_column(h->trace, keys[2]);
    h->device = kino__args_int_column(h->trace, keys[3]);
    h->state = kino__args_string_column(h->trace, "State", &h->states);
    return h->bytes && h->stack && h->type && h->device && h->state;
}

/* The sums of a row's stack and device; NULL: memory is out. */
static held *held_of(heap *h, uint32_t row)
{
    uint32_t stack = kino__stack_table_node(h->stacks, h->stack[row]);
    uint64_t device = kino__hash_u64((uint64_t)h->type[row] * 31 + (uint64_t)h->device[row]);
    for (uint64_t key = device ^ kino__hash_u64(stack);; key++) {
        uint32_t *slot = kino__map_put(&h->of_stack, key, UINT32_MAX);
        if (!slot)
            return NULL;
        if (*slot == UINT32_MAX) {
            held *fresh = kino__vec_add(&h->sums);
            if (!fresh)
                return NULL;
            *fresh = (held){.type = h->type[row], .device = h->device[row], .stack = stack};
            *slot = (uint32_t)h->sums.count - 1;
        }
        held *known = &h->sums.items[*slot];
        if (known->stack == stack && known->type == h->type[row] && known->device == h->device[row])
            return known;
    }
}

static bool add_row(heap *h, uint32_t row, bool is_held)
{
    held *sum = held_of(h, row);
    if (!sum)
        return false;
    uint64_t *values = sum->values + (is_held ? 2 : 0);
    values[0]++;
    values[1] += (uint64_t)h->bytes[row];
    return true;
}

static bool add_rows(heap *h)
{
    const kino__trace *trace = h->trace;
    kino_strid memory = kino__string_pool_find(&trace->strings, KINO__STR("[memory]"));
    kino_strid block = kino__string_pool_find(&trace->strings, KINO__STR("block"));
    for (uint32_t row = 0; row < trace->event_count; row++) {
        kino_strid name = trace->name[row];
        kino_str state = kino__string_pool_text(h->states, h->state[row]);
        bool is_held = name == block && kino__str_starts_with(state, KINO__STR("active"));
        bool is_made = name == memory;
        if (name == KINO_NO_STRING || h->bytes[row] <= 0 || (!is_held && !is_made))
            continue;
        if (!add_row(h, row, is_held))
            return false;
    }
    return true;
}

static void put_heap(heap *h)
{
    for (size_t i = 0; i < h->sums.count && h->p->status == KINO_OK; i++) {
        const held *sum = &h->sums.items[i];
        char device[32];
        kino__device_type_name(sum->type, sum->device, device, sizeof device);
        h->p->path.count = 0;
        for (uint32_t n = sum->stack; n; n = kino__stack_table_caller(h->stacks, n)) {
            kino_strid frame =
                kino__string_pool_add(h->frames, kino__stack_table_frame(h->stacks, n));
            h->p->out.failed |= frame == KINO_NO_STRING;
            add_location(h->p, frame);
        }
        put_sample(h->p, sum->values, VALUES_MOST, kino__str_from(device));
    }
}

static kino_status add_heap(profile *p, const kino__trace *trace, kino__string_pool *frames)
{
    heap h = {.p = p, .trace = trace, .stacks = kino__stack_table_of(trace), .frames = frames};
    kino__map_init(&h.of_stack, NULL);
    if (h.stacks && take_columns(&h) && add_rows(&h))
        put_heap(&h);
    else
        p->status = kino__fail_nomem(p->err);
    kino__map_deinit(&h.of_stack);
    kino__vec_deinit(&h.sums);
    return p->status;
}

static kino_status write_heap(const kino__run *run, kino__sink *sink, uint64_t events,
                              kino_error *err)
{
    static const value_type types[VALUES_MOST] = {{"alloc_objects", "count"},
                                                  {"alloc_space", "bytes"},
                                                  {"inuse_objects", "count"},
                                                  {"inuse_space", "bytes"}};
    profile p;
    kino__string_pool frames;
    kino__string_pool_init(&frames, NULL);
    profile_init(&p, sink, events, err);
    put_types(&p, types, VALUES_MOST, "inuse_space");
    for (size_t i = 0; i < run->traces.count && p.status == KINO_OK; i++)
        p.status = add_heap(&p, run->traces.items[i], &frames);
    for (size_t i = 0; i < kino__string_pool_count(&frames) && p.status == KINO_OK; i++)
        put_frame(&p, (uint32_t)i, kino__string_pool_text(&frames, (kino_strid)i));
    kino_status st = finish(&p, run);
    profile_deinit(&p);
    kino__string_pool_deinit(&frames);
    return st;
}

/* -- the writer -- */

/* Snapshots have hardly any spans: they are profiles of memory. */
static kino_status write_run(const kino__run *run, kino__sink *sink,
                             const kino__write_context *context, kino_error *err)
{
    bool is_heap = run->traces.count > 0;
    uint64_t events = 0;
    for (size_t i = 0; i < run->traces.count; i++) {
        is_heap = is_heap && kino__trace_metadata(run->traces.items[i], "memorySnapshot").size > 0;
        events += run->traces.items[i]->event_count;
    }
    return is_heap ? write_heap(run, sink, events, err) : write_spans(run, sink, context, err);
}

const kino__writer_def kino__writer_pprof = {
    .name = "pprof",
    .suffix = ".pb",
    .other_suffix = ".pprof",
    .help = "pprof profiles of stacks, or of a memory snapshot's heap",
    .is_compressible = true,
    .takes_runs = true,
    .write = write_run,
};
