/* family_pooling.c - pooling and resampling.
 *
 * A pool compares or adds each element of its window: elements of the result times the window.
 * Adaptive pools touch every element of the input once. Resampling counts a multiply-add for each
 * neighbour of an element of the result. */
#include "cost/family.h"

enum { DIMENSIONS = 3, WITH_PLACES = 1 << 8, DIMENSION_BITS = 0xff };

typedef struct window {
    int64_t kernel[DIMENSIONS], stride[DIMENSIONS], padding[DIMENSIONS], dilation[DIMENSIONS];
    bool is_ceiling;
} window;

/* One number is for all dimensions. */
static kino__cost_value numbers(const kino__cost_ask *ask, uint32_t position, const char *keyword,
                                const int64_t *otherwise, uint32_t dimensions, int64_t *out)
{
    uint32_t count = 0;
    kino__cost_value value = kino__cost_ints_at(ask, position, keyword, out, DIMENSIONS, &count);
    for (uint32_t d = 0; d < dimensions; d++) {
        if (value != KINO__COST_VALUE_KNOWN || count == 0)
            out[d] = otherwise[d];
        else if (d >= count)
            out[d] = out[count - 1];
    }
    return value;
}

/* (x, kernel, stride, padding, dilation or ceil_mode, ...): max pools have a dilation. */
static bool read_window(const kino__cost_ask *ask, uint32_t first, uint32_t dimensions, window *w)
{
    static const int64_t ones[] = {1, 1, 1}, zeros[] = {0, 0, 0};
    bool is_max = (ask->op->variant & WITH_PLACES) != 0;
    if (numbers(ask, first, "kernel_size", ones, dimensions, w->kernel) != KINO__COST_VALUE_KNOWN ||
        numbers(ask, first + 1, "stride", w->kernel, dimensions, w->stride) ==
            KINO__COST_VALUE_HIDDEN ||
        numbers(ask, first + 2, "padding", zeros, dimensions, w->padding) ==
            KINO__COST_VALUE_HIDDEN)
        return false;
    for (uint32_t d = 0; d < dimensions; d++)
        w->dilation[d] = 1;
    if (is_max && numbers(ask, first + 3, "dilation", ones, dimensions, w->dilation) ==
                      KINO__COST_VALUE_HIDDEN)
        return false;
    w->is_ceiling = false;
    (void)kino__cost_bool_at(ask, first + (is_max ? 4 : 3), "ceil_mode", &w->is_ceiling);
    return true;
}

/* Positions of the window along one dimension. */
static int64_t places_of(const window *w, uint32_t d, int64_t size)
{
    int64_t reach = kino__cost_add(kino__cost_mul(w->dilation[d], w->kernel[d] - 1), 1);
    int64_t room = kino__cost_add(kino__cost_add(size, kino__cost_mul(2, w->padding[d])), -reach);
    if (room < 0 || w->stride[d] <= 0)
        return KINO_NO_INT;
    int64_t places = room / w->stride[d] + 1;
    /* The last window must begin within the input or its padding in front. */
    bool has_rest = w->is_ceiling && room % w->stride[d] != 0 &&
                    kino__cost_mul(places, w->stride[d]) < kino__cost_add(size, w->padding[d]);
    return places + has_rest;
}

static void pool(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    uint32_t dimensions = (uint32_t)ask->op->variant & DIMENSION_BITS;
    window w;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    if (x.rank < dimensions || !read_window(ask, 1, dimensions, &w)) {
        kino__cost_unknown(cost, x.rank < dimensions ? kino__cost_bad_shapes
                                                     : "window and stride were not recorded");
        return;
    }
    int64_t results = kino__cost_product(x.sizes, 0, x.rank - dimensions), area = 1;
    for (uint32_t d = 0; d < dimensions; d++) {
        results = kino__cost_mul(results, places_of(&w, d, x.sizes[x.rank - dimensions + d]));
        area = kino__cost_mul(area, w.kernel[d]);
    }
    if (results == KINO_NO_INT) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t written = kino__cost_bytes_of(results, x.dtype);
    if (ask->op->variant & WITH_PLACES)
        written = kino__cost_add(written, kino__cost_bytes_of(results, KINO__DTYPE_INT64));
    kino__cost_set(cost, kino__cost_mul(results, area), x.bytes, written, x.dtype);
}

/* (gradient, input, ...): each element of the gradient is added where it came from. Of an average to
 * its whole window, whose size is the input's over the result's. */
static void pool_backward(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor gradient, x;
    if (!kino__cost_tensor_at(ask, 0, NULL, &gradient) || !kino__cost_tensor_at(ask, 1, NULL, &x)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    bool has_places = (ask->op->variant & WITH_PLACES) != 0;
    int64_t read = gradient.bytes;
    if (has_places)
        read = kino__cost_add(read, kino__cost_bytes_of(gradient.elements, KINO__DTYPE_INT64));
    kino__cost_set(cost, has_places ? gradient.elements : x.elements, read, x.bytes, x.dtype);
}

/* (x, size of the result) */
static void adaptive_pool(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    static const int64_t ones[] = {1, 1, 1};
    uint32_t dimensions = (uint32_t)ask->op->variant & DIMENSION_BITS;
    int64_t sizes[DIMENSIONS], written = KINO_NO_INT;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    if (x.rank < dimensions) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    if (numbers(ask, 1, "output_size", ones, dimensions, sizes) == KINO__COST_VALUE_KNOWN)
        written = kino__cost_mul(kino__cost_product(x.sizes, 0, x.rank - dimensions),
                                 kino__cost_product(sizes, 0, dimensions));
    kino__cost_set(cost, x.elements, x.bytes, kino__cost_bytes_of(written, x.dtype), x.dtype);
}

/* (x, sizes of the result, ...): op->weight operations for each element of it. Without the sizes,
 * those that something else recorded. */
static void resample(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    static const int64_t none[] = {0, 0, 0};
    int64_t sizes[DIMENSIONS];
    uint32_t dimensions = (uint32_t)ask->op->variant & DIMENSION_BITS;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    if (x.rank < dimensions) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    if (numbers(ask, 1, "size", none, dimensions, sizes) != KINO__COST_VALUE_KNOWN) {
        kino__cost_unknown(cost, kino__cost_no_values);
        return;
    }
    int64_t results = kino__cost_mul(kino__cost_product(x.sizes, 0, x.rank - dimensions),
                                     kino__cost_product(sizes, 0, dimensions));
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, results), x.bytes,
                   kino__cost_bytes_of(results, x.dtype), x.dtype);
}

