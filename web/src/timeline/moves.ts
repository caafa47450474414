// From the selected slice to another: along its row, along a flow, to the row above or below.
import { toast } from '../components/toast';
import type { Command } from '../components/commands';
import { goToEvent, messageOf, revealTrack, selectEvent, startMove, trackName } from './actions';
import { eventAt } from './hit';
import { linesBetween, type Line } from './layout';
import { fetchTile, findNeighbour } from './requests';
import { DRAW_OVERLAY, type Flow, type Store } from './store';
import { spanOf } from './view';
import { TrackKind } from './track-kind';

/** One command a track, which scrolls there and opens what hides it. */
export function trackCommands(store: Store): Command[] {
  return store.model.tracks.map((track) => ({
    id: `track ${track.id}`,
    title: trackName(store, track.id),
    run: () => {
      revealTrack(store, track.id, 0, true);
      store.spoken.value = `At ${trackName(store, track.id)}.`;
    },
  }));
}

export async function stepSlice(store: Store, direction: 1 | -1): Promise<void> {
  const selection = store.selection.value;
  if (selection.kind !== 'event') return;
  const signal = startMove();
  try {
    const next = await findNeighbour(selection.event, direction, store.model.bounds, fetchTile, signal);
    if (signal.aborted) return;
    if (next) goToEvent(store, next, true);
    else
      store.spoken.value =
        direction > 0 ? 'This is the last slice of its row.' : 'This is the first slice of its row.';
  } catch (e) {
    if (!signal.aborted) toast(messageOf(e), 'bad');
  }
}

/** ] goes to what follows from the selection, [ to what it came from; among several the strong arrow
 *  decides. */
export function stepFlow(store: Store, direction: 1 | -1): void {
  const selection = store.selection.value;
  if (selection.kind !== 'event') return;
  const { id } = selection.event;
  const isFit = (f: Flow): boolean => (direction > 0 ? f.from.id === id : f.to.id === id);
  const strong = store.flows[store.flowAt];
  const flow = strong && isFit(strong) ? strong : store.flows.find(isFit);
  if (flow) goToEvent(store, direction > 0 ? flow.to : flow.from);
  else store.spoken.value = direction > 0 ? 'No outgoing flow.' : 'No incoming flow.';
}

export function otherFlow(store: Store): void {
  if (store.flows.length === 0) return;
  store.flowAt = (store.flowAt + 1) % store.flows.length;
  store.invalidate(DRAW_OVERLAY);
}

/** Up and down: the row above or below at the same time, on the next track when there is none. */
export function stepRow(store: Store, direction: 1 | -1): void {
  const selection = store.selection.value;
  if (selection.kind !== 'event') return;
  const { event } = selection;
  const lines = store.layout.value.lines.filter((l) => l.track?.kind === TrackKind.Spans);
  let at = lines.findIndex((l) => l.track!.id === event.track);
  if (at < 0) return;
  const time = Math.min(Math.max(event.start + event.dur / 2, store.view.from), store.view.to);
  const slack = spanOf(store.view);
  let row = event.row + direction;
  for (; at >= 0 && at < lines.length; at += direction) {
    const track = lines[at]!.track!;
    if (row === -2) row = track.rows - 1;
    for (; row >= 0 && row < track.rows; row += direction) {
      const isSame = track.id === event.track;
      const found = eventAt(store, track.id, row, time, isSame ? store.nsPerPixel() * 2 : slack);
      if (found) {
        goToEvent(store, found);
        return;
      }
    }
    row = direction > 0 ? 0 : -2;
  }
}

/** Enter without a selection: the slice nearest to the middle of the first track that has one. */
export function selectMiddle(store: Store): void {
  const layout = store.layout.value;
  const { first, end } = linesBetween(layout.lines, store.scrollTop, store.scrollTop + store.height);
  const lines: Line[] = [...layout.pinned, ...layout.lines.slice(first, end)];
  const time = (store.view.from + store.view.to) / 2;
  for (const line of lines) {
    if (line.track?.kind !== TrackKind.Spans) continue;
    const found = eventAt(store, line.track.id, 0, time, spanOf(store.view));
    if (found) {
      selectEvent(store, found);
      return;
    }
  }
}
