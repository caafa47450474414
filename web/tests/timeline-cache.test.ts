// Which tiles are asked for, kept and shown, with a server that answers when the test says so.
import { describe, expect, it } from 'vitest';
import { createTileCache, type Piece, type TileRequest } from '../src/timeline/tile-cache';
import { tileSpan } from '../src/timeline/view';
import { makeTile } from './timeline-support';

interface Asked {
  request: TileRequest;
  signal: AbortSignal;
  answer: () => Promise<void>;
  fail: (m: string) => Promise<void>;
}

function setup(options: { maxBytes?: number; maxRequests?: number } = {}) {
  const asked: Asked[] = [];
  let changes = 0;
  let time = 0;
  const settle = (): Promise<void> => new Promise((r) => setTimeout(r, 0));
  const cache = createTileCache({
    ...options,
    now: () => time,
    changed: () => changes++,
    fetch: (request, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        asked.push({
          request,
          signal,
          answer: () => {
            resolve(
              makeTile({
                from: request.from,
                to: request.to,
                pixels: request.pixels,
                tracks: request.tracks.map((track) => ({
                  track,
                  slices: [{ start: 0, dur: 1, id: track, name: `t${track}`, row: 0 }],
                })),
              }),
            );
            return settle();
          },
          fail: (m) => {
            reject(new Error(m));
            return settle();
          },
        });
      }),
  });
  return { cache, asked, changes: () => changes, wait: (ms: number) => (time += ms) };
}

const T = tileSpan(4);
const bounds = { from: 0, to: T * 100 };

describe('want', () => {
  it('asks for each visible column once, for all tracks in one request, the middle first', () => {
    const { cache, asked } = setup();
    cache.want({ from: T * 10, to: T * 13 }, bounds, 4, [1, 2, 5], []);
    expect(asked.map((a) => a.request.from / T)).toEqual([11, 10, 12]);
    expect(asked[0]!.request).toEqual({ from: T * 11, to: T * 12, pixels: 1024, tracks: [1, 2, 5] });
    cache.want({ from: T * 10, to: T * 13 }, bounds, 4, [1, 2, 5], []);
    expect(asked.length).toBe(3);
  });

  it('asks only for tracks that a column lacks', async () => {
    const { cache, asked } = setup();
    const range = { from: T * 10, to: T * 11 };
    cache.want(range, { ...range }, 4, [1], []);
    await asked[0]!.answer();
    cache.want(range, { ...range }, 4, [1, 2], []);
    expect(asked[1]!.request.tracks).toEqual([2]);
  });

  it('never has more than the allowed number of requests under way', async () => {
    const { cache, asked, changes } = setup({ maxRequests: 2 });
    const range = { from: 0, to: T * 5 };
    cache.want(range, bounds, 4, [1], []);
    expect(asked.length).toBe(2);
    await asked[0]!.answer();
    expect(changes()).toBe(1);
    cache.want(range, bounds, 4, [1], []);
    expect(asked.length).toBe(3);
  });

  it('aborts what is no longer wanted, and asks for it again later', () => {
    const { cache, asked } = setup();
    cache.want({ from: T * 10, to: T * 11 }, bounds, 4, [1], []);
    cache.want({ from: T * 50, to: T * 51 }, bounds, 4, [1], []);
    expect(asked[0]!.signal.aborted).toBe(true);
    expect(asked[1]!.request.from).toBe(T * 50);
    cache.want({ from: T * 10, to: T * 11 }, bounds, 4, [1], []);
    expect(asked[2]!.request.from).toBe(T * 10);
  });

  it('fetches neighbours and near tracks only when everything visible is there', async () => {
    const { cache, asked } = setup();
    const range = { from: T * 10, to: T * 11 };
    cache.want(range, bounds, 4, [1], [8]);
    expect(asked.length).toBe(1);
    await asked[0]!.answer();
    cache.want(range, bounds, 4, [1], [8]);
    expect(asked.slice(1).map((a) => a.request.from / T)).toEqual([11, 9]);
    await asked[1]!.answer();
    await asked[2]!.answer();
    cache.want(range, bounds, 4, [1], [8]);
    expect(asked[3]!.request).toMatchObject({ from: T * 10, tracks: [8] });
  });

  it('does not ask beyond the run', () => {
    const { cache, asked } = setup();
    cache.want({ from: -T * 3, to: T }, { from: 0, to: T }, 4, [1], []);
    expect(asked.map((a) => a.request.from)).toEqual([0]);
  });

  it('waits before asking again after a failure, and tells it', async () => {
    const { cache, asked, wait, changes } = setup();
    const range = { from: 0, to: T };
    cache.want(range, { ...range }, 4, [1], []);
    await asked[0]!.fail('503');
    expect(cache.state().error).toBe('503');
    expect(changes()).toBe(1);
    cache.want(range, { ...range }, 4, [1], []);
    expect(asked.length).toBe(1);
    wait(3000);
    cache.want(range, { ...range }, 4, [1], []);
    expect(asked.length).toBe(2);
    await asked[1]!.answer();
    expect(cache.state().error).toBe(null);
  });
});

