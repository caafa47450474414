// The average step, the steps and the series of the overview, by rank or as the mean of all.
import { objects, tableOf, type Result, type Table } from '../../api';
import { ALL, asNumber, asText, ofRank, place, rankKey } from '../common/tables';

/** Parts of a step in the order of the analysis; colours are those of the timeline. */
export const ROLES = [
  { key: 'kernel', label: 'Kernel', color: 'var(--cat-4)' },
  { key: 'memcpy', label: 'Memcpy', color: 'var(--cat-5)' },
  { key: 'memset', label: 'Memset', color: 'var(--cat-6)' },
  { key: 'communication', label: 'Communication', color: 'var(--cat-9)' },
  { key: 'runtime', label: 'Runtime', color: 'var(--cat-3)' },
  { key: 'dataloader', label: 'DataLoader', color: 'var(--cat-7)' },
  { key: 'cpu_exec', label: 'CPU Exec', color: 'var(--cat-1)' },
  { key: 'other', label: 'Other', color: 'var(--cat-0)' },
] as const;

export interface Execution {
  key: string;
  steps: number;
  time: number;
  parts: { name: string; time: number }[];
}

export function colorOf(label: string): string {
  return ROLES.find((role) => role.label === label)?.color ?? 'var(--cat-0)';
}

/**
 * The average step of each trace. execution_summary has a block a trace that begins with the average step
 * itself, in the order of configuration: so traces are told apart even where two have the same rank.
 */
export function executions(result: Result): Execution[] {
  const traces = objects(tableOf(result, 'configuration'));
  const found: Execution[] = [];
  for (const row of objects(tableOf(result, 'execution_summary'))) {
    const time = asNumber(row.time) ?? 0;
    if (row.category === 'Average Step Time') {
      const steps = asNumber(traces[found.length]?.steps) ?? 1;
      found.push({ key: rankKey(row.rank), steps, time, parts: [] });
    } else {
      found.at(-1)?.parts.push({ name: asText(row.category), time });
    }
  }
  return found;
}

/** The mean over traces, each as often as it has steps: the mean over all their steps. */
export function meanExecution(all: Execution[]): Execution | null {
  const steps = all.reduce((sum, one) => sum + one.steps, 0);
  if (steps === 0) return null;
  const mean = (amountOf: (one: Execution) => number) =>
    all.reduce((sum, one) => sum + amountOf(one) * one.steps, 0) / steps;
  const names = ROLES.map((role) => role.label).filter((name) =>
    all.some((one) => one.parts.some((part) => part.name === name)),
  );
  const partOf = (one: Execution, name: string) => one.parts.find((part) => part.name === name)?.time ?? 0;
  return {
    key: ALL,
    steps,
    time: mean((one) => one.time),
    parts: names.map((name) => ({ name, time: mean((one) => partOf(one, name)) })),
  };
}

export interface Steps {
  names: string[];
  from: number[];
  to: number[];
  totals: number[];
  series: { name: string; color: string; values: number[] }[];
}

/**
 * When a step ran, on the host and on the device: what the timeline shows of it. Its time in the breakdown
 * is counted from the end of the step before, so that parts add up, and may begin after its end on the host.
 */
export function windowOf(table: Table, row: Table['rows'][number]): { from: number; to: number } {
  const at = (name: string) => asNumber(row[place(table, name)]);
  const from = at('host_start') ?? 0;
  const device = at('device_start');
  const hostEnd = from + (at('host_dur') ?? 0);
  return {
    from: device === null ? from : Math.min(from, device),
    to: device === null ? hostEnd : Math.max(hostEnd, device + (at('device_dur') ?? 0)),
  };
}

/** The steps of a rank, or of all: then the mean over the ranks that have the step. */
export function stepsOf(table: Table, rank: string): Steps {
  const rows = ofRank(table, rank).rows;
  const stepAt = place(table, 'step');
  const totalAt = place(table, 'total');
  const byStep = new Map<string, typeof rows>();
  for (const row of rows) {
    const name = row[stepAt] === null ? 'trace' : String(row[stepAt]);
    const group = byStep.get(name);
    if (group) group.push(row);
    else byStep.set(name, [row]);
  }
  const groups = [...byStep.values()];
  const meanOf = (group: typeof rows, at: number) =>
    group.reduce((sum, row) => sum + (asNumber(row[at]) ?? 0), 0) / group.length;
  return {
    names: [...byStep.keys()],
    from: groups.map((group) => Math.min(...group.map((row) => windowOf(table, row).from))),
    to: groups.map((group) => Math.max(...group.map((row) => windowOf(table, row).to))),
    totals: groups.map((group) => meanOf(group, totalAt)),
    series: ROLES.filter((role) => rows.some((row) => row[place(table, role.key)] !== null)).map((role) => ({
      name: role.label,
      color: role.color,
      values: groups.map((group) => meanOf(group, place(table, role.key))),
    })),
  };
}

export interface Piece {
  start: number;
  end: number;
  value: number;
}

/** Means of a piecewise constant function (0 between the pieces) over equal parts of [from, to). */
export function meansOver(pieces: Piece[], from: number, to: number, count: number): number[] {
  const width = (to - from) / count;
  const sums = new Array<number>(count).fill(0);
  if (!(width > 0)) return sums;
  for (const piece of pieces) {
    const start = Math.max(piece.start, from);
    const end = Math.min(piece.end, to);
    if (!(end > start)) continue;
    const first = Math.min(count - 1, Math.floor((start - from) / width));
    const last = Math.min(count - 1, Math.floor((end - from) / width));
    for (let at = first; at <= last; at++) {
      const left = Math.max(start, from + at * width);
      const right = Math.min(end, from + (at + 1) * width);
      if (right > left) sums[at]! += (right - left) * piece.value;
    }
  }
  return sums.map((sum) => sum / width);
}

/** Values that hold from their time on to the next. */
export interface Line {
  key: string;
  name: string;
  time: number[];
  values: number[];
}

/**
 * All lines over the times of any of them: what holds at a time is what was said last, but nothing is known
 * before a line begins and after it ends, as of a rank whose trace ends early.
 */
export function onOneAxis(lines: Line[]): { x: number[]; values: (number | null)[][] } {
  const x = [...new Set(lines.flatMap((line) => line.time))].sort((a, b) => a - b);
  const values = lines.map((line) => {
    const end = line.time.at(-1) ?? -Infinity;
    let at = -1;
    return x.map((time) => {
      while (at + 1 < line.time.length && line.time[at + 1]! <= time) at++;
      return at < 0 || time > end ? null : line.values[at]!;
    });
  });
  return { x, values };
}

const MOST_LINES = 8;

/** Many devices as three lines: more could not be told apart. */
export function spread(lines: Line[], prefix = ''): Line[] {
  if (lines.length <= MOST_LINES) return lines;
  const { x, values } = onOneAxis(lines);
  const at = x.map((_, i) => values.map((line) => line[i] ?? null).filter((value) => value !== null));
  const make = (name: string, of: (all: number[]) => number) => ({
    key: name,
    name: prefix + name,
    time: x,
    values: at.map(of),
  });
  return [
    make('busiest device', (all) => Math.max(...all)),
    make(`mean of ${lines.length} devices`, (all) => all.reduce((sum, value) => sum + value, 0) / all.length),
    make('least busy device', (all) => Math.min(...all)),
  ];
}
