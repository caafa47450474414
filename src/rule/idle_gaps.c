/* idle_gaps.c - long gaps in which the device does nothing, and what the host did meanwhile.
 *
 * Gaps from a certain length on, inside the steps. Time of the data loader does not count: data-
 * loading speaks of it; nor does time in which the next work was launched already.
 *
 * Gain: the time of these gaps without the data loader's. It is an upper limit: what the host does
 * there has to be done at another time. */
#include <stdio.h>

#include "rule/gap_times.h"
#include "rule/kernel_kinds.h"

enum { T_SHARE, T_GAP };

static const kino__threshold thresholds[] = {
    [T_SHARE] = {"share", 0.1, "share of the step time in long gaps, without data loading"},
    [T_GAP] = {"gap_us", 100, "minimum length of a long gap, in µs"},
    {0},
};

/* The call that the host is in most while the device is idle, by idle time; KINO_NO_STRING: none.
 */
static kino_strid worst_call(const kino__rule_look *l)
{
    kino__shares shares = {0};
    for (uint32_t row = 0; row < l->trace->event_count; row++) {
        if (l->profile->type[row] != KINO__EVENT_TYPE_RUNTIME || l->trace->dur[row] <= 0)
            continue;
        kino__interval call = kino__scan_interval(l->scan, row);
        kino__shares_add(&shares, l->trace->name[row],
                         kino__cover_within(&l->scan->idle, call.start, call.end));
    }
    size_t best = 0;
    for (size_t i = 1; i < shares.count; i++)
        best = shares.items[i].time > shares.items[best].time ? i : best;
    return shares.count ? shares.items[best].name : KINO_NO_STRING;
}

/* By what the host does most in the gaps. */
static const char *advice(const kino__rule_look *l, const kino__gap_times *gaps, kino_strid call)
{
    int64_t launching = gaps->part[KINO__GAP_CALLS] + gaps->part[KINO__GAP_OPERATORS];
    int64_t blocked = gaps->part[KINO__GAP_BLOCKED], rest = gaps->part[KINO__GAP_PYTHON];
    bool is_copy = call != KINO_NO_STRING &&
                   kino__str_contains(kino__trace_string(l->trace, call), KINO__STR("Memcpy"));
    if (is_copy && gaps->part[KINO__GAP_CALLS] > gaps->time / 2)
        blocked += gaps->part[KINO__GAP_CALLS]; /* a copy of pageable memory waits for its stream */
    launching -= blocked > gaps->part[KINO__GAP_BLOCKED] ? gaps->part[KINO__GAP_CALLS] : 0;
    if (blocked > launching && blocked > rest)
        return kino__advise_waits(l->program);
    if (launching > rest)
        return kino__advise_launches(l->program);
    return "move host work (logging, metrics, checkpoints, preparing batches) out of the step or "
           "into another thread, and avoid waiting for results";
}

/* Without the loader's part, which another rule is about, and that in which work was queued. */
static int64_t made_by_host(const kino__gap_times *gaps)
{
    return gaps->time - gaps->part[KINO__GAP_LOADER] - gaps->part[KINO__GAP_QUEUED];
}

static void speak(const kino__rule_look *l, const kino__gap_times *gaps,
                  const kino__intervals *kept)
{
    int64_t time = made_by_host(gaps);
    kino__interval longest = {0, 0};
    for (size_t i = 0; i < kept->count; i++)
        if (kept->items[i].end - kept->items[i].start > longest.end - longest.start)
            longest = kept->items[i];
    char causes[160], line[160], where[300] = "";
    kino__gap_times without = *gaps;
    without.time = time;
    without.part[KINO__GAP_LOADER] = without.part[KINO__GAP_QUEUED] = 0;
    kino__gaps_say(l->scan, &without, causes, sizeof causes);
    kino__scan_item at =
        kino__scan_host_at(l->scan, longest.start + (longest.end - longest.start) / 2);
    kino__scan_line(l->scan, &at, line, sizeof line);
    if (at.op != KINO_NO_ROW || *line)
        (void)snprintf(where, sizeof where, ", while the host is in %.100s%s%s",
                       at.op == KINO_NO_ROW ? "Python" : kino__say_name(l->trace, at.op),
                       *line ? " at " : "", line);
    kino_strid call = gaps->part[KINO__GAP_CALLS] > gaps->time / 4 ? worst_call(l) : KINO_NO_STRING;
    char name[80] = "";
    if (call != KINO_NO_STRING) {
        kino_str text = kino__trace_string(l->trace, call);
        (void)snprintf(name, sizeof name, "%.*s", (int)kino__cut(text, sizeof name - 1), text.data);
    }
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(time, l->facts->step_time), time);
    kino__finding_claim_list(l->out, f, kept);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the device is idle in long gaps");
    kino__finding_say(
        l->out, f, KINO__SAY_SEEN,
        "%.1f gaps per step of %s on average, %s of the step time%s; meanwhile, the host spends "
        "%s%s%s. The longest is %s%s",
        (double)kept->count / (double)l->facts->step_count,
        kino__say_time(time / (int64_t)kept->count), kino__say_share(time, l->facts->step_time),
        gaps->part[KINO__GAP_LOADER] ? " without data loading" : "", causes,
        call == KINO_NO_STRING ? "" : ", most of the call time in ",
        call == KINO_NO_STRING ? "" : name, kino__say_time(longest.end - longest.start), where);
    kino__finding_say(l->out, f, KINO__SAY_WHY,
                      "nothing is queued for the device during this time");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(l, gaps, call));
    if (at.row != KINO_NO_ROW)
        kino__finding_cite(f, kino__trace_event_id(l->trace, at.row));
    if (at.frame != KINO_NO_ROW)
        kino__finding_cite(f, kino__trace_event_id(l->trace, at.frame));
}

static void look(const kino__rule_look *l)
{
    kino__gap_times gaps;
    kino__intervals kept = {0};
    if (!l->profile->has_kernel)
        return;
    if (!kino__gaps_find(l->scan, (int64_t)(1000 * l->thresholds[T_GAP]), INT64_MAX,
                         KINO__GAP_BLOCKED, &gaps, &kept))
        l->out->failed = true;
    else if (kino__is_above(made_by_host(&gaps), l->facts->step_time, l->thresholds[T_SHARE]))
        speak(l, &gaps, &kept);
    kino__vec_deinit(&kept);
}

const kino__rule_def kino__rule_idle_gaps = {
    .name = "idle-gaps",
    .help = "the device is idle for long stretches of the step",
    .gain = "the long gaps, without data loading; an upper bound",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_KIND,
    .look = look,
};
