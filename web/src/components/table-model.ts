// What a table shows, without any DOM: filter, sort, group. 100,000 rows must stay quick, so rows are numbers
// (places in table.rows) and texts are made only for what is compared or seen.
import type { CellValue, Column, Table } from '../api';
import { formatCell } from '../format';
import { readable } from './readable';

/** Columns of SQL have no type: those with nothing but numbers are numbers. */
export function withTypes(table: Table): Table {
  if (!table.columns.some((c) => c.type === 'any')) return table;
  const columns = table.columns.map((c, i): Column => {
    if (c.type !== 'any') return c;
    const known = table.rows.map((row) => row[i]).filter((v) => v !== null && v !== undefined);
    return { ...c, type: known.length > 0 && known.every((v) => typeof v === 'number') ? 'float' : 'string' };
  });
  return { ...table, columns };
}

export interface Sort {
  column: string;
  descending: boolean;
}
export type Item =
  | { kind: 'row'; row: number }
  | { kind: 'group'; key: string; text: string; rows: number[]; sums: (number | null)[]; open: boolean };

export const isNumeric = (column: Column): boolean =>
  column.type !== 'string' && column.type !== 'json' && column.type !== 'bool' && column.type !== 'any';

/** Means, extremes and the like: numbers of which a sum says nothing. */
const STATISTIC = /(^|_)(mean|avg|average|min|max|median|std|stddev|p\d+|longest|first|last|peak|of)(_|$)/;

/** Whether the sum over rows means something. */
export const isSummable = (column: Column): boolean =>
  !STATISTIC.test(column.name) &&
  (column.type === 'duration' ||
    column.type === 'bytes' ||
    (column.type === 'int' && column.unit === 'count'));

/** Sums over rows by the places of columns; null where there is nothing to add. */
export function totalsOf(
  table: Table,
  rows: readonly number[],
  without: readonly string[] = [],
): (number | null)[] {
  return table.columns.map((c, i) =>
    isSummable(c) && !without.includes(c.name) ? sumOf(table, rows, i) : null,
  );
}

/** Numbers before texts, missing values last whatever the direction. */
export function compareCells(a: CellValue, b: CellValue, descending: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  let order: number;
  if (typeof a === 'string' && typeof b === 'string') order = a < b ? -1 : a > b ? 1 : 0;
  else if (typeof a === 'string' || typeof b === 'string') order = typeof a === 'string' ? 1 : -1;
  else order = Number(a) - Number(b);
  return descending ? -order : order;
}

/** Rows in which every word of the text occurs in one of the columns; case does not matter. */
export function filterRows(table: Table, text: string, columns?: readonly string[]): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = table.rows.map((_, i) => i);
  if (words.length === 0) return all;
  const places = table.columns
    .map((c, i) => ({ c, i }))
    .filter(({ c }) => (columns ? columns.includes(c.name) : true));
  // Texts first: numbers are only written out where a word could be one.
  const numbers = words.some((word) => /\d/.test(word)) || !places.some(({ c }) => !isNumeric(c));
  return all.filter((index) => {
    const row = table.rows[index]!;
    let haystack = '';
    for (const { i } of places) if (typeof row[i] === 'string') haystack += `${row[i]}\n`;
    haystack = haystack.toLowerCase();
    if (words.every((word) => haystack.includes(word))) return true;
    if (!numbers) return false;
    for (const { c, i } of places) {
      const value = row[i] ?? null;
      if (value !== null && typeof value !== 'string') haystack += `${formatCell(value, c).toLowerCase()}\n`;
    }
    return words.every((word) => haystack.includes(word));
  });
}

/** Stable: equal rows stay in the order of the definition. */
export function sortRows(table: Table, rows: readonly number[], sort: Sort | null): number[] {
  const sorted = [...rows];
  const at = sort ? table.columns.findIndex((c) => c.name === sort.column) : -1;
  if (!sort || at < 0) return sorted;
  return sorted.sort(
    (a, b) => compareCells(table.rows[a]![at] ?? null, table.rows[b]![at] ?? null, sort.descending) || a - b,
  );
}

function sumOf(table: Table, rows: readonly number[], at: number): number | null {
  let sum: number | null = null;
  for (const row of rows) {
    const value = table.rows[row]![at];
    if (typeof value === 'number') sum = (sum ?? 0) + value;
  }
  return sum;
}

