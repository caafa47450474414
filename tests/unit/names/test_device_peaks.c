/* test_device_peaks.c - figures of accelerators: they obey simple physics, each has a source, and
 * devices are found by the names that traces give them. */
#include "base/error.h"
#include "names/device_peaks.h"
#include "unit/test.h"

/* Is b twice a, up to the rounding in data sheets? */
static bool is_twice(double a, double b)
{
    return b > 1.97 * a && b < 2.04 * a;
}

static double rate(const kino__device_peaks *d, kino__precision precision)
{
    return d->rate[precision];
}

/* Where a device has both, matrix units are not slower than vector units. */
static void check_order(const kino__device_peaks *d, kino__precision vector, kino__precision tensor)
{
    if (rate(d, vector) > 0 && rate(d, tensor) > 0 && rate(d, tensor) < rate(d, vector)) {
        CHECK_STR(d->word, "matrix units at least as fast as vector units");
        CHECK_EQ(rate(d, tensor) >= rate(d, vector), true);
    }
}

TEST(device_peaks_list_forty_accelerators_with_sources)
{
    const kino__device_peaks *d;
    size_t count = 0;
    for (; (d = kino__device_peaks_at(count)); count++) {
        CHECK(d->word && *d->word && d->name && *d->name && d->pattern && *d->pattern);
        CHECK(d->source && strlen(d->source) > 10);
        CHECK(d->year >= 2016 && d->year <= 2026);
        CHECK(d->memory > 100 && d->memory < 20000);
        CHECK(d->link >= 0 && d->link < d->memory);
        CHECK(kino__device_peaks_named(kino__str_from(d->word)) == d);
        for (int i = 0; i < KINO__PRECISIONS; i++)
            CHECK(d->rate[i] >= 0 && d->rate[i] < 50000);
    }
    CHECK(count >= 40);
}

TEST(device_peaks_obey_physics)
{
    const kino__device_peaks *d;
    for (size_t i = 0; (d = kino__device_peaks_at(i)); i++) {
        check_order(d, KINO__PRECISION_FP64, KINO__PRECISION_FP64_TENSOR);
        check_order(d, KINO__PRECISION_FP32, KINO__PRECISION_FP32_TENSOR);
        check_order(d, KINO__PRECISION_FP32, KINO__PRECISION_TF32);
        check_order(d, KINO__PRECISION_FP16, KINO__PRECISION_FP16_TENSOR);
        check_order(d, KINO__PRECISION_BF16, KINO__PRECISION_BF16_TENSOR);
        /* narrower elements are not slower */
        check_order(d, KINO__PRECISION_FP64, KINO__PRECISION_FP32);
        check_order(d, KINO__PRECISION_FP32, KINO__PRECISION_FP16);
        check_order(d, KINO__PRECISION_TF32, KINO__PRECISION_BF16_TENSOR);
        check_order(d, KINO__PRECISION_BF16_TENSOR, KINO__PRECISION_FP8);
        check_order(d, KINO__PRECISION_FP8, KINO__PRECISION_FP6);
        check_order(d, KINO__PRECISION_FP6, KINO__PRECISION_FP4);
        check_order(d, KINO__PRECISION_INT8, KINO__PRECISION_INT4);
    }
}

/* Makers state the same rate for both formats of 16 bits, but AMD's MI100, whose bfloat16 runs at
 * half of it. */
TEST(device_peaks_of_bf16_are_those_of_fp16)
{
    const kino__device_peaks *d;
    size_t compared = 0;
    for (size_t i = 0; (d = kino__device_peaks_at(i)); i++) {
        double half = rate(d, KINO__PRECISION_FP16_TENSOR),
               brain = rate(d, KINO__PRECISION_BF16_TENSOR);
        if (half <= 0 || brain <= 0)
            continue;
        bool is_mi100 = strcmp(d->word, "mi100") == 0;
        CHECK(is_mi100 ? is_twice(brain, half) : half == brain);
        compared++;
    }
    CHECK(compared >= 40);
}

/* Half the width, twice the rate: TF32 to FP16, FP16 to FP8 and INT8, INT8 to INT4, FP8 to FP4, on
 * the generations whose makers say so. */
