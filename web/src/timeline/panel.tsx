// The panel below the tracks: details of an event, sums of an area, hits of the search. Its height can be
// dragged.
import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { CellValue, Result, Table } from '../api';
import { DataTable, Empty, ErrorBox, Loading, Tabs } from '../components';
import { formatCount, formatDuration } from '../format';
import { tracksText, trackName } from './actions';
import { togglePanel } from './choices';
import { Details } from './details';
import { search, showFound } from './search';
import type { Area, PanelTab, Store } from './store';

const AREA_TITLES: Record<string, string> = {
  slices: 'Slices by name',
  categories: 'Categories',
  tracks: 'Tracks',
  counters: 'Counters',
};

/** Without numbers that mean something only to programs. */
const AREA_COLUMNS: Record<string, string[]> = {
  tracks: ['rank', 'group', 'name', 'count', 'busy', 'utilisation'],
  counters: ['rank', 'name', 'unit', 'count', 'min', 'max', 'average', 'last'],
};

function AreaTables({
  store,
  area,
  result,
  height,
}: {
  store: Store;
  area: Area;
  result: Result;
  height: number;
}) {
  const chosen = useSignal('slices');
  const tables = result.tables.filter((t) => t.rows.length > 0);
  const table = tables.find((t) => t.name === chosen.value) ?? tables[0];
  if (!table) return <Empty reason="No events in this area." />;
  const nameAt = table.columns.findIndex((c) => c.name === 'name');
  const onRow =
    table.name === 'slices' && nameAt >= 0
      ? (row: CellValue[]): void => {
          store.tab.value = 'search';
          void search(store, String(row[nameAt]));
        }
      : undefined;
  return (
    <>
      <div class="tl-area-head">
        <Tabs
          label="Tables of the area"
          value={table.name}
          onChange={(id) => (chosen.value = id)}
          tabs={tables.map((t) => ({
            id: t.name,
            title: AREA_TITLES[t.name] ?? t.title ?? t.name,
            count: t.rows.length,
          }))}
        />
        <span class="tl-dim">
          {formatDuration(area.to - area.from)} on {tracksText(area.tracks.length)}
        </span>
      </div>
      <DataTable
        key={table.name}
        table={table}
        id={`area-${table.name}`}
        columns={AREA_COLUMNS[table.name]}
        onRow={onRow}
        isFixed
        height={Math.max(height - 128, 100)}
      />
    </>
  );
}

function AreaPanel({ store, height }: { store: Store; height: number }) {
  const selection = store.selection.value;
  const tables = store.areaTables.value;
  if (selection.kind !== 'area') return <Empty reason="Drag over the tracks to see totals." />;
  const { area } = selection;
  return (
    <div class="tl-area">
      {tables?.error && <ErrorBox message={tables.error} />}
      {tables && !tables.result && !tables.error && <Loading run={null} height={80} />}
      {tables?.result && <AreaTables store={store} area={area} result={tables.result} height={height} />}
    </div>
  );
}

/** The hits, with tracks by name. */
function namedTracks(store: Store, table: Table | null): Table {
  if (!table) return { name: 'found', columns: [], rows: [] };
  const at = table.columns.findIndex((c) => c.name === 'track');
  return {
    ...table,
    columns: table.columns.map((c, i) => (i === at ? { ...c, type: 'string', help: 'track' } : c)),
    rows: table.rows.map((row) => row.with(at, trackName(store, Number(row[at])))),
  };
}

function SearchPanel({ store, height }: { store: Store; height: number }) {
  const found = store.search.value;
  const table = useMemo(() => namedTracks(store, found.table), [found.table]);
  if (found.error) return <ErrorBox message={found.error} />;
  if (found.isPending) return <Loading run={null} height={80} />;
  if (found.query === '') return <Empty reason="Press / and type part of a name." />;
  if (found.events.length === 0) return <Empty reason={`No events match '${found.query}'.`} />;
  return (
    <div class="tl-area">
      {found.total > found.events.length && (
        <p class="tl-dim">
          The first {formatCount(found.events.length)} of {formatCount(found.total)}.
        </p>
      )}
      <DataTable
        table={table}
        id="found"
        isFixed
        height={Math.max(height - 92, 100)}
        columns={['start', 'dur', 'name', 'category', 'track']}
        selected={(_row, index) => index === found.at}
        onRow={(_row, index) => showFound(store, index)}
      />
    </div>
  );
}

const SMALLEST = 90;

export function BottomPanel({ store }: { store: Store }) {
  const height = useSignal(300);
  const drag = useRef<{ y: number; height: number } | null>(null);
  if (!store.isPanelOpen.value) {
    return (
      <button
        type="button"
        class="tl-reopen button button-quiet"
        onClick={() => togglePanel(store)}
        data-tip="Show the panel (Q)">
        ▴ Details
      </button>
    );
  }
  const resize = (to: number): void => {
    height.value = Math.min(Math.max(to, SMALLEST), Math.max(window.innerHeight - 260, SMALLEST));
  };
  const found = store.search.value;
  const tabs = [
    { id: 'details', title: 'Selection' },
    { id: 'area', title: 'Area' },
    { id: 'search', title: 'Search', count: found.query === '' ? undefined : found.total },
  ];
  return (
    <section class="tl-panel" aria-label="Details" style={{ height: `${height.value}px` }}>
      <div
        class="tl-splitter"
        role="separator"
        aria-orientation="horizontal"
        aria-label="Height of the panel"
        tabIndex={0}
        aria-valuenow={Math.round(height.value)}
        aria-valuemin={SMALLEST}
        aria-valuemax={2000}
        onPointerDown={(e) => {
          drag.current = { y: e.clientY, height: height.value };
          e.currentTarget.setPointerCapture(e.pointerId);
        }}
        onPointerMove={(e) => drag.current && resize(drag.current.height + drag.current.y - e.clientY)}
        onPointerUp={() => (drag.current = null)}
        onKeyDown={(e) => {
          if (e.key === 'ArrowUp') resize(height.value + 24);
          else if (e.key === 'ArrowDown') resize(height.value - 24);
          else return;
          e.preventDefault();
        }}
      />
      <div class="tl-panel-tabs">
        <Tabs
          tabs={tabs}
          value={store.tab.value}
          onChange={(id) => (store.tab.value = id as PanelTab)}
          label="Panel"
        />
        <button
          type="button"
          class="tl-icon"
          aria-label="Hide the panel"
          data-tip="Hide (Q)"
          onClick={() => togglePanel(store)}>
          ✕
        </button>
      </div>
      <div class="tl-panel-body">
        {store.tab.value === 'details' && <Details store={store} />}
        {store.tab.value === 'area' && <AreaPanel store={store} height={height.value} />}
        {store.tab.value === 'search' && <SearchPanel store={store} height={height.value} />}
      </div>
    </section>
  );
}
