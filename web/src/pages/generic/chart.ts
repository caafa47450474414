// A chart for a table nobody made one for: lines where there is a time, bars where there are few rows
// with sizes.
import { columnIndex, type Column, type Table } from '../../api';
import { stepLines } from '../deep/shared';

export type AutoChart =
  | { kind: 'bars'; categories: string[]; series: string[]; values: (number | null)[][]; unit?: string }
  | {
      kind: 'series';
      x: number[];
      lines: { name: string; values: (number | null)[] }[];
      unit?: string;
      name: string;
    };

/** Columns that say where a row belongs, and columns that are only numbers of something. */
const places = new Set(['rank', 'device', 'stream', 'step', 'iteration', 'thread', 'gap', 'group_size']);
const handles = /(^|_)(id|event|idx|index|node|parent|correlation|pid|tid|trace|track|depth|ts)$/;
const maxBars = 24;
const maxLines = 10;

const isPlace = (c: Column) => c.type === 'string' || places.has(c.name);
const unitOf = (c: Column) => (c.type === 'bytes' ? 'bytes' : c.type === 'percent' ? '%' : c.unit);

function isSize(c: Column): boolean {
  if (isPlace(c) || handles.test(c.name)) return false;
  return (
    c.type === 'duration' ||
    c.type === 'bytes' ||
    c.type === 'percent' ||
    c.type === 'float' ||
    (c.type === 'int' && c.unit === 'count')
  );
}

function bars(table: Table): AutoChart | null {
  const labels = table.columns
    .map((c, i) => ({ c, i }))
    .filter(({ c }) => isPlace(c))
    .slice(0, 3);
  const sizes = table.columns.filter(isSize);
  const first = ['duration', 'bytes', 'percent', 'float', 'int']
    .map((t) => sizes.find((c) => c.type === t))
    .find((c) => c);
  if (!first || labels.length === 0 || table.rows.length === 0 || table.rows.length > maxBars) return null;
  const same = table.columns
    .filter((c) => isSize(c) && c.type === first.type && c.unit === first.unit)
    .slice(0, 4);
  return {
    kind: 'bars',
    categories: table.rows.map((row) =>
      labels
        .filter(({ i }) => row[i] !== null)
        .map(({ c, i }) => (c.type === 'string' ? String(row[i]) : `${c.name} ${row[i]}`))
        .join(' · '),
    ),
    series: same.map((c) => c.name),
    values: same.map((c) =>
      table.rows.map((row) => {
        const v = row[columnIndex(table, c.name)];
        return typeof v === 'number' ? v : null;
      }),
    ),
    unit: unitOf(first),
  };
}

function lines(table: Table): AutoChart | null {
  const timeAt = table.columns.findIndex((c) => c.type === 'time');
  const hasValues = (c: Column) =>
    table.rows.some((row) => typeof row[columnIndex(table, c.name)] === 'number');
  const candidates = table.columns.filter(
    (c) =>
      c.type !== 'time' &&
      c.type !== 'bool' &&
      (isSize(c) || (c.type === 'int' && !isPlace(c) && !handles.test(c.name))) &&
      hasValues(c),
  );
  const value = candidates.find((c) => c.name === 'total') ?? candidates[0];
  // A start and a duration make a list of spans, not a line.
  if (timeAt < 0 || !value || value.type === 'duration' || table.rows.length < 4) return null;
  const at = columnIndex(table, value.name);
  const by = table.columns.map((c, i) => ({ c, i })).filter(({ c }) => isPlace(c));
  const groups = new Map<string, [number, number][]>();
  for (const row of table.rows) {
    if (typeof row[at] !== 'number' || typeof row[timeAt] !== 'number') continue;
    const name =
      by.map(({ c, i }) => (c.type === 'string' ? row[i] : `${c.name} ${row[i]}`)).join(' · ') || value.name;
    if (!groups.has(name) && groups.size >= maxLines) continue;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)!.push([row[timeAt], row[at]]);
  }
  return { kind: 'series', ...stepLines(groups), unit: unitOf(value), name: value.name };
}

export function autoChart(table: Table): AutoChart | null {
  return lines(table) ?? bars(table);
}
