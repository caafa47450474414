// What the browser tests share: one browser for all files (browser.ts starts it), pages that must not complain,
// and the program's own answers to compare with. Nothing here waits for a time: it waits for a state.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import type { Column, Result, Table } from '../src/api';
import { formatCell } from '../src/format';

const need = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run tests/integration/test_web.py`);
  return value;
};

/** Where `kino serve` listens on the run of several ranks, on the folder of several runs. */
export const url = need('KINO_URL');
export const manyUrl = need('KINO_MANY_URL');
/** ... on the first one again, below a path (without its last slash). */
export const belowUrl = need('KINO_BELOW_URL');
/** ... and on a run of many ranks. */
export const wideUrl = need('KINO_WIDE_URL');
export const wideFolder = need('KINO_WIDE');
/** ... and on one trace of a host alone that was cut off, without steps and memory. */
export const bareUrl = need('KINO_BARE_URL');
/** ... and on runs with a known truth. */
export const plantedUrl = need('KINO_PLANTED_URL');
export const plantedFolder = need('KINO_PLANTED');
/** The traces behind them. */
export const folder = need('KINO_RUN');
export const manyFolder = need('KINO_MANY');

let browser: Browser;
beforeAll(async () => {
  browser = await chromium.connect(inject('browser'));
});
afterAll(() => browser.close());

export interface Opened {
  page: Page;
  context: BrowserContext;
  complaints: string[];
  close: () => Promise<void>;
}

export interface Options {
  dark?: boolean;
  base?: string;
  width?: number;
  height?: number;
  /** before the page is opened, such as routes */
  prepare?: (page: Page) => Promise<unknown>;
}

/** Requests of a page that are not answered yet. */
const asked = new WeakMap<Page, Set<Request>>();

/** A page that remembers every error it prints; close() fails the test when there was one. */
export async function open(hash: string, options: Options = {}): Promise<Opened> {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    colorScheme: options.dark ? 'dark' : 'light',
    acceptDownloads: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // a busy machine
  const complaints: string[] = [];
  const waiting = new Set<Request>();
  asked.set(page, waiting);
  const base = options.base ?? url;
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') complaints.push(m.text());
  });
  page.on('pageerror', (e) => complaints.push(e.message));
  page.on('request', (r) => {
    // the list of runs is asked for again and again: nothing waits for it once the page is there
    if (!/\/api\/v1\/runs$/.test(r.url())) waiting.add(r);
    if (!r.url().startsWith(base) && !/^(data|blob):/.test(r.url()))
      complaints.push(`asked elsewhere: ${r.url()}`);
  });
  page.on('requestfinished', (r) => waiting.delete(r));
  page.on('requestfailed', (r) => {
    waiting.delete(r);
    if (r.failure()?.errorText !== 'net::ERR_ABORTED')
      complaints.push(`${r.url()}: ${r.failure()?.errorText}`);
  });
  page.on('response', (r) => {
    if (r.status() >= 400) complaints.push(`${r.url()}: ${r.status()}`);
  });
  await options.prepare?.(page);
  await page.goto(`${base}/#/${hash}`);
  await settled(page);
  const close = async () => {
    await context.close();
    expect(complaints).toEqual([]);
  };
  return { page, context, complaints, close };
}

/** Another page of the same window, as the side bar does it. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, `#/${hash}`);
  await settled(page);
}

const isShown = () =>
  document.querySelector('main h1') !== null &&
  document.querySelector('[aria-busy="true"], .loading') === null;

/** The page is there, nothing is loading, and what came has been drawn. */
export async function settled(page: Page): Promise<void> {
  const waiting = asked.get(page)!;
  const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const end = Date.now() + 45_000;
  for (;;) {
    if (waiting.size === 0) {
      await page.evaluate(frames);
      if (waiting.size === 0 && (await page.evaluate(isShown))) return;
    }
    if (Date.now() > end) {
      const what =
        [...waiting].map((r) => r.url()).join(' ') || (await page.locator('main').innerText()).slice(0, 300);
      throw new Error(`${page.url()} is still waiting: ${what}`);
    }
    await new Promise((done) => setTimeout(done, 20));
  }
}

const run = promisify(execFile);
const answers = new Map<string, Promise<unknown>>();

