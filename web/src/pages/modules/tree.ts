// Trees of modules as they come: parents before their children, so nothing here needs recursion.
import type { CellValue, Table } from '../../api';
import { asNumber, asText, place } from '../common/tables';

export interface Node {
  id: number;
  parent: number | null;
  depth: number;
  name: string;
  row: CellValue[];
  children: Node[];
}

/** The roots of a table of one trace with the columns id, parent, depth and name. */
export function treeOf(table: Table): Node[] {
  const idAt = place(table, 'id');
  const parentAt = place(table, 'parent');
  const depthAt = place(table, 'depth');
  const nameAt = place(table, 'name');
  const nodes = new Map<number, Node>();
  const roots: Node[] = [];
  for (const row of table.rows) {
    const id = asNumber(row[idAt]) ?? nodes.size;
    const parent = asNumber(row[parentAt]);
    const node = {
      id,
      parent,
      depth: asNumber(row[depthAt]) ?? 0,
      name: asText(row[nameAt]),
      row,
      children: [],
    };
    const above = parent === null ? undefined : nodes.get(parent);
    if (above) above.children.push(node);
    else roots.push(node);
    nodes.set(id, node);
  }
  return roots;
}

export interface Bar {
  node: Node;
  /** left edge and width as parts of the root's width */
  left: number;
  width: number;
  level: number;
}

/**
 * Bars below a root: as wide as their part of it, children from left to right below their parent. Children
 * that have more than their parent (device work that two of them share) are made to fit.
 */
export function barsOf(root: Node, amountOf: (node: Node) => number): Bar[] {
  const total = amountOf(root);
  if (!(total > 0)) return [];
  const bars: Bar[] = [{ node: root, left: 0, width: 1, level: 0 }];
  for (let at = 0; at < bars.length; at++) {
    const bar = bars[at]!;
    const sum = bar.node.children.reduce((all, child) => all + Math.max(0, amountOf(child)), 0);
    const scale = bar.width / Math.max(sum, amountOf(bar.node));
    let left = bar.left;
    for (const child of bar.node.children) {
      const width = Math.max(0, amountOf(child)) * scale;
      if (width > 0) bars.push({ node: child, left, width, level: bar.level + 1 });
      left += width;
    }
  }
  return bars;
}
