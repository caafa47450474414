// From any row that stands for an event to that event in the timeline, and back: by the numbers of `kino query`.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import {
  address,
  analyze,
  ask,
  columnOf,
  folder,
  goTo,
  open,
  query,
  settled,
  tableOf,
  wideFolder,
  wideUrl,
  type Opened,
} from './support';

let wide: Opened;
let one: Opened;
beforeAll(async () => {
  [wide, one] = await Promise.all([open('analyses', { base: wideUrl }), open('analyses')]);
});
afterAll(async () => {
  await wide.close();
  await one.close();
});

/** The event is selected, on a track of its rank, and in the middle of the picture, unless an end of the run holds it off. */
async function expectArrived(page: Page, id: string, trace: string): Promise<void> {
  const [rank, name, ts, dur, first, last] = (
    await query(
      `SELECT e.rank, e.name, e.ts, e.dur, (SELECT min(ts) FROM event), (SELECT max(ts + coalesce(dur, 0)) FROM event) FROM event e WHERE e.id = ${id}`,
      trace,
    )
  )[0]!;
  await expect.poll(() => page.evaluate(() => window.__kinoFrames?.selected?.id)).toBe(Number(id));
  await page.waitForFunction(() => window.__kinoFrames?.isWritten, undefined, { polling: 20 });
  await settled(page);
  const { selected, from, to } = await page.evaluate(() => window.__kinoFrames!);
  expect(String(selected!.rank)).toBe(rank);
  expect(Object.fromEntries(['select', 'name', 'at'].map((k) => [k, address(page).get(k)]))).toEqual({
    select: id,
    name,
    at: ts,
  });
  expect(await page.locator('.tl-details h2').innerText()).toBe(name);
  const [start, end] = [Number(ts), Number(ts) + Number(dur)];
  const air = (Number(last) - Number(first)) * 0.006;
  const isAtEnd = from < Number(first) + air || to > Number(last) - air;
  if (!isAtEnd) expect(Math.abs((from + to) / 2 - (start + end) / 2)).toBeLessThan((to - from) / 100);
  else expect(from <= start && end <= to).toBe(true);
  const stage = await page.locator('.tl-scroll').evaluate((box) => ({
    height: box.clientHeight,
    above: box.scrollTop,
    below: box.scrollHeight - box.clientHeight - box.scrollTop,
  }));
  const off = selected!.y - stage.height / 2;
  if (Math.abs(off) > 20)
    expect(off > 0 ? stage.below : stage.above, `off the middle by ${off}`).toBeLessThan(2);
  expect(selected!.y).toBeGreaterThan(0);
  expect(selected!.y).toBeLessThan(stage.height);
}

const jumps = (page: Page, label: string): Locator =>
  page.locator(`[aria-label="${label}"]`).first().locator('.table-body a.jump');

/** The link of the first row is pressed, and Back leads to the page as it was. */
async function followFirst(
  page: Page,
  hash: string,
  label: string,
  id: string,
  trace: string,
): Promise<void> {
  await goTo(page, hash);
  await jumps(page, label).first().click();
  await expectArrived(page, id, trace);
  await page.goBack();
  await settled(page);
  expect(page.url()).toContain(`#/${hash.split('?')[0]}`);
}

/** The longest event of that name on the rank, the earliest of equals. */
const longest = async (name: string, rank: unknown, trace = folder): Promise<string> =>
  (
    await query(
      `SELECT id FROM event WHERE name = '${name.replaceAll("'", "''")}' AND ph = 'X'${typeof rank === 'number' ? ` AND rank = ${rank}` : ''} ORDER BY dur DESC, ts, track LIMIT 1`,
      trace,
    )
  )[0]![0]!;

