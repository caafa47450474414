/* xplane_flows.c - flows: who made something, and who took it. */
#include "base/record_sort.h"
#include "reader/xplane_internal.h"

static int compare(const void *a, const void *b)
{
    const kino__xend *x = a, *y = b;
    if (x->has_type != y->has_type)
        return x->has_type ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->goes_out != y->goes_out)
        return x->goes_out ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int64_t key_form(const void *record)
{
    return !((const kino__xend *)record)->has_type;
}

static int64_t key_type(const void *record)
{
    return (int64_t)(((const kino__xend *)record)->type ^ UINT64_C(1) << 63);
}

static int64_t key_id(const void *record)
{
    return (int64_t)(((const kino__xend *)record)->id ^ UINT64_C(1) << 63);
}

static bool is_same(const kino__xend *a, const kino__xend *b)
{
    return a->has_type == b->has_type && a->type == b->type && a->id == b->id;
}

static void emit(kino__xreader *r, const kino__xend *end, char phase, int64_t id, kino_strid name)
{
    kino__built_event out = {.ts = end->ts,
                             .dur = KINO_NO_TIME,
                             .bind = id,
                             .external = KINO_NO_INT,
                             .name = name,
                             .track = end->row,
                             .category = kino__event_builder_category(&r->events, name),
                             .phase = (uint8_t)phase,
                             .flags = phase == 's' ? 0 : KINO__FLAG_BP};
    r->failed |= !kino__event_builder_add(&r->events, &out);
}

/* Only where both ends are there: the first that gives, then all that take. */
static void emit_group(kino__xreader *r, const kino__xend *ends, size_t count, int64_t id,
                       kino_strid name)
{
    if (!ends[0].goes_out || count < 2 || !ends[count - 1].comes_in)
        return;
    emit(r, &ends[0], 's', id, name);
    for (size_t i = 1; i < count && !r->failed; i++)
        emit(r, &ends[i], i + 1 == count ? 'f' : 't', id, name);
}

void kino__xflows_emit(kino__xreader *r)
{
    static const kino__record_key keys[] = {key_form, key_type, key_id};
    kino__xend *ends = r->ends.items;
    size_t count = r->ends.count;
    kino_strid name = kino__event_builder_text(&r->events, KINO__STR("flow"));
    int64_t id = 0;
    if (!count)
        return;
    if (!kino__records_sort(ends, count, sizeof *ends, keys, 3, compare))
        r->failed = true;
    for (size_t i = 0, end; i < count && !r->failed; i = end) {
        for (end = i + 1; end < count && is_same(&ends[i], &ends[end]);)
            end++;
        emit_group(r, ends + i, end - i, ++id, name);
    }
}
