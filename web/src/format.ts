// Numbers for people, by the rules of the command line (src/render/units.c), so that both show the same text.
import type { CellValue, Column } from './api';
import { byteUnits, durationUnits } from './units';

/** Digits are cut as C's printf does: of two equally near, the even one. JavaScript takes the greater. */
function tieToEven(text: string, exact: string): string {
  const [digits = '', power = ''] = text.split('e');
  const rest = exact.split('e')[0]!.slice(digits.length + (digits.includes('.') ? 0 : 1));
  const last = digits.charCodeAt(digits.length - 1) - 48;
  if (!/^50*$/.test(rest) || last % 2 === 0) return text;
  return digits.slice(0, -1) + String(last - 1) + (power && `e${power}`); // an odd last digit is never 0
}

const fixed = (value: number, decimals: number): string =>
  tieToEven(value.toFixed(decimals), value.toFixed(decimals + 24));
const exponential = (value: number, decimals: number): string =>
  tieToEven(value.toExponential(decimals), value.toExponential(decimals + 24));

/** Four significant digits without useless zeros behind the point: 1.5, 12.34, 123.4, 1234. */
function scaled(value: number): string {
  const decimals = value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0;
  const text = fixed(value, decimals);
  return decimals ? text.replace(/\.?0+$/, '') : text;
}

const two = (n: number) => String(n).padStart(2, '0');

