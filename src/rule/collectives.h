/* collectives.h - the collective that costs most, for rules that speak of communication. */
#ifndef KINO__RULE_COLLECTIVES_H
#define KINO__RULE_COLLECTIVES_H

#include "rule/rule.h"

/* All calls of one name, inside the steps. */
typedef struct kino__collective {
    kino_strid name;
    uint64_t count;
    int64_t time, exposed; /* of its kernels; without those that computation hides */
    kino__top top;         /* rows of the kernels that are exposed most */
} kino__collective;

/* The one with the most exposed time; false when there is none. */
bool kino__collective_worst(const kino__scan *scan, kino__collective *worst);
/* "nccl:all_reduce: 7.0 a step of 640 us, 72 % hidden" */
const char *kino__collective_say(const kino__rule_look *l, const kino__collective *collective,
                                 char *text, size_t size);

#endif