TEST(device_peaks_double_with_half_the_width)
{
    static const char *const halves[] = {
        "a100-sxm-80gb", "a30",      "a10",       "a40",      "h100-sxm", "h100-pcie",
        "h100-nvl",      "h200-sxm", "h20",       "l4",       "l40",      "l40s",
        "b200",          "gb200",    "rtx-a6000", "rtx-3090", "rtx-4090", "rtx-5090",
        "mi300x",        "mi300a",   "mi325x",    "max-1550", "max-1100"};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        const kino__device_peaks *d = kino__device_peaks_named(kino__str_from(halves[i]));
        REQUIRE(d != NULL);
        CHECK(is_twice(rate(d, KINO__PRECISION_TF32), rate(d, KINO__PRECISION_BF16_TENSOR)));
        if (rate(d, KINO__PRECISION_FP8) > 0)
            CHECK(is_twice(rate(d, KINO__PRECISION_BF16_TENSOR), rate(d, KINO__PRECISION_FP8)));
        else
            CHECK(rate(d, KINO__PRECISION_INT8) >= 1.97 * rate(d, KINO__PRECISION_BF16_TENSOR));
        if (rate(d, KINO__PRECISION_INT4) > 0)
            CHECK(is_twice(rate(d, KINO__PRECISION_INT8), rate(d, KINO__PRECISION_INT4)));
    }
    static const char *const fours[] = {"b200",   "gb200",  "b100",
                                        "mi350x", "mi355x", "rtx-pro-6000"};
    for (size_t i = 0; i < sizeof fours / sizeof *fours; i++) {
        const kino__device_peaks *d = kino__device_peaks_named(kino__str_from(fours[i]));
        REQUIRE(d != NULL);
        CHECK(is_twice(rate(d, KINO__PRECISION_BF16_TENSOR), rate(d, KINO__PRECISION_FP8)));
        CHECK(is_twice(rate(d, KINO__PRECISION_FP8), rate(d, KINO__PRECISION_FP4)));
    }
}

/* 64 FMA lanes (128 from Ampere's consumer cards on) per multiprocessor: the rate over the lanes is
 * a clock between 1 and 3 GHz. */
TEST(device_peaks_of_fp32_mean_plausible_clocks)
{
    static const struct {
        const char *word;
        int lanes;
    } cases[] = {{"v100-sxm", 64},   {"t4", 64},     {"a100-sxm-80gb", 64}, {"h100-sxm", 128},
                 {"h100-pcie", 128}, {"l40s", 128},  {"rtx-3090", 128},     {"rtx-4090", 128},
                 {"rtx-5090", 128},  {"b200", 128},  {"mi100", 64},         {"mi210", 64},
                 {"mi300x", 128},    {"mi250x", 64}, {"rtx-2080-ti", 64},   {"a10", 128}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kino__device_peaks *d = kino__device_peaks_named(kino__str_from(cases[i].word));
        REQUIRE(d != NULL && d->units > 0);
        double ghz = 1000 * rate(d, KINO__PRECISION_FP32) / (2.0 * d->units * cases[i].lanes);
        CHECK(ghz > 1.0 && ghz < 3.0);
    }
}

