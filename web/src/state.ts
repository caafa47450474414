// What is shown, as signals; everything a link must restore lives in location.hash:
//   #/overview?run=a&span=1&trace=0,1&from=..&to=..&select=..
// run, span, trace and other hold for all pages; other keys belong to the page and go when it changes.
import { computed, effect, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { AnalysisInfo, RunInfo } from './api';

export type Theme = 'light' | 'dark' | 'system';
export interface Place {
  view: string;
  params: Record<string, string>;
}

const firstView = 'overview';
const globalKeys = ['run', 'span', 'trace', 'other'] as const;

export const view: Signal<string> = signal(firstView);
export const run: Signal<string | null> = signal(null);
export const otherRun: Signal<string | null> = signal(null);
export const span: Signal<string | null> = signal(null);
export const traces: Signal<number[] | null> = signal(null);
/** The page's own keys. */
const pageParams: Signal<Record<string, string>> = signal({});

export const runs: Signal<RunInfo[]> = signal([]);
export const analyses: Signal<AnalysisInfo[]> = signal([]);
/** Grows when the files of a run have changed: results must be asked for again. */
export const runVersion: Signal<number> = signal(0);
export const currentRun: ReadonlySignal<RunInfo | null> = computed(
  () => runs.value.find((r) => r.name === run.value) ?? null,
);

/** [0,2,3] → "0,2-3" */
export function traceText(list: readonly number[]): string {
  const sorted = [...new Set(list)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === sorted[end]! + 1) end++;
    parts.push(end > i ? `${sorted[i]}-${sorted[end]}` : String(sorted[i]));
    i = end + 1;
  }
  return parts.join(',');
}

/** "0,2-3" → [0,2,3]; null for nothing or nonsense. */
export function traceList(text: string | undefined): number[] | null {
  if (!text) return null;
  const list: number[] = [];
  for (const part of text.split(',')) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (!match) return null;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first || last - first > 100000) return null;
    for (let i = first; i <= last; i++) list.push(i);
  }
  return list;
}

export function parseHash(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  const params: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(query)) params[key] = value;
  return { view: decodeURIComponent(path) || firstView, params };
}

export function makeHash(place: Place): string {
  const query = new URLSearchParams(place.params).toString().replaceAll('%2C', ',').replaceAll('%2F', '/');
  return `#/${place.view.split('/').map(encodeURIComponent).join('/')}${query ? `?${query}` : ''}`;
}

/** The place that the signals say; keys in a fixed order, so equal places have equal text. */
function place(): Place {
  const params: Record<string, string> = {};
  if (run.value !== null) params.run = run.value;
  if (span.value !== null) params.span = span.value;
  if (traces.value !== null) params.trace = traceText(traces.value);
  if (otherRun.value !== null) params.other = otherRun.value;
  for (const key of Object.keys(pageParams.value).sort()) params[key] = pageParams.value[key]!;
  return { view: view.value, params };
}

/** The address of another page with the same run; `without` are keys of all pages to leave out. */
export function hashOf(
  toView: string,
  params: Record<string, string> = {},
  without: readonly string[] = [],
): string {
  const now = place().params;
  const kept: Record<string, string> = {};
  for (const key of globalKeys) if (now[key] !== undefined && !without.includes(key)) kept[key] = now[key]!;
  return makeHash({ view: toView, params: { ...kept, ...params } });
}

interface Bound {
  key: string;
  initial: string;
  signal: Signal<string>;
}
const bound = new Map<string, Bound>();

/** A signal that lives in the URL under this key, within the view; one for each key and initial value. */
export function urlSignal(key: string, initial: string): Signal<string> {
  const id = `${key}\0${initial}`;
  const known = bound.get(id);
  if (known) return known.signal;
  const made = signal(pageParams.peek()[key] ?? initial);
  bound.set(id, { key, initial, signal: made });
  made.subscribe((value) => {
    const now = pageParams.peek();
    if (value === (now[key] ?? initial)) return;
    const next = { ...now };
    if (value === initial) delete next[key];
    else next[key] = value;
    pageParams.value = next;
  });
  return made;
}

function apply(next: Place): void {
  const { run: r, span: s, trace: t, other: o, ...rest } = next.params;
  view.value = next.view;
  run.value = r ?? run.peek();
  span.value = s ?? null;
  const list = traceList(t);
  if (
    traceText(list ?? []) !== traceText(traces.peek() ?? []) ||
    (list === null) !== (traces.peek() === null)
  )
    traces.value = list;
  otherRun.value = o ?? null;
  pageParams.value = rest;
  for (const b of bound.values()) b.signal.value = rest[b.key] ?? b.initial;
}

export function goTo(toView: string, params: Record<string, string> = {}): void {
  location.hash = hashOf(toView, params);
}

/** Another run: its spans and traces are others, so nothing of the page's state holds. */
export function chooseRun(name: string): void {
  location.hash = makeHash({ view: view.peek(), params: { run: name } });
}

/** Follow the address bar, and write it. Called once. */
export function startState(): void {
  apply(parseHash(location.hash));
  addEventListener('hashchange', () => apply(parseHash(location.hash)));
  effect(() => {
    const text = makeHash(place());
    if (text !== location.hash) history.replaceState(history.state, '', text);
  });
}

// ---- theme

function storedTheme(): Theme {
  try {
    const text = localStorage.getItem('kino.theme');
    return text === 'light' || text === 'dark' ? text : 'system';
  } catch {
    return 'system';
  }
}

export const theme: Signal<Theme> = signal('system');
const systemDark = signal(false);
/** What `theme` comes to. */
export const isDark: ReadonlySignal<boolean> = computed(() =>
  theme.value === 'system' ? systemDark.value : theme.value === 'dark',
);

export function startTheme(): void {
  theme.value = storedTheme();
  const query = matchMedia('(prefers-color-scheme: dark)');
  systemDark.value = query.matches;
  query.addEventListener('change', () => (systemDark.value = query.matches));
  effect(() => {
    document.documentElement.dataset.theme = isDark.value ? 'dark' : 'light';
  });
  theme.subscribe((value) => {
    try {
      localStorage.setItem('kino.theme', value);
    } catch {
      // a browser that keeps nothing: the choice lasts until the page goes
    }
  });
}

/** The value of a colour variable (--cat-4) for canvases; read it again when isDark changes. */
export function cssColor(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
