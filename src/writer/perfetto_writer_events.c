/* perfetto_writer_events.c - one packet for each beginning and end of a span, mark and counter. */
#include "writer/json_text.h"
#include "writer/perfetto_writer_internal.h"

enum { CLEAR_AFTER = 1 << 20, SERIES_MOST = 60 };
enum { CLEARED = 1, NEEDS = 2 };
/* fields of a TrackEvent */
enum {
    CATEGORY_IIDS = 3,
    LEGACY = 6,
    TYPE = 9,
    NAME_IID = 10,
    TRACK = 11,
    COUNTER = 30,
    EXTRA_TRACKS = 31,
    EXTRA_VALUES = 12,
    REAL_COUNTER = 44,
    EXTRA_REAL_TRACKS = 45,
    EXTRA_REAL_VALUES = 46,
    FLOWS = 47,
    LAST_FLOWS = 48,
    CORRELATION = 52,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER_EVENT = 4 };

/* -- interned texts -- */

uint64_t kino__perfetto_iid(kino__perfetto_out *out, kino__perfetto_intern what, kino_str text)
{
    static const uint32_t tables[KINO__PERFETTO_INTERNS] = {1, 2, 3, 29};
    kino__string_pool *pool = &out->pools[what];
    size_t known = kino__string_pool_count(pool);
    kino_strid id = kino__string_pool_add(pool, text);
    out->failed |= id == KINO_NO_STRING;
    if (kino__string_pool_count(pool) > known) {
        size_t entry = kino__proto_begin(&out->interned, tables[what]);
        kino__proto_put_uint(&out->interned, 1, (uint64_t)id + 1);
        kino__proto_put_text(&out->interned, 2, text);
        kino__proto_end(&out->interned, entry);
    }
    return (uint64_t)id + 1;
}

static void forget_texts(kino__perfetto_out *out)
{
    for (int i = 0; i < KINO__PERFETTO_INTERNS; i++) {
        kino__string_pool_deinit(&out->pools[i]);
        kino__string_pool_init(&out->pools[i], NULL);
    }
    out->since_clear = 0;
}

/* -- parts of events; they are put together in `args` -- */

static void put_name(kino__perfetto_out *out, uint32_t row)
{
    const kino__trace *trace = out->trace;
    kino_str category = kino__trace_category_text(trace, trace->category[row]);
    if (trace->category[row] != KINO__CATEGORY_NONE)
        kino__proto_put_uint(&out->args, CATEGORY_IIDS,
                             kino__perfetto_iid(out, KINO__PERFETTO_INTERN_CATEGORY, category));
    if (trace->name[row] != KINO_NO_STRING)
        kino__proto_put_uint(&out->args, NAME_IID,
                             kino__perfetto_iid(out, KINO__PERFETTO_INTERN_NAME,
                                                kino__trace_string(trace, trace->name[row])));
}

/* The arguments as valid JSON, in `nested`; empty: there are none. */
static kino_str args_of(kino__perfetto_out *out, uint32_t row)
{
    if (!kino__trace_place(out->trace, row))
        return (kino_str){"", 0};
    out->nested.size = 0;
    kino__json_sanitize(kino__args_text(out->trace, row, &out->cursor), &out->nested);
    return kino__buffer_str(&out->nested);
}

