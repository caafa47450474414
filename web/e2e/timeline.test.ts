// The timeline in a real browser: moving, searching, selecting, following links, and how fast it draws.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { address, goTo, open, query, settled, type Opened } from './support';

interface Window {
  from: number;
  to: number;
}

let opened: Opened;
let page: Page;
beforeAll(async () => {
  opened = await open('timeline');
  page = opened.page;
});
afterAll(() => opened.close());

/** The same window with another address; what was there before is gone. */
async function show(hash: string): Promise<void> {
  await goTo(page, 'analyses');
  await goTo(page, hash);
  await sharp(page);
}

const sharp = (on: Page) =>
  on.waitForFunction(
    () => document.querySelector('.tl') !== null && window.__kinoFrames?.isSharp,
    undefined,
    { timeout: 60_000, polling: 20 },
  );

/** What the address says, once it has come to rest. */
async function written(on: Page = page): Promise<URLSearchParams> {
  await on.waitForFunction(() => window.__kinoFrames?.isWritten, undefined, { polling: 20 });
  return address(on);
}

const shownWindow = (): Promise<Window> =>
  page.evaluate(() => ({ from: window.__kinoFrames!.from, to: window.__kinoFrames!.to }));
const length = (w: Window): number => w.to - w.from;
const canvas = (on: Page = page) => on.getByRole('application');
const details = (on: Page = page) => on.locator('.tl-panel');
const counter = () => page.locator('.tl-search .tl-count');

/** Holds a key until the picture shows what was to happen. */
async function hold(key: string, until: (now: Window) => boolean): Promise<Window> {
  await page.keyboard.down(key);
  await expect
    .poll(async () => until(await shownWindow()), { interval: 16, message: `holding ${key}` })
    .toBe(true);
  await page.keyboard.up(key);
  // what was held glides to its end: the address is written then
  await written();
  return shownWindow();
}

describe('moving', () => {
  it('W and S zoom, A and D pan, Home shows everything', async () => {
    await show('timeline');
    const extent = 'SELECT min(ts), max(ts + coalesce(dur, 0)) FROM event';
    // marks and spans of the profiler itself may reach beyond the work
    const whole = (await query(`${extent} WHERE ph = 'X' AND cat <> 'Trace'`))[0]!.map(Number);
    const all = await shownWindow();
    expect(all.from).toBeLessThanOrEqual(whole[0]!);
    expect(all.to).toBeGreaterThanOrEqual(whole[1]!);
    await canvas().hover({ position: { x: 500, y: 120 } });
    const closer = await hold('w', (now) => length(now) < length(all) * 0.8);
    const right = await hold('d', (now) => now.from > closer.from);
    expect(Math.abs(length(right) - length(closer))).toBeLessThan(3);
    const left = await hold('a', (now) => now.from < right.from);
    await hold('s', (now) => length(now) > length(left) * 1.05);
    await page.keyboard.press('Home');
    await expect.poll(async () => (await written()).has('from')).toBe(false);
    expect(await shownWindow()).toEqual(all);
    await page.keyboard.press('Home');
    const [first, last] = (await query(extent))[0]!.map(Number);
    await expect.poll(async () => (await shownWindow()).to).toBeGreaterThanOrEqual(last!);
    expect((await shownWindow()).from).toBeLessThanOrEqual(first!);
  });

  it('Ctrl and the wheel zoom where the mouse is', async () => {
    await show('timeline?from=0&to=100000000');
    const box = (await canvas().boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + 120);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -240);
    await page.keyboard.up('Control');
    await expect.poll(async () => length(await shownWindow())).toBeLessThan(90_000_000);
    const now = await shownWindow();
    expect(now.from).toBeGreaterThan(0);
    expect(Math.abs((now.from + now.to) / 2 - 50_000_000)).toBeLessThan(length(now) / 50);
  });

  it('Shift and dragging pan', async () => {
    await show('timeline?from=50000000&to=100000000');
    const box = (await canvas().boundingBox())!;
    await page.keyboard.down('Shift');
    await page.mouse.move(box.x + 500, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 300, box.y + 200, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    const by = (200 / box.width) * 50_000_000;
    await expect
      .poll(async () => Math.abs((await shownWindow()).from - 50_000_000 - by))
      .toBeLessThan(50_000_000 / box.width + 1);
  });

  it('a double click fills the window with the slice', async () => {
    const [ts, dur] = (
      await query(
        "SELECT ts, dur FROM event WHERE name = 'ProfilerStep#4' AND cat = 'user_annotation' ORDER BY trace LIMIT 1",
      )
    )[0]!.map(Number);
    await show('timeline');
    const all = await shownWindow();
    const box = (await canvas().boundingBox())!;
    const x = ((ts! + dur! / 2 - all.from) / length(all)) * box.width;
    // the first row of the first thread lies below two heads of groups
    await canvas().dblclick({ position: { x, y: 58 } });
    await expect.poll(async () => length(await shownWindow())).toBeLessThan(dur! * 1.2);
    expect((await shownWindow()).from).toBeLessThanOrEqual(ts!);
  });
});

