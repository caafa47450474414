/* rule_costs.h - costs of operators for rules. */
#ifndef KINO__RULE_RULE_COSTS_H
#define KINO__RULE_RULE_COSTS_H

#include "analysis/costs/cost_work.h"
#include "rule/rule.h"

/* Do rules look at costs in this trace? Not in one of more than 3 million events. What costs are
 * computed from must not be released before. */
bool kino__rule_wants_costs(const kino__trace *trace);

/* The work of the trace with its costs; NULL: rules do not want them there, or memory is out, which
 * the findings remember. */
const kino__cost_work *kino__rule_costs(const kino__rule_look *look);

/* Bytes that the kernel of a row writes; KINO_NO_INT: unknown. */
int64_t kino__rule_bytes_written(const kino__cost_work *work, uint32_t row);

#endif
