/* family_reduction.c - many elements to few: sums, means, extremes, norms.
 *
 * op->weight operations for an element of the input, and one for each result of those that scale it
 * (mean, norm). Everything is read once; results are written, and where they have one the place of
 * an extreme, as int64. */
#include "cost/family.h"

enum { SCALES_RESULT = 1 << 8, WITH_PLACES = 1 << 9, PLACES_ONLY = 1 << 10, TRUTHS = 1 << 11 };
enum { DIMENSION = 0xff }; /* bits of variant: the argument that names the dimensions */

/* Elements that are left when the dimensions are gone; KINO_NO_INT: which ones is not recorded. */
static int64_t results_of(const kino__cost_ask *ask, const kino__cost_tensor *x)
{
    uint32_t position = (uint32_t)ask->op->variant & DIMENSION, count = 0;
    int64_t dimensions[KINO__COST_RANK_MAX];
    /* The overload without dimensions has fewer arguments: sum(x, dtype) and
     * sum(x, dim, keepdim, dtype). */
    bool is_whole = ask->call->source == KINO__OP_KINETO
                        ? ask->call->inputs.argument_count < position + 2
                        : false;
    if (is_whole)
        return 1;
    kino__cost_value value =
        kino__cost_ints_at(ask, position, "dim", dimensions, KINO__COST_RANK_MAX, &count);
    if (value == KINO__COST_VALUE_HIDDEN)
        return KINO_NO_INT;
    if (value == KINO__COST_VALUE_ABSENT || count == 0)
        return 1;
    int64_t results = x->elements;
    for (uint32_t i = 0; i < count; i++) {
        int64_t d = dimensions[i] < 0 ? dimensions[i] + x->rank : dimensions[i];
        if (d < 0 || d >= x->rank || x->sizes[d] == 0)
            return x->rank == 0 ? 1 : KINO_NO_INT;
        results /= x->sizes[d];
    }
    return results;
}

static int64_t written_bytes(const kino__cost_ask *ask, const kino__cost_tensor *x, int64_t results)
{
    int variant = ask->op->variant;
    int64_t places = kino__cost_bytes_of(results, KINO__DTYPE_INT64);
    if (variant & TRUTHS)
        return results;
    if (variant & PLACES_ONLY)
        return places;
    int64_t values = kino__cost_bytes_of(results, x->dtype);
    return variant & WITH_PLACES && results != 1 ? kino__cost_add(values, places) : values;
}

static void reduce(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, other;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    if (kino__cost_tensor_at(ask, 1, "other", &other)) { /* max(x, y) is no reduction */
        kino__cost_elementwise(ask, cost);
        return;
    }
    int64_t results = results_of(ask, &x);
    int64_t flops = kino__cost_mul(ask->op->weight, x.elements);
    if (ask->op->variant & SCALES_RESULT)
        flops = kino__cost_add(flops, results == KINO_NO_INT ? 1 : results);
    kino__cost_set(cost, flops, x.bytes, written_bytes(ask, &x, results), x.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "sum", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 1, .variant = 1},
    {.name = "nansum", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 1, .variant = 1},
    {.name = "sum_to_size",
     .role = KINO__COST_COMPOSITE,
     .compute = reduce,
     .weight = 1,
     .variant = 1},
    {.name = "mean",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | SCALES_RESULT},
    {.name = "nanmean",
     .role = KINO__COST_COMPOSITE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | SCALES_RESULT},
    {.name = "prod", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 1, .variant = 1},
    {.name = "max",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | WITH_PLACES},
    {.name = "min",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | WITH_PLACES},
    {.name = "amax", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 1, .variant = 1},
    {.name = "amin", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 1, .variant = 1},
    {.name = "aminmax", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 2, .variant = 1},
    {.name = "argmax",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | PLACES_ONLY},
    {.name = "argmin",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | PLACES_ONLY},
    {.name = "any",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 0,
     .variant = 1 | TRUTHS},
    {.name = "all",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 0,
     .variant = 1 | TRUTHS},
    {.name = "equal",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise_to,
     .weight = 1,
     .variant = KINO__DTYPE_BOOL},
    {.name = "count_nonzero",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 1,
     .variant = 1 | PLACES_ONLY},
    {.name = "var",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 4,
     .variant = 1 | SCALES_RESULT},
    {.name = "std",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 4,
     .variant = 1 | SCALES_RESULT},
    {.name = "var_mean",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 4,
     .variant = 1 | SCALES_RESULT},
    {.name = "std_mean",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 4,
     .variant = 1 | SCALES_RESULT},
    {.name = "norm",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 2,
     .variant = 2 | SCALES_RESULT},
    {.name = "linalg_vector_norm",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 2,
     .variant = 2 | SCALES_RESULT},
    {.name = "logsumexp",
     .role = KINO__COST_PRIMITIVE,
     .compute = reduce,
     .weight = 22,
     .variant = 1},
    {.name = "trace", .role = KINO__COST_PRIMITIVE, .compute = reduce, .weight = 1, .variant = 1},
    {.name = "_is_all_true",
     .role = KINO__COST_COMPOSITE,
     .compute = reduce,
     .weight = 0,
     .variant = 1 | TRUTHS},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_reduction = {"reduction", ops};
