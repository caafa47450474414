/* test_rules_patterns.c - the rules made of PyTorch's patterns, just below and just above each of
 * their thresholds. The step takes 1 ms, so 1 ns is a millionth of it. */
#include <math.h>

#include "unit/rules_scene.h"
#include "unit/test.h"

/* -- extra-copy */

/* torch.zeros(...).to("cuda"): the second part takes `dur`, from 200 on; the copy runs on the
 * device in [500, 800). */
static scene *filled_and_copied(int64_t dur, const char *fill, const char *copy, const char *types)
{
    scene *s = scene_one_step();
    scene_host(s, "cpu_op", "aten::zeros", 100, 50);
    scene_host(s, "cpu_op", fill, 110, 20);
    scene_host(s, "cpu_op", "aten::to", 200, dur);
    scene_host(s, "cpu_op", "aten::_to_copy", 201, dur - 2);
    scene_launch(s, "aten::copy_", 202, dur - 4, "gpu_memcpy", copy, 500, 300)->args = types;
    return s;
}

#define FLOATS "{\"Input type\": [\"float\", \"float\", \"\"]}"
#define UPLOAD "Memcpy HtoD (Pageable -> Device)"

TEST(rule_extra_copy_speaks_above_its_share)
{
    CHECK(!scene_says(filled_and_copied(2000, "aten::zero_", UPLOAD, FLOATS), "extra-copy", NULL)
               .is_said);
    said s = scene_says(filled_and_copied(2001, "aten::zero_", UPLOAD, FLOATS), "extra-copy", NULL);
    CHECK(s.is_said);
    /* idle 2001 - 300, and the copy that nothing hides: 300 */
    CHECK(said_near(s.gain, 0.2001));
    CHECK_STR(s.severity, "low");
    CHECK_STR(s.evidence, "[3]"); /* the aten::to */
}

TEST(rule_extra_copy_needs_a_fill_a_copy_to_the_device_and_one_type)
{
    CHECK(!scene_says(filled_and_copied(9000, "aten::add", UPLOAD, FLOATS), "extra-copy", NULL)
               .is_said);
    CHECK(!scene_says(
               filled_and_copied(9000, "aten::zero_", "Memcpy DtoH (Device -> Pageable)", FLOATS),
               "extra-copy", NULL)
               .is_said);
    CHECK(!scene_says(filled_and_copied(9000, "aten::zero_", UPLOAD,
                                        "{\"Input type\": [\"float\", \"c10::Half\"]}"),
                      "extra-copy", NULL)
               .is_said);
    /* types that were not recorded are no reason to be silent */
    CHECK(scene_says(filled_and_copied(9000, "aten::normal_", UPLOAD, NULL), "extra-copy", NULL)
              .is_said);
}

/* -- loop-indexing */

/* Rounds of select and mul; the whole run takes `dur`. */
static scene *loop(int rounds, int64_t dur)
{
    scene *s = scene_one_step();
    for (int i = 0; i < rounds; i++) {
        int64_t at = 1000 + i * 100;
        scene_host(s, "cpu_op", "aten::select", at, 40);
        scene_host(s, "cpu_op", "aten::as_strided", at + 5, 10);
        scene_host(s, "cpu_op", "aten::mul", at + 50, i == rounds - 1 ? 1000 + dur - at - 50 : 40);
    }
    return s;
}

TEST(rule_loop_indexing_speaks_from_ten_rounds_on)
{
    CHECK(!scene_says(loop(9, 20000), "loop-indexing", NULL).is_said);
    said s = scene_says(loop(10, 20000), "loop-indexing", NULL);
    CHECK(s.is_said);
    CHECK(said_near(s.gain, 1.8)); /* nine of ten rounds of 20000 ns */
    CHECK(scene_says(loop(9, 20000), "loop-indexing", "loop-indexing.repeats=9").is_said);
}

TEST(rule_loop_indexing_speaks_above_its_share)
{
    CHECK(!scene_says(loop(10, 10000), "loop-indexing", NULL).is_said);
    CHECK(scene_says(loop(10, 10001), "loop-indexing", NULL).is_said);
}

