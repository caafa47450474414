/* kernel_order.h - in which order the rows of kernel-costs are made, and in which they stand. */
#ifndef KINO__ANALYSIS_KERNEL_ORDER_H
#define KINO__ANALYSIS_KERNEL_ORDER_H

#include "analysis/costs/kernel_rows.h"

typedef struct kino__kernel_order {
    uint32_t *visited; /* numbers of pieces of work, in order of their launches */
    uint32_t *place;   /* of each piece: of its row; KINO_NO_ROW: it has none */
    size_t count;      /* of rows */
} kino__kernel_order;

/* Into a zeroed value. False when memory is out; deinitialise also then. */
KINO_NODISCARD bool kino__kernel_order_init(kino__kernel_order *order,
                                            const kino__kernel_walk *walk);
void kino__kernel_order_deinit(kino__kernel_order *order);

/* Where every piece has a row, and the rows are where the pieces were: moves each to its place. */
void kino__kernel_order_apply(kino__kernel_order *order, kino__kernel_slot *slots);

#endif
