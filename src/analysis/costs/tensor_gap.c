/* tensor_gap.c - see the header. */
#include "analysis/costs/tensor_gap.h"

#include "analysis/costs/cost_roof.h"
#include "store/args.h"

enum { MULTIPLE = 8, FIRST_WITH_HALF = 7, FIRST_WITH_TF32 = 8 };

const char *kino__tensor_gap_name(kino__tensor_gap gap)
{
    static const char *const names[KINO__TENSOR_GAPS] = {NULL, "dtype", "alignment", "layout",
                                                         "kernel"};
    return names[gap];
}

/* -- devices -- */

static kino__matrix_units units_of_peaks(const kino__device_peaks *peaks)
{
    return (kino__matrix_units){.half = peaks->rate[KINO__PRECISION_FP16_TENSOR] > 0 ||
                                        peaks->rate[KINO__PRECISION_BF16_TENSOR] > 0,
                                .tf32 = peaks->rate[KINO__PRECISION_TF32] > 0 ||
                                        peaks->rate[KINO__PRECISION_FP32_TENSOR] > 0,
                                .fp64 = peaks->rate[KINO__PRECISION_FP64_TENSOR] > 0};
}

kino__matrix_units kino__matrix_units_of(const kino__trace *trace, int64_t device)
{
    kino__roofs roofs = {.trace = trace, .device = KINO_NO_INT};
    const kino__device_peaks *peaks = kino__roofs_of(&roofs, device);
    if (peaks)
        return units_of_peaks(peaks);
    int64_t major = kino__trace_device_int(trace, device, "computeMajor");
    return (kino__matrix_units){.half = major >= FIRST_WITH_HALF, .tf32 = major >= FIRST_WITH_TF32};
}

/* -- sizes -- */

static bool is_multiple(const kino__op_inputs *inputs, const kino__op_input *input, uint32_t first,
                        uint32_t end)
{
    const int64_t *sizes = kino__op_input_sizes(inputs, input);
    for (uint32_t k = first; k < end && k < input->size_count; k++)
        if (sizes[k] % MULTIPLE)
            return false;
    return true;
}

static bool is_matrix_aligned(const kino__op_inputs *inputs, const kino__op_input *input)
{
    uint32_t count = input->size_count;
    return is_multiple(inputs, input, count > 2 ? count - 2 : 0, count);
}

/* Of the inputs of a convolution the last one with channels is the weight. */
static const kino__op_input *find_weight(const kino__op_inputs *inputs)
{
    const kino__op_input *weight = NULL;
    for (size_t i = 0; i < inputs->items.count; i++)
        if (inputs->items.items[i].is_tensor && inputs->items.items[i].size_count >= 3)
            weight = &inputs->items.items[i];
    return weight;
}

static bool are_channels_aligned(const kino__op_inputs *inputs)
{
    const kino__op_input *weight = find_weight(inputs);
    if (weight && !is_multiple(inputs, weight, 0, 1))
        return false;
    for (size_t i = 0; i < inputs->items.count; i++)
        if (inputs->items.items[i].size_count >= 3 &&
            !is_multiple(inputs, &inputs->items.items[i], 1, 2))
            return false;
    return true;
}

bool kino__product_is_aligned(const kino__op_inputs *inputs, kino__product_kind kind)
{
    if (kind == KINO__PRODUCT_CONVOLUTION)
        return are_channels_aligned(inputs);
    for (size_t i = 0; kind == KINO__PRODUCT_MATRIX && i < inputs->items.count; i++)
        if (!is_matrix_aligned(inputs, &inputs->items.items[i]))
            return false;
    return true;
}

/* Channels between batch and space, as far as strides were recorded. */
static bool has_channels_outside(const kino__op_inputs *inputs)
{
    const kino__op_input *weight = find_weight(inputs);
    for (size_t i = 0; i < inputs->items.count; i++) {
        const kino__op_input *input = &inputs->items.items[i];
        if (input == weight || input->size_count < 3 || input->stride_count != input->size_count)
            continue;
        if (kino__op_input_sizes(inputs, input)[1] > 1 &&
            kino__op_input_strides(inputs, input)[1] != 1)
            return true;
    }
    return false;
}

/* A filter for each channel is no matrix product. */
static bool is_depthwise(const kino__op_inputs *inputs)
{
    const kino__op_input *weight = find_weight(inputs);
    return weight && kino__op_input_sizes(inputs, weight)[1] == 1 &&
           kino__op_input_sizes(inputs, weight)[0] > 1;
}

/* -- why -- */

static kino__tensor_gap gap_of_half(const kino__op_inputs *inputs, kino__product_kind kind)
{
    if (!kino__product_is_aligned(inputs, kind))
        return KINO__TENSOR_GAP_ALIGNMENT;
    if (kind == KINO__PRODUCT_CONVOLUTION && has_channels_outside(inputs))
        return KINO__TENSOR_GAP_LAYOUT;
    return KINO__TENSOR_GAP_KERNEL;
}

kino__tensor_gap kino__tensor_gap_of(const kino__op_inputs *inputs, kino__product_kind kind,
                                     kino__dtype precision, const kino__matrix_units *units)
{
    if (kind == KINO__PRODUCT_CONVOLUTION && is_depthwise(inputs))
        return KINO__TENSOR_GAP_NONE;
    switch (precision) {
    case KINO__DTYPE_FLOAT32:
        return units->half || units->tf32 ? KINO__TENSOR_GAP_DTYPE : KINO__TENSOR_GAP_NONE;
    case KINO__DTYPE_FLOAT16:
    case KINO__DTYPE_BFLOAT16:
        return units->half ? gap_of_half(inputs, kind) : KINO__TENSOR_GAP_NONE;
    case KINO__DTYPE_FLOAT64:
        return units->fp64 ? KINO__TENSOR_GAP_KERNEL : KINO__TENSOR_GAP_NONE;
    default:
        return KINO__TENSOR_GAP_NONE;
    }
}
