/* family_sparse.c - sparse matrices, where their cost is defined by recorded sizes.
 *
 * Two of four elements (semi-structured): half of the dense product's operations. Others depend on
 * the number of stored elements, which a trace does not have. */
#include "cost/family.h"

/* (packed a [m, k / 2 with the places], places, b [k, n]): m n k operations. */
static void semi_structured(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!kino__cost_tensor_at(ask, 0, NULL, &a) ||
        !kino__cost_tensor_at(ask, (uint32_t)ask->op->variant, NULL, &b)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (a.rank != 2 || b.rank != 2) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t out = kino__cost_mul(a.sizes[0], b.sizes[1]);
    kino__cost_set_matrix(cost, kino__cost_mul(out, b.sizes[0]), kino__cost_input_bytes(ask),
                          kino__cost_bytes_of(out, b.dtype), b.dtype);
}

static void unknown(const kino__cost_ask *ask, kino__cost *cost)
{
    (void)ask;
    kino__cost_unknown(cost, "the number of stored elements was not recorded");
}

static const kino__cost_op ops[] = {
    {.name = "_sparse_semi_structured_mm",
     .role = KINO__COST_PRIMITIVE,
     .compute = semi_structured,
     .variant = 2},
    {.name = "_sparse_semi_structured_addmm",
     .role = KINO__COST_PRIMITIVE,
     .compute = semi_structured,
     .variant = 3},
    {.name = "_cslt_sparse_mm", .role = KINO__COST_PRIMITIVE, .compute = unknown},
    {.name = "_sparse_mm", .role = KINO__COST_PRIMITIVE, .compute = unknown},
    {.name = "_sparse_addmm", .role = KINO__COST_PRIMITIVE, .compute = unknown},
    {.name = "_sparse_sum", .role = KINO__COST_PRIMITIVE, .compute = unknown},
    {.name = "sspaddmm", .role = KINO__COST_PRIMITIVE, .compute = unknown},
    {.name = "coalesce", .role = KINO__COST_PRIMITIVE, .compute = unknown},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_sparse = {"sparse", ops};