TEST(rule_loop_indexing_wants_the_same_operators_in_each_round)
{
    scene *s = scene_one_step();
    for (int i = 0; i < 20; i++) {
        scene_host(s, "cpu_op", "aten::select", i * 1000, 400);
        scene_host(s, "cpu_op", i % 3 ? "aten::mul" : "aten::add", i * 1000 + 500, 400);
    }
    CHECK(!scene_says(s, "loop-indexing", NULL).is_said);
}

/* -- matrix products */

#define AMPERE "[{\"id\": 0, \"computeMajor\": 8, \"computeMinor\": 0}]"
#define TURING "[{\"id\": 0, \"computeMajor\": 7, \"computeMinor\": 5}]"

static scene *product(const char *devices, const char *args, const char *kernel, int64_t dur)
{
    scene *s = scene_one_step();
    s->devices = devices;
    scene_launch(s, "aten::mm", 100, 50, "kernel", kernel, 1000, dur)->args = args;
    return s;
}

/* The same beside another kernel of 100 ns that uses tensor cores. */
static scene *product_beside(const char *devices, const char *args, const char *kernel, int64_t dur)
{
    scene *s = product(devices, args, kernel, dur);
    scene_kernel(s, "ampere_h16816gemm", 500000, 100, NULL);
    return s;
}

#define FP32     "{\"Input type\": [\"float\", \"float\"], \"Input Dims\": [[8, 8], [8, 8]]}"
#define ODD_FP32 "{\"Input type\": [\"float\", \"float\"], \"Input Dims\": [[8, 8], [8, 9]]}"
#define HALF     "{\"Input type\": [\"c10::Half\", \"\"], \"Input Dims\": [[8, 8], [8, 16]]}"
#define ODD      "{\"Input type\": [\"c10::BFloat16\"], \"Input Dims\": [[3, 8, 8], [3, 8, 9]]}"

TEST(rule_fp32_matmul_speaks_above_its_share)
{
    CHECK(!scene_says(product_beside(AMPERE, FP32, "ampere_sgemm", 50000), "fp32-matmul", NULL)
               .is_said);
    said s = scene_says(product_beside(AMPERE, FP32, "ampere_sgemm", 60000), "fp32-matmul", NULL);
    CHECK(s.is_said);
    /* half of 60000, times the busy part: 60100 of 1000000; whole ns */
    CHECK(said_near(s.gain, 100.0 * (int64_t)(30000 * 0.0601) / SCENE_STEP));
    s = scene_says(product_beside(AMPERE, FP32, "ampere_sgemm", 60000), "fp32-matmul",
                   "fp32-matmul.speedup=4");
    CHECK(said_near(s.gain, 100.0 * (int64_t)(45000 * 0.0601) / SCENE_STEP));
    CHECK(scene_says(product_beside(AMPERE, FP32, "ampere_sgemm", 50001), "fp32-matmul", NULL)
              .is_said);
}

TEST(rule_fp32_matmul_looks_at_type_device_and_kernel)
{
    CHECK(!scene_says(product_beside(TURING, FP32, "sgemm", 60000), "fp32-matmul", NULL).is_said);
    CHECK(!scene_says(product_beside(NULL, FP32, "sgemm", 60000), "fp32-matmul", NULL).is_said);
    CHECK(!scene_says(product_beside(AMPERE, HALF, "sgemm", 60000), "fp32-matmul", NULL).is_said);
    CHECK(!scene_says(product_beside(AMPERE, FP32, "cutlass_80_tensorop_s1688gemm", 60000),
                      "fp32-matmul", NULL)
               .is_said);
}

TEST(rule_fp32_matmul_leaves_it_to_mixed_precision_where_nothing_uses_tensor_cores)
{
    CHECK(!scene_says(product(AMPERE, FP32, "sgemm", 60000), "fp32-matmul", NULL).is_said);
    CHECK(scene_says(product(AMPERE, FP32, "sgemm", 60000), "mixed-precision", NULL).is_said);
}