describe('finding and selecting', () => {
  it('/ searches: the count is that of SQL, Enter and the buttons go from hit to hit', async () => {
    await show('timeline');
    await page.keyboard.press('/');
    await page.keyboard.type('aten::addmm');
    await page.keyboard.press('Enter');
    const total = Number(
      (await query("SELECT count(*) FROM event WHERE ph = 'X' AND name LIKE '%aten::addmm%'"))[0]![0],
    );
    expect(total).toBeGreaterThan(2);
    const nth = (n: number) => `${n} / ${total.toLocaleString('en-US')}`;
    await expect.poll(() => counter().innerText()).toBe(nth(1));
    await expect.poll(async () => (await written()).get('select')).toMatch(/^\d+$/);
    const first = (await written()).get('select');
    await page.keyboard.press('Enter');
    await expect.poll(() => counter().innerText()).toBe(nth(2));
    await expect.poll(async () => (await written()).get('select')).not.toBe(first);
    const second = (await written()).get('select');
    await page.keyboard.press('Shift+Enter');
    await expect.poll(async () => (await written()).get('select')).toBe(first);
    await page.getByRole('button', { name: 'Next match' }).click();
    await expect.poll(async () => (await written()).get('select')).toBe(second);
    await page.getByRole('button', { name: 'Previous match' }).click();
    await page.getByRole('button', { name: 'Previous match' }).click();
    await expect.poll(() => counter().innerText()).toBe(nth(total <= 1000 ? total : 1000));
  });

  it('a kernel shows its arguments and an arrow from its launch; ] and [ follow it', async () => {
    const [id, name, correlation, launch] = (
      await query(
        "SELECT k.id, k.name, k.correlation, r.id FROM event k JOIN event r ON r.trace = k.trace AND r.correlation = k.correlation AND r.cat = 'cuda_runtime' " +
          "WHERE k.cat = 'kernel' ORDER BY k.ts LIMIT 1 OFFSET 40",
      )
    )[0]!;
    await show(`timeline?select=${id}`);
    await expect.poll(() => details().innerText()).toContain(name);
    await expect.poll(() => details().innerText()).toContain(correlation!);
    await expect.poll(() => details().innerText()).toMatch(/launched by/i);
    await expect.poll(() => page.evaluate(() => window.__kinoFrames!.arrows)).toBeGreaterThan(0);
    await canvas().focus();
    await page.keyboard.press('[');
    await expect.poll(async () => (await written()).get('select')).toBe(launch);
    await page.keyboard.press(']');
    await expect.poll(async () => (await written()).get('select')).toBe(id);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate(() => window.__kinoFrames!.arrows)).toBe(0);
  });

  it('an operator has an arrow to its backward', async () => {
    // a flow begins at the slice that starts where it does
    const [id] = (
      await query(
        "SELECT e.id FROM (SELECT trace, tid, ts FROM event WHERE ph = 's' AND name = 'fwdbwd' ORDER BY ts LIMIT 1 OFFSET 20) s " +
          "JOIN event e ON e.trace = s.trace AND e.tid = s.tid AND e.ph = 'X' AND e.cat = 'cpu_op' AND e.ts = s.ts",
      )
    )[0]!;
    await show(`timeline?select=${id}`);
    await expect.poll(() => details().innerText()).toMatch(/backward/i);
    await expect.poll(() => page.evaluate(() => window.__kinoFrames!.arrows)).toBeGreaterThan(0);
  });

  it('. and , go to the neighbours of a slice', async () => {
    const rows = await query(
      "SELECT id FROM event WHERE cat = 'user_annotation' AND name LIKE 'ProfilerStep%' AND trace = 0 ORDER BY ts LIMIT 2",
    );
    const [[a], [b]] = rows as [string[], string[]];
    await show(`timeline?select=${a}`);
    await expect.poll(() => details().innerText()).toContain('ProfilerStep');
    await canvas().focus();
    await page.keyboard.press('.');
    await expect.poll(async () => (await written()).get('select')).toBe(b);
    await page.keyboard.press(',');
    await expect.poll(async () => (await written()).get('select')).toBe(a);
    await page.keyboard.press('Escape');
    await expect.poll(async () => (await written()).get('select')).toBeNull();
  });

  it('F goes to the selection', async () => {
    const [id, ts, dur] = (
      await query(
        "SELECT id, ts, dur FROM event WHERE name = 'ProfilerStep#4' AND cat = 'user_annotation' LIMIT 1",
      )
    )[0]!.map(Number);
    await show(`timeline?from=0&to=${ts! + 2 * dur!}&select=${id}`);
    await expect.poll(() => details().innerText()).toContain('ProfilerStep#4');
    await canvas().focus();
    await page.keyboard.press('f');
    await expect
      .poll(async () => {
        const w = await shownWindow();
        return Math.abs((w.from + w.to) / 2 - ts! - dur! / 2) / length(w);
      })
      .toBeLessThan(0.05);
    const now = await shownWindow();
    expect(now.from).toBeLessThanOrEqual(ts!);
    expect(now.to).toBeGreaterThanOrEqual(ts! + dur!);
  });

  it('a link to an event shows it with its surroundings', async () => {
    const [id, ts, dur] = (
      await query(
        "SELECT id, ts, dur FROM event WHERE cat = 'kernel' AND trace = 1 ORDER BY ts LIMIT 1 OFFSET 500",
      )
    )[0]!.map(Number);
    await show(`timeline?select=${id}`);
    await expect.poll(async () => length(await shownWindow()) / dur!).toBeLessThan(201);
    const now = await shownWindow();
    expect(length(now)).toBeGreaterThanOrEqual(dur! * 7.9);
    expect(Math.abs((now.from + now.to) / 2 - ts! - dur! / 2)).toBeLessThan(length(now) / 10);
  });

  it('dragging selects an area with its sums', async () => {
    await show('timeline');
    const box = (await canvas().boundingBox())!;
    await page.mouse.move(box.x + 300, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + 600, box.y + 300, { steps: 8 });
    await page.mouse.up();
    await settled(page);
    await expect.poll(async () => (await written()).get('select')).toMatch(/~.*~./);
    const [from, to, tracks] = (address(page).get('select') ?? '').split('~');
    expect(Number(to)).toBeGreaterThan(Number(from));
    const area = (await (
      await fetch(`${new URL(page.url()).origin}/api/v1/timeline/area?from=${from}&to=${to}&tracks=${tracks}`)
    ).json()) as { tables: { name: string; columns: { name: string }[]; rows: unknown[][] }[] };
    const slices = area.tables.find((t) => t.name === 'slices')!;
    const longest = [...slices.rows].sort(
      (a, b) => Number(b[at(slices, 'total')]) - Number(a[at(slices, 'total')]),
    )[0]!;
    await expect
      .poll(() => details().innerText())
      .toContain(String(longest[at(slices, 'name')]).slice(0, 40));
  });
});

