// One truth on every page: on runs with a known truth, whatever is shown in more than one place is the same there,
// in `kino report` and in SQL. Pages are read as people read them.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { formatDuration, formatPercent } from '../src/format';
import {
  ask,
  columnOf,
  goTo,
  open,
  plantedFolder,
  plantedUrl,
  query,
  savedRows,
  tableOf,
  type Opened,
} from './support';
import {
  bars,
  cells,
  devices,
  figures,
  findings,
  listenToCanvas,
  notes,
  panels,
  parts,
  table,
  written,
  type Texts,
} from './sayings';
import type { CellValue, Result } from '../src/api';

interface Bar {
  name: string;
  time: number;
  parts: { name: string; time: number; percent: number }[];
}
interface Report {
  report: {
    facts: Texts;
    summary: { text: string }[];
    step: Bar;
    step_note: string;
    ranks: Bar[];
    steps: Bar[];
  };
  results: Result[];
}
interface Truth {
  is_cpu: boolean;
  straggler: number | null;
}

/** What each of these runs has is in tests/integration/test_web.py. */
const RUNS = ['device', 'gloo', 'clean', 'processes', 'pointwise', 'missing', 'nested'];
const ROUNDING = 2; // ns: means are whole ns on some pages

let opened: Opened;
let page: Page;
beforeAll(async () => {
  opened = await open(`overview?run=${RUNS[0]}`, { base: plantedUrl, prepare: listenToCanvas });
  page = opened.page;
});
afterAll(() => opened.close());

const traces = (run: string) => `${plantedFolder}/${run}`;
const report = (run: string) => ask<Report>('report', traces(run));
const truthOf = (run: string) => JSON.parse(readFileSync(`${traces(run)}.truth`, 'utf8')) as Truth;
const show = (run: string, hash: string) => goTo(page, `${hash}${hash.includes('?') ? '&' : '?'}run=${run}`);
const partOf = (bar: Bar, name: string) => bar.parts.find((p) => p.name === name)?.time ?? 0;
const sum = (rows: Record<string, unknown>[], name: string) =>
  rows.reduce((all, row) => all + Number(row[name] ?? 0), 0);
const near = (got: number, want: number, what: string, most = ROUNDING) =>
  expect(Math.abs(got - want), `${what}: ${got} and ${want}`).toBeLessThanOrEqual(most);
/** The parts of the report add up to the ns, so that one may be a ns off its mean. */
const aboutDuration = (ns: number) => [-1, 0, 1].map((off) => formatDuration(ns + off));

/** Rows of a table of the report as objects. */
function rowsOf(answer: Report, analysis: string, name: string): Record<string, CellValue>[] {
  const found = tableOf(answer.results.find((r) => r.analysis === analysis)!, name);
  return found.rows.map((row) =>
    Object.fromEntries(found.columns.map((c) => [c.name, row[columnOf(found, c.name)] ?? null])),
  );
}