export function formatDuration(ns: number): string {
  if (!Number.isFinite(ns)) return '–';
  const size = Math.round(Math.abs(ns));
  const sign = ns < 0 && size > 0 ? '-' : '';
  if (size < 1000) return `${sign}${size} ns`;
  const unit = durationUnits.find((one) => size < one.below);
  if (unit) return `${sign}${scaled(size / unit.ns)} ${unit.name}`;
  const seconds = Math.floor(size / 1e9);
  if (size < 3600e9) return `${sign}${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${sign}${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

export function formatBytes(n: number): string {
  if (!Number.isFinite(n)) return '–';
  const sign = n < 0 ? '-' : '';
  let value = Math.abs(n);
  let unit = 0;
  for (; value >= 1023.5 && unit < byteUnits.length; unit++) value /= 1024;
  return `${sign}${scaled(value)} ${unit === 0 ? 'B' : byteUnits[unit - 1]}`;
}

export function formatPercent(p: number): string {
  return Number.isFinite(p) ? `${fixed(p, 1)} %` : '–';
}

export function formatCount(n: number): string {
  if (!Number.isFinite(n)) return '–';
  const digits = String(Math.trunc(Math.abs(n)));
  return (n < 0 ? '-' : '') + digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A time is ns since the run's origin and reads like a duration. */
export function formatTime(ns: number): string {
  return formatDuration(ns);
}

/** C's %.4g: four significant digits, an exponent when it is far from 1. */
export function formatFloat(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const exponent = Number(exponential(value, 3).split('e')[1]);
  if (exponent < -4 || exponent >= 4) {
    const [digits = '', power = ''] = exponential(value, 3).split('e');
    const short = digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
    return `${short}e${power[0]}${power.slice(1).padStart(2, '0')}`;
  }
  const text = fixed(value, 3 - exponent);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

export function formatCell(value: CellValue, column: Column): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  switch (column.type) {
    case 'duration':
    case 'time':
      return formatDuration(value);
    case 'bytes':
      return formatBytes(value);
    case 'percent':
      return formatPercent(value);
    case 'bool':
      return value ? 'Yes' : 'No';
    default:
      return formatUnit(value, column.unit);
  }
}

/** A number with a unit text: what charts and untyped cells use. */
export function formatUnit(value: number, unit?: string): string {
  if (unit === 'ns') return formatDuration(value);
  if (unit === 'bytes') return formatBytes(value);
  if (unit === '%' || unit === 'percent') return formatPercent(value);
  if (unit === 'event') return String(value);
  if (Number.isInteger(value)) return unit === 'count' ? formatCount(value) : withUnit(String(value), unit);
  return withUnit(formatFloat(value), unit === 'count' ? undefined : unit);
}

const withUnit = (text: string, unit?: string) => (unit ? `${text} ${unit}` : text);

/** The value to the last digit, for tooltips and exports. */
export function exactCell(value: CellValue, column: Column): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'boolean') return formatCell(value, column);
  if (typeof value !== 'number') return String(value);
  const unit = column.type === 'bytes' ? 'bytes' : column.type === 'percent' ? '%' : column.unit;
  return unit && unit !== 'count' && unit !== 'event' ? `${value} ${unit}` : String(value);
}

/** The value to the last digit as text of a cell: 1,622,465 ns. */
export function fullCell(value: CellValue, column: Column): string {
  if (typeof value !== 'number' || column.type === 'bool') return formatCell(value, column);
  const unit = column.type === 'bytes' ? 'B' : column.type === 'percent' ? '%' : column.unit;
  const text = Number.isInteger(value) && unit && unit !== 'event' ? formatCount(value) : String(value);
  return unit && unit !== 'count' && unit !== 'event' ? `${text} ${unit}` : text;
}

/** What is called differently than its words. */
const TITLES: Record<string, string> = {
  s_name: 'Name',
  s_cat: 'Category',
  cat: 'Category',
  ts: 'Start',
  event_idx: 'Event',
  event_id: 'Event',
  aten_op_name: 'Operator',
  occurrence_count: 'Count',
  num_kernels: 'Kernels',
  kernel_dur_sum: 'Kernel time',
  s_user_annotation: 'Annotation',
  user_annotation: 'Event of the annotation',
  comp_comm_overlap_pctg: 'Overlap',
  is_ok: 'OK',
  op_is_tensor_cores_eligible: 'Operator could use tensor cores',
  memcpy: 'Copies',
  memset: 'Memsets',
  seq: 'Sequence number',
};

const WORDS: Record<string, string> = {
  gpu: 'GPU',
  cpu: 'CPU',
  sm: 'SM',
  tc: 'TC',
  id: 'ID',
  ts: 'time',
  dur: 'duration',
  pctg: '%',
  est: 'est.',
  avg: 'mean',
  std: 'std. dev.',
  stddev: 'std. dev.',
  p25: '25th percentile',
  p50: 'median',
  p75: '75th percentile',
  op: 'operator',
  pid: 'PID',
  tid: 'TID',
  idx: 'index',
  bw: 'bandwidth',
  seq: 'sequence',
  comp: 'computation',
  comm: 'communication',
  memcpy: 'copy',
  stats: 'statistics',
  mfu: 'MFU',
  hfu: 'HFU',
  flops: 'FLOPs',
  tflops: 'TFLOP/s',
  gbps: 'GB/s',
  dtype: 'data type',
  fwd: 'forward',
  bwd: 'backward',
};

/** est_sm_efficiency → Est. SM efficiency: heads of columns and tables that were given no title. */
export function titleOf(name: string): string {
  const own = TITLES[name];
  if (own !== undefined) return own;
  const text = name
    .replace(/^(is|has)_/, '')
    .split('_')
    .map((word) => WORDS[word.toLowerCase()] ?? word)
    .join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The program's texts begin small, sentences of the page do not; names of operators and tables stay as they are. */
export function capitalized(text: string): string {
  const isWord = /^[a-z]+([ ,;.]|:(?!:))/.test(text);
  return isWord ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

/** 1 row, 2 rows */
export function formatRows(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'row' : 'rows'}`;
}

/** Long names: keep head and tail, cut the middle, as the command line does. */
export function shorten(text: string, width: number): string {
  if (text.length <= width || width < 4) return text;
  const tail = Math.floor((width - 1) / 3);
  return `${text.slice(0, width - 1 - tail)}…${text.slice(text.length - tail)}`;
}