/* (gradient, sizes of the result, sizes of the input) */
static void resample_backward(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor gradient;
    int64_t sizes[DIMENSIONS + 2], written = KINO_NO_INT;
    uint32_t count = 0;
    if (!kino__cost_first_tensor(ask, cost, &gradient))
        return;
    if (kino__cost_ints_at(ask, 2, "input_size", sizes, DIMENSIONS + 2, &count) ==
        KINO__COST_VALUE_KNOWN)
        written = kino__cost_product(sizes, 0, count);
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, gradient.elements), gradient.bytes,
                   kino__cost_bytes_of(written, gradient.dtype), gradient.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "max_pool1d",
     .role = KINO__COST_COMPOSITE,
     .compute = pool,
     .variant = 1 | WITH_PLACES},
    {.name = "max_pool2d",
     .role = KINO__COST_COMPOSITE,
     .compute = pool,
     .variant = 2 | WITH_PLACES},
    {.name = "max_pool3d",
     .role = KINO__COST_COMPOSITE,
     .compute = pool,
     .variant = 3 | WITH_PLACES},
    {.name = "max_pool1d_with_indices",
     .role = KINO__COST_COMPOSITE,
     .compute = pool,
     .variant = 1 | WITH_PLACES},
    {.name = "max_pool2d_with_indices",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool,
     .variant = 2 | WITH_PLACES},
    {.name = "max_pool3d_with_indices",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool,
     .variant = 3 | WITH_PLACES},
    {.name = "mkldnn_max_pool2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool,
     .variant = 2 | WITH_PLACES},
    {.name = "avg_pool1d", .role = KINO__COST_COMPOSITE, .compute = pool, .variant = 1},
    {.name = "avg_pool2d", .role = KINO__COST_PRIMITIVE, .compute = pool, .variant = 2},
    {.name = "avg_pool3d", .role = KINO__COST_PRIMITIVE, .compute = pool, .variant = 3},
    {.name = "max_pool2d_with_indices_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool_backward,
     .variant = 2 | WITH_PLACES},
    {.name = "max_pool3d_with_indices_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool_backward,
     .variant = 3 | WITH_PLACES},
    {.name = "avg_pool2d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool_backward,
     .variant = 2},
    {.name = "avg_pool3d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool_backward,
     .variant = 3},
    {.name = "_adaptive_avg_pool2d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool_backward,
     .variant = 2},
    {.name = "_adaptive_avg_pool3d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = pool_backward,
     .variant = 3},
    {.name = "adaptive_avg_pool1d",
     .role = KINO__COST_COMPOSITE,
     .compute = adaptive_pool,
     .variant = 1},
    {.name = "adaptive_avg_pool2d",
     .role = KINO__COST_COMPOSITE,
     .compute = adaptive_pool,
     .variant = 2},
    {.name = "adaptive_avg_pool3d",
     .role = KINO__COST_COMPOSITE,
     .compute = adaptive_pool,
     .variant = 3},
    {.name = "_adaptive_avg_pool2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = adaptive_pool,
     .variant = 2},
    {.name = "_adaptive_avg_pool3d",
     .role = KINO__COST_PRIMITIVE,
     .compute = adaptive_pool,
     .variant = 3},
    {.name = "adaptive_max_pool1d",
     .role = KINO__COST_COMPOSITE,
     .compute = adaptive_pool,
     .variant = 1},
    {.name = "adaptive_max_pool2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = adaptive_pool,
     .variant = 2},
    {.name = "upsample_nearest1d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 1,
     .weight = 0},
    {.name = "upsample_nearest2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 2,
     .weight = 0},
    {.name = "upsample_nearest3d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 3,
     .weight = 0},
    {.name = "upsample_linear1d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 1,
     .weight = 4},
    {.name = "upsample_bilinear2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 2,
     .weight = 8},
    {.name = "upsample_trilinear3d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 3,
     .weight = 16},
    {.name = "upsample_bicubic2d",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample,
     .variant = 2,
     .weight = 32},
    {.name = "upsample_nearest1d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 1},
    {.name = "upsample_nearest2d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 1},
    {.name = "upsample_nearest3d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 1},
    {.name = "upsample_linear1d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 4},
    {.name = "upsample_bilinear2d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 8},
    {.name = "upsample_trilinear3d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 16},
    {.name = "upsample_bicubic2d_backward",
     .role = KINO__COST_PRIMITIVE,
     .compute = resample_backward,
     .weight = 32},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_pooling = {"pooling", ops};
