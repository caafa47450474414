// From the tables of the server to tracks, groups, steps; and what a tile of a few pixels tells about
// counters.
import { describe, expect, it } from 'vitest';
import type { CellValue, Result, TraceInfo } from '../src/api';
import { makeModel, setCounterRanges, setDeviceSteps, wholeStep } from '../src/timeline/model';
import { makeTile } from './timeline-support';

const COLUMNS = [
  'track',
  'trace',
  'rank',
  'kind',
  'group',
  'name',
  'rows',
  'events',
  'first',
  'last',
  'tid',
  'unit',
];

function resultOf(tracks: CellValue[][], steps: CellValue[][] = [], lost: CellValue[][] = []): Result {
  const table = (name: string, columns: string[], rows: CellValue[][]) => ({
    name,
    columns: columns.map((c) => ({ name: c, type: 'any' as const })),
    rows,
  });
  return {
    analysis: 'timeline-tracks',
    params: {},
    input: { path: 'x', ranks: [], events: 0, notes: ['a note'] },
    tables: [
      table('tracks', COLUMNS, tracks),
      table('steps', ['trace', 'rank', 'number', 'start', 'dur', 'id'], steps),
      table('lost', ['trace', 'from', 'to', 'reason', 'count'], lost),
    ],
  };
}

const two = [
  [0, 0, 0, 'thread', 'python (pid 1)', 'main', 50, 900, 100, 9000, 41, null],
  [1, 0, 0, 'stream', 'GPU 0', 'stream 7', 2, 10, 200, 8000, 7, null],
  [2, 0, 0, 'counter', 'python (pid 1)', 'memory', 1, 5, 300, 400, null, 'bytes'],
  [3, 0, 0, 'other', 'Spans', 'Profiler', 1, 1, 0, 9500, 'Profiler', null],
  [4, 1, 1, 'thread', 'python (pid 2)', 'thread 42', 12, 800, 150, 9100, 42, null],
];
const infos: TraceInfo[] = [];

describe('makeModel', () => {
  it('groups by rank and process, and marks of the profiler by themselves', () => {
    const m = makeModel(resultOf(two), infos);
    expect(m.tracks.map((t) => [...t.groups, t.name].join('/'))).toEqual([
      'Rank 0/python (pid 1)/main',
      'Rank 0/GPU 0/stream 7',
      'Rank 0/python (pid 1)/memory',
      'Rank 0/Other/Spans: Profiler',
      'Rank 1/python (pid 2)/thread 42',
    ]);
    expect([...m.closed]).toEqual(['Rank 0 › Other']);
    expect(m.tracks.map((t) => t.note)).toEqual(['41', '', '', '', '']);
    expect(m.notes).toEqual(['a note']);
  });

  it('has no level for ranks when there is one trace', () => {
    const m = makeModel(resultOf(two.slice(0, 2)), infos);
    expect(m.tracks.map((t) => t.groups)).toEqual([['python (pid 1)'], ['GPU 0']]);
  });

  it('tells traces apart that have the same rank, or none', () => {
    const rows = [0, 1, 2].map((trace) => [
      trace,
      trace,
      trace < 2 ? 5 : null,
      'thread',
      'p',
      't',
      1,
      1,
      0,
      1,
      1,
      null,
    ]);
    const m = makeModel(resultOf(rows), [
      { trace: 2, rank: null, worker: 'host_7', span: null, file: 'f', events: 1 },
    ]);
    expect(m.tracks.map((t) => t.groups[0])).toEqual(['Rank 5', 'Rank 5 (trace 1)', 'host_7']);
  });

  it('shows chosen traces only, with their time', () => {
    const m = makeModel(resultOf(two), infos, [1]);
    expect(m.tracks.map((t) => t.id)).toEqual([4]);
    expect(m.isPart).toBe(true);
    expect(m.extent).toEqual({ from: 150, to: 9101 });
    expect(makeModel(resultOf(two), infos).isPart).toBe(false);
  });

  it('goes from the first event to the last, with half a percent of air', () => {
    const m = makeModel(resultOf(two), infos);
    expect(m.extent).toEqual({ from: 0, to: 9501 });
    expect(m.bounds).toEqual({ from: -48, to: 9549 }); // 47.5 on each side
  });

  it('starts thin where there are many rows, earlier in further traces', () => {
    expect([...makeModel(resultOf(two), infos).compact]).toEqual([0, 4]);
  });

  it('takes the steps of the first trace that has any', () => {
    const m = makeModel(
      resultOf(two, [
        [1, 1, 7, 100, 50, 3],
        [1, 1, 8, 150, 60, 4],
        [2, 2, 7, 90, 10, 9],
      ]),
      infos,
    );
    expect(m.steps).toEqual([
      { name: 'ProfilerStep#7', from: 100, to: 150, id: 3, number: 7, rank: 1, device: null },
      { name: 'ProfilerStep#8', from: 150, to: 210, id: 4, number: 8, rank: 1, device: null },
    ]);
  });

  it('knows where steps ran on the device, once it is told', () => {
    const m = makeModel(
      resultOf(two, [
        [1, 1, 7, 100, 50, 3],
        [1, 1, 8, 150, 60, 4],
      ]),
      infos,
    );
    const table = {
      name: 'steps',
      columns: ['rank', 'step', 'start', 'dur', 'device_start', 'device_end'].map((name) => ({
        name,
        type: 'any' as const,
      })),
      rows: [
        [1, 7, 100, 50, 120, 190],
        [1, 8, 150, 60, null, null],
        [2, 8, 150, 60, 1, 2],
      ],
    };
    expect(setDeviceSteps(m, { ...resultOf(two), tables: [table] })).toBe(true);
    expect(m.steps.map((step) => wholeStep(step))).toEqual([
      { from: 100, to: 190 },
      { from: 150, to: 210 },
    ]);
  });

  it('draws what was lost on the tracks of its trace, up to the border where the end is not known', () => {
    const m = makeModel(resultOf(two, [], [[1, 500, null, 'cut off', 3]]), infos);
    expect([m.lost[0]!.from, m.lost[0]!.to, m.lost[0]!.reason]).toEqual([500, m.bounds.to, 'cut off']);
    expect(m.tracks.map((t) => m.lost[0]!.applies(t))).toEqual([false, false, false, false, true]);
  });

  it('picks streams and each trace for the small picture', () => {
    expect(makeModel(resultOf(two), infos).mapTracks).toEqual([0, 1, 3, 4]);
  });

  it('reads the range of counters', () => {
    const m = makeModel(resultOf(two), infos);
    expect(m.byId.get(2)!.high).toBeNaN();
    setCounterRanges(
      m,
      makeTile({
        from: 0,
        to: 10,
        pixels: 2,
        tracks: [
          {
            track: 2,
            points: [
              { time: 0, low: 5, high: 8, last: 8 },
              { time: 5, low: 3, high: 6, last: 6 },
            ],
          },
        ],
      }),
    );
    expect([m.byId.get(2)!.low, m.byId.get(2)!.high]).toEqual([3, 8]);
  });
});
