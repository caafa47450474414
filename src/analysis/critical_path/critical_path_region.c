/* critical_path_region.c - which events take part in the critical path, and their nodes. */
#include <stdlib.h>

#include "analysis/critical_path/critical_path_internal.h"
#include "base/large.h"
#include "names/communication.h"
#include "names/launch_calls.h"
#include "store/args.h"

/* -- names -- */

static bool contains(kino_str text, kino_str part)
{
    return part.size && memmem(text.data, text.size, part.data, part.size);
}

static const char *const sync_names[] = {[KINO__SYNC_STREAM_WAIT] = "Stream Wait Event",
                                         [KINO__SYNC_EVENT] = "Event Sync",
                                         [KINO__SYNC_STREAM] = "Stream Sync",
                                         [KINO__SYNC_CONTEXT] = "Context Sync"};

static unsigned comm_flags_of(kino_str name)
{
    kino__comm comm = kino__comm_of_span(name);
    switch (comm.kind) {
    case KINO__COMM_CARRIES:
        return kino__comm_library_is_host(comm.library) ? KINO__NAME_CARRIES : KINO__NAME_ON_DEVICE;
    case KINO__COMM_DISPATCHES:
        return KINO__NAME_DISPATCHES;
    case KINO__COMM_WAITS:
        return KINO__NAME_AWAITS;
    default:
        return 0;
    }
}

static uint16_t flags_of(const kino__critical *c, kino_str name, unsigned marks)
{
    unsigned flags = contains(name, c->request.annotation) ? KINO__NAME_MATCH : 0;
    for (size_t i = 0; i < c->request.load_count; i++)
        if (contains(name, c->request.loads[i]))
            flags |= KINO__NAME_LOAD;
    /* HTA has its own list of launches; the default goes by what a call launches. */
    bool is_launch = c->f->mode == KINO__FRAME_DEFAULT
                         ? kino__launch_kind_of(name) != KINO__LAUNCH_NONE
                         : marks & KINO__CALL_QUEUE;
    flags |= is_launch ? KINO__NAME_LAUNCH : 0;
    flags |= marks & KINO__CALL_LOCK ? KINO__NAME_LOCK : 0;
    flags |= marks & KINO__CALL_BLOCKING ? KINO__NAME_BLOCKING : 0;
    flags |= contains(name, KINO__STR("forward")) ? KINO__NAME_FORWARD : 0;
    flags |= contains(name, KINO__STR("autograd")) ? KINO__NAME_AUTOGRAD : 0;
    flags |= c->f->mode == KINO__FRAME_DEFAULT ? comm_flags_of(name) : 0;
    return (uint16_t)flags;
}

static uint8_t sync_of(kino_str name, unsigned marks)
{
    for (size_t s = 1; s < sizeof sync_names / sizeof *sync_names; s++)
        if (kino__str_is(name, sync_names[s]))
            return (uint8_t)s;
    return marks & KINO__CALL_RECORD ? KINO__SYNC_RECORD
           : marks & KINO__CALL_WAIT ? KINO__SYNC_WAIT
                                     : KINO__SYNC_NONE;
}

static bool read_names(kino__critical *c)
{
    size_t count = kino__string_pool_count(&c->f->trace->strings);
    c->name_flags = malloc((count + 1) * sizeof *c->name_flags);
    c->sync_names = calloc(count + 1, 1);
    if (!c->name_flags || !c->sync_names)
        return false;
    for (kino_strid id = 0; id < count; id++) {
        kino_str name = kino__trace_string(c->f->trace, id);
        unsigned marks = kino__call_marks(name);
        c->name_flags[id] = flags_of(c, name, marks);
        c->sync_names[id] = sync_of(name, marks);
    }
    return true;
}

/* The stream of one record: from its text, where that is at hand; the whole column costs more. */
static bool read_stream(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor,
                        int64_t *out)
{
    bool is_plain = !trace->source && trace->compression.size == 0;
    const int64_t *column = is_plain ? NULL : kino__args_int_column(trace, "stream");
    if (!is_plain && !column)
        return false;
    *out = column ? column[row] : kino__args_int(kino__args_text(trace, row, cursor), "stream");
    *out = *out == KINO_NO_INT ? -1 : *out;
    return true;
}

/* The default has no stream on what is not device work; records of synchronisation name one. */
static bool read_streams(kino__critical *c)
{
    const kino__frame *f = c->f;
    const kino__trace *trace = f->trace;
    kino__text_cursor cursor;
    c->stream = kino__large_new((size_t)f->count + 1, sizeof *c->stream);
    if (!c->stream)
        return false;
    memcpy(c->stream, f->stream, f->count * sizeof *c->stream);
    kino__text_cursor_init(&cursor, trace->text);
    bool ok = true;
    for (uint32_t at = 0; ok && f->mode == KINO__FRAME_DEFAULT && at < f->count; at++)
        if (kino__category_kind(trace->category[f->row[at]]) == KINO__KIND_SYNC)
            ok = read_stream(trace, f->row[at], &cursor, &c->stream[at]);
    kino__text_cursor_deinit(&cursor);
    return ok;
}

