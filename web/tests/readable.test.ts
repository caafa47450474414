// Names of kernels as people say them; by hand.
import { describe, expect, it } from 'vitest';
import { readable } from '../src/components/readable';

describe('readable', () => {
  it('folds templates and parameters, and keeps what tells kernels apart', () => {
    const cases: [string, string][] = [
      [
        'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)',
        'vectorized_elementwise_kernel<CUDAFunctor_add…>',
      ],
      [
        'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4> >(int)',
        'multi_tensor_apply_kernel<FusedAdamMathFunctor…>',
      ],
      ['cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>', 'dgrad_engine<float…>'],
      [
        'void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(cutlass_80_tensorop_bf16_s16816gemm::Params)',
        'Kernel2<cutlass_80_tensorop_bf16_s16816gemm>',
      ],
      [
        'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)',
        'ncclDevKernel_AllReduce_Sum_f32_RING_LL',
      ],
      [
        'void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::gelu_impl(at::TensorIteratorBase&)::{lambda()#2}>(int)::{lambda(int)#1}>(int, float)',
        'elementwise_kernel<gpu_kernel_impl…>',
      ],
    ];
    for (const [name, wanted] of cases) expect(readable(name), name).toBe(wanted);
  });
  it('leaves every other name as it is', () => {
    for (const name of [
      'aten::add',
      'ampere_sgemm_128x64_tn',
      'Memcpy HtoD (Pageable -> Device)',
      'nn.Module: Linear_0',
      'torch/nn/modules/module.py(1511): _wrapped_call_impl',
      '<built-in method run_backward of torch._C._EngineBase object at 0x7f>',
      'Optimizer.step#AdamW.step',
      'triton_poi_fused_add_0',
      '',
    ])
      expect(readable(name), name).toBe(name);
  });
});
