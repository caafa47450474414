/* zeroed_gradients.c - gradients are filled with zeros instead of being dropped.
 *
 * aten::zero_ or aten::_foreach_zero_ inside zero_grad (Python function or annotation), not below
 * aten::zeros: PyTorch's pattern "Gradient not set to None".
 *
 * Gain: idle time within these operators, and the device time of what they launched as far as the
 * device is busy. */
#include "rule/rule.h"

enum { T_SHARE };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.002, "share of the step time in zeroing, on the host or on the device"},
    {0},
};

/* The time of the zeroing: idle time within it, and its work on the device. */
static void claim(const kino__rule_look *l, const kino__finding *f)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_ZEROED];
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row, node = kino__profile_node_of(l->profile, row);
        kino__interval span = kino__scan_interval(l->scan, row);
        if (!kino__scan_is_in_step(l->scan, span.start))
            continue;
        kino__finding_claim_cover(l->out, f, &l->scan->idle, span.start, span.end);
        if (node != KINO__NO_NODE)
            kino__scan_claim_work(l, f, node);
    }
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_ZEROED];
    kino__scan_sum sum;
    kino__intervals work = {0};
    size_t first = SIZE_MAX;
    bool ok = kino__scan_sum_of(l->scan, items, &sum);
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row, node = kino__profile_node_of(p, row);
        if (!kino__scan_is_in_step(l->scan, l->trace->ts[row]))
            continue;
        first = first == SIZE_MAX ? i : first;
        ok = ok && (node == KINO__NO_NODE || kino__scan_add_work(l->scan, node, &work));
    }
    int64_t device = kino__scan_unite(&work);
    kino__vec_deinit(&work);
    l->out->failed |= !ok;
    int64_t cost = sum.spent > device ? sum.spent : device;
    if (!kino__is_above(cost, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    int64_t gain = sum.idle + kino__scan_device_gain(l->scan, device, l->facts->step_time);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    char line[160];
    kino__scan_line(l->scan, &items->items[first], line, sizeof line);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "gradients are set to zero instead of None");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "zero_grad writes zeros %.1f times per step: %s on the host%s%s%s%s%s",
                      (double)sum.count / (double)l->facts->step_count,
                      kino__say_time(sum.spent / l->facts->step_count),
                      l->scan->has_device ? ", " : "",
                      l->scan->has_device ? kino__say_time(device / l->facts->step_count) : "",
                      l->scan->has_device ? " on the device" : "", *line ? ", at " : "", line);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the next backward pass has to add to the zeros instead of just writing");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "call optimizer.zero_grad(set_to_none=True), the default since PyTorch 2.0: "
                      "remove set_to_none=False, or the loop over p.grad.zero_()");
    claim(l, f);
    for (size_t i = first; i < items->count && i < first + 3; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[i].row));
}

const kino__rule_def kino__rule_zeroed_gradients = {
    .name = "zeroed-gradients",
    .help = "zero_grad writes zeros instead of setting gradients to None",
    .gain = "idle time of the device during zeroing, plus its device time times the busy share of "
            "the device",
    .thresholds = thresholds,
    .look = look,
};
