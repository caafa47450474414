// Many ranks, and the small things that were wrong: each by what it shows.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import {
  address,
  analyze,
  ask,
  bareUrl,
  columnOf,
  goTo,
  manyUrl,
  open,
  query,
  settled,
  tableOf,
  wideFolder,
  wideUrl,
  type Opened,
} from './support';
import { formatDuration } from '../src/format';
import { bars, panel } from './sayings';

let wide: Opened;
let one: Opened;
beforeAll(async () => {
  [wide, one] = await Promise.all([open('analyses', { base: wideUrl }), open('analyses')]);
});
afterAll(async () => {
  await wide.close();
  await one.close();
});

const sharp = (page: Page) =>
  page.waitForFunction(() => window.__kinoFrames?.isSharp, undefined, { polling: 20 });

describe('many ranks', () => {
  it('start closed in the timeline: one line each', async () => {
    const { page } = wide;
    await goTo(page, 'timeline');
    await sharp(page);
    const labels = await page
      .locator('.tl-labels .tl-group')
      .evaluateAll((all) => all.map((g) => g.getAttribute('aria-expanded')));
    expect(labels.length).toBeGreaterThan(20);
    expect(new Set(labels)).toEqual(new Set(['false']));
    expect(await page.locator('.tl-corner').innerText()).toMatch(/tracks/);
  });

  it('are chosen by ranges, filter, all and none', async () => {
    const { page } = wide;
    await goTo(page, 'kernels');
    const pick = async () => {
      await page.getByRole('combobox', { name: 'Worker' }).selectOption({ label: 'Choose several…' });
      return page.getByRole('dialog', { name: 'Workers' });
    };
    let dialog = await pick();
    await dialog.getByRole('button', { name: 'None' }).click();
    expect(await dialog.getByRole('button', { name: /^Show/ }).isDisabled()).toBe(true);
    await dialog.getByRole('textbox', { name: 'Ranks' }).fill('0-2, 30');
    await dialog.getByRole('button', { name: 'Show 4' }).click();
    await settled(page);
    expect(address(page).get('trace')).toBe('0-2,30');
    await goTo(page, 'deep/temporal-breakdown?trace=0-2,30');
    expect(await page.locator('.scope').innerText()).toBe('ranks 0-2,30 of 40');
    dialog = await pick();
    await dialog.getByRole('searchbox').fill('rank 39');
    await dialog.getByRole('button', { name: 'All' }).click();
    await dialog.getByRole('button', { name: 'Show 5' }).click();
    await settled(page);
    expect(address(page).get('trace')).toBe('0-2,30,39');
    await goTo(page, 'operators?rank=1');
    expect(await page.locator('.scope').innerText()).toBe('rank 1 of 40');
    await page.getByRole('combobox', { name: 'Worker' }).selectOption({ index: 0 });
    await settled(page);
  });

  it('of 40 bars the largest, the median and the least show first, all on demand', async () => {
    const { page } = wide;
    const table = tableOf(await ask('analyze', 'temporal-breakdown', wideFolder), 'temporal_breakdown');
    const parts = ['compute_time', 'non_compute_time', 'idle_time'].map((n) => columnOf(table, n));
    const totals = table.rows
      .map((row) => ({
        rank: row[columnOf(table, 'rank')],
        total: parts.reduce((s, p) => s + Number(row[p]), 0),
        idle: Number(row[parts[2]!]),
      }))
      .sort((a, b) => b.total - a.total);
    await goTo(page, 'deep/temporal-breakdown');
    expect(await page.locator('.scope').innerText()).toBe('all 40 ranks');
    const shown = await bars(page, 'Time of each device');
    const idle = totals.map((t) => t.idle).sort((a, b) => a - b);
    expect(Object.keys(shown)).toEqual([
      ...totals.slice(0, 5).map((t) => `rank ${String(t.rank)}`),
      'median of 40',
      `rank ${String(totals.at(-1)!.rank)} (least)`,
    ]);
    expect(shown['median of 40']!.idle).toBe(formatDuration((idle[19]! + idle[20]!) / 2));
    await panel(page, 'Time of each device').getByRole('button', { name: 'Show all 40' }).click();
    expect(Object.keys(await bars(page, 'Time of each device')).length).toBe(40);
  });
});