TEST(device_peaks_are_found_by_names_in_traces)
{
    static const struct {
        const char *name;
        int64_t units;
        const char *word; /* NULL: unknown */
    } cases[] = {
        {"Tesla V100-SXM2-16GB", 80, "v100-sxm"},
        {"Tesla V100-PCIE-32GB", 80, "v100-pcie"},
        {"NVIDIA A100-SXM4-80GB", 108, "a100-sxm-80gb"},
        {"A100-SXM4-40GB", 108, "a100-sxm-40gb"},
        {"NVIDIA A100 80GB PCIe", 108, "a100-pcie-80gb"},
        {"NVIDIA A100-PCIE-40GB", 108, "a100-pcie-40gb"},
        {"NVIDIA A10", 72, "a10"},
        {"NVIDIA A10G", 80, "a10g"},
        {"NVIDIA H100 80GB HBM3", 132, "h100-sxm"},
        {"NVIDIA H100 PCIe", 114, "h100-pcie"},
        {"NVIDIA H100 NVL", 132, "h100-nvl"},
        {"NVIDIA H200", 132, "h200-sxm"},
        {"NVIDIA GH200 480GB", 132, "gh200-96gb"},
        {"NVIDIA GH200 144G HBM3e", 132, "gh200-144gb"},
        {"NVIDIA B200", 148, "b200"},
        {"NVIDIA GB200", KINO_NO_INT, "gb200"},
        {"Tesla T4", 40, "t4"},
        {"NVIDIA L4", 58, "l4"},
        {"NVIDIA L40S", 142, "l40s"},
        {"NVIDIA GeForce RTX 4090", 128, "rtx-4090"},
        {"GeForce RTX 2080 Ti", 68, "rtx-2080-ti"},
        {"nvidia geforce rtx 4070 ti super", 66, "rtx-4070-ti-super"},
        {"AMD Instinct MI250X", 110, "mi250x"},
        {"AMD Instinct MI300X", 304, "mi300x"},
        {"AMD Instinct MI355X", 256, "mi355x"},
        {"Intel(R) Data Center GPU Max 1550", 1024, "max-1550"},
        {"Intel(R) Data Center GPU Max 1550", 512, "max-1550-stack"},
        {"TPU v5 lite", KINO_NO_INT, "tpu-v5e"},
        {"TPU v5", KINO_NO_INT, "tpu-v5p"},
        {"TPU v6e", KINO_NO_INT, "tpu-v6e"},
        {"HL-225", KINO_NO_INT, "gaudi-2"},
        /* other devices than the names suggest */
        {"NVIDIA GeForce RTX 4090 Laptop GPU", 76, NULL},
        {"NVIDIA GeForce RTX 4090 D", 114, NULL},
        {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 14, NULL},
        {"pthread-Intel(R) Xeon(R)", 2, NULL},
        {"", KINO_NO_INT, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const kino__device_peaks *d =
            kino__device_peaks_find(kino__str_from(cases[i].name), cases[i].units);
        CHECK_STR(d ? d->word : cases[i].name, cases[i].word ? cases[i].word : cases[i].name);
    }
}

TEST(device_peaks_may_be_given)
{
    kino__device_peaks d;
    kino_error err;
    REQUIRE_EQ(kino__device_peaks_parse(KINO__STR("a100-sxm-80gb,memory=1800,tf32=100"), &d, &err),
               KINO_OK);
    CHECK(d.memory == 1800 && d.rate[KINO__PRECISION_TF32] == 100 &&
          d.rate[KINO__PRECISION_BF16_TENSOR] == 312);
    REQUIRE_EQ(kino__device_peaks_parse(KINO__STR("fp32=0.5,memory=20.5"), &d, &err), KINO_OK);
    CHECK(d.rate[KINO__PRECISION_FP32] == 0.5 && d.memory == 20.5 &&
          d.rate[KINO__PRECISION_FP64] == 0);
    static const char *const bad[] = {
        "",         "nonsense",        "fp32",    "fp32=",    "fp32=abc",   "fp32=-1", "fp32=0",
        "fp32=inf", "fp32=1,h100-sxm", "speed=1", "fp32=1,,", "memory=1e99"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_EQ(kino__device_peaks_parse(kino__str_from(bad[i]), &d, &err), KINO_ARGUMENT);
}

/* Which roof is an operation's: by the type of its elements and the units it runs on. */
TEST(device_peaks_know_which_rate_counts)
{
    const kino__device_peaks *a100 = kino__device_peaks_named(KINO__STR("a100-sxm-80gb")),
                             *mi210 = kino__device_peaks_named(KINO__STR("mi210")),
                             *a10 = kino__device_peaks_named(KINO__STR("a10"));
    CHECK_EQ(kino__device_peaks_precision(a100, KINO__DTYPE_FLOAT32, true), KINO__PRECISION_TF32);
    CHECK_EQ(kino__device_peaks_precision(a100, KINO__DTYPE_FLOAT32, false), KINO__PRECISION_FP32);
    CHECK_EQ(kino__device_peaks_precision(a100, KINO__DTYPE_BFLOAT16, false), KINO__PRECISION_BF16);
    CHECK_EQ(kino__device_peaks_precision(a100, KINO__DTYPE_INT64, false), KINO__PRECISION_FP32);
    CHECK_EQ(kino__device_peaks_precision(mi210, KINO__DTYPE_FLOAT32, true),
             KINO__PRECISION_FP32_TENSOR);
    /* it has no vector rate of its own: computed in FP32 */
    CHECK_EQ(kino__device_peaks_precision(a10, KINO__DTYPE_FLOAT16, false), KINO__PRECISION_FP32);
    /* not stated at all */
    CHECK_EQ(kino__device_peaks_precision(a10, KINO__DTYPE_FLOAT64, true), KINO__PRECISION_NONE);
    CHECK_EQ(kino__device_peaks_precision(a10, KINO__DTYPE_NONE, true), KINO__PRECISION_NONE);
}
