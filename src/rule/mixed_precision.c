/* mixed_precision.c - matrix work that could use tensor cores and does not. The plugin's sixth
 * rule.
 *
 * Gain: kernel time of eligible operators less what is left at the given speed-up, as far as the
 * device is busy. */
#include "rule/device_facts.h"
#include "rule/rule.h"

enum { T_SPEEDUP };

static const kino__threshold thresholds[] = {
    [T_SPEEDUP] = {"speedup", 2, "assumed speedup of eligible kernels"},
    {0},
};

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    int64_t major = kino__device_property(l->trace, 0, "computeMajor");
    if (major == KINO_NO_INT || major < 7 || !p->has_kernel || p->tensor_used_ratio != 0 ||
        !(p->tensor_eligible_ratio > 0))
        return;
    if (!l->is_compat && l->program->device != KINO__DEVICE_FAMILY_CUDA)
        return; /* which kernels use matrix units of others is not known */
    double kernels = (double)l->facts->role[KINO__ROLE_KERNEL];
    int64_t gain =
        (int64_t)(kernels * p->tensor_eligible_ratio * (1 - 1 / l->thresholds[T_SPEEDUP]));
    if (l->scan)
        gain = kino__scan_device_gain(l->scan, gain, l->facts->step_time);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "tensor cores are not used");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.0f %% of the operators' kernel time is in operators that could use them, but 0 %% does",
        100 * p->tensor_eligible_ratio);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "matrix products and convolutions run several times faster on tensor cores");
    kino__finding_say(l->out, f, KINO__SAY_DO, "use torch.autocast with %s%s",
                      major < 8                 ? "float16"
                      : l->program->is_training ? "bfloat16, or float16 with GradScaler"
                                                : "bfloat16 or float16",
                      major >= 8 ? ", or torch.set_float32_matmul_precision(\"high\") for TF32"
                      : l->program->is_training ? " and GradScaler"
                                                : "");
    for (size_t i = 0; l->scan && i < p->kernels.count; i++) {
        uint32_t node = p->kernels.items[i].node;
        if (node != KINO__NO_NODE && p->nodes.items[node].is_eligible)
            kino__scan_claim_row(l, f, p->kernels.items[i].row);
    }
    for (size_t i = 0, cited = 0; i < p->kernels.count && cited < 3; i++) {
        const kino__kernel_info *k = &p->kernels.items[i];
        if (k->node == KINO__NO_NODE || !p->nodes.items[k->node].is_eligible)
            continue;
        kino__finding_cite(f, kino__trace_event_id(l->trace, k->row));
        cited++;
    }
}

const kino__rule_def kino__rule_mixed_precision = {
    .name = "mixed-precision",
    .help = "the device has tensor cores and there are eligible operators, but none use them",
    .gain = "kernel time of eligible operators less 1/speedup of it, times the busy share of the "
            "device",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .is_plugins = true,
    .is_about_kernels = true,
    .look = look,
};
