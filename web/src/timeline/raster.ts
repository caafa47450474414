// Draws slices and counters into a picture in memory. All slices of a row have the same height, so a row is
// made as a line one pixel high and copied down: the cost of a slice is the pixels it is wide, whatever its
// height, and no call of the canvas is needed for it. 50,000 slices take about 2 ms this way.
import { shadeOfBusy, SHADES, VARIANTS, type Palette } from './colors';
import { firstEndingAfter, FLAG_UNFINISHED, rowsOf, type Names } from './tile';
import type { Piece } from './tile-cache';

/** Names to write once the picture is on the canvas; kept from frame to frame, nothing is allocated while
 *  drawing. */
export interface Labels {
  count: number;
  x: Float32Array;
  y: Float32Array;
  width: Float32Array;
  names: (Names | null)[];
  name: Uint32Array;
  isDark: Uint8Array;
}

const MOST_LABELS = 6000;

export function makeLabels(): Labels {
  return {
    count: 0,
    x: new Float32Array(MOST_LABELS),
    y: new Float32Array(MOST_LABELS),
    width: new Float32Array(MOST_LABELS),
    names: new Array<Names | null>(MOST_LABELS).fill(null),
    name: new Uint32Array(MOST_LABELS),
    isDark: new Uint8Array(MOST_LABELS),
  };
}

export interface Surface {
  width: number;
  height: number;
  words: Uint32Array;
  /** one row of pixels */
  strip: Uint32Array;
  /** what lies under the slices: background and grid */
  blank: Uint32Array;
}

export function makeSurface(width: number, height: number, buffer: ArrayBuffer): Surface {
  return {
    width,
    height,
    words: new Uint32Array(buffer, 0, width * height),
    strip: new Uint32Array(width),
    blank: new Uint32Array(width),
  };
}

/** Time to pixels: x = (time - from) * scale. */
export interface Scale {
  from: number;
  scale: number;
}

/** Fills rows top..bottom with the blank line. */
export function clearRows(s: Surface, top: number, bottom: number): void {
  for (let y = Math.max(top, 0); y < Math.min(bottom, s.height); y++) s.words.set(s.blank, y * s.width);
}

export function fillRows(s: Surface, top: number, bottom: number, color: number): void {
  const first = Math.max(top, 0);
  const end = Math.min(bottom, s.height);
  if (end > first) s.words.fill(color, first * s.width, end * s.width);
}

/** Puts the strip into rows top..bottom. */
function copyStrip(s: Surface, top: number, bottom: number): void {
  for (let y = top; y < bottom; y++) s.words.set(s.strip, y * s.width);
}

export interface RowPlace {
  row: number;
  top: number;
  bottom: number;
  clipTop: number;
  clipBottom: number;
  /** least width of a slice that gets its name; Infinity: none do */
  labelFrom: number;
}

/** One row of a track: true when there was anything in it. */
export function drawRow(
  s: Surface,
  pieces: readonly Piece[],
  at: RowPlace,
  t: Scale,
  p: Palette,
  labels: Labels,
) {
  const top = Math.max(at.top, at.clipTop, 0);
  const bottom = Math.min(at.bottom, at.clipBottom, s.height);
  if (bottom <= top) return false;
  let any = false;
  for (const piece of pieces) {
    const rows = rowsOf(piece.data);
    if (at.row + 1 >= rows.length || rows[at.row] === rows[at.row + 1]) continue;
    if (!any) s.strip.set(s.blank);
    any = true;
    drawPiece(s.strip, s.width, piece, rows[at.row]!, rows[at.row + 1]!, at, t, p, labels);
  }
  if (any) copyStrip(s, top, bottom);
  return any;
}

/** All rows of a track in one, deeper ones over those above: what a closed group shows of it. */
export function drawFlat(
  s: Surface,
  pieces: readonly Piece[],
  at: RowPlace,
  t: Scale,
  p: Palette,
  labels: Labels,
): void {
  const top = Math.max(at.top, at.clipTop, 0);
  const bottom = Math.min(at.bottom, at.clipBottom, s.height);
  if (bottom <= top) return;
  s.strip.fill(p.group);
  for (const piece of pieces) {
    const rows = rowsOf(piece.data);
    for (let row = 0; row + 1 < rows.length; row++) {
      drawPiece(s.strip, s.width, piece, rows[row]!, rows[row + 1]!, at, t, p, labels);
    }
  }
  copyStrip(s, top, bottom);
}

