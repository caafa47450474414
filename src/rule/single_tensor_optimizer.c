/* single_tensor_optimizer.c - an optimizer that goes over the parameters one by one.
 *
 * Known by Python functions (_single_tensor_adam, ..., PyTorch's pattern "Optimizer Single
 * Tensor"); else by many kernels (without a device: operators) inside Optimizer.step and none of
 * the joined kinds (aten::_foreach_, aten::_fused_, multi_tensor_apply) among them.
 *
 * An optimizer that calls another one has a span around the other's: only the outer one counts.
 *
 * Gain: idle time between the start of Optimizer.step and the end of the work it launched. Without
 * a device it is not known. */
#include "rule/rule.h"

enum { T_CALLS, T_SHARE };

static const kino__threshold thresholds[] = {
    [T_CALLS] = {"calls", 100, "kernels (CPU: operators) per Optimizer.step"},
    [T_SHARE] = {"share", 0.02, "share of the step time in Optimizer.step, on the host"},
    {0},
};

typedef struct inside {
    uint64_t operators, kernels;
    bool is_joined;
    int64_t end; /* of the span and of all it launched */
} inside;

static bool has_part(kino_str name, const char *part)
{
    return memmem(name.data, name.size, part, strlen(part)) != NULL;
}

static void add_node(const kino__profile *p, const kino__node *n, inside *in)
{
    if (n->type == KINO__EVENT_TYPE_OPERATOR && kino__node_name_id(p, n) != KINO_NO_STRING) {
        kino_str name = kino__node_name(p, n);
        in->operators++;
        in->is_joined |= kino__str_starts_with(name, KINO__STR("aten::_foreach_")) ||
                         kino__str_starts_with(name, KINO__STR("aten::_fused_"));
    }
    uint32_t count;
    const kino__launch *launch = kino__node_launches(p, n, &count);
    for (uint32_t i = 0; i < count; i++, launch++) {
        for (uint32_t w = 0; w < launch->work_count; w++) {
            uint32_t row = p->work.items[launch->first_work + w];
            int64_t end = kino__interval_of(p->trace->ts[row], p->trace->dur[row]).end;
            in->end = end > in->end ? end : in->end;
            if (p->type[row] != KINO__EVENT_TYPE_KERNEL || p->trace->name[row] == KINO_NO_STRING)
                continue;
            in->kernels++;
            in->is_joined |=
                has_part(kino__trace_string(p->trace, p->trace->name[row]), "multi_tensor_apply");
        }
    }
}

/* All nodes below: they stand behind it until its end. */
static inside look_inside(const kino__profile *p, uint32_t top)
{
    const kino__node *span = &p->nodes.items[top];
    int64_t end = kino__node_end(p, span);
    inside in = {.end = end};
    for (uint32_t n = top; n < p->nodes.count; n++) {
        const kino__node *node = &p->nodes.items[n];
        if (node->thread != span->thread || (n > top && kino__node_start(p, node) >= end))
            break;
        if (!node->is_dropped && node->class != KINO__NODE_ROOT)
            add_node(p, node, &in);
    }
    return in;
}

typedef struct total {
    uint64_t spans, calls;
    int64_t spent;        /* of each for itself */
    kino__intervals list; /* the spans in the steps, each moment once */
    uint32_t thread;      /* of the last span that counted, and its end */
    int64_t end;
    kino__intervals work; /* of each span, from its start to the end of what it launched */
    kino__top top;
} total;

static void add_span(const kino__rule_look *l, size_t index, uint32_t row, total *t)
{
    kino__interval span = kino__scan_interval(l->scan, row);
    uint32_t node = kino__profile_node_of(l->profile, row);
    if (!kino__scan_is_in_step(l->scan, span.start) || node == KINO__NO_NODE)
        return;
    uint32_t thread = l->profile->nodes.items[node].thread;
    if (t->spans && thread == t->thread && span.start < t->end)
        return; /* inside one that was counted */
    bool has_frames = l->scan->items[KINO__SCAN_SINGLE_TENSOR].count > 0;
    inside in = look_inside(l->profile, node);
    uint64_t calls = l->scan->has_device ? in.kernels : in.operators;
    if (in.is_joined || (!has_frames && (double)calls < l->thresholds[T_CALLS]))
        return;
    kino__interval *slot = kino__vec_add(&t->work);
    if (slot)
        *slot = (kino__interval){span.start, in.end};
    if (!slot || !kino__scan_add_span(l->scan, span, &t->list))
        l->out->failed = true;
    t->thread = thread;
    t->end = span.end;
    t->spans++;
    t->calls += calls;
    t->spent = kino__sum(t->spent, span.end - span.start);
    kino__top_add(&t->top, span.end - span.start, index);
}

static const char *advice(const kino__rule_look *l)
{
    if (!l->scan->has_device)
        return "pass fused=True to the optimizer (Adam, AdamW, SGD support it on the CPU as "
               "well), or compile the step with torch.compile";
    return l->program->device == KINO__DEVICE_FAMILY_OTHER
               ? "pass foreach=True to the optimizer, or fused=True if the device supports it"
               : "pass fused=True to the optimizer (Adam, AdamW, SGD), or foreach=True if fused is "
                 "not supported";
}

static void speak(const kino__rule_look *l, const total *t, int64_t covered)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_OPTIMIZER];
    int64_t gain = l->scan->has_device ? kino__scan_idle_in(l->scan, &t->work) : KINO_NO_INT;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the optimizer updates parameters one by one");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "Optimizer.step takes %s (%s of the step time) and makes %.0f %s each time",
        kino__say_time(t->spent / (int64_t)t->spans), kino__say_share(covered, l->facts->step_time),
        (double)t->calls / (double)t->spans, l->scan->has_device ? "kernels" : "operator calls");
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "each parameter repeats the same few operators; a few combined calls could "
                      "update all of them");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(l));
    for (size_t i = 0; l->scan->has_device && i < t->work.count; i++)
        kino__finding_claim_cover(l->out, f, &l->scan->idle, t->work.items[i].start,
                                  t->work.items[i].end);
    for (size_t i = 0; i < t->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[t->top.index[i]].row));
}

static void look(const kino__rule_look *l)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_OPTIMIZER];
    total t = {0};
    for (size_t i = 0; i < items->count; i++)
        add_span(l, i, items->items[i].row, &t);
    int64_t covered = kino__scan_unite(&t.list);
    (void)kino__scan_unite(&t.work);
    if (t.spans && kino__is_above(covered, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &t, covered);
    kino__vec_deinit(&t.list);
    kino__vec_deinit(&t.work);
}

const kino__rule_def kino__rule_single_tensor_optimizer = {
    .name = "single-tensor-optimizer",
    .help = "Optimizer.step updates one parameter at a time",
    .gain = "idle time of the device from the start of `Optimizer.step` to the end of its work; "
            "unknown on the CPU",
    .thresholds = thresholds,
    .is_about_kernels = true,
    .look = look,
};