describe('pieces', () => {
  const load = async (
    s: ReturnType<typeof setup>,
    level: number,
    index: number,
    tracks = [1],
  ): Promise<void> => {
    const span = tileSpan(level);
    const range = { from: index * span, to: (index + 1) * span };
    const before = s.asked.length;
    s.cache.want(range, range, level, tracks, []);
    for (const a of s.asked.slice(before)) await a.answer();
  };
  const look = (s: ReturnType<typeof setup>, level: number, index: number) => {
    const out: Piece[] = [];
    const isExact = s.cache.pieces(1, level, index, out);
    return { isExact, out: out.map((p) => [p.data.tile.from, p.from, p.to]) };
  };

  it('gives the tile itself', async () => {
    const s = setup();
    await load(s, 4, 6);
    expect(look(s, 4, 6)).toEqual({ isExact: true, out: [[6 * T, 6 * T, 7 * T]] });
  });

  it('gives a coarser one, cut to the place, until the right one is there', async () => {
    const s = setup();
    await load(s, 7, 0);
    expect(look(s, 4, 6)).toEqual({ isExact: false, out: [[0, 6 * T, 7 * T]] });
    expect(look(s, 4, 8)).toEqual({ isExact: false, out: [] });
  });

  it('prefers whole finer ones to much coarser ones', async () => {
    const s = setup();
    await load(s, 9, 0);
    await load(s, 3, 12);
    expect(look(s, 4, 6).out).toEqual([[0, 6 * T, 7 * T]]);
    await load(s, 3, 13);
    const half = T / 2;
    expect(look(s, 4, 6).out).toEqual([
      [12 * half, 12 * half, 13 * half],
      [13 * half, 13 * half, 14 * half],
    ]);
  });

  it('shows parts rather than nothing', async () => {
    const s = setup();
    await load(s, 3, 12);
    expect(look(s, 4, 6).out).toEqual([[(12 * T) / 2, (12 * T) / 2, (13 * T) / 2]]);
  });
});

describe('memory', () => {
  it('lets the longest unused go', async () => {
    const one = makeTile({
      from: 0,
      to: 1,
      pixels: 1,
      tracks: [{ track: 1, slices: [{ start: 0, dur: 1, id: 1, name: 't1', row: 0 }] }],
    }).byteLength;
    const s = setup({ maxBytes: one * 3 });
    const see = async (i: number): Promise<void> => {
      const range = { from: i * T, to: (i + 1) * T };
      const before = s.asked.length;
      s.cache.want(range, range, 4, [1], []);
      s.cache.pieces(1, 4, i, []);
      for (const a of s.asked.slice(before)) await a.answer();
    };
    for (const i of [0, 1, 2, 0, 3]) await see(i);
    expect([0, 1, 2, 3].map((i) => s.cache.has(1, 4, i))).toEqual([true, false, false, true]);
    expect(s.cache.state().bytes).toBeLessThanOrEqual(one * 3);
  });

  it('stops everything when closed', () => {
    const s = setup();
    s.cache.want({ from: 0, to: T }, bounds, 4, [1], []);
    s.cache.close();
    expect(s.asked[0]!.signal.aborted).toBe(true);
    expect(s.cache.state()).toMatchObject({ bytes: 0, requests: 0 });
  });
});
