/* warm_up.c - the first step of the trace is a warm-up step.
 *
 * The first kept step is longer than the median of the others by a factor: caches, autotuning,
 * compilation, the allocator. It makes averages worse than the training is. What it is long with is
 * claimed: advice for every step does not speak of it. Information, no gain. */
#include "rule/slow_steps.h"

enum { T_FACTOR, T_STEPS };

static const kino__threshold thresholds[] = {
    [T_FACTOR] = {"factor", 1.5, "factor over the median length of the other steps"},
    [T_STEPS] = {"steps", 2, "minimum number of other steps"},
    {0},
};

static void look(const kino__rule_look *l)
{
    const kino__profile *p = l->profile;
    int64_t median = kino__step_median(p, 1, KINO__ROLE_COUNT);
    if (median <= 0 || (double)(p->steps.count - 1) < l->thresholds[T_STEPS])
        return;
    const kino__profile_step *first = &p->steps.items[0];
    int64_t length = kino__step_length(first);
    if ((double)length <= l->thresholds[T_FACTOR] * (double)median)
        return;
    kino__finding *f = kino__finding_add(l->out, KINO__SEVERITY_INFO, KINO_NO_INT);
    kino__finding_say(l->out, f, KINO__SAY_TITLE, "the trace begins with a warm-up step");
    kino__finding_say(l->out, f, KINO__SAY_SEEN,
                      "step %.*s takes %s, the median of the other %zu is %s",
                      (int)kino__cut(first->name, 40), first->name.data, kino__say_time(length),
                      p->steps.count - 1, kino__say_time(median));
    kino__finding_say(
        l->out, f, KINO__SAY_WHY,
        "it is included in all averages, which makes them worse than the run really is");
    kino__finding_say(l->out, f, KINO__SAY_DO,
                      "%s, or exclude the step with --steps in analyses that support it",
                      kino__advise_later(l->program));
    kino__step_claim(l, f, first);
    if (first->row != KINO_NO_ROW)
        kino__finding_cite(f, kino__trace_event_id(l->trace, first->row));
}

const kino__rule_def kino__rule_warm_up = {
    .name = "warm-up",
    .help = "the first step is much longer than the others",
    .thresholds = thresholds,
    .nearness = KINO__NEAR_ONCE,
    .look = look,
};
