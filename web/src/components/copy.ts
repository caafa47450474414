// Copying from a table gives whole values: the name of a kernel as the trace has it, however it is folded on the screen.
import type { Table } from '../api';
import type { Item } from './table-model';

/** Of the cells that the mark touches: rows by lines, cells by tabs. */
function markedText(box: HTMLElement, selection: Selection): string | null {
  const cells = [...box.querySelectorAll<HTMLElement>('.table-body [role=gridcell]')].filter((cell) =>
    selection.containsNode(cell, true),
  );
  if (!cells.some((cell) => cell.dataset.full !== undefined)) return null;
  const rows = new Map<Element, string[]>();
  for (const cell of cells) {
    const row = cell.parentElement!;
    const text = cell.dataset.full ?? (cell.querySelector('.jump-cell > span') ?? cell).textContent ?? '';
    rows.set(row, [...(rows.get(row) ?? []), text.trim()]);
  }
  return [...rows.values()].map((row) => row.join('\t')).join('\n');
}

/** Without a mark: the row that the keys are at. */
export function copyFull(
  event: ClipboardEvent,
  box: HTMLElement,
  table: Table,
  item: Item | undefined,
  shown: readonly number[],
): void {
  const selection = getSelection();
  let text: string | null = null;
  if (selection && selection.toString() !== '') text = markedText(box, selection);
  else if (item?.kind === 'row') text = shown.map((c) => String(table.rows[item.row]![c] ?? '')).join('\t');
  if (text === null) return;
  event.clipboardData?.setData('text/plain', text);
  event.preventDefault();
}
