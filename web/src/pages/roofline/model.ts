// The roofline without DOM: points, ceilings, axes in powers of ten.
import type { Table } from '../../api';
import { asNumber, asText, ofRank, place } from '../common/tables';

export interface Point {
  name: string;
  dtype: string;
  /** operations per byte */
  x: number;
  /** TFLOP/s */
  y: number;
  time: number;
  share: number | null;
  percent: number | null;
  bound: string;
  roof: string;
  event: number | null;
}

export interface Ceilings {
  /** GB/s */
  memory: number | null;
  rates: { name: string; tflops: number }[];
  device: string;
}

export interface Axis {
  from: number;
  to: number;
}

/** Points that have a place: work that computes, with known bytes and time. */
export function pointsOf(table: Table, rank: string): Point[] {
  const part = ofRank(table, rank);
  const at = (name: string) => place(part, name);
  const columns = {
    x: at('intensity'),
    y: at('tflops'),
    time: at('device_time'),
    share: at('share'),
    percent: at('percent_of_peak'),
  };
  return part.rows.flatMap((row) => {
    const x = asNumber(row[columns.x]);
    const y = asNumber(row[columns.y]);
    if (x === null || y === null || !(x > 0) || !(y > 0)) return [];
    return [
      {
        x,
        y,
        name: asText(row[at('name')]) || 'outside of layers',
        dtype: asText(row[at('dtype')]),
        time: asNumber(row[columns.time]) ?? 0,
        share: asNumber(row[columns.share]),
        percent: asNumber(row[columns.percent]),
        bound: asText(row[at('bound')]),
        roof: asText(row[at('roof')]),
        event: asNumber(row[at('event')]),
      },
    ];
  });
}

/** The roofs that count for some work, of the first device. */
export function ceilingsOf(table: Table, rank: string): Ceilings {
  const part = ofRank(table, rank);
  const first = part.rows[0];
  const at = (name: string) => place(part, name);
  const result: Ceilings = { memory: null, rates: [], device: '' };
  if (!first) return result;
  result.device = asText(first[at('name')]) || asText(first[at('peaks')]);
  for (const row of part.rows) {
    if (row[at('device')] !== first[at('device')] || row[at('used')] !== true) continue;
    const tflops = asNumber(row[at('tflops')]);
    if (tflops === null) result.memory = asNumber(row[at('gbps')]);
    else result.rates.push({ name: asText(row[at('ceiling')]), tflops });
  }
  return result;
}

/** Whole powers of ten around the values. */
export function axisOf(values: number[]): Axis {
  const good = values.filter((value) => value > 0 && Number.isFinite(value));
  if (good.length === 0) return { from: 0.1, to: 1000 };
  const from = 10 ** Math.floor(Math.log10(Math.min(...good)));
  const to = 10 ** Math.ceil(Math.log10(Math.max(...good)) + 1e-9);
  return { from, to: to > from ? to : from * 10 };
}

export function axesOf(points: Point[], roofs: Ceilings): { x: Axis; y: Axis } {
  const ridges = roofs.memory ? roofs.rates.map((rate) => (rate.tflops * 1000) / roofs.memory!) : [];
  return {
    x: axisOf([...points.map((point) => point.x), ...ridges]),
    y: axisOf([...points.map((point) => point.y), ...roofs.rates.map((rate) => rate.tflops)]),
  };
}

export function powersOf(axis: Axis): number[] {
  const first = Math.round(Math.log10(axis.from));
  const last = Math.round(Math.log10(axis.to));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

/** Where a value stands, from 0 to 1. */
export function placeOn(axis: Axis, value: number): number {
  return Math.log10(value / axis.from) / Math.log10(axis.to / axis.from);
}

const LARGEST = 22;
const SMALLEST = 3;

/** The area of a point is its part of the time. */
export function radiusOf(time: number, most: number): number {
  return most > 0 ? Math.max(SMALLEST, LARGEST * Math.sqrt(time / most)) : SMALLEST;
}