describe('small things', () => {
  it('the chart of memory over time has a curve', async () => {
    const { page } = one;
    await goTo(page, 'analyses/memory-timeline');
    const inked = await page
      .locator('.series canvas')
      .first()
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        // colored points: text and grid are gray
        for (let i = 0; i < data.length; i += 4)
          if (
            data[i + 3]! > 0 &&
            Math.max(data[i]!, data[i + 1]!, data[i + 2]!) - Math.min(data[i]!, data[i + 1]!, data[i + 2]!) >
              60
          )
            count++;
        return count;
      });
    expect(inked).toBeGreaterThan(200);
  });

  it('no tooltip stays behind while the window moves', async () => {
    const { page } = one;
    await goTo(page, 'analyses');
    await goTo(page, 'timeline?from=0&to=60000000');
    await sharp(page);
    const box = (await page.getByRole('application').boundingBox())!;
    for (let x = 100; x < box.width && (await page.locator('.tl-tip').count()) === 0; x += 40)
      await page.mouse.move(box.x + x, box.y + 58);
    expect(await page.locator('.tl-tip').count()).toBe(1);
    await page.keyboard.down('d');
    await expect.poll(() => page.locator('.tl-tip').count()).toBe(0);
    await page.keyboard.up('d');
  });

  it('bars of steps are reached by keys and lead to their step', async () => {
    const { page } = one;
    await goTo(page, 'overview');
    await page.locator('[data-bar="0"]').first().focus();
    await page.keyboard.press('ArrowRight');
    const label = await page.evaluate(() => document.activeElement!.getAttribute('aria-label'));
    const step = /step (\d+)/.exec(label!)![1]!;
    await page.keyboard.press('Enter');
    const [id] = (await query(`SELECT event FROM step WHERE number = ${step} ORDER BY rank LIMIT 1`))[0]!;
    await expect.poll(() => page.evaluate(() => window.__kinoFrames?.selected?.id)).toBe(Number(id));
  });

  it('evidence is called by what it is', async () => {
    const { page } = one;
    const advice = tableOf(await analyze('recommendations'), 'recommendations');
    const [id] = advice.rows.flatMap((row) => row[columnOf(advice, 'evidence')] as unknown as number[]);
    const [name, rank] = (await query(`SELECT name, rank FROM event WHERE id = ${id}`))[0]!;
    await goTo(page, 'overview');
    const tip = () => page.locator('.finding-evidence a').first().getAttribute('data-tip');
    await expect.poll(tip).toBe(`Show ${name} on rank ${rank} in the timeline`);
  });

  it('no two landmarks of a page have the same name', async () => {
    const { page } = one;
    for (const hash of ['deep/collectives', 'overview', 'distributed']) {
      await goTo(page, hash);
      const names = await page
        .locator('main section:not([role]), main nav, aside, main [role=region]')
        .evaluateAll((all) => all.map((e) => `${e.tagName} ${e.getAttribute('aria-label')}`));
      expect([hash, names.length]).toEqual([hash, new Set(names).size]);
    }
  });

  it('a page that is opened while the server is away has a way to try again', async () => {
    const opened = await open('overview');
    const { page } = opened;
    await page.route(/api\/v1\//, (route) => route.abort());
    await page.reload();
    await expect.poll(() => page.locator('main').innerText()).toMatch(/server does not respond/);
    await page.unroute(/api\/v1\//);
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => page.locator('main').innerText()).toMatch(/average step/i);
    opened.complaints.length = 0; // the requests that were cut off
    await opened.close();
  });

  it('diff asks where no run belongs to this one', async () => {
    const opened = await open('diff?run=a', { base: manyUrl });
    const { page } = opened;
    const choice = page.getByRole('combobox', { name: 'Compare with' });
    const others = await choice.locator('option').allInnerTexts();
    // b is the only one beside it with as many workers, unless another test has added a third
    expect(await choice.inputValue()).toBe(others.includes('later') ? '' : 'b');
    await goTo(page, 'diff?run=a&other=b&tab=tree');
    await expect.poll(() => page.locator('main').innerText()).toMatch(/aten::\w+.* and \d+ more/);
    expect(await page.locator('main').innerText()).not.toMatch(/several operators/);
    await opened.close();
  });

  it('at 1100 pixels tables come first and the side bar can go', async () => {
    const { page } = one;
    await page.setViewportSize({ width: 1100, height: 700 });
    await goTo(page, 'operators');
    const top = (await page.locator('[aria-label="Operators"][role=treegrid]').boundingBox())!.y;
    expect(top).toBeLessThan(350);
    const main = async () => (await page.locator('#content').boundingBox())!.x;
    const before = await main();
    await page.keyboard.press('Control+b');
    await expect.poll(main).toBeLessThan(before - 100);
    await page.getByRole('button', { name: /Show the side bar/ }).click();
    await expect.poll(main).toBe(before);
    await page.setViewportSize({ width: 1440, height: 900 });
  });
});

