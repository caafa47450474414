// A sentence of the program on the page. Where it names an option that has a control here, it has a button that leads there.
import { useEffect, useState } from 'preact/hooks';
import { capitalized } from '../format';
import { saidOf } from '../hint';

const controlOf = (option: string): HTMLElement | null =>
  document.querySelector(`[data-option="${CSS.escape(option)}"]`);

const nameOf = (control: HTMLElement): string => control.querySelector('span')?.textContent ?? '';

function lead(option: string): void {
  const control = controlOf(option);
  control?.scrollIntoView({ block: 'nearest' });
  control?.querySelector<HTMLElement>('input, select')?.focus();
}

/** What the program calls an option, as the control of the page; without one, as it is. */
function Control({ option, words }: { option: string; words: string }) {
  const [name, setName] = useState<string | null>(null);
  useEffect(() => {
    const control = controlOf(option);
    setName(control && nameOf(control));
  });
  if (!name) return <code>{words}</code>;
  return (
    <button type="button" class="said-control" onClick={() => lead(option)}>
      {name}
    </button>
  );
}

export function Sentence({ text }: { text: string }) {
  const said = saidOf(text);
  return (
    <>
      {capitalized(said.before)}
      {said.hint && <Control option={said.hint.subject} words={said.words} />}
      {said.after}
    </>
  );
}
