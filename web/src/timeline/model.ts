// What there is to draw, from the tables of /api/v1/timeline/tracks: tracks with their groups, steps, lost
// stretches.
import { objects, tableOf, type CellValue, type Result, type TraceInfo } from '../api';
import { groupKey, type Track } from './layout';
import { decodeTile } from './tile';
import type { Range } from './view';
import { TrackKind } from './track-kind';

/** From its start to its end on the host. */
export interface Step extends Range {
  name: string;
  id: number | null;
  number: number | null;
  rank: number | null;
  /** where its work ran on the device, once it is known */
  device: Range | null;
}

/** All of it, on the host and on the device. */
export function wholeStep(step: Step): Range {
  if (step.device === null) return { from: step.from, to: step.to };
  return { from: Math.min(step.from, step.device.from), to: Math.max(step.to, step.device.to) };
}

/** Puts in the extents on the device, from the analysis `steps`; false: there are none. */
export function setDeviceSteps(model: Model, result: Result): boolean {
  let hasAny = false;
  const keyOf = (rank: unknown, number: unknown, start: unknown): string => `${rank}/${number}/${start}`;
  const steps = new Map(model.steps.map((s) => [keyOf(s.rank, s.number, s.from), s]));
  for (const row of objects(tableOf(result, 'steps'))) {
    const from = numberOf(row.device_start);
    const to = numberOf(row.device_end);
    const step = steps.get(keyOf(row.rank, row.step, row.start));
    if (from === null || to === null || !step) continue;
    step.device = { from, to };
    hasAny = true;
  }
  return hasAny;
}

export interface Lost extends Range {
  reason: string;
  applies: (track: Track) => boolean;
}

export interface Model {
  tracks: Track[];
  /** those of all traces, shown or not */
  allTracks: readonly { track: number; trace: number; rank: number | null }[];
  byId: Map<number, Track>;
  /** how far one can pan and zoom out: the data and a little air */
  bounds: Range;
  /** the first view: without marks of the profiler beyond the work */
  home: Range;
  /** tracks of other traces exist, which are not shown */
  isPart: boolean;
  /** from the first event to the last */
  extent: Range;
  /** of the first trace that has any: the ruler shows one line of them */
  steps: Step[];
  /** the event of each step of each rank */
  stepEvents: readonly { rank: number | null; step: number; id: number }[];
  lost: Lost[];
  /** for the small picture of the run: streams first, spread over the traces */
  mapTracks: number[];
  /** tracks that start with thin rows, because they have very many */
  compact: ReadonlySet<number>;
  /** groups that start closed */
  closed: ReadonlySet<string>;
  notes: string[];
}

/** The small picture is 36 pixels high. */
const MAP_TRACKS = 9;
/** Beyond so many rows a track starts thin; in the second and further traces much earlier, so that several
 *  ranks are on the screen at once. */
const MANY_ROWS = 40;
const MANY_ROWS_BESIDE = 10;

/** Of more traces every group starts closed: a picture of all of them. */
const MOST_OPEN = 4;

type Row = Record<string, CellValue>;

const numberOf = (v: CellValue | undefined): number | null => (typeof v === 'number' ? v : null);

/** What a trace is called above its tracks. */
function traceTitle(trace: number, rank: number | null, infos: readonly TraceInfo[]): string {
  if (rank !== null) return `Rank ${rank}`;
  const info = infos.find((i) => i.trace === trace);
  return info?.worker ?? info?.file ?? `Trace ${trace}`;
}

/** Counters of PyTorch say what they count only in their names. */
const guessUnit = (name: string): string => (/\b(bytes|allocated|reserved)\b/i.test(name) ? 'bytes' : '');

/** Tracks of a few events that are neither thread nor stream (marks of the profiler itself) share one
 *  group. */
const OTHERS = 'Other';
export const FEW_EVENTS = 16;

function trackOf(row: Row, isAlone: boolean, titles: Map<number, string>): Track {
  const isMark = isOdd(row);
  const group = isMark ? OTHERS : String(row.group ?? '') || 'no process';
  const trace = numberOf(row.trace) ?? 0;
  const own = String(row.name ?? '') || 'no thread';
  const name = isMark && row.group ? `${row.group}: ${own}` : own;
  const tid = row.tid;
  const isSaid = tid === null || tid === undefined || name.includes(String(tid));
  return {
    id: numberOf(row.track) ?? 0,
    kind: row.kind === 'counter' ? TrackKind.Counter : TrackKind.Spans,
    name,
    groups: isAlone ? [group] : [titles.get(trace) ?? `Trace ${trace}`, group],
    trace,
    rank: numberOf(row.rank),
    rows: Math.max(numberOf(row.rows) ?? 1, 1),
    events: numberOf(row.events) ?? 0,
    note: isSaid ? '' : String(tid),
    isDevice: row.kind === 'stream',
    low: 0,
    high: NaN,
    unit: String(row.unit ?? '') || guessUnit(name),
  };
}

/** Two traces of the same rank (or without) need different titles, or they would melt into one group. */
function traceTitles(rows: Row[], infos: readonly TraceInfo[]): Map<number, string> {
  const titles = new Map<number, string>();
  const used = new Map<string, number>();
  for (const row of rows) {
    const trace = numberOf(row.trace) ?? 0;
    if (titles.has(trace)) continue;
    const title = traceTitle(trace, numberOf(row.rank), infos);
    const times = used.get(title) ?? 0;
    used.set(title, times + 1);
    titles.set(trace, times === 0 ? title : `${title} (trace ${trace})`);
  }
  return titles;
}

