/* gpu_utilization.c - devices that mostly wait. The plugin's fifth rule.
 *
 * Gain: half of the idle time of the least used device, without data loading and exposed
 * communication, of which other rules speak. Half, because the host's work remains; how much of it
 * can be hidden the trace does not say. */
#include <stdio.h>

#include "rule/gap_times.h"

enum { T_UTILIZATION };

static const kino__threshold thresholds[] = {
    [T_UTILIZATION] = {"utilization", 0.5,
                       "busy share of the steps below which a device counts as idle"},
    {0},
};

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    char list[128] = "";
    size_t used = 0, count = 0;
    double lowest = 1;
    for (size_t i = 0; i < p->metrics.count; i++) {
        const kino__device_metrics *m = &p->metrics.items[i];
        if (!(m->utilization < l->thresholds[T_UTILIZATION]))
            continue;
        if (used + 24 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%lld", count ? ", " : "",
                                     (long long)m->device);
        count++;
        lowest = m->utilization < lowest ? m->utilization : lowest;
    }
    if (count == 0)
        return;
    kino__gap_times gaps = {0};
    kino__intervals kept = {0};
    if (l->scan && !kino__gaps_find(l->scan, 1, INT64_MAX, KINO__GAP_BLOCKED, &gaps, &kept))
        l->out->failed = true;
    int64_t idle = l->scan ? kino__intervals_total(kept.items, kept.count)
                           : (int64_t)((double)l->facts->step_time * (1 - lowest));
    int64_t gain = idle > 0 ? idle / 2 : 0;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the device is idle for much of the step");
    char causes[160] = "";
    if (l->scan)
        kino__gaps_say(l->scan, &gaps, causes, sizeof causes);
    kino__finding_say(l->out, f, KINO__SAY_SEEN, "%s %s: %s %.1f %% of the time%s%s",
                      count > 1 ? "devices" : "device", list,
                      count > 1 ? "the least busy one runs kernels" : "kernels run", 100 * lowest,
                      *causes ? "; while the device is idle, the host spends " : "", causes);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the host does not submit work fast enough, or each kernel is too small");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "%s; move what the host does meanwhile out of the step",
                      kino__advise_launches(l->program));
    if (l->scan)
        kino__finding_claim_list(l->out, f, &kept);
    kino__vec_deinit(&kept);
    if (l->facts->first_step_row != KINO_NO_INT)
        kino__finding_cite(f, l->facts->first_step_row);
}

const kino__rule_def kino__rule_gpu_utilization = {
    .name = "gpu-utilization",
    .help = "a device runs kernels for less than half of the step time",
    .gain = "half of the idle time that no other rule explains",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_SYMPTOM,
    .is_plugins = true,
    .look = look,
};
