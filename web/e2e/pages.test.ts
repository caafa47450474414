// Every page on a run of several ranks: its numbers are those of `kino analyze`. What the pages show is taken from
// what they save.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatDuration, formatPercent, formatRows } from '../src/format';
import type { Result } from '../src/api';
import {
  address,
  analyze,
  cellText,
  columnOf,
  expectRows,
  frameOf,
  goTo,
  open,
  saved,
  savedFrom,
  savedRows,
  settled,
  tableOf,
  url,
  visibleRows,
  type Opened,
} from './support';

let opened: Opened;
beforeAll(async () => {
  opened = await open('overview');
});
afterAll(() => opened.close());

/** [page, label of a table on it, analysis, table, parameters]; the page may show a part of the rows. */
const tables: [string, string, string, string, string[]][] = [
  ['operators', 'Operators', 'operators', 'operators', []],
  ['operators?group=name-shape', 'Operators', 'operators', 'operators', ['--group', 'name-shape']],
  ['kernels', 'Kernels', 'kernels', 'kernels', []],
  ['kernels?group=name-op', 'Kernels', 'kernels', 'kernels', ['--group', 'name-op']],
  ['roofline', 'Roofline', 'roofline', 'roofline', []],
  ['roofline?by=kernel', 'Roofline', 'roofline', 'roofline', ['--by', 'kernel']],
  ['memory', 'Memory statistics', 'memory', 'memory_statistics', []],
  ['distributed', 'Communication ops', 'distributed', 'communication_ops', []],
  ['distributed', 'Workers', 'distributed', 'workers', []],
  ['distributed', 'Collectives', 'collectives', 'collectives', []],
  ['deep/temporal-breakdown', 'Temporal breakdown', 'temporal-breakdown', 'temporal_breakdown', []],
  ['deep/idle-time', 'Idle', 'idle-time', 'idle', []],
  ['deep/gaps', 'Gaps', 'gaps', 'gaps', []],
  ['deep/queue-length', 'Queue length summary', 'queue-length', 'queue_length_summary', []],
  ['deep/launch-stats', 'Launch summary', 'launch-stats', 'launch_summary', []],
  ['deep/comm-overlap', 'Communication computation overlap', 'comm-overlap', 'comm_comp_overlap', []],
  ['deep/critical-path', 'Summary', 'critical-path', 'summary', []],
  ['deep/critical-path', 'Breakdown', 'critical-path', 'breakdown', []],
];

