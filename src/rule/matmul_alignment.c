/* matmul_alignment.c - half-precision matrix products of sizes that tensor cores do not like.
 *
 * Products (aten::mm, bmm, addmm, baddbmm) of float16 or bfloat16 with one of the last two sizes of
 * an input not a multiple of 8: PyTorch's pattern "Matrix Multiplication Dimension Not Aligned".
 *
 * Gain: where such products missed the tensor cores, their kernel time less what is left at the
 * given speed-up, as far as the device is busy. Where they used them all the same, it is not
 * known. */
#include "rule/matmul.h"

enum { T_SHARE, T_SPEEDUP };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.02, "share of the step time in such products, on the device"},
    [T_SPEEDUP] = {"speedup", 2, "assumed speedup of products that do not use tensor cores"},
    {0},
};

typedef struct seen {
    const kino__rule_look *look;
    kino__intervals work, missed; /* on the device, each moment once; without tensor cores */
    uint64_t count;
    kino__top top;
    char dims[80]; /* of the longest */
} seen;

static void see(void *context, const kino__matmul *product)
{
    seen *s = context;
    if (!product->is_half || product->is_aligned)
        return;
    bool ok =
        kino__scan_add_work(s->look->scan, product->node, &s->work) &&
        (product->tensor > 0 || kino__scan_add_work(s->look->scan, product->node, &s->missed));
    s->look->out->failed |= !ok;
    s->count++;
    kino__top_add(&s->top, product->device, product->row);
    if (s->top.index[0] == product->row)
        memcpy(s->dims, product->dims, sizeof s->dims);
}

static void speak(const kino__rule_look *l, seen *s, int64_t device, double factor)
{
    int64_t missed = kino__scan_unite(&s->missed);
    double saved = (double)missed * factor * (1 - 1 / l->thresholds[T_SPEEDUP]);
    int64_t gain =
        missed ? kino__scan_device_gain(l->scan, (int64_t)saved, l->facts->step_time) : KINO_NO_INT;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "half-precision matrix products have sizes that are not multiples of 8");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.1f products per step, %s on the device (%s of the step time); the longest has "
        "inputs of %s",
        (double)s->count * factor / (double)l->facts->step_count,
        kino__say_time(device / l->facts->step_count), kino__say_share(device, l->facts->step_time),
        s->dims);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "tensor cores operate on blocks: other sizes are padded, read unaligned, or "
                      "handled by slower kernels");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "make layer sizes, vocabulary and batch size multiples of 8 (or better, 64), "
                      "for example by padding a vocabulary of 30522 to 30528");
    if (gain != KINO_NO_INT)
        kino__matmul_claim(l, f);
    for (size_t i = 0; i < s->top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)s->top.index[i]));
}

static void look(const kino__rule_look *l)
{
    seen s = {.look = l};
    double factor = kino__matmul_each(l->scan, true, see, &s);
    int64_t device = (int64_t)((double)kino__scan_unite(&s.work) * factor);
    if (kino__is_above(device, l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &s, device, factor);
    kino__vec_deinit(&s.work);
    kino__vec_deinit(&s.missed);
}

const kino__rule_def kino__rule_matmul_alignment = {
    .name = "matmul-alignment",
    .help = "float16 or bfloat16 matrix products with sizes that are not multiples of 8",
    .gain = "kernel time of products without tensor cores less 1/speedup of it, times the busy "
            "share of the device; unknown if all use them",
    .thresholds = thresholds,
    .is_about_kernels = true,
    .look = look,
};
