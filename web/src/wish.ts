// What a link into the timeline is about: an event by its id, or by what is known of it where the id is not known or is that of
// other files. Tables say it with the units of their columns (include/kino/table.h).
import type { CellValue, Column, Table } from './api';
import { currentRun, hashOf, traces } from './state';

export interface Wish {
  id?: number;
  name?: string;
  /** its start */
  at?: number;
  rank?: number;
  /** number of a step of the rank */
  step?: number;
  /** the window to show it in, instead of one around it */
  from?: number;
  to?: number;
}

const UNIT_EVENT = 'event';
const UNIT_NAME = 'event name';

/** The keys of the timeline's address that say an event. */
export const WISH_KEYS = ['select', 'name', 'at', 'rank', 'step'] as const;

export function paramsOf(wish: Wish): Record<string, string> {
  const all: [string, string | number | undefined][] = [
    ['select', wish.id],
    ['name', wish.name],
    ['at', wish.at],
    ['rank', wish.rank],
    ['step', wish.step],
    ['from', wish.from === undefined ? undefined : Math.floor(wish.from)],
    ['to', wish.to === undefined ? undefined : Math.ceil(wish.to)],
  ];
  return Object.fromEntries(all.filter(([, value]) => value !== undefined).map(([k, v]) => [k, String(v)]));
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d{1,16}$/.test(text) ? Number(text) : undefined;

/** The event that an address is about; null: none. */
export function wishOfParams(params: Readonly<Record<string, string | undefined>>): Wish | null {
  const wish: Wish = {
    id: numberOf(params.select),
    name: params.name || undefined,
    at: numberOf(params.at),
    rank: numberOf(params.rank),
    step: numberOf(params.step),
  };
  return wish.id === undefined && wish.name === undefined && wish.step === undefined ? null : wish;
}

/** The trace of a wish, where it is known: its rank may be a label of several. */
function isChosen(wish: Wish): boolean {
  if (traces.value === null) return true;
  if (wish.id !== undefined) return traces.value.includes(Math.floor(wish.id / 2 ** 32));
  if (wish.rank === undefined) return true;
  const own = currentRun.value?.traces.filter((t) => t.rank === wish.rank) ?? [];
  return own.some((t) => traces.value!.includes(t.trace));
}

/** The address of the timeline with the event selected; workers that were left out come back if it is theirs. */
export function hrefOf(wish: Wish): string {
  return hashOf('timeline', paramsOf(wish), isChosen(wish) ? [] : ['trace']);
}

export function go(wish: Wish): void {
  location.hash = hrefOf(wish);
}

// ---- rows of tables

const firstId = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  const list: unknown = typeof value === 'string' && value.startsWith('[') ? JSON.parse(value) : value;
  return Array.isArray(list) && typeof list[0] === 'number' ? list[0] : undefined;
};

const find = (table: Table, holds: (c: Column) => boolean): number => table.columns.findIndex(holds);

interface Places {
  ids: number[];
  name: number;
  rank: number;
  step: number;
  time: number;
}

function findPlaces(table: Table): Places {
  const step = find(table, (c) => c.name === 'step');
  return {
    ids: table.columns.flatMap((c, i) => (c.unit === UNIT_EVENT ? [i] : [])),
    name: find(table, (c) => c.unit === UNIT_NAME),
    rank: find(table, (c) => c.name === 'rank'),
    // a row about a step: its own time or parts, nothing inside it
    step: step >= 0 && find(table, (c) => c.name === 'stream' || c.name === 'gap') < 0 ? step : -1,
    time: find(table, (c) => c.type === 'time' || c.name === 'ts'),
  };
}

const known = new WeakMap<readonly Column[], Places>();

function placesOf(table: Table): Places {
  let places = known.get(table.columns);
  if (!places) known.set(table.columns, (places = findPlaces(table)));
  return places;
}

/** Which event a row stands for: the first it names by id, else the one of its name, else its step. */
export function wishOf(table: Table, row: readonly CellValue[]): Wish | null {
  const { ids, name, rank, step, time } = placesOf(table);
  for (const at of ids) {
    const id = firstId(row[at]);
    if (id !== undefined) return { id };
  }
  const wish: Wish = typeof row[rank] === 'number' ? { rank: row[rank] } : {};
  if (typeof row[name] === 'string' && row[name] !== '') {
    if (typeof row[time] === 'number') wish.at = row[time];
    return { ...wish, name: row[name] };
  }
  const number = Number(row[step]);
  const isStep = step >= 0 && row[step] !== null && Number.isInteger(number);
  return isStep ? { ...wish, step: number } : null;
}

/** The column whose cells carry the link: that of the name, else the first text, else the first one. */
export function linkColumn(table: Table, shown: readonly number[]): number {
  const of = (holds: (c: Column) => boolean) => shown.find((i) => holds(table.columns[i]!));
  return (
    of((c) => c.unit === UNIT_NAME) ??
    of((c) => c.type === 'string' && /name|operator|^op$/.test(c.name)) ??
    of((c) => c.type === 'string') ??
    shown[0] ??
    -1
  );
}

/** Columns of SQL have no units: those that are called as in the tables of events are taken for it. */
export function withEvents(table: Table): Table {
  const unitOf = (c: Column): string | undefined => {
    if (c.unit !== undefined) return c.unit;
    if (/^(id|event|event_id|event_idx)$|_event$/.test(c.name)) return UNIT_EVENT;
    return /^(name|kernel|op|operator)$/.test(c.name) ? UNIT_NAME : undefined;
  };
  return { ...table, columns: table.columns.map((c) => ({ ...c, unit: unitOf(c) })) };
}
