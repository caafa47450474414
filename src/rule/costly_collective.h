/* costly_collective.h - the collective that costs most, for rules that speak of communication. */
#ifndef KINO__RULE_COSTLY_COLLECTIVE_H
#define KINO__RULE_COSTLY_COLLECTIVE_H

#include "rule/rule.h"

/* All calls of one name, inside the steps. */
typedef struct kino__costly_collective {
    kino_strid name;
    uint64_t count;
    int64_t time, exposed; /* of its kernels; without what other work of the device hides */
    kino__top top;         /* rows of the kernels that are exposed most */
} kino__costly_collective;

/* The one with the most exposed time; false when there is none. */
bool kino__collective_worst(const kino__scan *scan, kino__costly_collective *worst);
/* "nccl:all_reduce: 7.0 per step of 640 us, 72 % hidden" */
const char *kino__collective_say(const kino__rule_look *l,
                                 const kino__costly_collective *collective, char *text,
                                 size_t size);

/* Ranks exchange parts with each other (experts, tables of embeddings): gradients are not meant. */
bool kino__collective_is_exchange(const kino__rule_look *l,
                                  const kino__costly_collective *collective);

/* The exposed time of all its calls. */
void kino__collective_claim(const kino__rule_look *l, const kino__finding *f,
                            const kino__costly_collective *collective);

#endif
