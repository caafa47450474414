/* thresholds.h - thresholds that the user sets: "data-loading.share=0.1,warm-up.factor=2". */
#ifndef KINO__RULE_THRESHOLDS_H
#define KINO__RULE_THRESHOLDS_H

#include "rule/rule.h"

/* KINO_ARGUMENT with a message that says what would fit, unless each item names a threshold and has
 * a number. */
KINO_NODISCARD kino_status kino__thresholds_check(kino_str set, kino_error *err);

/* The value that is set for a threshold (the last one, when there are several), or its default. */
double kino__threshold_of(kino_str set, const kino__rule_def *rule,
                          const kino__threshold *threshold);

#endif
