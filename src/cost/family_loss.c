/* family_loss.c - losses and their gradients.
 *
 * op->weight operations for an element, and one more where they are reduced. Inputs are read once;
 * the result is one number, or one for each element where nothing is reduced. */
#include "cost/family.h"

/* The position of `reduction`: 0 none, 1 mean, 2 sum in calls, the words in Python. */
static bool is_reduced(const kino__cost_ask *ask)
{
    int64_t reduction = 1;
    const kino__op_input *input = kino__cost_input(ask, (uint32_t)ask->op->variant, "reduction");
    if (input && (kino__str_is(input->value, "none") ||
                  (kino__op_input_to_int(input, &reduction) && reduction == 0)))
        return false;
    return true;
}

static void compare(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    bool is_one = is_reduced(ask);
    int64_t weight = ask->op->weight + is_one;
    kino__cost_set(cost, kino__cost_mul(weight, x.elements), kino__cost_input_bytes(ask),
                   is_one ? kino__cost_bytes_of(1, x.dtype) : x.bytes, x.dtype);
}

/* (input [N, C, ...], target [N, ...], ...): one element of the input is read for each target. */
static void nll_loss(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, target;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) ||
        !kino__cost_tensor_at(ask, 1, "target", &target)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t picked = kino__cost_bytes_of(target.elements, x.dtype);
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, target.elements),
                   kino__cost_add(picked, target.bytes), kino__cost_bytes_of(1, x.dtype), x.dtype);
}

/* (gradient, input, target, ...): all of the input's gradient is written. */
static void nll_loss_backward(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, target;
    if (!kino__cost_tensor_at(ask, 1, NULL, &x) || !kino__cost_tensor_at(ask, 2, NULL, &target)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    kino__cost_set(cost, target.elements, target.bytes, x.bytes, x.dtype);
}

/* A logarithm of softmax, and the picking. */
static void cross_entropy(const kino__cost_ask *ask, kino__cost *cost)
{
    enum { LOG_SOFTMAX = 21, PASSES = 3 };
    kino__cost_tensor x;
    if (kino__cost_first_tensor(ask, cost, &x))
        kino__cost_set(cost, kino__cost_mul(LOG_SOFTMAX, x.elements),
                       kino__cost_mul(PASSES - 1, x.bytes), x.bytes, x.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "mse_loss",
     .role = KINO__COST_PRIMITIVE,
     .compute = compare,
     .weight = 2,
     .variant = 2},
    {.name = "l1_loss",
     .role = KINO__COST_COMPOSITE,
     .compute = compare,
     .weight = 2,
     .variant = 2},
    {.name = "smooth_l1_loss",
     .role = KINO__COST_PRIMITIVE,
     .compute = compare,
     .weight = 5,
     .variant = 2},
    {.name = "huber_loss",
     .role = KINO__COST_PRIMITIVE,
     .compute = compare,
     .weight = 5,
     .variant = 2},
    {.name = "soft_margin_loss",
     .role = KINO__COST_PRIMITIVE,
     .compute = compare,
     .weight = 42,
     .variant = 2},
    {.name = "kl_div",
     .role = KINO__COST_COMPOSITE,
     .compute = compare,
     .weight = 22,
     .variant = 2},
    {.name = "binary_cross_entropy",
     .role = KINO__COST_PRIMITIVE,
     .compute = compare,
     .weight = 45,
     .variant = 3},
    {.name = "binary_cross_entropy_with_logits",
     .role = KINO__COST_COMPOSITE,
     .compute = compare,
     .weight = 45,
     .variant = 4},
    {.name = "nll_loss", .role = KINO__COST_COMPOSITE, .compute = nll_loss, .weight = 1},
    {.name = "nll_loss_nd", .role = KINO__COST_COMPOSITE, .compute = nll_loss, .weight = 1},
    {.name = "nll_loss2d", .role = KINO__COST_COMPOSITE, .compute = nll_loss, .weight = 1},
    {.name = "nll_loss_forward", .role = KINO__COST_PRIMITIVE, .compute = nll_loss, .weight = 1},
    {.name = "nll_loss2d_forward", .role = KINO__COST_PRIMITIVE, .compute = nll_loss, .weight = 1},
    {.name = "nll_loss_backward", .role = KINO__COST_PRIMITIVE, .compute = nll_loss_backward},
    {.name = "nll_loss2d_backward", .role = KINO__COST_PRIMITIVE, .compute = nll_loss_backward},
    {.name = "cross_entropy", .role = KINO__COST_COMPOSITE, .compute = cross_entropy},
    {.name = "cross_entropy_loss", .role = KINO__COST_COMPOSITE, .compute = cross_entropy},
    {.name = "mse_loss_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise,
     .weight = 3},
    {.name = "smooth_l1_loss_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise,
     .weight = 5},
    {.name = "huber_loss_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise,
     .weight = 5},
    {.name = "soft_margin_loss_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise,
     .weight = 24},
    {.name = "binary_cross_entropy_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_elementwise,
     .weight = 6},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_loss = {"loss", ops};
