/* single_tensor_optimizer.c - an optimizer that goes over the parameters one by one.
 *
 * Known by Python functions (_single_tensor_adam, ..., PyTorch's pattern "Optimizer Single
 * Tensor"); else by many kernels (without a device: operators) inside Optimizer.step and none of
 * the joined kinds (aten::_foreach_, aten::_fused_, multi_tensor_apply) among them.
 *
 * Gain: idle time between the start of Optimizer.step and the end of the work it launched. Without
 * a device it is not known. */
#include "rule/rule.h"

enum { T_CALLS, T_SHARE };

static const kino__threshold thresholds[] = {
    [T_CALLS] = {"calls", 100, "kernels (CPU: operators) in one Optimizer.step"},
    [T_SHARE] = {"share", 0.02, "part of the step time in Optimizer.step, on the host"},
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
    if (n->type == KINO__EVENT_TYPE_OPERATOR && n->name != KINO_NO_STRING) {
        kino_str name = kino__node_name(p, n);
        in->operators++;
        in->is_joined |= kino__str_starts_with(name, KINO__STR("aten::_foreach_")) ||
                         kino__str_starts_with(name, KINO__STR("aten::_fused_"));
    }
    for (uint32_t i = 0; i < n->launch_count; i++) {
        const kino__launch *launch = &p->launches.items[n->first_launch + i];
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
    inside in = {.end = span->end};
    for (uint32_t n = top; n < p->nodes.count; n++) {
        const kino__node *node = &p->nodes.items[n];
        if (node->thread != span->thread || (n > top && node->start >= span->end))
            break;
        if (!node->is_dropped && node->class != KINO__NODE_ROOT)
            add_node(p, node, &in);
    }
    return in;
}

typedef struct total {
    uint64_t spans, calls;
    int64_t spent, idle;
    kino__top top;
} total;

static void add_span(const kino__rule_look *l, size_t index, uint32_t row, total *t)
{
    kino__interval span = kino__scan_interval(l->scan, row);
    uint32_t node = l->profile->node_of_row[row];
    if (!kino__scan_is_in_step(l->scan, span.start) || node == KINO__NO_NODE)
        return;
    bool has_frames = l->scan->items[KINO__SCAN_SINGLE_TENSOR].count > 0;
    inside in = look_inside(l->profile, node);
    uint64_t calls = l->scan->has_device ? in.kernels : in.operators;
    if (in.is_joined || (!has_frames && (double)calls < l->thresholds[T_CALLS]))
        return;
    t->spans++;
    t->calls += calls;
    t->spent += span.end - span.start;
    t->idle += kino__cover_within(&l->scan->idle, span.start, in.end);
    kino__top_add(&t->top, span.end - span.start, index);
}

static void look(const kino__rule_look *l)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_OPTIMIZER];
    total t = {0};
    for (size_t i = 0; i < items->count; i++)
        add_span(l, i, items->items[i].row, &t);
    if (t.spans == 0 || !kino__is_above(t.spent, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    int64_t gain = l->scan->has_device ? t.idle : KINO_NO_INT;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the optimizer updates parameters one by one");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "Optimizer.step takes %s (%s of the step time) and makes %.0f %s each time",
        kino__say_time(t.spent / (int64_t)t.spans), kino__say_share(t.spent, l->facts->step_time),
        (double)t.calls / (double)t.spans, l->scan->has_device ? "kernels" : "operator calls");
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "each parameter pays for the same few operators again; joined, a handful of "
                      "calls update them all");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s",
                      l->scan->has_device
                          ? "pass fused=True to the optimizer (Adam, AdamW, SGD), or foreach=True "
                            "where fused is not supported"
                          : "pass fused=True to the optimizer (Adam, AdamW, SGD support it on the "
                            "CPU as well), or compile the step with torch.compile");
    for (size_t i = 0; i < t.top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[t.top.index[i]].row));
}

const kino__rule_def kino__rule_single_tensor_optimizer = {
    .name = "single-tensor-optimizer",
    .help = "Optimizer.step works on one parameter at a time",
    .gain = "idle time of the device from the start of `Optimizer.step` to the end of its work; "
            "unknown on the CPU",
    .thresholds = thresholds,
    .look = look,
};