TEST(rule_matmul_alignment_speaks_above_its_share)
{
    CHECK(!scene_says(product(AMPERE, ODD, "gemm", 20000), "matmul-alignment", NULL).is_said);
    CHECK(scene_says(product(AMPERE, ODD, "gemm", 20001), "matmul-alignment", NULL).is_said);
    said s = scene_says(product(AMPERE, ODD, "gemm", 100000), "matmul-alignment", NULL);
    CHECK(said_near(s.gain,
                    0.5)); /* half of 100000, and the device is busy for a tenth of the step */
    CHECK(said_holds(s.seen, "[[3,8,8],[3,8,9]]"));
    s = scene_says(product(AMPERE, ODD, "gemm", 100000), "matmul-alignment",
                   "matmul-alignment.speedup=1");
    CHECK(s.is_said && said_near(s.gain, 0));
}

TEST(rule_matmul_alignment_knows_no_gain_where_tensor_cores_are_used)
{
    said s = scene_says(product(AMPERE, ODD, "h16816gemm", 100000), "matmul-alignment", NULL);
    CHECK(s.is_said && isnan(s.gain));
}

TEST(rule_matmul_alignment_is_about_half_precision_and_odd_sizes)
{
    CHECK(!scene_says(product(AMPERE, HALF, "gemm", 90000), "matmul-alignment", NULL).is_said);
    CHECK(!scene_says(product(AMPERE, ODD_FP32, "gemm", 90000), "matmul-alignment", NULL).is_said);
}

/* -- convolutions */

/* A convolution of `dur` without tensor cores, beside a kernel that uses them. */
static scene *slow_convolution(const char *devices, const char *args, const char *kernel,
                               int64_t dur)
{
    scene *s = scene_one_step();
    s->devices = devices;
    scene_launch(s, "aten::conv2d", 100, 50, "kernel", kernel, 1000, dur)->args = args;
    scene_kernel(s, "ampere_h16816gemm", 500000, 100, NULL);
    return s;
}

#define CONV(type, input, strides, weight)                                                         \
    "{\"Input type\": [\"" type "\", \"" type "\"], \"Input Dims\": [" input ", " weight           \
    "], \"Input Strides\": [" strides ", []]}"
#define FP32_CONV CONV("float", "[8, 64, 56, 56]", "[]", "[64, 64, 3, 3]")
#define HALF_CONV CONV("c10::Half", "[8, 64, 56, 56]", "[200704, 1, 3584, 64]", "[64, 64, 3, 3]")
#define NCHW_CONV CONV("c10::Half", "[8, 64, 56, 56]", "[200704, 3136, 56, 1]", "[64, 64, 3, 3]")
#define RGB_CONV  CONV("c10::Half", "[8, 3, 56, 56]", "[9408, 3136, 56, 1]", "[64, 3, 7, 7]")
#define DEPTHWISE CONV("c10::Half", "[8, 64, 56, 56]", "[]", "[64, 1, 3, 3]")

static said of_convolution(const char *devices, const char *args, const char *kernel, int64_t dur)
{
    return scene_says(slow_convolution(devices, args, kernel, dur), "conv-tensor-cores", NULL);
}

TEST(rule_conv_tensor_cores_speaks_above_its_share)
{
    CHECK(!of_convolution(AMPERE, FP32_CONV, "implicit_convolve_sgemm", 30000).is_said);
    said s = of_convolution(AMPERE, FP32_CONV, "implicit_convolve_sgemm", 60000);
    CHECK(s.is_said);
    /* half of 60000, times the busy part: 60100 of 1000000; whole ns */
    CHECK(said_near(s.gain, 100.0 * (int64_t)(30000 * 0.0601) / SCENE_STEP));
    CHECK(said_holds(s.evidence, "["));
}

