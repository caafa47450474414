/* kernel_kinds.h - kernels by what bounds them: how much of the steps' time some kinds have, and
 * what for. */
#ifndef KINO__RULE_KERNEL_KINDS_H
#define KINO__RULE_KERNEL_KINDS_H

#include "names/kernel_kind.h"
#include "rule/rule.h"

/* Time by operator, the largest first: "aten::mul 31 %, aten::add 12 %". */
enum { KINO__SHARES_MAX = 64 };
typedef struct kino__shares {
    struct {
        kino_strid name;
        int64_t time;
    } items[KINO__SHARES_MAX]; /* what does not fit is left out */
    size_t count;
    int64_t total;
} kino__shares;
void kino__shares_add(kino__shares *shares, kino_strid name, int64_t time);
const char *kino__shares_say(kino__shares *shares, const kino__trace *trace, char *text,
                             size_t size);

/* Kernels of some kinds in the steps. */
typedef struct kino__kernel_sum {
    kino__intervals list; /* in normal form: streams run side by side */
    int64_t all;          /* time of all kernels that are no communication, each for itself */
    uint64_t count;
    kino__shares ops; /* the total: each for itself, too */
    kino__top top;    /* rows */
} kino__kernel_sum;

/* Is the kernel one of those that a rule is about? They come stream by stream, each in order of
 * time. */
typedef bool (*kino__kernel_see)(void *context, const kino__kernel_info *kernel, uint8_t kind,
                                 int64_t time);

/* Sums up the kernels that `see` is about; none where the program is not PyTorch's. */
void kino__kernels_sum(const kino__rule_look *look, kino__kernel_see see, void *context,
                       kino__kernel_sum *out);
/* Do they have more than these parts of the kernels' time and of the step time? */
bool kino__kernels_matter(const kino__rule_look *look, const kino__kernel_sum *sum, double device,
                          double share);
/* Their time as evidence: what the finding claims and cites. */
void kino__kernels_cite(const kino__rule_look *look, kino__finding *finding,
                        const kino__kernel_sum *sum);

#endif
