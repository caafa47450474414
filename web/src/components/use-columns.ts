// How somebody wants the columns of a table: their widths, and which are left out. Kept in the browser, by the table.
import { signal, type Signal } from '@preact/signals';

export interface ColumnChoice {
  widths: Readonly<Record<string, number>>;
  hidden: readonly string[];
}

const NONE: ColumnChoice = { widths: {}, hidden: [] };
const choices = new Map<string, Signal<ColumnChoice>>();
const keyOf = (id: string) => `kino.columns.${id}`;

function stored(id: string): ColumnChoice {
  try {
    const found = JSON.parse(localStorage.getItem(keyOf(id)) ?? '{}') as Partial<ColumnChoice>;
    return { widths: found.widths ?? {}, hidden: found.hidden ?? [] };
  } catch {
    return NONE;
  }
}

export function columnChoice(id: string): Signal<ColumnChoice> {
  let choice = choices.get(id);
  if (!choice) {
    choices.set(id, (choice = signal(stored(id))));
    choice.subscribe((value) => {
      try {
        if (value.hidden.length === 0 && Object.keys(value.widths).length === 0)
          localStorage.removeItem(keyOf(id));
        else localStorage.setItem(keyOf(id), JSON.stringify(value));
      } catch {
        // a browser that keeps nothing: the choice lasts until the page goes
      }
    });
  }
  return choice;
}

export const NARROWEST = 32;

export function resizeColumn(id: string, name: string, width: number): void {
  const choice = columnChoice(id);
  const widths = { ...choice.peek().widths, [name]: Math.max(NARROWEST, Math.round(width)) };
  choice.value = { ...choice.peek(), widths };
}

export function hideColumn(id: string, name: string, isHidden: boolean): void {
  const choice = columnChoice(id);
  const rest = choice.peek().hidden.filter((n) => n !== name);
  choice.value = { ...choice.peek(), hidden: isHidden ? [...rest, name] : rest };
}

export function resetColumns(id: string): void {
  columnChoice(id).value = NONE;
}
