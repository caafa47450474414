import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import { barsOf, treeOf, type Node } from '../src/pages/modules/tree';

const table: Table = {
  name: 'modules',
  columns: ['id', 'parent', 'depth', 'name', 'time'].map((name) => ({ name, type: 'any' as const })),
  rows: [
    [0, null, 0, 'Net', 100],
    [1, 0, 1, 'Conv', 40],
    [2, 1, 2, 'Pad', 10],
    [3, 0, 1, 'Linear', 20],
    [4, null, 0, 'Loss', 8],
  ],
};
const time = (node: Node) => node.row[4] as number;

describe('tree of modules', () => {
  it('hangs children below their parents', () => {
    const roots = treeOf(table);
    expect(roots.map((root) => root.name)).toEqual(['Net', 'Loss']);
    expect(roots[0]!.children.map((node) => node.name)).toEqual(['Conv', 'Linear']);
    expect(roots[0]!.children[0]!.children[0]!.name).toBe('Pad');
  });
  it('takes a row whose parent was left out for a root', () => {
    expect(treeOf({ ...table, rows: [[3, 0, 1, 'Linear', 20]] }).map((node) => node.name)).toEqual([
      'Linear',
    ]);
  });
  it('lays out bars by their part of the root', () => {
    const bars = barsOf(treeOf(table)[0]!, time);
    expect(bars.map((bar) => [bar.node.name, bar.left, bar.width, bar.level])).toEqual([
      ['Net', 0, 1, 0],
      ['Conv', 0, 0.4, 1],
      ['Linear', 0.4, 0.2, 1],
      ['Pad', 0, 0.1, 2],
    ]);
  });
  it('fits children that have more than their parent', () => {
    const rows = [
      [0, null, 0, 'Net', 10],
      [1, 0, 1, 'A', 15],
      [2, 0, 1, 'B', 5],
    ];
    const bars = barsOf(treeOf({ ...table, rows })[0]!, time);
    expect(bars.slice(1).map((bar) => [bar.left, bar.width])).toEqual([
      [0, 0.75],
      [0.75, 0.25],
    ]);
  });
  it('has no bars without time', () => {
    expect(barsOf(treeOf({ ...table, rows: [[0, null, 0, 'Net', 0]] })[0]!, time)).toEqual([]);
  });
});
