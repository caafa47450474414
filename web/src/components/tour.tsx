// The guided tour: a few stops of a run, each on its page, with what to look for there.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { goTo } from '../state';
import { Button } from './controls';

interface Stop {
  view: string;
  params?: Record<string, string>;
  title: string;
  text: string;
}

const STOPS: readonly Stop[] = [
  {
    view: 'overview',
    title: 'Where the time goes',
    text: 'The bars are the steps, by what they were spent on: one of the demo waits for its data. Below, Findings say what to fix first and how much it could save. Each has its evidence: a click shows it in the timeline.',
  },
  {
    view: 'distributed',
    params: { map: 'computation' },
    title: 'Which rank is slow',
    text: 'Ranks by steps: the darkest row computes longest, and the others wait for it. A click on a cell shows that step of that rank.',
  },
  {
    view: 'timeline',
    title: 'What happened, and when',
    text: 'Every thread and stream of all ranks. W, A, S and D zoom and pan, a click selects, dragging adds up. / searches, C draws the critical path of a step, and ? shows all keys.',
  },
  {
    view: 'kernels',
    title: 'What runs on the device',
    text: 'Kernels by time. Columns can be sorted, resized and hidden, and the arrow behind a name leads to its longest call.',
  },
  {
    view: 'operators',
    title: 'Who asked for it',
    text: 'Operators on host and device; a row opens to its call stacks.',
  },
  {
    view: 'sql',
    title: 'Your own question',
    text: 'SQL over all events and analyses. Rows with an id, or with a name and a time, lead to the timeline. All of this also works in the terminal: kino report, kino analyze, kino query.',
  },
];

/** The stop at hand; null: no tour. */
const at = signal<number | null>(null);

export function startTour(): void {
  visit(0);
}

function visit(stop: number): void {
  at.value = stop;
  const { view, params } = STOPS[stop]!;
  goTo(view, params);
}

export function Tour() {
  const box = useRef<HTMLElement>(null);
  const now = at.value;
  useEffect(() => box.current?.focus(), [now]);
  if (now === null) return null;
  const stop = STOPS[now]!;
  const isLast = now + 1 === STOPS.length;
  return (
    <aside
      class="tour"
      aria-label="Guided tour"
      tabIndex={-1}
      ref={box}
      onKeyDown={(e) => e.key === 'Escape' && (at.value = null)}>
      <h2>{stop.title}</h2>
      <p>{stop.text}</p>
      <div class="toolbar">
        <span class="muted">
          {now + 1} of {STOPS.length}
        </span>
        <div class="spacer" />
        {now > 0 && <Button onClick={() => visit(now - 1)}>Back</Button>}
        <Button kind="primary" onClick={() => (isLast ? (at.value = null) : visit(now + 1))}>
          {isLast ? 'Done' : 'Next'}
        </Button>
        <Button kind="quiet" label="End the tour" onClick={() => (at.value = null)}>
          ✕
        </Button>
      </div>
    </aside>
  );
}
