/* launch_bound.c - many small kernels, and the device waits for the next launch.
 *
 * Idle gaps shorter than a limit lie between kernels that come one by one as the host launches
 * them; longer ones have other reasons (idle-gaps). The rule speaks when the short ones add up,
 * kernels are short on average, and there are many.
 *
 * Gain: the short gaps, without those in which the host loads data or waits for the device, less
 * one microsecond each: about what is left between kernels of a CUDA graph. */
#include "rule/gap_times.h"

enum { T_SHARE, T_GAP, T_KERNEL, T_COUNT };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.15, "part of the step time in short gaps"},
    [T_GAP] = {"gap_us", 100, "what a short gap is, in us"},
    [T_KERNEL] = {"kernel_us", 50, "mean duration of kernels, in us, up to which they are small"},
    [T_COUNT] = {"count", 20, "kernels in a step"},
    {0},
};

enum { LEFT_NS = 1000 };

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    double kernel_time = 0;
    for (size_t i = 0; i < p->kernels.count; i++)
        kernel_time += (double)kino__scan_interval(l->scan, p->kernels.items[i].row).end -
                       (double)l->trace->ts[p->kernels.items[i].row];
    double mean = p->kernels.count ? kernel_time / (double)p->kernels.count : 0;
    double per_step =
        l->facts->step_count ? (double)p->kernels.count / (double)l->facts->step_count : 0;
    if (p->kernels.count == 0 || per_step < l->thresholds[T_COUNT] ||
        mean > 1000 * l->thresholds[T_KERNEL])
        return;
    kino__gaps gaps;
    if (!kino__gaps_find(l->scan, 1, (int64_t)(1000 * l->thresholds[T_GAP]), &gaps)) {
        l->out->failed = true;
        return;
    }
    int64_t time = gaps.time - gaps.part[KINO__GAP_LOADER] - gaps.part[KINO__GAP_BLOCKED];
    if (!kino__is_above(time, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    int64_t gain = time - (int64_t)gaps.count * LEFT_NS;
    gain = gain < 0 ? 0 : gain;
    char causes[160];
    kino__gaps_say(l->scan, &gaps, causes, sizeof causes);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "the device waits for the host to launch small kernels");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.0f kernels a step of %s on average, and %s of the step time in gaps between "
        "them (%s each); meanwhile the host spends %s",
        per_step, kino__say_time((int64_t)mean), kino__say_share(time, l->facts->step_time),
        kino__say_time(gaps.time / (int64_t)gaps.count), causes);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "a launch costs the host several us; kernels that take no longer cannot keep "
                      "the device busy");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "fuse and launch less: torch.compile(model, mode=\"reduce-overhead\"), CUDA "
        "graphs (torch.cuda.make_graphed_callables), a fused optimizer, a larger batch");
    if (l->facts->first_step_row != KINO_NO_INT)
        kino__finding_cite(f, l->facts->first_step_row);
}

const kino__rule_def kino__rule_launch_bound = {
    .name = "launch-bound",
    .help = "many small kernels with short gaps between them",
    .gain = "short gaps without data loading and waiting, less 1 us each",
    .thresholds = thresholds,
    .look = look,
};
