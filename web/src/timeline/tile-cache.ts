// Tiles that were fetched, and which to fetch next. A tile covers TILE_PIXELS pixels of one level (2^level ns
// each) at a multiple of its span, so that panning and zooming ask for the same ones again. What is visible
// comes first, in one request per column of time for all tracks that lack it; requests that nobody waits for
// any more are aborted; when nothing visible is missing, the neighbours are fetched. The oldest answers go
// when there are too many bytes.
//
// pieces() always gives the nearest thing to the wanted tile, coarser or finer, so that no part of the
// picture goes blank while the right one is on its way.
import { decodeTile, type Tile, type TileTrack } from './tile';
import { tileSpan, tilesOf, TILE_PIXELS, HIGHEST_LEVEL, type Range } from './view';
import { TrackKind } from './track-kind';

export interface TileRequest {
  from: number;
  to: number;
  pixels: number;
  tracks: number[];
}

export interface TileCacheOptions {
  fetch: (request: TileRequest, signal: AbortSignal) => Promise<ArrayBuffer>;
  /** something arrived or failed: draw again */
  changed: () => void;
  maxBytes?: number;
  maxRequests?: number;
  now?: () => number;
}

/** What to draw of a track between two times. */
export interface Piece {
  data: TileTrack;
  from: number;
  to: number;
}

interface Column {
  level: number;
  index: number;
  tracks: Map<number, TileTrack>;
  pending: Set<number>;
  retryAt: number;
}

interface Answer {
  tile: Tile;
  column: Column;
  tracks: number[];
  used: number;
}

interface Request {
  column: Column;
  tracks: number[];
  controller: AbortController;
}

interface Job {
  column: Column;
  tracks: readonly number[];
}

const RETRY_MS = 2000;