describe('a cell of the heat map', () => {
  it('of rank 32 leads to the step of rank 32, and Back to the page, scrolled as it was', async () => {
    const { page } = wide;
    await goTo(page, 'distributed?map=computation');
    const cell = page.locator('[data-cell^="32 "]').nth(1);
    const [, step] = /rank 32 · step (\d+)/.exec((await cell.getAttribute('data-tip'))!)!;
    await cell.scrollIntoViewIfNeeded();
    const before = await page.locator('#content').evaluate((main) => main.scrollTop);
    expect(before).toBeGreaterThan(100);
    await cell.click();
    const [id] = (await query(`SELECT event FROM step WHERE rank = 32 AND number = ${step}`, wideFolder))[0]!;
    await expectArrived(page, id!, wideFolder);
    expect(await page.evaluate(() => window.__kinoFrames!.selected!.rank)).toBe(32);
    await page.goBack();
    await settled(page);
    expect(address(page).get('map')).toBe('computation');
    await expect.poll(() => page.locator('#content').evaluate((main) => main.scrollTop)).toBe(before);
  });

  it('of a rank that is not chosen brings all ranks back', async () => {
    const { page } = wide;
    await goTo(page, 'timeline?trace=0-2&rank=39&step=3');
    const [id] = (await query('SELECT event FROM step WHERE rank = 39 AND number = 3', wideFolder))[0]!;
    await expectArrived(page, id!, wideFolder);
    expect(address(page).get('trace')).toBeNull();
  });
});

describe('a row of a table', () => {
  it('of kernels leads to its longest call on its rank', async () => {
    const { page } = one;
    const kernels = tableOf(await analyze('kernels'), 'kernels');
    const of = (row: unknown[], name: string) => row[columnOf(kernels, name)];
    const first = kernels.rows
      .filter((row) => of(row, 'rank') === 2)
      .sort((a, b) => Number(of(b, 'total_duration')) - Number(of(a, 'total_duration')))[0]!;
    const id = await longest(String(of(first, 'name')), 2);
    await followFirst(page, 'kernels?rank=2', 'Kernels', id, folder);
  });

  it('of operators, by the keys of the table: Enter', async () => {
    const { page } = one;
    const table = tableOf(await analyze('operators'), 'operators');
    const of = (row: unknown[], name: string) => row[columnOf(table, name)];
    const sorted = table.rows
      .filter((row) => of(row, 'rank') === 1)
      .sort((a, b) => Number(of(b, 'calls')) - Number(of(a, 'calls')));
    await goTo(page, 'operators?rank=1&operators.sort=-calls');
    await page.locator('[aria-label="Operators"][role=treegrid]').focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expectArrived(page, await longest(String(of(sorted[0]!, 'name')), 1), folder);
    await page.goBack();
    await settled(page);
    // the row is marked as it was
    expect(await page.locator('.table-row.active').innerText()).toContain(String(of(sorted[0]!, 'name')));
  });

  it('of launches, of the critical path, of gaps and of any analysis leads to its event', async () => {
    const { page } = one;
    const cases: [string, string, string, string, string, string, boolean][] = [
      [
        'deep/launch-stats',
        'Launch statistics',
        'launch-stats',
        'launch_stats',
        'launch_delay',
        'launch_event',
        true,
      ],
      ['deep/critical-path', 'Breakdown', 'critical-path', 'breakdown', '', 'event_idx', false],
      ['analyses/fwd-bwd?table=pairs', 'Pairs', 'fwd-bwd', 'pairs', '', 'forward_event', false],
      [
        'analyses/launch-stats',
        'Launch statistics',
        'launch-stats',
        'launch_stats',
        '',
        'launch_event',
        false,
      ],
    ];
    for (const [hash, label, analysis, name, sort, column] of cases) {
      const table = tableOf(await analyze(analysis), name);
      const rows = [...table.rows];
      if (sort) rows.sort((a, b) => Number(b[columnOf(table, sort)]) - Number(a[columnOf(table, sort)]));
      await followFirst(page, hash, label, String(rows[0]![columnOf(table, column)]), folder);
    }
  });

  it('of SQL leads by its id, or by name and time', async () => {
    const { page } = one;
    const of = "FROM event WHERE cat = 'kernel' AND rank = 3 ORDER BY dur DESC, id LIMIT 1";
    const [id] = (await query(`SELECT id ${of}`))[0]!;
    for (const columns of ['id, dur', 'name, ts, dur'])
      await followFirst(
        page,
        `sql?sql=${encodeURIComponent(`SELECT ${columns} ${of}`)}`,
        'Result',
        id!,
        folder,
      );
  });

  it('of collectives by worker leads to a call of that worker', async () => {
    const { page } = wide;
    const table = tableOf(await ask('analyze', 'distributed', wideFolder), 'communication_ops');
    const of = (row: unknown[], name: string) => row[columnOf(table, name)];
    const first = [...table.rows].sort(
      (a, b) => Number(of(b, 'total_latency')) - Number(of(a, 'total_latency')),
    )[0]!;
    const id = await longest(String(of(first, 'name')), of(first, 'rank'), wideFolder);
    await followFirst(page, 'distributed', 'Communication ops', id, wideFolder);
  });
});

