// From a place on the canvas to the track and the slice there.
import { lineIndexAt, rowAt, TRACK_PAD, type Line } from './layout';
import type { EventRef, Store } from './store';
import { idOf, nameOf, sliceAt } from './tile';
import type { Piece } from './tile-cache';
import { levelOf, tileSpan } from './view';
import { TrackKind } from './track-kind';

export interface LinePlace {
  line: Line;
  /** CSS pixels below the top of the line */
  y: number;
}

export function lineAt(store: Store, y: number): LinePlace | null {
  const layout = store.layout.value;
  if (y < layout.pinnedHeight) {
    const line = layout.pinned[lineIndexAt(layout.pinned, y)];
    return line ? { line, y: y - line.y } : null;
  }
  const inside = y - layout.pinnedHeight + store.scrollTop;
  const line = layout.lines[lineIndexAt(layout.lines, inside)];
  return line ? { line, y: inside - line.y } : null;
}

/** The slice of a row at a time, from the tiles that are drawn there. */
export function eventAt(
  store: Store,
  track: number,
  row: number,
  time: number,
  slack: number,
): EventRef | null {
  const level = levelOf(store.nsPerPixel() / (window.devicePixelRatio || 1));
  const pieces: Piece[] = [];
  store.cache.pieces(track, level, Math.floor(time / tileSpan(level)), pieces);
  for (const piece of pieces) {
    if (piece.data.kind === TrackKind.Counter || time < piece.from || time >= piece.to) continue;
    const i = sliceAt(piece.data, row, time, slack);
    if (i < 0) continue;
    const { tile } = piece.data;
    const s = tile.slices;
    return {
      id: idOf(s, i),
      track,
      row,
      start: tile.from + s.start[i]!,
      dur: s.dur[i]!,
      name: nameOf(tile.names, s.name[i]!),
      category: s.category[i]!,
      events: s.events[i]!,
    };
  }
  return null;
}

export function eventAtPoint(store: Store, x: number, y: number): EventRef | null {
  const place = lineAt(store, y);
  if (!place?.line.track || place.line.track.kind === TrackKind.Counter) return null;
  const row = rowAt(place.line, place.y);
  if (row < 0) return null;
  return eventAt(store, place.line.track.id, row, store.timeAt(x), store.nsPerPixel() * 2);
}

export interface CounterValue {
  low: number;
  high: number;
  last: number;
}

export function counterAt(store: Store, track: number, time: number): CounterValue | null {
  const level = levelOf(store.nsPerPixel() / (window.devicePixelRatio || 1));
  const pieces: Piece[] = [];
  store.cache.pieces(track, level, Math.floor(time / tileSpan(level)), pieces);
  for (const { data, from, to } of pieces) {
    if (data.kind !== TrackKind.Counter || time < from || time >= to) continue;
    const { time: times, low, high, last } = data.tile.points;
    let found = -1;
    for (let i = data.first; i < data.first + data.count && times[i]! + data.tile.from <= time; i++)
      found = i;
    if (found >= 0) return { low: low[found]!, high: high[found]!, last: last[found]! };
  }
  return null;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
  isPinned: boolean;
}

type Place = Pick<EventRef, 'track' | 'row' | 'start' | 'dur'>;

function boxIn(store: Store, line: Line, e: Place): Box {
  const { pinnedHeight } = store.layout.value;
  const top = line.isPinned ? line.y : pinnedHeight + line.y - store.scrollTop;
  const x = store.xOf(e.start);
  const width = Math.max(e.dur / store.nsPerPixel(), 1);
  // inside a closed group: all of its line
  if (!line.track)
    return { x, y: top + TRACK_PAD, width, height: line.height - 2 * TRACK_PAD, isPinned: false };
  const gap = line.rowHeight >= 14 ? 1 : 0;
  return {
    x,
    y: top + TRACK_PAD + e.row * line.rowHeight,
    width,
    height: line.rowHeight - gap,
    isPinned: line.isPinned,
  };
}

/** Where an event is drawn, in CSS pixels: in its track, and in the pinned copy; none when the filter
 *  hides it. */
export function boxesOf(store: Store, e: Place): Box[] {
  const layout = store.layout.value;
  const line = layout.lineOf.get(e.track);
  const pinned = layout.pinned.find((l) => l.track!.id === e.track);
  return [...(pinned ? [pinned] : []), ...(line ? [line] : [])].map((l) => boxIn(store, l, e));
}

/** The one to draw an arrow from or to: in sight if there is one. */
export function boxOf(store: Store, e: Place): Box | null {
  const boxes = boxesOf(store, e);
  const top = store.layout.value.pinnedHeight;
  return boxes.find((b) => b.isPinned || (b.y >= top && b.y < store.height)) ?? boxes[0] ?? null;
}
