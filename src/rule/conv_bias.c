/* conv_bias.c - a convolution adds a bias that the batch normalisation behind it removes.
 *
 * aten::conv1d, conv2d or conv3d with a third input (the bias; needs recorded shapes), and
 * aten::batch_norm is the next operator behind it in its thread, modules between them left aside:
 * PyTorch's pattern "Conv2d followed by BatchNorm2d", which looks at modules only.
 *
 * Gain: the device time of the aten::add_ that adds the bias (a child of aten::_convolution), as
 * far as the device is busy. Where the bias is part of the convolution's kernel it is not known. */
#include "rule/rule.h"
#include "store/args.h"
#include "store/op_inputs.h"

enum { T_COUNT };

static const kino__threshold thresholds[] = {
    [T_COUNT] = {"count", 1, "such pairs per step"},
    {0},
};

/* Is the third input a tensor? */
static bool has_bias(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor,
                     kino__op_inputs *inputs)
{
    enum { BIAS = 2 };
    const kino__op_input *bias = NULL;
    if (kino__op_inputs_read(inputs, kino__args_text(trace, row, cursor)))
        bias = kino__op_inputs_at(inputs, BIAS);
    return bias && bias->size_count;
}

/* Is aten::batch_norm the next operator behind this node? Adds up what the bias costs on the way.
 * */
static bool precedes_norm(const kino__rule_look *l, uint32_t convolution, kino__intervals *bias)
{
    const kino__profile *p = l->profile;
    const kino__node *c = &p->nodes.items[convolution];
    int64_t end = kino__node_end(p, c);
    for (uint32_t n = convolution + 1; n < p->nodes.count; n++) {
        const kino__node *node = &p->nodes.items[n];
        if (node->thread != c->thread)
            return false;
        if (node->is_dropped || node->type != KINO__EVENT_TYPE_OPERATOR ||
            kino__node_name_id(p, node) == KINO_NO_STRING)
            continue;
        kino_str name = kino__node_name(p, node);
        if (kino__node_start(p, node) >= end)
            return kino__str_is(name, "aten::batch_norm");
        if (kino__str_is(name, "aten::add_") && !kino__scan_add_work(l->scan, n, bias))
            l->out->failed = true;
    }
    return false;
}

static void speak(const kino__rule_look *l, uint64_t count, const size_t *first,
                  kino__intervals *work)
{
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_CONVOLUTION];
    int64_t cost = kino__scan_unite(work);
    int64_t gain = cost ? kino__scan_device_gain(l->scan, cost, l->facts->step_time) : KINO_NO_INT;
    char line[160];
    kino__scan_line(l->scan, &items->items[first[0]], line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "convolutions followed by batch norm have a bias");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.0f convolutions per step add a bias and are immediately followed by batch_norm%s%s",
        (double)count / (double)l->facts->step_count, *line ? ", the first at " : "", line);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "batch norm subtracts the mean and with it the bias: adding the bias and "
                      "computing its gradient has no effect");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "use Conv2d(..., bias=False) if a BatchNorm follows");
    kino__finding_claim_list(l->out, f, work);
    for (size_t i = 0; i < count && i < 3; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[first[i]].row));
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_CONVOLUTION];
    uint64_t count = 0;
    kino__intervals work = {0};
    size_t first[3] = {0};
    kino__op_inputs inputs = {0};
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row, node = kino__profile_node_of(p, row);
        size_t before = work.count;
        if (node == KINO__NO_NODE || p->nodes.items[node].is_dropped ||
            !kino__scan_is_in_step(l->scan, l->trace->ts[row]))
            continue;
        if (!precedes_norm(l, node, &work) || !has_bias(l->trace, row, &cursor, &inputs)) {
            work.count = before;
            continue;
        }
        if (count < 3)
            first[count] = i;
        count++;
    }
    kino__text_cursor_deinit(&cursor);
    kino__op_inputs_deinit(&inputs);
    if (count && (double)count >= l->thresholds[T_COUNT] * (double)l->facts->step_count)
        speak(l, count, first, &work);
    kino__vec_deinit(&work);
}

const kino__rule_def kino__rule_conv_bias = {
    .name = "conv-bias",
    .help = "a convolution with a bias immediately followed by batch norm",
    .gain = "device time of adding the bias, times the busy share of the device; unknown if it is "
            "part of the convolution kernel",
    .thresholds = thresholds,
    .is_about_kernels = true,
    .look = look,
};
