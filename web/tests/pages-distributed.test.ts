import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import { mapOf, stackOf, stepNames, workersOf } from '../src/pages/distributed/numbers';

const table: Table = {
  name: 'communication_overview',
  columns: ['rank', 'worker', 'step', 'transfer', 'waiting'].map((name) => ({ name, type: 'any' as const })),
  rows: [
    [0, 'w0', 'all', 6, 3],
    [1, 'w1', 'all', 6, 1],
    [0, 'w0', '10', 5, 4],
    [0, 'w0', '9', 7, 2],
    [0, 'w0', null, 1, 0],
    [1, 'w1', '9', 7, null],
  ],
};

describe('distributed', () => {
  it('orders steps by number, averages first, what is outside last', () => {
    expect(stepNames(table)).toEqual(['all', '9', '10', 'outside']);
  });
  it('names workers by rank, else by file', () => {
    expect(workersOf(table).map((worker) => worker.label)).toEqual(['rank 0', 'rank 1']);
    const rows = [
      [null, 'host_a', 'all', 1, 1],
      [null, null, 'all', 1, 1],
    ];
    expect(workersOf({ ...table, rows }).map((worker) => worker.label)).toEqual(['host_a', 'trace 1']);
  });
  it('stacks one step; a worker without it has no value', () => {
    const workers = workersOf(table);
    expect(stackOf(table, '9', workers, ['transfer', 'waiting'])).toEqual([
      [7, 7],
      [2, null],
    ]);
    expect(stackOf(table, '10', workers, ['waiting'])).toEqual([[4, null]]);
  });
  it('maps workers and steps; sums need one known part', () => {
    const workers = workersOf(table);
    expect(mapOf(table, ['transfer', 'waiting'], workers, ['9', '10'])).toEqual([
      [9, 9],
      [7, null],
    ]);
    expect(mapOf(table, ['waiting'], workers, ['9'])).toEqual([[2], [null]]);
  });
});
