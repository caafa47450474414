// The table of every page: virtual rows, sort, filter, groups, export, and the definition of each number as a
// tooltip. The state a link must restore (sort, filter, group) is in the URL under the table's id.
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { CellValue, Column, Table } from '../api';
import { formatCount, formatRows, titleOf } from '../format';
import { keep, recall } from '../kept';
import { urlSignal } from '../state';
import { go, linkColumn, wishOf, type Wish } from '../wish';
import { Empty } from './basic';
import { SearchBox, Select } from './controls';
import { download } from './download';
import {
  columnWidths,
  filterRows,
  totalsOf,
  groupRows,
  sortRows,
  toCsv,
  toJson,
  withTypes,
  type Item,
  type Sort,
} from './table-model';
import { HeadRow } from './table-head';
import { ColumnMenu } from './column-menu';
import { copyFull } from './copy';
import { roomBefore, Row, Sums } from './table-row';
import { columnChoice } from './use-columns';
import { useLeadWidth } from './use-lead-width';
import { digitWidth } from './use-size';
import { useVirtual } from './use-virtual';

export interface DataTableProps {
  table: Table;
  id: string;
  columns?: readonly string[];
  titles?: Record<string, string>;
  sort?: Sort;
  search?: readonly string[];
  group?: readonly string[];
  onRow?: (row: CellValue[], index: number) => void;
  cell?: (row: CellValue[], column: Column) => VNode | string | undefined;
  height?: number;
  expand?: (row: CellValue[]) => VNode;
  exportUrl?: (format: 'csv') => string;
  selected?: (row: CellValue[], index: number) => boolean;
  tools?: VNode;
  /** Columns that overlap (totals of nested calls): no sums of them. */
  unsummed?: readonly string[];
  /** `height` is all there is; otherwise a table may be as high as the window. */
  isFixed?: boolean;
  /** The event a row stands for; otherwise what its columns say. False: rows stand for nothing. */
  jump?: false | ((row: CellValue[]) => Wish | null);
}

const rowHeight = 24;

/** A click that ends the marking of a text is not one on the row. */
const isMarkingText = () => (getSelection()?.toString() ?? '') !== '';

function parseSort(text: string): Sort | null {
  return text ? { column: text.replace(/^-/, ''), descending: text.startsWith('-') } : null;
}

/** State that going back to the page finds again. */
function useKept<T>(key: string, initial: T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => recall(key, initial));
  useEffect(() => keep(key, value), [key, value]);
  return [value, setValue];
}

