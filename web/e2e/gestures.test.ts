// Gestures of the timeline as in Perfetto, by what they change: window, selection, area, address.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { address, goTo, open, query, settled, type Opened } from './support';

let opened: Opened;
let page: Page;
beforeAll(async () => {
  opened = await open('timeline');
  page = opened.page;
});
afterAll(() => opened.close());

async function show(hash: string): Promise<void> {
  await goTo(page, 'analyses');
  await goTo(page, hash);
  await page.waitForFunction(() => window.__kinoFrames?.isSharp, undefined, { polling: 20 });
}
async function written(): Promise<URLSearchParams> {
  await page.waitForFunction(() => window.__kinoFrames?.isWritten, undefined, { polling: 20 });
  return address(page);
}
const shown = () => page.evaluate(() => ({ from: window.__kinoFrames!.from, to: window.__kinoFrames!.to }));
const selectedId = () => page.evaluate(() => window.__kinoFrames!.selected?.id ?? null);
const canvas = () => page.getByRole('application');

interface Kernel {
  id: number;
  ts: number;
  dur: number;
  next: number;
  nextTs: number;
}

/** A kernel in the middle of rank 0, and the one after it on the stream. */
async function kernel(): Promise<Kernel> {
  const rows = (
    await query(
      "SELECT id, ts, dur FROM event WHERE cat = 'kernel' AND rank = 0 AND stream = 7 ORDER BY ts LIMIT 2 OFFSET 300",
    )
  ).map((row) => row.map(Number));
  const [[id, ts, dur], [next, nextTs]] = rows as [number[], number[]];
  return { id: id!, ts: ts!, dur: dur!, next: next!, nextTs: nextTs! };
}

it('R makes an area of the slice, whose tracks have checkboxes', async () => {
  const { id, ts, dur } = await kernel();
  await show(`timeline?select=${id}`);
  await expect.poll(selectedId).toBe(id);
  await canvas().focus();
  await page.keyboard.press('r');
  const area = async () => (await written()).get('select') ?? '';
  await expect.poll(area).toMatch(new RegExp(`^${ts}~${ts + dur}~\\d+$`));
  const first = (await area()).split('~')[2]!;
  const box = page.getByRole('checkbox', { name: /In the selected area: thread.*main/ }).first();
  await box.scrollIntoViewIfNeeded();
  expect(await box.isChecked()).toBe(false);
  await box.check();
  await expect.poll(async () => (await area()).split('~')[2]).toMatch(new RegExp(`^0[,-]${first}$`));
  await settled(page);
  // the sums of both tracks are those of the server
  const [from, to, tracks] = (await area()).split('~');
  const answer = (await (
    await fetch(`${new URL(page.url()).origin}/api/v1/timeline/area?from=${from}&to=${to}&tracks=${tracks}`)
  ).json()) as { tables: { name: string; rows: unknown[][] }[] };
  const wanted = answer.tables.find((t) => t.name === 'tracks')!.rows.length;
  expect(wanted).toBe(2);
  await page.getByRole('tab', { name: /^Tracks/ }).click();
  expect(await page.locator('.tl-panel .table-body [role=row]').count()).toBe(wanted);
  await box.uncheck();
  await expect.poll(async () => (await area()).split('~')[2]).toBe(first);
});

it('F centers and keeps the zoom, F again fits the slice to the window', async () => {
  const { id, ts, dur } = await kernel();
  await show(`timeline?from=${ts - 30 * dur}&to=${ts + 10 * dur}&select=${id}`);
  await expect.poll(selectedId).toBe(id);
  await canvas().focus();
  await page.keyboard.press('f');
  const offMiddle = async () => Math.abs((await shown()).from + (await shown()).to - 2 * ts - dur);
  await expect.poll(offMiddle).toBeLessThan(dur / 10);
  const now = await shown();
  expect((now.to - now.from) / (40 * dur)).toBeCloseTo(1, 2);
  await page.keyboard.press('f');
  const share = async () => dur / ((await shown()).to - (await shown()).from);
  await expect.poll(share).toBeGreaterThan(0.89);
  expect(await share()).toBeLessThan(0.91);
});

