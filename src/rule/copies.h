/* copies.h - copies between host and device that no computation hides: of pageable memory, and of
 * other memory, which two rules speak of. */
#ifndef KINO__RULE_COPIES_H
#define KINO__RULE_COPIES_H

#include "rule/rule.h"

typedef struct kino__copies {
    kino__scan_class class;
    uint64_t count;         /* copies with a part that is not hidden */
    int64_t spent, exposed; /* their time, and what of it is not hidden; overlapping ones once */
    kino__top top;
} kino__copies;

/* Those of a class, in the steps. */
kino__copies kino__copies_find(const kino__rule_look *l, kino__scan_class class);

/* Where the part that is not hidden is above `share` of the step time: a finding with what was
 * seen, its evidence and its gain. `which`: "from or to pageable memory". NULL: it is not. */
kino__finding *kino__copies_add(const kino__rule_look *l, const kino__copies *copies, double share,
                                const char *which);

#endif
