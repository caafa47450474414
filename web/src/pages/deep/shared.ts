// Tables into charts: turning rows into bars, samples into histograms, events into step lines.
import type { CellValue, Table } from '../../api';
import { titleOf } from '../../format';
import { place } from '../common/tables';

export interface Pivot {
  categories: string[];
  series: string[];
  values: (number | null)[][];
}

/** 'rank 0 · stream 7' from the columns that say where a row belongs; a missing one is left out. */
export function labelOf(table: Table, row: readonly CellValue[], by: readonly string[]): string {
  return (
    by
      .map((name) => ({ name, value: row[place(table, name)] ?? null }))
      .filter(({ value }) => value !== null)
      .map(({ name, value }) => (typeof value === 'number' ? `${name} ${value}` : String(value)))
      .join(' · ') || 'all'
  );
}

/** values[series][category] of a long table; what has no row is null. Both in order of first sight. */
export function pivot(table: Table, by: readonly string[], series: string, value: string): Pivot {
  const [seriesAt, valueAt] = [place(table, series), place(table, value)];
  const labels = table.rows.map((row) => labelOf(table, row, by));
  const categories = [...new Set(labels)];
  const names = [...new Set(table.rows.map((row) => String(row[seriesAt] ?? '')))];
  const values: (number | null)[][] = names.map(() => categories.map(() => null));
  const categoryAt = new Map(categories.map((c, i) => [c, i]));
  const nameAt = new Map(names.map((n, i) => [n, i]));
  table.rows.forEach((row, i) => {
    const number = row[valueAt];
    if (typeof number === 'number')
      values[nameAt.get(String(row[seriesAt] ?? ''))!]![categoryAt.get(labels[i]!)!] = number;
  });
  return { categories, series: names, values };
}

/** The same of a wide table: each value column is a series. */
export function wide(table: Table, by: readonly string[], columns: readonly string[]): Pivot {
  return {
    categories: table.rows.map((row) => labelOf(table, row, by)),
    series: columns.map((name) => titleOf(name)),
    values: columns.map((name) => {
      const at = place(table, name);
      return table.rows.map((row) => (typeof row[at] === 'number' ? row[at] : null));
    }),
  };
}

export interface Histogram {
  edges: number[];
  counts: number[];
}

/** Bins that grow by equal factors, for times from ns to s; what is 0 or below falls into the first. */
export function logHistogram(values: readonly number[], fixed?: number): Histogram {
  const positive = values.filter((v) => v > 0);
  if (positive.length === 0) return { edges: [], counts: [] };
  let least = Infinity;
  let greatest = -Infinity;
  for (const v of positive) {
    least = Math.min(least, v);
    greatest = Math.max(greatest, v);
  }
  // Finer where the values lie close together.
  const decades = Math.log10(greatest / least);
  const perDecade = fixed ?? (decades < 1 ? 20 : decades < 2 ? 8 : 4);
  const first = Math.floor(Math.log10(least) * perDecade);
  const last = Math.max(first + 1, Math.floor(Math.log10(greatest) * perDecade) + 1);
  const edges = Array.from({ length: last - first + 1 }, (_, i) => 10 ** ((first + i) / perDecade));
  const counts: number[] = new Array<number>(last - first).fill(0);
  for (const v of values) {
    const at = v > 0 ? Math.floor(Math.log10(v) * perDecade) - first : 0;
    counts[Math.max(0, Math.min(counts.length - 1, at))]!++;
  }
  return { edges, counts };
}

export interface StepLine {
  name: string;
  values: (number | null)[];
}

/** Several step lines on one time axis: each keeps its value until its next point. */
export function stepLines(groups: ReadonlyMap<string, readonly (readonly [number, number])[]>): {
  x: number[];
  lines: StepLine[];
} {
  const x = [...new Set([...groups.values()].flatMap((points) => points.map(([at]) => at)))].sort(
    (a, b) => a - b,
  );
  const lines = [...groups].map(([name, points]) => {
    const sorted = [...points].sort((a, b) => a[0] - b[0]);
    const values: (number | null)[] = [];
    let next = 0;
    let now: number | null = null;
    for (const at of x) {
      while (next < sorted.length && sorted[next]![0] <= at) now = sorted[next++]![1];
      values.push(now);
    }
    return { name, values };
  });
  return { x, lines };
}
