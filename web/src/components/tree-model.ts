// Rows with a node and a parent column as a tree: which ones are seen, in which order. No recursion:
// traces nest deep.
import type { CellValue, Table } from '../api';
import { compareCells, type Sort } from './table-model';

export interface TreeShape {
  roots: number[];
  children: number[][];
  parent: number[];
}
export interface TreeItem {
  row: number;
  depth: number;
  open: boolean;
  leaf: boolean;
}

/** A row without a parent in the table is a root. `scope` (a rank) keeps ids of several trees apart. */
export function shapeOf(table: Table, node: string, parent: string, scope?: string): TreeShape {
  const at = (name: string) => table.columns.findIndex((c) => c.name === name);
  const [nodeAt, parentAt, scopeAt] = [at(node), at(parent), scope ? at(scope) : -1];
  const key = (row: CellValue[], value: CellValue | undefined) =>
    `${scopeAt < 0 ? '' : row[scopeAt]}\0${value}`;
  const places = new Map<string, number>();
  table.rows.forEach((row, i) => places.set(key(row, row[nodeAt]), i));
  const shape: TreeShape = {
    roots: [],
    children: table.rows.map(() => []),
    parent: table.rows.map(() => -1),
  };
  table.rows.forEach((row, i) => {
    const above =
      row[parentAt] === null || row[parentAt] === undefined ? undefined : places.get(key(row, row[parentAt]));
    if (above === undefined || above === i) shape.roots.push(i);
    else {
      shape.children[above]!.push(i);
      shape.parent[i] = above;
    }
  });
  return shape;
}

/** Rows to the given depth are open at first. */
export function openTo(shape: TreeShape, depth: number): Set<number> {
  const open = new Set<number>();
  let level = shape.roots;
  for (let d = 0; d < depth && level.length > 0; d++) {
    for (const row of level) open.add(row);
    level = level.flatMap((row) => shape.children[row]!);
  }
  return open;
}

/** Rows whose name has the text, with all their ancestors; null without a text. */
export function matches(table: Table, shape: TreeShape, nameAt: number, text: string): Set<number> | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const kept = new Set<number>();
  table.rows.forEach((row, i) => {
    if (
      !String(row[nameAt] ?? '')
        .toLowerCase()
        .includes(wanted)
    )
      return;
    for (let at = i; at >= 0 && !kept.has(at); at = shape.parent[at]!) kept.add(at);
  });
  return kept;
}

export function visible(
  table: Table,
  shape: TreeShape,
  open: ReadonlySet<number>,
  sort: Sort | null,
  kept: ReadonlySet<number> | null,
): TreeItem[] {
  const sortAt = sort ? table.columns.findIndex((c) => c.name === sort.column) : -1;
  const order = (rows: readonly number[]) => {
    const list = kept ? rows.filter((r) => kept.has(r)) : [...rows];
    if (sort && sortAt >= 0)
      list.sort(
        (a, b) =>
          compareCells(table.rows[a]![sortAt] ?? null, table.rows[b]![sortAt] ?? null, sort.descending) ||
          a - b,
      );
    return list;
  };
  const items: TreeItem[] = [];
  const waiting = order(shape.roots)
    .reverse()
    .map((row) => ({ row, depth: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const below = order(shape.children[next.row]!);
    const isOpen = kept !== null || open.has(next.row);
    items.push({ ...next, open: isOpen && below.length > 0, leaf: below.length === 0 });
    if (isOpen) for (const row of below.reverse()) waiting.push({ row, depth: next.depth + 1 });
  }
  return items;
}
