/* family_scan.c - running sums and products, and the selective scan of state-space models.
 *
 * A scan counts one operation for an element. The selective scan (u [B, D, L], delta, A [D, N], ...)
 * counts nine for each element and each of its N states, as its authors do. */
#include "cost/family.h"

static void selective_scan(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor u, delta, a;
    if (!kino__cost_tensor_at(ask, 0, "u", &u) || !kino__cost_tensor_at(ask, 1, "delta", &delta) ||
        !kino__cost_tensor_at(ask, 2, "A", &a)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (u.rank != 3 || a.rank != 2 || a.sizes[0] != u.sizes[1]) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t flops = kino__cost_mul(ask->op->weight, kino__cost_mul(u.elements, a.sizes[1]));
    kino__cost_set(cost, flops, kino__cost_input_bytes(ask), u.bytes, u.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "cumsum",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 1,
     .variant = 2},
    {.name = "cumprod",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 1,
     .variant = 2},
    {.name = "cummax",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 1,
     .variant = 2},
    {.name = "cummin",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 1,
     .variant = 2},
    {.name = "logcumsumexp",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 41,
     .variant = 2},
    {.name = "selective_scan_fwd",
     .role = KINO__COST_PRIMITIVE,
     .compute = selective_scan,
     .weight = 9},
    {.name = "selective_scan_fn",
     .role = KINO__COST_COMPOSITE,
     .compute = selective_scan,
     .weight = 9},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_scan = {"scan", ops};
