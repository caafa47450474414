// Diff, SQL, runs that come and are read while the page is open, addresses, downloads.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  address,
  cellText,
  columnOf,
  diff,
  expectRows,
  frameOf,
  goTo,
  manyFolder,
  manyUrl,
  open,
  query,
  saved,
  savedRows,
  settled,
  tableOf,
  visibleRows,
} from './support';

describe('several runs', () => {
  it('all runs of a folder are offered, choosing one shows it, and a new one appears by itself', async () => {
    const opened = await open('overview', { base: manyUrl });
    const { page } = opened;
    const run = page.locator('aside select').first();
    await expect.poll(() => run.locator('option').allInnerTexts()).toEqual(['a', 'b']);
    await run.selectOption({ label: 'b' });
    await settled(page);
    expect(address(page).get('run')).toBe('b');
    mkdirSync(`${manyFolder}/later`);
    for (const file of readdirSync(`${manyFolder}/a`))
      copyFileSync(`${manyFolder}/a/${file}`, `${manyFolder}/later/${file}`);
    await expect.poll(() => run.locator('option').allInnerTexts()).toEqual(['a', 'b', 'later']);
    await run.selectOption({ label: 'later' });
    await settled(page);
    expect(await page.locator('main').innerText()).toMatch(/average step/i);
    await opened.close();
  });

  it('while a run is being read the page says how far it is', async () => {
    let answers = 0;
    let isHeld = true;
    const opened = await open('analyses', {
      base: manyUrl,
      prepare: (page) =>
        page.route(/analyses\/kernels/, async (route) => {
          if (!isHeld) return route.continue();
          answers++;
          const body = JSON.stringify({ state: 'loading', progress: 0.42, what: 'reading rank-1.json' });
          await route.fulfill({ status: 202, contentType: 'application/json', body });
        }),
    });
    const { page } = opened;
    await page.evaluate(() => {
      location.hash = '#/kernels?run=a';
    });
    await expect
      .poll(() => page.locator('main .loading').first().innerText())
      .toMatch(/reading rank-1\.json · 42\.0 %/);
    await expect.poll(() => page.locator('aside').innerText()).toMatch(/reading rank-1\.json · 42\.0 %/);
    await expect.poll(() => answers).toBeGreaterThan(1);
    isHeld = false;
    await settled(page);
    expect(await page.locator('aside').innerText()).not.toMatch(/reading/);
    expect((await visibleRows(page, 'Kernels')).length).toBeGreaterThan(5);
    await opened.close();
  });

  it('diff has the rows of `kino diff`: operators, kernels, tree', async () => {
    const [left, right] = [`${manyFolder}/a`, `${manyFolder}/b`];
    const [opened, plain, trees] = await Promise.all([
      open('diff?run=a&other=b', { base: manyUrl }),
      diff(left, right),
      diff(left, right, '--tree', '--tree-ops'),
    ]);
    const { page } = opened;
    expectRows(await savedRows(page, 'Diff ops'), tableOf(plain, 'diff_ops'));
    await page.getByRole('tab', { name: /Kernels/ }).click();
    expectRows(await savedRows(page, 'Diff kernels'), tableOf(plain, 'diff_kernels'));
    await page.getByRole('tab', { name: /Tree/ }).click();
    const tree = tableOf(trees, 'diff_tree');
    const rows = await visibleRows(page, 'Diff tree');
    expect(rows.length).toBeGreaterThan(2);
    const texts = new Set(
      tree.rows.map((_, i) =>
        ['left_total_duration', 'right_total_duration'].map((n) => cellText(tree, i, n)).join(' '),
      ),
    );
    for (const row of rows) expect(texts).toContain(`${row.Baseline} ${row.Other}`);
    // red and green: slower and faster parts look different
    const changed = tree.rows.filter((r) => Number(r[columnOf(tree, 'delta')]) !== 0);
    expect(changed.length).toBeGreaterThan(0);
    expect(
      await page
        .locator('.table [class*="change"], .table [class*="delta"], .table [class*="tone-"]')
        .count(),
    ).toBeGreaterThan(0);
    const again = await open(new URL(page.url()).hash.slice(2), { base: manyUrl });
    expect(await visibleRows(again.page, 'Diff tree')).toEqual(rows);
    await again.close();
    await opened.close();
  });
});

describe('SQL', () => {
  const sql = 'SELECT cat, count(*) AS n, sum(dur) AS total FROM event GROUP BY cat ORDER BY n DESC, cat';
  it('gives what `kino query` gives, and saves it as CSV', async () => {
    const [opened, wanted] = await Promise.all([open(`sql?sql=${encodeURIComponent(sql)}`), query(sql)]);
    const { page } = opened;
    await page.locator('textarea').press('Control+Enter');
    await settled(page);
    const rows = await savedRows(page, 'Result');
    expect(rows.map((row) => Object.values(row).map((v) => (v === null ? '' : String(v))))).toEqual(wanted);
    const lines = (await saved(page, frameOf(page, 'Result').getByRole('button', { name: 'CSV' })))
      .trim()
      .split(/\r?\n/);
    expect(lines[0]).toBe('cat,n,total');
    expect(lines.length - 1).toBe(wanted.length);
    await opened.close();
  });

  it('says what is wrong with a statement, and keeps it in the history', async () => {
    const opened = await open(`sql?sql=${encodeURIComponent('SELECT no_column FROM event')}`);
    const { page } = opened;
    await page.locator('textarea').press('Control+Enter');
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/no such column: no_column/i);
    await page.getByRole('tab', { name: /History/ }).click();
    await expect.poll(() => page.locator('main').innerText()).toContain('SELECT no_column FROM event');
    await opened.context.close(); // the answer 422 is an error in the console
  });
});

describe('addresses', () => {
  it('back and forward go through the pages', async () => {
    const opened = await open('overview');
    const { page } = opened;
    await page.getByRole('link', { name: 'Kernels' }).click();
    await expect.poll(() => page.locator('h1').innerText()).toBe('Kernels');
    await page.goBack();
    await expect.poll(() => page.locator('h1').innerText()).toBe('Overview');
    await settled(page);
    await opened.close();
  });

  it('one worker alone, and parameters of an analysis', async () => {
    const opened = await open('deep/temporal-breakdown?trace=1');
    const { page } = opened;
    expect((await visibleRows(page, 'Temporal breakdown')).length).toBe(1);
    await goTo(page, 'analyses/kernel-breakdown');
    await page.getByRole('checkbox', { name: 'Include last step' }).uncheck();
    await settled(page);
    const rows = await visibleRows(page, 'Kernel type');
    expect(rows.length).toBeGreaterThan(0);
    const again = await open(new URL(page.url()).hash.slice(2));
    expect(await again.page.getByRole('checkbox', { name: 'Include last step' }).isChecked()).toBe(false);
    expect(await visibleRows(again.page, 'Kernel type')).toEqual(rows);
    await again.close();
    await opened.close();
  });

  it('a run or page that is not there is said so', async () => {
    const opened = await open('overview');
    await opened.page.evaluate(() => {
      location.hash = '#/nowhere';
    });
    await expect.poll(() => opened.page.locator('main').innerText()).toMatch(/no page 'nowhere'/i);
    await opened.close();
  });
});
