/* settle.h - findings of one rank that are about the same time: each piece of it counts once.
 *
 * In the order of nearness to the cause (of equals: of the rules), each finding keeps what is left
 * of the time it claims. One that keeps less than half has nothing of its own to say and goes; one
 * that keeps a part gains that part only. So the gains of a rank's findings add up to its step time
 * at most. */
#ifndef KINO__RULE_SETTLE_H
#define KINO__RULE_SETTLE_H

#include "rule/rule.h"

/* Empties findings->claims; false when memory is out. Cost: n log n in the number of claims. */
bool kino__findings_settle(kino__findings *findings);

/* Between ranks: waiting for a slow rank is not slow communication, and what is wrong only on the
 * slow rank is what makes it slow. After the rules that compare ranks have spoken. */
void kino__findings_settle_ranks(kino__findings *findings, const kino__rank_facts *ranks,
                                 size_t rank_count);

#endif
