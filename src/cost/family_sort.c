/* family_sort.c - order: sort, the largest k, medians, unique values, permutations.
 *
 * Sorting n elements of a line compares log2 n times for each; finding the largest k compares each
 * once. Values are written with their places (int64). */
#include "cost/family.h"

static int64_t log2_of(int64_t n)
{
    int64_t bits = 0;
    while (n > 1) {
        n = (n + 1) / 2;
        bits++;
    }
    return bits;
}

static int64_t with_places(int64_t elements, kino__dtype dtype)
{
    return kino__cost_add(kino__cost_bytes_of(elements, dtype),
                          kino__cost_bytes_of(elements, KINO__DTYPE_INT64));
}

/* The longest dimension where the sorted one is not recorded: it is the last by default. */
static void sort(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    int64_t line = x.rank ? kino__cost_last(&x, 0) : 1;
    kino__cost_set(cost, kino__cost_mul(x.elements, log2_of(line)), x.bytes,
                   with_places(x.elements, x.dtype), x.dtype);
}

/* (x, k, dim, ...) */
static void top_k(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    int64_t k = 1;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    int64_t written = KINO_NO_INT;
    if (kino__cost_int_at(ask, 1, "k", &k) == KINO__COST_VALUE_KNOWN && x.rank &&
        kino__cost_last(&x, 0) > 0)
        written = with_places(kino__cost_mul(x.elements / kino__cost_last(&x, 0), k), x.dtype);
    kino__cost_set(cost, x.elements, x.bytes, written, x.dtype);
}

/* A permutation of n numbers, by PyProf's figure: three operations for each. */
static void randperm(const kino__cost_ask *ask, kino__cost *cost)
{
    int64_t n;
    if (kino__cost_int_at(ask, 0, "n", &n) != KINO__COST_VALUE_KNOWN || n < 0)
        kino__cost_unknown(cost, kino__cost_no_values);
    else
        kino__cost_set(cost, kino__cost_mul(3, n), 0, kino__cost_bytes_of(n, KINO__DTYPE_INT64),
                       KINO__DTYPE_INT64);
}

static const kino__cost_op ops[] = {
    {.name = "sort", .role = KINO__COST_PRIMITIVE, .compute = sort},
    {.name = "argsort", .role = KINO__COST_COMPOSITE, .compute = sort},
    {.name = "msort", .role = KINO__COST_COMPOSITE, .compute = sort},
    {.name = "_unique2", .role = KINO__COST_PRIMITIVE, .compute = sort},
    {.name = "unique_dim", .role = KINO__COST_PRIMITIVE, .compute = sort},
    {.name = "unique_consecutive", .role = KINO__COST_PRIMITIVE, .compute = sort},
    {.name = "topk", .role = KINO__COST_PRIMITIVE, .compute = top_k},
    {.name = "kthvalue", .role = KINO__COST_PRIMITIVE, .compute = top_k},
    {.name = "median",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 1,
     .variant = 2},
    {.name = "searchsorted",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise_to,
     .weight = 1,
     .variant = KINO__DTYPE_INT64},
    {.name = "bucketize",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 5,
     .variant = 2},
    {.name = "bincount",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 1,
     .variant = 2},
    {.name = "randperm", .role = KINO__COST_PRIMITIVE, .compute = randperm},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_sort = {"sort", ops};