describe('the first minute', () => {
  it('an empty folder says how to record', async () => {
    const { page } = one;
    await page.route(/api\/v1\/runs/, (route) => route.fulfill({ json: { version: 1, runs: [] } }));
    await page.reload();
    await expect.poll(() => page.locator('h1').innerText()).toBe('No runs yet');
    const text = await page.locator('main').innerText();
    for (const part of ['kino record python train.py', 'tensorboard_trace_handler', 'kino demo'])
      expect(text).toContain(part);
    await page.unroute(/api\/v1\/runs/);
    await page.reload();
    await settled(page);
  });

  it('what a run lacks is said with what to do: device, steps, memory, ranks', async () => {
    const opened = await open('kernels', { base: bareUrl });
    const { page } = opened;
    const cases: [string, RegExp][] = [
      ['kernels', /activities=\[ProfilerActivity\.CPU, ProfilerActivity\.CUDA\]/],
      ['memory', /profile_memory=True/],
      ['overview', /prof\.step\(\)/],
      ['deep/stragglers', /every rank into one folder/],
    ];
    for (const [hash, advice] of cases) {
      await goTo(page, hash);
      await expect.poll(() => page.locator('main').innerText(), { message: hash }).toMatch(advice);
    }
    await opened.close();
  });

  it('a recording that was cut off says so', async () => {
    const opened = await open('overview', { base: bareUrl });
    await expect
      .poll(() => opened.page.locator('main').innerText())
      .toMatch(/incomplete.*ends before the trace does/i);
    await opened.page.getByRole('link', { name: 'What is missing' }).click();
    await expect.poll(() => opened.page.locator('h1').innerText()).toBe('Completeness');
    await opened.close();
  });

  it('the tour leads through six pages', async () => {
    const { page } = one;
    await page.evaluate(() => localStorage.removeItem('kino.tour'));
    await goTo(page, 'overview');
    await page.reload();
    await settled(page);
    await page.getByRole('button', { name: 'Guided tour' }).click();
    const seen: string[] = [];
    for (let stop = 0; stop < 6; stop++) {
      await expect.poll(() => page.locator('.tour').innerText()).toContain(`${stop + 1} of 6`);
      seen.push(new URL(page.url()).hash.replace(/^#\/|\?.*/g, ''));
      await page.locator('.tour .button-primary').click();
    }
    expect(seen).toEqual(['overview', 'distributed', 'timeline', 'kernels', 'operators', 'sql']);
    await expect.poll(() => page.locator('.tour').count()).toBe(0);
    await goTo(page, 'overview');
    expect(await page.getByRole('button', { name: 'Guided tour' }).count()).toBe(0);
  });
});
