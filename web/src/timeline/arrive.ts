// Arriving by a link: which event it is about, and that event in the middle of the picture. A link knows an event by its id,
// and by name and time, which still find it when the files are others; links from sums know a name, and mean its longest event.
import { toast } from '../components/toast';
import { traces } from '../state';
import type { Wish } from '../wish';
import { messageOf, revealTrack, selectEvent, startMove } from './actions';
import { fetchSearch } from './requests';
import type { EventRef, Store } from './store';
import { surroundings } from './view';

const MOST_FOUND = 10000;

/** The event that has the id now; null: none, or another one than the link means. */
async function byId({ id, name, at }: Wish, signal: AbortSignal): Promise<EventRef | null> {
  if (id === undefined) return null;
  const { events } = await fetchSearch(`id:${id}`, 1, null, signal);
  const [event] = events;
  const isSame = (name === undefined || event?.name === name) && (at === undefined || event?.start === at);
  return event && isSame ? event : null;
}

/** Tracks of a rank, or of the trace that an id is of; null: all. */
function tracksOf(store: Store, wish: Wish): number[] | null {
  const trace = wish.id === undefined ? null : Math.floor(wish.id / 2 ** 32);
  const own = store.model.allTracks.filter((t) =>
    wish.rank !== undefined ? t.rank === wish.rank : trace === null || t.trace === trace,
  );
  return own.length === store.model.allTracks.length ? null : own.map((t) => t.track);
}

/** Tables may call an event without what its kind puts before: Linear_0 for nn.Module: Linear_0. */
const isCalled = (name: string, wanted: string) => name === wanted || name.endsWith(`: ${wanted}`);

/** Of the events with that name the one nearest to the time, without one the longest. */
function best(events: readonly EventRef[], at: number | undefined): EventRef | null {
  const isBetter = (a: EventRef, b: EventRef) =>
    at === undefined ? a.dur > b.dur : Math.abs(a.start - at) < Math.abs(b.start - at);
  return events.reduce<EventRef | null>(
    (found, event) => (found === null || isBetter(event, found) ? event : found),
    null,
  );
}

async function byName(store: Store, wish: Wish, signal: AbortSignal): Promise<EventRef | null> {
  const { name, at } = wish;
  if (name === undefined) return null;
  const tracks = tracksOf(store, wish);
  if (tracks?.length === 0) return null;
  const { events } = await fetchSearch(name, MOST_FOUND, tracks, signal);
  const exact = events.filter((e) => e.name === name);
  return best(exact.length > 0 ? exact : events.filter((e) => isCalled(e.name, name)), at);
}

function stepId(store: Store, { step, rank }: Wish): number | undefined {
  return store.model.stepEvents.find((s) => s.step === step && (rank === undefined || s.rank === rank))?.id;
}

const whatIs = ({ id, name, step, rank }: Wish): string => {
  const what = name !== undefined ? `'${name}'` : step !== undefined ? `step ${step}` : `event ${id}`;
  return rank === undefined ? what : `${what} on rank ${rank}`;
};

/** Selected and in the middle; `isShown` false: the address has a window of its own. */
function show(store: Store, event: EventRef, isShown: boolean): void {
  if (isShown)
    store.setView(surroundings({ from: event.start, to: event.start + event.dur }, store.model.bounds));
  store.isArriving = true;
  selectEvent(store, event);
  revealTrack(store, event.track, event.row, true);
}

/** Selects the event that a link is about. What was left out of the timeline comes back if the event is there. */
export async function arrive(store: Store, wish: Wish, isShown: boolean): Promise<void> {
  const signal = startMove();
  store.pending = wish;
  try {
    const id = wish.step !== undefined && wish.id === undefined ? stepId(store, wish) : wish.id;
    const known = await byId({ ...wish, id }, signal);
    const event = known ?? (await byName(store, wish, signal));
    if (signal.aborted) return;
    if (event && !store.model.byId.has(event.track) && traces.peek() !== null) {
      traces.value = null; // a new timeline, which reads the address again
      return;
    }
    store.pending = null;
    if (!event) toast(`The timeline has no ${whatIs(wish)}.`);
    else {
      show(store, event, isShown);
      if (!known && wish.id !== undefined) toast('The files have changed: found by name and time.');
    }
  } catch (e) {
    if (signal.aborted) return;
    store.pending = null;
    toast(`The event cannot be shown: ${messageOf(e)}`, 'bad');
  }
}
