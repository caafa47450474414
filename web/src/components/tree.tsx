// A tree as a table: the first column opens and closes, the others are as in DataTable.
import type { VNode } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { CellValue, Column, Table } from '../api';
import { formatCount, formatRows, titleOf } from '../format';
import { urlSignal } from '../state';
import { SearchBox } from './controls';
import { download } from './download';
import { columnWidths, textOf, toCsv, type Sort } from './table-model';
import { matches, openTo, shapeOf, visible } from './tree-model';
import { HeadRow } from './table-head';
import { cellClass, tipOf } from './table-row';
import { columnChoice } from './use-columns';
import { digitWidth } from './use-size';
import { useVirtual } from './use-virtual';

export interface TreeProps {
  table: Table;
  id: string;
  /** Columns that make the tree; `scope` (such as rank) when ids repeat in each of several trees. */
  node?: string;
  parent?: string;
  scope?: string;
  name?: string;
  /** The other columns. */
  columns?: readonly string[];
  titles?: Record<string, string>;
  sort?: Sort;
  /** Levels open at first. */
  depth?: number;
  onRow?: (row: CellValue[], index: number) => void;
  selected?: (row: CellValue[], index: number) => boolean;
  cell?: (row: CellValue[], column: Column) => VNode | string | undefined;
  height?: number;
  tools?: VNode;
}

/** The least room for the names. */
const NAME_WIDTH = 260;