export function DataTable(props: DataTableProps) {
  const { id, columns, titles, search, group, expand } = props;
  const table = useMemo(() => withTypes(props.table), [props.table]);
  const first = props.sort ? (props.sort.descending ? '-' : '') + props.sort.column : '';
  const sortKey = urlSignal(`${id}.sort`, first);
  const filterKey = urlSignal(`${id}.filter`, '');
  const groupKey = urlSignal(`${id}.group`, '');
  const [open, setOpen] = useKept<ReadonlySet<string>>(`${id}.open`, new Set());
  const sort = parseSort(sortKey.value);

  const choice = columnChoice(id).value;
  const exact = urlSignal(`${id}.exact`, '');
  const offered = useMemo(() => {
    const names = columns ?? table.columns.map((c) => c.name);
    return names.map((n) => table.columns.findIndex((c) => c.name === n)).filter((i) => i >= 0);
  }, [table, columns?.join()]);
  const shown = useMemo(() => {
    const isShown = (name: string) => name === sort?.column || !choice.hidden.includes(name);
    const left = offered.filter((i) => isShown(table.columns[i]!.name));
    return left.length > 0 ? left : offered.slice(0, 1);
  }, [offered, choice.hidden, sort?.column]);
  const titleAt = (c: number) => titles?.[table.columns[c]!.name] ?? titleOf(table.columns[c]!.name);
  const heads = shown.map(titleAt);
  const rows = useMemo(
    () => sortRows(table, filterRows(table, filterKey.value, search), sort),
    [table, filterKey.value, sortKey.value],
  );
  const items = useMemo<Item[]>(
    () =>
      groupKey.value
        ? groupRows(table, rows, groupKey.value, sort, open, props.unsummed)
        : rows.map((row) => ({ kind: 'row', row })),
    [rows, groupKey.value, open],
  );
  const toggle = (key: string) => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  const clickHead = (name: string, numeric: boolean) => {
    const now = parseSort(sortKey.value);
    const descending = now?.column === name ? !now.descending : numeric;
    sortKey.value = (descending ? '-' : '') + name;
  };

  return (
    <div class="table-frame">
      <div class="table-tools">
        <SearchBox
          value={filterKey.value}
          onChange={(v) => (filterKey.value = v)}
          label={`Filter ${table.title ?? id}`}
        />
        {group && group.length > 0 && (
          <Select
            label="Group by"
            value={groupKey.value}
            onChange={(v) => (groupKey.value = v)}
            options={[
              { value: '', label: 'nothing' },
              ...group.map((g) => ({ value: g, label: titles?.[g] ?? titleOf(g) })),
            ]}
          />
        )}
        {props.tools}
        <div class="spacer" />
        <span class="muted" aria-live="polite">
          {rows.length === table.rows.length
            ? formatRows(rows.length)
            : `${formatCount(rows.length)} of ${formatRows(table.rows.length)}`}
        </span>
        <button
          type="button"
          class="button button-quiet"
          aria-pressed={exact.value !== ''}
          data-tip="Show numbers to the last digit"
          onClick={() => (exact.value = exact.value === '' ? '1' : '')}>
          Exact
        </button>
        <ColumnMenu
          id={id}
          sorted={sort?.column ?? null}
          columns={offered.map((c) => ({ name: table.columns[c]!.name, title: titleAt(c) }))}
        />
        <button
          type="button"
          class="button button-quiet"
          data-tip="Save the visible rows as CSV"
          onClick={() => download(`${id}.csv`, 'text/csv', toCsv(table, rows, shown))}>
          CSV
        </button>
        <button
          type="button"
          class="button button-quiet"
          data-tip="Save the visible rows as JSON"
          onClick={() => download(`${id}.json`, 'application/json', toJson(table, rows, shown))}>
          JSON
        </button>
        {props.exportUrl && (
          <a
            class="button button-quiet"
            href={props.exportUrl('csv')}
            download
            data-tip="All rows from the server, as CSV">
            All
          </a>
        )}
      </div>
      {table.rows.length === 0 ? (
        <Empty reason="No rows." />
      ) : (
        <Grid
          {...props}
          table={table}
          items={items}
          rows={rows}
          isExact={exact.value !== ''}
          fixed={choice.widths}
          shown={shown}
          heads={heads}
          sort={sort}
          onHead={clickHead}
          open={open}
          toggle={toggle}
          expand={expand}
        />
      )}
    </div>
  );
}

interface GridProps extends Omit<DataTableProps, 'sort'> {
  items: Item[];
  rows: readonly number[];
  isExact: boolean;
  /** widths by hand */
  fixed: Readonly<Record<string, number>>;
  shown: number[];
  heads: string[];
  sort: Sort | null;
  open: ReadonlySet<string>;
  onHead: (name: string, numeric: boolean) => void;
  toggle: (key: string) => void;
}

