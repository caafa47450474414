/* conv_tensor_cores.c - convolutions that could use tensor cores and do not, and why.
 *
 * Forward convolutions (aten::conv1d, conv2d, conv3d) none of whose kernels use tensor cores, on a
 * device that has them for another type, size or layout (analysis/costs/tensor_gap.h). Depthwise
 * ones are left out. Where no kernel at all uses tensor cores, the rule mixed-precision says it;
 * matrix products have rules of their own.
 *
 * Gain: their kernel time, less what is left at the given speed-up, as far as the device is busy.
 */
#include "analysis/costs/tensor_gap.h"
#include "rule/rule.h"
#include "store/args.h"

enum { T_SHARE, T_SPEEDUP };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.03, "share of the step time in such convolutions, on the device"},
    [T_SPEEDUP] = {"speedup", 2, "assumed speedup"},
    {0},
};

typedef struct seen {
    const kino__rule_look *look;
    kino__matrix_units units;
    kino__intervals work; /* on the device, each moment once */
    int64_t by[KINO__TENSOR_GAPS];
    uint64_t count;
    kino__top top;
} seen;

static kino__tensor_gap gap_of(const seen *s, const kino__op_inputs *inputs)
{
    const kino__op_input *input = kino__op_inputs_at(inputs, 0);
    return input ? kino__tensor_gap_of(inputs, KINO__PRODUCT_CONVOLUTION, input->dtype, &s->units)
                 : KINO__TENSOR_GAP_NONE;
}

static void see(seen *s, uint32_t row, uint32_t node, int64_t time, kino__tensor_gap gap)
{
    s->look->out->failed |= !kino__scan_add_work(s->look->scan, node, &s->work);
    s->by[gap] = kino__sum(s->by[gap], time);
    s->count++;
    kino__top_add(&s->top, time, row);
}

static void see_all(seen *s)
{
    const kino__rule_look *l = s->look;
    const kino__profile *p = l->profile;
    const kino__scan_items *items = &l->scan->items[KINO__SCAN_CONVOLUTION];
    kino__op_inputs inputs = {0};
    kino__text_cursor cursor;
    kino__text_cursor_init(&cursor, l->trace->text);
    for (size_t i = 0; i < items->count; i++) {
        uint32_t row = items->items[i].row, node = kino__profile_node_of(p, row);
        if (node == KINO__NO_NODE || !kino__scan_is_in_step(l->scan, l->trace->ts[row]))
            continue;
        kino__node_sums sums = kino__node_sums_of(p, &p->nodes.items[node]);
        if (sums.device_total <= 0 || sums.tensor_total > 0 ||
            !kino__op_inputs_read(&inputs, kino__args_text(l->trace, row, &cursor)))
            continue;
        kino__tensor_gap gap = gap_of(s, &inputs);
        if (gap != KINO__TENSOR_GAP_NONE)
            see(s, row, node, sums.device_total, gap);
    }
    kino__text_cursor_deinit(&cursor);
    kino__op_inputs_deinit(&inputs);
}

static const char *reason(kino__tensor_gap gap)
{
    static const char *const words[KINO__TENSOR_GAPS] = {
        [KINO__TENSOR_GAP_DTYPE] = "FP32 inputs",
        [KINO__TENSOR_GAP_ALIGNMENT] = "numbers of channels that are not multiples of 8",
        [KINO__TENSOR_GAP_LAYOUT] = "the layout NCHW",
        [KINO__TENSOR_GAP_KERNEL] = "the kernels that the library chose"};
    return words[gap];
}

static const char *advice(kino__tensor_gap gap, const kino__matrix_units *units)
{
    switch (gap) {
    case KINO__TENSOR_GAP_DTYPE:
        return units->tf32
                   ? "torch.backends.cudnn.allow_tf32 = True; for more, torch.autocast with "
                     "bfloat16"
                   : "use torch.autocast with float16";
    case KINO__TENSOR_GAP_ALIGNMENT:
        return "make the numbers of channels multiples of 8, for example by padding an input of 3 "
               "channels to 8";
    case KINO__TENSOR_GAP_LAYOUT:
        return "use channels_last: model.to(memory_format=torch.channels_last), and the same for "
               "the inputs";
    default:
        return "let the library try its kernels: torch.backends.cudnn.benchmark = True";
    }
}

static void speak(const kino__rule_look *l, const seen *s, int64_t device)
{
    double saved = (double)device * (1 - 1 / l->thresholds[T_SPEEDUP]);
    int64_t gain = kino__scan_device_gain(l->scan, (int64_t)saved, l->facts->step_time);
    kino__tensor_gap most = KINO__TENSOR_GAP_DTYPE;
    for (int gap = (int)most; gap < KINO__TENSOR_GAPS; gap++)
        most = s->by[gap] > s->by[most] ? (kino__tensor_gap)gap : most;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "convolutions do not use tensor cores");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.0f convolutions per step take %s on the device (%s of the step time) and "
                      "do not use tensor cores, mostly because of %s",
                      (double)s->count / (double)l->facts->step_count,
                      kino__say_time(device / l->facts->step_count),
                      kino__say_share(device, l->facts->step_time), reason(most));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "convolutions run several times faster on tensor cores");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(most, &s->units));
    kino__finding_claim_list(l->out, f, &s->work);
    for (size_t i = 0; i < s->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)s->top.index[i]));
}

static void look(const kino__rule_look *l)
{
    seen s = {.look = l, .units = kino__matrix_units_of(l->trace, 0)};
    if (!s.units.half || l->program->device != KINO__DEVICE_FAMILY_CUDA)
        return;
    see_all(&s);
    int64_t device = kino__scan_unite(&s.work);
    if (kino__is_above(device, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &s, device);
    kino__vec_deinit(&s.work);
}

const kino__rule_def kino__rule_conv_tensor_cores = {
    .name = "conv-tensor-cores",
    .help = "convolutions that could use tensor cores do not, because of type, channels or layout",
    .gain = "their kernel time less 1/speedup of it, times the busy share of the device",
    .thresholds = thresholds,
    .yields_to = &kino__rule_mixed_precision,
    .nearness = KINO__NEAR_KIND,
    .is_about_kernels = true,
    .look = look,
};
