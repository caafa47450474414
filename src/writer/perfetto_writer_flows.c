/* perfetto_writer_flows.c - flows: those that a reader can make again of the spans at their ends are
 * carried by these; the others are written as events of their own.
 *
 * A flow is carried if its events are s, t, ..., t, f at rising times, each at the start of a span of
 * its track, with nothing else to say. Ids have the kind of the flow (name and category) in their
 * highest byte, so that kinds do not mix. */
#include <stdlib.h>

#include "base/record_sort.h"
#include "writer/perfetto_writer_internal.h"

enum { KINDS_MOST = 255, KIND_SHIFT = 56 };

typedef struct end {
    int64_t id, ts;
    uint32_t row, kind;
} end;

static int compare(const void *a, const void *b)
{
    const end *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int64_t key_kind(const void *record)
{
    return ((const end *)record)->kind;
}

static int64_t key_id(const void *record)
{
    return ((const end *)record)->id;
}

static bool is_flow(uint8_t phase)
{
    return phase == 's' || phase == 't' || phase == 'f';
}

/* The longest span of the row's track that begins with it; UINT32_MAX: none does. */
static uint32_t span_at(const kino__trace *trace, uint32_t row)
{
    const kino__track *track = &trace->tracks.items[kino__trace_track_of(trace, row)];
    uint32_t first = row;
    while (first > track->first && trace->ts[first - 1] == trace->ts[row])
        first--;
    for (; first < track->first + track->count && trace->ts[first] == trace->ts[row]; first++)
        if (trace->phase[first] == 'X' && trace->dur[first] != KINO_NO_TIME)
            return first;
    return UINT32_MAX;
}

static bool is_plain(const kino__trace *trace, uint32_t row)
{
    uint8_t flags =
        trace->flags[row] & (uint8_t) ~(KINO__FLAG_PID_TEXT | KINO__FLAG_TID_TEXT | KINO__FLAG_ODD);
    uint8_t expected = trace->phase[row] == 's' ? 0 : KINO__FLAG_BP;
    return flags == expected && !kino__trace_place(trace, row);
}

/* The number of a name and category; KINDS_MOST: there are too many. */
static uint32_t kind_of(kino__perfetto_out *out, uint32_t row)
{
    const kino__trace *trace = out->trace;
    for (size_t i = 0; i < out->flow_kinds; i++)
        if (out->flow_names[i] == trace->name[row] &&
            out->flow_categories[i] == trace->category[row])
            return (uint32_t)i;
    if (out->flow_kinds == KINDS_MOST)
        return KINDS_MOST;
    out->flow_names[out->flow_kinds] = trace->name[row];
    out->flow_categories[out->flow_kinds] = trace->category[row];
    return (uint32_t)out->flow_kinds++;
}

/* Do the ends of one flow make it again? */
static bool is_carriable(const kino__trace *trace, const end *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t phase = trace->phase[ends[i].row];
        uint8_t expected = i == 0 ? 's' : i + 1 == count ? 'f' : 't';
        if (phase != expected || (i && ends[i].ts <= ends[i - 1].ts) ||
            !is_plain(trace, ends[i].row) || span_at(trace, ends[i].row) == UINT32_MAX)
            return false;
    }
    return count > 1 && ends[0].kind < KINDS_MOST && ends[0].id >= 0 &&
           ends[0].id < (INT64_C(1) << KIND_SHIFT);
}

static void carry(kino__perfetto_out *out, const end *ends, size_t count)
{
    for (size_t i = 0; i < count && !out->failed; i++) {
        kino__perfetto_carried *slot = kino__vec_add(&out->carried);
        uint32_t row = ends[i].row;
        out->failed |= !slot;
        if (!slot)
            return;
        *slot = (kino__perfetto_carried){
            .row = span_at(out->trace, row),
            .is_last = i + 1 == count,
            .id = (uint64_t)ends[i].kind << KIND_SHIFT | (uint64_t)ends[i].id,
        };
        out->is_carried[row / 8] |= (uint8_t)(1 << row % 8);
    }
}

static int64_t key_row(const void *record)
{
    return ((const kino__perfetto_carried *)record)->row;
}

static int compare_carried(const void *a, const void *b)
{
    const kino__perfetto_carried *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void kino__perfetto_plan_flows(kino__perfetto_out *out)
{
    static const kino__record_key keys[] = {key_kind, key_id}, rows[] = {key_row};
    const kino__trace *trace = out->trace;
    KINO__VEC(end) ends = {0};
    for (uint32_t row = 0; row < trace->event_count && !out->failed; row++) {
        int64_t id = is_flow(trace->phase[row]) ? kino__trace_bind_id(trace, row) : KINO_NO_INT;
        if (id == KINO_NO_INT || trace->ts[row] == KINO_NO_TIME)
            continue;
        end *slot = kino__vec_add(&ends);
        out->failed |= !slot;
        if (slot)
            *slot = (end){id, trace->ts[row], row, kind_of(out, row)};
    }
    out->failed |=
        !kino__records_sort(ends.items, ends.count, sizeof *ends.items, keys, 2, compare);
    for (size_t i = 0, behind; i < ends.count && !out->failed; i = behind) {
        for (behind = i + 1; behind < ends.count && ends.items[behind].kind == ends.items[i].kind &&
                             ends.items[behind].id == ends.items[i].id;)
            behind++;
        if (is_carriable(trace, ends.items + i, behind - i))
            carry(out, ends.items + i, behind - i);
    }
    out->failed |= !kino__records_sort(out->carried.items, out->carried.count,
                                       sizeof *out->carried.items, rows, 1, compare_carried);
    kino__vec_deinit(&ends);
}