describe('a link', () => {
  it('whose id is that of other files finds the event by name and time, and says so', async () => {
    const { page } = one;
    const [id, name, ts] = (
      await query(
        "SELECT id, name, ts FROM event WHERE cat = 'kernel' AND rank = 1 ORDER BY ts LIMIT 1 OFFSET 300",
      )
    )[0]!;
    for (const wrong of [String(Number(id) + 1), String(2 ** 48)]) {
      await goTo(page, 'analyses');
      await goTo(page, `timeline?select=${wrong}&name=${encodeURIComponent(name!)}&at=${ts}&rank=1`);
      await expectArrived(page, id!, folder);
      await expect.poll(() => page.locator('.toasts').innerText()).toMatch(/found by name and time/);
    }
  });

  it('to nothing says so and selects nothing', async () => {
    const { page } = one;
    await goTo(page, 'analyses');
    await goTo(page, 'timeline?name=aten%3A%3Anowhere&rank=2');
    await expect.poll(() => page.locator('.toasts').innerText()).toMatch(/no 'aten::nowhere' on rank 2/);
    expect(await page.evaluate(() => window.__kinoFrames!.selected)).toBeNull();
  });
});

describe('the critical path', () => {
  it('is drawn over the tracks with its edges, is in the address, and goes again', async () => {
    const { page } = one;
    const result = await analyze('critical-path');
    const path = tableOf(result, 'path');
    const of = (row: unknown[], name: string) => row[columnOf(path, name)];
    // by hand: nodes of the same rank that follow each other
    const pairs = path.rows.flatMap((row, i) => {
      const next = path.rows[i + 1];
      return next && of(next, 'rank') === of(row, 'rank')
        ? [{ isSame: of(next, 'event') === of(row, 'event'), rank: of(row, 'rank') }]
        : [];
    });
    await goTo(page, 'deep/critical-path');
    await page.getByRole('link', { name: 'Show the path in the timeline' }).click();
    const drawn = () => page.evaluate(() => window.__kinoFrames!.path);
    await expect.poll(async () => (await drawn())?.edges).toBe(pairs.length);
    expect((await drawn())!.key).toBe('ProfilerStep/0');
    // only what is in sight: all of rank 0 alone
    const ofRank0 = pairs.filter((p) => p.rank === 0);
    await goTo(page, 'timeline?trace=0&path=ProfilerStep/0');
    await expect.poll(async () => (await drawn())?.edges).toBe(ofRank0.length);
    expect(await drawn()).toMatchObject({
      stretches: ofRank0.filter((p) => p.isSame).length,
      lines: ofRank0.filter((p) => !p.isSame).length,
    });
    const toggle = page.getByRole('button', { name: 'Critical path' });
    expect(await toggle.getAttribute('aria-pressed')).toBe('true');
    await page.getByRole('application').focus();
    await page.keyboard.press('c');
    await expect.poll(drawn).toBeNull();
    await page.waitForFunction(() => window.__kinoFrames?.isWritten, undefined, { polling: 20 });
    expect(address(page).get('path')).toBeNull();
  });
});