it('. and , keep the zoom, however short the neighbor is', async () => {
  const { id, ts, next, nextTs } = await kernel();
  await show(`timeline?from=${ts - 40_000_000}&to=${ts + 40_000_000}&select=${id}`);
  await expect.poll(selectedId).toBe(id);
  const before = await shown();
  await canvas().focus();
  await page.keyboard.press('.');
  await expect.poll(selectedId).toBe(next);
  await written();
  const after = await shown();
  expect(after.to - after.from).toBe(before.to - before.from);
  expect(after.from).toBeLessThan(nextTs);
  expect(after.to).toBeGreaterThan(nextTs);
  await page.keyboard.press(',');
  await expect.poll(selectedId).toBe(id);
  expect((await shown()).to - (await shown()).from).toBe(before.to - before.from);
});

it('Esc takes back one thing at a time: drag, selection, mark, search, filter', async () => {
  const { id } = await kernel();
  await show(`timeline?select=${id}&q=aten%3A%3Amm&filter=stream`);
  await expect.poll(selectedId).toBe(id);
  await canvas().focus();
  await page.keyboard.press('m');
  const box = (await canvas().boundingBox())!;
  await page.mouse.move(box.x + 200, box.y + 60);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 100, { steps: 4 });
  await page.keyboard.press('Escape');
  await page.mouse.move(box.x + 520, box.y + 110);
  await page.mouse.up();
  const state = async () => {
    const at = await written();
    const marks = await page.evaluate(() => window.__kinoFrames!.marks.length);
    return [await selectedId(), marks, at.get('q'), at.get('filter')];
  };
  expect(await state()).toEqual([id, 1, 'aten::mm', 'stream']); // no area, and still selected
  for (const left of [
    [null, 1, 'aten::mm', 'stream'],
    [null, 0, 'aten::mm', 'stream'],
    [null, 0, null, 'stream'],
    [null, 0, null, null],
  ]) {
    await page.keyboard.press('Escape');
    await expect.poll(state).toEqual(left);
  }
});

it('Home shows the whole run, also when a button has the focus', async () => {
  await show('timeline');
  const whole = await shown();
  await show('timeline?from=1000000&to=20000000');
  await page.getByRole('button', { name: 'Critical path' }).focus();
  await page.keyboard.press('Home');
  await expect.poll(shown).toEqual(whole);
});

it('a kept mark is in the link and comes back', async () => {
  const { id, ts, dur } = await kernel();
  await show(`timeline?select=${id}`);
  await expect.poll(selectedId).toBe(id);
  await canvas().focus();
  await page.keyboard.press('Shift+M');
  await expect.poll(async () => (await written()).get('marks')).toBe(`${ts}~${ts + dur}`);
  await page.keyboard.press('Escape');
  await expect.poll(async () => (await written()).get('select')).toBeNull();
  const again = await open(new URL(page.url()).hash.slice(2));
  await expect
    .poll(() => again.page.evaluate(() => window.__kinoFrames?.marks))
    .toEqual([{ from: ts, to: ts + dur }]);
  await again.page.waitForFunction(() => window.__kinoFrames?.isWritten, undefined, { polling: 20 });
  expect(address(again.page).get('marks')).toBe(`${ts}~${ts + dur}`);
  await again.close();
});

it('Ctrl+P goes to a track, > to the commands, F1 to the keys', async () => {
  await show('timeline');
  await canvas().focus();
  await page.keyboard.press('Control+p');
  const dialog = () => page.getByRole('dialog').getAttribute('aria-label');
  await expect.poll(dialog).toBe('Tracks');
  await page.keyboard.type('rank 3 stream 7');
  await expect
    .poll(() => page.locator('.palette-list li span').first().innerText())
    .toMatch(/^Rank 3.*stream 7$/);
  await page.keyboard.press('Enter');
  const label = page.locator('.tl-labels .tl-label', { hasText: 'stream 7' }).last();
  const isInSight = async () => {
    const [row, stage] = [await label.boundingBox(), await page.locator('.tl-scroll').boundingBox()];
    return row !== null && row.y >= stage!.y && row.y < stage!.y + stage!.height;
  };
  await expect.poll(isInSight).toBe(true);
  await canvas().focus();
  await page.keyboard.press('>');
  await expect.poll(dialog).toBe('Commands');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  await page.keyboard.press('F1');
  await expect.poll(dialog).toBe('Keys');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
});
