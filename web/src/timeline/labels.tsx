// The names at the left of the tracks, with their buttons. Only those near the window exist; they scroll with
// it.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { formatCount } from '../format';
import { toggleInArea, tracksText } from './actions';
import { toggleCompact, toggleGroup, togglePin } from './choices';
import { COUNTER_HEIGHT, linesBetween, ROW_HEIGHT, thinKey, type Line } from './layout';
import type { Store } from './store';
import { TrackKind } from './track-kind';

const BLOCK = 400;

/** While an area is selected: whether the track, or all of a group, is part of it. */
function InArea({ store, line }: { store: Store; line: Line }) {
  const selection = store.selection.value;
  if (selection.kind !== 'area' || line.isPinned) return null;
  const ids = line.members.map((t) => t.id);
  const count = ids.filter((id) => selection.area.tracks.includes(id)).length;
  return (
    <input
      type="checkbox"
      class="tl-in-area"
      aria-label={`In the selected area: ${line.title}`}
      checked={count === ids.length}
      ref={(box) => {
        if (box) box.indeterminate = count > 0 && count < ids.length;
      }}
      onChange={(e) => toggleInArea(store, ids, e.currentTarget.checked)}
    />
  );
}

function Group({ store, line }: { store: Store; line: Line }) {
  const events = line.members.reduce((sum, t) => sum + t.events, 0);
  return (
    <button
      type="button"
      class={`tl-group tl-depth-${line.depth}`}
      aria-expanded={line.isOpen}
      data-tip={`${line.title}\n${tracksText(line.members.length)}, ${formatCount(events)} events`}
      onClick={() => toggleGroup(store, line.key)}>
      <span class="tl-twisty" aria-hidden="true">
        {line.isOpen ? '▾' : '▸'}
      </span>
      <span class="tl-name">{line.title}</span>
      <span class="tl-note">{line.isOpen ? '' : line.members.length}</span>
    </button>
  );
}

function TrackLabel({ store, line }: { store: Store; line: Line }) {
  const track = line.track!;
  const isPinned = store.pinned.value.includes(track.id);
  const isThin = line.rowHeight < (track.kind === TrackKind.Counter ? COUNTER_HEIGHT / 2 : ROW_HEIGHT);
  const tip =
    `${[...track.groups, track.name].join(' › ')}${track.note ? ` · ${track.note}` : ''}\n` +
    `${formatCount(track.events)} ${track.kind === TrackKind.Counter ? 'values' : 'events'}` +
    (track.rows > 1 ? `, ${track.rows} rows` : '');
  return (
    <div class={`tl-track tl-depth-${line.depth}`}>
      <span class="tl-name" data-tip={tip}>
        {line.title}
      </span>
      {track.note && <span class="tl-note">{track.note}</span>}
      {(track.rows > 1 || track.kind === TrackKind.Counter) && (
        <button
          type="button"
          class="tl-icon"
          aria-pressed={isThin}
          aria-label={`Thin rows: ${track.name}`}
          data-tip={isThin ? 'Full-height rows' : 'Thin rows'}
          onClick={() => toggleCompact(store, thinKey(line))}>
          {isThin ? '⇕' : '≡'}
        </button>
      )}
      <button
        type="button"
        class="tl-icon"
        aria-pressed={isPinned}
        aria-label={`Pin to the top: ${track.name}`}
        data-tip={isPinned ? 'Unpin' : 'Pin to the top'}
        onClick={() => togglePin(store, track.id)}>
        {isPinned ? '★' : '☆'}
      </button>
    </div>
  );
}

function Label({ store, line, top }: { store: Store; line: Line; top: number }) {
  return (
    <div class="tl-label" style={{ top: `${top}px`, height: `${line.height}px` }}>
      <InArea store={store} line={line} />
      {line.kind === 'group' ? <Group store={store} line={line} /> : <TrackLabel store={store} line={line} />}
    </div>
  );
}

export function PinnedLabels({ store }: { store: Store }) {
  const layout = store.layout.value;
  if (layout.pinned.length === 0) return null;
  return (
    <div
      class="tl-pins"
      style={{ height: `${layout.pinnedHeight}px` }}
      role="group"
      aria-label="Pinned tracks">
      {layout.pinned.map((line) => (
        <Label key={line.key} store={store} line={line} top={line.y} />
      ))}
    </div>
  );
}

export function Labels({ store, scroller }: { store: Store; scroller: { current: HTMLElement | null } }) {
  const block = useSignal(0);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = (): void => {
      block.value = Math.floor(element.scrollTop / BLOCK);
    };
    element.addEventListener('scroll', read);
    read();
    return () => element.removeEventListener('scroll', read);
  }, [store]);
  const layout = store.layout.value;
  const top = block.value * BLOCK;
  const { first, end } = linesBetween(
    layout.lines,
    top - BLOCK,
    top + BLOCK * 2 + Math.max(store.height, 2400),
  );
  return (
    <div
      class="tl-labels"
      role="group"
      aria-label="Tracks"
      style={{
        height: `${layout.height + layout.pinnedHeight}px`,
        '--tl-pins': `${layout.pinnedHeight}px`,
      }}>
      {layout.lines.slice(first, end).map((line) => (
        <Label key={line.key} store={store} line={line} top={layout.pinnedHeight + line.y} />
      ))}
    </div>
  );
}
