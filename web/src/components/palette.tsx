// The command palette: type a few letters of a page, a run, an analysis or a command.
import { useRef, useState } from 'preact/hooks';
import { pages } from '../pages';
import { analyses, chooseRun, goTo, runs, theme } from '../state';
import { commands, offer, type Command, type Offer } from './commands';
import { Dialog } from './controls';
import { startTour } from './tour';

/** Letters in order, closer together and nearer to the start is better; -1: does not fit. */
export function rank(text: string, wanted: string): number {
  const low = text.toLowerCase();
  let at = -1;
  let cost = 0;
  for (const letter of wanted.toLowerCase()) {
    if (letter === ' ') continue;
    const next = low.indexOf(letter, at + 1);
    if (next < 0) return -1;
    cost += next - at - 1;
    at = next;
  }
  // What stands there as it was typed comes before letters that are scattered.
  const whole = low.indexOf(wanted.trim().toLowerCase());
  return (whole >= 0 ? whole : 100 + cost) + low.length / 100;
}

function allCommands(): Command[] {
  return [
    ...commands.value,
    { id: 'tour', title: 'Guided tour', run: startTour },
    ...pages.map((p) => ({ id: `page ${p.id}`, title: `Go to ${p.title}`, run: () => goTo(p.id) })),
    ...runs.value.map((r) => ({
      id: `run ${r.name}`,
      title: `Run ${r.label}`,
      run: () => chooseRun(r.name),
    })),
    ...analyses.value.map((a) => ({
      id: `analysis ${a.name}`,
      title: `Analysis ${a.name}: ${a.help}`,
      run: () => goTo(`analyses/${a.name}`),
    })),
    ...(['system', 'light', 'dark'] as const).map((t) => ({
      id: `theme ${t}`,
      title: `Theme: ${t}`,
      run: () => void (theme.value = t),
    })),
  ];
}

/** Everything that can be done. */
export const ALL_COMMANDS: Offer = {
  title: 'Commands',
  placeholder: 'Type a page, run, analysis or command',
  list: allCommands,
};

export function Palette({ of }: { of: Offer }) {
  const onClose = () => (offer.value = null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = of
    .list()
    .map((c) => ({ c, cost: rank(c.title, text) }))
    .filter((f) => f.cost >= 0)
    .sort((a, b) => (text ? a.cost - b.cost : 0))
    .slice(0, 60)
    .map((f) => f.c);
  const at = Math.min(chosen, Math.max(0, found.length - 1));
  const go = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen((at + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') setChosen((at - 1 + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') go(found[at]);
    else return;
    event.preventDefault();
    requestAnimationFrame(() =>
      list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }),
    );
  };
  return (
    <Dialog title={of.title} onClose={onClose}>
      <input
        type="text"
        class="palette-input"
        autofocus
        placeholder={of.placeholder}
        value={text}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-label={of.placeholder}
        aria-activedescendant={`palette-${at}`}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={onKey}
      />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label={of.title} ref={list}>
        {found.map((c, i) => (
          <li
            key={c.id}
            id={`palette-${i}`}
            role="option"
            aria-selected={i === at}
            onClick={() => go(c)}
            onPointerMove={() => setChosen(i)}>
            <span>{c.title}</span>
            {c.keys && <kbd>{c.keys}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li class="muted">No matches.</li>}
      </ul>
    </Dialog>
  );
}
