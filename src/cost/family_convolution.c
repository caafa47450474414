/* family_convolution.c - convolutions in one to three dimensions, plain and transposed, and their
 * gradients.
 *
 *   x [N, C, spatial]   w [K, C/g, kernel]   out [N, K, spatial]
 *   2 * N * K * C/g * product(kernel) * product(spatial of out)
 *
 * A transposed convolution has w [C, K/g, kernel] and counts the positions of its input; in both
 * the groups are in the sizes of the weight. A gradient costs as much as the convolution: that of
 * the input, and that of the weight. A bias and its gradient are not counted. The sizes of the
 * result follow from stride, padding and dilation; where these were not recorded, from what the
 * call knows of its result (op_call.h). */
#include "cost/family.h"

enum { DIMENSIONS = 3, NOWHERE = -1 };

/* Where the arguments of an operator are. */
typedef struct layout {
    int8_t x, w, stride, padding, dilation, groups;
    int8_t transposed;     /* NOWHERE: never */
    int8_t output_padding; /* NOWHERE: none */
    int8_t gradient, mask; /* of backward operators */
    bool is_transposed;    /* always */
} layout;

static const layout plain = {0, 1, 3, 4, 5, 6, NOWHERE, NOWHERE, NOWHERE, NOWHERE, false};
static const layout transposed = {0, 1, 3, 4, 7, 6, NOWHERE, 5, NOWHERE, NOWHERE, true};
static const layout general = {0, 1, 3, 4, 5, 8, 6, 7, NOWHERE, NOWHERE, false};
static const layout cudnn = {0, 1, 3, 2, 4, 5, NOWHERE, NOWHERE, NOWHERE, NOWHERE, false};
static const layout cudnn_transposed = {0, 1, 4, 2, 5, 6, NOWHERE, 3, NOWHERE, NOWHERE, true};
static const layout cudnn_add = {0, 1, 5, 6, 7, 8, NOWHERE, NOWHERE, NOWHERE, NOWHERE, false};
static const layout with_bias = {0, 1, 4, 3, 5, 6, NOWHERE, NOWHERE, NOWHERE, NOWHERE, false};
/* With the size of the kernel as their third argument, and without groups. */
static const layout sized = {0, 1, 4, 5, 6, NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, false};
static const layout sized_transposed = {0, 1, 4, 5, 7, NOWHERE, NOWHERE, 6, NOWHERE, NOWHERE, true};
static const layout slow = {0,       1,       4,       5,       NOWHERE, NOWHERE,
                            NOWHERE, NOWHERE, NOWHERE, NOWHERE, false};
static const layout backward = {1, 2, 4, 5, 6, 9, 7, 8, 0, 10, false};
/* Of libraries: the input or its sizes, the gradient, the weight or its sizes. */
static const layout library_backward = {0,       2,       NOWHERE, NOWHERE, NOWHERE, NOWHERE,
                                        NOWHERE, NOWHERE, 1,       NOWHERE, false};

typedef struct convolution {
    const layout *at;
    kino__cost_tensor x, w;
    uint32_t dimensions;
    int64_t batch;
    bool is_transposed;
} convolution;

static const char *keyword_of(const layout *at, int8_t position)
{
    const struct {
        int8_t at;
        const char *keyword;
    } keywords[] = {{at->x, "input"},         {at->w, "weight"},          {at->stride, "stride"},
                    {at->padding, "padding"}, {at->dilation, "dilation"}, {at->groups, "groups"}};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (keywords[i].at == position)
            return keywords[i].keyword;
    return NULL;
}

static bool tensor_at(const kino__cost_ask *ask, const layout *at, int8_t position,
                      kino__cost_tensor *tensor)
{
    return position != NOWHERE &&
           kino__cost_tensor_at(ask, (uint32_t)position, keyword_of(at, position), tensor);
}

/* An argument for each dimension; one value is for all. */
static kino__cost_value numbers_at(const kino__cost_ask *ask, const convolution *c, int8_t position,
                                   int64_t otherwise, int64_t *out)
{
    uint32_t count = 0;
    kino__cost_value value = KINO__COST_VALUE_ABSENT;
    if (position != NOWHERE)
        value = kino__cost_ints_at(ask, (uint32_t)position, keyword_of(c->at, position), out,
                                   DIMENSIONS, &count);
    for (uint32_t d = 0; d < c->dimensions; d++) {
        if (value != KINO__COST_VALUE_KNOWN || count == 0)
            out[d] = otherwise;
        else if (d >= count)
            out[d] = out[count - 1];
    }
    return value;
}

