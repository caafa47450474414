// The side-by-side tree of kino diff: paths (0, 0-0, 0-1) into nodes with parents and one name.
import { columnIndex, type Table } from '../../api';

const shown = (name: string) =>
  name.replace(/^nn\.Module: /, '').replace(/^enumerate\((DataLoader|DataPipe)\)#/, '$1 ');

const SEVERAL = 'CompositeNodes';

/** The operators that take the most of a part of the tree, which has no name of its own: `aten::cat, aten::add and 12 more`. */
export function largestOps(ops: Table | undefined): (path: string) => string {
  const parts = new Map<string, Map<string, number>>();
  const at = (name: string) => columnIndex(ops!, name);
  for (const row of ops?.rows ?? []) {
    const path = String(row[at('path')]);
    const name = String(row[at('name')]);
    const time = Number(row[at('device_duration')] ?? 0) || Number(row[at('host_duration')] ?? 0);
    const part = parts.get(path) ?? new Map<string, number>();
    parts.set(path, part.set(name, Math.max(part.get(name) ?? 0, time)));
  }
  return (path) => {
    const names = [...(parts.get(path) ?? [])].sort((a, b) => b[1] - a[1]).map(([name]) => name);
    if (names.length === 0) return 'calls outside operators';
    return names.length <= 2
      ? names.join(', ')
      : `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
  };
}

/** One name for a pair: what both are called, or what happened. */
export function pairName(left: string, right: string, several: string): string {
  const called = (name: string) => (name === SEVERAL ? several : shown(name));
  if (left === right) return called(left);
  if (left === 'Blank') return `+ ${called(right)}`;
  if (right === 'Blank') return `− ${called(left)}`;
  return `${called(left)} → ${called(right)}`;
}

export function pairTree(table: Table, ops?: Table): Table {
  const [path, left, right] = [
    columnIndex(table, 'path'),
    columnIndex(table, 'left_name'),
    columnIndex(table, 'right_name'),
  ];
  const opsOf = largestOps(ops);
  return {
    ...table,
    columns: [
      { name: 'parent', type: 'string' },
      { name: 'name', type: 'string', help: 'of both; + only right, − only left' },
      ...table.columns,
    ],
    rows: table.rows.map((row) => {
      const text = String(row[path]);
      const cut = text.lastIndexOf('-');
      const several = cut < 0 ? 'whole run' : opsOf(text);
      return [
        cut < 0 ? null : text.slice(0, cut),
        pairName(String(row[left]), String(row[right]), several),
        ...row,
      ];
    }),
  };
}

/** What both sides change in all, by sign: the scale of the coloured bars. */
export function largestChange(table: Table, name = 'delta'): number {
  const at = columnIndex(table, name);
  return table.rows.reduce((most, row) => Math.max(most, Math.abs(Number(row[at] ?? 0))), 0);
}
