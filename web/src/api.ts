// Every request to the server goes through here: addresses, waiting while a run is loaded, errors, the
// cache of results.
import { keepHint, keepHints, type Hint } from './hint';
import { run, runs, runVersion, span, traces, traceText } from './state';

export type CellValue = number | string | boolean | null;
export type ColumnType =
  | 'int'
  | 'float'
  | 'string'
  | 'bool'
  | 'duration'
  | 'time'
  | 'bytes'
  | 'percent'
  | 'json'
  | 'any';
export interface Column {
  name: string;
  type: ColumnType;
  unit?: string;
  help?: string;
}
export interface Table {
  name: string;
  title?: string;
  columns: Column[];
  rows: CellValue[][];
}
export interface Result {
  analysis: string;
  params: Record<string, CellValue>;
  input: { path: string; ranks: (number | null)[]; events: number; origin_ns?: string; notes: string[] };
  tables: Table[];
  truncated?: boolean;
}
export interface TraceInfo {
  trace: number;
  rank: number | null;
  worker: string | null;
  span: string | null;
  file: string;
  events: number | null;
}
export interface RunInfo {
  name: string;
  label: string;
  state: 'idle' | 'loading' | 'ready' | 'failed' | 'evicted';
  progress: number;
  what: string;
  error: string | null;
  bytes: number;
  changed?: string;
  spans: string[];
  span: string | null;
  origin_ns?: string | null;
  traces: TraceInfo[];
  events: number | null;
  warnings: string[];
}
export interface ParamInfo {
  name: string;
  type: ColumnType;
  default: string | null;
  help: string;
  choices?: string[];
}
export interface AnalysisInfo {
  name: string;
  help: string;
  description: string;
  compat: string[];
  steps?: boolean;
  params: ParamInfo[];
  tables: { name: string; title?: string; help: string; columns: Column[] }[];
}
export type Params = Record<string, string | number | boolean | undefined | null>;

export class ApiError extends Error {
  status: number;
  constructor(status: number, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
  }
}

/** Below the page itself, wherever a proxy or --base-path has put it. */
const base = 'api/v1/';

/** Which of run, span, trace a route takes; the server refuses what it does not know. */
function scopeOf(route: string): readonly ('run' | 'span' | 'trace')[] {
  if (/^(status|runs|analyses)$/.test(route)) return [];
  // A timeline has all traces and is asked for tracks; SQL sees the whole run.
  if (/^(load|diff|query|schema|timeline)\b/.test(route)) return ['run', 'span'];
  return ['run', 'span', 'trace'];
}

export function urlOf(route: string, params: Params = {}): string {
  const name = route.replace(/^\/?(api\/v1\/)?/, '');
  const all: Params = {};
  for (const key of scopeOf(name)) {
    if (key === 'run') all.run = run.peek();
    else if (key === 'span') all.span = span.peek();
    else all.trace = traces.peek() === null ? null : traceText(traces.peek()!);
  }
  // A run given by hand is another one: our span and traces do not belong to it.
  if (params.run !== undefined && params.run !== run.peek()) all.span = all.trace = undefined;
  if (params.rank !== undefined) all.trace = undefined;
  Object.assign(all, params);
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(all))
    if (value !== undefined && value !== null && value !== '') query.set(key, String(value));
  const text = query.toString().replaceAll('%2C', ',');
  return base + name + (text ? `?${text}` : '');
}

interface Waiting {
  state: string;
  progress: number;
  what: string;
}

/** When an answer showed that the run was there, by its name. */
const seenReady = new Map<string | null, number>();

function change(name: string | null, to: Partial<RunInfo>): void {
  runs.value = runs.peek().map((r) => (r.name === name ? { ...r, ...to } : r));
}

/** `since`: when it was asked. An answer that was on its way for long must not undo a newer one. */
function showProgress(name: string | null, now: Waiting, since: number): void {
  if ((seenReady.get(name) ?? -1) >= since) return;
  change(name, { state: 'loading', progress: now.progress ?? 0, what: now.what ?? '' });
}

/** It has come: the side bar need not wait for the next look at the list of runs. */
function showReady(name: string | null): void {
  seenReady.set(name, performance.now());
  const isLoading = runs.peek().some((r) => r.name === name && r.state === 'loading');
  if (isLoading) change(name, { state: 'ready', progress: 1 });
}

