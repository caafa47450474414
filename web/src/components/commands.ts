// Commands that the palette offers besides pages and runs; a page adds its own while it is shown.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export interface Command {
  id: string;
  title: string;
  keys?: string;
  run: () => void;
}
export interface KeyHelp {
  group: string;
  keys: string;
  does: string;
}

/** What the palette offers while it is open. */
export interface Offer {
  title: string;
  placeholder: string;
  list: () => readonly Command[];
}
export const offer = signal<Offer | null>(null);

export const commands = signal<readonly Command[]>([]);
export const keyHelp = signal<readonly KeyHelp[]>([]);

/** Commands of a page, for as long as it is shown. */
export function useCommands(list: readonly Command[]): void {
  useEffect(() => {
    commands.value = [...commands.peek(), ...list];
    return () => {
      commands.value = commands.peek().filter((c) => !list.includes(c));
    };
  }, [list.map((c) => c.id).join('\0')]);
}

/** Keys of a page for the help dialog (?), for as long as it is shown. */
export function useKeyHelp(list: readonly KeyHelp[]): void {
  useEffect(() => {
    keyHelp.value = [...keyHelp.peek(), ...list];
    return () => {
      keyHelp.value = keyHelp.peek().filter((k) => !list.includes(k));
    };
  }, []);
}
