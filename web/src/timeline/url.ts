// The timeline's part of the address: window, selection, pinned tracks, closed groups, filter and search.
// Written a moment after things come to rest; read when the page opens and whenever somebody else changes the
// address.
import { batch, effect } from '@preact/signals';
import { traceList, traceText, urlSignal, view as page } from '../state';
import { paramsOf, WISH_KEYS, wishOfParams } from '../wish';
import { clearSelection, selectArea } from './actions';
import { arrive } from './arrive';
import { frames } from './frames';
import { allGroups } from './layout';
import { showPath } from './path';
import { search } from './search';
import type { Mark, Selection, Store } from './store';

const WRITE_AFTER_MS = 300;

export interface UrlState {
  from: string;
  to: string;
  /** an event's id or an area; with what else is known of the event (wish.ts) */
  select: string;
  name: string;
  at: string;
  rank: string;
  step: string;
  pins: string;
  closed: string;
  filter: string;
  q: string;
  /** the kept marks, from~to */
  marks: string;
  /** the critical path that is shown: annotation and occurrence */
  path: string;
}

const KEYS: readonly (keyof UrlState)[] = [
  ...WISH_KEYS,
  'from',
  'to',
  'pins',
  'closed',
  'filter',
  'q',
  'marks',
  'path',
];

/** An event is its number; an area `from-to:tracks`. */
export function selectionText(s: Selection): string {
  if (s.kind === 'event') return String(s.event.id);
  if (s.kind === 'none') return '';
  return `${Math.floor(s.area.from)}~${Math.ceil(s.area.to)}~${traceText(s.area.tracks)}`;
}

/** Null when it is not an area. */
export function parseArea(text: string): { from: number; to: number; tracks: number[] } | null {
  const area = /^(-?\d{1,16})~(-?\d{1,16})~([\d,-]+)$/.exec(text);
  const tracks = area && traceList(area[3]);
  return area && tracks ? { from: Number(area[1]), to: Number(area[2]), tracks } : null;
}

/** What is not a mark is left out. */
export function parseMarks(text: string): Mark[] {
  return text.split(',').flatMap((one) => {
    const [from = '', to = ''] = one.split('~');
    const range = parseWindow(from, to);
    return range ? [{ ...range, isKept: true }] : [];
  });
}

/** Null when it is not a window. */
export function parseWindow(from: string, to: string): { from: number; to: number } | null {
  if (!/^-?\d{1,16}$/.test(from) || !/^-?\d{1,16}$/.test(to)) return null;
  return Number(to) > Number(from) ? { from: Number(from), to: Number(to) } : null;
}

const NO_EVENT = { select: '', name: '', at: '', rank: '', step: '' };

/** What is selected, or is being looked for. */
function eventState(store: Store): Partial<UrlState> {
  const selection = store.selection.value;
  if (store.pending) return paramsOf(store.pending);
  if (selection.kind !== 'event') return { select: selectionText(selection) };
  const { id, name, start } = selection.event;
  return paramsOf({ id, name, at: start });
}

function stateOf(store: Store): UrlState {
  const { view, model } = store;
  const isWhole = view.from === model.home.from && view.to === model.home.to;
  const groups = allGroups(model.tracks);
  return {
    from: isWhole ? '' : String(Math.floor(view.from)),
    to: isWhole ? '' : String(Math.ceil(view.to)),
    ...NO_EVENT,
    ...eventState(store),
    pins: store.pinned.value.join(','),
    closed: traceText(
      groups.flatMap((key, i) => (store.closed.value.has(key) !== model.closed.has(key) ? [i] : [])),
    ),
    filter: store.filter.value,
    q: store.search.value.query,
    marks: store.marks.value
      .filter((m) => m.isKept)
      .map((m) => `${Math.floor(m.from)}~${Math.ceil(m.to)}`)
      .join(','),
    path: store.path.value?.key ?? '',
  };
}

/** The address says only what differs from how the groups start. */
function toggled(set: ReadonlySet<string>, keys: readonly string[]): ReadonlySet<string> {
  const next = new Set(set);
  for (const key of keys) if (!next.delete(key)) next.add(key);
  return next;
}

function applyState(store: Store, now: UrlState, before: UrlState | null): void {
  const groups = allGroups(store.model.tracks);
  const isNew = (key: keyof UrlState): boolean => before === null || now[key] !== before[key];
  if (isNew('pins'))
    store.pinned.value = now.pins
      .split(',')
      .filter((t) => /^\d+$/.test(t))
      .map(Number);
  if (isNew('closed'))
    store.closed.value = toggled(
      store.model.closed,
      (traceList(now.closed) ?? []).flatMap((i) => groups[i] ?? []),
    );
  if (isNew('filter')) store.filter.value = now.filter;
  if (isNew('q') && now.q !== store.search.value.query) void search(store, now.q);
  if (isNew('marks'))
    store.marks.value = [...store.marks.value.filter((m) => !m.isKept), ...parseMarks(now.marks)];
  if (isNew('path') && now.path !== (store.path.value?.key ?? '')) void showPath(store, now.path);
  const range = parseWindow(now.from, now.to);
  if (isNew('from') || isNew('to')) store.setView(range ?? store.model.home);
  if (WISH_KEYS.some(isNew)) applySelection(store, now, range === null);
  store.invalidate();
}

function applySelection(store: Store, now: UrlState, isCentred: boolean): void {
  const area = parseArea(now.select);
  const wish = area ? null : wishOfParams({ ...now });
  if (now.select !== '' && now.select === selectionText(store.selection.value)) return;
  if (area) {
    selectArea(store, area);
    if (isCentred) store.setView(area);
  } else if (wish) void arrive(store, wish, isCentred);
  else clearSelection(store);
}

/** Keeps both in step until the returned function is called. */
export function followUrl(store: Store): () => void {
  const signals = Object.fromEntries(KEYS.map((k) => [k, urlSignal(k, '')])) as Record<
    keyof UrlState,
    ReturnType<typeof urlSignal>
  >;
  const read = (): UrlState =>
    Object.fromEntries(KEYS.map((k) => [k, signals[k].value])) as unknown as UrlState;
  let written: UrlState | null = null;
  let timer = 0;

  const write = (): void => {
    timer = 0;
    if (page.peek() !== 'timeline') return;
    const state = stateOf(store);
    written = state;
    batch(() => KEYS.forEach((k) => (signals[k].value = state[k])));
    frames().isWritten = true;
  };
  const stopReading = effect(() => {
    const now = read();
    if (page.value !== 'timeline') return;
    if (written && KEYS.every((k) => now[k] === written![k])) return;
    const before = written;
    written = now;
    queueMicrotask(() => applyState(store, now, before));
  });
  const stopWriting = effect(() => {
    // touched, so that this runs again when they change; what they say is worked out once things are at rest
    for (const s of [
      store.moved,
      store.selection,
      store.pinned,
      store.closed,
      store.filter,
      store.search,
      store.path,
      store.marks,
    ])
      void s.value;
    if (timer) clearTimeout(timer);
    frames().isWritten = false;
    timer = window.setTimeout(write, WRITE_AFTER_MS);
  });
  return () => {
    stopReading();
    stopWriting();
    clearTimeout(timer);
  };
}
