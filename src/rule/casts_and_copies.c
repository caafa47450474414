/* casts_and_copies.c - the device copies tensors: other types, other layouts, joined ones.
 *
 * Kernels that only move data (kernel_kinds.def: COPY). What they are for says the operator above
 * them: aten::_to_copy is a cast, aten::contiguous, clone and reshape another layout, cat a join.
 * Kernels that convert between NCHW and NHWC (LAYOUT) are cuDNN's own.
 *
 * Gain: their time within the steps, as far as the device is busy. */
#include "rule/kernel_kinds.h"

enum { T_DEVICE, T_SHARE };

static const kino__threshold thresholds[] = {
    [T_DEVICE] = {"device", 0.08, "share of the kernel time in such kernels"},
    [T_SHARE] = {"share", 0.02, "share of the step time in such kernels"},
    {0},
};

typedef enum reason {
    REASON_CAST,
    REASON_LAYOUT,
    REASON_CHANNELS, /* by the library itself, around its kernels */
    REASON_JOIN,
    REASON_OTHER,
    REASON_COUNT
} reason;

typedef struct reasons {
    const kino__profile *profile;
    int64_t by[REASON_COUNT];
} reasons;

/* The operator that the copy is for, from the one that launched it upwards. */
static reason reason_of(const kino__profile *p, uint32_t node)
{
    static const struct {
        const char *name;
        reason why;
    } known[] = {{"aten::_to_copy", REASON_CAST},     {"aten::to", REASON_CAST},
                 {"aten::cat", REASON_JOIN},          {"aten::stack", REASON_JOIN},
                 {"aten::contiguous", REASON_LAYOUT}, {"aten::reshape", REASON_LAYOUT},
                 {"aten::clone", REASON_LAYOUT}};
    for (int depth = 0; node != KINO__NO_NODE && depth < 4; depth++) {
        const kino__node *n = &p->nodes.items[node];
        bool has_name = kino__node_name_id(p, n) != KINO_NO_STRING;
        for (size_t i = 0; has_name && i < sizeof known / sizeof *known; i++)
            if (kino__str_is(kino__node_name(p, n), known[i].name))
                return known[i].why;
        node = n->parent;
    }
    return REASON_OTHER;
}

static bool see(void *context, const kino__kernel_info *kernel, uint8_t kind, int64_t time)
{
    reasons *r = context;
    if (kind != KINO__KERNEL_KIND_COPY && kind != KINO__KERNEL_KIND_LAYOUT)
        return false;
    r->by[kind == KINO__KERNEL_KIND_LAYOUT ? REASON_CHANNELS
                                           : reason_of(r->profile, kernel->node)] += time;
    return true;
}

static const char *advice(const kino__rule_look *l, reason most)
{
    switch (most) {
    case REASON_CAST:
        return l->program->is_training
                   ? "cast once instead of in every call: one torch.autocast around the whole "
                     "forward pass, inputs in the right type from the loader; torch.compile fuses "
                     "the rest into their neighbors"
                   : "cast once instead of in every call: model.to(torch.bfloat16) and inputs of "
                     "that type instead of torch.autocast; torch.compile fuses the rest into their "
                     "neighbors";
    case REASON_LAYOUT:
        return "avoid .contiguous(), .clone() and reshape of transposed tensors: keep one layout "
               "(channels_last for convolutions), let the next operator read strides; "
               "torch.compile fuses the rest";
    case REASON_CHANNELS:
        return "use channels_last, which the convolutions' kernels want: "
               "model.to(memory_format=torch.channels_last), and the same for the inputs";
    case REASON_JOIN:
        return "write into one preallocated tensor instead of torch.cat or torch.stack in every "
               "step; torch.compile fuses the rest";
    default:
        return "keep one type and one layout through the step, and let torch.compile fuse the "
               "remaining copies";
    }
}

static void speak(const kino__rule_look *l, kino__kernel_sum *t, const reasons *why)
{
    static const char *const words[] = {
        "casts", "layout changes", "conversions between NCHW and NHWC", "joins", "other copies"};
    int64_t time = kino__intervals_total(t->list.items, t->list.count);
    int64_t gain = kino__scan_device_gain(l->scan, time, l->facts->step_time);
    reason most = REASON_CAST;
    for (int r = 0; r < REASON_COUNT; r++)
        most = why->by[r] > why->by[most] ? (reason)r : most;
    char ops[256];
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "the device spends much of its time on casts and copies");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.0f kernels per step only copy data: %s of the kernel time, %s of the step "
                      "time, mostly %s; by operator: %s",
                      (double)t->count / (double)l->facts->step_count,
                      kino__say_share(t->ops.total, t->all),
                      kino__say_share(time, l->facts->step_time), words[most],
                      kino__shares_say(&t->ops, l->trace, ops, sizeof ops));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "they read and write entire tensors without computing anything");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(l, most));
    kino__kernels_cite(l, f, t);
}

static void look(const kino__rule_look *l)
{
    reasons why = {.profile = l->profile};
    kino__kernel_sum sum;
    kino__kernels_sum(l, see, &why, &sum);
    if (kino__kernels_matter(l, &sum, l->thresholds[T_DEVICE], l->thresholds[T_SHARE]))
        speak(l, &sum, &why);
    kino__vec_deinit(&sum.list);
}

const kino__rule_def kino__rule_casts_and_copies = {
    .name = "casts-and-copies",
    .help = "kernels that only copy data take a noticeable share of the kernel time",
    .gain = "their time, times the busy share of the device",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .is_about_kernels = true,
    .look = look,
};
