// The visible stretch of time and the arithmetic of panning and zooming. Times are ns since the run's origin
// as numbers: exact up to 2^53 ns (104 days). Nothing here knows about pixels on a real screen, so it can be
// tested.

export interface Range {
  from: number;
  to: number;
}

/** Nobody needs to see less than this. */
const SMALLEST_SPAN = 10;
/** Tiles are this wide; their levels are powers of two of ns per pixel. */
export const TILE_PIXELS = 1024;
export const HIGHEST_LEVEL = 42;

export function spanOf(r: Range): number {
  return r.to - r.from;
}

export function clampRange(r: Range, bounds: Range): Range {
  const most = Math.max(bounds.to - bounds.from, SMALLEST_SPAN);
  const span = Math.min(Math.max(r.to - r.from, SMALLEST_SPAN), most);
  let from = r.from;
  if (r.to - r.from !== span) from = (r.from + r.to) / 2 - span / 2;
  from = Math.min(Math.max(from, bounds.from), bounds.from + most - span);
  return { from, to: from + span };
}

/** Zooms by `factor` (below 1: in) so that the time `at` keeps its place. */
export function zoomRange(r: Range, factor: number, at: number, bounds: Range): Range {
  const most = Math.max(bounds.to - bounds.from, SMALLEST_SPAN);
  const span = Math.min(Math.max((r.to - r.from) * factor, SMALLEST_SPAN), most);
  const part = r.to === r.from ? 0.5 : (at - r.from) / (r.to - r.from);
  const from = at - part * span;
  return clampRange({ from, to: from + span }, bounds);
}

export function panRange(r: Range, by: number, bounds: Range): Range {
  return clampRange({ from: r.from + by, to: r.to + by }, bounds);
}

/** What F does, as in Perfetto: the first press centres the stretch and keeps the zoom (zooming out when it would take more
 *  than half of the window); when it is in the centre already, fits it to the window. */
export function focusRange(view: Range, target: Range, bounds: Range): Range {
  const span = Math.max(spanOf(target), 1);
  const middle = (target.from + target.to) / 2;
  const isCentred =
    Math.abs(middle - (view.from + view.to) / 2) < spanOf(view) * 0.005 ||
    isHeldByBounds(view, middle, bounds);
  if (isCentred) return fitRange(target, bounds);
  const next = span > spanOf(view) / 2 ? Math.max(span * 5, SMALLEST_SPAN) : spanOf(view);
  return clampRange({ from: middle - next / 2, to: middle + next / 2 }, bounds);
}

/** An event with its surroundings: it takes an eighth of the window, a short one less (but can be seen). */
export function surroundings(target: Range, bounds: Range): Range {
  const length = Math.max(spanOf(target), 1);
  const span = Math.max(length * 8, Math.min(200_000, length * 200));
  const middle = (target.from + target.to) / 2;
  return clampRange({ from: middle - span / 2, to: middle + span / 2 }, bounds);
}

/** At the borders of the run a stretch cannot come to the centre: then as near as it gets counts as
 *  centred. */
function isHeldByBounds(view: Range, middle: number, bounds: Range): boolean {
  const span = spanOf(view);
  const wish = clampRange({ from: middle - span / 2, to: middle + span / 2 }, bounds);
  return Math.abs(wish.from - view.from) < span * 0.005;
}

/** Fills nine tenths of the window with the stretch: double-click. */
export function fitRange(target: Range, bounds: Range): Range {
  const span = Math.max(spanOf(target), 1) / 0.9;
  const middle = (target.from + target.to) / 2;
  return clampRange({ from: middle - span / 2, to: middle + span / 2 }, bounds);
}

/** The level whose pixels are as fine as the screen's or up to twice as fine. */
export function levelOf(nsPerPixel: number): number {
  return Math.min(Math.max(Math.floor(Math.log2(nsPerPixel) + 1e-9), 0), HIGHEST_LEVEL);
}

export function tileSpan(level: number): number {
  return 2 ** level * TILE_PIXELS;
}

/** First and last index of the tiles of a level that a range touches. */
export function tilesOf(r: Range, level: number): { first: number; last: number } {
  const span = tileSpan(level);
  const first = Math.floor(r.from / span);
  return { first, last: Math.max(first, Math.ceil(r.to / span) - 1) };
}

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** From ten seconds on people count in sixties and twenty-fours. */
const LONG_STEPS = [
  ...[10, 20, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((n) => n * MINUTE),
  ...[1, 2, 4, 6, 12, 24].map((n) => n * HOUR),
];

/** Distances for a ruler: 1, 2 or 5 times a power of ten up to seconds, at least `minimum` ns apart. */
export function rulerStep(minimum: number): number {
  const day = 24 * HOUR;
  if (minimum > 5 * SECOND) return LONG_STEPS.find((s) => s >= minimum) ?? Math.ceil(minimum / day) * day;
  const power = 10 ** Math.floor(Math.log10(Math.max(minimum, 1)));
  for (const m of [1, 2, 5, 10]) {
    if (m * power >= minimum) return m * power;
  }
  return 10 * power;
}

/** 2 min 05 s; 1 h 05 min, with seconds where the marks are closer than a minute. */
function clockText(ns: number, step: number): string {
  const all = Math.round(Math.abs(ns) / SECOND);
  const two = (n: number): string => String(n).padStart(2, '0');
  const [h, m, s] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  const minutes = h > 0 ? `${h} h ${two(m)} min` : `${m} min`;
  return `${ns < 0 ? '-' : ''}${minutes}${step < MINUTE ? ` ${two(s)} s` : ''}`;
}

/** The text of a place on the ruler: its unit follows from the distance of the marks, so that neighbours
 *  differ. */
export function rulerText(ns: number, step: number): string {
  if (step >= SECOND && Math.abs(ns) >= MINUTE) return clockText(ns, step);
  const units: [number, string][] = [
    [1e9, 's'],
    [1e6, 'ms'],
    [1e3, 'µs'],
    [1, 'ns'],
  ];
  const size = Math.max(Math.abs(ns), step);
  const [scale, unit] = units.find(([u]) => size >= u) ?? [1, 'ns'];
  const digits = Math.max(0, Math.ceil(Math.log10(scale / step) - 1e-9));
  return `${(ns / scale).toFixed(digits)} ${unit}`;
}
