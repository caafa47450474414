// The heads of a table: a click sorts, the tooltip is the definition of the column, the border at the right changes its width.
import type { Table } from '../api';
import { isNumeric, type Sort } from './table-model';
import { resizeColumn } from './use-columns';

interface HeadRowProps {
  id: string;
  table: Table;
  shown: readonly number[];
  heads: readonly string[];
  sort: Sort | null;
  /** the columns that stay in sight: of the name, and the one that sorts */
  lead: number;
  onHead: (name: string, numeric: boolean) => void;
}

const marks = { none: '', descending: '▼', ascending: '▲' } as const;
const KEY_STEP = 16;

/** Left and right go from head to head, with Shift they change the width; Tab stops at one of them only. */
function move(event: KeyboardEvent, id: string): void {
  const way = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (way === 0) return;
  const row = event.currentTarget as HTMLElement;
  const buttons = [...row.querySelectorAll('button')];
  const button = event.target as HTMLButtonElement;
  const head = button.closest<HTMLElement>('[role=columnheader]');
  if (event.shiftKey && head) resizeColumn(id, head.dataset.column!, head.offsetWidth + way * KEY_STEP);
  else buttons[(buttons.indexOf(button) + way + buttons.length) % buttons.length]?.focus();
  event.preventDefault();
}

/** Follows the mouse until the button is up. */
function drag(event: PointerEvent, id: string, name: string): void {
  const grip = event.currentTarget as HTMLElement;
  const head = grip.parentElement!;
  const start = head.offsetWidth - event.clientX;
  grip.setPointerCapture(event.pointerId);
  grip.onpointermove = (e) => resizeColumn(id, name, start + e.clientX);
  grip.onpointerup = grip.onpointercancel = () => {
    grip.onpointermove = null;
  };
  event.preventDefault();
}

/** Cells that stay in sight while the table scrolls sideways. */
export const stickiness = (column: number, lead: number, sorted: number): string =>
  column === lead ? ' cell-lead' : column === sorted ? ' cell-sorted' : '';

export function HeadRow({ id, table, shown, heads, sort, lead, onHead }: HeadRowProps) {
  const sortedAt = shown.findIndex((c) => table.columns[c]!.name === sort?.column);
  const stop = Math.max(0, sortedAt);
  return (
    <div class="table-row table-head" role="row" aria-rowindex={1} onKeyDown={(e) => move(e, id)}>
      {shown.map((c, i) => {
        const column = table.columns[c]!;
        const sorted = sort?.column !== column.name ? 'none' : sort.descending ? 'descending' : 'ascending';
        const sticks = stickiness(c, lead, shown[sortedAt] ?? -1);
        return (
          <div
            key={column.name}
            role="columnheader"
            aria-sort={sorted}
            data-column={column.name}
            class={`${isNumeric(column) ? 'cell number' : 'cell'}${sticks}`}>
            <button
              type="button"
              tabIndex={i === stop ? 0 : -1}
              onClick={() => onHead(column.name, isNumeric(column))}
              data-tip={column.help ? `${heads[i]}: ${column.help}` : heads[i]}>
              {heads[i]}
              <span class="sort-mark" aria-hidden="true">
                {marks[sorted]}
              </span>
            </button>
            <span class="grip" aria-hidden="true" onPointerDown={(e) => drag(e, id, column.name)} />
          </div>
        );
      })}
    </div>
  );
}
