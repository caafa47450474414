/* peaks_list.c - the accelerators whose limits are known (names/device_peaks.def), as a table. */
#include <kino/analysis.h>

#include "base/error.h"
#include "names/device_peaks.h"
#include "store/table.h"

#define RATE_COLUMN(precision, name, help)                                                         \
    [C_RATES + KINO__PRECISION_##precision] = {name, KINO_TYPE_FLOAT, "TFLOP/s", help}

enum { C_DEVICE, C_NAME, C_MEMORY, C_LINK, C_RATES, C_YEAR = C_RATES + KINO__PRECISIONS, C_SOURCE };

static const kino_column columns[] = {
    [C_DEVICE] = {"device", KINO_TYPE_STRING, NULL, "word for --peak"},
    [C_NAME] = {"name", KINO_TYPE_STRING, NULL, NULL},
    [C_MEMORY] = {"memory", KINO_TYPE_FLOAT, "GB/s", "memory bandwidth"},
    [C_LINK] = {"link", KINO_TYPE_FLOAT, "GB/s", "between devices, both directions together"},
    RATE_COLUMN(FP64, "fp64", "vector units"),
    RATE_COLUMN(FP32, "fp32", "vector units"),
    RATE_COLUMN(FP16, "fp16", "vector units"),
    RATE_COLUMN(BF16, "bf16", "vector units"),
    RATE_COLUMN(FP64_TENSOR, "fp64_tensor", "matrix units"),
    RATE_COLUMN(FP32_TENSOR, "fp32_tensor", "matrix units"),
    RATE_COLUMN(TF32, "tf32", "matrix units"),
    RATE_COLUMN(FP16_TENSOR, "fp16_tensor", "matrix units"),
    RATE_COLUMN(BF16_TENSOR, "bf16_tensor", "matrix units"),
    RATE_COLUMN(FP8, "fp8", "matrix units"),
    RATE_COLUMN(FP6, "fp6", "matrix units"),
    RATE_COLUMN(FP4, "fp4", "matrix units"),
    RATE_COLUMN(INT8, "int8", "matrix units, TOP/s"),
    RATE_COLUMN(INT4, "int4", "matrix units, TOP/s"),
    [C_YEAR] = {"year", KINO_TYPE_INT, NULL, "of the device"},
    [C_SOURCE] = {"source", KINO_TYPE_STRING, NULL, "document of its maker"},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* What people see: the rest is in the other formats. */
static const kino__precision shown[] = {KINO__PRECISION_FP64,        KINO__PRECISION_FP32,
                                        KINO__PRECISION_TF32,        KINO__PRECISION_FP16_TENSOR,
                                        KINO__PRECISION_BF16_TENSOR, KINO__PRECISION_FP8,
                                        KINO__PRECISION_FP4,         KINO__PRECISION_INT8};

static uint64_t hidden_columns(void)
{
    uint64_t hidden = UINT64_C(1) << C_YEAR | UINT64_C(1) << C_SOURCE;
    for (size_t i = 0; i < KINO__PRECISIONS; i++)
        hidden |= UINT64_C(1) << (C_RATES + i);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        hidden &= ~(UINT64_C(1) << (C_RATES + shown[i]));
    return hidden;
}

static double stated(double figure)
{
    return figure > 0 ? figure : (double)NAN;
}

kino_status kino_peaks_list(kino_result **out, kino_error *err)
{
    const kino__device_peaks *d;
    *out = NULL;
    kino__error_clear(err);
    kino_result *result = kino__result_new("peaks");
    kino__table *table = kino__result_add_table(result, "peaks", columns, COLUMNS);
    kino__table_describe(table, 0, "Accelerators (dense TFLOP/s, GB/s)", NULL);
    for (size_t i = 0; (d = kino__device_peaks_at(i)); i++) {
        KINO__TABLE_ADD(table, kino__str_from(d->word), kino__str_from(d->name), stated(d->memory),
                        stated(d->link));
        for (size_t k = 0; k < KINO__PRECISIONS; k++)
            kino__table_add_real(table, stated(d->rate[k]));
        KINO__TABLE_ADD(table, d->year, kino__str_from(d->source));
    }
    if (table)
        table->hidden = hidden_columns();
    return kino__result_finish(result, out, err);
}
