// What can be done on the timeline, by key, mouse or command: each is a function on the store.
import { objects, tableOf, type CellValue } from '../api';
import { toast } from '../components/toast';
import { formatDuration, formatTime } from '../format';
import { openPanel, toggleCompact } from './choices';
import { groupKey } from './layout';
import { fetchArea, fetchEvent, refOf } from './requests';
import {
  DRAW_ALL,
  DRAW_HEADER,
  DRAW_OVERLAY,
  selectedRange,
  type Area,
  type EventRef,
  type Flow,
  type Store,
} from './store';
import { fitRange, focusRange, panRange, surroundings } from './view';
import { TrackKind } from './track-kind';

let detailsRequest: AbortController | null = null;
let areaRequest: AbortController | null = null;
let moveRequest: AbortController | null = null;

function newRequest(old: AbortController | null): AbortController {
  old?.abort();
  return new AbortController();
}

/** A search for a place to go: the one before is given up. */
export function startMove(): AbortSignal {
  moveRequest = newRequest(moveRequest);
  return moveRequest.signal;
}

export const messageOf = (e: unknown): string => (e instanceof Error ? e.message : String(e));

export function stopRequests(): void {
  for (const r of [detailsRequest, areaRequest, moveRequest]) r?.abort();
}

export function clearSelection(store: Store): void {
  detailsRequest?.abort();
  areaRequest?.abort();
  store.selection.value = { kind: 'none' };
  store.details.value = null;
  store.areaTables.value = null;
  store.flows = [];
  store.spoken.value = 'Nothing is selected.';
  store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
}

export const tracksText = (count: number): string => `${count} ${count === 1 ? 'track' : 'tracks'}`;

export function trackName(store: Store, id: number): string {
  const track = store.model.byId.get(id);
  return track ? [...track.groups, track.name].join(' › ') : `track ${id}`;
}

export function selectEvent(store: Store, event: EventRef): void {
  store.selection.value = { kind: 'event', event };
  openPanel(store);
  store.tab.value = 'details';
  store.areaTables.value = null;
  store.flows = [];
  store.flowAt = 0;
  const many = event.events > 1 ? `, the longest of ${event.events} at this place` : '';
  const when = `${formatDuration(event.dur)} at ${formatTime(event.start)}`;
  store.spoken.value = `Selected ${event.name}, ${when}, on ${trackName(store, event.track)}${many}.`;
  store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
  detailsRequest = newRequest(detailsRequest);
  const { signal } = detailsRequest;
  store.details.value = { id: event.id, result: null, error: null };
  fetchEvent(event.id, signal).then(
    (result) => {
      if (signal.aborted) return;
      const exact = refOf(objects(tableOf(result, 'event'))[0] ?? {});
      // a span that never ended has no length in the trace, but one on the screen
      if (exact) {
        store.selection.value = {
          kind: 'event',
          event: { ...exact, dur: exact.dur || event.dur, events: event.events },
        };
      }
      store.details.value = { id: event.id, result, error: null };
      store.flows = flowsOf(exact ?? event, objects(tableOf(result, 'links')));
      store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
    },
    (e: unknown) => {
      if (!signal.aborted) store.details.value = { id: event.id, result: null, error: messageOf(e) };
    },
  );
}

/** Links that are arrows, and whether they lead away from the event. The others (op, module, ...) are only
 *  listed. */
const ARROWS: Record<string, boolean> = {
  launches: true,
  backward: true,
  'flow to': true,
  'launched by': false,
  forward: false,
  'flow from': false,
};

const MOST_FLOWS = 200;

export function flowsOf(event: EventRef, links: Record<string, CellValue>[]): Flow[] {
  const flows: Flow[] = [];
  const seen = new Set<string>();
  for (const row of links) {
    const relation = String(row.relation ?? '');
    const isAway = ARROWS[relation];
    const other = refOf(row);
    if (!other || other.id === event.id || isAway === undefined) continue;
    // a launch is often told twice: by its number and by a flow
    const key = `${isAway} ${other.id}`;
    if (seen.has(key)) continue;
    seen.add(key);
    flows.push(isAway ? { relation, from: event, to: other } : { relation, from: other, to: event });
  }
  return flows.slice(0, MOST_FLOWS);
}

/** Tracks with more rows stay thin when one jumps to them. */
const READABLE_ROWS = 60;

/** Opens what hides a track and scrolls so that the row is on the screen, `isCentred`: in its middle. */
export function revealTrack(store: Store, id: number, row = 0, isCentred = false): void {
  const track = store.model.byId.get(id);
  if (!track) return;
  if (store.layout.value.pinned.some((l) => l.track?.id === id)) return;
  const closed = new Set(store.closed.value);
  let isChanged = false;
  track.groups.forEach((_, depth) => {
    if (closed.delete(groupKey(track.groups, depth))) isChanged = true;
  });
  if (isChanged) store.closed.value = closed;
  if (store.compact.value.has(id) && track.rows <= READABLE_ROWS) toggleCompact(store, id);
  let layout = store.layout.value;
  let line = layout.lines.find((l) => l.track?.id === id);
  if (!line && store.filter.value !== '') {
    store.filter.value = '';
    layout = store.layout.value;
    line = layout.lines.find((l) => l.track?.id === id);
  }
  if (!line) return;
  const room = store.height - layout.pinnedHeight;
  const top = line.y + (line.track!.kind === TrackKind.Counter ? 0 : row * line.rowHeight);
  if (isCentred) store.setScroll(Math.max(0, top - (room - line.rowHeight) / 2));
  else if (top < store.scrollTop || top + line.rowHeight + 8 > store.scrollTop + room)
    store.setScroll(Math.max(0, top - room / 3));
}

