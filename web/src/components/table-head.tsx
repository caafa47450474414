// The heads of a table: a click sorts, the tooltip is the definition of the column.
import type { Table } from '../api';
import { isNumeric, type Sort } from './table-model';

interface HeadRowProps {
  table: Table;
  shown: readonly number[];
  heads: readonly string[];
  sort: Sort | null;
  onHead: (name: string, numeric: boolean) => void;
}

const marks = { none: '', descending: '▼', ascending: '▲' } as const;

/** Left and right go from head to head; Tab stops at one of them only. */
function move(event: KeyboardEvent): void {
  const way = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (way === 0) return;
  const row = event.currentTarget as HTMLElement;
  const buttons = [...row.querySelectorAll('button')];
  const at = buttons.indexOf(event.target as HTMLButtonElement);
  buttons[(at + way + buttons.length) % buttons.length]?.focus();
  event.preventDefault();
}

export function HeadRow({ table, shown, heads, sort, onHead }: HeadRowProps) {
  const sortedAt = shown.findIndex((c) => table.columns[c]!.name === sort?.column);
  const stop = Math.max(0, sortedAt);
  return (
    <div class="table-row table-head" role="row" aria-rowindex={1} onKeyDown={move}>
      {shown.map((c, i) => {
        const column = table.columns[c]!;
        const sorted = sort?.column !== column.name ? 'none' : sort.descending ? 'descending' : 'ascending';
        return (
          <div
            key={column.name}
            role="columnheader"
            aria-sort={sorted}
            class={isNumeric(column) ? 'cell number' : 'cell'}>
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
          </div>
        );
      })}
    </div>
  );
}