static void put_flows(kino__perfetto_out *out, uint32_t row)
{
    size_t low = 0, high = out->carried.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (out->carried.items[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < out->carried.count && out->carried.items[low].row == row; low++) {
        const kino__perfetto_carried *c = &out->carried.items[low];
        kino__proto_put_fixed64(&out->args, c->is_last ? LAST_FLOWS : FLOWS, c->id);
    }
}

static void put_span(kino__perfetto_out *out, uint32_t row)
{
    int64_t correlation = kino__trace_correlation(out->trace, row);
    kino__proto_put_uint(&out->args, TYPE, SLICE_BEGIN);
    put_name(out, row);
    kino__perfetto_write_args(out, args_of(out, row));
    put_flows(out, row);
    if (correlation != KINO_NO_INT && correlation > 0)
        kino__proto_put_int(&out->args, CORRELATION, correlation);
}

/* -- events of Chrome's phases -- */

static uint64_t instant_scope(uint8_t flags)
{
    static const uint8_t scopes[] = {0, 3, 2, 1}; /* none, thread, process, global */
    return scopes[(flags & KINO__FLAG_SCOPE) >> KINO__FLAG_SCOPE_SHIFT];
}

static void put_legacy(kino__perfetto_out *out, uint32_t row)
{
    const kino__trace *trace = out->trace;
    uint8_t phase = trace->phase[row];
    int64_t id = kino__phase_has_id(phase) ? kino__trace_bind_id(trace, row) : KINO_NO_INT;
    put_name(out, row);
    kino__perfetto_write_args(out, args_of(out, row));
    size_t legacy = kino__proto_begin(&out->args, LEGACY);
    kino__proto_put_uint(&out->args, 2, phase);
    if (id != KINO_NO_INT)
        kino__proto_put_int(&out->args, 6, id);
    if (trace->flags[row] & KINO__FLAG_BP)
        kino__proto_put_uint(&out->args, 12, 1);
    if (phase == 'i' || phase == 'I')
        kino__proto_put_uint(&out->args, 14, instant_scope(trace->flags[row]));
    kino__proto_end(&out->args, legacy);
}

static bool is_thread_mark(const kino__trace *trace, uint32_t row)
{
    return trace->phase[row] == 'i' &&
           (trace->flags[row] & KINO__FLAG_SCOPE) >> KINO__FLAG_SCOPE_SHIFT == 1;
}

static void put_mark(kino__perfetto_out *out, uint32_t row)
{
    kino__proto_put_uint(&out->args, TYPE, INSTANT);
    put_name(out, row);
    kino__perfetto_write_args(out, args_of(out, row));
}

/* -- counters -- */

static bool is_number(kino_str value)
{
    return value.data[0] == '-' || (value.data[0] >= '0' && value.data[0] <= '9');
}

/* The first value belongs to the event's own track, others name theirs. False: it is no number. */
static bool put_value(kino__perfetto_out *out, uint32_t track, uint32_t row, kino_str key,
                      kino_str value, bool is_first)
{
    int64_t integer;
    double real;
    bool is_whole = kino__str_to_int(value, &integer);
    if (!is_number(value) || (!is_whole && !kino__json_to_double(value, &real)))
        return false;
    uint32_t series = kino__perfetto_series_number(out, track, out->trace->name[row], key);
    uint64_t uuid = kino__perfetto_series_uuid(series);
    uint32_t tracks = is_whole ? EXTRA_TRACKS : EXTRA_REAL_TRACKS;
    if (is_first)
        kino__proto_put_uint(&out->args, TRACK, uuid);
    else
        kino__proto_put_uint(&out->args, tracks, uuid);
    if (is_whole)
        kino__proto_put_int(&out->args, is_first ? COUNTER : EXTRA_VALUES, integer);
    else
        kino__proto_put_real(&out->args, is_first ? REAL_COUNTER : EXTRA_REAL_VALUES, real);
    return true;
}

/* Every number of its arguments is a value of a series. False: there is none, or one is of another
 * kind. */
static bool put_counter(kino__perfetto_out *out, uint32_t row)
{
    uint32_t track = kino__trace_track_of(out->trace, row);
    kino__args_iter it = kino__args_iter_start(args_of(out, row));
    kino_str key, value;
    size_t count = 0;
    kino__proto_put_uint(&out->args, TYPE, COUNTER_EVENT);
    put_name(out, row);
    while (kino__args_iter_next(&it, &key, &value)) {
        bool has_escapes = memchr(key.data, '\\', key.size);
        if (has_escapes || count == SERIES_MOST ||
            !put_value(out, track, row, key, value, count == 0))
            return false;
        count++;
    }
    return count > 0;
}

/* -- packets -- */

static void put_packet(kino__perfetto_out *out, int64_t time)
{
    uint64_t flags = out->since_clear++ ? NEEDS : CLEARED | NEEDS;
    kino__buffer *to = &out->packets;
    size_t packet = kino__perfetto_packet_begin(out);
    kino__proto_put_int(to, 8, time);
    kino__proto_put_uint(to, 10, 1);
    kino__proto_put_uint(to, 13, flags);
    if (out->interned.size)
        kino__proto_put_text(to, 12, kino__buffer_str(&out->interned));
    kino__proto_put_text(to, 11, kino__buffer_str(&out->args));
    kino__proto_end(to, packet);
    out->interned.size = 0;
}

static void put_other(kino__perfetto_out *out, uint32_t row)
{
    const kino__trace *trace = out->trace;
    uint32_t track = kino__trace_track_of(trace, row);
    if (trace->phase[row] == 'C' && put_counter(out, row))
        return;
    out->args.size = 0;
    kino__proto_put_uint(&out->args, TRACK, kino__perfetto_lane_uuid(track, 0));
    if (is_thread_mark(trace, row))
        put_mark(out, row);
    else
        put_legacy(out, row);
}

void kino__perfetto_write_event(kino__perfetto_out *out, const kino__perfetto_plan *plan)
{
    const kino__trace *trace = out->trace;
    int64_t ts = trace->ts[plan->row];
    bool has_end = trace->dur[plan->row] != KINO_NO_TIME;
    if (out->since_clear >= CLEAR_AFTER)
        forget_texts(out);
    out->args.size = 0;
    if (plan->step == KINO__PERFETTO_STEP_OTHER ||
        (plan->step == KINO__PERFETTO_STEP_BEGIN && !has_end)) {
        put_other(out, plan->row);
    } else if (!has_end) {
        return;
    } else {
        uint32_t track = kino__trace_track_of(trace, plan->row);
        kino__proto_put_uint(&out->args, TRACK, kino__perfetto_lane_uuid(track, plan->lane));
        if (plan->step == KINO__PERFETTO_STEP_BEGIN) {
            put_span(out, plan->row);
        } else {
            kino__proto_put_uint(&out->args, TYPE, SLICE_END);
            ts = kino__stack_end(trace, plan->row);
        }
    }
    put_packet(out, kino__perfetto_time(out, ts));
}
