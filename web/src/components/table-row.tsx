// One row of a table: a group with its sums, or the cells of a row with their tooltips.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { CellValue, Column, Table } from '../api';
import { exactCell, formatCell, fullCell } from '../format';
import type { Wish } from '../wish';
import { JumpCell } from './jump';
import { stickiness } from './table-head';
import { isNumeric, textOf, type Item } from './table-model';

export interface RowProps {
  id: string;
  table: Table;
  shown: readonly number[];
  /** Keys of what is open: groups, and rows with details. */
  open: ReadonlySet<string>;
  cell?: (row: CellValue[], column: Column) => VNode | string | undefined;
  selected?: (row: CellValue[], index: number) => boolean;
  onRow?: (row: CellValue[], index: number) => void;
  expand?: (row: CellValue[]) => VNode;
  /** The event the row stands for, and the column whose cells lead to it. */
  wish: (row: CellValue[]) => Wish | null;
  linkAt: number;
  /** the column that sorts; -1: none */
  sortedAt: number;
  /** numbers to the last digit */
  isExact: boolean;
  item: Item;
  index: number;
  active: boolean;
  opened: boolean;
  onClick: () => void;
}

/** While scrolling, rows that stay are the same: their content is made once. */
export function Row(props: RowProps) {
  const {
    table,
    item,
    index,
    active,
    opened,
    shown,
    open,
    cell,
    selected,
    onRow,
    wish,
    linkAt,
    sortedAt,
    isExact,
  } = props;
  const inputs = [
    table,
    item,
    index,
    active,
    opened,
    shown,
    open,
    cell,
    selected,
    onRow,
    wish,
    linkAt,
    sortedAt,
    isExact,
  ];
  return useMemo(() => rowContent(props), inputs);
}

function rowContent(props: RowProps) {
  const { table, item, shown, index, active, opened, onClick, onRow, expand, linkAt, sortedAt, isExact } =
    props;
  const to = item.kind === 'row' ? props.wish(table.rows[item.row]!) : null;
  const frame = {
    id: `${props.id}-row-${index}`,
    role: 'row' as const,
    'aria-rowindex': index + 2,
    class:
      `table-row${active ? ' active' : ''}${item.kind === 'group' ? ' group' : ''}` +
      `${item.kind === 'group' || onRow || expand || to ? ' clickable' : ''}` +
      `${item.kind === 'row' && props.selected?.(table.rows[item.row]!, item.row) ? ' selected' : ''}`,
    onClick,
  };
  if (item.kind === 'group') {
    const lead = roomBefore(shown, item.sums);
    return (
      <div {...frame} aria-expanded={item.open}>
        <div role="gridcell" class="cell" aria-colspan={lead} style={{ gridColumn: `span ${lead}` }}>
          <span class="twisty" aria-hidden="true">
            {item.open ? '▾' : '▸'}
          </span>
          {item.text} <span class="muted">{item.rows.length}</span>
        </div>
        <Sums {...props} of={shown.slice(lead)} sums={item.sums} rows={item.rows.length} />
      </div>
    );
  }
  const row = table.rows[item.row]!;
  const contentOf = (c: number) => {
    const column = table.columns[c]!;
    const value = row[c] ?? null;
    if (isExact && typeof value === 'number') return fullCell(value, column);
    return props.cell?.(row, column) ?? textOf(value, column);
  };
  return (
    <div {...frame} aria-expanded={expand ? opened : undefined}>
      {shown.map((c, i) => {
        const column = table.columns[c]!;
        const value = row[c] ?? null;
        return (
          <div
            key={c}
            role="gridcell"
            class={cellClass(value, column) + stickiness(c, linkAt, sortedAt)}
            data-full={fullOf(value, column)}
            data-tip={tipOf(value, column)}>
            {i === 0 && expand ? (
              <span class="twisty" aria-hidden="true">
                {opened ? '▾' : '▸'}
              </span>
            ) : null}
            {c === linkAt && to ? <JumpCell to={to}>{contentOf(c)}</JumpCell> : contentOf(c)}
          </div>
        );
      })}
    </div>
  );
}

/** The name of a group takes the columns before the first sum. */
export function roomBefore(shown: readonly number[], sums: readonly (number | null)[]): number {
  const first = shown.findIndex((c, i) => i > 0 && sums[c] !== null);
  return first < 0 ? shown.length : first;
}

interface SumsProps {
  table: Table;
  of: readonly number[];
  sums: readonly (number | null)[];
  rows: number;
  isExact: boolean;
  linkAt: number;
  sortedAt: number;
}

/** Sums say that they are: Σ 12.3 ms. */
export function Sums({ table, of, sums, rows, isExact, linkAt, sortedAt }: SumsProps) {
  return (
    <>
      {of.map((c) => {
        const column = table.columns[c]!;
        const sum = sums[c] ?? null;
        const name = isNumeric(column) ? 'cell number' : 'cell';
        return (
          <div
            key={c}
            role="gridcell"
            class={name + stickiness(c, linkAt, sortedAt)}
            data-tip={sum === null ? undefined : `Sum of ${rows} rows: ${exactCell(sum, column)}`}>
            {sum === null ? '' : `Σ ${(isExact ? fullCell : formatCell)(sum, column)}`}
          </div>
        );
      })}
    </>
  );
}

/** The whole text of a cell that shows a folded one: what is copied. */
export const fullOf = (value: CellValue, column: Column): string | undefined =>
  typeof value === 'string' && textOf(value, column) !== value ? value : undefined;

export function cellClass(value: CellValue, column: Column): string {
  const number = isNumeric(column) || typeof value === 'number';
  return `cell${number ? ' number' : ''}${value === null ? ' missing' : ''}`;
}

/** The exact value and its definition. */
export function tipOf(value: CellValue, column: Column): string | undefined {
  const exact = value === null ? 'not available' : exactCell(value, column);
  const isSame = typeof value === 'string' && value.length < 24 && textOf(value, column) === value;
  const text = isSame && !column.help ? '' : exact;
  return [text, column.help].filter(Boolean).join('\n') || undefined;
}