export function ask<T = Result>(...args: string[]): Promise<T> {
  const key = args.join('\0');
  let answer = answers.get(key);
  if (!answer) {
    answer = run(need('KINO'), [...args, '--format', 'json', '--quiet'], { maxBuffer: 1 << 30 }).then(
      ({ stdout }) => JSON.parse(stdout) as unknown,
    );
    answers.set(key, answer);
  }
  return answer as Promise<T>;
}

/** The answer of `kino analyze` itself. */
export const analyze = (name: string, ...args: string[]): Promise<Result> =>
  ask('analyze', name, folder, ...args);

/** The answer of `kino diff`. */
export const diff = (left: string, right: string, ...args: string[]): Promise<Result> =>
  ask('diff', left, right, ...args);

/** Rows of `kino query` as texts. */
export async function query(sql: string, trace = folder): Promise<string[][]> {
  const table = (await ask('query', trace, sql)).tables[0]!;
  return table.rows.map((row) => row.map((v) => (v === null ? '' : String(v))));
}

export function tableOf(result: Result, name: string): Table {
  const found = result.tables.find((t) => t.name === name);
  if (!found) throw new Error(`${result.analysis} has no table ${name}`);
  return found;
}

export const columnOf = (table: Table, name: string): number =>
  table.columns.findIndex((c) => c.name === name);
export const cellText = (table: Table, row: number, name: string): string => {
  const c = columnOf(table, name);
  return formatCell(table.rows[row]![c] ?? null, table.columns[c] as Column);
};

/** Each saved row is a row of the table, in the columns that both have; columns that the page made itself are left out. */
export function expectRows(saved: Record<string, unknown>[], table: Table, count?: number): void {
  expect(saved.length).toBeGreaterThan(0);
  const shared = Object.keys(saved[0]!).filter((name) => columnOf(table, name) >= 0);
  expect(shared.length).toBeGreaterThan(1);
  const places = shared.map((name) => columnOf(table, name));
  const wanted = new Map<string, number>();
  for (const row of table.rows) {
    const key = JSON.stringify(places.map((p) => row[p]));
    wanted.set(key, (wanted.get(key) ?? 0) + 1);
  }
  const strange: string[] = [];
  for (const row of saved) {
    const key = JSON.stringify(shared.map((name) => row[name]));
    const left = wanted.get(key) ?? 0;
    if (left === 0) strange.push(key);
    wanted.set(key, left - 1);
  }
  expect(strange, `rows that ${table.name} does not have`).toEqual([]);
  if (count !== undefined) expect(saved.length).toBe(count);
}

export const frameOf = (page: Page, label: string): Locator =>
  page.locator('.table-frame', { has: page.locator(`[aria-label="${label}"]`) }).first();

/** The rows that a table on the page offers as JSON, as the user would save them. */
export const savedRows = (page: Page, label: string): Promise<Record<string, unknown>[]> =>
  savedFrom(page, frameOf(page, label));

export async function savedFrom(page: Page, frame: Locator): Promise<Record<string, unknown>[]> {
  return JSON.parse(await saved(page, frame.getByRole('button', { name: 'JSON' }))) as Record<
    string,
    unknown
  >[];
}

/** What a click saves, as text. */
export async function saved(page: Page, what: Locator): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent('download'), what.click()]);
  const parts: Buffer[] = [];
  for await (const part of await download.createReadStream()) parts.push(Buffer.from(part as Buffer));
  return Buffer.concat(parts).toString('utf8');
}

/** The cells of the first rows of a table as they read, by the heads. */
export async function visibleRows(page: Page, label: string): Promise<Record<string, string>[]> {
  return page
    .locator(`[aria-label="${label}"]`)
    .first()
    .evaluate((grid) => {
      const heads = [...grid.querySelectorAll('[role=columnheader] button')].map((b) =>
        (b.firstChild?.textContent ?? '').trim(),
      );
      return [...grid.querySelectorAll('.table-body [role=row]')].map((row) =>
        Object.fromEntries(
          [...row.querySelectorAll('[role=gridcell]')].map((c, i) => [
            heads[i]!,
            // without the arrow into the timeline
            ((c.querySelector('.jump-cell > span') ?? c).textContent ?? '').trim(),
          ]),
        ),
      );
    });
}

/** What the address says. */
export const address = (page: Page): URLSearchParams =>
  new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '');