describe('numbers', () => {
  for (const [page, label, analysis, table, params] of tables)
    it(`${page}: ${label}`, async () => {
      const [wanted] = await Promise.all([analyze(analysis, ...params), goTo(opened.page, page)]);
      expectRows(await savedRows(opened.page, label), tableOf(wanted, table));
    });

  it('overview: the average step, the steps, the findings and their gain', async () => {
    const { page } = opened;
    const [answer, rules] = await Promise.all([
      analyze('overview'),
      analyze('recommendations'),
      goTo(page, 'overview'),
    ]);
    const text = await page.locator('main').innerText();
    const steps = tableOf(answer, 'step_breakdown');
    const total = columnOf(steps, 'total');
    const mean = steps.rows.reduce((sum, row) => sum + Number(row[total]), 0) / steps.rows.length;
    expect(text).toContain(formatDuration(mean));
    for (const number of new Set(steps.rows.map((row) => String(row[columnOf(steps, 'step')]))))
      expect(text).toContain(`step ${number}`);
    const devices = tableOf(answer, 'gpu_summary');
    for (const row of devices.rows)
      expect(text).toContain(formatPercent(Number(row[columnOf(devices, 'gpu_utilization')])));
    const advice = tableOf(rules, 'recommendations');
    // what is hidden in the demo
    expect(advice.rows.map((row) => row[columnOf(advice, 'rule')])).toEqual(
      expect.arrayContaining(['slow-steps', 'straggler']),
    );
    for (const row of advice.rows) {
      expect(text.toLowerCase()).toContain(String(row[columnOf(advice, 'title')]).toLowerCase());
      const gain = row[columnOf(advice, 'gain_percent')];
      if (gain !== null) expect(text).toContain(`up to ${formatPercent(Number(gain))}`);
    }
  });

  it('overview: a step leads to itself in the timeline, with its extents on host and device', async () => {
    const { page } = opened;
    const [answer, times] = await Promise.all([
      analyze('overview'),
      analyze('steps'),
      goTo(page, 'overview?steps=table'),
    ]);
    const steps = tableOf(answer, 'step_breakdown');
    const of = tableOf(times, 'steps');
    const windows = new Set(
      of.rows.map((row) => {
        const at = (name: string) => Number(row[columnOf(of, name)]);
        return `${at('step')}: ${at('start')} ${Math.max(at('start') + at('dur'), at('device_end'))}`;
      }),
    );
    expect(of.rows.length).toBe(steps.rows.length);
    const links = page.locator('main a.jump');
    await expect.poll(() => links.count()).toBeGreaterThan(3);
    for (const link of (await links.all()).slice(0, 6)) {
      const hash = new URLSearchParams((await link.getAttribute('href'))!.split('?')[1]);
      expect([...windows]).toContain(`${hash.get('step')}: ${hash.get('from')} ${hash.get('to')}`);
    }
  });

  it('overview: a finding leads to its evidence in the timeline', async () => {
    const { page } = opened;
    const advice = tableOf(await analyze('recommendations'), 'recommendations');
    const ids = advice.rows.flatMap((row) => row[columnOf(advice, 'evidence')] as unknown as number[]);
    expect(ids.length).toBeGreaterThan(1);
    await goTo(page, 'overview');
    await page.locator('.finding-evidence a').first().click();
    await expect.poll(() => page.locator('.tl-panel').innerText()).toMatch(/duration/i);
    await expect.poll(() => address(page).get('select')).toBe(String(ids[0]));
  });

  it('overview: of one rank only what is about it', async () => {
    const { page } = opened;
    const advice = tableOf(await analyze('recommendations'), 'recommendations');
    const about = (rank: number) =>
      advice.rows.filter((row) => {
        const ranks = row[columnOf(advice, 'ranks')] as unknown as number[];
        return ranks.length === 0 || ranks.includes(rank);
      });
    await goTo(page, 'overview?rank=1');
    expect(about(1).length).toBeLessThan(advice.rows.length);
    await expect.poll(() => page.locator('.finding').count()).toBe(about(1).length);
  });

  it('modules: the tree has the sums of the analysis', async () => {
    const [answer] = await Promise.all([analyze('modules'), goTo(opened.page, 'modules')]);
    const modules = tableOf(answer, 'modules');
    const rows = await visibleRows(opened.page, 'Modules');
    expect(rows.length).toBeGreaterThan(3);
    const rankAt = columnOf(modules, 'rank');
    const texts = (name: string) =>
      new Set(modules.rows.flatMap((row, i) => (row[rankAt] === 0 ? [cellText(modules, i, name)] : [])));
    const [names, devices, hosts] = [texts('name'), texts('device_duration'), texts('host_duration')];
    for (const row of rows) {
      expect(names).toContain(row.Module!.replace(/^[▸▾]\s*/, ''));
      expect(devices).toContain(row.Device);
      expect(hosts).toContain(row.Host);
    }
  });

  it('flame graph: the longest stack is the longest of python-stacks', async () => {
    const [answer] = await Promise.all([analyze('python-stacks'), goTo(opened.page, 'flame?show=tree')]);
    const flame = tableOf(answer, 'flame');
    expect(await opened.page.locator('main').innerText()).toContain(
      String(flame.rows[0]![columnOf(flame, 'name')]),
    );
  });
});