TEST(rule_conv_tensor_cores_says_why)
{
    said s = of_convolution(AMPERE, FP32_CONV, "implicit_convolve_sgemm", 60000);
    CHECK(said_holds(s.seen, "FP32") && said_holds(s.advice, "allow_tf32"));
    s = of_convolution(TURING, FP32_CONV, "implicit_convolve_sgemm", 60000);
    CHECK(said_holds(s.advice, "float16"));
    s = of_convolution(AMPERE, RGB_CONV, "implicit_convolve", 60000);
    CHECK(said_holds(s.seen, "channels") && said_holds(s.advice, "multiples of 8"));
    s = of_convolution(AMPERE, NCHW_CONV, "implicit_convolve", 60000);
    CHECK(said_holds(s.seen, "NCHW") && said_holds(s.advice, "channels_last"));
    s = of_convolution(AMPERE, HALF_CONV, "implicit_convolve", 60000);
    CHECK(said_holds(s.advice, "benchmark"));
}

TEST(rule_conv_tensor_cores_is_silent_where_nothing_is_missed)
{
    CHECK(!of_convolution(AMPERE, HALF_CONV, "sm80_xmma_fprop_implicit_gemm_f16f16_tensor16x8x16",
                          60000)
               .is_said);
    CHECK(!of_convolution(AMPERE, DEPTHWISE, "conv_depthwise2d_forward", 60000).is_said);
    CHECK(!of_convolution(NULL, FP32_CONV, "implicit_convolve_sgemm", 60000).is_said);
    /* mixed-precision says it where no kernel uses them */
    scene *s = scene_one_step();
    s->devices = AMPERE;
    scene_launch(s, "aten::conv2d", 100, 50, "kernel", "implicit_convolve", 1000, 60000)->args =
        FP32_CONV;
    CHECK(!scene_says(s, "conv-tensor-cores", NULL).is_said);
}

/* cuDNN converts around its kernels: a tenth of the step, a third of the kernels' time. */
TEST(rule_casts_and_copies_knows_conversions_of_layouts)
{
    scene *s = scene_one_step();
    scene_launch(s, "aten::conv2d", 100, 50, "kernel", "sm80_fprop_tensor16x8x16", 1000, 200000);
    scene_launch(s, "aten::conv2d", 300, 50, "kernel",
                 "void cudnn::ops::nchwToNhwcKernel<__half>(int)", 300000, 100000);
    said got = scene_says(s, "casts-and-copies", NULL);
    CHECK(got.is_said && said_holds(got.seen, "NCHW") && said_holds(got.advice, "channels_last"));
    s = scene_one_step();
    scene_launch(s, "aten::conv2d", 100, 50, "kernel", "sm80_fprop_tensor16x8x16", 1000, 200000);
    scene_launch(s, "aten::conv2d", 300, 50, "kernel", "cudnn::bn_fw_tr_1C11_kernel_NHWC<float>",
                 300000, 100000);
    CHECK(!scene_says(s, "casts-and-copies", NULL).is_said);
}

/* -- far-from-roof */

#define A100                                                                                       \
    "[{\"id\": 0, \"name\": \"NVIDIA A100-SXM4-80GB\", \"numSms\": 108, \"computeMajor\": 8}]"
#define LARGE                                                                                      \
    "{\"Input type\": [\"c10::Half\", \"c10::Half\"], \"Input Dims\": [[1024, 1024], [1024, "      \
    "1024]]}"

/* 2 x 1024^3 operations take 6883 ns at 312 TFLOP/s. The step has 1 ms. */
static said of_product(const char *devices, const char *kernel, int64_t dur)
{
    scene *s = scene_one_step();
    s->devices = devices;
    scene_launch(s, "aten::mm", 100, 50, "kernel", kernel, 1000, dur)->args = LARGE;
    return scene_says(s, "far-from-roof", NULL);
}

TEST(rule_far_from_roof_speaks_of_heavy_operators_far_below_it)
{
    said s = of_product(A100, "ampere_h16816gemm", 200000); /* 3.4 % */
    CHECK(s.is_said && said_holds(s.seen, "aten::mm (fp16)") && said_holds(s.seen, "peak rate"));
    /* at 60 %: 11472 ns; the device is busy for a fifth of the step */
    CHECK(said_near(s.gain, 100.0 * (int64_t)((200000 - 11472) * 0.2) / SCENE_STEP));
    CHECK(said_holds(s.evidence, "["));
}

