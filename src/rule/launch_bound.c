/* launch_bound.c - small kernels, and the device waits for the next launch.
 *
 * Idle gaps shorter than a limit lie between kernels that come one by one as the host launches
 * them; longer ones have other reasons (idle-gaps). The rule speaks when the short ones add up and
 * kernels are short on average, in long steps with many of them and in short steps with few.
 * Kernels of collectives do not count: they take as long as the ranks are apart.
 *
 * Gain: the short gaps, without those in which the host loads data or waits for the device, less
 * one microsecond each: about what is left between kernels of a CUDA graph. */
#include "rule/gap_times.h"

enum { T_SHARE, T_GAP, T_KERNEL, T_COUNT };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.15, "share of the step time in short gaps"},
    [T_GAP] = {"gap_us", 100, "maximum length of a short gap, in µs"},
    [T_KERNEL] = {"kernel_us", 50, "maximum mean duration of small kernels, in µs"},
    [T_COUNT] = {"count", 3, "kernels per step"},
    {0},
};

enum { LEFT_NS = 1000 };

/* Short gaps in which the host neither loads data nor waits for the device. */
static int64_t launching(const kino__gap_times *gaps)
{
    return gaps->time - gaps->part[KINO__GAP_LOADER] - gaps->part[KINO__GAP_QUEUED] -
           gaps->part[KINO__GAP_BLOCKED];
}

static void speak(const kino__rule_look *l, const kino__gap_times *gaps,
                  const kino__intervals *kept, double per_step, int64_t mean)
{
    int64_t time = launching(gaps);
    int64_t gain = time - (int64_t)gaps->count * LEFT_NS;
    gain = gain < 0 ? 0 : gain;
    char causes[160];
    kino__gaps_say(l->scan, gaps, causes, sizeof causes);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE,
                      "the device waits for the host to launch small kernels");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.0f kernels per step of %s on average, and %s of the step time in gaps "
                      "between them (%s each); meanwhile, the host spends %s",
                      per_step, kino__say_time(mean), kino__say_share(time, l->facts->step_time),
                      kino__say_time(gaps->time / (int64_t)gaps->count), causes);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "a launch costs the host several µs; kernels shorter than that cannot keep "
                      "the device busy");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", kino__advise_launches(l->program));
    kino__finding_claim_list(l->out, f, kept);
    if (l->facts->first_step_row != KINO_NO_INT)
        kino__finding_cite(f, l->facts->first_step_row);
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    double time = 0;
    size_t count = 0;
    for (size_t i = 0; i < p->kernels.count; i++) {
        if (p->kernels.items[i].is_communication)
            continue;
        kino__interval span = kino__scan_interval(l->scan, p->kernels.items[i].row);
        time += (double)(span.end - span.start);
        count++;
    }
    double mean = count ? time / (double)count : 0;
    double per_step = l->facts->step_count ? (double)count / (double)l->facts->step_count : 0;
    if (count == 0 || per_step < l->thresholds[T_COUNT] || mean > 1000 * l->thresholds[T_KERNEL])
        return;
    kino__gap_times gaps;
    kino__intervals kept = {0};
    if (!kino__gaps_find(l->scan, 1, (int64_t)(1000 * l->thresholds[T_GAP]), KINO__GAP_CALLS, &gaps,
                         &kept))
        l->out->failed = true;
    else if (kino__is_above(launching(&gaps), l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &gaps, &kept, per_step, (int64_t)mean);
    kino__vec_deinit(&kept);
}

const kino__rule_def kino__rule_launch_bound = {
    .name = "launch-bound",
    .help = "small kernels with short gaps between them",
    .gain = "short gaps without data loading and waiting, less 1 µs each",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .look = look,
};
