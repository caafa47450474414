// Searching: asks the server for all events whose name matches, and goes from hit to hit.
import { goToEvent } from './actions';
import { fetchSearch } from './requests';
import { DRAW_HEADER, NOTHING_FOUND, type Store } from './store';

let request: AbortController | null = null;

const MOST_FOUND = 10000;

export async function search(store: Store, query: string): Promise<void> {
  request?.abort();
  request = new AbortController();
  const { signal } = request;
  if (query.trim() === '') {
    store.search.value = { ...NOTHING_FOUND, query };
    return store.invalidate(DRAW_HEADER);
  }
  store.search.value = { ...store.search.value, query, isPending: true, error: null };
  try {
    const { events, total, table } = await fetchSearch(
      query,
      MOST_FOUND,
      store.model.isPart ? [...store.model.byId.keys()] : null,
      signal,
    );
    if (signal.aborted) return;
    store.search.value = { ...NOTHING_FOUND, query, table, events, total };
    store.spoken.value = `${total} found.`;
  } catch (e) {
    if (signal.aborted) return;
    store.search.value = { ...NOTHING_FOUND, query, error: e instanceof Error ? e.message : String(e) };
  }
  store.invalidate(DRAW_HEADER);
}

/** The next or previous hit; the first time, the first one in the window or behind it. */
export function stepSearch(store: Store, direction: 1 | -1): void {
  const { events, at } = store.search.value;
  if (events.length === 0) return;
  let next = at + direction;
  if (at < 0) {
    next = direction > 0 ? events.findIndex((e) => e.start >= store.view.from) : events.length - 1;
    if (next < 0) next = 0;
  }
  showFound(store, (next + events.length) % events.length);
}

export function showFound(store: Store, at: number): void {
  const event = store.search.value.events[at];
  if (!event) return;
  store.search.value = { ...store.search.value, at };
  const tab = store.tab.value;
  goToEvent(store, event);
  if (tab === 'search') store.tab.value = 'search';
}
