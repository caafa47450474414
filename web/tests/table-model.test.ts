import { describe, expect, it } from 'vitest';
import type { CellValue, Table } from '../src/api';
import {
  columnWidths,
  compareCells,
  filterRows,
  groupRows,
  sortRows,
  toCsv,
  toJson,
  withTypes,
} from '../src/components/table-model';

const table: Table = {
  name: 'kernels',
  columns: [
    { name: 'name', type: 'string' },
    { name: 'rank', type: 'int' },
    { name: 'time', type: 'duration', unit: 'ns' },
    { name: 'share', type: 'percent' },
  ],
  rows: [
    ['gemm', 0, 300, 30],
    ['Copy, small', 1, null, 10],
    ['gemm', 1, 100, null],
    ['relu', 0, 100, 20],
  ],
};
const all = [0, 1, 2, 3];

describe('sort', () => {
  it('puts missing values last in both directions', () => {
    expect(sortRows(table, all, { column: 'time', descending: true })).toEqual([0, 2, 3, 1]);
    expect(sortRows(table, all, { column: 'time', descending: false })).toEqual([2, 3, 0, 1]);
  });
  it('keeps the order of the definition among equals, and without a sort', () => {
    expect(sortRows(table, all, { column: 'rank', descending: true })).toEqual([1, 2, 0, 3]);
    expect(sortRows(table, [3, 1], null)).toEqual([3, 1]);
    expect(sortRows(table, all, { column: 'nothing', descending: true })).toEqual(all);
  });
  it('orders texts by code point and numbers by size', () => {
    expect(compareCells('Z', 'a', false)).toBeLessThan(0);
    expect(compareCells(9, 10, false)).toBeLessThan(0);
    expect(compareCells(9, 10, true)).toBeGreaterThan(0);
    expect(compareCells(5, 'a', false)).toBeLessThan(0);
  });
});

describe('filter', () => {
  it('wants every word, in any column, whatever the case', () => {
    expect(filterRows(table, 'GEMM')).toEqual([0, 2]);
    expect(filterRows(table, 'small copy')).toEqual([1]);
    expect(filterRows(table, 'gemm small')).toEqual([]);
    expect(filterRows(table, '  ')).toEqual(all);
  });
  it('looks only into the columns it is told to', () => {
    expect(filterRows(table, '300')).toEqual([0]);
    expect(filterRows(table, '300', ['name'])).toEqual([]);
  });
});

describe('group', () => {
  const keys = (by: string, sort: Parameters<typeof groupRows>[3], open = new Set<string>()) =>
    groupRows(table, sortRows(table, all, sort), by, sort, open).map((i) =>
      i.kind === 'group' ? i.text : i.row,
    );
  it('adds up what can be added, and nothing else', () => {
    const [first] = groupRows(table, all, 'name', null, new Set());
    expect(first).toMatchObject({ kind: 'group', text: 'gemm', rows: [0, 2], sums: [null, null, 400, null] });
  });
  it('has no sum where no row has a value', () => {
    const groups = groupRows(table, [1], 'name', null, new Set());
    expect(groups[0]).toMatchObject({ sums: [null, null, null, null] });
  });
  it('orders groups by their sums, and by their own value', () => {
    expect(keys('name', { column: 'time', descending: true })).toEqual(['gemm', 'relu', 'Copy, small']);
    expect(keys('rank', { column: 'rank', descending: true })).toEqual(['1', '0']);
  });
  it('shows the rows of open groups below them', () => {
    expect(keys('name', null, new Set(['"gemm"']))).toEqual(['gemm', 0, 2, 'Copy, small', 'relu']);
  });
  it('keeps 1 and "1" apart', () => {
    const mixed: Table = { name: 'x', columns: [{ name: 'a', type: 'any' }], rows: [[1], ['1']] };
    expect(groupRows(mixed, [0, 1], 'a', null, new Set())).toHaveLength(2);
  });
});

describe('export', () => {
  it('writes RFC 4180 with exact values and empty for missing', () => {
    expect(toCsv(table, [1, 0], [0, 2])).toBe('name,time\r\n"Copy, small",\r\ngemm,300\r\n');
    const quotes: Table = { name: 'x', columns: [{ name: 'a', type: 'string' }], rows: [['say "hi"\n']] };
    expect(toCsv(quotes, [0], [0])).toBe('a\r\n"say ""hi""\n"\r\n');
  });
  it('writes JSON that reads back as it was', () => {
    expect(JSON.parse(toJson(table, [1], [0, 2]))).toEqual([{ name: 'Copy, small', time: null }]);
  });
});

describe('shape', () => {
  it('finds out which columns of SQL are numbers', () => {
    const sql: Table = {
      name: 'r',
      columns: [
        { name: 'a', type: 'any' },
        { name: 'b', type: 'any' },
        { name: 'c', type: 'any' },
      ],
      rows: [
        [1, 'x', null],
        [null, 2, null],
      ],
    };
    expect(withTypes(sql).columns.map((c) => c.type)).toEqual(['float', 'string', 'string']);
    expect(withTypes(table)).toBe(table);
  });
  it('gives a number column the room of its longest text', () => {
    const rows: CellValue[][] = Array.from({ length: 500 }, (_, i) => [i, 'n']);
    const wide: Table = {
      name: 'w',
      columns: [
        { name: 'n', type: 'int' },
        { name: 't', type: 'string' },
      ],
      rows,
    };
    const { template, minimum } = columnWidths(wide, [0, 1], ['n', 't'], 8);
    expect(minimum).toBeGreaterThanOrEqual(2 * (8 + 20));
    expect(template).toMatch(/^\d+px \d+px 1fr$/);
  });
  it('is quick with 100,000 rows', () => {
    const rows: CellValue[][] = Array.from({ length: 100_000 }, (_, i) => [
      `k${i % 97}`,
      i % 4,
      (i * 7919) % 100_003,
      i % 100,
    ]);
    const big: Table = { ...table, rows };
    const found = sortRows(big, filterRows(big, 'k1', ['name']), { column: 'time', descending: true });
    expect(found.every((r, i) => i === 0 || Number(rows[found[i - 1]!]![2]) >= Number(rows[r]![2]))).toBe(
      true,
    );
    // k1, k10 … k19: eleven of 97 names
    expect(found).toHaveLength(rows.filter((r) => /^k1/.test(String(r[0]))).length);
  });
});
