// All that is known about the selected event: times, arguments, its parents, and what it is linked with.
// Everything that has a place on the timeline is a button that goes there.
import { objects, tableOf, type CellValue, type Result, type Table } from '../api';
import { Empty, ErrorBox, Loading } from '../components';
import { exactCell, formatCell, formatCount, formatDuration, titleOf } from '../format';
import { focusSelection, goToEvent, goToId } from './actions';
import { CATEGORIES } from './colors';
import { refOf } from './requests';
import type { Store } from './store';

/** Columns that say track: for programs. */
const INNER = new Set(['track', 'row', 'trace', 'name', 'id', 'phase']);

function optional(result: Result, name: string): Table | null {
  return result.tables.find((t) => t.name === name) ?? null;
}

/** A row that is an event somewhere on the timeline. */
function Jump({ store, row }: { store: Store; row: Record<string, CellValue> }) {
  const name = String(row.name ?? '');
  const { id } = row;
  if (typeof id !== 'number') return <span>{name}</span>;
  const event = refOf(row);
  const length = typeof row.dur === 'number' ? `${formatDuration(row.dur)} · ` : '';
  return (
    <button
      type="button"
      class="tl-jump"
      data-tip={`${name}\n${length}show and select`}
      onClick={() => (event ? goToEvent(store, event) : void goToId(store, id))}>
      {name}
    </button>
  );
}

/** file:line of a Python frame. */
function Source({ row }: { row: Record<string, CellValue> }) {
  if (typeof row.source !== 'string') return null;
  return (
    <span class="tl-dim tl-source" data-tip={row.source}>
      {row.source.replace(/^.*\//, '')}
      {typeof row.line === 'number' ? `:${row.line}` : ''}
    </span>
  );
}

function Fields({ table }: { table: Table }) {
  const row = table.rows[0];
  if (!row) return null;
  return (
    <dl class="tl-fields">
      {table.columns.map((column, i) => {
        const value = row[i] ?? null;
        if (INNER.has(column.name) || value === null) return null;
        return (
          <div key={column.name}>
            <dt data-tip={column.help}>{titleOf(column.name)}</dt>
            <dd data-tip={exactCell(value, column)}>{formatCell(value, column)}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function Args({ table }: { table: Table | null }) {
  if (!table || table.rows.length === 0) return <p class="tl-none">No arguments.</p>;
  return (
    <dl class="tl-fields tl-args">
      {objects(table).map((row, i) => (
        <div key={i}>
          <dt>{String(row.key)}</dt>
          <dd>{String(row.value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Stack({ store, table }: { store: Store; table: Table | null }) {
  if (!table || table.rows.length === 0) return <p class="tl-none">No parents.</p>;
  return (
    <ol class="tl-stack">
      {objects(table).map((row, i) => (
        <li key={i}>
          <Jump store={store} row={row} />
          <Source row={row} />
          {typeof row.dur === 'number' && <span class="tl-dim">{formatDuration(row.dur)}</span>}
        </li>
      ))}
    </ol>
  );
}

function Links({ store, table }: { store: Store; table: Table | null }) {
  if (!table || table.rows.length === 0) return <p class="tl-none">No links.</p>;
  return (
    <ul class="tl-links">
      {objects(table).map((row, i) => (
        <li key={i}>
          <span class="tl-link-kind">{titleOf(String(row.relation ?? ''))}</span>
          <Jump store={store} row={row} />
          {typeof row.dur === 'number' && <span class="tl-dim">{formatDuration(row.dur)}</span>}
        </li>
      ))}
    </ul>
  );
}

export function Details({ store }: { store: Store }) {
  const selection = store.selection.value;
  const details = store.details.value;
  if (selection.kind !== 'event') {
    return <Empty reason="Click a slice for details; drag over tracks for totals; press ? for all keys." />;
  }
  const { event } = selection;
  const result = details?.result ?? null;
  return (
    <div class="tl-details">
      <header class="tl-details-head">
        <span class={`tl-swatch tl-cat-${event.category}`} aria-hidden="true" />
        <h2>{event.name}</h2>
        <span class="tl-dim">{CATEGORIES[event.category]}</span>
        {event.events > 1 && (
          <span class="tl-dim">
            the longest of {formatCount(event.events)} that lie together there: zoom in for the others
          </span>
        )}
        <button
          type="button"
          class="button button-quiet"
          data-tip="Center it; again: zoom to it (F)"
          onClick={() => focusSelection(store)}>
          Focus
        </button>
      </header>
      {details?.error && <ErrorBox message={details.error} />}
      {!result && !details?.error && <Loading run={null} height={80} />}
      {result && (
        <div class="tl-columns">
          <section>
            <h3>Event</h3>
            <Fields table={tableOf(result, 'event')} />
          </section>
          <section>
            <h3>Arguments</h3>
            <Args table={optional(result, 'args')} />
          </section>
          <section>
            <h3>Links</h3>
            <Links store={store} table={optional(result, 'links')} />
            <h3>Enclosing events</h3>
            <Stack store={store} table={optional(result, 'stack')} />
          </section>
        </div>
      )}
    </div>
  );
}
