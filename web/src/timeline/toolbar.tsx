// The bar above the timeline: search with its count, the track filter, and what can be done with the window.
import { useRef } from 'preact/hooks';
import { urlOf } from '../api';
import { Button, SearchBox, toast } from '../components';
import { formatCount } from '../format';
import { currentRun } from '../state';
import { togglePath } from './path';
import { openInPerfetto, windowParams } from './perfetto';
import { search, stepSearch } from './search';
import type { Store } from './store';

const TYPING_MS = 250;

function foundText(at: number, total: number): string {
  return `${at < 0 ? '–' : formatCount(at + 1)} / ${formatCount(total)}`;
}

function SearchField({ store }: { store: Store }) {
  const timer = useRef(0);
  const found = store.search.value;
  const onInput = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => void search(store, text), TYPING_MS);
  };
  const onKey = (e: KeyboardEvent & { currentTarget: HTMLInputElement }): void => {
    if (e.key === 'Enter') {
      e.preventDefault();
      const direction = e.shiftKey ? -1 : 1;
      const text = e.currentTarget.value;
      if (text === store.search.value.query && !store.search.value.isPending) {
        stepSearch(store, direction);
        return;
      }
      clearTimeout(timer.current);
      void search(store, text).then(() => stepSearch(store, direction));
    } else if (e.key === 'Escape') {
      if (e.currentTarget.value !== '') {
        e.currentTarget.value = '';
        clearTimeout(timer.current);
        void search(store, '');
      } else e.currentTarget.blur();
      e.stopPropagation();
    }
  };
  return (
    <div class="tl-search" role="search">
      <input
        type="search"
        id="tl-search"
        class="search"
        value={found.query}
        aria-label="Search events"
        placeholder="Search events  ( / )"
        autocomplete="off"
        spellcheck={false}
        data-tip="Part of a name; cat:kernel selects a category. Enter: next, Shift + Enter: previous."
        onInput={(e) => onInput(e.currentTarget.value)}
        onKeyDown={onKey}
      />
      <span class="tl-count" role="status" aria-live="polite">
        {found.isPending
          ? '…'
          : found.error
            ? 'failed'
            : found.query === ''
              ? ''
              : foundText(found.at, found.total)}
      </span>
      <Button
        kind="quiet"
        label="Previous match"
        title="Previous (Shift + Enter)"
        disabled={found.events.length === 0}
        onClick={() => stepSearch(store, -1)}>
        ‹
      </Button>
      <Button
        kind="quiet"
        label="Next match"
        title="Next (Enter)"
        disabled={found.events.length === 0}
        onClick={() => stepSearch(store, 1)}>
        ›
      </Button>
      <Button
        kind="quiet"
        title="List all matches"
        disabled={found.events.length === 0}
        onClick={() => {
          store.tab.value = 'search';
          store.isPanelOpen.value = true;
        }}>
        List
      </Button>
    </div>
  );
}

export function openWindow(store: Store): void {
  openInPerfetto(store.view, currentRun.peek()?.label ?? 'Kino').catch((e: unknown) =>
    toast(e instanceof Error ? e.message : String(e), 'bad'),
  );
}

/** Not a link: its address would have to change with every move of the window. */
export function downloadWindow(store: Store): void {
  const link = document.createElement('a');
  link.href = urlOf('trace.json.gz', windowParams(store.view));
  link.download = 'kino-window.json.gz';
  link.click();
}

export function Toolbar({ store }: { store: Store }) {
  const layout = store.layout.value;
  return (
    <div class="tl-bar" role="toolbar" aria-label="Timeline">
      <SearchField store={store} />
      <div class="tl-filter">
        <SearchBox
          value={store.filter.value}
          label="Filter tracks"
          placeholder="Filter tracks"
          onChange={(text) => {
            store.filter.value = text;
            store.setScroll(0);
            store.invalidate();
          }}
        />
        {store.filter.value !== '' && (
          <span class="tl-count">
            {layout.shown} of {layout.total}
          </span>
        )}
      </div>
      <Button
        kind="quiet"
        title="Draw the critical path of the step in the middle (C): what the step had to wait for, with its edges"
        pressed={store.path.value !== null}
        onClick={() => togglePath(store)}>
        Critical path
      </Button>
      <div class="tl-space" />
      <Button kind="quiet" title="Show the whole run (Home)" onClick={() => store.showAll()}>
        Whole run
      </Button>
      <Button
        kind="quiet"
        title="Download the visible window as a trace file"
        onClick={() => downloadWindow(store)}>
        Download window
      </Button>
      <Button
        kind="quiet"
        title="Show the visible window in Perfetto (ui.perfetto.dev); the data stays in this browser"
        onClick={() => openWindow(store)}>
        Open in Perfetto
      </Button>
    </div>
  );
}
