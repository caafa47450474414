// Labels of long names that are alike.
import { expect, it } from 'vitest';
import { labelsOf } from '../src/components/labels';

it('names that begin alike are told apart by what differs', () => {
  const names = ['128x64', '256x64', '64x64'].map(
    (tile) => `sm90_xmma_gemm_bf16bf16_bf16f32_f32_nt_n_tilesize${tile}x32`,
  );
  expect(labelsOf(names, 30)).toEqual(['sm90_xmm…128x64x32', 'sm90_xmm…256x64x32', 'sm90_xmm…64x64x32']);
});
it('others are cut as everywhere', () => {
  expect(labelsOf(['aten::mm', 'aten::addmm'], 30)).toEqual(['aten::mm', 'aten::addmm']);
  const [one] = labelsOf(['x'.repeat(60)], 30);
  expect(one!.length).toBe(30);
});
