// The critical path over the tracks: the stretches of events that the analysis `critical-path` found on it, and the edges
// from one event to the next. It is asked for when it is switched on, and drawn by overlay.ts.
import { analyze, objects, tableOf, type CellValue, type Result } from '../api';
import { toast } from '../components/toast';
import { messageOf } from './actions';
import { fetchSearch } from './requests';
import { DRAW_OVERLAY, type EventRef, type Store } from './store';

/** From a place on one event to a place on another, or on the same: then it is time spent in it. */
export interface PathEdge {
  from: EventRef;
  fromTime: number;
  to: EventRef;
  toTime: number;
  boundBy: string;
}

export interface Path {
  /** ProfilerStep/3, as the address has it */
  key: string;
  /** in order of time */
  edges: readonly PathEdge[];
}

const ANNOTATION = 'ProfilerStep';
const EVENTS_A_REQUEST = 2000;

let request: AbortController | null = null;

interface Node {
  id: number;
  time: number;
}

/** The nodes of each rank, in the order of the path. */
function nodesByRank(result: Result): Map<CellValue, Node[]> {
  const ranks = new Map<CellValue, Node[]>();
  for (const row of objects(tableOf(result, 'path'))) {
    const rank = row.rank ?? null;
    if (!ranks.has(rank)) ranks.set(rank, []);
    ranks.get(rank)!.push({ id: Number(row.event), time: Number(row.ts) });
  }
  return ranks;
}

async function eventsOf(ids: readonly number[], signal: AbortSignal): Promise<Map<number, EventRef>> {
  const found = new Map<number, EventRef>();
  for (let i = 0; i < ids.length; i += EVENTS_A_REQUEST) {
    const part = ids.slice(i, i + EVENTS_A_REQUEST);
    const { events } = await fetchSearch(`id:${part.join(',')}`, EVENTS_A_REQUEST, null, signal);
    for (const event of events) found.set(event.id, event);
  }
  return found;
}

/** Two nodes that follow each other are an edge; what bounds it is a row of `breakdown`, in the same order. */
export function edgesOf(result: Result, events: ReadonlyMap<number, EventRef>): PathEdge[] {
  const causes = new Map<CellValue, string[]>();
  for (const row of objects(tableOf(result, 'breakdown'))) {
    const rank = row.rank ?? null;
    if (!causes.has(rank)) causes.set(rank, []);
    causes.get(rank)!.push(String(row.bound_by ?? ''));
  }
  const edges: PathEdge[] = [];
  for (const [rank, nodes] of nodesByRank(result))
    nodes.slice(1).forEach((node, i) => {
      const before = nodes[i]!;
      const [from, to] = [events.get(before.id), events.get(node.id)];
      const boundBy = causes.get(rank)?.[i] ?? '';
      if (from && to) edges.push({ from, fromTime: before.time, to, toTime: node.time, boundBy });
    });
  return edges.sort((a, b) => a.fromTime - b.fromTime);
}

/** The step in the middle of the window. */
export function pathKeyAt(store: Store): string {
  const middle = (store.view.from + store.view.to) / 2;
  const { steps } = store.model;
  const at = steps.findIndex((s) => s.to > middle);
  if (steps.length === 0) return '/0';
  return `${ANNOTATION}/${at < 0 ? steps.length - 1 : at}`;
}

/** `key`: annotation and which occurrence of it; empty: no path. */
export async function showPath(store: Store, key: string): Promise<void> {
  request?.abort();
  request = new AbortController();
  const { signal } = request;
  store.path.value = key === '' ? null : { key, edges: [] };
  store.invalidate(DRAW_OVERLAY);
  if (key === '') return;
  const at = key.lastIndexOf('/');
  try {
    const params = { annotation: key.slice(0, at), instance: key.slice(at + 1) };
    const result = await analyze('critical-path', params, signal);
    const ids = new Set(objects(tableOf(result, 'path')).map((row) => Number(row.event)));
    const edges = edgesOf(result, await eventsOf([...ids], signal));
    if (signal.aborted) return;
    store.path.value = { key, edges };
    if (edges.length === 0) toast(result.input.notes[0] ?? 'There is no critical path here.');
    store.spoken.value = `The critical path has ${edges.length} edges.`;
    store.invalidate(DRAW_OVERLAY);
  } catch (e) {
    if (signal.aborted) return;
    store.path.value = null;
    toast(`The critical path cannot be shown: ${messageOf(e)}`, 'bad');
  }
}

export function togglePath(store: Store): void {
  void showPath(store, store.path.value ? '' : pathKeyAt(store));
}
