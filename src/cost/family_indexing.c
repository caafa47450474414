/* family_indexing.c - elements by their places: gather, scatter, select, masks.
 *
 * Nothing is computed, except where values are added. What is picked is read and written once;
 * indices and masks are read. */
#include "cost/family.h"

/* (x, dim, index): as many results as indices. PyProf counts the input instead. */
static void gather(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, index;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) ||
        !kino__cost_tensor_at(ask, 2, "index", &index)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t picked = kino__cost_bytes_of(index.elements, x.dtype);
    kino__cost_set(cost, 0, kino__cost_add(picked, index.bytes), picked, x.dtype);
}

/* (x, dim, index, source): values go where the indices say; op->weight 1: they are added. */
static void scatter(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, index;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) ||
        !kino__cost_tensor_at(ask, 2, "index", &index)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t moved = kino__cost_bytes_of(index.elements, x.dtype);
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, index.elements),
                   kino__cost_add(index.bytes, kino__cost_mul(1 + ask->op->weight, moved)), moved,
                   x.dtype);
}

/* (x, dim, index of rank 1): slices of x. */
static void index_select(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, index;
    int64_t dimension = 0;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) ||
        !kino__cost_tensor_at(ask, 2, "index", &index)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (kino__cost_int_at(ask, 1, "dim", &dimension) != KINO__COST_VALUE_KNOWN) {
        kino__cost_unknown(cost, kino__cost_no_values);
        return;
    }
    dimension += dimension < 0 ? x.rank : 0;
    if (dimension < 0 || dimension >= x.rank || x.sizes[dimension] == 0) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t picked = kino__cost_bytes_of(
        kino__cost_mul(x.elements / x.sizes[dimension], index.elements), x.dtype);
    kino__cost_set(cost, 0, kino__cost_add(picked, index.bytes), picked, x.dtype);
}

/* x[indices], one tensor for each leading dimension: results are the indices' broadcast shape times
 * what is left of x. */
static void pick(const kino__cost_ask *ask, kino__cost *cost)
{
    const kino__op_inputs *inputs = &ask->call->inputs;
    kino__cost_tensor x;
    int64_t picks = 1, index_bytes = 0;
    uint32_t indexed = 0;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (!input->is_listed)
            continue;
        int64_t elements = kino__op_input_elements(inputs, input);
        picks = elements > picks ? elements : picks;
        index_bytes = kino__cost_add(index_bytes, kino__cost_bytes_of(elements, KINO__DTYPE_INT64));
        indexed++;
    }
    if (indexed == 0 || indexed > x.rank) {
        kino__cost_unknown(cost, "the indices were not recorded");
        return;
    }
    int64_t rest = kino__cost_product(x.sizes, indexed, x.rank);
    int64_t moved = kino__cost_bytes_of(kino__cost_mul(picks, rest), x.dtype);
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, kino__cost_mul(picks, rest)),
                   kino__cost_add(index_bytes, moved), moved, x.dtype);
}

/* (x, mask, ...): at most all of x comes out; how much is not recorded. */
static void masked(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, mask;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) ||
        !kino__cost_tensor_at(ask, 1, "mask", &mask)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t mask_bytes = mask.dtype == KINO__DTYPE_NONE ? mask.elements : mask.bytes;
    kino__cost_set(cost, 0, kino__cost_add(x.bytes, mask_bytes), x.bytes, x.dtype);
}

/* The places of all elements, at most: a number for each dimension. */
static void nonzero(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    int64_t places = kino__cost_mul(x.elements, x.rank ? x.rank : 1);
    kino__cost_set(cost, 0, x.bytes, kino__cost_bytes_of(places, KINO__DTYPE_INT64), x.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "gather", .role = KINO__COST_PRIMITIVE, .compute = gather},
    {.name = "take_along_dim", .role = KINO__COST_COMPOSITE, .compute = gather},
    {.name = "scatter", .role = KINO__COST_PRIMITIVE, .compute = scatter, .weight = 0},
    {.name = "scatter_add", .role = KINO__COST_PRIMITIVE, .compute = scatter, .weight = 1},
    {.name = "scatter_reduce", .role = KINO__COST_PRIMITIVE, .compute = scatter, .weight = 1},
    {.name = "index_select", .role = KINO__COST_PRIMITIVE, .compute = index_select},
    {.name = "index", .role = KINO__COST_PRIMITIVE, .compute = pick, .weight = 0},
    {.name = "index_put", .role = KINO__COST_PRIMITIVE, .compute = pick, .weight = 0},
    {.name = "_index_put_impl", .role = KINO__COST_PRIMITIVE, .compute = pick, .weight = 1},
    {.name = "masked_fill", .role = KINO__COST_PRIMITIVE, .compute = masked},
    {.name = "masked_select", .role = KINO__COST_PRIMITIVE, .compute = masked},
    {.name = "masked_scatter", .role = KINO__COST_PRIMITIVE, .compute = masked},
    {.name = "nonzero", .role = KINO__COST_PRIMITIVE, .compute = nonzero},
    {.name = "tril",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 0,
     .variant = 2},
    {.name = "triu",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 0,
     .variant = 2},
    {.name = "flip",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 0,
     .variant = 2},
    {.name = "roll",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 0,
     .variant = 2},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_indexing = {"indexing", ops};
