import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import { barBoxes } from '../src/components/bars';
import { rank } from '../src/components/palette';
import { ringParts } from '../src/components/ring';
import { labelStride, ticksOf } from '../src/components/scale';
import { logHistogram, pivot, stepLines, wide } from '../src/pages/deep/shared';
import { ancestors, boxAt, flameOf, search, windowOf } from '../src/pages/flame/model';
import { autoChart } from '../src/pages/generic/chart';
import { parseCreate } from '../src/pages/sql/schema';

describe('axes', () => {
  it('takes round steps that reach the greatest value', () => {
    expect(ticksOf(0, 85, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticksOf(0, 100, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticksOf(-3, 4, 4)).toEqual([-4, -2, 0, 2, 4]);
    expect(ticksOf(0, 0, 5)).toEqual([0]);
  });
  it('leaves out labels that do not fit', () => {
    expect(labelStride(10, 1000, 50)).toBe(1);
    expect(labelStride(10, 100, 50)).toBe(5);
  });
});

describe('bars', () => {
  const categories = ['a', 'b'];
  it('stacks, below zero downwards, and skips what is missing', () => {
    const boxes = barBoxes({
      categories,
      values: [
        [1, -2],
        [3, null],
        [2, -1],
      ],
    });
    expect(boxes.map((b) => [b.category, b.series, b.low, b.high])).toEqual([
      [0, 0, 0, 1],
      [0, 1, 1, 4],
      [0, 2, 4, 6],
      [1, 0, -2, 0],
      [1, 2, -3, -2],
    ]);
  });
  it('fills to 100 as shares', () => {
    const boxes = barBoxes({ categories: ['a'], values: [[1], [3]], percent: true });
    expect(boxes.map((b) => [b.low, b.high, b.value])).toEqual([
      [0, 25, 1],
      [25, 100, 3],
    ]);
  });
});

describe('rings', () => {
  it('keeps the largest and adds up the rest; nothing below zero', () => {
    const items = [5, 1, 2, 0, -1, 4].map((value, i) => ({ name: `n${i}`, value }));
    expect(ringParts(items, 2).map((p) => [p.name, p.value])).toEqual([
      ['n0', 5],
      ['n5', 4],
      ['2 others', 3],
    ]);
    // one that is left over is shown itself
    expect(ringParts(items, 3).map((p) => p.name)).toEqual(['n0', 'n5', 'n2', 'n1']);
  });
});

describe('tables into charts', () => {
  const long: Table = {
    name: 'idle',
    columns: [
      { name: 'rank', type: 'int' },
      { name: 'cause', type: 'string' },
      { name: 'time', type: 'duration' },
    ],
    rows: [
      [0, 'host', 5],
      [0, 'other', 6],
      [1, 'host', 7],
      [null, 'other', null],
    ],
  };
  it('turns long into wide, missing stays missing', () => {
    expect(pivot(long, ['rank'], 'cause', 'time')).toEqual({
      categories: ['rank 0', 'rank 1', 'all'],
      series: ['host', 'other'],
      values: [
        [5, 7, null],
        [6, null, null],
      ],
    });
    expect(wide(long, ['rank', 'cause'], ['time']).categories[0]).toBe('rank 0 · host');
  });
  it('counts every value in one bin', () => {
    const values = [1, 9, 10, 11, 99, 100, 0];
    const { edges, counts } = logHistogram(values, 1);
    expect(edges).toEqual([1, 10, 100, 1000]);
    expect(counts).toEqual([3, 3, 1]);
    expect(logHistogram([0, -1])).toEqual({ edges: [], counts: [] });
  });
  it('holds each line until its next point', () => {
    const lines = stepLines(
      new Map([
        [
          'a',
          [
            [1, 10],
            [5, 20],
          ] as const,
        ],
        ['b', [[3, 7]] as const],
      ]),
    );
    expect(lines).toEqual({
      x: [1, 3, 5],
      lines: [
        { name: 'a', values: [10, 10, 20] },
        { name: 'b', values: [null, 7, 7] },
      ],
    });
  });
  it('draws bars of few sizes, lines over time, and nothing of spans or long lists', () => {
    expect(autoChart(long)).toMatchObject({
      kind: 'bars',
      series: ['time'],
      categories: ['rank 0 · host', 'rank 0 · other', 'rank 1 · host', 'other'],
    });
    const series: Table = {
      name: 's',
      columns: [
        { name: 'ts', type: 'time' },
        { name: 'length', type: 'int' },
      ],
      rows: [
        [1, 1],
        [2, 2],
        [3, 1],
        [4, 0],
      ],
    };
    expect(autoChart(series)).toMatchObject({
      kind: 'series',
      x: [1, 2, 3, 4],
      lines: [{ name: 'length', values: [1, 2, 1, 0] }],
    });
    const spans: Table = {
      name: 'p',
      columns: [
        { name: 'event', type: 'int' },
        { name: 'ts', type: 'time' },
        { name: 'dur', type: 'duration' },
      ],
      rows: [
        [1, 1, 1],
        [2, 2, 2],
        [3, 3, 1],
        [4, 4, 0],
      ],
    };
    expect(autoChart(spans)).toBeNull();
    expect(autoChart({ ...long, rows: Array.from({ length: 25 }, () => [0, 'x', 1]) })).toBeNull();
  });
});

describe('flame graph', () => {
  // main (100) has mm (30) and step (30), step has mm (10): the example of the analysis' page
  const flame = flameOf({
    name: 'flame',
    columns: ['node', 'parent', 'depth', 'name', 'total', 'self', 'calls'].map((name) => ({
      name,
      type: 'int' as const,
    })),
    rows: [
      [0, null, 0, 'main.py', 100, 40, 1],
      [1, 0, 1, 'mm', 30, 30, 2],
      [2, 0, 1, 'step', 30, 20, 1],
      [3, 2, 2, 'mm', 10, 10, 1],
      [4, null, 0, 'idle', 20, 20, 1],
    ],
  });
  it('lays children side by side on their parent', () => {
    expect([...flame.left]).toEqual([0, 0, 30, 30, 100]);
    expect([flame.sum, flame.levels]).toEqual([120, 3]);
  });
  it('finds what is at a place', () => {
    expect([boxAt(flame, 35, 2), boxAt(flame, 35, 1), boxAt(flame, 45, 2), boxAt(flame, 110, 0)]).toEqual([
      3, 2, -1, 4,
    ]);
  });
  it('zooms to a box and keeps what it stands on', () => {
    expect(windowOf(flame, 2)).toEqual({ from: 30, to: 60 });
    expect(windowOf(flame, -1)).toEqual({ from: 0, to: 120 });
    expect([...ancestors(flame, 3)]).toEqual([3, 2, 0]);
  });
  it('counts the time of matches once', () => {
    expect(search(flame, 'mm')).toMatchObject({ count: 2, time: 40 });
    expect(search(flame, 'm')).toMatchObject({ count: 3, time: 100 }); // main covers both mm
    expect(search(flame, '')).toMatchObject({ count: 0, time: 0 });
  });
});

describe('small helpers', () => {
  it('ranks commands by how close the letters stand', () => {
    expect(rank('Go to Kernels', 'xyz')).toBe(-1);
    expect(rank('Kernels', 'ker')).toBeLessThan(rank('Go to Kernels', 'ker'));
    expect(rank('Go to Memory', 'g mem')).toBeGreaterThanOrEqual(0);
  });
  it('reads columns of CREATE statements', () => {
    const made = parseCreate(
      'event',
      'CREATE TABLE event(\n  id INT,\n  "odd, name" TEXT,\n  n DECIMAL(10, 2) DEFAULT \'a,b\',\n  last\n)',
    );
    expect(made.columns.map((c) => c.name)).toEqual(['id', 'odd, name', 'n', 'last']);
    expect(parseCreate('v', 'CREATE VIEW v AS SELECT 1').kind).toBe('view');
  });
});

it('axes of bytes have ticks that are round in KiB, MiB and GiB', () => {
  const gib = 2 ** 30;
  expect(ticksOf(0, 67 * gib, 4, 'bytes')).toEqual([0, 32 * gib, 64 * gib, 96 * gib]);
  expect(ticksOf(0, 3000, 3, 'bytes')).toEqual([0, 1024, 2048, 3072]);
  expect(ticksOf(0, 3000, 3)).toEqual([0, 1000, 2000, 3000]);
});