/** Brings an event into sight: centred when it was not, without touching the zoom when it can be seen, or must not be. */
function showEvent(store: Store, event: EventRef, keepsZoom: boolean): void {
  revealTrack(store, event.track, event.row);
  const { view, model } = store;
  const end = event.start + event.dur;
  const isInside = end > view.from && event.start < view.to;
  const pixels = event.dur / store.nsPerPixel();
  if (keepsZoom) {
    const middle = (event.start + end) / 2;
    if (!isInside) store.setView(panRange(view, middle - (view.from + view.to) / 2, model.bounds));
    return;
  }
  if (isInside && pixels >= 3) return;
  if (pixels < 3) store.setView(surroundings({ from: event.start, to: end }, model.bounds));
  else store.setView(focusRange(view, { from: event.start, to: end }, model.bounds));
}

export function goToEvent(store: Store, event: EventRef, keepsZoom = false): void {
  selectEvent(store, event);
  showEvent(store, event, keepsZoom);
}

/** An event of which only the number is known: selected, and brought into sight. */
export async function goToId(store: Store, id: number): Promise<void> {
  const signal = startMove();
  try {
    const event = refOf(objects(tableOf(await fetchEvent(id, signal), 'event'))[0] ?? {});
    if (signal.aborted) return;
    if (event) goToEvent(store, event);
    else toast('This event is not shown in the timeline.');
  } catch (e) {
    if (!signal.aborted) toast(`The event cannot be shown: ${messageOf(e)}`, 'bad');
  }
}

export function selectArea(store: Store, area: Area): void {
  detailsRequest?.abort();
  store.details.value = null;
  store.flows = [];
  store.selection.value = { kind: 'area', area };
  store.tab.value = 'area';
  openPanel(store);
  const length = formatDuration(area.to - area.from);
  store.spoken.value = `Selected ${length} on ${tracksText(area.tracks.length)}.`;
  store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
  areaRequest = newRequest(areaRequest);
  const { signal } = areaRequest;
  store.areaTables.value = { result: null, error: null };
  fetchArea(area, area.tracks, signal).then(
    (result) => {
      if (!signal.aborted) store.areaTables.value = { result, error: null };
    },
    (e: unknown) => {
      if (!signal.aborted) store.areaTables.value = { result: null, error: messageOf(e) };
    },
  );
}

/** R: the time span of the slice on its track, as an area that can be changed. */
export function toArea(store: Store): void {
  const selection = store.selection.value;
  if (selection.kind !== 'event') return;
  const { start, dur, track } = selection.event;
  selectArea(store, { from: start, to: start + Math.max(dur, 1), tracks: [track] });
}

/** A track joins the selected area or leaves it; the last one stays. */
export function toggleInArea(store: Store, tracks: readonly number[], isIn: boolean): void {
  const selection = store.selection.value;
  if (selection.kind !== 'area') return;
  const rest = selection.area.tracks.filter((t) => !tracks.includes(t));
  const next = isIn ? [...rest, ...tracks].sort((a, b) => a - b) : rest;
  if (next.length > 0) selectArea(store, { ...selection.area, tracks: next });
}

export function stopDrag(store: Store): void {
  store.drag = null;
  store.isDragStopped = true;
  store.invalidate(DRAW_OVERLAY | DRAW_HEADER);
}

/** Everything in the window, on all tracks that are shown. */
export function selectAll(store: Store): void {
  const tracks = [...new Set(store.layout.value.lines.flatMap((l) => l.members.map((m) => m.id)))];
  if (tracks.length > 0) selectArea(store, { ...store.view, tracks });
}

export function focusSelection(store: Store): void {
  const selection = store.selection.value;
  const range = selectedRange(selection);
  if (!range) return;
  if (selection.kind === 'event') revealTrack(store, selection.event.track, selection.event.row);
  store.setView(focusRange(store.view, range, store.model.bounds));
}

export function zoomToEvent(store: Store, event: EventRef): void {
  store.setView(fitRange({ from: event.start, to: event.start + event.dur }, store.model.bounds));
}

/** M: one passing mark, replaced by the next; kept ones stay until they are marked again. */
export function markSelection(store: Store, isKept: boolean): void {
  const range = selectedRange(store.selection.value);
  if (!range) return;
  const same = store.marks.value.find((m) => m.from === range.from && m.to === range.to);
  const others = store.marks.value.filter((m) => m !== same && m.isKept);
  store.marks.value = same && same.isKept === isKept ? others : [...others, { ...range, isKept }];
  store.invalidate(DRAW_ALL);
}
