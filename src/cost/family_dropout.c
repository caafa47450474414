/* family_dropout.c - dropout and random numbers: five operations for an element (PyProf); the mask is written as
 * truths. */
#include "cost/family.h"

static void masked_dropout(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (kino__cost_first_tensor(ask, cost, &x))
        kino__cost_set(cost, kino__cost_mul(ask->op->weight, x.elements), x.bytes,
                       kino__cost_add(x.bytes, x.elements), x.dtype);
}

/* Written, not read. */
static void fill_random(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (kino__cost_first_tensor(ask, cost, &x))
        kino__cost_set(cost, kino__cost_mul(ask->op->weight, x.elements), 0, x.bytes, x.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "dropout",
     .role = KINO__COST_COMPOSITE,
     .compute = kino__cost_passes,
     .weight = 5,
     .variant = 2},
    {.name = "feature_dropout",
     .role = KINO__COST_COMPOSITE,
     .compute = kino__cost_passes,
     .weight = 5,
     .variant = 2},
    {.name = "alpha_dropout",
     .role = KINO__COST_COMPOSITE,
     .compute = kino__cost_passes,
     .weight = 5,
     .variant = 2},
    {.name = "native_dropout",
     .role = KINO__COST_PRIMITIVE,
     .compute = masked_dropout,
     .weight = 5},
    {.name = "_fused_dropout",
     .role = KINO__COST_PRIMITIVE,
     .compute = masked_dropout,
     .weight = 5},
    {.name = "native_dropout_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise,
     .weight = 2},
    {.name = "bernoulli", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = "uniform", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = "normal", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = "rand_like", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = "randn_like", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = "random", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = "exponential", .role = KINO__COST_PRIMITIVE, .compute = fill_random, .weight = 5},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_dropout = {"dropout", ops};
