/* family_fused.c - kernels that a compiler made of several operators: Inductor's for Triton and
 * for the CPU, whose names list what was fused.
 *
 *   triton_poi_fused_add_relu_0      pointwise
 *   triton_per_fused__softmax_1      reductions of rows that are kept, triton_red_: that are not
 *   triton_tem_fused_addmm_gelu_2    a template: a matrix product and what follows it
 *
 * Bytes: every tensor that the kernel is given, once; the last one is what it writes. Operations:
 * the weights of the operators in the name, for each element of the largest tensor; of templates the
 * product (the first two tensors) in addition. */
#include "cost/family.h"

/* The sum of the weights of the operators that follow "fused_", by the longest names that fit. */
static int64_t fused_weight(kino_str name, bool *has_product)
{
    static const kino_str mark = KINO__STR("fused_");
    int64_t weight = 0;
    const char *at = name.data, *end = name.data + name.size;
    while (at < end && !kino__str_starts_with((kino_str){at, (size_t)(end - at)}, mark))
        at++;
    at = at < end ? at + mark.size : end;
    while (at < end) {
        const char *stop = end;
        const kino__cost_op *op = NULL;
        for (; stop > at && !op; stop--)
            if (stop == end || *stop == '_')
                op = kino__cost_op_find((kino_str){at, (size_t)(stop - at)}, NULL);
        if (op) {
            bool is_product = kino__str_is(kino__str_from(op->name), "mm") ||
                              kino__str_is(kino__str_from(op->name), "addmm") ||
                              kino__str_is(kino__str_from(op->name), "bmm");
            *has_product = *has_product || is_product;
            weight += is_product ? 0 : op->weight;
            at = stop + 1;
        }
        while (at < end && *at != '_')
            at++;
        at += at < end;
    }
    return weight;
}

/* [..., m, k] x [..., k, n] */
static int64_t product_of(const kino__cost_tensor *a, const kino__cost_tensor *b)
{
    if (a->rank < 2 || b->rank < 2 || kino__cost_last(a, 0) != kino__cost_last(b, 1))
        return KINO_NO_INT;
    return kino__cost_mul(2, kino__cost_mul(a->elements, kino__cost_last(b, 0)));
}

static void fused(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor tensor, factors[2] = {{0}};
    int64_t largest = 0, bytes = 0, written = 0;
    kino__dtype dtype = KINO__DTYPE_NONE;
    size_t i = 0, count = 0;
    for (; kino__cost_next_tensor(ask, &i, &tensor); count++) {
        if (count < 2)
            factors[count] = tensor;
        dtype = count ? dtype : tensor.dtype;
        largest = tensor.elements > largest ? tensor.elements : largest;
        bytes = kino__cost_add(bytes, tensor.bytes);
        written = tensor.bytes;
    }
    if (count == 0) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    bool has_product = false;
    int64_t flops = kino__cost_mul(fused_weight(ask->call->name, &has_product), largest);
    int64_t read = bytes == KINO_NO_INT ? KINO_NO_INT : bytes - written;
    if (has_product)
        kino__cost_set_matrix(cost, kino__cost_add(flops, product_of(&factors[0], &factors[1])),
                              read, written, dtype);
    else
        kino__cost_set(cost, flops, read, written, dtype);
}

/* -- compiled functions -- */

/* The size of the batch: that which most matrices begin with that are not weights. */
typedef struct batch_vote {
    int64_t size;
    uint32_t votes;
} batch_vote;

static void vote(batch_vote *votes, size_t room, int64_t size)
{
    for (size_t i = 0; i < room; i++) {
        if (votes[i].votes == 0)
            votes[i].size = size;
        if (votes[i].size == size) {
            votes[i].votes++;
            return;
        }
    }
}

/* A graph that a compiler made, whose inputs are the parameters and the activations: a matrix
 * [out, in] with a vector [out] behind it is a linear layer. These alone are counted, op->weight
 * times: a lower bound. What else the graph does, and what it moves, is not recorded. */
static void compiled(const kino__cost_ask *ask, kino__cost *cost)
{
    enum { SIZES = 16 };
    batch_vote votes[SIZES] = {{0}}, most = {0};
    kino__cost_tensor tensor, before = {0};
    int64_t weights = 0;
    kino__dtype dtype = KINO__DTYPE_NONE;
    for (size_t i = 0; kino__cost_next_tensor(ask, &i, &tensor); before = tensor) {
        bool is_bias = tensor.rank == 1 && before.rank == 2 && before.sizes[0] == tensor.sizes[0];
        if (is_bias)
            weights = kino__cost_add(weights, before.elements);
        else if (before.rank == 2)
            vote(votes, SIZES, before.sizes[0]);
        dtype = dtype ? dtype : tensor.dtype;
    }
    for (size_t i = 0; i < SIZES; i++)
        most = votes[i].votes > most.votes ? votes[i] : most;
    if (weights == 0 || most.votes == 0) {
        kino__cost_unknown(cost, "what the compiled graph computes was not recorded");
        return;
    }
    int64_t layers = kino__cost_mul(2, kino__cost_mul(most.size, weights));
    kino__cost_set_matrix(cost, kino__cost_mul(ask->op->weight, layers), KINO_NO_INT, KINO_NO_INT,
                          dtype);
    cost->reason = "a compiled graph: only its linear layers are counted";
}

/* kino__cost_op_find looks for these by the first two words of a name. */
static const kino__cost_op ops[] = {
    {.name = "triton_poi", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "triton_per", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "triton_red", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "triton_tem", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "triton_for", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "triton_mm", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "cpp_fused", .role = KINO__COST_PRIMITIVE, .compute = fused},
    {.name = "CompiledFunction", .role = KINO__COST_COMPOSITE, .compute = compiled, .weight = 1},
    {.name = "CompiledFunctionBackward",
     .role = KINO__COST_COMPOSITE,
     .compute = compiled,
     .weight = 2},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_fused = {"fused", ops};