for (const run of RUNS)
  describe(run, () => {
    const truth = truthOf(run);

    it('overview: the step, its parts, steps and ranks', async () => {
      const [answer] = await Promise.all([report(run), show(run, 'overview')]);
      const { step, step_note, ranks, steps, facts, summary } = answer.report;
      const [tiles, shown] = [await figures(page), await parts(page)];
      expect(tiles['Average step']).toBe(formatDuration(step.time));
      expect(shown['Average step']![0]).toBe(tiles['Average step']);
      for (const part of step.parts)
        if (part.time > 0 || shown[part.name]) {
          expect(aboutDuration(part.time), part.name).toContain(shown[part.name]![0]);
          expect(shown[part.name]![1], part.name).toBe(formatPercent(part.percent));
        }
      // the headline: its time, and each of its shares is that of a part
      expect(summary[0]!.text).toContain(`A step takes ${tiles['Average step']}`);
      for (const share of summary[0]!.text.match(/[\d.]+ %/g)!)
        expect(Object.values(shown).map((row) => row[1])).toContain(share);
      const [mean, count, of] = (
        await query(
          'SELECT avg(total), count(*), count(DISTINCT rank) FROM overview_step_breakdown',
          traces(run),
        )
      )[0]!;
      expect(formatDuration(Number(mean))).toBe(tiles['Average step']);
      expect(step_note).toMatch(
        new RegExp(`^mean of ${count} steps${Number(of) > 1 ? ` on ${of} ranks` : ''},`),
      );
      expect(await page.locator('main').innerText()).toContain(step_note.split(',')[0]);
      expect(facts.steps!.split(/[,(]/)[0]!.trim()).toBe(tiles.Steps);
      expect(facts.recorded).toContain(`${tiles.Events} events`);
      expect(tiles.Workers).toBe(of);
      const [byStep, byRank] = [
        await bars(page, 'Step time breakdown'),
        ranks.length > 1 ? await bars(page, 'Average step by rank') : {},
      ];
      expect(
        Object.fromEntries(Object.entries(byStep).map(([name, p]) => [name.replace('step ', ''), p.total])),
      ).toEqual(Object.fromEntries(steps.map((s) => [s.name, formatDuration(s.time)])));
      expect(
        Object.fromEntries(Object.entries(byRank).map(([name, p]) => [name, [p.total, p.Communication]])),
      ).toEqual(
        Object.fromEntries(
          ranks.map((r) => [r.name, [formatDuration(r.time), formatDuration(partOf(r, 'Communication'))]]),
        ),
      );
      const busy = rowsOf(answer, 'overview', 'gpu_summary').map((row) =>
        formatPercent(Number(row.gpu_utilization)),
      );
      expect((await devices(page)).map((d) => d[1])).toEqual(busy);
    });

    it('overview: findings and their gain, of whom', async () => {
      const [answer] = await Promise.all([report(run), show(run, 'overview')]);
      const rows = rowsOf(answer, 'recommendations', 'recommendations');
      const several = answer.report.ranks.length > 1;
      const gain = (row: Record<string, CellValue>) =>
        row.gain_percent === null
          ? 'gain unknown'
          : `up to ${formatPercent(Number(row.gain_percent))}${several && row.rank !== null ? ` of rank ${row.rank}'s step` : ''}`;
      expect(await findings(page)).toEqual(
        rows.map((row) => ({ title: row.title, gain: gain(row), seen: row.seen })),
      );
      const said = await query('SELECT title, seen FROM recommendations', traces(run));
      expect(said).toEqual(rows.map((row) => [row.title, row.seen]));
      // the headline's first advice is the first finding
      const first = answer.report.summary.find((s) => s.text.startsWith('Start with'))!.text;
      expect(first).toContain(String(rows[0]!.title));
      expect(first).toContain(gain(rows[0]!).replace('gain unknown', ''));
    });

    it('who is the slowest: the same sentence everywhere, or none', async () => {
      const answer = await report(run);
      const said = answer.report.summary.map((s) => s.text).filter((text) => /slowest:/.test(text));
      expect(said.length).toBe(truth.straggler === null ? 0 : 1);
      const isAlone = answer.report.ranks.length < 2;
      for (const name of isAlone
        ? ['overview']
        : ['overview', 'distributed', 'deep/collectives', 'deep/stragglers']) {
        await show(run, name);
        const blaming = (await notes(page)).filter((note) => note.includes('slowest'));
        expect(
          blaming.map((note) => note.replace(/ \(in \d+ of \d+ steps\)$/, '.')),
          name,
        ).toEqual(said);
        if (name === 'deep/stragglers') {
          const rows = await table(page, 'Stragglers');
          expect(rows.map((row) => row.Rank)).toEqual(
            truth.straggler === null ? [] : [String(truth.straggler)],
          );
          for (const row of rows) expect(said[0]).toContain(`its ${row.Cause} take`);
          if (rows.length === 0)
            expect(await page.locator('main').innerText()).toContain('No rank delays the others');
        }
      }
      if (truth.straggler !== null)
        expect(said[0]).toMatch(new RegExp(`^Rank ${truth.straggler} is the slowest: `));
    });

    it('distributed: the times of the overview', async () => {
      const [answer] = await Promise.all([
        report(run),
        show(run, 'distributed?computation=table&transfer=table'),
      ]);
      const { ranks } = answer.report;
      if (ranks.length < 2) return expect(await page.locator('main').innerText()).toMatch(/not available/);
      const all = await savedRows(page, 'Computation overview');
      const waits = await savedRows(page, 'Communication overview');
      for (const bar of ranks) {
        const of = (rows: Record<string, unknown>[]) =>
          rows.find((row) => `rank ${row.rank}` === bar.name && row.step === 'all')!;
        const [row, wait] = [of(all), of(waits)] as Record<string, number>[];
        const computation = row!.computation! + row!.overlapping!;
        near(computation + row!.communication! + row!.other!, bar.time, `${bar.name}: step`, 4);
        near(computation, partOf(bar, truth.is_cpu ? 'CPU Exec' : 'Kernel'), `${bar.name}: computation`);
        near(row!.communication!, partOf(bar, 'Communication'), `${bar.name}: exposed communication`);
        near(
          wait!.data_transfer_time! + wait!.synchronizing_time!,
          row!.communication! + row!.overlapping!,
          `${bar.name}: communication`,
          4,
        );
      }
      await show(run, 'distributed?map=step');
      const drawn = await bars(page, 'Computation and communication');
      expect(Object.entries(drawn).map(([name, p]) => [name, p.total])).toEqual(
        ranks.map((r) => [r.name, formatDuration(r.time)]),
      );
      const wanted = await query(
        "SELECT 'rank ' || rank || ' · step ' || step, total FROM overview_step_breakdown ORDER BY 1",
        traces(run),
      );
      expect(
        Object.entries(await cells(page, 'Ranks and steps'))
          .filter(([, text]) => text !== 'not available')
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      ).toEqual(wanted.map(([name, time]) => [name, formatDuration(Number(time))]));
    });

    it('communication: overlap, collectives, and the same calls by worker', async () => {
      await show(run, 'deep/comm-overlap');
      const [answer, overlap, tiles] = [
        await report(run),
        await table(page, 'Comm comp overlap'),
        await figures(page),
      ];
      if (answer.report.ranks.length < 2)
        return expect(await page.locator('main').innerText()).toMatch(/not available: no communication/i);
      await show(run, 'deep/collectives');
      const byRank = await savedRows(page, 'Ranks');
      await show(run, 'distributed');
      const [groups, calls] = [
        await savedRows(page, 'Collectives'),
        await savedRows(page, 'Communication ops'),
      ];
      for (const row of overlap) {
        const of = (rows: Record<string, unknown>[]) => rows.filter((r) => String(r.rank) === row.Rank);
        expect(formatDuration(sum(of(byRank), 'duration')), `rank ${row.Rank}`).toBe(row.Communication);
        expect(formatDuration(sum(of(calls), 'total_latency')), `rank ${row.Rank}`).toBe(row.Communication);
        expect(sum(of(calls), 'calls')).toBe(sum(of(byRank), 'kernels'));
        near(sum(of(calls), 'data_transfer_time'), sum(of(byRank), 'transfer'), `rank ${row.Rank}: transfer`);
      }
      expect(formatDuration(sum(groups, 'duration'))).toBe(tiles.Communication);
      near(sum(groups, 'wait'), sum(byRank, 'wait'), 'waiting');
    });

    it('busy and idle: the gaps are the idle time, the kernels the computing', async () => {
      await show(run, 'deep/temporal-breakdown');
      if (truth.is_cpu) return hostOnly();
      const [rows, tiles] = [await savedRows(page, 'Temporal breakdown'), await figures(page)];
      const mean = (name: string) => formatPercent(sum(rows, name) / rows.length);
      expect([tiles.Computing, tiles['Not computing'], tiles.Idle]).toEqual(
        ['compute_time_pctg', 'non_compute_time_pctg', 'idle_time_pctg'].map(mean),
      );
      await show(run, 'deep/gaps');
      const blame = await bars(page, 'Causes');
      const gaps = async (least: string) =>
        tableOf(await ask('analyze', 'gaps', traces(run), '--min-gap', least), 'blame');
      const [long, every] = [await gaps('10us'), await gaps('0')];
      const timeOf = (of: typeof long, rank: unknown) =>
        of.rows
          .filter((r) => r[columnOf(of, 'rank')] === rank)
          .reduce((all, r) => all + Number(r[columnOf(of, 'time')]), 0);
      const computing =
        "SELECT rank, sum(dur) FROM event WHERE cat = 'kernel' AND name NOT LIKE '%nccl%' GROUP BY rank ORDER BY rank";
      const kernels = await query(computing, traces(run));
      rows.forEach((row, i) => {
        const total = Object.entries(blame).find(([name]) => name.startsWith(`rank ${row.rank} `))?.[1].total;
        expect(total ?? formatDuration(0), `rank ${row.rank}`).toBe(formatDuration(timeOf(long, row.rank)));
        near(timeOf(every, row.rank), Number(row.idle_time), `rank ${row.rank}: idle`);
        near(Number(row.compute_time), Number(kernels[i]![1]), `rank ${row.rank}: computing`);
      });
    });

    /** Nothing about devices, and a reason where a page is about them. */
    async function hostOnly(): Promise<void> {
      for (const name of ['temporal-breakdown', 'idle-time', 'gaps', 'queue-length', 'launch-stats']) {
        await show(run, `deep/${name}`);
        expect(await page.locator('main .empty').innerText()).toMatch(
          /not available: no (device work|launch)/,
        );
      }
      await show(run, 'overview');
      expect(await panels(page)).not.toEqual(expect.arrayContaining([expect.stringMatching(/GPU|Utili/)]));
      expect(await page.locator('main').innerText()).not.toMatch(/\bGPU|\bkernel|CUDA/i);
    }

    it('the largest kernel or operator has the share of its page', async () => {
      const said = (await report(run)).report.summary.find((s) => s.text.startsWith('The largest'))!.text;
      await show(run, truth.is_cpu ? 'operators?rank=all' : 'kernels?rank=all');
      const rows = await savedRows(page, truth.is_cpu ? 'Operators' : 'Kernels');
      const column = truth.is_cpu ? 'host_self_duration' : 'total_duration';
      const times = [...new Set(rows.map((row) => row.name))].map((name) =>
        sum(
          rows.filter((row) => row.name === name),
          column,
        ),
      );
      expect(said).toContain(`takes ${formatPercent((100 * Math.max(...times)) / sum(rows, column))} of the`);
    });

    it('timeline: a step has the extents of the overview', async () => {
      await show(run, 'overview?steps=table');
      const rows = (await table(page, 'Step breakdown')).filter(
        (row) => row.Rank === undefined || row.Rank === '0',
      );
      const last = rows.at(-1)!;
      const link = page.locator('main a.jump').nth(rows.length - 1);
      await link.click();
      const device = last['Device duration'] === undefined ? '' : `, device ${last['Device duration']}`;
      await expect
        .poll(() => written(page))
        .toContain(`ProfilerStep#${last.Step}  host ${last['Host duration']}${device}`);
    });
  });

describe('diff', () => {
  it('the steps and parts are those of the overviews', async () => {
    const [left, right] = ['device', 'nested'];
    const shown = [];
    for (const run of [left, right]) {
      await show(run, 'overview');
      shown.push({ step: (await figures(page))['Average step'], parts: await parts(page) });
    }
    await show(left, `diff?other=${right}`);
    const tiles = await figures(page);
    expect([tiles['Step, baseline'], tiles['Step, other']]).toEqual(shown.map((s) => s.step));
    const rows = await table(page, 'Diff steps');
    expect(rows.length).toBeGreaterThan(3);
    for (const row of rows.slice(1)) {
      const want = shown.map((s) => s.parts[row.Part!]?.[0] ?? '0 ns');
      expect([row.Baseline, row.Other], row.Part).toEqual(want);
    }
    const change = (await ask('diff', traces(left), traces(right))).tables[0]!;
    expect(tiles['Change %']).toBe(`+${formatPercent(Number(change.rows[0]![columnOf(change, 'percent')]))}`);
  });
});
