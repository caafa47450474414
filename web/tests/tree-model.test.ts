import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import { matches, openTo, shapeOf, visible } from '../src/components/tree-model';
import { pairName, pairTree } from '../src/pages/diff/tree';

const table: Table = {
  name: 'modules',
  columns: [
    { name: 'rank', type: 'int' },
    { name: 'id', type: 'int' },
    { name: 'parent', type: 'int' },
    { name: 'name', type: 'string' },
    { name: 'time', type: 'duration' },
  ],
  rows: [
    [0, 0, null, 'net', 10],
    [0, 1, 0, 'conv', 3],
    [0, 2, 0, 'linear', 7],
    [0, 3, 2, 'bias', 1],
    [1, 0, null, 'net', 20],
    [1, 1, 0, 'conv', 20],
    [1, 9, 77, 'lost', 5],
  ],
};
const names = (items: { row: number; depth: number }[]) =>
  items.map((i) => `${'-'.repeat(i.depth)}${table.rows[i.row]![3]}`);

describe('trees of rows', () => {
  const shape = shapeOf(table, 'id', 'parent', 'rank');
  it('keeps trees with the same ids apart; a parent that is not there makes a root', () => {
    expect(shape.roots).toEqual([0, 4, 6]);
    expect(shape.children[0]).toEqual([1, 2]);
    expect(shape.children[4]).toEqual([5]);
  });
  it('shows what is open', () => {
    expect(names(visible(table, shape, new Set(), null, null))).toEqual(['net', 'net', 'lost']);
    expect(names(visible(table, shape, openTo(shape, 1), null, null))).toEqual([
      'net',
      '-conv',
      '-linear',
      'net',
      '-conv',
      'lost',
    ]);
  });
  it('sorts siblings, not across parents', () => {
    const items = visible(table, shape, openTo(shape, 9), { column: 'time', descending: true }, null);
    expect(names(items)).toEqual(['net', '-conv', 'net', '-linear', '--bias', '-conv', 'lost']);
  });
  it('keeps the way down to what was looked for', () => {
    const kept = matches(table, shape, 3, 'BIAS');
    expect(names(visible(table, shape, new Set(), null, kept))).toEqual(['net', '-linear', '--bias']);
    expect(matches(table, shape, 3, ' ')).toBeNull();
  });
  it('stands a chain of 50,000 and a row that is its own parent', () => {
    const rows = Array.from({ length: 50_000 }, (_, i) => [0, i, i === 0 ? null : i - 1, 'f', 1]);
    rows.push([0, 60_000, 60_000, 'self', 1]);
    const deep: Table = { ...table, rows };
    const s = shapeOf(deep, 'id', 'parent');
    expect(s.roots).toEqual([0, 50_000]);
    expect(visible(deep, s, openTo(s, Infinity), null, null)).toHaveLength(50_001);
  });
});

describe('the tree of a diff', () => {
  it('names pairs', () => {
    expect(pairName('nn.Module: Linear', 'nn.Module: Linear', 'x')).toBe('Linear');
    expect(pairName('Blank', 'aten::mm', 'x')).toBe('+ aten::mm');
    expect(pairName('aten::mm', 'Blank', 'x')).toBe('− aten::mm');
    expect(pairName('CompositeNodes', 'aten::mm', 'aten::add and 3 more')).toBe(
      'aten::add and 3 more → aten::mm',
    );
  });
  it('makes parents of paths', () => {
    const made = pairTree({
      name: 'diff_tree',
      columns: [
        { name: 'path', type: 'string' },
        { name: 'left_name', type: 'string' },
        { name: 'right_name', type: 'string' },
      ],
      rows: [
        ['0', 'a', 'a'],
        ['0-0', 'b', 'b'],
        ['0-0-12', 'c', 'Blank'],
      ],
    });
    expect(made.rows.map((r) => r[0])).toEqual([null, '0', '0-0']);
    expect(shapeOf(made, 'path', 'parent').roots).toEqual([0]);
  });
});
