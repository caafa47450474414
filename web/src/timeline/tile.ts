// Reads a tile (docs/formats/tile.md) as typed arrays that look into the answer's own bytes: nothing is
// copied, and the renderer walks plain arrays without making an object per slice.

import { TrackKind } from './track-kind';

const TILE_MAGIC = 0x314c544b;
const TILE_VERSION = 1;
export const FLAG_UNFINISHED = 1;

export interface Tile {
  from: number;
  to: number;
  pixels: number;
  bytes: number;
  /** track number -> what it has in this tile */
  tracks: Map<number, TileTrack>;
  slices: Slices;
  points: Points;
  names: Names;
}

export interface Slices {
  count: number;
  start: Float64Array;
  dur: Float64Array;
  /** 64-bit ids as pairs of words; read them with idOf */
  idWords: Uint32Array;
  events: Uint32Array;
  name: Uint32Array;
  busy: Float32Array;
  row: Uint16Array;
  category: Uint8Array;
  flags: Uint8Array;
}

export interface Points {
  count: number;
  time: Float64Array;
  low: Float64Array;
  high: Float64Array;
  last: Float64Array;
}

export interface TileTrack {
  tile: Tile;
  track: number;
  kind: TrackKind;
  first: number;
  count: number;
  /** rows[r] .. rows[r + 1]: the slices of row r; made when first asked for */
  rows: Uint32Array | null;
}

export interface Names {
  count: number;
  places: Uint32Array;
  bytes: Uint8Array;
  texts: (string | undefined)[];
  /** a small number made from each name, the same in every tile: varies the colour */
  hashes: Uint8Array;
}

const decoder = new TextDecoder();

export function nameOf(names: Names, index: number): string {
  let text = names.texts[index];
  if (text === undefined) {
    text = decoder.decode(names.bytes.subarray(names.places[index]!, names.places[index + 1]!));
    names.texts[index] = text;
  }
  return text;
}

export function idOf(slices: Slices, index: number): number {
  return slices.idWords[index * 2]! + slices.idWords[index * 2 + 1]! * 4294967296;
}

/** FNV-1a, folded to a byte. Digits are left out, so that `step 1` and `step 2` look alike. */
export function hashName(bytes: Uint8Array, begin: number, end: number): number {
  let h = 0x811c9dc5;
  for (let i = begin; i < end; i++) {
    const c = bytes[i]!;
    if (c >= 48 && c <= 57) continue;
    h = Math.imul(h ^ c, 0x01000193);
  }
  h ^= h >>> 16;
  return (h ^ (h >>> 8)) & 255;
}

/** Places of rows among the slices of a track (which are ordered by row). */
export function rowsOf(t: TileTrack): Uint32Array {
  if (t.rows) return t.rows;
  const row = t.tile.slices.row;
  const end = t.first + t.count;
  const rowCount = t.count === 0 ? 0 : row[end - 1]! + 1;
  const rows = new Uint32Array(rowCount + 1);
  let at = t.first;
  for (let r = 0; r < rowCount; r++) {
    rows[r] = at;
    while (at < end && row[at]! <= r) at++;
  }
  rows[rowCount] = end;
  t.rows = rows;
  return rows;
}

/** First place in begin..end whose slice ends after `time` (ns after the tile's from). */
export function firstEndingAfter(s: Slices, begin: number, end: number, time: number): number {
  let low = begin;
  let high = end;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (s.start[middle]! + s.dur[middle]! > time) high = middle;
    else low = middle + 1;
  }
  // instants have no length: those at exactly `time` still count
  while (low > begin && s.start[low - 1]! >= time) low--;
  return low;
}

/** The slice of a row at a time, or -1. `slack`: how far beside it counts as hit (ns); the nearest one
 *  wins. */
