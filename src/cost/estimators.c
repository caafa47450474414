/* estimators.c - PyTorch's own two estimates; see the header. */
#include "cost/estimators.h"

static const char not_counted[] = "this estimator does not count the operator";

/* -- with_flops -- */

/* aten::mul and aten::add: the elements of the first input; broadcasting is ignored. */
static void first_elements(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor first;
    if (kino__cost_tensor_at(ask, 0, NULL, &first))
        kino__cost_set(cost, first.elements, KINO_NO_INT, KINO_NO_INT, first.dtype);
    else
        kino__cost_unknown(cost, kino__cost_no_shapes);
}

/* Of conv2d PyTorch wants two-dimensional inputs with a batch. */
static bool is_batched_plane(const kino__cost_ask *ask)
{
    enum { RANK = 4 };
    kino__cost_tensor x, w;
    return kino__cost_tensor_at(ask, 0, "input", &x) &&
           kino__cost_tensor_at(ask, 1, "weight", &w) && x.rank == RANK && w.rank == RANK;
}

static bool is_in(kino_str name, const char *const *names)
{
    for (; *names; names++)
        if (kino__str_is(name, *names))
            return true;
    return false;
}

/* -- both -- */

/* As the families compute it. */
static void as_family(kino__cost_ask ask, kino_str bare, kino__cost *cost)
{
    ask.op = kino__cost_op_find(bare, &cost->family);
    if (ask.op)
        ask.op->compute(&ask, cost);
    if (cost->flops != KINO_NO_INT)
        kino__cost_set_matrix(cost, cost->flops, KINO_NO_INT, KINO_NO_INT, cost->precision);
}

static void with_flops(const kino__cost_ask *ask, kino_str bare, kino__cost *cost)
{
    static const char *const elements[] = {"mul", "add", NULL};
    static const char *const products[] = {"mm", "addmm", "bmm", "baddbmm", NULL};
    if (is_in(bare, elements))
        first_elements(ask, cost);
    else if (is_in(bare, products) || (kino__str_is(bare, "conv2d") && is_batched_plane(ask)))
        as_family(*ask, bare, cost);
    else
        kino__cost_unknown(cost, not_counted);
}

static void flop_counter(const kino__cost_ask *ask, kino_str bare, kino__cost *cost)
{
    static const char *const counted[] = {
        "mm",
        "addmm",
        "bmm",
        "baddbmm",
        "_scaled_mm",
        "convolution",
        "_convolution",
        "cudnn_convolution",
        "_slow_conv2d_forward",
        "convolution_overrideable",
        "convolution_backward",
        "_scaled_dot_product_efficient_attention",
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_cudnn_attention",
        "_flash_attention_forward",
        "_efficient_attention_forward",
        "_scaled_dot_product_efficient_attention_backward",
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_cudnn_attention_backward",
        "_flash_attention_backward",
        "_efficient_attention_backward",
        NULL,
    };
    if (is_in(bare, counted))
        as_family(*ask, bare, cost);
    else
        kino__cost_unknown(cost, not_counted);
}

void kino__cost_estimate(const kino__cost_ask *ask, kino_str bare, kino__cost *cost)
{
    if (ask->mode == KINO__COST_WITH_FLOPS)
        with_flops(ask, bare, cost);
    else
        flop_counter(ask, bare, cost);
}
