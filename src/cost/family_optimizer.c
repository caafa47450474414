/* family_optimizer.c - steps of optimizers: one kernel for a list of parameters (foreach, fused), or
 * for one parameter.
 *
 * op->weight operations for each element of the first list. All lists are read, and those that
 * change are written: op->variant of them, from the first on. A call on a list has one type for all
 * of its tensors, which PyTorch does not record: bytes are then unknown. */
#include "cost/family.h"

/* Elements of the tensors of an argument. */
static int64_t elements_of(const kino__cost_ask *ask, uint32_t argument, kino__dtype *dtype)
{
    const kino__op_inputs *inputs = &ask->call->inputs;
    int64_t elements = 0;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (!input->is_tensor || input->argument != argument)
            continue;
        elements = kino__cost_add(elements, kino__op_input_elements(inputs, input));
        *dtype = input->dtype;
    }
    return elements;
}

static void lists(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    kino__dtype dtype = KINO__DTYPE_NONE;
    if (!kino__cost_first_tensor(ask, cost, &first))
        return;
    int64_t elements = elements_of(ask, 0, &dtype), written = 0;
    for (int32_t i = 0; i < ask->op->variant; i++) {
        kino__dtype own = KINO__DTYPE_NONE;
        int64_t of_list = elements_of(ask, (uint32_t)i, &own);
        written = kino__cost_add(written, kino__cost_bytes_of(of_list, own));
    }
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, elements), kino__cost_input_bytes(ask),
                   written, dtype);
}

/* apex's adam(w, half copy of w, m, v, gradient, ...): w, m and v in float32 are read and written,
 * the gradient is read; where it is narrower, a copy of w of its type is written. */
static void apex_adam(const kino__cost_ask *ask, kino__cost *cost)
{
    enum { GRADIENT = 4 };
    kino__cost_tensor w, gradient;
    if (!kino__cost_tensor_at(ask, 0, NULL, &w) ||
        !kino__cost_tensor_at(ask, GRADIENT, NULL, &gradient)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t states = kino__cost_mul(3, kino__cost_bytes_of(w.elements, KINO__DTYPE_FLOAT32));
    int64_t of_gradient = kino__cost_bytes_of(w.elements, gradient.dtype);
    bool has_copy = gradient.dtype != KINO__DTYPE_FLOAT32;
    kino__cost_set(cost, 0, kino__cost_add(states, of_gradient),
                   has_copy ? kino__cost_add(states, of_gradient) : states, KINO__DTYPE_FLOAT32);
}

#define FOREACH(word, operations)                                                                  \
    {                                                                                              \
        .name = "_foreach_" word, .role = KINO__COST_COMPOSITE, .compute = lists,                  \
        .weight = (operations), .variant = 1                                                       \
    }
#define FUSED(word, operations, lists_written)                                                     \
    {                                                                                              \
        .name = (word), .role = KINO__COST_PRIMITIVE, .compute = lists, .weight = (operations),    \
        .variant = (lists_written)                                                                 \
    }

static const kino__cost_op ops[] = {
    FOREACH("abs", 1),
    FOREACH("add", 1),
    FOREACH("addcdiv", 3),
    FOREACH("addcmul", 3),
    FOREACH("clamp_max", 1),
    FOREACH("clamp_min", 1),
    FOREACH("copy", 0),
    FOREACH("div", 1),
    FOREACH("exp", 20),
    FOREACH("lerp", 3),
    FOREACH("maximum", 1),
    FOREACH("minimum", 1),
    FOREACH("mul", 1),
    FOREACH("neg", 1),
    FOREACH("norm", 2),
    FOREACH("pow", 20),
    FOREACH("reciprocal", 1),
    FOREACH("rsqrt", 20),
    FOREACH("sign", 1),
    FOREACH("sqrt", 20),
    FOREACH("sub", 1),
    FOREACH("zero", 0),
    FUSED("_fused_adam", 33, 4),  /* m: 3, v: 4, square root: 20, the rest: 6 */
    FUSED("_fused_adamw", 35, 4), /* and the decay */
    FUSED("_fused_sgd", 4, 3),
    FUSED("_fused_adagrad", 26, 3),
    FUSED("_amp_foreach_non_finite_check_and_unscale", 2, 1),
    {.name = "adam", .role = KINO__COST_PRIMITIVE, .compute = apex_adam},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_optimizer = {"optimizer", ops};
