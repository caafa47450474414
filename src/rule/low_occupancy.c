/* low_occupancy.c - kernels too small for the device.
 *
 * Two signs, both weighted by time and of computing kernels only: fewer blocks than multiprocessors
 * (blocks per SM below 1: some have nothing to do), and low occupancy where there are enough
 * blocks. Kernels on tensor cores run well at low occupancy and do not count for the second.
 *
 * Gain: for few blocks, the time of the kernels times the part of the multiprocessors that is
 * without a block, as far as the device is busy; it is an upper limit. For low occupancy alone it
 * is not known. */
#include <math.h>

#include "rule/rule.h"

enum { T_SHARE, T_OCCUPANCY };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.3, "share of the step time in such kernels"},
    [T_OCCUPANCY] = {"occupancy", 15, "occupancy considered low, in percent"},
    {0},
};

typedef struct total {
    kino__intervals few, low; /* their kernels, united */
    double lost;              /* of the time of those with few blocks: the idle part */
    kino__top few_top, low_top;
} total;

static void add_kernel(const kino__rule_look *l, kino__intervals *list, kino__interval span)
{
    if (!kino__scan_add_span(l->scan, span, list))
        l->out->failed = true;
}

static int64_t time_of(const kino__intervals *list)
{
    return kino__intervals_total(list->items, list->count);
}

static total add_kernels(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    total t = {0};
    double few = 0, lost = 0;
    for (size_t i = 0; i < p->kernels.count; i++) {
        const kino__kernel_info *k = &p->kernels.items[i];
        kino__interval span = kino__scan_interval(l->scan, k->row);
        int64_t time = kino__scan_in_steps(l->scan, span);
        if (k->is_communication || time == 0)
            continue;
        kino_strid name = l->trace->name[k->row];
        bool is_tensor = name != KINO_NO_STRING && p->name_flags[name] & KINO__NAME_TENSOR_CORES;
        const kino__kernel_shape *shape = kino__profile_shape(p, k);
        if (shape->blocks_per_sm > 0 && shape->blocks_per_sm < 1) {
            few += (double)time;
            lost += (double)time * (1 - shape->blocks_per_sm);
            add_kernel(l, &t.few, span);
            kino__top_add(&t.few_top, time, k->row);
        } else if (!isnan(shape->occupancy) && shape->occupancy >= 0 && !is_tensor &&
                   shape->occupancy < l->thresholds[T_OCCUPANCY]) {
            add_kernel(l, &t.low, span);
            kino__top_add(&t.low_top, time, k->row);
        }
    }
    (void)kino__scan_unite(&t.few);
    (void)kino__scan_unite(&t.low);
    t.lost = few > 0 ? lost / few : 0;
    return t;
}

static void say_few(const kino__rule_look *l, const total *t)
{
    int64_t lost = (int64_t)((double)time_of(&t->few) * t->lost);
    int64_t gain = kino__scan_device_gain(l->scan, lost, l->facts->step_time);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "kernels have fewer blocks than the device has multiprocessors");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "kernels with less than one block per multiprocessor run for %s of the step "
                      "time; the longest is %s",
                      kino__say_share(time_of(&t->few), l->facts->step_time),
                      kino__say_name(l->trace, (uint32_t)t->few_top.index[0]));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "multiprocessors without a block are idle while such a kernel runs");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "give each kernel more work%s, or run independent work on other streams",
                      l->program->framework == KINO__FRAMEWORK_NONE
                          ? " (larger grids)"
                          : " (larger batch, longer sequences at once, fewer and larger tensors)");
    kino__finding_claim_list(l->out, f, &t->few);
    for (size_t i = 0; i < t->few_top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)t->few_top.index[i]));
}

static void say_low(const kino__rule_look *l, const total *t)
{
    kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_LOW, KINO_NO_INT);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "kernels run at low occupancy");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "kernels with an estimated occupancy below %.0f %% and without tensor cores run "
        "for %s of the step time; the longest is %s",
        l->thresholds[T_OCCUPANCY], kino__say_share(time_of(&t->low), l->facts->step_time),
        kino__say_name(l->trace, (uint32_t)t->low_top.index[0]));
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "with few active warps, a multiprocessor cannot hide memory latency");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "for your own kernels, use fewer registers, less shared memory or larger grids%s",
        kino__program_is_torch(l->program)
            ? "; for others, use larger tensors, or torch.compile, which may choose better kernels"
            : "");
    for (size_t i = 0; i < t->low_top.count; i++)
        kino__finding_cite(f, kino__trace_event_id(l->trace, (uint32_t)t->low_top.index[i]));
}

static void look(const kino__rule_look *l)
{
    total t = add_kernels(l);
    if (kino__is_above(time_of(&t.few), l->facts->step_time, l->thresholds[T_SHARE]))
        say_few(l, &t);
    if (kino__is_above(time_of(&t.low), l->facts->step_time, l->thresholds[T_SHARE]))
        say_low(l, &t);
    kino__vec_deinit(&t.few);
    kino__vec_deinit(&t.low);
}

const kino__rule_def kino__rule_low_occupancy = {
    .name = "low-occupancy",
    .help = "kernels with fewer blocks than multiprocessors, or with low occupancy, take much time",
    .gain = "time of kernels with few blocks, times the idle share of the multiprocessors, times "
            "the busy share of the device; unknown for low occupancy",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .is_about_kernels = true,
    .look = look,
};