/** Groups by the value of a column, in the order of their sums or values; open ones with their rows below. */
export function groupRows(
  table: Table,
  rows: readonly number[],
  by: string,
  sort: Sort | null,
  open: ReadonlySet<string>,
  without: readonly string[] = [],
): Item[] {
  const at = table.columns.findIndex((c) => c.name === by);
  if (at < 0) return rows.map((row) => ({ kind: 'row', row }));
  const column = table.columns[at]!;
  const groups = new Map<string, number[]>();
  for (const row of rows) {
    const value = table.rows[row]![at] ?? null;
    const key = JSON.stringify(value);
    const list = groups.get(key);
    if (list) list.push(row);
    else groups.set(key, [row]);
  }
  const made = [...groups].map(([key, list]) => ({
    kind: 'group' as const,
    key,
    text: textOf(JSON.parse(key) as CellValue, column),
    rows: list,
    sums: totalsOf(table, list, without),
    open: open.has(key),
  }));
  const sortAt = sort ? table.columns.findIndex((c) => c.name === sort.column) : -1;
  if (sort && sortAt >= 0)
    made.sort(
      (a, b) =>
        sortAt !== at && isSummable(table.columns[sortAt]!)
          ? compareCells(a.sums[sortAt]!, b.sums[sortAt]!, sort.descending)
          : sortAt === at
            ? compareCells(JSON.parse(a.key) as CellValue, JSON.parse(b.key) as CellValue, sort.descending)
            : 0, // the order of first appearance in the sorted rows says it already
    );
  const items: Item[] = [];
  for (const group of made) {
    items.push(group);
    if (group.open) for (const row of group.rows) items.push({ kind: 'row', row });
  }
  return items;
}

const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** RFC 4180, exact values, missing is empty: the form of the command line's CSV. */
export function toCsv(table: Table, rows: readonly number[], columns: readonly number[]): string {
  const lines = [columns.map((c) => quote(table.columns[c]!.name)).join(',')];
  for (const row of rows)
    lines.push(
      columns
        .map((c) => {
          const value = table.rows[row]![c];
          return value === null || value === undefined ? '' : quote(String(value));
        })
        .join(','),
    );
  return `${lines.join('\r\n')}\r\n`;
}

export function toJson(table: Table, rows: readonly number[], columns: readonly number[]): string {
  const objects = rows.map((row) =>
    Object.fromEntries(columns.map((c) => [table.columns[c]!.name, table.rows[row]![c] ?? null])),
  );
  return `${JSON.stringify(objects, null, 1)}\n`;
}

/** What a cell shows: names of kernels folded, everything else as on the command line. */
export const textOf = (value: CellValue, column: Column): string =>
  typeof value === 'string' ? readable(value) : formatCell(value, column);

export interface Widths {
  template: string;
  minimum: number;
}

/** Columns in pixels, from the head and a sample of the rows. Long texts share what room is left. */
export function columnWidths(
  table: Table,
  columns: readonly number[],
  heads: readonly string[],
  digit: number,
  fixed: Readonly<Record<string, number>> = {},
): Widths {
  const step = Math.max(1, Math.floor(table.rows.length / 200));
  let minimum = 0;
  let grows = false;
  const parts = columns.map((c, i) => {
    const column = table.columns[c]!;
    const own = fixed[column.name];
    if (own !== undefined) {
      minimum += own;
      return `${own}px`;
    }
    let letters = 0;
    for (let row = 0; row < table.rows.length; row += step)
      letters = Math.max(letters, textOf(table.rows[row]![c] ?? null, column).length);
    const text = !isNumeric(column) && letters > 14;
    const wanted =
      Math.max(Math.min(heads[i]!.length, 28) * digit * 0.9 + 14, Math.min(letters, 64) * digit) + 20;
    const least = Math.round(
      text ? Math.min(wanted, (i === 0 ? 32 : 22) * digit) : Math.min(wanted, 30 * digit),
    );
    minimum += least;
    grows ||= text;
    return text ? `minmax(${least}px, ${Math.round(wanted)}fr)` : `${least}px`;
  });
  return { template: parts.join(' ') + (grows ? '' : ' 1fr'), minimum };
}
