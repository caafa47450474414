/* test_tensor_core.c - kernels that use matrix units, by names of all generations. */
#include "base/str.h"
#include "names/tensor_core.h"
#include "unit/test.h"

static const char *const matrix_units[] = {
    /* Volta, Turing */
    "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
    "volta_h884gemm_64x64_ldg8_nt",
    "turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
    "turing_h1688gemm_128x128_ldg8_stages_32x1_tn",
    "void cutlass::Kernel<cutlass_75_wmma_tensorop_s161616gemm_f16_32x32_64x1_nn_align8>",
    /* Ampere, Ada */
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn",
    "ampere_fp16_s1688gemm_fp16_64x128_sliced1x2_ldg8_f2f_tn",
    "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_nt_align4>(Params)",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_"
    "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn",
    "sm80_xmma_dgrad_implicit_gemm_f16f16_f16f16_f32_nhwckrsc_nhwc_tilesize128x64x64_tensor16x8x16",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)",
    /* Hopper, Blackwell */
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize2x1x1_execute_"
    "segment_k_off_kernel__5x_cublas",
    "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90>>",
    "cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32_void_bf16",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128",
    "void deep_gemm::sm100_fp8_gemm_1d1d_impl<...>",
    /* AMD, Intel */
    "Cijk_Ailk_Bljk_BBS_BH_Bias_AS_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB0",
    "void ck::kernel_gemm_xdlops_v2r3<ck::GridwiseGemm>",
    "mlir_convolution_mfma_f16",
    "gemm_kernel_dpas_bf16",
    "brg_matmul_avx512_core_amx",
};

static const char *const vector_units[] = {
    "volta_sgemm_128x64_nn",
    "ampere_sgemm_64x32_sliced1x4_nt",
    "void cutlass::Kernel<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>(Params)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<c10::Half>>",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>",
    "void gemmSN_NN_kernel<float, 128, 2, 4, 8, 5, 4, false>",
    "void gemv2T_kernel_val<int, int, __half, __half, float>",
    "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64>>",
    "cudnn::winograd_nonfused::winogradForwardData4x4<float, float>",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
    "triton_poi_fused_add_gelu_0",
    "Cijk_Ailk_Bljk_SB_MT64x64x8_SE_APM1_AF0EM1",
    "",
};

TEST(tensor_core_kernels_are_recognized_by_name)
{
    for (size_t i = 0; i < sizeof matrix_units / sizeof *matrix_units; i++)
        CHECK_STR(kino__name_uses_tensor_cores(kino__str_from(matrix_units[i]), false)
                      ? matrix_units[i]
                      : "not recognized",
                  matrix_units[i]);
    for (size_t i = 0; i < sizeof vector_units / sizeof *vector_units; i++)
        CHECK_STR(kino__name_uses_tensor_cores(kino__str_from(vector_units[i]), false)
                      ? "taken for one"
                      : vector_units[i],
                  vector_units[i]);
}

/* The plugin's list ends before Hopper and knows no exceptions. */
TEST(tensor_core_kernels_of_the_reference_stay_as_they_are)
{
    CHECK(kino__name_uses_tensor_cores(KINO__STR("volta_fp16_s884gemm_fp16_128x128"), true));
    CHECK(!kino__name_uses_tensor_cores(KINO__STR("nvjet_hsh_128x256_64x4"), true));
    CHECK(!kino__name_uses_tensor_cores(KINO__STR("cutlass_80_tensorop_f16_s161616"), true));
    CHECK(kino__name_uses_tensor_cores(KINO__STR("sm80_xmma_gemm_f32f32_simt_nn"), true));
}
