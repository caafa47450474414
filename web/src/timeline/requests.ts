// What the timeline asks the server, in the timeline's own words.
import { get, getBinary, objects, tableOf, type CellValue, type Result, type Table } from '../api';
import { traceText } from '../state';
import { CATEGORIES } from './colors';
import type { EventRef } from './store';
import { decodeTile, idOf, nameOf, rowsOf, type Tile } from './tile';
import type { TileRequest } from './tile-cache';
import type { Range } from './view';

export function fetchTile(request: TileRequest, signal: AbortSignal): Promise<ArrayBuffer> {
  const { from, to, pixels, tracks } = request;
  return getBinary('timeline/tile', { from, to, pixels, tracks: traceText(tracks) }, signal);
}

export function fetchEvent(id: number, signal?: AbortSignal): Promise<Result> {
  return get<Result>('timeline/event', { id }, signal);
}

export function fetchArea(range: Range, tracks: readonly number[], signal?: AbortSignal): Promise<Result> {
  return get<Result>(
    'timeline/area',
    {
      from: Math.floor(range.from),
      to: Math.ceil(range.to),
      tracks: traceText(tracks),
    },
    signal,
  );
}

type Row = Record<string, CellValue>;

const number = (v: CellValue | undefined): number => (typeof v === 'number' ? v : 0);

/** A row that says where an event is drawn; null when it is not drawn anywhere. Its `kind` is a category
 *  of tiles, its `category` what the trace calls it. */
export function refOf(row: Row): EventRef | null {
  if (typeof row.id !== 'number' || typeof row.track !== 'number') return null;
  const category = CATEGORIES.indexOf(String(row.kind) as (typeof CATEGORIES)[number]);
  return {
    id: row.id,
    track: row.track,
    row: number(row.row),
    start: number(row.start),
    dur: number(row.dur),
    name: String(row.name ?? ''),
    category: Math.max(category, 0),
    events: 1,
  };
}

export interface SearchAnswer {
  events: EventRef[];
  total: number;
  table: Table;
}

/** `tracks`: where to look; null: everywhere. */
export async function fetchSearch(
  q: string,
  limit: number,
  tracks: readonly number[] | null,
  signal?: AbortSignal,
): Promise<SearchAnswer> {
  const where = tracks === null ? undefined : traceText(tracks);
  const result = await get<Result>('timeline/search', { q, limit, tracks: where }, signal);
  const table = tableOf(result, 'found');
  const events = objects(table)
    .map(refOf)
    .filter((e) => e !== null);
  const total = tableOf(result, 'count').rows[0]?.[0];
  return { events, total: typeof total === 'number' ? total : events.length, table };
}

/** The event of a row next to a time: after it (direction 1) or before it (-1). Looks at ever longer
 *  stretches until one has a slice, then at ever shorter ones until the slice is a single event: a handful
 *  of small requests, however many events there are. */
export async function findNeighbour(
  at: { track: number; row: number; start: number; dur: number; id: number },
  direction: 1 | -1,
  bounds: Range,
  fetch: (request: TileRequest, signal: AbortSignal) => Promise<ArrayBuffer>,
  signal: AbortSignal,
): Promise<EventRef | null> {
  const pixels = 512;
  let span = Math.max(at.dur, 1000) * 4;
  let from = direction > 0 ? Math.floor(at.start) : Math.floor(at.start - span);
  let to = direction > 0 ? Math.ceil(at.start + at.dur + span) : Math.ceil(at.start);
  for (let round = 0; round < 60; round++) {
    const low = Math.max(from, Math.floor(bounds.from));
    const high = Math.min(Math.max(to, low + 1), Math.ceil(bounds.to) + 1);
    const tile = decodeTile(await fetch({ from: low, to: high, pixels, tracks: [at.track] }, signal));
    const i = nearest(tile, at, direction);
    if (i < 0) {
      if (low <= bounds.from && high >= bounds.to) return null;
      if (direction > 0 ? high >= bounds.to : low <= bounds.from) return null;
      span *= 16;
      if (direction > 0) to += span;
      else from -= span;
      continue;
    }
    const s = tile.slices;
    const start = tile.from + s.start[i]!;
    if (s.events[i] === 1) {
      return {
        id: idOf(s, i),
        track: at.track,
        row: at.row,
        start,
        dur: s.dur[i]!,
        name: nameOf(tile.names, s.name[i]!),
        category: s.category[i]!,
        events: 1,
      };
    }
    const isSame = Math.floor(start) === from && Math.ceil(start + s.dur[i]!) + 1 === to;
    if (isSame) return null; // events at the same instant cannot be divided further
    from = Math.floor(start);
    to = Math.ceil(start + s.dur[i]!) + 1;
  }
  return null;
}

function nearest(
  tile: Tile,
  at: { track: number; row: number; start: number; dur: number; id: number },
  direction: 1 | -1,
): number {
  const track = tile.tracks.get(at.track);
  if (!track) return -1;
  const rows = rowsOf(track);
  if (at.row + 1 >= rows.length) return -1;
  const s = tile.slices;
  const isSelf = (i: number): boolean => s.events[i] === 1 && idOf(s, i) === at.id;
  if (direction > 0) {
    for (let i = rows[at.row]!; i < rows[at.row + 1]!; i++) {
      if (tile.from + s.start[i]! + s.dur[i]! > at.start && tile.from + s.start[i]! > at.start && !isSelf(i))
        return i;
    }
    return -1;
  }
  for (let i = rows[at.row + 1]! - 1; i >= rows[at.row]!; i--) {
    if (tile.from + s.start[i]! < at.start && !isSelf(i)) return i;
  }
  return -1;
}
