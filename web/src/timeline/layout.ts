// Where each track is on the screen: groups (rank, then process or device) that open and close, heights by
// rows, tracks pinned to the top, and the filter. Pure: (tracks, what the person chose) -> lines with their
// places.

import { TrackKind } from './track-kind';

export interface Track {
  id: number;
  /** 0 spans, 1 counter */
  kind: TrackKind;
  name: string;
  /** outermost first, e.g. ['Rank 0', 'python 4711'] */
  groups: string[];
  trace: number;
  rank: number | null;
  isDevice: boolean;
  rows: number;
  events: number;
  /** what stands behind the name: thread number and the like */
  note: string;
  /** counters: least and greatest value (not a number: not known yet), and what the values are */
  low: number;
  high: number;
  unit: string;
}

export interface Line {
  kind: 'group' | 'track';
  /** stays the same while the run does; for groups also what the URL says */
  key: string;
  title: string;
  depth: number;
  /** CSS pixels from the top of its section */
  y: number;
  height: number;
  rowHeight: number;
  track: Track | null;
  isOpen: boolean;
  isPinned: boolean;
  /** groups: all tracks below, whether they show or not */
  members: Track[];
}

export interface LayoutChoice {
  closed: ReadonlySet<string>;
  pinned: readonly number[];
  /** tracks with thin rows; see thinKey for pinned ones */
  compact: ReadonlySet<number>;
  filter: string;
}

export interface Layout {
  pinned: Line[];
  pinnedHeight: number;
  lines: Line[];
  height: number;
  /** track -> its line, or that of the closed group it is in */
  lineOf: Map<number, Line>;
  /** tracks that pass the filter / all */
  shown: number;
  total: number;
}

export const ROW_HEIGHT = 18;
const COMPACT_ROW = 4;
const GROUP_HEIGHT = 24;
export const COUNTER_HEIGHT = 44;
const TRACK_LEAST = 24;
/** Above and below the rows of a track. */
export const TRACK_PAD = 3;

const SEPARATOR = ' › ';

export function groupKey(groups: readonly string[], depth: number): string {
  return groups.slice(0, depth + 1).join(SEPARATOR);
}

function rowHeightOf(track: Track, isCompact: boolean): number {
  if (track.kind === TrackKind.Counter)
    return isCompact ? TRACK_LEAST - 2 * TRACK_PAD : COUNTER_HEIGHT - 2 * TRACK_PAD;
  return isCompact ? COMPACT_ROW : ROW_HEIGHT;
}

export function trackHeight(track: Track, isCompact: boolean): number {
  const rows = track.kind === TrackKind.Counter ? 1 : Math.max(track.rows, 1);
  return Math.max(rows * rowHeightOf(track, isCompact) + 2 * TRACK_PAD, TRACK_LEAST);
}

/** The filter: words divided by commas, any of them; a word matches the name of the track or of a group
 *  above it. */
export function matchesFilter(track: Track, filter: string): boolean {
  const words = filter
    .toLowerCase()
    .split(',')
    .map((w) => w.trim())
    .filter((w) => w !== '');
  if (words.length === 0) return true;
  const text = `${track.groups.join(' ')} ${track.name} ${track.note}`.toLowerCase();
  return words.some((w) => text.includes(w));
}

/** Pinned, a track has few rows of full height or many thin ones, or else it would take the whole screen. */
const PINNED_ROWS = 12;

/** A track and its pinned copy are thin or not independently of each other. */
export function thinKey(line: Pick<Line, 'track' | 'isPinned'>): number {
  return line.isPinned ? -1 - line.track!.id : line.track!.id;
}

function isPinnedThin(track: Track, compact: ReadonlySet<number>): boolean {
  return compact.has(thinKey({ track, isPinned: true })) !== track.rows > PINNED_ROWS;
}

function lineOfTrack(track: Track, y: number, isPinned: boolean, isCompact: boolean): Line {
  return {
    kind: 'track',
    key: `${isPinned ? 'p' : 't'}${track.id}`,
    title: isPinned ? [...track.groups, track.name].join(SEPARATOR) : track.name,
    depth: isPinned ? 0 : track.groups.length,
    y,
    height: trackHeight(track, isCompact),
    rowHeight: rowHeightOf(track, isCompact),
    track,
    isOpen: true,
    isPinned,
    members: [track],
  };
}

function lineOfGroup(key: string, title: string, depth: number, y: number, isOpen: boolean): Line {
  return {
    kind: 'group',
    key,
    title,
    depth,
    y,
    height: GROUP_HEIGHT,
    rowHeight: GROUP_HEIGHT,
    track: null,
    isOpen,
    isPinned: false,
    members: [],
  };
}

export function makeLayout(tracks: readonly Track[], choice: LayoutChoice): Layout {
  const pinned: Line[] = [];
  let pinnedHeight = 0;
  const byId = new Map(tracks.map((t) => [t.id, t]));
  for (const id of choice.pinned) {
    const track = byId.get(id);
    if (!track) continue;
    const line = lineOfTrack(track, pinnedHeight, true, isPinnedThin(track, choice.compact));
    pinned.push(line);
    pinnedHeight += line.height;
  }

  const lines: Line[] = [];
  const isFiltered = choice.filter.trim() !== '';
  const open: Line[] = [];
  const lineOf = new Map<number, Line>();
  let y = 0;
  let shown = 0;
  for (const track of tracks) {
    if (!matchesFilter(track, choice.filter)) continue;
    shown++;
    let depth = 0;
    while (
      depth < open.length &&
      depth < track.groups.length &&
      open[depth]!.key === groupKey(track.groups, depth)
    ) {
      depth++;
    }
    open.length = depth;
    const isHidden = (): boolean => open.some((g) => !g.isOpen);
    for (; depth < track.groups.length; depth++) {
      const key = groupKey(track.groups, depth);
      // while a filter is on, what it found must be seen
      const group = lineOfGroup(key, track.groups[depth]!, depth, y, isFiltered || !choice.closed.has(key));
      if (!isHidden()) {
        lines.push(group);
        y += group.height;
      }
      open.push(group);
    }
    for (const g of open) g.members.push(track);
    const shut = open.find((g) => !g.isOpen);
    if (shut) {
      lineOf.set(track.id, shut);
      continue;
    }
    const line = lineOfTrack(track, y, false, choice.compact.has(track.id));
    lineOf.set(track.id, line);
    lines.push(line);
    y += line.height;
  }
  return { pinned, pinnedHeight, lines, height: y, lineOf, shown, total: tracks.length };
}

/** Place of the first line that ends below y. */
export function lineIndexAt(lines: readonly Line[], y: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lines[middle]!.y + lines[middle]!.height > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The lines between two heights: [first, end). */
export function linesBetween(
  lines: readonly Line[],
  top: number,
  bottom: number,
): { first: number; end: number } {
  const first = lineIndexAt(lines, top);
  let end = first;
  while (end < lines.length && lines[end]!.y < bottom) end++;
  return { first, end };
}

/** The row of a line at a height inside it, or -1 between rows. */
export function rowAt(line: Line, y: number): number {
  if (!line.track || line.track.kind === TrackKind.Counter) return 0;
  const row = Math.floor((y - TRACK_PAD) / line.rowHeight);
  return row >= 0 && row < Math.max(line.track.rows, 1) ? row : -1;
}

/** Every group, for "close all". */
export function allGroups(tracks: readonly Track[]): string[] {
  const keys = new Set<string>();
  for (const t of tracks) t.groups.forEach((_, depth) => keys.add(groupKey(t.groups, depth)));
  return [...keys];
}