TEST(rule_far_from_roof_is_silent_below_its_share_and_near_the_roof)
{
    CHECK(!of_product(A100, "ampere_h16816gemm", 90000).is_said); /* 9 % of the step */
    CHECK(!of_product("[{\"id\": 0, \"name\": \"unheard of\"}]", "ampere_h16816gemm", 200000)
               .is_said);
    scene *s = scene_one_step();
    s->devices = A100;
    for (int i = 0; i < 10; i++) /* 34 % of the peak, 20 % of the step */
        scene_launch(s, "aten::mm", 100 + i * 100, 50, "kernel", "ampere_h16816gemm",
                     2000 + i * 20000, 20000)
            ->args = LARGE;
    CHECK(!scene_says(s, "far-from-roof", NULL).is_said);
}

/* -- single-tensor-optimizer */

/* Optimizer.step of `dur` with operators in it, on the CPU. */
static scene *optimizer(int operators, const char *name, int64_t dur)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "Optimizer.step#SGD.step", 1000, dur);
    for (int i = 0; i < operators; i++)
        scene_host(s, "cpu_op", name, 1010 + i * 10, 8);
    return s;
}

TEST(rule_single_tensor_optimizer_counts_calls)
{
    const char *rule = "single-tensor-optimizer";
    CHECK(!scene_says(optimizer(99, "aten::add_", 30000), rule, NULL).is_said);
    said s = scene_says(optimizer(100, "aten::add_", 30000), rule, NULL);
    CHECK(s.is_said && isnan(s.gain)); /* not known without a device */
    CHECK(!scene_says(optimizer(100, "aten::_foreach_add_", 30000), rule, NULL).is_said);
    CHECK(!scene_says(optimizer(100, "aten::_fused_adamw_", 30000), rule, NULL).is_said);
}

TEST(rule_single_tensor_optimizer_speaks_above_its_share)
{
    const char *rule = "single-tensor-optimizer";
    CHECK(!scene_says(optimizer(100, "aten::add_", 20000), rule, NULL).is_said);
    CHECK(scene_says(optimizer(100, "aten::add_", 20001), rule, NULL).is_said);
}

TEST(rule_single_tensor_optimizer_knows_the_python_function)
{
    scene *s = optimizer(5, "aten::add_", 30000);
    scene_host(s, "python_function", "torch/optim/adam.py(345): _single_tensor_adam", 1001, 29000);
    CHECK(scene_says(s, "single-tensor-optimizer", NULL).is_said);
}

TEST(rule_single_tensor_optimizer_gains_the_idle_time_around_its_kernels)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", "Optimizer.step#SGD.step", 0, 100000);
    for (int i = 0; i < 100; i++)
        scene_launch(s, "aten::add_", i * 1000 + 10, 100, "kernel", "add", i * 1000 + 200, 250);
    said a = scene_says(s, "single-tensor-optimizer", NULL);
    CHECK(a.is_said);
    CHECK(said_near(a.gain, 7.5)); /* 100000 less 100 kernels of 250 */
}

/* -- synchronous-loader */

static scene *loader(const char *name, int64_t dur)
{
    scene *s = scene_one_step();
    scene_host(s, "user_annotation", name, 1000, dur);
    return s;
}

#define SINGLE  "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
#define WORKERS "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

TEST(rule_synchronous_loader_speaks_between_its_share_and_that_of_data_loading)
{
    CHECK(!scene_says(loader(SINGLE, 10000), "synchronous-loader", NULL).is_said);
    said s = scene_says(loader(SINGLE, 10001), "synchronous-loader", NULL);
    CHECK(s.is_said && said_near(s.gain, 1.0001));
    CHECK(scene_says(loader(SINGLE, 50000), "synchronous-loader", NULL).is_said);
    CHECK(!scene_says(loader(SINGLE, 50001), "synchronous-loader", NULL).is_said);
    CHECK(!scene_says(loader(WORKERS, 30000), "synchronous-loader", NULL).is_said);
}

/* -- zeroed-gradients */

