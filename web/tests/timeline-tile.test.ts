// Tiles made by hand, byte by byte as docs/formats/tile.md says.
import { describe, expect, it } from 'vitest';
import { decodeTile, firstEndingAfter, hashName, idOf, nameOf, rowsOf, sliceAt } from '../src/timeline/tile';
import { makeTile } from './timeline-support';

const tile = () =>
  decodeTile(
    makeTile({
      from: 1000,
      to: 2000,
      pixels: 100,
      tracks: [
        {
          track: 7,
          slices: [
            { start: -50, dur: 100, id: 11, name: 'a', row: 0, category: 1 },
            { start: 100, dur: 0, id: 12, name: 'ü', row: 0 },
            { start: 300, dur: 20, id: 2 ** 40 + 5, count: 9, busy: 0.5, name: 'a', row: 0, category: 4 },
            { start: -50, dur: 60, id: 13, name: 'b', row: 2, flags: 1 },
          ],
        },
        { track: 9, points: [{ time: 10, low: 1, high: 4, last: 2 }] },
        { track: 3, slices: [] },
      ],
    }),
  );

describe('decodeTile', () => {
  it('reads the head, the tracks and every array', () => {
    const t = tile();
    expect([t.from, t.to, t.pixels]).toEqual([1000, 2000, 100]);
    expect([...t.tracks.keys()]).toEqual([7, 9, 3]);
    expect([...t.slices.start]).toEqual([-50, 100, 300, -50]);
    expect([...t.slices.dur]).toEqual([100, 0, 20, 60]);
    expect([...t.slices.events]).toEqual([1, 1, 9, 1]);
    expect([...t.slices.busy]).toEqual([1, 1, 0.5, 1]);
    expect([...t.slices.row]).toEqual([0, 0, 0, 2]);
    expect([...t.slices.category]).toEqual([1, 0, 4, 0]);
    expect([...t.slices.flags]).toEqual([0, 0, 0, 1]);
    expect([t.points.time[0], t.points.low[0], t.points.high[0], t.points.last[0]]).toEqual([10, 1, 4, 2]);
  });

  it('keeps 64-bit ids exact and names in UTF-8', () => {
    const t = tile();
    expect(idOf(t.slices, 2)).toBe(2 ** 40 + 5);
    expect(nameOf(t.names, t.slices.name[1]!)).toBe('ü');
    expect(t.slices.name[0]).toBe(t.slices.name[2]);
  });

  it('copies nothing', () => {
    const buffer = makeTile({
      from: 0,
      to: 1,
      pixels: 1,
      tracks: [{ track: 0, slices: [{ start: 0, dur: 1, id: 1, name: 'x', row: 0 }] }],
    });
    expect(decodeTile(buffer).slices.start.buffer).toBe(buffer);
  });

  it('says what is wrong', () => {
    const buffer = makeTile({
      from: 0,
      to: 1,
      pixels: 1,
      tracks: [{ track: 0, slices: [{ start: 0, dur: 1, id: 1, name: 'xyz', row: 0 }] }],
    });
    expect(() => decodeTile(buffer.slice(0, 40))).toThrow('not a tile');
    expect(() => decodeTile(buffer.slice(0, buffer.byteLength - 2))).toThrow('truncated');
    const other = buffer.slice(0);
    new DataView(other).setUint32(4, 2, true);
    expect(() => decodeTile(other)).toThrow('version 2');
    const damaged = buffer.slice(0);
    new DataView(damaged).setUint32(48 + 12, 5, true);
    expect(() => decodeTile(damaged)).toThrow('damaged');
  });
});

describe('rows and places', () => {
  it('finds the rows of a track, empty ones too', () => {
    const t = tile().tracks.get(7)!;
    expect([...rowsOf(t)]).toEqual([0, 3, 3, 4]);
    expect([...rowsOf(tile().tracks.get(3)!)]).toEqual([4]);
  });

  it('finds the first slice that ends after a time, instants included', () => {
    const t = tile();
    expect(firstEndingAfter(t.slices, 0, 3, 49)).toBe(0);
    expect(firstEndingAfter(t.slices, 0, 3, 50)).toBe(1);
    expect(firstEndingAfter(t.slices, 0, 3, 100)).toBe(1);
    expect(firstEndingAfter(t.slices, 0, 3, 101)).toBe(2);
    expect(firstEndingAfter(t.slices, 0, 3, 320)).toBe(3);
  });

  it('hits slices with slack, the nearest first', () => {
    const t = tile().tracks.get(7)!;
    expect(sliceAt(t, 0, 1020, 0)).toBe(0);
    expect(sliceAt(t, 0, 1105, 4)).toBe(-1);
    expect(sliceAt(t, 0, 1105, 5)).toBe(1);
    expect(sliceAt(t, 0, 1080, 40)).toBe(1);
    expect(sliceAt(t, 1, 1020, 1000)).toBe(-1);
    expect(sliceAt(t, 2, 1000, 0)).toBe(3);
    expect(sliceAt(t, 5, 1000, 0)).toBe(-1);
  });
});

describe('hashName', () => {
  const of = (text: string): number => {
    const bytes = new TextEncoder().encode(text);
    return hashName(bytes, 0, bytes.length);
  };
  it('does not see digits', () => {
    expect(of('ProfilerStep#1')).toBe(of('ProfilerStep#234'));
    expect(of('aten::add')).not.toBe(of('aten::mul'));
  });
});
