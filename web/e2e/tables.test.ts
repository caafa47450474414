// Tables as people use them: names that can be read, columns that are wide, hidden or stay in sight, exact values, sums.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import {
  address,
  analyze,
  columnOf,
  frameOf,
  goTo,
  open,
  settled,
  tableOf,
  visibleRows,
  type Opened,
} from './support';

let opened: Opened;
let page: Page;
beforeAll(async () => {
  opened = await open('analyses');
  page = opened.page;
});
afterAll(() => opened.close());

const grid = (label: string) =>
  page.locator(`[aria-label="${label}"][role=grid], [aria-label="${label}"][role=treegrid]`).first();
const head = (name: string) => page.getByRole('columnheader', { name }).first();

it('names of kernels are folded; tip and copy have all of them', async () => {
  const kernels = tableOf(await analyze('kernels'), 'kernels');
  const names = kernels.rows.map((row) => String(row[columnOf(kernels, 'name')]));
  const whole = names.find((name) => /vectorized_elementwise_kernel<.*CUDAFunctor_add/.test(name))!;
  await goTo(page, 'kernels?kernels.filter=CUDAFunctor_add');
  const cell = grid('Kernels').locator('[data-full]').first();
  expect(await cell.locator('.jump-cell > span').innerText()).toMatch(
    /^vectorized_elementwise_kernel<CUDAFunctor_add…>$/,
  );
  expect(await cell.getAttribute('data-tip')).toContain(whole);
  expect(await cell.getAttribute('data-full')).toBe(whole);
  await grid('Kernels').focus();
  await page.keyboard.press('ArrowDown');
  const copied = () =>
    grid('Kernels').evaluate((g) => {
      const data = new DataTransfer();
      g.dispatchEvent(new ClipboardEvent('copy', { clipboardData: data, bubbles: true, cancelable: true }));
      return data.getData('text/plain');
    });
  expect((await copied()).split('\t')).toContain(whole);
  await cell.evaluate((c) => getSelection()!.selectAllChildren(c.querySelector('span span') ?? c));
  expect(await copied()).toBe(whole);
});

it('columns are resized by mouse and keys, hidden, and come back with the page', async () => {
  await goTo(page, 'kernels');
  const width = async () => (await head('Calls').boundingBox())!.width;
  const before = await width();
  const grip = (await head('Calls').locator('.grip').boundingBox())!;
  await page.mouse.move(grip.x + 3, grip.y + 5);
  await page.mouse.down();
  await page.mouse.move(grip.x + 83, grip.y + 5, { steps: 4 });
  await page.mouse.up();
  expect(Math.abs((await width()) - before - 80)).toBeLessThan(2);
  await head('Calls').getByRole('button').focus();
  await page.keyboard.press('Shift+ArrowLeft');
  expect(Math.abs((await width()) - before - 64)).toBeLessThan(2);
  await frameOf(page, 'Kernels').getByRole('button', { name: 'Columns' }).click();
  // the column that sorts cannot be hidden
  expect(await page.getByRole('checkbox', { name: 'Total', exact: true }).isDisabled()).toBe(true);
  await page.getByRole('checkbox', { name: 'Min', exact: true }).uncheck();
  await expect.poll(() => head('Min').count()).toBe(0);
  await goTo(page, 'analyses');
  await goTo(page, 'kernels');
  expect(await head('Min').count()).toBe(0);
  expect(Math.abs((await width()) - before - 64)).toBeLessThan(2);
  await frameOf(page, 'Kernels').getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('button', { name: /All, with their own widths/ }).click();
  await expect.poll(() => head('Min').count()).toBe(1);
});

it('the name and the column that sorts stay in sight, however narrow the window', async () => {
  await page.setViewportSize({ width: 800, height: 700 });
  await goTo(page, 'kernels?group=name-op&kernels.sort=-max_duration');
  const inside = async (name: string) => {
    const [cell, box] = [(await head(name).boundingBox())!, (await grid('Kernels').boundingBox())!];
    return cell.x >= box.x - 1 && cell.x + Math.min(cell.width, 20) <= box.x + box.width + 1;
  };
  for (const left of [0, 200, 5000]) {
    await grid('Kernels').evaluate((g, to) => (g.scrollLeft = to), left);
    expect([left, await inside('Kernel'), await inside('Max')]).toEqual([left, true, true]);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
});

it('exact values on demand, and in the address', async () => {
  const steps = tableOf(await analyze('steps'), 'steps');
  const start = Number(steps.rows[0]![columnOf(steps, 'start')]);
  await goTo(page, 'analyses/steps');
  const first = async () => (await visibleRows(page, 'Steps'))[0]!.Start;
  expect(await first()).toMatch(/^[\d.]+ ms/);
  await page.getByRole('button', { name: 'Exact' }).click();
  await expect.poll(first).toContain(`${start.toLocaleString('en-US')} ns`);
  expect(address(page).get('steps.exact')).toBe('1');
});

it('sums of what can be added, and only of that', async () => {
  const kernels = tableOf(await analyze('kernels'), 'kernels');
  const of = (row: unknown[], name: string) => Number(row[columnOf(kernels, name)]);
  const own = kernels.rows.filter((row) => of(row, 'rank') === 1);
  await goTo(page, 'kernels?rank=1&kernels.exact=1');
  const foot = grid('Kernels').locator('.table-foot');
  const sum = (name: string) => own.reduce((total, row) => total + of(row, name), 0).toLocaleString('en-US');
  const texts = (await foot.locator('[role=gridcell]').allInnerTexts()).map((t) => t.trim()).filter(Boolean);
  expect(texts[0]).toBe(`Total of ${own.length} rows`);
  expect(texts).toContain(`Σ ${sum('calls')}`);
  expect(texts).toContain(`Σ ${sum('total_duration')} ns`);
  expect(texts.length).toBe(3); // no sum of means, maxima, occupancies
});

it('are as high as the window, say Yes and No, and have titles', async () => {
  await page.setViewportSize({ width: 1440, height: 1300 });
  await goTo(page, 'analyses/kernel-costs');
  const box = (await page.locator('.table').first().boundingBox())!;
  expect(box.height).toBeGreaterThan(1000);
  await page.setViewportSize({ width: 1440, height: 900 });
  await goTo(page, 'kernels');
  const uses = (await visibleRows(page, 'Kernels')).map((row) => row.TC);
  expect(uses.every((text) => text === 'Yes' || text === 'No')).toBe(true);
  await goTo(page, 'deep/critical-path');
  await settled(page);
  const heads = await page.locator('[role=columnheader] button').allInnerTexts();
  expect(heads.filter((text) => /_/.test(text))).toEqual([]);
  const cells = await page.locator('.cell, .legend').allInnerTexts();
  expect(cells.filter((text) => /gpu_\w+|cpu_bound/.test(text))).toEqual([]);
});