function drawPiece(
  strip: Uint32Array,
  width: number,
  piece: Piece,
  begin: number,
  end: number,
  at: RowPlace,
  t: Scale,
  p: Palette,
  labels: Labels,
): void {
  const tile = piece.data.tile;
  const { start, dur, events, name, busy, category, flags } = tile.slices;
  const hashes = tile.names.hashes;
  const scale = t.scale;
  const offset = tile.from - t.from;
  const left = Math.max(Math.floor((piece.from - t.from) * scale), 0);
  const right = Math.min(Math.floor((piece.to - t.from) * scale), width);
  if (right <= left) return;
  const first = firstEndingAfter(tile.slices, begin, end, Math.max(piece.from, t.from) - tile.from);
  for (let i = first; i < end; i++) {
    const from = (start[i]! + offset) * scale;
    if (from >= right) break;
    const to = from + dur[i]! * scale;
    let x0 = Math.floor(from);
    let x1 = Math.floor(to);
    if (x1 <= x0) x1 = x0 + 1;
    const isOne = events[i] === 1;
    const kind = category[i]! * VARIANTS + (hashes[name[i]!]! & (VARIANTS - 1));
    const color = p.slices[kind * SHADES + (isOne ? SHADES - 1 : shadeOfBusy(busy[i]!))]!;
    const isOpenEnded = (flags[i]! & FLAG_UNFINISHED) !== 0;
    if (isOne && x1 - x0 >= at.labelFrom && labels.count < MOST_LABELS) {
      // a slice lies in several pieces; the one with its visible beginning writes the name
      const begins = x0 < 0 ? 0 : x0;
      if (begins >= left && begins < right)
        addLabel(labels, begins, Math.min(x1, width) - begins, at, tile.names, i, name, p.darkText[kind]!);
    }
    // one pixel stays free behind a slice that is wide enough, so that equal neighbours do not melt
    if (isOne && x1 - x0 >= 4) x1--;
    if (x0 < left) x0 = left;
    if (x1 > right) x1 = right;
    if (x1 - x0 > 24) strip.fill(color, x0, x1);
    else for (let x = x0; x < x1; x++) strip[x] = color;
    if (isOpenEnded) for (let x = Math.max(x0, x1 - 24); x < x1; x += 3) strip[x] = p.background;
  }
}

function addLabel(
  l: Labels,
  x: number,
  width: number,
  at: RowPlace,
  names: Names,
  slice: number,
  name: Uint32Array,
  isDark: number,
): void {
  if (width < at.labelFrom) return;
  const n = l.count++;
  l.x[n] = x;
  l.y[n] = (at.top + at.bottom) / 2;
  l.width[n] = width;
  l.names[n] = names;
  l.name[n] = name[slice]!;
  l.isDark[n] = isDark;
}

/** Buffers of drawCounter, as wide as the widest surface so far. */
let lows = new Float64Array(0);
let highs = new Float64Array(0);

/** A counter as a filled step curve; where several values fall on a pixel, from the least to the greatest. */
export function drawCounter(
  s: Surface,
  pieces: readonly Piece[],
  top: number,
  bottom: number,
  clipTop: number,
  clipBottom: number,
  low: number,
  high: number,
  t: Scale,
  p: Palette,
): void {
  if (lows.length < s.width) {
    lows = new Float64Array(s.width);
    highs = new Float64Array(s.width);
  }
  lows.fill(NaN, 0, s.width);
  for (const piece of pieces) spreadPoints(s.width, piece, t);
  // the curve in rows of pixels, in place
  const height = bottom - top - 1;
  const span = high > low ? high - low : 1;
  for (let x = 0; x < s.width; x++) {
    lows[x] = bottom - 1 - Math.round(((lows[x]! - low) / span) * height);
    highs[x] = bottom - 1 - Math.round(((highs[x]! - low) / span) * height);
  }
  for (let y = Math.max(top, clipTop, 0); y < Math.min(bottom, clipBottom, s.height); y++) {
    const row = y * s.width;
    for (let x = 0; x < s.width; x++) {
      const yHigh = highs[x]!;
      // nothing is known where lows is not a number
      if (y < yHigh || Number.isNaN(lows[x]!)) continue;
      s.words[row + x] = y === yHigh ? p.counterLine : y <= lows[x]! ? p.counterBand : p.counterFill;
    }
  }
}

function spreadPoints(width: number, piece: Piece, t: Scale): void {
  const { time, low, high, last } = piece.data.tile.points;
  const offset = piece.data.tile.from - t.from;
  const left = Math.max(Math.floor((piece.from - t.from) * t.scale), 0);
  const right = Math.min(Math.floor((piece.to - t.from) * t.scale), width);
  const end = piece.data.first + piece.data.count;
  for (let i = piece.data.first; i < end; i++) {
    const from = Math.floor((time[i]! + offset) * t.scale);
    const to = i + 1 < end ? Math.floor((time[i + 1]! + offset) * t.scale) : right;
    if (to < left || from >= right) continue;
    for (let x = Math.max(from, left); x <= Math.min(to, right - 1); x++) {
      const isNew = Number.isNaN(lows[x]!);
      // behind its first pixel a point is only its last value, until the next one
      const l = x === from ? low[i]! : last[i]!;
      const h = x === from ? high[i]! : last[i]!;
      if (isNew || l < lows[x]!) lows[x] = l;
      if (isNew || h > highs[x]!) highs[x] = h;
    }
  }
}

/** Stretches in which events were lost: slanted lines over everything there. */
export function hatch(s: Surface, x0: number, x1: number, top: number, bottom: number, color: number): void {
  const left = Math.max(x0, 0);
  const right = Math.min(x1, s.width);
  for (let y = Math.max(top, 0); y < Math.min(bottom, s.height); y++) {
    const row = y * s.width;
    for (let x = left; x < right; x++) if ((x - x0 + y) % 8 < 2) s.words[row + x] = color;
  }
}