static bool read_shapes(const kino__cost_ask *ask, convolution *c, kino__cost *cost)
{
    c->at = ask->op->data;
    if (!tensor_at(ask, c->at, c->at->x, &c->x) || !tensor_at(ask, c->at, c->at->w, &c->w)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return false;
    }
    c->dimensions = c->w.rank < 2 ? 0 : c->w.rank - 2;
    bool is_batched = c->x.rank == c->w.rank;
    if (c->dimensions < 1 || c->dimensions > DIMENSIONS ||
        (!is_batched && c->x.rank + 1 != c->w.rank)) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return false;
    }
    c->batch = is_batched ? c->x.sizes[0] : 1;
    c->is_transposed = c->at->is_transposed;
    if (c->at->transposed != NOWHERE)
        (void)kino__cost_bool_at(ask, (uint32_t)c->at->transposed, "transposed", &c->is_transposed);
    return true;
}

static int64_t kernel_of(const convolution *c)
{
    return kino__cost_product(c->w.sizes, 2, c->w.rank);
}

static int64_t positions(const int64_t *sizes, uint32_t rank, uint32_t dimensions)
{
    return kino__cost_product(sizes, rank - dimensions, rank);
}

/* 2 * positions * all of the weight, for each of the batch. */
static int64_t operations(const convolution *c, int64_t position_count)
{
    return kino__cost_mul(2,
                          kino__cost_mul(kino__cost_mul(c->batch, position_count), c->w.elements));
}

/* Positions of the result in one dimension; -1: it has none. */
static int64_t result_size(const convolution *c, int64_t size, int64_t kernel, int64_t stride,
                           int64_t padding, int64_t dilation, int64_t extra)
{
    int64_t reach = kino__cost_add(kino__cost_mul(dilation, kernel - 1), 1);
    int64_t pads = kino__cost_mul(2, padding);
    if (c->is_transposed)
        return kino__cost_add(kino__cost_add(kino__cost_mul(size - 1, stride), -pads),
                              kino__cost_add(reach, extra));
    int64_t room = kino__cost_add(kino__cost_add(size, pads), -reach);
    return room < 0 || stride <= 0 ? -1 : room / stride + 1;
}

/* Is a value that decides about the result missing? Where the kernel is a point, padding 0 is not
 * certain either: all must be known. */
static int64_t result_positions(const kino__cost_ask *ask, const convolution *c)
{
    const kino__op_call *call = ask->call;
    if (call->output_sizes && call->output_rank == c->x.rank)
        return positions(call->output_sizes, call->output_rank, c->dimensions);
    int64_t stride[DIMENSIONS], padding[DIMENSIONS], dilation[DIMENSIONS], extra[DIMENSIONS];
    if (numbers_at(ask, c, c->at->stride, 1, stride) == KINO__COST_VALUE_HIDDEN ||
        numbers_at(ask, c, c->at->padding, 0, padding) == KINO__COST_VALUE_HIDDEN ||
        numbers_at(ask, c, c->at->dilation, 1, dilation) == KINO__COST_VALUE_HIDDEN ||
        numbers_at(ask, c, c->at->output_padding, 0, extra) == KINO__COST_VALUE_HIDDEN)
        return KINO_NO_INT;
    int64_t count = 1;
    for (uint32_t d = 0; d < c->dimensions; d++) {
        int64_t size = result_size(c, c->x.sizes[c->x.rank - c->dimensions + d], c->w.sizes[2 + d],
                                   stride[d], padding[d], dilation[d], extra[d]);
        count = size < 0 ? KINO_NO_INT : kino__cost_mul(count, size);
    }
    return count;
}

/* Channels of the result; of a transposed convolution they take the number of groups. */
static int64_t result_channels(const kino__cost_ask *ask, const convolution *c)
{
    int64_t groups = 1;
    if (!c->is_transposed)
        return c->w.sizes[0];
    if (c->at->groups != NOWHERE && kino__cost_int_at(ask, (uint32_t)c->at->groups, "groups",
                                                      &groups) == KINO__COST_VALUE_HIDDEN)
        return KINO_NO_INT;
    return kino__cost_mul(c->w.sizes[1], groups);
}

static void forward(const kino__cost_ask *ask, kino__cost *cost)
{
    convolution c;
    if (!read_shapes(ask, &c, cost))
        return;
    int64_t results = result_positions(ask, &c);
    int64_t counted = c.is_transposed ? positions(c.x.sizes, c.x.rank, c.dimensions) : results;
    int64_t written = kino__cost_mul(kino__cost_mul(c.batch, result_channels(ask, &c)), results);
    if (counted == KINO_NO_INT) {
        kino__cost_unknown(cost, "stride and padding were not recorded");
        return;
    }
    kino__cost_set_matrix(cost, operations(&c, counted), kino__cost_add(c.x.bytes, c.w.bytes),
                          kino__cost_bytes_of(written, c.x.dtype), c.x.dtype);
}

