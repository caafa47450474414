/* gpu_utilization.c - devices that mostly wait. The plugin's fifth rule.
 *
 * Gain: half of the idle time of the least used device, without data loading and exposed
 * communication, of which other rules speak. Half, because the host's work remains; how much of it
 * can be hidden the trace does not say. Unknown where the device had work in its queues for most of
 * the idle time: then the host is not what it waits for. */
#include <stdio.h>

#include "rule/gap_times.h"

enum { T_UTILIZATION };

static const kino__threshold thresholds[] = {
    [T_UTILIZATION] = {"utilization", 0.5,
                       "busy share of the steps below which a device counts as idle"},
    {0},
};

typedef struct idle_devices {
    char list[128];
    size_t count;
    double lowest; /* utilization of the least busy one */
} idle_devices;

static idle_devices find_devices(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    idle_devices found = {.lowest = 1};
    size_t used = 0;
    for (size_t i = 0; i < p->metrics.count; i++) {
        const kino__device_metrics *m = &p->metrics.items[i];
        if (!(m->utilization < l->thresholds[T_UTILIZATION]))
            continue;
        if (used + 24 < sizeof found.list)
            used += (size_t)snprintf(found.list + used, sizeof found.list - used, "%s%lld",
                                     found.count ? ", " : "", (long long)m->device);
        found.count++;
        found.lowest = m->utilization < found.lowest ? m->utilization : found.lowest;
    }
    return found;
}

static void say_seen(const kino__rule_look *l, kino__finding *f, const idle_devices *devices,
                     const char *meanwhile)
{
    bool are_many = devices->count > 1;
    kino__finding_say(l->out, f, KINO__SAY_SEEN, "%s %s: %s %.1f %% of the time%s",
                      are_many ? "devices" : "device", devices->list,
                      are_many ? "the least busy one runs kernels" : "kernels run",
                      100 * devices->lowest, meanwhile);
}

/* The host is the one to look at: it does not feed the device. */
static kino__finding *blame_host(const kino__rule_look *l, const idle_devices *devices,
                                 const kino__gap_times *gaps, int64_t idle)
{
    int64_t gain = idle > 0 ? idle / 2 : 0;
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    char causes[160] = "", meanwhile[224] = "";
    if (l->scan && *kino__gaps_say(l->scan, gaps, causes, sizeof causes))
        (void)snprintf(meanwhile, sizeof meanwhile,
                       "; while the device is idle, the host spends %s", causes);
    say_seen(l, f, devices, meanwhile);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the host does not submit work fast enough, or each kernel is too small");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "%s; move what the host does meanwhile out of the step",
                      kino__advise_launches(l->program));
    return f;
}

/* Work was launched in time, and the device did not start it: fewer launches would not help. */
static kino__finding *blame_device(const kino__rule_look *l, const idle_devices *devices,
                                   const kino__gap_times *gaps)
{
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(KINO_NO_INT, l->facts->step_time), KINO_NO_INT);
    char meanwhile[160];
    (void)snprintf(meanwhile, sizeof meanwhile,
                   "; in %.0f %% of its idle time it had work that was launched already",
                   100.0 * (double)gaps->part[KINO__GAP_QUEUED] / (double)gaps->time);
    say_seen(l, f, devices, meanwhile);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "the work waits on the device, not for the host: for events of other "
                      "streams, for other processes, or for work that was not recorded");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "look in the timeline at what the first kernel after each of the longest "
                      "gaps waits for: events of other streams, a collective, a copy, another "
                      "process on the device");
    return f;
}

/* A device that copies is not idle. The plugin counts kernels alone. */
static bool is_idle(const kino__rule_look *l, double utilization)
{
    const int64_t *role = l->facts->role;
    if (l->is_compat || l->facts->step_time <= 0)
        return true;
    double copies = (double)role[KINO__ROLE_MEMCPY] + (double)role[KINO__ROLE_MEMSET];
    return utilization + copies / (double)l->facts->step_time < l->thresholds[T_UTILIZATION];
}

static void look(const kino__rule_look *l)
{
    idle_devices devices = find_devices(l);
    if (devices.count == 0 || !is_idle(l, devices.lowest))
        return;
    kino__gap_times gaps = {0};
    kino__intervals kept = {0};
    if (l->scan && !kino__gaps_find(l->scan, 1, INT64_MAX, KINO__GAP_BLOCKED, &gaps, &kept))
        l->out->failed = true;
    int64_t idle = l->scan ? kino__intervals_total(kept.items, kept.count)
                           : (int64_t)((double)l->facts->step_time * (1 - devices.lowest));
    bool is_queued = gaps.time > 0 && gaps.part[KINO__GAP_QUEUED] > gaps.time / 2;
    kino__finding *f =
        is_queued ? blame_device(l, &devices, &gaps) : blame_host(l, &devices, &gaps, idle);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the device is idle for much of the step");
    if (l->scan && !is_queued)
        kino__finding_claim_list(l->out, f, &kept);
    kino__vec_deinit(&kept);
    if (l->facts->first_step_row != KINO_NO_INT)
        kino__finding_cite(f, l->facts->first_step_row);
}

const kino__rule_def kino__rule_gpu_utilization = {
    .name = "gpu-utilization",
    .help = "a device runs kernels for less than half of the step time",
    .gain = "half of the idle time that no other rule explains; unknown if work was queued",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_SYMPTOM,
    .is_plugins = true,
    .look = look,
};
