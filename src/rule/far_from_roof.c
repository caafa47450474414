/* far_from_roof.c - an operator that takes much time and stays far below what the device allows.
 *
 * The roof of an operator is the longer of its operations at the peak rate of their type and its
 * bytes at the bandwidth of the memory (analysis/costs/cost_roof.h). Of the operators that take
 * more than the share of the steps and reach less than the percentage, the one that would gain most
 * is named. Work that launches or latencies bound is not meant: it has rules of its own.
 *
 * Gain: its time less that at TARGET percent of its roof, as far as the device is busy. */
#include "analysis/costs/cost_roof.h"
#include "rule/rule_costs.h"

enum { T_SHARE, T_PERCENT };
enum { TARGET = 60 };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.1, "share of the step time in kernels of the operator"},
    [T_PERCENT] = {"percent", 30, "percent of its roof that the operator reaches at most"},
    {0},
};

/* The work of an operator and its type. */
typedef struct group {
    kino__cost_sum sum;
    uint32_t name; /* of the trace */
    kino__dtype dtype;
    kino__top top;
} group;

typedef struct seen {
    const kino__rule_look *look;
    const kino__cost_work *work;
    kino__roofs roofs;
    kino__map by_name; /* name and type -> place */
    KINO__VEC(group) groups;
} seen;

static uint64_t key_of(const seen *s, const kino__work_item *item)
{
    const kino__cost *cost = kino__work_cost(s->work, item);
    uint32_t row = s->work->costs.ops.items[item->op].row;
    return (uint64_t)cost->precision << 32 | s->work->trace->name[row];
}

static group *find_group(seen *s, uint64_t key)
{
    uint32_t *place = kino__map_put(&s->by_name, key, (uint32_t)s->groups.count);
    if (!place)
        return NULL;
    if (*place == s->groups.count) {
        group *fresh = kino__vec_add(&s->groups);
        if (fresh)
            *fresh = (group){.name = (uint32_t)key, .dtype = (kino__dtype)(key >> 32)};
        return fresh;
    }
    return &s->groups.items[*place];
}

static int64_t time_in_steps(const seen *s, const kino__work_item *item)
{
    const kino__scan *scan = s->look->scan;
    return kino__scan_in_steps(scan, kino__scan_interval(scan, item->row));
}

static bool is_meant(const seen *s, const kino__work_item *item)
{
    return item->kind == KINO__WORK_KERNEL && item->op != KINO_NO_ROW &&
           kino__work_is_known(item) && time_in_steps(s, item) > 0;
}

static bool add_all(seen *s)
{
    const kino__trace *trace = s->work->trace;
    uint32_t track = 0;
    for (size_t i = 0; i < s->work->items.count; i++) {
        const kino__work_item *item = &s->work->items.items[i];
        while (item->row - trace->tracks.items[track].first >= trace->tracks.items[track].count)
            track++;
        if (!is_meant(s, item))
            continue;
        group *g = find_group(s, key_of(s, item));
        if (!g)
            return false;
        kino__cost_sum_item(&g->sum, s->work, item,
                            kino__roofs_of(&s->roofs, trace->tracks.items[track].device));
        kino__top_add(&g->top, kino__work_time(s->work, item), item->row);
    }
    return true;
}

static bool is_bound_by_roof(const kino__cost_sum *sum)
{
    const char *bound = kino__cost_bound(sum);
    return bound && (strcmp(bound, "compute") == 0 || strcmp(bound, "memory") == 0);
}

static int64_t saving(const group *g)
{
    int64_t at = kino__cost_time_at(&g->sum, TARGET);
    return at == KINO_NO_INT ? 0 : g->sum.time - at;
}

/* Of those that matter the one with most to gain; NULL: none. */
static const group *find_worst(const seen *s)
{
    const kino__rule_look *l = s->look;
    const group *worst = NULL;
    for (size_t i = 0; i < s->groups.count; i++) {
        const group *g = &s->groups.items[i];
        if (kino__is_above(g->sum.roof_time, l->facts->step_time, l->thresholds[T_SHARE]) &&
            kino__cost_roof_percent(&g->sum) < l->thresholds[T_PERCENT] &&
            is_bound_by_roof(&g->sum) && (!worst || saving(g) > saving(worst)))
            worst = g;
    }
    return worst;
}

static void claim(const seen *s, const group *g, const kino__finding *f)
{
    uint64_t key = (uint64_t)g->dtype << 32 | g->name;
    for (size_t i = 0; i < s->work->items.count; i++) {
        const kino__work_item *item = &s->work->items.items[i];
        if (is_meant(s, item) && key_of(s, item) == key)
            kino__scan_claim_row(s->look, f, item->row);
    }
}

static void speak(const seen *s, const group *g)
{
    const kino__rule_look *l = s->look;
    int64_t gain = kino__scan_device_gain(l->scan, saving(g), l->facts->step_time);
    bool is_memory = strcmp(kino__cost_bound(&g->sum), "memory") == 0;
    kino_str name = kino__trace_string(l->trace, g->name);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "an operator is far from what the device allows");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.*s (%s): %.0f kernels per step take %s (%s of the step time) and reach "
                      "%.0f %% of the %s: %.3g TFLOP/s, %.3g GB/s",
                      (int)kino__cut(name, 60), name.data, kino__dtype_name(g->dtype),
                      (double)g->sum.kernels / (double)l->facts->step_count,
                      kino__say_time(g->sum.time / l->facts->step_count),
                      kino__say_share(g->sum.time, l->facts->step_time),
                      kino__cost_roof_percent(&g->sum),
                      is_memory ? "memory bandwidth" : "peak rate", kino__cost_tflops(&g->sum),
                      kino__cost_gbps(&g->sum));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "similar work usually reaches more than half of what the device can do");
    kino__finding_say(
        l->out, f, KINO__SAY_DO, "%s",
        is_memory ? "look at its inputs: strided or broadcast tensors, small inner dimensions; let "
                    "torch.compile generate the kernel, or fuse it with its neighbors"
                  : "larger batches, or sizes that fill the device; "
                    "torch.compile(mode=\"max-autotune\") tries other kernels");
    claim(s, g, f);
    for (size_t i = 0; i < g->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)g->top.index[i]));
}

static void look(const kino__rule_look *l)
{
    kino_error err;
    seen s = {.look = l};
    if (!l->profile->has_kernel ||
        kino__roofs_init(&s.roofs, l->trace, KINO__STR(""), &err) != KINO_OK ||
        !kino__roofs_of(&s.roofs, 0))
        return;
    s.work = kino__rule_costs(l);
    if (!s.work)
        return;
    kino__map_init(&s.by_name, NULL);
    const group *worst = NULL;
    if (add_all(&s))
        worst = find_worst(&s);
    else
        l->out->failed = true;
    if (worst)
        speak(&s, worst);
    kino__vec_deinit(&s.groups);
    kino__map_deinit(&s.by_name);
}

const kino__rule_def kino__rule_far_from_roof = {
    .name = "far-from-roof",
    .help = "an operator takes much time and reaches little of what the device allows",
    .gain = "its time less that at 60 % of its roof, times the busy share of the device",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_SYMPTOM,
    .is_about_kernels = true,
    .look = look,
};