/* -- gradients -- */

enum { OF_INPUT = 1, OF_WEIGHT = 2 };

/* torch.utils.flop_counter multiplies all channels of both sides for the gradient of the weight,
 * which is too much where they are in groups. */
static int64_t weight_operations(const kino__cost_ask *ask, const convolution *c,
                                 const kino__cost_tensor *gradient, int64_t exact)
{
    if (ask->mode != KINO__COST_FLOP_COUNTER)
        return exact;
    int64_t smaller = c->is_transposed ? c->x.elements : gradient->elements;
    int64_t channels = c->is_transposed ? gradient->sizes[1] : c->x.sizes[1];
    return kino__cost_mul(kino__cost_mul(2, kernel_of(c)), kino__cost_mul(channels, smaller));
}

/* Which gradients are asked for, "[True, True, False]"; 0: not recorded. */
static unsigned read_mask(const kino__cost_ask *ask, const layout *at)
{
    enum { MASK = 3 };
    int64_t asked[MASK];
    uint32_t count = 0;
    if (at->mask == NOWHERE || kino__cost_ints_at(ask, (uint32_t)at->mask, "output_mask", asked,
                                                  MASK, &count) != KINO__COST_VALUE_KNOWN)
        return 0;
    return (count > 0 && asked[0] ? OF_INPUT : 0u) | (count > 1 && asked[1] ? OF_WEIGHT : 0u);
}

static void gradients(const kino__cost_ask *ask, kino__cost *cost)
{
    convolution c;
    kino__cost_tensor gradient;
    if (!read_shapes(ask, &c, cost))
        return;
    if (!tensor_at(ask, c.at, c.at->gradient, &gradient) || gradient.rank != c.x.rank) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    unsigned mask = read_mask(ask, c.at);
    if (mask == 0) {
        kino__cost_unknown(cost, "which gradients are computed was not recorded");
        return;
    }
    const kino__cost_tensor *counted = c.is_transposed ? &c.x : &gradient;
    int64_t one = operations(&c, positions(counted->sizes, counted->rank, c.dimensions));
    int64_t flops = 0, read = gradient.bytes, written = 0;
    if (mask & OF_INPUT) {
        flops = one;
        read = kino__cost_add(read, c.w.bytes);
        written = c.x.bytes;
    }
    if (mask & OF_WEIGHT) {
        flops = kino__cost_add(flops, weight_operations(ask, &c, &gradient, one));
        read = kino__cost_add(read, c.x.bytes);
        written = kino__cost_add(written, c.w.bytes);
    }
    kino__cost_set_matrix(cost, flops, read, written, c.x.dtype);
}

/* The gradient of the input alone, as libraries compute it: (sizes of the input, gradient, weight).
 * 2 * positions of the gradient * weight. */
