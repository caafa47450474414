import { describe, expect, it } from 'vitest';
import type { CellValue, Column, Result, Table } from '../src/api';
import {
  executions,
  meanExecution,
  meansOver,
  onOneAxis,
  spread,
  stepsOf,
  windowOf,
} from '../src/pages/overview/numbers';

const columns = (names: string[]): Column[] => names.map((name) => ({ name, type: 'any' }));
const make = (name: string, names: string[], rows: CellValue[][]): Table => ({
  name,
  columns: columns(names),
  rows,
});

function overview(): Result {
  return {
    analysis: 'overview',
    params: {},
    input: { path: '', ranks: [0, 0], events: 0, notes: [] },
    tables: [
      // two traces that both call themselves rank 0
      make(
        'configuration',
        ['rank', 'steps'],
        [
          [0, 3],
          [0, 1],
        ],
      ),
      make(
        'execution_summary',
        ['rank', 'category', 'time', 'percentage'],
        [
          [0, 'Average Step Time', 100, 100],
          [0, 'Kernel', 60, 60],
          [0, 'Other', 40, 40],
          [0, 'Average Step Time', 200, 100],
          [0, 'Kernel', 100, 50],
          [0, 'Communication', 60, 30],
          [0, 'Other', 40, 20],
        ],
      ),
    ],
  };
}

describe('average step', () => {
  it('keeps traces with the same rank apart', () => {
    const all = executions(overview());
    expect(all.map((one) => [one.steps, one.time])).toEqual([
      [3, 100],
      [1, 200],
    ]);
    expect(all[1]!.parts).toEqual([
      { name: 'Kernel', time: 100 },
      { name: 'Communication', time: 60 },
      { name: 'Other', time: 40 },
    ]);
  });
  it('weighs traces by their steps, and a part that one lacks is 0 there', () => {
    const mean = meanExecution(executions(overview()))!;
    expect(mean.steps).toBe(4);
    expect(mean.time).toBe(125); // (3 * 100 + 200) / 4
    expect(mean.parts).toEqual([
      { name: 'Kernel', time: 70 },
      { name: 'Communication', time: 15 },
      { name: 'Other', time: 40 },
    ]);
    expect(mean.parts.reduce((sum, part) => sum + part.time, 0)).toBe(mean.time);
    expect(meanExecution([])).toBeNull();
  });
});

describe('steps', () => {
  const roles = ['kernel', 'memcpy', 'memset', 'communication', 'runtime', 'dataloader', 'cpu_exec', 'other'];
  const table = make(
    'step_breakdown',
    ['rank', 'step', 'start', 'total', ...roles, 'host_start', 'host_dur', 'device_start', 'device_dur'],
    [
      // the device is a step behind: step 3 counts from the end of step 2, after its end on the host
      [0, 2, 10, 100, 60, null, null, null, null, 10, 20, 10, 10, 40, 30, 80],
      [0, 3, 110, 80, 50, null, null, null, null, 10, 10, 10, 50, 50, 115, 75],
      [1, 2, 5, 200, 100, null, null, null, null, 30, 40, 30, 5, 200, null, null],
    ],
  );
  it('shows those of a rank as they are, without roles the trace does not have', () => {
    const steps = stepsOf(table, '0');
    expect(steps.names).toEqual(['2', '3']);
    expect(steps.totals).toEqual([100, 80]);
    expect(steps.series.map((one) => one.name)).toEqual(['Kernel', 'DataLoader', 'CPU Exec', 'Other']);
    expect(steps.series[0]!.values).toEqual([60, 50]);
  });
  it('takes the mean of the ranks that have a step, and the window of all of them', () => {
    const steps = stepsOf(table, 'all');
    expect(steps.totals).toEqual([150, 80]);
    expect(steps.series[1]!.values).toEqual([20, 10]);
    expect([steps.from, steps.to]).toEqual([
      [5, 50],
      [205, 190],
    ]);
  });
  it('shows a step from its start on the host to its end on host and device', () => {
    expect(table.rows.map((row) => windowOf(table, row))).toEqual([
      { from: 10, to: 110 },
      { from: 50, to: 190 },
      { from: 5, to: 205 },
    ]);
  });
});

describe('means over equal parts', () => {
  it('splits pieces at the borders', () => {
    // 50 over [0, 15), 100 over [25, 40): parts of 10
    const pieces = [
      { start: 0, end: 15, value: 50 },
      { start: 25, end: 40, value: 100 },
    ];
    expect(meansOver(pieces, 0, 40, 4)).toEqual([50, 25, 50, 100]);
  });
  it('cuts what lies outside, and stands an empty window', () => {
    expect(meansOver([{ start: -5, end: 5, value: 100 }], 0, 10, 1)).toEqual([50]);
    expect(meansOver([{ start: 0, end: 5, value: 100 }], 3, 3, 2)).toEqual([0, 0]);
  });
});

describe('lines over time', () => {
  const line = (name: string, time: number[], values: number[]) => ({ key: name, name, time, values });
  it('have the last value at times of other lines, none before their first', () => {
    expect(onOneAxis([line('a', [0, 10], [1, 2]), line('b', [5, 10], [7, 8])])).toEqual({
      x: [0, 5, 10],
      values: [
        [1, 1, 2],
        [null, 7, 8],
      ],
    });
  });
  it('say nothing after their end', () => {
    expect(onOneAxis([line('a', [0, 10, 20], [1, 2, 0]), line('b', [0, 10], [7, 0])]).values[1]).toEqual([
      7,
      0,
      null,
    ]);
  });
  it('stay as they are when they are few, and become three when they are many', () => {
    const few = [line('a', [0], [1])];
    expect(spread(few)).toBe(few);
    const many = Array.from({ length: 10 }, (_, at) => line(`gpu ${at}`, [0, 1], [at, 2 * at]));
    expect(spread(many).map((one) => [one.name, one.values])).toEqual([
      ['busiest device', [9, 18]],
      ['mean of 10 devices', [4.5, 9]],
      ['least busy device', [0, 0]],
    ]);
  });
});
