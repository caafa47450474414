// Curves and tables of the memory page, by rank and device.
import { column, objects, type CellValue, type Table } from '../../api';
import { asNumber, asText, place, rankKey, rankLabel, where } from '../common/tables';

export interface Device {
  key: string;
  rank: string;
  name: string;
  label: string;
}

function keyOf(table: Table, row: CellValue[]): string {
  return `${rankKey(row[place(table, 'rank')])}/${asText(row[place(table, 'device_name')])}`;
}

/** The devices with records: devices of accelerators first, as they come, then the CPU's. */
export function devicesOf(peaks: Table): Device[] {
  const ranks = new Set(column(peaks, 'rank').map(rankKey));
  const found = objects(peaks).map((row) => {
    const rank = rankKey(row.rank);
    const name = asText(row.device_name);
    return {
      key: `${rank}/${name}`,
      rank,
      name,
      label: ranks.size > 1 ? `${rankLabel(rank)} ${name}` : name,
    };
  });
  const order = (device: Device) => (device.name === 'CPU' ? 1 : 0);
  return found.sort((a, b) => order(a) - order(b));
}

export function ofDevice(table: Table, key: string): Table {
  return where(table, (row) => keyOf(table, row) === key);
}

export interface Curve {
  time: number[];
  allocated: (number | null)[];
  reserved: (number | null)[];
}

export function curveOf(table: Table, key: string): Curve {
  const own = ofDevice(table, key);
  return {
    time: column<number>(own, 'time'),
    allocated: column<number | null>(own, 'allocated'),
    reserved: column<number | null>(own, 'reserved'),
  };
}

/** Blocks of at least and at most these sizes; null: no limit. */
export function ofSize(events: Table, least: number | null, most: number | null): Table {
  if (least === null && most === null) return events;
  const at = place(events, 'size');
  return where(events, (row) => {
    const size = asNumber(row[at]);
    return size !== null && (least === null || size >= least) && (most === null || size <= most);
  });
}

const POWERS = ['', 'k', 'm', 'g', 't'];

/** "64 KiB", "1.5MB", "4096" as bytes, read as the program reads them; null: no size, so no limit. */
export function parseSize(text: string): number | null {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*$/i.exec(text);
  if (!match) return null;
  const base = match[3] ? 1024 : 1000;
  return Math.round(Number(match[1]) * base ** POWERS.indexOf(match[2]!.toLowerCase()));
}

export interface Range {
  from: number;
  to: number;
}

/** Most rows of a table that a page asks for: more would only make the browser slow. */
export const ROWS = 250_000;
const DEVICES_A_TRACE = 2;
const POINTS = 10_240;

/** What to ask for: the curves of many traces are thinned more, so that none of them is cut off. */
export function requestOf(traces: number, range: Range | null): Record<string, string> {
  const points = Math.max(500, Math.floor(ROWS / (Math.max(1, traces) * DEVICES_A_TRACE)));
  const params: Record<string, string> = { limit: String(ROWS) };
  if (points < POINTS) params.points = String(points);
  if (range) Object.assign(params, { from: String(range.from), to: String(range.to) });
  return params;
}
