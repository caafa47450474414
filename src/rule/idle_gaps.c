/* idle_gaps.c - long gaps in which the device does nothing, and what the host did meanwhile.
 *
 * Gaps from a certain length on, inside the steps. Time of the data loader does not count: data-
 * loading speaks of it. Where the device is idle for most of the time, gpu-utilization says the
 * same.
 *
 * Gain: the time of these gaps without the data loader's. It is an upper limit: what the host does
 * there has to be done at another time. */
#include <stdio.h>

#include "rule/gap_times.h"

enum { T_SHARE, T_GAP };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.1, "part of the step time in long gaps, without data loading"},
    [T_GAP] = {"gap_us", 100, "what a long gap is, in us"},
    {0},
};

static void look(const kino__rule_look *l)
{
    kino__gaps gaps;
    if (!l->profile->has_kernel)
        return;
    if (!kino__gaps_find(l->scan, (int64_t)(1000 * l->thresholds[T_GAP]), INT64_MAX, &gaps)) {
        l->out->failed = true;
        return;
    }
    int64_t time = gaps.time - gaps.part[KINO__GAP_LOADER];
    if (!kino__is_above(time, l->facts->step_time, l->thresholds[T_SHARE]))
        return;
    char causes[160], line[160], where[300] = "";
    kino__gaps_say(l->scan, &gaps, causes, sizeof causes);
    kino__scan_item at = kino__scan_host_at(
        l->scan, gaps.longest.start + (gaps.longest.end - gaps.longest.start) / 2);
    kino__scan_line(l->scan, &at, line, sizeof line);
    if (at.op != KINO_NO_ROW || *line)
        (void)snprintf(where, sizeof where, ", with the host in %.100s%s%s",
                       at.op == KINO_NO_ROW ? "Python" : kino__say_name(l->trace, at.op),
                       *line ? " at " : "", line);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(time, l->facts->step_time), time);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the device waits in long gaps");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%.1f gaps a step of %s on average, %s of the step time; meanwhile the host "
                      "spends %s. The longest is %s%s",
                      (double)gaps.count / (double)l->facts->step_count,
                      kino__say_time(gaps.time / (int64_t)gaps.count),
                      kino__say_share(gaps.time, l->facts->step_time), causes,
                      kino__say_time(gaps.longest.end - gaps.longest.start), where);
    kino__finding_say(l->out, f, KINO__SAY_WHY, "nothing is queued for the device in this time");
    kino__finding_say(
        l->out, f, KINO__SAY_DO,
        "move what the host does there out of the step or into another thread (logging, "
        "metrics, checkpoints, preparing batches), and avoid waiting for results");
    if (at.row != KINO_NO_ROW)
        kino__finding_cite(f, kino__trace_event_id(l->trace, at.row));
    if (at.frame != KINO_NO_ROW)
        kino__finding_cite(f, kino__trace_event_id(l->trace, at.frame));
}

const kino__rule_def kino__rule_idle_gaps = {
    .name = "idle-gaps",
    .help = "the device has nothing to do for long stretches of the step",
    .gain = "the long gaps without data loading; an upper limit",
    .thresholds = thresholds,
    .yields_to = "gpu-utilization",
    .look = look,
};