export function createTileCache(options: TileCacheOptions) {
  const maxBytes = options.maxBytes ?? 256 << 20;
  const maxRequests = options.maxRequests ?? 4;
  const now = options.now ?? (() => performance.now());
  const levels = new Map<number, Map<number, Column>>();
  const answers = new Map<Tile, Answer>();
  const requests = new Set<Request>();
  let bytes = 0;
  let tick = 0;
  let error: string | null = null;
  let isClosed = false;

  function columnAt(level: number, index: number): Column {
    let columns = levels.get(level);
    if (!columns) levels.set(level, (columns = new Map()));
    let column = columns.get(index);
    if (!column) {
      column = { level, index, tracks: new Map(), pending: new Set(), retryAt: 0 };
      columns.set(index, column);
    }
    return column;
  }

  function found(track: number, level: number, index: number): TileTrack | undefined {
    return levels.get(level)?.get(index)?.tracks.get(track);
  }

  function take(data: TileTrack, from: number, to: number, out: Piece[]): void {
    const answer = answers.get(data.tile);
    if (answer) answer.used = tick;
    out.push({ data, from, to });
  }

  /** All tiles `down` levels finer inside this one; with `isWhole` only when none is missing. */
  function takeFiner(
    track: number,
    level: number,
    index: number,
    down: number,
    isWhole: boolean,
    out: Piece[],
  ) {
    const fine = level - down;
    const count = 2 ** down;
    if (fine < 0) return false;
    const span = tileSpan(fine);
    let any = false;
    for (let i = 0; i < count; i++) {
      if (found(track, fine, index * count + i)) any = true;
      else if (isWhole) return false;
    }
    if (!any) return false;
    for (let i = 0; i < count; i++) {
      const data = found(track, fine, index * count + i);
      if (data) take(data, (index * count + i) * span, (index * count + i + 1) * span, out);
    }
    return true;
  }

  /** Appends what there is for a tile of a track; true when it is the tile itself. */
  function pieces(track: number, level: number, index: number, out: Piece[]): boolean {
    const span = tileSpan(level);
    const from = index * span;
    const exact = found(track, level, index);
    if (exact) {
      take(exact, from, from + span, out);
      return true;
    }
    const takeCoarser = (up: number): boolean => {
      const data = found(track, level + up, Math.floor(index / 2 ** up));
      if (data) take(data, from, from + span, out);
      return data !== undefined;
    };
    if (takeCoarser(1) || takeFiner(track, level, index, 1, true, out) || takeCoarser(2)) return false;
    if (takeFiner(track, level, index, 2, true, out) || takeCoarser(3)) return false;
    for (let up = 4; level + up <= HIGHEST_LEVEL; up++) if (takeCoarser(up)) return false;
    for (let down = 1; down <= 3; down++) if (takeFiner(track, level, index, down, false, out)) return false;
    return false;
  }

  function missing(column: Column, tracks: readonly number[]): number[] {
    if (column.retryAt > now()) return [];
    return tracks.filter((t) => !column.tracks.has(t) && !column.pending.has(t));
  }

  function start(column: Column, tracks: number[]): void {
    const request: Request = { column, tracks, controller: new AbortController() };
    const span = tileSpan(column.level);
    const from = column.index * span;
    for (const t of tracks) column.pending.add(t);
    requests.add(request);
    options
      .fetch({ from, to: from + span, pixels: TILE_PIXELS, tracks }, request.controller.signal)
      .then((buffer) => {
        if (!isClosed && !request.controller.signal.aborted) store(column, tracks, decodeTile(buffer));
      })
      .catch((e: unknown) => {
        if (request.controller.signal.aborted) return;
        error = e instanceof Error ? e.message : String(e);
        column.retryAt = now() + RETRY_MS;
      })
      .finally(() => {
        // an aborted request is no longer in the set, and its tracks may be asked for again already
        if (!requests.delete(request)) return;
        for (const t of tracks) column.pending.delete(t);
        if (!isClosed) options.changed();
      });
  }

  function store(column: Column, tracks: number[], tile: Tile): void {
    error = null;
    for (const t of tracks) {
      const none: TileTrack = { tile, track: t, kind: TrackKind.Spans, first: 0, count: 0, rows: null };
      column.tracks.set(t, tile.tracks.get(t) ?? none);
    }
    answers.set(tile, { tile, column, tracks, used: tick });
    bytes += tile.bytes;
    evict();
  }

  function evict(): void {
    if (bytes <= maxBytes) return;
    const byAge = [...answers.values()].sort((a, b) => a.used - b.used);
    for (const answer of byAge) {
      // down to nine tenths, so that not every answer starts this again; never what was just drawn
      if (bytes <= maxBytes * 0.9 || answer.used >= tick) break;
      answers.delete(answer.tile);
      bytes -= answer.tile.bytes;
      for (const t of answer.tracks) {
        if (answer.column.tracks.get(t)?.tile === answer.tile) answer.column.tracks.delete(t);
      }
      const { level, index, tracks, pending } = answer.column;
      if (tracks.size === 0 && pending.size === 0) levels.get(level)?.delete(index);
    }
  }

  /** Tells what is on the screen; starts and aborts requests accordingly. `visible` and `near` are track
   *  numbers. */
  function want(
    range: Range,
    bounds: Range,
    level: number,
    visible: readonly number[],
    near: readonly number[],
  ) {
    tick++;
    const { first, last } = tilesOf(range, level);
    const lowest = tilesOf(bounds, level).first;
    const highest = tilesOf(bounds, level).last;
    const urgent: Job[] = [];
    for (let i = Math.max(first, lowest); i <= Math.min(last, highest); i++) {
      urgent.push({ column: columnAt(level, i), tracks: visible });
    }
    const middle = (first + last) / 2;
    urgent.sort((a, b) => Math.abs(a.column.index - middle) - Math.abs(b.column.index - middle));
    const later: Job[] = [];
    for (const i of [last + 1, first - 1]) {
      if (i >= lowest && i <= highest) later.push({ column: columnAt(level, i), tracks: visible });
    }
    for (const job of urgent) later.push({ column: job.column, tracks: near });

    const wanted = new Set([...urgent, ...later].map((j) => j.column));
    for (const r of requests) {
      if (!wanted.has(r.column)) {
        r.controller.abort();
        for (const t of r.tracks) r.column.pending.delete(t);
        requests.delete(r);
      }
    }
    startJobs(urgent, maxRequests);
    if (urgent.every((j) => j.tracks.every((t) => j.column.tracks.has(t)))) startJobs(later, maxRequests / 2);
  }

  function startJobs(jobs: Job[], limit: number): void {
    for (const job of jobs) {
      if (requests.size >= limit) return;
      const tracks = missing(job.column, job.tracks);
      if (tracks.length > 0) start(job.column, tracks);
    }
  }

  function close(): void {
    isClosed = true;
    for (const r of requests) r.controller.abort();
    requests.clear();
    levels.clear();
    answers.clear();
    bytes = 0;
  }

  return {
    pieces,
    want,
    close,
    has: (track: number, level: number, index: number) => found(track, level, index) !== undefined,
    isIdle: () => requests.size === 0,
    state: () => ({ bytes, answers: answers.size, requests: requests.size, error }),
  };
}
