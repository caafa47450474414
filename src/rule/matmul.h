/* matmul.h - types and sizes of matrix products, read once for the rules that need them. */
#ifndef KINO__RULE_MATMUL_H
#define KINO__RULE_MATMUL_H

#include "rule/rule.h"

typedef struct kino__matmul {
    uint32_t row, node;
    int64_t device, tensor; /* ns of its kernels, and of those on tensor cores */
    bool is_fp32, is_half;  /* type of the matrices; neither: another one, or not recorded */
    bool is_aligned;        /* the last two sizes of all inputs are multiples of 8 */
    char dims[80];          /* as recorded, cut */
} kino__matmul;

/* Calls `see` for each product in the kept steps that has device time (`with_tensor` false: and
 * none of it on tensor cores) and is not part of another one, in order of rows. Of many only the
 * first ones are read, because reading arguments costs time; returns how much device time all have
 * for each ns of those that were seen, 1 or more; 0 when there are none. */
double kino__matmul_each(const kino__scan *scan, bool with_tensor,
                         void (*see)(void *context, const kino__matmul *product), void *context);

/* The kernels of all products that use no tensor cores. */
void kino__matmul_claim(const kino__rule_look *look, const kino__finding *finding);

#endif