/** Marks of the profiler itself, which may lie far behind everything else. */
const isOdd = (row: Row): boolean => row.kind === 'other' && (numberOf(row.events) ?? 0) <= FEW_EVENTS;

function extentOf(rows: Row[]): Range {
  let from = Infinity;
  let to = -Infinity;
  for (const row of rows) {
    from = Math.min(from, numberOf(row.first) ?? Infinity);
    to = Math.max(to, numberOf(row.last) ?? -Infinity);
  }
  return to >= from ? { from, to: to + 1 } : { from: 0, to: 1000 };
}

/** A little air, so that the first and the last slice do not stick to the border. */
function withAir({ from, to }: Range): Range {
  const air = Math.max((to - from) * 0.005, 5);
  return { from: Math.floor(from - air), to: Math.ceil(to + air) };
}

function stepsOf(rows: Row[]): Step[] {
  const first = rows[0]?.trace;
  return rows
    .filter((r) => r.trace === first)
    .map((r) => ({
      name: `ProfilerStep#${r.number}`,
      from: numberOf(r.start) ?? 0,
      to: (numberOf(r.start) ?? 0) + (numberOf(r.dur) ?? 0),
      id: numberOf(r.id),
      number: numberOf(r.number),
      rank: numberOf(r.rank),
      device: null,
    }));
}

function stepEventsOf(rows: Row[]): Model['stepEvents'] {
  return rows.flatMap((r) =>
    typeof r.number === 'number' && typeof r.id === 'number'
      ? [{ rank: numberOf(r.rank), step: r.number, id: r.id }]
      : [],
  );
}

/** Borders that are not known are those of the run. */
function lostOf(row: Row, bounds: Range): Lost {
  const trace = numberOf(row.trace);
  return {
    from: numberOf(row.from) ?? bounds.from,
    to: numberOf(row.to) ?? bounds.to,
    reason: String(row.reason ?? 'events were lost'),
    applies: (t) => trace === null || t.trace === trace,
  };
}

/** Streams first, then the first threads of processes; one of each trace in turn. */
function pickMapTracks(tracks: Track[]): number[] {
  const byTrace = new Map<number, Track[]>();
  for (const t of tracks) {
    if (t.kind === TrackKind.Counter) continue;
    const list = byTrace.get(t.trace);
    if (list) list.push(t);
    else byTrace.set(t.trace, [t]);
  }
  const picked: number[] = [];
  for (const list of byTrace.values()) {
    const weight = (t: Track): number => (t.isDevice ? 1e15 : 0) + t.events;
    list.sort((a, b) => weight(b) - weight(a));
  }
  for (let i = 0; picked.length < MAP_TRACKS && [...byTrace.values()].some((l) => i < l.length); i++) {
    for (const list of byTrace.values()) if (i < list.length) picked.push(list[i]!.id);
  }
  return picked.slice(0, MAP_TRACKS).sort((a, b) => a - b);
}

const isThin = (t: Track, first: Track): boolean =>
  t.kind === TrackKind.Spans && t.rows > (t.trace === first.trace ? MANY_ROWS : MANY_ROWS_BESIDE);

/** `only`: the traces to show, as chosen at the left; null: all. */
export function makeModel(
  result: Result,
  infos: readonly TraceInfo[],
  only: readonly number[] | null = null,
): Model {
  const isShown = (row: Row): boolean => only === null || only.includes(numberOf(row.trace) ?? 0);
  const all = objects(tableOf(result, 'tracks'));
  const rows = all.filter(isShown);
  const titles = traceTitles(rows, infos);
  const tracks = rows.map((r) => trackOf(r, titles.size <= 1, titles));
  const extent = extentOf(rows);
  const bounds = withAir(extent);
  const work = rows.filter((row) => !isOdd(row));
  const home = work.length > 0 ? withAir(extentOf(work)) : bounds;
  return {
    tracks,
    allTracks: all.map((r) => ({
      track: numberOf(r.track) ?? 0,
      trace: numberOf(r.trace) ?? 0,
      rank: numberOf(r.rank),
    })),
    byId: new Map(tracks.map((t) => [t.id, t])),
    bounds,
    home,
    extent,
    isPart: rows.length < all.length,
    steps: stepsOf(objects(tableOf(result, 'steps')).filter(isShown)),
    stepEvents: stepEventsOf(objects(tableOf(result, 'steps'))),
    lost: objects(tableOf(result, 'lost')).map((r) => lostOf(r, bounds)),
    mapTracks: pickMapTracks(tracks),
    compact: new Set(tracks.filter((t) => isThin(t, tracks[0]!)).map((t) => t.id)),
    closed: new Set([
      ...(titles.size > MOST_OPEN ? tracks.map((t) => groupKey(t.groups, 0)) : []),
      ...(tracks.some((t) => t.groups.at(-1) !== OTHERS)
        ? tracks.filter((t) => t.groups.at(-1) === OTHERS).map((t) => groupKey(t.groups, t.groups.length - 1))
        : []),
    ]),
    notes: result.input.notes,
  };
}

/** The least and greatest value of each counter, from a tile of a few pixels of the whole run. */
export function setCounterRanges(model: Model, buffer: ArrayBuffer): void {
  const tile = decodeTile(buffer);
  for (const [id, data] of tile.tracks) {
    const track = model.byId.get(id);
    if (!track || data.kind !== TrackKind.Counter) continue;
    let low = Infinity;
    let high = -Infinity;
    for (let i = data.first; i < data.first + data.count; i++) {
      low = Math.min(low, tile.points.low[i]!);
      high = Math.max(high, tile.points.high[i]!);
    }
    if (high < low) continue;
    track.low = low;
    track.high = high > low ? high : low + 1;
  }
}
