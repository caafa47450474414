// Neighbours found by tiles, flows from links, and the page that is handed a trace.
import { describe, expect, it } from 'vitest';
import { flowsOf } from '../src/timeline/actions';
import { PERFETTO, waitForPong } from '../src/timeline/perfetto';
import { findNeighbour, refOf } from '../src/timeline/requests';
import type { TileRequest } from '../src/timeline/tile-cache';
import { makeTile, type SliceSpec } from './timeline-support';

/** A server with one track: events of a row closer than a pixel are merged, as docs/formats/tile.md says. */
function server(events: { id: number; start: number; dur: number; row?: number }[]) {
  let requests = 0;
  const fetch = (q: TileRequest): Promise<ArrayBuffer> => {
    requests++;
    const pixel = Math.floor((q.to - q.from) / q.pixels);
    const slices: SliceSpec[] = [];
    const sorted = [...events].sort((a, b) => (a.row ?? 0) - (b.row ?? 0) || a.start - b.start);
    for (const e of sorted) {
      if (e.start >= q.to || (e.start + e.dur <= q.from && e.start < q.from)) continue;
      const last = slices.at(-1);
      const end = e.start + e.dur;
      if (last && last.row === (e.row ?? 0) && end - q.from - last.start < pixel) {
        last.dur = end - q.from - last.start;
        last.count = (last.count ?? 1) + 1;
        continue;
      }
      slices.push({ start: e.start - q.from, dur: e.dur, id: e.id, name: `e${e.id}`, row: e.row ?? 0 });
    }
    return Promise.resolve(
      makeTile({ from: q.from, to: q.to, pixels: q.pixels, tracks: [{ track: 3, slices }] }),
    );
  };
  return { fetch, requests: () => requests };
}

const bounds = { from: 0, to: 100_000_000 };
const signal = new AbortController().signal;
const at = (id: number, start: number, dur: number, row = 0) => ({ id, start, dur, row, track: 3 });

describe('findNeighbour', () => {
  const many = Array.from({ length: 2000 }, (_, i) => ({ id: i, start: 50_000_000 + i * 10, dur: 5 }));
  it('finds the next and the previous among events that are merged from afar', async () => {
    const s = server([{ id: 9000, start: 10, dur: 20 }, ...many]);
    expect((await findNeighbour(at(9000, 10, 20), 1, bounds, s.fetch, signal))?.id).toBe(0);
    expect((await findNeighbour(at(700, 50_007_000, 5), 1, bounds, s.fetch, signal))?.id).toBe(701);
    expect((await findNeighbour(at(700, 50_007_000, 5), -1, bounds, s.fetch, signal))?.id).toBe(699);
    expect((await findNeighbour(at(0, 50_000_000, 5), -1, bounds, s.fetch, signal))?.id).toBe(9000);
    expect(s.requests()).toBeLessThan(40);
  });
  it('stays on its row and knows the ends', async () => {
    const s = server([
      { id: 1, start: 0, dur: 100 },
      { id: 2, start: 10, dur: 20, row: 1 },
      { id: 3, start: 200, dur: 1 },
    ]);
    expect(await findNeighbour(at(2, 10, 20, 1), 1, bounds, s.fetch, signal)).toBe(null);
    expect(await findNeighbour(at(1, 0, 100), -1, bounds, s.fetch, signal)).toBe(null);
    expect(await findNeighbour(at(1, 0, 100), 1, bounds, s.fetch, signal)).toMatchObject({
      id: 3,
      start: 200,
      dur: 1,
      name: 'e3',
    });
  });
});

describe('flowsOf', () => {
  const event = { id: 1, track: 0, row: 0, start: 100, dur: 10, name: 'launch', category: 3, events: 1 };
  const link = (relation: string, id: number, track: number | null = 2) => ({
    relation,
    id,
    track,
    row: 0,
    start: 50,
    dur: 5,
    name: `n${id}`,
    category: 'kernel',
  });
  it('makes arrows of launches, backward and flows, in their direction', () => {
    const flows = flowsOf(event, [
      link('launches', 2),
      link('launched by', 3),
      link('forward', 4),
      link('backward', 5),
      link('flow to', 6),
    ]);
    expect(flows.map((f) => [f.from.id, f.to.id])).toEqual([
      [1, 2],
      [3, 1],
      [4, 1],
      [1, 5],
      [1, 6],
    ]);
  });
  it('leaves out what is no arrow, what is not drawn, and what was told already', () => {
    expect(
      flowsOf(event, [link('op', 2), link('module', 3), link('parent', 4), link('launches', 5, null)]),
    ).toEqual([]);
    expect(flowsOf(event, [link('launches', 2), link('flow to', 2)]).length).toBe(1);
  });
});

describe('refOf', () => {
  it('needs an id and a track', () => {
    expect(refOf({ id: 5, track: null })).toBe(null);
    expect(refOf({ id: 5, track: 1, kind: 'kernel', start: 3, dur: null, row: 2, name: 'k' })).toEqual({
      id: 5,
      track: 1,
      row: 2,
      start: 3,
      dur: 0,
      name: 'k',
      category: 4,
      events: 1,
    });
  });
});

describe('waitForPong', () => {
  const message = (origin: string, data: unknown): MessageEvent => ({ origin, data }) as MessageEvent;
  it('asks until the other page answers, and listens to nobody else', async () => {
    let asked = 0;
    let listener: ((e: MessageEvent) => void) | null = null;
    const other = {
      closed: false,
      postMessage: (m: unknown, origin: string) => {
        expect([m, origin]).toEqual(['PING', PERFETTO]);
        asked++;
        listener?.(message('https://elsewhere.example', 'PONG'));
        listener?.(message(PERFETTO, 'other'));
        if (asked === 3) listener?.(message(PERFETTO, 'PONG'));
      },
    };
    await waitForPong(
      other,
      (f) => {
        listener = f;
        return () => (listener = null);
      },
      1,
    );
    expect(asked).toBe(3);
    expect(listener).toBe(null);
  });
  it('gives up when the window is closed or nothing answers', async () => {
    const never = () => () => undefined;
    await expect(waitForPong({ closed: true, postMessage: () => undefined }, never, 1)).rejects.toThrow(
      'closed',
    );
    await expect(waitForPong({ closed: false, postMessage: () => undefined }, never, 1, 5)).rejects.toThrow(
      'did not respond',
    );
  });
});
