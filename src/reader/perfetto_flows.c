/* perfetto_flows.c - flows: steps with the same id, in order of time, and the links of GPU work. */
#include "base/record_sort.h"
#include "reader/perfetto_internal.h"

void kino__perfetto_emit_flow(kino__perfetto *p, char phase, int64_t id, uint32_t at,
                              const kino__perfetto_flow_name *name)
{
    const kino__perfetto_event *e = &p->waiting.items[at];
    kino__built_event event = {
        .ts = e->ts,
        .dur = KINO_NO_TIME,
        .bind = id,
        .external = KINO_NO_INT,
        .name = name->name,
        .track = kino__perfetto_track_row(p, e->track),
        .category = name->category,
        .phase = (uint8_t)phase,
        .flags = phase == 's' ? 0 : KINO__FLAG_BP,
    };
    p->failed |= !kino__event_builder_add(&p->events, &event);
}

kino__perfetto_flow_name kino__perfetto_flow_named(kino__perfetto *p, const char *text)
{
    kino_strid id = kino__event_builder_text(&p->events, kino__str_from(text));
    return (kino__perfetto_flow_name){id, kino__event_builder_category(&p->events, id)};
}

/* Files that Kino has written tell in the highest byte of an id what its name is. */
static uint64_t id_mask(const kino__perfetto *p)
{
    return p->flow_names.count ? (UINT64_C(1) << KINO__PERFETTO_FLOW_SHIFT) - 1 : UINT64_MAX;
}

static const kino__perfetto_flow_name *name_of_id(const kino__perfetto *p, uint64_t id,
                                                  const kino__perfetto_flow_name *plain)
{
    uint64_t kind = id >> KINO__PERFETTO_FLOW_SHIFT;
    return kind < p->flow_names.count ? &p->flow_names.items[kind] : plain;
}

/* From a call to the work that it started, and from work to what waited for it. */
static void emit_gpu_flows(kino__perfetto *p)
{
    int64_t id = 0;
    kino__perfetto_flow_name launch = kino__perfetto_flow_named(p, "ac2g"),
                             wait = kino__perfetto_flow_named(p, "dependency");
    for (size_t i = 0; i < p->flows.count && !p->failed; i++) {
        kino__perfetto_flow flow = p->flows.items[i];
        const uint32_t *gpu = kino__map_get(&p->gpu_event_of, flow.id);
        if (flow.kind == KINO__PERFETTO_FLOW_ANY || !gpu)
            continue;
        bool is_launch = flow.kind == KINO__PERFETTO_FLOW_LAUNCH;
        const kino__perfetto_flow_name *name = is_launch ? &launch : &wait;
        id++;
        kino__perfetto_emit_flow(p, 's', id, is_launch ? flow.event : *gpu, name);
        kino__perfetto_emit_flow(p, 'f', id, is_launch ? *gpu : flow.event, name);
    }
}

typedef struct step {
    uint64_t id;
    int64_t ts;
    uint32_t event, order;
    bool is_last;
} step;

static int compare_steps(const void *a, const void *b)
{
    const step *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int64_t step_id(const void *record)
{
    return (int64_t)(((const step *)record)->id ^ UINT64_C(1) << 63);
}

static int64_t step_ts(const void *record)
{
    return ((const step *)record)->ts;
}

/* The steps of one id: the first is where it comes from, and after a last one it begins again. */
static void emit_steps(kino__perfetto *p, const step *steps, size_t count,
                       const kino__perfetto_flow_name *plain)
{
    bool is_open = false;
    for (size_t i = 0; i < count && !p->failed; i++) {
        const step *s = &steps[i];
        if (!is_open && s->is_last)
            continue;
        bool is_last = is_open && (s->is_last || i + 1 == count);
        kino__perfetto_emit_flow(p,
                                 is_last   ? 'f'
                                 : is_open ? 't'
                                           : 's',
                                 (int64_t)(s->id & id_mask(p)), s->event,
                                 name_of_id(p, s->id, plain));
        is_open = !is_last;
    }
}

static void emit_track_flows(kino__perfetto *p)
{
    static const kino__record_key keys[] = {step_id, step_ts};
    kino__perfetto_flow_name plain = kino__perfetto_flow_named(p, "flow");
    KINO__VEC(step) steps = {0};
    bool ok = kino__vec_reserve(&steps, p->flows.count);
    for (size_t i = 0; i < p->flows.count && ok; i++) {
        kino__perfetto_flow f = p->flows.items[i];
        if (f.kind == KINO__PERFETTO_FLOW_ANY)
            steps.items[steps.count++] =
                (step){f.id, p->waiting.items[f.event].ts, f.event, (uint32_t)i, f.is_last};
    }
    ok = ok &&
         kino__records_sort(steps.items, steps.count, sizeof *steps.items, keys, 2, compare_steps);
    p->failed |= !ok;
    for (size_t i = 0, end; i < steps.count && ok; i = end) {
        for (end = i; end < steps.count && steps.items[end].id == steps.items[i].id;)
            end++;
        emit_steps(p, steps.items + i, end - i, &plain);
    }
    kino__vec_deinit(&steps);
}

void kino__perfetto_emit_flows(kino__perfetto *p)
{
    if (p->flows.count)
        emit_gpu_flows(p);
    if (p->flows.count && !p->failed)
        emit_track_flows(p);
    if (p->numbered.count && !p->failed && !p->is_from_kino)
        kino__perfetto_emit_forward(p);
}