const at = (table: { columns: { name: string }[] }, name: string): number =>
  table.columns.findIndex((c) => c.name === name);

describe('the rest', () => {
  it('a link restores everything: window, selection, search, pinned tracks, closed groups, filter', async () => {
    const [id] = (
      await query("SELECT id FROM event WHERE cat = 'kernel' AND trace = 0 ORDER BY ts LIMIT 1 OFFSET 100")
    )[0]!;
    await show(`timeline?select=${id}&q=aten::mm`);
    await page
      .getByRole('button', { name: /^Pin to the top: stream 7/ })
      .first()
      .click();
    await expect.poll(() => page.locator('.tl-pins').innerText()).toMatch(/stream 7/);
    await page.getByRole('searchbox', { name: 'Filter tracks' }).fill('stream');
    await expect.poll(() => page.locator('.tl-labels').innerText()).not.toMatch(/thread/); // the rows have moved
    await page.getByRole('button', { name: /Rank 1/ }).click();
    await expect
      .poll(async () => [...(await written()).keys()].sort())
      .toEqual(['at', 'closed', 'filter', 'from', 'name', 'pins', 'q', 'run', 'select', 'to']);
    await settled(page);
    const again = await open(new URL(page.url()).hash.slice(2));
    await sharp(again.page);
    for (const part of ['.tl-pins', '.tl-labels', '.tl-panel', '.tl-search .tl-count'])
      await expect
        .poll(() => again.page.locator(part).innerText(), { message: part })
        .toBe(await page.locator(part).innerText());
    const now = await shownWindow();
    expect(await again.page.evaluate(() => window.__kinoFrames!.from)).toBeCloseTo(Math.floor(now.from), -1);
    expect(await again.page.locator('.tl-labels').innerText()).not.toMatch(/thread/);
    expect((await written(again.page)).toString()).toBe(address(page).toString());
    await again.close();
  });

  it('an area is restored too, and M keeps a mark', async () => {
    await show('timeline?from=1000000&to=30000000&select=2000000~20000000~0-4');
    await expect.poll(() => details().innerText()).toContain('18 ms');
    await canvas().focus();
    await page.keyboard.press('m');
    expect((await written()).get('select')).toBe('2000000~20000000~0-4');
    expect(await shownWindow()).toEqual({ from: 1000000, to: 30000000 });
  });

  it('one worker alone', async () => {
    await show('timeline');
    const worker = page.locator('aside').getByRole('combobox', { name: 'Worker' });
    await worker.selectOption({ label: 'rank 1' });
    await settled(page);
    await expect.poll(() => page.locator('.tl-labels').innerText()).not.toMatch(/Rank [023]/);
    expect(address(page).get('trace')).toBe('1');
    await worker.selectOption({ index: 0 });
    await expect.poll(() => page.locator('.tl-labels').innerText()).toMatch(/Rank 0/);
  });

  it('? shows the keys, Ctrl+Shift+P the commands', async () => {
    await show('timeline');
    await canvas().focus();
    await page.keyboard.press('?');
    await expect.poll(() => page.getByRole('dialog').innerText()).toMatch(/zoom/i);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('Control+Shift+P');
    const box = page.getByRole('dialog').locator('input');
    await expect.poll(() => box.evaluate((input) => input === document.activeElement)).toBe(true);
    await page.keyboard.type('kernels');
    await expect.poll(() => box.inputValue()).toBe('kernels');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('h1').innerText()).toBe('Kernels');
  });

  it('the visible window can be downloaded and read again', async () => {
    await show('timeline?from=1000000&to=20000000');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download window' }).click(),
    ]);
    const path = join(tmpdir(), `kino-window-${process.pid}.json.gz`);
    await download.saveAs(path);
    const events = Number((await query('SELECT count(*) FROM event', path))[0]![0]);
    rmSync(path);
    expect(events).toBeGreaterThan(10);
    expect(events).toBeLessThan(Number((await query('SELECT count(*) FROM event'))[0]![0]));
  });

  it('draws while panning (measured, not asserted)', async () => {
    await show('timeline?from=10000000&to=60000000');
    await page.setViewportSize({ width: 2000, height: 1100 });
    await canvas().hover({ position: { x: 800, y: 200 } });
    const before = await page.evaluate(() => ({ at: performance.now(), ...window.__kinoFrames! }));
    for (const key of ['d', 'w', 'a', 's']) {
      await page.keyboard.down(key);
      await page.waitForTimeout(400); // how long is measured, nothing is decided by it
      await page.keyboard.up(key);
    }
    const after = await page.evaluate(() => ({ at: performance.now(), ...window.__kinoFrames! }));
    const frames = after.frames - before.frames;
    console.log(
      `timeline: ${(frames / ((after.at - before.at) / 1000)).toFixed(0)} frames/s over everything, ` +
        `${((after.drawMs - before.drawMs) / frames).toFixed(2)} ms a frame in script, worst ${after.worstMs.toFixed(1)} ms, ` +
        `first paint ${before.firstPaint?.toFixed(0)} ms after the page was opened`,
    );
    expect(frames).toBeGreaterThan(0);
  });
});