export function Tree(props: TreeProps) {
  const { table, id, node = 'id', parent = 'parent', scope, name = 'name', depth = 2 } = props;
  const filter = urlSignal(`${id}.filter`, '');
  const first = props.sort ? (props.sort.descending ? '-' : '') + props.sort.column : '';
  const sortKey = urlSignal(`${id}.sort`, first);
  const sort = sortKey.value
    ? { column: sortKey.value.replace(/^-/, ''), descending: sortKey.value.startsWith('-') }
    : null;
  const shape = useMemo(() => shapeOf(table, node, parent, scope), [table, node, parent, scope]);
  const [opened, setOpened] = useState<{ of: unknown; rows: Set<number> } | null>(null);
  const open = useMemo(
    () => (opened?.of === shape ? opened.rows : openTo(shape, depth)),
    [shape, opened, depth],
  );
  const nameAt = table.columns.findIndex((c) => c.name === name);
  const items = useMemo(
    () => visible(table, shape, open, sort, matches(table, shape, nameAt, filter.value)),
    [table, shape, open, sortKey.value, filter.value],
  );
  const shown = useMemo(() => {
    const skip = new Set([node, parent, scope, name, 'depth']);
    const names = props.columns ?? table.columns.map((c) => c.name).filter((n) => !skip.has(n));
    return [
      nameAt,
      ...names.map((n) => table.columns.findIndex((c) => c.name === n)).filter((i) => i >= 0 && i !== nameAt),
    ];
  }, [table, props.columns?.join()]);
  const heads = shown.map((c) => props.titles?.[table.columns[c]!.name] ?? titleOf(table.columns[c]!.name));
  const fixed = columnChoice(id).value.widths;
  // The name takes what is left; the columns after it keep their width.
  const widths = useMemo(
    () => columnWidths(table, shown.slice(1), heads.slice(1), digitWidth(), fixed),
    [table, shown, fixed],
  );
  const nameWidth = fixed[name] === undefined ? `minmax(${NAME_WIDTH}px, 1fr)` : `${fixed[name]}px`;
  const template = `${nameWidth} ${widths.template.replace(/ 1fr$/, '')}`;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(-1);
  const virtual = useVirtual(scroller, items.length, 24, (i) => String(items[i]?.row ?? -i));

  const toggle = (row: number) => {
    const rows = new Set(open);
    if (!rows.delete(row)) rows.add(row);
    setOpened({ of: shape, rows });
  };
  const onHead = (column: string, numeric: boolean) => {
    const descending = sort?.column === column ? !sort.descending : numeric;
    sortKey.value = (descending ? '-' : '') + column;
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const item = items[active];
    const go = (to: number) => {
      const next = Math.max(0, Math.min(items.length - 1, to));
      setActive(next);
      virtual.scrollToIndex(next, { align: 'auto' });
    };
    if (event.key === 'ArrowDown') go(active + 1);
    else if (event.key === 'ArrowUp') go(active - 1);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(items.length - 1);
    else if (item && event.key === 'ArrowRight' && !item.leaf) item.open ? go(active + 1) : toggle(item.row);
    else if (item && event.key === 'ArrowLeft')
      item.open ? toggle(item.row) : go(items.findIndex((i) => i.row === shape.parent[item.row]));
    else if (item && event.key === 'Enter')
      props.onRow ? props.onRow(table.rows[item.row]!, item.row) : toggle(item.row);
    else return;
    event.preventDefault();
  };
  const all = table.rows.length;
  return (
    <div class="table-frame">
      <div class="table-tools">
        <SearchBox
          value={filter.value}
          onChange={(v) => (filter.value = v)}
          label={`Filter ${table.title ?? id}`}
        />
        <button
          type="button"
          class="button button-quiet"
          onClick={() => setOpened({ of: shape, rows: openTo(shape, Infinity) })}>
          Open all
        </button>
        <button
          type="button"
          class="button button-quiet"
          onClick={() => setOpened({ of: shape, rows: new Set() })}>
          Close all
        </button>
        {props.tools}
        <div class="spacer" />
        <span class="muted">
          {formatCount(items.length)} of {formatRows(all)}
        </span>
        <button
          type="button"
          class="button button-quiet"
          data-tip="Save all rows as CSV"
          onClick={() =>
            download(
              `${id}.csv`,
              'text/csv',
              toCsv(
                table,
                table.rows.map((_, i) => i),
                table.columns.map((_, i) => i),
              ),
            )
          }>
          CSV
        </button>
      </div>
      <div
        class="table"
        ref={scroller}
        role="treegrid"
        tabIndex={0}
        aria-label={table.title ?? titleOf(table.name)}
        onKeyDown={onKey}
        aria-rowcount={items.length + 1}
        aria-activedescendant={active >= 0 ? `${id}-row-${active}` : undefined}
        style={{
          '--columns': template,
          '--minimum': `${widths.minimum + NAME_WIDTH}px`,
          maxHeight: `max(${props.height ?? 520}px, calc(100vh - 150px))`,
        }}>
        <HeadRow
          id={id}
          table={table}
          shown={shown}
          heads={heads}
          sort={sort}
          lead={nameAt}
          onHead={onHead}
        />
        <div class="table-body" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
          {virtual.getVirtualItems().map((at) => {
            const item = items[at.index];
            if (!item) return null;
            const row = table.rows[item.row]!;
            const chosen = props.selected?.(row, item.row) ? ' selected' : '';
            const marks = `${at.index === active ? ' active' : ''}${chosen}`;
            return (
              <div key={at.key} class="table-slot" style={{ transform: `translateY(${at.start}px)` }}>
                <div
                  id={`${id}-row-${at.index}`}
                  class={`table-row clickable${marks}`}
                  role="row"
                  aria-level={item.depth + 1}
                  aria-rowindex={at.index + 2}
                  aria-expanded={item.leaf ? undefined : item.open}
                  onClick={() => {
                    setActive(at.index);
                    if (props.onRow) props.onRow(row, item.row);
                    else if (!item.leaf) toggle(item.row);
                  }}>
                  {shown.map((c, i) => {
                    const column = table.columns[c]!;
                    const value = row[c] ?? null;
                    const content = props.cell?.(row, column) ?? textOf(value, column);
                    if (i > 0)
                      return (
                        <div
                          key={c}
                          role="gridcell"
                          data-tip={tipOf(value, column)}
                          class={cellClass(value, column)}>
                          {content}
                        </div>
                      );
                    return (
                      <div
                        key={c}
                        role="gridcell"
                        class="cell cell-lead"
                        data-tip={tipOf(value, column)}
                        style={{ paddingLeft: `${6 + item.depth * 16}px` }}>
                        <span
                          class={item.leaf ? 'twisty' : 'twisty twisty-button'}
                          aria-hidden="true"
                          onClick={(e) => {
                            e.stopPropagation();
                            if (!item.leaf) toggle(item.row);
                          }}>
                          {item.leaf ? '' : item.open ? '▾' : '▸'}
                        </span>
                        {content}
                      </div>
                    );
                  })}
                </div>
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
