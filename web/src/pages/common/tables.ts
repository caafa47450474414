// What the pages do with tables of results before they show them: choose a rank, add up, leave out empty
// columns, find the reason why something is missing. No number is made here that the analysis does not
// define, but sums and means of its numbers; whoever shows one says so.
import type { CellValue, Table } from '../../api';

export const ALL = 'all';

export interface Part {
  name: string;
  value: number;
}

/** Place of a column; a missing one is a fault of the program, not of the trace. */
export function place(table: Table, name: string): number {
  const at = table.columns.findIndex((column) => column.name === name);
  if (at < 0) throw new Error(`table ${table.name} has no column ${name}`);
  return at;
}

export function asNumber(value: CellValue | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

export function asText(value: CellValue | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}

/** A rank is a label that may be missing: such traces share the key 'none'. */
export function rankKey(value: CellValue | undefined): string {
  return value === null || value === undefined ? 'none' : String(value);
}

export function rankLabel(key: string): string {
  if (key === ALL) return 'all ranks';
  return key === 'none' ? 'no rank' : `rank ${key}`;
}

/** The ranks of a table in order of first sight. */
export function ranksOf(table: Table): string[] {
  const at = place(table, 'rank');
  return [...new Set(table.rows.map((row) => rankKey(row[at])))];
}

export function where(table: Table, keep: (row: CellValue[]) => boolean): Table {
  return { ...table, rows: table.rows.filter(keep) };
}

export function ofRank(table: Table, key: string): Table {
  if (key === ALL) return table;
  const at = place(table, 'rank');
  return where(table, (row) => rankKey(row[at]) === key);
}

/** What the rank box shows: the rank of the URL if the result has it, else all or the only one. */
export function chosenRank(wanted: string, ranks: string[], otherwise: string = ALL): string {
  if (ranks.length === 1) return ranks[0]!;
  return ranks.includes(wanted) || wanted === ALL ? wanted : otherwise;
}

/** Sum of a column by another one, largest first; what has no value or none above 0 is left out. */
export function addUp(table: Table, nameColumn: string, valueColumn: string): Part[] {
  const nameAt = place(table, nameColumn);
  const valueAt = place(table, valueColumn);
  const sums = new Map<string, number>();
  for (const row of table.rows) {
    const value = asNumber(row[valueAt]);
    if (value === null) continue;
    const name = asText(row[nameAt]);
    sums.set(name, (sums.get(name) ?? 0) + value);
  }
  return [...sums]
    .map(([name, value]) => ({ name, value }))
    .filter((part) => part.value > 0)
    .sort((a, b) => b.value - a.value);
}

/** Sum of a column; null when no row has a value. */
export function sumOf(table: Table, name: string): number | null {
  const at = place(table, name);
  let sum: number | null = null;
  for (const row of table.rows) {
    const value = asNumber(row[at]);
    if (value !== null) sum = (sum ?? 0) + value;
  }
  return sum;
}

/** Names of the columns that have a value in some row, without those named. */
export function filledColumns(table: Table, without: string[] = []): string[] {
  return table.columns
    .filter((column, at) => !without.includes(column.name) && table.rows.some((row) => row[at] !== null))
    .map((column) => column.name);
}

/** The columns to show of one rank: the rank's own column tells nothing then. */
export function shownColumns(table: Table, rank: string, always: string[] = []): string[] {
  const filled = new Set(filledColumns(table));
  return table.columns
    .map((column) => column.name)
    .filter((name) => (name === 'rank' ? rank === ALL : filled.has(name) || always.includes(name)));
}

/** The first note that says why something is missing; notes read "memory not available: the reason". */
export function missing(notes: string[], subject: string, otherwise: string): string {
  const about = notes.filter((note) => note.includes('not available'));
  return about.find((note) => note.startsWith(subject)) ?? about[0] ?? otherwise;
}

/** A cell of type json: the server sends the value itself, an export its text. */
export function jsonList(value: unknown): CellValue[] {
  if (Array.isArray(value)) return value as CellValue[];
  if (typeof value !== 'string') return [];
  try {
    const parsed: unknown = JSON.parse(value);
    return Array.isArray(parsed) ? (parsed as CellValue[]) : [];
  } catch {
    return [];
  }
}