it('every analysis has a page with its rows', { timeout: 300_000 }, async () => {
  const list = (await (await fetch(`${url}/api/v1/analyses`)).json()) as { analyses: { name: string }[] };
  expect(list.analyses.length).toBeGreaterThan(30);
  const { page } = opened;
  const faults = opened.complaints.length;
  for (const { name } of list.analyses) {
    const asked: Promise<Result | null> = fetch(`${url}/api/v1/analyses/${name}?wait=60`).then((r) =>
      r.ok ? r.json() : null,
    );
    await page.evaluate((hash) => {
      location.hash = hash;
    }, `#/analyses/${name}`);
    const answer = await asked;
    await settled(page);
    if (answer === null) {
      // refused for a reason, and the page says it
      await expect.poll(() => page.locator('main').innerText()).toMatch(/needs|not|no such/);
      opened.complaints.length = faults;
      continue;
    }
    const filled = answer.tables.find((t) => t.rows.length > 0);
    if (!filled) {
      await expect.poll(() => page.locator('main').innerText()).toMatch(/not available|No rows|none/i);
      continue;
    }
    const frame = page.locator('.table-frame').first();
    await expect.poll(() => frame.innerText(), { message: name }).toContain(formatRows(filled.rows.length));
    expectRows(await savedFrom(page, frame), tableOf(await analyze(name), filled.name), filled.rows.length);
  }
});

describe('tables', () => {
  it('sort by a head, filter and group, and keep it all in the address', async () => {
    const { page } = opened;
    await goTo(page, 'kernels');
    await page.getByRole('columnheader', { name: 'Calls' }).getByRole('button').click();
    const calls = (await visibleRows(page, 'Kernels')).map((row) => Number(row.Calls!.replaceAll(',', '')));
    expect(calls).toEqual([...calls].sort((a, b) => b - a));
    await page
      .getByRole('searchbox', { name: /filter kernels/i })
      .first()
      .fill('void at::');
    await expect
      .poll(async () =>
        (await savedRows(page, 'Kernels')).every((row) => String(row.name).includes('void at::')),
      )
      .toBe(true);
    await frameOf(page, 'Kernels').getByRole('combobox', { name: 'Group by' }).selectOption({ index: 1 });
    await expect.poll(() => frameOf(page, 'Kernels').locator('.table-row.group').count()).toBeGreaterThan(0);
    await expect.poll(() => [...address(page).keys()].filter((k) => k !== 'run').length).toBe(3);
    const again = await open(new URL(page.url()).hash.slice(2));
    expect(await visibleRows(again.page, 'Kernels')).toEqual(await visibleRows(page, 'Kernels'));
    await again.close();
  });

  it('are saved as CSV: what is shown, and all columns from the server', async () => {
    const { page } = opened;
    const [answer] = await Promise.all([analyze('operators'), goTo(page, 'operators')]);
    const operators = tableOf(answer, 'operators');
    const frame = frameOf(page, 'Operators');
    const shown = (await saved(page, frame.getByRole('button', { name: 'CSV' }))).trim().split(/\r?\n/);
    const names = (await savedFrom(page, frame)).length;
    expect(shown.length - 1).toBe(names);
    expect(shown[0]).toMatch(/^name,/);
    const all = (await saved(page, frame.getByRole('link', { name: 'All' }))).trim().split(/\r?\n/);
    expect(all[0]!.split(',')).toEqual(operators.columns.map((c) => c.name));
    expect(all.length - 1).toBeGreaterThanOrEqual(names);
  });

  it('every head has its definition', async () => {
    await goTo(opened.page, 'kernels');
    const tips = await opened.page
      .locator('[role=columnheader] button')
      .evaluateAll((all) => all.map((b) => b.getAttribute('data-tip')));
    expect(tips.length).toBeGreaterThan(5);
    for (const tip of tips) expect(tip).toMatch(/: ./);
  });

  it('100,000 rows scroll', async () => {
    const { page } = opened;
    const sql =
      'SELECT a.id, a.name, a.ts FROM event a, (SELECT 1 UNION SELECT 2) b ORDER BY a.ts LIMIT 100000';
    await goTo(page, `sql?sql=${encodeURIComponent(sql)}&limit=100000`);
    await page.getByRole('button', { name: /^run/i }).first().click();
    await settled(page);
    const grid = page.locator('.table').first();
    const before = Date.now();
    await grid.evaluate((g) => {
      g.scrollTop = g.scrollHeight;
    });
    const rows = await grid.getAttribute('aria-rowcount').then(Number);
    expect(rows).toBeGreaterThan(9_000);
    await expect
      .poll(() => grid.locator('[role=row]').last().getAttribute('aria-rowindex').then(Number))
      .toBe(rows);
    console.log(`scrolled to the end of ${rows - 1} rows in ${Date.now() - before} ms`);
    expect(await grid.locator('[role=row]').count()).toBeLessThan(200);
  });
});