static void input_gradient(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor gradient, w;
    const kino__op_call *call = ask->call;
    if (!kino__cost_tensor_at(ask, 1, NULL, &gradient) || !kino__cost_tensor_at(ask, 2, NULL, &w)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (gradient.rank < 3 || gradient.rank != w.rank) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t sites =
        kino__cost_mul(gradient.sizes[0], kino__cost_product(gradient.sizes, 2, gradient.rank));
    int64_t sizes[DIMENSIONS + 2], written = KINO_NO_INT;
    uint32_t count = 0;
    if (call->output_sizes)
        written = kino__cost_product(call->output_sizes, 0, call->output_rank);
    else if (kino__cost_ints_at(ask, 0, NULL, sizes, DIMENSIONS + 2, &count) ==
             KINO__COST_VALUE_KNOWN)
        written = kino__cost_product(sizes, 0, count);
    kino__cost_set_matrix(cost, kino__cost_mul(2, kino__cost_mul(sites, w.elements)),
                          kino__cost_add(gradient.bytes, w.bytes),
                          kino__cost_bytes_of(written, gradient.dtype), gradient.dtype);
}

/* That of the weight alone: (sizes of the weight, gradient, input). The kernel's extent is in the
 * sizes of the weight; where these were not recorded, in what the call knows of its result. */
static void weight_gradient(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor gradient, x;
    const kino__op_call *call = ask->call;
    int64_t sizes[DIMENSIONS + 2];
    uint32_t count = 0;
    if (!kino__cost_tensor_at(ask, 1, NULL, &gradient) || !kino__cost_tensor_at(ask, 2, NULL, &x)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    const int64_t *w = sizes;
    if (call->output_sizes) {
        w = call->output_sizes;
        count = call->output_rank;
    } else if (kino__cost_ints_at(ask, 0, NULL, sizes, DIMENSIONS + 2, &count) !=
               KINO__COST_VALUE_KNOWN) {
        kino__cost_unknown(cost, kino__cost_no_values);
        return;
    }
    if (gradient.rank < 3 || count != gradient.rank) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t sites =
        kino__cost_mul(gradient.sizes[0], kino__cost_product(gradient.sizes, 2, gradient.rank));
    int64_t elements = kino__cost_product(w, 0, count);
    kino__cost_set_matrix(cost, kino__cost_mul(2, kino__cost_mul(sites, elements)),
                          kino__cost_add(gradient.bytes, x.bytes),
                          kino__cost_bytes_of(elements, gradient.dtype), gradient.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "conv1d", .role = KINO__COST_COMPOSITE, .compute = forward, .data = &plain},
    {.name = "conv2d", .role = KINO__COST_COMPOSITE, .compute = forward, .data = &plain},
    {.name = "conv3d", .role = KINO__COST_COMPOSITE, .compute = forward, .data = &plain},
    {.name = "conv_transpose1d",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .data = &transposed},
    {.name = "conv_transpose2d",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .data = &transposed},
    {.name = "conv_transpose3d",
     .role = KINO__COST_COMPOSITE,
     .compute = forward,
     .data = &transposed},
    {.name = "convolution", .role = KINO__COST_PRIMITIVE, .compute = forward, .data = &general},
    {.name = "_convolution", .role = KINO__COST_PRIMITIVE, .compute = forward, .data = &general},
    {.name = "convolution_overrideable",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &general},
    {.name = "cudnn_convolution", .role = KINO__COST_PRIMITIVE, .compute = forward, .data = &cudnn},
    {.name = "cudnn_convolution_transpose",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &cudnn_transposed},
    {.name = "cudnn_convolution_relu",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &plain},
    {.name = "cudnn_convolution_add_relu",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &cudnn_add},
    {.name = "miopen_convolution",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &with_bias},
    {.name = "miopen_depthwise_convolution",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &with_bias},
    {.name = "mkldnn_convolution",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &with_bias},
    {.name = "mps_convolution",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &with_bias},
    {.name = "_slow_conv2d_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &slow},
    {.name = "thnn_conv2d", .role = KINO__COST_COMPOSITE, .compute = forward, .data = &slow},
    {.name = "thnn_conv2d_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &slow},
    {.name = "slow_conv3d", .role = KINO__COST_COMPOSITE, .compute = forward, .data = &slow},
    {.name = "slow_conv3d_forward",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &slow},
    {.name = "slow_conv_dilated2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &sized},
    {.name = "slow_conv_dilated3d",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &sized},
    {.name = "slow_conv_transpose2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &sized_transposed},
    {.name = "slow_conv_transpose3d",
     .role = KINO__COST_PRIMITIVE,
     .compute = forward,
     .data = &sized_transposed},
    {.name = "_conv_depthwise2d", .role = KINO__COST_PRIMITIVE, .compute = forward, .data = &sized},
    {.name = "conv_depthwise3d", .role = KINO__COST_PRIMITIVE, .compute = forward, .data = &sized},
    {.name = "convolution_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = gradients,
     .data = &backward},
    {.name = "convolution_backward_overrideable",
     .role = KINO__COST_PRIMITIVE,
     .compute = gradients,
     .data = &backward},
    {.name = "cudnn_convolution_backward",
     .role = KINO__COST_COMPOSITE,
     .compute = gradients,
     .data = &library_backward},
    {.name = "cudnn_convolution_backward_input",
     .role = KINO__COST_PRIMITIVE,
     .compute = input_gradient},
    {.name = "cudnn_convolution_backward_weight",
     .role = KINO__COST_PRIMITIVE,
     .compute = weight_gradient},
    {.name = "miopen_convolution_backward",
     .role = KINO__COST_COMPOSITE,
     .compute = gradients,
     .data = &library_backward},
    {.name = "miopen_convolution_backward_input",
     .role = KINO__COST_PRIMITIVE,
     .compute = input_gradient},
    {.name = "miopen_convolution_backward_weight",
     .role = KINO__COST_PRIMITIVE,
     .compute = weight_gradient},
    {.name = "mkldnn_convolution_backward",
     .role = KINO__COST_COMPOSITE,
     .compute = gradients,
     .data = &library_backward},
    {.name = "mkldnn_convolution_backward_input",
     .role = KINO__COST_PRIMITIVE,
     .compute = input_gradient},
    {.name = "mkldnn_convolution_backward_weights",
     .role = KINO__COST_PRIMITIVE,
     .compute = weight_gradient},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_convolution = {"convolution", ops};
