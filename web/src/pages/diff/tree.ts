// The side-by-side tree of kino diff: paths (0, 0-0, 0-1) into nodes with parents and one name.
import { columnIndex, type Table } from '../../api';

const shown = (name: string) =>
  name.replace(/^nn\.Module: /, '').replace(/^enumerate\((DataLoader|DataPipe)\)#/, '$1 ');

/** One name for a pair: what both are called, or what happened. */
export function pairName(left: string, right: string): string {
  if (left === right) return left === 'CompositeNodes' ? 'several operators' : shown(left);
  if (left === 'Blank') return `+ ${right === 'CompositeNodes' ? 'several operators' : shown(right)}`;
  if (right === 'Blank') return `− ${left === 'CompositeNodes' ? 'several operators' : shown(left)}`;
  const short = (name: string) => (name === 'CompositeNodes' ? 'several' : shown(name));
  return `${short(left)} → ${short(right)}`;
}

export function pairTree(table: Table): Table {
  const [path, left, right] = [
    columnIndex(table, 'path'),
    columnIndex(table, 'left_name'),
    columnIndex(table, 'right_name'),
  ];
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
      return [cut < 0 ? null : text.slice(0, cut), pairName(String(row[left]), String(row[right])), ...row];
    }),
  };
}

/** What both sides change in all, by sign: the scale of the coloured bars. */
export function largestChange(table: Table, name = 'delta'): number {
  const at = columnIndex(table, name);
  return table.rows.reduce((most, row) => Math.max(most, Math.abs(Number(row[at] ?? 0))), 0);
}
