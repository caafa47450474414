// What the person opens, closes, pins and hides.
import type { Store } from './store';

/** A selection shows the panel, unless the person has hidden it. */
export function openPanel(store: Store): void {
  if (!store.isPanelHidden) store.isPanelOpen.value = true;
}

export function togglePanel(store: Store): void {
  store.isPanelOpen.value = !store.isPanelOpen.value;
  store.isPanelHidden = !store.isPanelOpen.value;
}

export function togglePin(store: Store, track: number): void {
  const now = store.pinned.value;
  store.pinned.value = now.includes(track) ? now.filter((t) => t !== track) : [...now, track];
  store.invalidate();
}

export function toggleGroup(store: Store, key: string): void {
  const closed = new Set(store.closed.value);
  if (!closed.delete(key)) closed.add(key);
  store.closed.value = closed;
  store.invalidate();
}

export function toggleCompact(store: Store, track: number): void {
  const compact = new Set(store.compact.value);
  if (!compact.delete(track)) compact.add(track);
  store.compact.value = compact;
  store.invalidate();
}
