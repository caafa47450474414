// Steps and workers of the distributed view, as stacks and as a map of ranks and steps.
import type { CellValue, Table } from '../../api';
import { asNumber, asText, place, rankKey, rankLabel } from '../common/tables';

/** The row of the averages, and the calls outside steps. */
export const AVERAGE = 'all';
export const OUTSIDE = 'outside';

export interface Worker {
  key: string;
  label: string;
}

function workerKey(table: Table, row: CellValue[]): string {
  return `${rankKey(row[place(table, 'rank')])}/${asText(row[place(table, 'worker')])}`;
}

/** Workers in order of first sight: by rank, by their file's name where a trace does not tell its rank. */
export function workersOf(table: Table): Worker[] {
  const found = new Map<string, Worker>();
  for (const row of table.rows) {
    const key = workerKey(table, row);
    if (found.has(key)) continue;
    const rank = row[place(table, 'rank')];
    const worker = asText(row[place(table, 'worker')]);
    const label =
      rank === null || rank === undefined ? worker || `trace ${found.size}` : rankLabel(rankKey(rank));
    found.set(key, { key, label });
  }
  return [...found.values()];
}

function stepName(value: CellValue | undefined): string {
  return value === null || value === undefined ? OUTSIDE : String(value);
}

/** Steps that some table has, in the order of their numbers; averages first, calls outside steps last. */
export function stepNames(...tables: Table[]): string[] {
  const all = tables.flatMap((table) => table.rows.map((row) => stepName(row[place(table, 'step')])));
  const names = [...new Set(all)];
  const order = (name: string) => (name === AVERAGE ? -Infinity : name === OUTSIDE ? Infinity : Number(name));
  return names.sort((a, b) => {
    const left = order(a);
    const right = order(b);
    return left === right ? 0 : left < right ? -1 : left > right ? 1 : a.localeCompare(b);
  });
}

/** values[column][worker] of one step; null where the worker does not have the step. */
export function stackOf(
  table: Table,
  step: string,
  workers: Worker[],
  columns: string[],
): (number | null)[][] {
  const stepAt = place(table, 'step');
  const rows = new Map<string, CellValue[]>();
  for (const row of table.rows) if (stepName(row[stepAt]) === step) rows.set(workerKey(table, row), row);
  return columns.map((name) => {
    const at = place(table, name);
    return workers.map((worker) => asNumber(rows.get(worker.key)?.[at]));
  });
}

/** values[worker][step] of a sum of columns, without averages and what lies outside steps. */
export function mapOf(
  table: Table,
  columns: string[],
  workers: Worker[],
  steps: string[],
): (number | null)[][] {
  const stepAt = place(table, 'step');
  const places = columns.map((name) => place(table, name));
  const cells = new Map<string, number | null>();
  for (const row of table.rows) {
    const values = places.map((at) => asNumber(row[at]));
    const known = values.filter((value) => value !== null);
    const sum = known.length === 0 ? null : known.reduce((all, value) => all + value, 0);
    cells.set(`${workerKey(table, row)}\n${stepName(row[stepAt])}`, sum);
  }
  return workers.map((worker) => steps.map((step) => cells.get(`${worker.key}\n${step}`) ?? null));
}
