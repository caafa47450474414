// Points, ceilings and axes of the roofline.
import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import {
  axesOf,
  axisOf,
  ceilingsOf,
  placeOn,
  pointsOf,
  powersOf,
  radiusOf,
} from '../src/pages/roofline/model';

const column = (name: string) =>
  ({ name, type: 'any', unit: null, help: null }) as unknown as Table['columns'][number];

const points = {
  name: 'roofline',
  columns: [
    'rank',
    'name',
    'dtype',
    'roof',
    'device_time',
    'share',
    'intensity',
    'tflops',
    'percent_of_peak',
    'bound',
    'event',
  ].map(column),
  rows: [
    [0, 'aten::mm', 'bf16', 'bf16-tensor', 100, 50, 200, 150, 48, 'compute', 7],
    [0, 'aten::add', 'bf16', 'bf16', 60, 30, 0.25, 0.3, 80, 'memory', 8],
    [0, 'Memcpy HtoD', null, null, 40, 20, 0, 0, null, null, 9],
    [1, 'aten::mm', 'bf16', 'bf16-tensor', 100, 100, 200, 100, 32, 'compute', 10],
    [0, 'unknown', null, null, 10, 5, null, null, null, null, null],
  ],
} as unknown as Table;

const ceilings = {
  name: 'ceilings',
  columns: ['rank', 'device', 'name', 'peaks', 'ceiling', 'tflops', 'gbps', 'used'].map(column),
  rows: [
    [0, 0, 'A100', 'a100', 'memory', null, 2000, true],
    [0, 0, 'A100', 'a100', 'fp64', 9.7, null, false],
    [0, 0, 'A100', 'a100', 'bf16-tensor', 312, null, true],
    [0, 1, 'A100', 'a100', 'memory', null, 2000, true],
  ],
} as unknown as Table;

describe('roofline', () => {
  it('has a point for work that computes and has bytes', () => {
    const found = pointsOf(points, '0');
    expect(found.map((p) => [p.name, p.x, p.y, p.event])).toEqual([
      ['aten::mm', 200, 150, 7],
      ['aten::add', 0.25, 0.3, 8],
    ]);
  });

  it('has the ceilings that count, of the first device', () => {
    expect(ceilingsOf(ceilings, '0')).toEqual({
      device: 'A100',
      memory: 2000,
      rates: [{ name: 'bf16-tensor', tflops: 312 }],
    });
    expect(ceilingsOf({ ...ceilings, rows: [] }, '0').rates).toEqual([]);
  });

  it('has axes of whole powers of ten, with the ridges on them', () => {
    expect(axisOf([0.25, 200])).toEqual({ from: 0.1, to: 1000 });
    expect(axisOf([100])).toEqual({ from: 100, to: 1000 });
    expect(axisOf([])).toEqual({ from: 0.1, to: 1000 });
    // 312 TFLOP/s at 2000 GB/s meet at 156 FLOP/B
    expect(axesOf(pointsOf(points, '0'), ceilingsOf(ceilings, '0'))).toEqual({
      x: { from: 0.1, to: 1000 },
      y: { from: 0.1, to: 1000 },
    });
    expect(powersOf({ from: 0.1, to: 100 })).toEqual([0.1, 1, 10, 100]);
    expect(placeOn({ from: 1, to: 100 }, 10)).toBeCloseTo(0.5);
  });

  it('gives points an area by their time', () => {
    expect(radiusOf(100, 100) / radiusOf(25, 100)).toBeCloseTo(2);
    expect(radiusOf(0, 100)).toBe(3);
    expect(radiusOf(1, 0)).toBe(3);
  });
});