static void find_comm(kino__critical *c)
{
    bool has_device = false, has_carrier = false;
    for (uint32_t at = 0; at < c->f->count; at++) {
        has_device |= c->stream[at] != -1 || kino__is_comm_span(c, at, KINO__NAME_ON_DEVICE);
        has_carrier |= kino__is_comm_span(c, at, KINO__NAME_CARRIES);
    }
    c->is_comm_on_host = has_carrier || !has_device;
}

/* -- the region -- */

static int compare_numbers(const void *a, const void *b, void *context)
{
    const kino__frame *f = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t nx = f->trace->number[f->row[x]], ny = f->trace->number[f->row[y]];
    if (nx != ny)
        return nx < ny ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void widen(kino__critical *c, uint32_t at)
{
    int64_t end = kino__sum(c->f->ts[at], c->f->dur[at]);
    c->from = c->f->ts[at] < c->from ? c->f->ts[at] : c->from;
    c->to = end > c->to ? end : c->to;
    c->has_region = true;
}

/* From the start of the first instance to the end of the last. */
static void find_region(kino__critical *c)
{
    int64_t instance = 0;
    c->from = INT64_MAX;
    c->to = INT64_MIN;
    for (uint32_t at = 0; at < c->f->count; at++) {
        if (c->request.annotation.size == 0) {
            widen(c, at);
        } else if (kino__name_flags(c, at) & KINO__NAME_MATCH) {
            if (instance >= c->request.first && instance <= c->request.last)
                widen(c, at);
            instance++;
        }
    }
}

static bool is_inside(const kino__critical *c, uint32_t at)
{
    const kino__frame *f = c->f;
    return c->stream[at] == -1 && f->dur[at] > 0 && f->ts[at] >= c->from && f->ts[at] <= c->to;
}

/* Work of the device, or a wait there, whose place on the host nobody knows. */
static bool is_unlaunched(const kino__critical *c, uint32_t at)
{
    const kino__frame *f = c->f;
    bool is_device = kino__frame_is_device(f, at) || (c->stream[at] != -1 && f->dur[at] > 0);
    return f->mode == KINO__FRAME_DEFAULT && is_device && f->link[at] < 0 && f->ts[at] >= c->from &&
           f->ts[at] <= c->to;
}

/* Host events that start in the region, the device's work of their launches, and all waits of
 * streams for events. */
static bool find_events(kino__critical *c)
{
    const kino__frame *f = c->f;
    uint8_t *is_taken = kino__large_new((size_t)f->count + 1, sizeof *is_taken);
    c->events = kino__large_new((size_t)f->count + 1, sizeof *c->events);
    bool ok = is_taken && c->events;
    for (uint32_t at = 0; ok && at < f->count; at++) {
        bool is_in = is_inside(c, at);
        is_taken[at] |= is_in || kino__sync_name_of(c, at) == KINO__SYNC_STREAM_WAIT;
        if (is_in && f->link[at] >= 0 && c->stream[f->link[at]] != -1)
            is_taken[f->link[at]] = 1;
        /* a graph launch is linked to its last kernel: HTA loses the others */
        if (f->mode == KINO__FRAME_DEFAULT && c->stream[at] != -1 && f->link[at] >= 0 &&
            is_inside(c, (uint32_t)f->link[at]))
            is_taken[at] = 1;
    }
    bool is_sorted = true;
    for (uint32_t at = 0; ok && at < f->count; at++)
        c->unlaunched += !is_taken[at] && is_unlaunched(c, at);
    for (uint32_t at = 0; ok && at < f->count; at++) {
        /* HTA has copies of a device row, one behind the other */
        if (!is_taken[at] ||
            (c->event_count && f->row[c->events[c->event_count - 1]] == f->row[at]))
            continue;
        is_sorted &=
            c->event_count == 0 ||
            f->trace->number[f->row[at]] > f->trace->number[f->row[c->events[c->event_count - 1]]];
        c->events[c->event_count++] = at;
    }
    if (!is_sorted)
        qsort_r(c->events, c->event_count, sizeof *c->events, compare_numbers,
                (void *)(uintptr_t)f);
    kino__large_free(is_taken);
    return ok;
}

/* -- nodes -- */

static bool has_nodes(const kino__critical *c, uint32_t at)
{
    const kino__frame *f = c->f;
    uint16_t category = f->trace->category[f->row[at]];
    const uint32_t calls = KINO__KIND_BIT(KINO__KIND_OP) | KINO__KINDS_LAUNCH;
    bool is_call = f->mode == KINO__FRAME_DEFAULT
                       ? calls & KINO__KIND_BIT(kino__category_kind(category))
                       : category == KINO__CATEGORY_CPU_OP ||
                             category == KINO__CATEGORY_CUDA_RUNTIME ||
                             category == KINO__CATEGORY_CUDA_DRIVER;
    return is_call || kino__name_flags(c, at) & KINO__NAME_LOAD ||
           kino__is_comm_span(c, at, KINO__NAME_CARRIES) ||
           (c->stream[at] != -1 && kino__has_correlation(f, at));
}

/* By time, then as in the file, the start before the end. */
static bool make_nodes(kino__critical *c)
{
    const kino__frame *f = c->f;
    size_t places = 2 * (size_t)f->count + 2, most = 2 * (size_t)c->event_count + 1;
    c->node = kino__large_new(places, sizeof *c->node);
    c->node_event = kino__large_new(most, sizeof *c->node_event);
    c->node_ts = kino__large_new(most, sizeof *c->node_ts);
    if (!c->node || !c->node_event || !c->node_ts)
        return false;
    memset(c->node, 0xff, places * sizeof *c->node);
    for (uint32_t i = 0; i < c->event_count; i++) {
        uint32_t at = c->events[i];
        if (!has_nodes(c, at))
            continue;
        for (uint32_t is_end = 0; is_end < 2; is_end++) {
            c->node_event[c->node_count] = at << 1 | is_end;
            c->node_ts[c->node_count++] = is_end ? kino__sum(f->ts[at], f->dur[at]) : f->ts[at];
        }
    }
    if (!kino__sort_by_time(c->node_ts, c->node_event, c->node_count))
        return false;
    for (uint32_t n = 0; n < c->node_count; n++)
        c->node[c->node_event[n]] = n;
    return true;
}

static bool make_region(kino__critical *c)
{
    if (!read_names(c) || !read_streams(c))
        return false;
    find_comm(c);
    find_region(c);
    return find_events(c) && make_nodes(c);
}

/* -- sorting -- */

/* Eleven bits at a time, from the lowest; as many rounds as the largest difference has bits. */
bool kino__sort_by_time(int64_t *keys, uint32_t *values, size_t count)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    int64_t least = INT64_MAX, most = INT64_MIN;
    bool is_sorted = true;
    for (size_t i = 0; i < count; i++) {
        least = keys[i] < least ? keys[i] : least;
        most = keys[i] > most ? keys[i] : most;
        is_sorted &= i == 0 || keys[i - 1] <= keys[i];
    }
    if (is_sorted)
        return true;
    uint64_t range = (uint64_t)most - (uint64_t)least;
    int64_t *other_keys = kino__large_new(count, sizeof *keys);
    uint32_t *other_values = kino__large_new(count, sizeof *values);
    size_t *places = malloc(BUCKETS * sizeof *places);
    bool ok = other_keys && other_values && places;
    for (unsigned shift = 0; ok && shift < 64 && range >> shift; shift += BITS) {
        memset(places, 0, BUCKETS * sizeof *places);
        for (size_t i = 0; i < count; i++)
            places[((uint64_t)keys[i] - (uint64_t)least) >> shift & (BUCKETS - 1)]++;
        for (size_t b = 0, sum = 0; b < BUCKETS; b++) {
            size_t size = places[b];
            places[b] = sum;
            sum += size;
        }
        for (size_t i = 0; i < count; i++) {
            size_t to = places[((uint64_t)keys[i] - (uint64_t)least) >> shift & (BUCKETS - 1)]++;
            other_keys[to] = keys[i];
            other_values[to] = values[i];
        }
        memcpy(keys, other_keys, count * sizeof *keys);
        memcpy(values, other_values, count * sizeof *values);
    }
    kino__large_free(other_keys);
    kino__large_free(other_values);
    free(places);
    return ok;
}

/* -- the whole -- */

bool kino__critical_add(kino__critical *c, uint32_t from, uint32_t to, kino__edge_type type,
                        int64_t weight, uint32_t event)
{
    kino__edge *edge = kino__vec_add(&c->edges);
    if (!edge)
        return false;
    *edge = (kino__edge){from, to, weight, event, type};
    return true;
}

bool kino__critical_make(kino__critical *c, const kino__frame *f,
                         const kino__critical_request *request)
{
    *c = (kino__critical){.f = f, .request = *request, .path_start = KINO__NO_POINT};
    c->edges.allocator = c->path.allocator = &kino__large_allocator;
    return make_region(c) && kino__critical_host(c) && kino__critical_comm(c) &&
           kino__critical_device(c) && kino__critical_search(c);
}

void kino__critical_deinit(kino__critical *c)
{
    free(c->name_flags);
    free(c->sync_names);
    kino__large_free(c->stream);
    kino__large_free(c->events);
    kino__large_free(c->node);
    kino__large_free(c->node_event);
    kino__large_free(c->node_ts);
    kino__large_free(c->node_lane);
    kino__large_free(c->after_rest);
    kino__vec_deinit(&c->edges);
    kino__vec_deinit(&c->path);
}
