/* device_peaks.h - what accelerators can do at most: device_peaks.def, found by the name that a
 * trace gives the device, or given by the user.
 *
 *   peak    TFLOP/s    0: not stated
 *   memory, link    GB/s
 *
 * All figures are dense ones of the maker. Constant data; any thread. */
#ifndef KINO__NAMES_DEVICE_PEAKS_H
#define KINO__NAMES_DEVICE_PEAKS_H

#include "names/dtype.h"

/* Kinds of arithmetic that have a rate: on vector units, and on matrix units (TENSOR, and all from
 * TF32 on that have no vector counterpart). */
typedef enum kino__precision {
    KINO__PRECISION_FP64,
    KINO__PRECISION_FP32,
    KINO__PRECISION_FP16,
    KINO__PRECISION_BF16,
    KINO__PRECISION_FP64_TENSOR,
    KINO__PRECISION_FP32_TENSOR,
    KINO__PRECISION_TF32,
    KINO__PRECISION_FP16_TENSOR,
    KINO__PRECISION_BF16_TENSOR,
    KINO__PRECISION_FP8,
    KINO__PRECISION_FP6,
    KINO__PRECISION_FP4,
    KINO__PRECISION_INT8,
    KINO__PRECISION_INT4,
    KINO__PRECISIONS,
    KINO__PRECISION_NONE = KINO__PRECISIONS,
} kino__precision;

/* "bf16-tensor", as --peak and the tables have it; "unknown" of NONE. */
const char *kino__precision_name(kino__precision precision);
/* Does it run on matrix units? */
static inline bool kino__precision_is_tensor(kino__precision precision)
{
    return precision >= KINO__PRECISION_FP64_TENSOR && precision < KINO__PRECISIONS;
}

typedef struct kino__device_peaks {
    const char *word; /* for --peak: "h100-sxm"; NULL: given by the user */
    const char *name;
    const char *pattern;
    int year; /* of the source; 0: none */
    const char *source;
    int units;
    double memory, link;
    double rate[KINO__PRECISIONS];
} kino__device_peaks;

/* The n-th device, NULL at the end. */
const kino__device_peaks *kino__device_peaks_at(size_t index);
/* By its word, or NULL. */
const kino__device_peaks *kino__device_peaks_named(kino_str word);

/* By the name that a trace gives it ("NVIDIA A100-SXM4-80GB"), or NULL. `units` (numSms,
 * maxComputeUnits; KINO_NO_INT: unknown) decides between variants that have the same name. A name
 * consists of words of letters and digits; a pattern of words that occur in it in this order, in
 * any case, and not necessarily next to each other: "A100 SXM* 80GB|A100X", where a star stands for
 * the rest of a word and a bar separates alternatives. */
const kino__device_peaks *kino__device_peaks_find(kino_str name, int64_t units);

/* What the user gave: the word of a device, figures, or both: "h100-sxm", "fp32=19.5,memory=1555",
 * "h100-sxm,link=450". Figures are in TFLOP/s, memory and link in GB/s. KINO_ARGUMENT with a
 * message that says what would fit. Names in *out are constant. */
KINO_NODISCARD kino_status kino__device_peaks_parse(kino_str text, kino__device_peaks *out,
                                                    kino_error *err);

/* Which rate counts for elements of this type: on matrix units or not; NONE: no rate is known. Types
 * that have no vector rate of their own compute in FP32. */
kino__precision kino__device_peaks_precision(const kino__device_peaks *peaks, kino__dtype dtype,
                                             bool on_tensor_cores);

#endif
