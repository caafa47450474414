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

enum { T_COUNT };

static const kino__threshold thresholds[] = {
    [T_COUNT] = {"count", 1, "such pairs in a step"},
    {0},
};

/* Of [[8, 3, 32, 32], [64, 3, 3, 3], [64], [], ...]: does the third list hold a number? */
static bool has_bias(const kino__trace *trace, uint32_t row, kino__text_cursor *cursor)
{
    kino_str args = kino__args_text(trace, row, cursor);
    kino_str dims = kino__args_find(args, KINO__STR("Input Dims"));
    if (dims.size == 0)
        dims = kino__args_find(args, KINO__STR("Input dims"));
    int depth = 0, list = 0;
    for (size_t i = 0; i < dims.size; i++) {
        char c = dims.data[i];
        if (c == '[')
            list += ++depth == 2;
        else if (c == ']')
            depth--;
        else if (list == 3 && depth == 2 && c >= '0' && c <= '9')
            return true;
    }
    return false;
}

/* Is aten::batch_norm the next operator behind this node? Adds up what the bias costs on the way.
 * */
static bool precedes_norm(const kino__profile *p, uint32_t convolution, int64_t *bias)
{
    const kino__node *c = &p->nodes.items[convolution];
    for (uint32_t n = convolution + 1; n < p->nodes.count; n++) {
        const kino__node *node = &p->nodes.items[n];
        if (node->thread != c->thread)
            return false;
        if (node->is_dropped || node->type != KINO__EVENT_TYPE_OPERATOR ||
            node->name == KINO_NO_STRING)
            continue;
        kino_str name = kino__node_name(p, node);
        if (node->start >= c->end)
            return kino__str_is(name, "aten::batch_norm");
        if (kino__str_is(name, "aten::add_"))
            *bias += node->device_total;
    }
    return false;
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_CONVOLUTION];
    uint64_t count = 0;
    int64_t cost = 0;
    size_t first[3] = {0};
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row, node = p->node_of_row[row];
        int64_t bias = 0;
        if (node == KINO__NO_NODE || p->nodes.items[node].is_dropped ||
            !kino__scan_is_in_step(l->scan, l->trace->ts[row]) || !precedes_norm(p, node, &bias) ||
            !has_bias(l->trace, row, &cursor))
            continue;
        if (count < 3)
            first[count] = i;
        count++;
        cost += bias;
    }
    kino__text_cursor_deinit(&cursor);
    if (count == 0 || (double)count < l->thresholds[T_COUNT] * (double)l->facts->step_count)
        return;
    int64_t gain = cost ? kino__scan_device_gain(l->scan, cost, l->facts->step_time) : KINO_NO_INT;
    char line[160];
    kino__scan_line(l->scan, &items->items[first[0]], line, sizeof line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "convolutions in front of batch norms have a bias");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.0f convolutions a step add a bias and batch_norm follows at once%s%s",
                      (double)count / (double)l->facts->step_count, *line ? ", the first at " : "",
                      line);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the normalisation subtracts the mean, and the bias with it: adding it, and "
                      "computing its gradient, has no effect");
    kino__finding_say(l->out, f, KINO__SAY_DO, "Conv2d(..., bias=False) where a BatchNorm follows");
    for (size_t i = 0; i < count && i < 3; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, items->items[first[i]].row));
}

const kino__rule_def kino__rule_conv_bias = {
    .name = "conv-bias",
    .help = "a convolution with a bias right in front of a batch norm",
    .gain = "device time of adding the bias, times the busy part of the device; unknown where it "
            "is part of the convolution's kernel",
    .thresholds = thresholds,
    .look = look,
};
