/* slow_steps.c - single steps that take much longer than the others.
 *
 * Steps, the first one left out (warm-up speaks of it), longer than the median by a factor. The
 * part of the worst one that exceeds its median most says why.
 *
 * Gain: what these steps take beyond the median. */
#include "rule/slow_steps.h"

#include <stdlib.h>

#include "base/compare.h"

enum { T_FACTOR, T_STEPS };

static const kino__threshold thresholds[] = {
    [T_FACTOR] = {"factor", 1.5, "factor over the median length"},
    [T_STEPS] = {"steps", 4, "minimum number of steps, not counting the first"},
    {0},
};

int64_t kino__step_median(const kino__profile *profile, size_t first, kino__role role)
{
    size_t count = profile->steps.count > first ? profile->steps.count - first : 0;
    int64_t *values = count ? malloc(count * sizeof *values) : NULL;
    if (!values)
        return KINO_NO_INT;
    for (size_t i = 0; i < count; i++) {
        const kino__profile_step *step = &profile->steps.items[first + i];
        values[i] = role == KINO__ROLE_COUNT ? kino__step_length(step) : step->cost[role];
    }
    qsort(values, count, sizeof *values, kino__compare_ints);
    int64_t median = values[(count - 1) / 2];
    free(values);
    return median;
}

static kino__role find_cause(const kino__profile *p, const kino__profile_step *step, int64_t *more)
{
    kino__role cause = KINO__ROLE_OTHER;
    *more = 0;
    for (int role = 0; role < KINO__ROLE_COUNT; role++) {
        int64_t median = kino__step_median(p, 1, (kino__role)role);
        if (median != KINO_NO_INT && step->cost[role] - median > *more) {
            *more = step->cost[role] - median;
            cause = (kino__role)role;
        }
    }
    return cause;
}

static const char *advice(kino__role cause)
{
    switch (cause) {
    case KINO__ROLE_LOADER:
        return "look at the input: slow storage, shuffling, or a new epoch; with worker processes, "
               "raise prefetch_factor so that single late batches do not matter";
    case KINO__ROLE_COMMUNICATION:
        return "look at what the other ranks did in this step: one of them, or the network, was "
               "slow";
    case KINO__ROLE_KERNEL:
        return "compare its kernels with those of another step: different sizes (recompilation, "
               "autotuning) or lower clocks";
    default:
        return "look at what the host did in this step: logging, checkpoints, evaluation, garbage "
               "collection, or recompilation for a new shape";
    }
}

static const kino__cover *cover_of(const kino__scan *scan, kino__role role)
{
    return role == KINO__ROLE_LOADER          ? &scan->loading
           : role == KINO__ROLE_COMMUNICATION ? &scan->communication
           : role == KINO__ROLE_KERNEL        ? &scan->compute
                                              : &scan->idle;
}

void kino__step_claim(const kino__rule_look *l, const kino__finding *f,
                      const kino__profile_step *step)
{
    enum {
        PARTS_MOST = 10
    }; /* a part that is less than a tenth of the whole makes no difference */
    int64_t more = kino__step_length(step) - kino__step_median(l->profile, 1, KINO__ROLE_COUNT);
    for (int role = 0; role < KINO__ROLE_COUNT; role++) {
        int64_t median = kino__step_median(l->profile, 1, (kino__role)role);
        if (median != KINO_NO_INT && step->cost[role] - median > more / PARTS_MOST)
            kino__finding_claim_cover(l->out, f, cover_of(l->scan, (kino__role)role), step->start,
                                      step->end);
    }
}

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    int64_t median = kino__step_median(p, 1, KINO__ROLE_COUNT), gain = 0;
    if (median <= 0 || (double)(p->steps.count - 1) < l->thresholds[T_STEPS])
        return;
    size_t count = 0;
    kino__top top = {0};
    for (size_t i = 1; i < p->steps.count; i++) {
        int64_t length = kino__step_length(&p->steps.items[i]);
        if ((double)length <= l->thresholds[T_FACTOR] * (double)median)
            continue;
        count++;
        gain += length - median;
        kino__top_add(&top, length, i);
    }
    if (count == 0)
        return;
    int64_t more;
    const kino__profile_step *worst = &p->steps.items[top.index[0]];
    kino__role cause = find_cause(p, worst, &more);
    kino__finding *f =
        kino__finding_add(l->out, kino__severity_of(gain, l->facts->step_time), gain);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "some steps take much longer than the others");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "%zu of %zu steps; step %.*s takes %s, the median is %s, %s of the "
                      "difference in %s",
                      count, p->steps.count, (int)kino__cut(worst->name, 40), worst->name.data,
                      kino__say_time(kino__step_length(worst)), kino__say_time(median),
                      kino__say_time(more), kino__role_name(cause));
    kino__finding_say(
        l->out, f, KINO__SAY_WHY,
        "averages hide this: the other steps are fine, so the cause occurs only occasionally");
    kino__finding_say(l->out, f, KINO__SAY_DO, "%s", advice(cause));
    for (size_t i = 1; i < p->steps.count; i++)
        if ((double)kino__step_length(&p->steps.items[i]) >
            l->thresholds[T_FACTOR] * (double)median)
            kino__step_claim(l, f, &p->steps.items[i]);
    for (size_t i = 0; i < top.count; i++) {
        uint32_t row = p->steps.items[top.index[i]].row;
        if (row != KINO_NO_ROW)
            kino__finding_cite(f, kino__trace_event_id(l->trace, row));
    }
}

const kino__rule_def kino__rule_slow_steps = {
    .name = "slow-steps",
    .help = "single steps are much longer than the median",
    .gain = "the time of these steps beyond the median",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_ONCE,
    .look = look,
};