describe('memory', () => {
  it('dragging over the curve chooses a stretch: the table is that of --from and --to', async () => {
    const { page } = opened;
    await goTo(page, 'memory');
    const plot = page.locator('.u-over').first();
    const box = (await plot.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.2, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 70, { steps: 5 });
    await page.mouse.up();
    await expect.poll(() => address(page).get('to')).not.toBeNull();
    await settled(page);
    const [from, to] = [address(page).get('from')!, address(page).get('to')!];
    expect(Number(to)).toBeGreaterThan(Number(from));
    const part = tableOf(
      await analyze('memory', '--from', `${from}ns`, '--to', `${to}ns`),
      'memory_statistics',
    );
    expect(part.rows).not.toEqual(tableOf(await analyze('memory'), 'memory_statistics').rows);
    expectRows(await savedRows(page, 'Memory statistics'), part);
    // the stretch is marked, also when the page is opened with it
    const again = await open(new URL(page.url()).hash.slice(2));
    const mark = (await again.page.locator('.u-select').first().boundingBox())!;
    expect(Math.abs(mark.width - box.width * 0.4)).toBeLessThan(6);
    await again.close();
  });
});

describe('roofline', () => {
  it('has a point for each operator with a cost, which leads to the timeline, and its ceilings', async () => {
    const { page } = opened;
    const [answer] = await Promise.all([analyze('roofline'), goTo(page, 'roofline')]);
    const table = tableOf(answer, 'roofline');
    const value = (row: unknown[], name: string) => row[columnOf(table, name)];
    const rank = value(table.rows[0]!, 'rank');
    const wanted = table.rows.filter(
      (row) =>
        value(row, 'rank') === rank &&
        Number(value(row, 'intensity')) > 0 &&
        Number(value(row, 'tflops')) > 0,
    );
    expect(wanted.length).toBeGreaterThan(1);
    const points = page.locator('.roof-points a');
    expect(await points.count()).toBe(wanted.length);
    const ceilings = tableOf(answer, 'ceilings');
    const used = ceilings.rows.filter(
      (row) => row[columnOf(ceilings, 'rank')] === rank && row[columnOf(ceilings, 'used')] === true,
    );
    expect(await page.locator('[data-roof]').count()).toBe(used.length);
    // the first point is the longest piece of work
    expect(await points.first().getAttribute('href')).toContain(
      `select=${String(value(wanted[0]!, 'event'))}`,
    );
    // small points lie above large ones
    const last = new URLSearchParams((await points.last().getAttribute('href'))!.split('?')[1]).get('select');
    await points.last().locator('circle').click();
    await expect.poll(() => address(page).get('select')).toBe(last);
  });
});

describe('distributed', () => {
  it('the cells of the heat map can be reached by keys', async () => {
    const { page } = opened;
    await goTo(page, 'distributed');
    const first = page.locator('[data-cell="0 0"]').first();
    await first.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('data-cell'))).toBe('1 1');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(
      /rank 1.*\d/,
    );
  });
});