export function sliceAt(t: TileTrack, row: number, time: number, slack: number): number {
  const rows = rowsOf(t);
  if (row < 0 || row + 1 >= rows.length) return -1;
  const s = t.tile.slices;
  const at = time - t.tile.from;
  let best = -1;
  let bestDistance = Infinity;
  for (let i = firstEndingAfter(s, rows[row]!, rows[row + 1]!, at - slack); i < rows[row + 1]!; i++) {
    const start = s.start[i]!;
    if (start > at + slack) break;
    const end = start + s.dur[i]!;
    const distance = at < start ? start - at : at > end ? at - end : 0;
    if (distance <= slack && distance < bestDistance) {
      best = i;
      bestDistance = distance;
    }
  }
  return best;
}

export function decodeTile(buffer: ArrayBuffer): Tile {
  const view = new DataView(buffer);
  if (buffer.byteLength < 48 || view.getUint32(0, true) !== TILE_MAGIC) throw new Error('not a tile');
  const version = view.getUint32(4, true);
  if (version !== TILE_VERSION) throw new Error(`tile version ${version} is not supported`);
  const trackCount = view.getUint32(28, true);
  const sliceCount = view.getUint32(32, true);
  const pointCount = view.getUint32(36, true);
  const nameCount = view.getUint32(40, true);
  const nameBytes = view.getUint32(44, true);

  let at = 48;
  const block = (bytes: number): number => {
    const place = at;
    at = (at + bytes + 7) & ~7;
    if (place + bytes > buffer.byteLength) throw new Error('the tile is truncated');
    return place;
  };
  const trackWords = new Uint32Array(buffer, block(trackCount * 16), trackCount * 4);
  const slices: Slices = {
    count: sliceCount,
    start: new Float64Array(buffer, block(sliceCount * 8), sliceCount),
    dur: new Float64Array(buffer, block(sliceCount * 8), sliceCount),
    idWords: new Uint32Array(buffer, block(sliceCount * 8), sliceCount * 2),
    events: new Uint32Array(buffer, block(sliceCount * 4), sliceCount),
    name: new Uint32Array(buffer, block(sliceCount * 4), sliceCount),
    busy: new Float32Array(buffer, block(sliceCount * 4), sliceCount),
    row: new Uint16Array(buffer, block(sliceCount * 2), sliceCount),
    category: new Uint8Array(buffer, block(sliceCount), sliceCount),
    flags: new Uint8Array(buffer, block(sliceCount), sliceCount),
  };
  const points: Points = {
    count: pointCount,
    time: new Float64Array(buffer, block(pointCount * 8), pointCount),
    low: new Float64Array(buffer, block(pointCount * 8), pointCount),
    high: new Float64Array(buffer, block(pointCount * 8), pointCount),
    last: new Float64Array(buffer, block(pointCount * 8), pointCount),
  };
  const tile: Tile = {
    from: Number(view.getBigInt64(8, true)),
    to: Number(view.getBigInt64(16, true)),
    pixels: view.getUint32(24, true),
    bytes: buffer.byteLength,
    tracks: new Map(),
    slices,
    points,
    names: readNames(buffer, block((nameCount + 1) * 4), nameCount, nameBytes),
  };
  readTracks(tile, trackWords);
  return tile;
}

function readNames(buffer: ArrayBuffer, place: number, count: number, byteCount: number): Names {
  const places = new Uint32Array(buffer, place, count + 1);
  const start = place + (count + 1) * 4;
  if (start + byteCount > buffer.byteLength) throw new Error('the tile is truncated');
  const bytes = new Uint8Array(buffer, start, byteCount);
  const hashes = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    if (places[i + 1]! < places[i]! || places[i + 1]! > byteCount)
      throw new Error('a name of the tile is damaged');
    hashes[i] = hashName(bytes, places[i]!, places[i + 1]!);
  }
  return { count, places, bytes, texts: new Array<string | undefined>(count), hashes };
}

function readTracks(tile: Tile, words: Uint32Array): void {
  for (let i = 0; i < words.length; i += 4) {
    const kind: TrackKind = words[i + 1]!;
    const first = words[i + 2]!;
    const count = words[i + 3]!;
    if (first + count > (kind === TrackKind.Counter ? tile.points.count : tile.slices.count)) {
      throw new Error('a track of the tile is damaged');
    }
    tile.tracks.set(words[i]!, { tile, track: words[i]!, kind, first, count, rows: null });
  }
}
