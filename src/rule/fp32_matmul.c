/* fp32_matmul.c - matrix products in FP32 on a device whose tensor cores would take TF32.
 *
 * Products (aten::mm, bmm, addmm, baddbmm) whose inputs are float and whose kernels use no tensor
 * cores, on a device of compute capability 8.0 or more. PyTorch's pattern "FP32 MatMul", decided by
 * what ran instead of by how PyTorch was built. Where no kernel at all uses tensor cores, the rule
 * mixed-precision says it.
 *
 * Gain: their kernel time, less what is left at the given speed-up, as far as the device is busy.
 * */
#include "rule/device_facts.h"
#include "rule/matmul.h"

enum { T_SHARE, T_SPEEDUP };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.05, "share of the step time in such products, on the device"},
    [T_SPEEDUP] = {"speedup", 2, "assumed speedup"},
    {0},
};

typedef struct seen {
    const kino__rule_look *look;
    kino__intervals work; /* on the device, each moment once */
    uint64_t count;
    kino__top top;
} seen;

static void see(void *context, const kino__matmul *product)
{
    seen *s = context;
    if (!product->is_fp32 || product->is_half)
        return;
    s->look->out->failed |= !kino__scan_add_work(s->look->scan, product->node, &s->work);
    s->count++;
    kino__top_add(&s->top, product->device, product->row);
}

static void speak(const kino__rule_look *l, seen *s, int64_t device, double factor)
{
    double saved = (double)device * (1 - 1 / l->thresholds[T_SPEEDUP]);
    int64_t gain = kino__scan_device_gain(l->scan, (int64_t)saved, l->facts->step_time);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "matrix products run in FP32 without tensor cores");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.0f FP32 products per step take %s on the device (%s of the step time) and "
                      "do not use tensor cores",
                      (double)s->count * factor / (double)l->facts->step_count,
                      kino__say_time(device / l->facts->step_count),
                      kino__say_share(device, l->facts->step_time));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "with TF32, tensor cores of this device are several times faster");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "torch.set_float32_matmul_precision(\"high\"), or "
                      "torch.backends.cuda.matmul.allow_tf32 = True; for more, torch.autocast with "
                      "bfloat16");
    kino__matmul_claim(l, f);
    for (size_t i = 0; i < s->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)s->top.index[i]));
}

static void look(const kino__rule_look *l)
{
    int64_t major = kino__device_property(l->trace, 0, "computeMajor");
    if (major == KINO_NO_INT || major < 8 || l->program->device != KINO__DEVICE_FAMILY_CUDA)
        return;
    seen s = {.look = l};
    double factor = kino__matmul_each(l->scan, false, see, &s);
    int64_t device = (int64_t)((double)kino__scan_unite(&s.work) * factor);
    if (kino__is_above(device, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &s, device, factor);
    kino__vec_deinit(&s.work);
}

const kino__rule_def kino__rule_fp32_matmul = {
    .name = "fp32-matmul",
    .help = "FP32 matrix products without tensor cores on a device that has TF32",
    .gain = "their kernel time less 1/speedup of it, times the busy share of the device",
    .thresholds = thresholds,
    .yields_to = &kino__rule_mixed_precision,
    .nearness = KINO__NEAR_KIND,
    .is_about_kernels = true,
    .look = look,
};