async function failure(response: Response): Promise<ApiError> {
  let message = `${response.status} ${response.statusText}`;
  try {
    const body = (await response.json()) as { error?: { message?: string; hint?: Hint } };
    if (body.error?.message) message = body.error.message;
    keepHint(message, body.error?.hint);
  } catch {
    // not JSON: the status line has to do
  }
  return new ApiError(response.status, message);
}

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}

const withParam = (url: string, key: string, value: string) =>
  `${url}${url.includes('?') ? '&' : '?'}${key}=${value}`;

/** Asks until the answer is not "still loading"; the server holds each further question for a second. */
async function ask(url: string, init: RequestInit, signal?: AbortSignal): Promise<Response> {
  const name = new URL(url, 'http://x').searchParams.get('run') ?? run.peek();
  for (let round = 0; ; round++) {
    const since = performance.now();
    let response: Response;
    try {
      response = await fetch(round ? withParam(url, 'wait', '1') : url, { ...init, signal });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'the server does not respond: is kino serve still running?');
    }
    if (response.status === 202) {
      showProgress(name, (await response.json()) as Waiting, since);
      await pause(round ? 50 : 0, signal);
      continue;
    }
    if (!response.ok) throw await failure(response);
    if (round > 0) showReady(name);
    return response;
  }
}

export async function get<T>(route: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  return keepHints((await (await ask(urlOf(route, params), {}, signal)).json()) as T);
}

export async function getBinary(
  route: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<ArrayBuffer> {
  return (await ask(urlOf(route, params), {}, signal)).arrayBuffer();
}

export async function post<T>(
  route: string,
  body: string,
  params: Params = {},
  signal?: AbortSignal,
): Promise<T> {
  const init = { method: 'POST', body, headers: { 'Content-Type': 'text/plain; charset=utf-8' } };
  return (await (await ask(urlOf(route, params), init, signal)).json()) as T;
}

// ---- results, each asked for once

interface Entry {
  promise: Promise<unknown>;
  stop: AbortController;
  users: number;
  done: boolean;
}
const cache = new Map<string, Entry>();
const cacheSize = 40;

export function forgetResults(): void {
  cache.clear();
  runVersion.value++;
}

/** A GET whose answer is kept until the run changes; the request stops when nobody waits for it any more. */
export function cached<T>(route: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const url = urlOf(route, params);
  let entry = cache.get(url);
  if (!entry) {
    const stop = new AbortController();
    const made: Entry = { promise: Promise.resolve(), stop, users: 0, done: false };
    made.promise = ask(url, {}, stop.signal)
      .then((r) => r.json())
      .then(keepHints)
      .then(
        (value: unknown) => {
          made.done = true;
          return value;
        },
        (error: unknown) => {
          if (cache.get(url) === made) cache.delete(url);
          throw error;
        },
      );
    made.promise.catch(() => undefined); // every user has its own handler
    entry = made;
  } else {
    cache.delete(url); // put last: the map's order is by use
  }
  cache.set(url, entry);
  if (cache.size > cacheSize) cache.delete(cache.keys().next().value!);
  return share<T>(url, entry, signal);
}

function share<T>(url: string, entry: Entry, signal?: AbortSignal): Promise<T> {
  entry.users++;
  return new Promise<T>((resolve, reject) => {
    signal?.addEventListener(
      'abort',
      () => {
        reject(signal.reason);
        if (--entry.users === 0 && !entry.done) {
          entry.stop.abort();
          if (cache.get(url) === entry) cache.delete(url);
        }
      },
      { once: true },
    );
    entry.promise.then((value) => resolve(value as T), reject);
  });
}

export function analyze(name: string, params: Params = {}, signal?: AbortSignal): Promise<Result> {
  return cached<Result>(`analyses/${name}`, params, signal);
}

// ---- tables

export function tableOf(result: Result, name?: string): Table {
  const table = name === undefined ? result.tables[0] : result.tables.find((t) => t.name === name);
  if (!table) throw new Error(`${result.analysis} has no table '${name ?? ''}'`);
  return table;
}

export function columnIndex(table: Table, name: string): number {
  return table.columns.findIndex((c) => c.name === name);
}

export function column<T extends CellValue>(table: Table, name: string): T[] {
  const at = columnIndex(table, name);
  if (at < 0) throw new Error(`table ${table.name} has no column '${name}'`);
  return table.rows.map((row) => row[at] as T);
}

export function objects(table: Table): Record<string, CellValue>[] {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((c, i) => [c.name, row[i] ?? null])));
}
