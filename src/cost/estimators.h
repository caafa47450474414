/* estimators.h - PyTorch's own two estimates of operations: the `with_flops` of its profiler, and
 * torch.utils.flop_counter. Operations only; bytes are unknown. What they do not know is 0 in
 * PyTorch, and unknown here. */
#ifndef KINO__COST_ESTIMATORS_H
#define KINO__COST_ESTIMATORS_H

#include "cost/family.h"

/* By ask->mode, which is one of theirs. */
void kino__cost_estimate(const kino__cost_ask *ask, kino_str bare, kino__cost *cost);

#endif
