/* tensor_gap.h - why a product did not run on matrix units (tensor cores) although it could have.
 *
 *   dtype       elements of 32 bits: matrix units take TF32 or 16 bits
 *   alignment   16 bits, but a size or a number of channels is not a multiple of 8
 *   layout      16 bits, but channels are not the innermost dimension of a convolution's input
 *   kernel      nothing of that: the library chose a kernel without them
 *
 * Rules and tables say it with the same words. */
#ifndef KINO__ANALYSIS_TENSOR_GAP_H
#define KINO__ANALYSIS_TENSOR_GAP_H

#include "store/op_inputs.h"
#include "store/trace.h"

typedef enum kino__tensor_gap {
    KINO__TENSOR_GAP_NONE, /* it did, or could not; or it is not known */
    KINO__TENSOR_GAP_DTYPE,
    KINO__TENSOR_GAP_ALIGNMENT,
    KINO__TENSOR_GAP_LAYOUT,
    KINO__TENSOR_GAP_KERNEL,
    KINO__TENSOR_GAPS,
} kino__tensor_gap;

/* "dtype"; NULL of NONE. */
const char *kino__tensor_gap_name(kino__tensor_gap gap);

/* What the matrix units of a device take. */
typedef struct kino__matrix_units {
    bool half; /* 16 bits; FP32 could be converted to them, or to TF32 */
    bool tf32; /* FP32 as it is */
    bool fp64;
} kino__matrix_units;

/* By the device's name (kino peaks), else by its compute capability; nothing where neither is
 * known. */
kino__matrix_units kino__matrix_units_of(const kino__trace *trace, int64_t device);

typedef enum kino__product_kind {
    KINO__PRODUCT_MATRIX,
    KINO__PRODUCT_CONVOLUTION,
    KINO__PRODUCT_OTHER, /* attention, recurrent layers: sizes do not decide */
} kino__product_kind;

/* Are the sizes that count multiples of 8: the last two of each matrix, all numbers of channels of
 * a convolution? */
bool kino__product_is_aligned(const kino__op_inputs *inputs, kino__product_kind kind);

/* Of a product whose kernels used no matrix units. */
kino__tensor_gap kino__tensor_gap_of(const kino__op_inputs *inputs, kino__product_kind kind,
                                     kino__dtype precision, const kino__matrix_units *units);

#endif
