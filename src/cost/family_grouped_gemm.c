/* family_grouped_gemm.c - products of groups of rows with a matrix of each group, as experts are
 * computed.
 *
 *   [T, K] x [G, K, N]   each row with the matrix of its group: 2 T K N
 *   [M, T] x [T, N]      each group's columns with its rows:    2 M T N, G results
 *   [G, M, K] x [K, T]   the first the other way round:         2 M K T
 *   [G, M, K] x [G, K, N]   a batch:                            2 G M K N
 *
 * How many rows a group has does not matter: all rows are in one. */
#include "cost/family.h"

typedef struct grouped {
    kino__cost_tensor a, b;
    int64_t flops, results;
} grouped;

static bool multiply(const kino__cost_ask *ask, grouped *g)
{
    int64_t k = kino__cost_last(&g->a, 0), rows = kino__cost_last(&g->a, 1);
    int64_t columns = kino__cost_last(&g->b, 0);
    kino__cost_tensor offsets;
    int64_t groups = 1, copies = 1;
    if (kino__cost_last(&g->b, 1) != k)
        return false;
    if (g->a.rank == 3 && g->b.rank == 3)
        groups = copies = g->a.sizes[0];
    else if (g->a.rank == 2 && g->b.rank == 2 &&
             kino__cost_tensor_at(ask, (uint32_t)ask->op->variant, "offs", &offsets))
        copies = offsets.elements;
    int64_t product = kino__cost_mul(rows, columns);
    g->flops = kino__cost_mul(2, kino__cost_mul(groups, kino__cost_mul(product, k)));
    g->results = kino__cost_mul(copies, product);
    return true;
}

static void grouped_mm(const kino__cost_ask *ask, kino__cost *cost)
{
    grouped g;
    if (!kino__cost_tensor_at(ask, 0, "input", &g.a) ||
        !kino__cost_tensor_at(ask, 1, "mat2", &g.b)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (g.a.rank < 2 || g.a.rank > 3 || g.b.rank < 2 || g.b.rank > 3 || !multiply(ask, &g)) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    bool is_narrow = kino__dtype_bits(g.a.dtype) == 8; /* results are wider, bf16 as a rule */
    kino__cost_set_matrix(
        cost, g.flops, kino__cost_input_bytes(ask),
        kino__cost_bytes_of(g.results, is_narrow ? KINO__DTYPE_BFLOAT16 : g.a.dtype), g.a.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "_grouped_mm", .role = KINO__COST_PRIMITIVE, .compute = grouped_mm, .variant = 2},
    {.name = "grouped_mm", .role = KINO__COST_COMPOSITE, .compute = grouped_mm, .variant = 2},
    {.name = "_scaled_grouped_mm",
     .role = KINO__COST_PRIMITIVE,
     .compute = grouped_mm,
     .variant = 4},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_grouped_gemm = {"grouped_gemm", ops};