static scene *zeroed(const char *around, const char *parent, int64_t dur)
{
    scene *s = scene_one_step();
    bool is_python = strstr(around, ".py(") != NULL;
    scene_host(s, is_python ? "python_function" : "user_annotation", around, 1000, 50000);
    if (parent)
        scene_host(s, "cpu_op", parent, 1005, dur + 10);
    scene_host(s, "cpu_op", "aten::zero_", 1010, dur);
    scene_host(s, "cpu_op", "aten::fill_", 1015, dur - 10);
    return s;
}

TEST(rule_zeroed_gradients_speaks_above_its_share)
{
    const char *around = "Optimizer.zero_grad#SGD.zero_grad";
    CHECK(!scene_says(zeroed(around, NULL, 2000), "zeroed-gradients", NULL).is_said);
    said s = scene_says(zeroed(around, NULL, 2001), "zeroed-gradients", NULL);
    CHECK(s.is_said && said_near(s.gain, 0.2001));
    CHECK(scene_says(zeroed("torch/optim/optimizer.py(9): zero_grad", NULL, 2001),
                     "zeroed-gradients", NULL)
              .is_said);
}

TEST(rule_zeroed_gradients_is_about_zero_grad_only)
{
    CHECK(!scene_says(zeroed("forward", NULL, 9000), "zeroed-gradients", NULL).is_said);
    CHECK(!scene_says(zeroed("Optimizer.zero_grad#SGD.zero_grad", "aten::zeros", 9000),
                      "zeroed-gradients", NULL)
               .is_said);
}

/* -- conv-bias */

#define WITH_BIAS "{\"Input Dims\": [[8, 3, 32, 32], [64, 3, 3, 3], [64], [], []]}"
#define NO_BIAS   "{\"Input Dims\": [[8, 3, 32, 32], [64, 3, 3, 3], [], [], []]}"

static void convolution(scene *s, int64_t at, const char *args, const char *next)
{
    scene_host(s, "python_function", "nn.Module: Conv2d_0", at, 300);
    scene_host(s, "cpu_op", "aten::conv2d", at + 10, 200)->args = args;
    scene_launch(s, "aten::add_", at + 100, 50, "kernel", "add", at + 1000, 20000);
    scene_host(s, "python_function", "nn.Module: BatchNorm2d_0", at + 400, 300);
    scene_host(s, "cpu_op", next, at + 450, 200);
}

TEST(rule_conv_bias_wants_a_bias_and_a_batch_norm_right_behind)
{
    scene *s = scene_one_step();
    convolution(s, 1000, WITH_BIAS, "aten::batch_norm");
    said a = scene_says(s, "conv-bias", NULL);
    CHECK(a.is_said);
    CHECK(said_near(a.gain,
                    0.04)); /* 20000 of the device, which is busy for a fiftieth of the step */
    s = scene_one_step();
    convolution(s, 1000, NO_BIAS, "aten::batch_norm");
    CHECK(!scene_says(s, "conv-bias", NULL).is_said);
    s = scene_one_step();
    convolution(s, 1000, WITH_BIAS, "aten::relu");
    CHECK(!scene_says(s, "conv-bias", NULL).is_said);
}

TEST(rule_conv_bias_counts_pairs_in_a_step)
{
    scene *s = scene_one_step();
    scene_step(s, SCENE_STEP, 2 * SCENE_STEP);
    convolution(s, 1000, WITH_BIAS, "aten::batch_norm");
    scene_launch(s, "aten::mm", SCENE_STEP + 10, 50, "kernel", "gemm", SCENE_STEP + 100, 500);
    scene_launch(s, "aten::mm", SCENE_STEP + 110, 50, "kernel", "gemm", SCENE_STEP + 700, 500);
    CHECK(!scene_says(s, "conv-bias", NULL).is_said); /* half a pair a step */
    s = scene_one_step();
    scene_step(s, SCENE_STEP, 2 * SCENE_STEP);
    convolution(s, 1000, WITH_BIAS, "aten::batch_norm");
    convolution(s, SCENE_STEP + 1000, WITH_BIAS, "aten::batch_norm");
    CHECK(scene_says(s, "conv-bias", NULL).is_said);
}
