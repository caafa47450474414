/* family_quantized.c - products of narrow types with scales: fp8, mxfp, fp4, int8, int4.
 *
 * 2mnk operations in the type of the first factor. Two fp4 share an element of the recorded size, so
 * k is twice that. The result has the type that the call asks for; scales are read. */
#include "cost/family.h"

/* The numbers of c10::ScalarType, as a call's values have them. */
static kino__dtype dtype_of_number(int64_t number)
{
    switch (number) {
    case 3:
        return KINO__DTYPE_INT32;
    case 5:
        return KINO__DTYPE_FLOAT16;
    case 6:
        return KINO__DTYPE_FLOAT32;
    case 15:
        return KINO__DTYPE_BFLOAT16;
    case 23:
        return KINO__DTYPE_FLOAT8_E5M2;
    case 24:
        return KINO__DTYPE_FLOAT8_E4M3;
    default:
        return KINO__DTYPE_NONE;
    }
}

/* (a [m, k], b [k, n], scales, bias, ..., type of the result at op->variant). */
static void scaled_mm(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor a, b;
    if (!kino__cost_tensor_at(ask, 0, "input", &a) || !kino__cost_tensor_at(ask, 1, "mat2", &b)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    if (a.rank != 2 || b.rank != 2 || a.sizes[1] != b.sizes[0]) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t number = -1;
    (void)kino__cost_int_at(ask, (uint32_t)ask->op->variant, "out_dtype", &number);
    kino__dtype result = dtype_of_number(number);
    int64_t packed = a.dtype == KINO__DTYPE_FLOAT4 ? 2 : 1;
    int64_t out = kino__cost_mul(a.sizes[0], b.sizes[1]);
    int64_t k = kino__cost_mul(packed, a.sizes[1]);
    kino__cost_set_matrix(cost, kino__cost_mul(2, kino__cost_mul(out, k)),
                          kino__cost_input_bytes(ask), kino__cost_bytes_of(out, result), a.dtype);
}

/* (x [m, k], weight of n * k values in b.elements * op->weight of them, group size, scales): the
 * weight is unpacked as it is read, and multiplied in x's type. */
static void packed_mm(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x, w;
    if (!kino__cost_tensor_at(ask, 0, "input", &x) || !kino__cost_tensor_at(ask, 1, "mat2", &w)) {
        kino__cost_unknown(cost, kino__cost_no_shapes);
        return;
    }
    int64_t values = kino__cost_mul(w.elements, ask->op->weight);
    if (x.rank != 2 || x.sizes[1] <= 0 || values % x.sizes[1] != 0) {
        kino__cost_unknown(cost, kino__cost_bad_shapes);
        return;
    }
    int64_t out = kino__cost_mul(x.sizes[0], values / x.sizes[1]);
    kino__cost_set_matrix(cost, kino__cost_mul(2, kino__cost_mul(x.sizes[0], values)),
                          kino__cost_input_bytes(ask), kino__cost_bytes_of(out, x.dtype), x.dtype);
}

/* Between real numbers and steps of a scale: a multiplication, an addition, a rounding. */
static void convert(const kino__cost_ask *ask, kino__cost *cost)
{
    kino__cost_tensor x;
    if (!kino__cost_first_tensor(ask, cost, &x))
        return;
    kino__cost_set(cost, kino__cost_mul(ask->op->weight, x.elements), x.bytes,
                   kino__cost_bytes_of(x.elements, (kino__dtype)ask->op->variant), x.dtype);
}

static const kino__cost_op ops[] = {
    {.name = "_scaled_mm", .role = KINO__COST_PRIMITIVE, .compute = scaled_mm, .variant = 6},
    {.name = "_scaled_mm_v2", .role = KINO__COST_PRIMITIVE, .compute = scaled_mm, .variant = 9},
    {.name = "_weight_int8pack_mm",
     .role = KINO__COST_PRIMITIVE,
     .compute = packed_mm,
     .weight = 1},
    {.name = "_weight_int4pack_mm",
     .role = KINO__COST_PRIMITIVE,
     .compute = packed_mm,
     .weight = 8},
    {.name = "_weight_int4pack_mm_for_cpu",
     .role = KINO__COST_PRIMITIVE,
     .compute = packed_mm,
     .weight = 2},
    {.name = "_dyn_quant_matmul_4bit",
     .role = KINO__COST_PRIMITIVE,
     .compute = packed_mm,
     .weight = 2},
    {.name = "quantize_per_tensor",
     .role = KINO__COST_PRIMITIVE,
     .compute = convert,
     .weight = 3,
     .variant = KINO__DTYPE_INT8},
    {.name = "quantize_per_channel",
     .role = KINO__COST_PRIMITIVE,
     .compute = convert,
     .weight = 3,
     .variant = KINO__DTYPE_INT8},
    {.name = "dequantize",
     .role = KINO__COST_PRIMITIVE,
     .compute = convert,
     .weight = 2,
     .variant = KINO__DTYPE_FLOAT32},
    {.name = "fake_quantize_per_tensor_affine",
     .role = KINO__COST_PRIMITIVE,
     .compute = kino__cost_passes,
     .weight = 5,
     .variant = 2},
    {.name = NULL},
};

const kino__cost_family kino__cost_family_quantized = {"quantized", ops};