function Grid(props: GridProps) {
  const { table, items, shown, heads, expand, open, toggle, onRow, sort } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useKept(`${props.id}.active`, -1);
  const keyOf = (i: number) => {
    const item = items[i];
    return item === undefined ? String(i) : item.kind === 'row' ? `r${item.row}` : `g${item.key}`;
  };
  const virtual = useVirtual(scroller, items.length, rowHeight, keyOf);
  const widths = useMemo(
    () => columnWidths(table, shown, heads, digitWidth(), props.fixed),
    [table, shown, props.fixed],
  );

  useLayoutEffect(() => {
    scroller.current!.scrollTop = recall(`${props.id}.scroll`, 0);
  }, []);
  const wish = useMemo(() => {
    const { jump = (row) => wishOf(table, row) } = props;
    return jump || (() => null);
  }, [table, props.jump]);
  const linkAt = linkColumn(table, shown);
  const sortedAt = shown.find((c) => table.columns[c]!.name === sort?.column) ?? -1;
  const sums = useMemo(() => totalsOf(table, props.rows, props.unsummed), [table, props.rows]);
  const hasSums = props.rows.length > 1 && shown.some((c, i) => i > 0 && sums[c] !== null);
  const lead = useLeadWidth(scroller, [shown, widths]);

  const act = (item: Item | undefined) => {
    if (!item) return;
    if (item.kind === 'group') return toggle(item.key);
    const row = table.rows[item.row]!;
    if (expand) toggle(`row ${item.row}`);
    onRow?.(row, item.row);
    if (!expand && !onRow) follow(item);
  };
  /** To the event in the timeline; false: the row stands for none. */
  const follow = (item: Item): boolean => {
    const to = item.kind === 'row' ? wish(table.rows[item.row]!) : null;
    if (to) go(to);
    return to !== null;
  };
  /** Undefined: neither open nor closed. */
  const isOpen = (item: Item | undefined): boolean | undefined => {
    if (item?.kind === 'group') return item.open;
    return item && expand ? open.has(`row ${item.row}`) : undefined;
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== scroller.current) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 2);
    const steps: Record<string, number> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const item = items[active];
    if (event.key in steps) {
      const next = Math.max(0, Math.min(items.length - 1, active + steps[event.key]!));
      setActive(next);
      virtual.scrollToIndex(next, { align: 'auto' });
    } else if (event.key === 'Enter' && item && !onRow && follow(item)) keep(`${props.id}.active`, active);
    else if (event.key === 'Enter' || event.key === ' ') act(item);
    else if (event.key === 'ArrowRight' && isOpen(item) === false) act(item);
    else if (event.key === 'ArrowLeft' && isOpen(item)) act(item);
    else return;
    event.preventDefault();
  };

  return (
    <div
      class="table"
      ref={scroller}
      role={expand || items[0]?.kind === 'group' ? 'treegrid' : 'grid'}
      tabIndex={0}
      aria-label={table.title ?? titleOf(table.name)}
      aria-rowcount={items.length + (hasSums ? 2 : 1)}
      aria-colcount={shown.length}
      onKeyDown={onKey}
      onScroll={(e) => keep(`${props.id}.scroll`, e.currentTarget.scrollTop)}
      aria-activedescendant={active >= 0 ? `${props.id}-row-${active}` : undefined}
      style={{
        '--columns': widths.template,
        '--minimum': `${widths.minimum}px`,
        '--lead': `${lead}px`,
        maxHeight: props.isFixed ? `${props.height}px` : `max(${props.height ?? 520}px, calc(100vh - 150px))`,
      }}
      onCopy={(e) => copyFull(e, scroller.current!, table, items[active], shown)}>
      <HeadRow
        id={props.id}
        table={table}
        shown={shown}
        heads={heads}
        sort={sort}
        lead={linkAt}
        onHead={props.onHead}
      />
      <div class="table-body" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map((at) => {
          const item = items[at.index];
          if (!item) return null;
          const opened = item.kind === 'row' && open.has(`row ${item.row}`);
          return (
            <div
              key={at.key}
              class="table-slot"
              data-index={at.index}
              style={{ transform: `translateY(${at.start}px)` }}
              ref={expand ? (element: HTMLElement | null) => virtual.measureElement(element) : undefined}>
              <Row
                {...props}
                wish={wish}
                linkAt={linkAt}
                sortedAt={sortedAt}
                item={item}
                index={at.index}
                active={at.index === active}
                opened={opened}
                onClick={() => {
                  if (isMarkingText()) return;
                  setActive(at.index);
                  keep(`${props.id}.active`, at.index);
                  act(item);
                }}
              />
              {opened && expand && <div class="table-detail">{expand(table.rows[item.row]!)}</div>}
            </div>
          );
        })}
      </div>
      {hasSums && (
        <div class="table-row table-foot" role="row" aria-rowindex={items.length + 2}>
          <div role="gridcell" class="cell" style={{ gridColumn: `span ${roomBefore(shown, sums)}` }}>
            Total of {formatRows(props.rows.length)}
          </div>
          <Sums
            table={table}
            of={shown.slice(roomBefore(shown, sums))}
            sums={sums}
            rows={props.rows.length}
            isExact={props.isExact}
            linkAt={linkAt}
            sortedAt={sortedAt}
          />
        </div>
      )}
    </div>
  );
}
