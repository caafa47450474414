// Everything the timeline knows while it is on the screen: the window, what is selected and open, and what
// must be drawn again. Things that only the canvas shows are plain fields (changed many times a second); what
// the panels show are signals. Whoever changes something calls invalidate; drawing happens once per frame.
import { computed, signal } from '@preact/signals';
import type { Result, Table } from '../api';
import type { Wish } from '../wish';
import type { Path } from './path';
import { makeLayout, type Layout } from './layout';
import type { Model } from './model';
import { createTileCache } from './tile-cache';
import { clampRange, type Range } from './view';
import { fetchTile } from './requests';

export const DRAW_TRACKS = 1;
export const DRAW_OVERLAY = 2;
export const DRAW_HEADER = 4;
export const DRAW_ALL = 7;

/** An event and track. */
export interface EventRef {
  id: number;
  track: number;
  row: number;
  start: number;
  dur: number;
  name: string;
  category: number;
  /** more than 1: stands for so many that could not be told apart where it was picked */
  events: number;
}

export interface Area extends Range {
  tracks: number[];
}

export type Selection = { kind: 'none' } | { kind: 'event'; event: EventRef } | { kind: 'area'; area: Area };

export interface Flow {
  /** what the link is called: launches, forward, ... */
  relation: string;
  from: EventRef;
  to: EventRef;
}

export interface Mark extends Range {
  isKept: boolean;
}

export interface Found {
  query: string;
  table: Table | null;
  events: EventRef[];
  /** of all that match; events has the first of them */
  total: number;
  at: number;
  isPending: boolean;
  error: string | null;
}

export const NOTHING_FOUND: Found = {
  query: '',
  table: null,
  events: [],
  total: 0,
  at: -1,
  isPending: false,
  error: null,
};

export type PanelTab = 'details' | 'area' | 'search';

export type Store = ReturnType<typeof createStore>;

export function createStore(model: Model) {
  const closed = signal(model.closed);
  const pinned = signal<readonly number[]>([]);
  const compact = signal<ReadonlySet<number>>(model.compact);
  const filter = signal('');
  const layout = computed<Layout>(() =>
    makeLayout(model.tracks, {
      closed: closed.value,
      pinned: pinned.value,
      compact: compact.value,
      filter: filter.value,
    }),
  );

  let frame = 0;
  let dirty = 0;
  let draw: ((what: number) => void) | null = null;

  function invalidate(what: number = DRAW_ALL): void {
    dirty |= what;
    if (frame === 0 && draw !== null) frame = requestAnimationFrame(flush);
  }

  /** Draws what is to be drawn at once: for changes of size, which would show a stretched picture
   *  otherwise. */
  function flush(): void {
    cancelAnimationFrame(frame);
    frame = 0;
    const now = dirty;
    dirty = 0;
    if (now !== 0) draw?.(now);
  }

  const store = {
    model,
    closed,
    pinned,
    compact,
    filter,
    layout,
    view: { from: model.home.from, to: model.home.to } as Range,
    /** grows when the window changed, for the URL */
    moved: signal(0),
    /** CSS pixels */
    width: 0,
    height: 0,
    scrollTop: 0,
    setScroll: (_y: number): void => undefined,
    cursor: null as { x: number; y: number } | null,
    hover: null as EventRef | null,
    hoverText: signal<{ x: number; y: number; lines: string[] } | null>(null),
    drag: null as Area | null,
    /** by Esc: the button is still down */
    isDragStopped: false,
    path: signal<Path | null>(null),
    /** what a link is about, while it is looked for */
    pending: null as Wish | null,
    /** the selection was reached by a link and nobody has moved since: it stays in the middle */
    isArriving: false,
    selection: signal<Selection>({ kind: 'none' }),
    details: signal<{ id: number; result: Result | null; error: string | null } | null>(null),
    areaTables: signal<{ result: Result | null; error: string | null } | null>(null),
    flows: [] as Flow[],
    flowAt: 0,
    marks: signal<readonly Mark[]>([]),
    search: signal<Found>(NOTHING_FOUND),
    tab: signal<PanelTab>('details'),
    /** opens with the first selection */
    isPanelOpen: signal(false),
    /** by hand: then a selection does not open it */
    isPanelHidden: false,
    message: signal<string | null>(null),
    /** said aloud by screen readers */
    spoken: signal(''),
    cache: createTileCache({ fetch: fetchTile, changed: () => invalidate(DRAW_TRACKS | DRAW_HEADER) }),
    invalidate,
    flush,
    onDraw(f: ((what: number) => void) | null): void {
      draw = f;
      if (f) invalidate(DRAW_ALL);
      else if (frame !== 0) {
        cancelAnimationFrame(frame);
        frame = 0;
      }
    },
    setView(range: Range): void {
      const next = clampRange(range, model.bounds);
      if (next.from === store.view.from && next.to === store.view.to) return;
      store.view = next;
      store.hover = null;
      store.hoverText.value = null; // what is under the mouse is something else now
      store.moved.value++;
      invalidate(DRAW_ALL);
    },
    /** All of the work; when that is what shows, also the marks of the profiler beyond it. */
    showAll(): void {
      const { home, bounds } = model;
      const isHome = store.view.from === home.from && store.view.to === home.to;
      store.setView(isHome ? bounds : home);
    },
    nsPerPixel: (): number => (store.view.to - store.view.from) / Math.max(store.width, 1),
    timeAt: (x: number): number => store.view.from + x * store.nsPerPixel(),
    xOf: (time: number): number => (time - store.view.from) / store.nsPerPixel(),
    close(): void {
      store.onDraw(null);
      store.cache.close();
    },
  };
  return store;
}

/** The stretch of time of the selection, if there is one. */
export function selectedRange(s: Selection): Range | null {
  if (s.kind === 'event') return { from: s.event.start, to: s.event.start + s.event.dur };
  return s.kind === 'area' ? { from: s.area.from, to: s.area.to } : null;
}
