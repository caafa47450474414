/* slow_steps.h - the usual length of a step, for the rules about steps that are longer. */
#ifndef KINO__RULE_SLOW_STEPS_H
#define KINO__RULE_SLOW_STEPS_H

#include "rule/rule.h"

/* Median over the kept steps from `first` on of their lengths, or of one of their parts (`role`;
 * KINO__ROLE_COUNT: the length); KINO_NO_INT when there are none or memory is out. */
int64_t kino__step_median(const kino__profile *profile, size_t first, kino__role role);

/* Claims the time of the parts that make a step long: what happens once is not advice for every
 * step. */
void kino__step_claim(const kino__rule_look *look, const kino__finding *finding,
                      const kino__profile_step *step);

static inline int64_t kino__step_length(const kino__profile_step *step)
{
    return step->end - step->start;
}

#endif
