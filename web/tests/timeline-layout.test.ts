// Groups, heights, pins and the filter.
import { TrackKind } from '../src/timeline/track-kind';
import { describe, expect, it } from 'vitest';
import {
  allGroups,
  lineIndexAt,
  linesBetween,
  makeLayout,
  matchesFilter,
  rowAt,
  thinKey,
  trackHeight,
  type LayoutChoice,
  type Track,
} from '../src/timeline/layout';

function track(id: number, groups: string[], more: Partial<Track> = {}): Track {
  return {
    id,
    groups,
    kind: TrackKind.Spans,
    name: `track ${id}`,
    trace: 0,
    rank: 0,
    isDevice: false,
    rows: 1,
    events: 1,
    note: '',
    low: 0,
    high: 1,
    unit: '',
    ...more,
  };
}

const tracks = [
  track(0, ['Rank 0', 'python'], { rows: 3, name: 'main' }),
  track(1, ['Rank 0', 'python']),
  track(2, ['Rank 0', 'GPU 0'], { name: 'stream 7' }),
  track(3, ['Rank 1', 'python'], { kind: TrackKind.Counter, name: 'memory' }),
];
const nothing: LayoutChoice = { closed: new Set(), pinned: [], compact: new Set(), filter: '' };
const shape = (choice: Partial<LayoutChoice>) =>
  makeLayout(tracks, { ...nothing, ...choice }).lines.map((l) => `${'  '.repeat(l.depth)}${l.title} @${l.y}`);

describe('makeLayout', () => {
  it('puts tracks below their groups, each as high as its rows', () => {
    // groups 24, rows 18 + 6 around them, at least 24; counters 44
    expect(shape({})).toEqual([
      'Rank 0 @0',
      '  python @24',
      '    main @48',
      '    track 1 @108',
      '  GPU 0 @132',
      '    stream 7 @156',
      'Rank 1 @180',
      '  python @204',
      '    memory @228',
    ]);
    expect(makeLayout(tracks, nothing).height).toBe(228 + 44);
  });

  it('hides what is in closed groups; equal names in other groups stay open', () => {
    expect(shape({ closed: new Set(['Rank 0 › python']) })).toEqual([
      'Rank 0 @0',
      '  python @24',
      '  GPU 0 @48',
      '    stream 7 @72',
      'Rank 1 @96',
      '  python @120',
      '    memory @144',
    ]);
    expect(shape({ closed: new Set(['Rank 0']) })).toEqual([
      'Rank 0 @0',
      'Rank 1 @24',
      '  python @48',
      '    memory @72',
    ]);
  });

  it('knows the tracks of a closed group', () => {
    const line = makeLayout(tracks, { ...nothing, closed: new Set(['Rank 0']) }).lines[0]!;
    expect(line.isOpen).toBe(false);
    expect(line.members.map((m) => m.id)).toEqual([0, 1, 2]);
  });

  it('filters by names of tracks and groups, and opens what it found', () => {
    expect(shape({ filter: 'STREAM', closed: new Set(['Rank 0']) })).toEqual([
      'Rank 0 @0',
      '  GPU 0 @24',
      '    stream 7 @48',
    ]);
    expect(shape({ filter: 'rank 1' })).toEqual(['Rank 1 @0', '  python @24', '    memory @48']);
    const { shown, total } = makeLayout(tracks, { ...nothing, filter: 'main, memory' });
    expect([shown, total]).toEqual([2, 4]);
  });

  it('pins in the order of pinning, besides their own place', () => {
    const layout = makeLayout(tracks, { ...nothing, pinned: [3, 0, 99] });
    expect(layout.pinned.map((l) => [l.track!.id, l.y])).toEqual([
      [3, 0],
      [0, 44],
    ]);
    expect(layout.pinnedHeight).toBe(44 + 60);
    expect(layout.lines.length).toBe(9);
    expect(layout.pinned[1]!.title).toBe('Rank 0 › python › main');
  });

  it('knows the line of each track: its own, or that of the group which hides it', () => {
    const layout = makeLayout(tracks, { ...nothing, closed: new Set(['Rank 0 › python']), filter: '' });
    expect(tracks.map((t) => layout.lineOf.get(t.id)?.title)).toEqual([
      'python',
      'python',
      'stream 7',
      'memory',
    ]);
    expect(makeLayout(tracks, { ...nothing, filter: 'stream' }).lineOf.get(0)).toBe(undefined);
  });

  it('pins tracks of many rows thin, without touching their own place', () => {
    const deep = [{ ...tracks[0]!, rows: 20 }];
    const rows = (compact: number[]) => {
      const l = makeLayout(deep, { ...nothing, pinned: [0], compact: new Set(compact) });
      return [l.pinned[0]!.rowHeight, l.lines.at(-1)!.rowHeight];
    };
    expect(rows([])).toEqual([4, 18]);
    expect(rows([thinKey({ track: deep[0]!, isPinned: true })])).toEqual([18, 18]);
    expect(rows([thinKey({ track: deep[0]!, isPinned: false })])).toEqual([4, 4]);
  });

  it('makes rows thin', () => {
    expect(trackHeight(tracks[0]!, false)).toBe(60);
    expect(trackHeight({ ...tracks[0]!, rows: 50 }, true)).toBe(206);
    expect(trackHeight(tracks[0]!, true)).toBe(24);
  });
});

describe('places', () => {
  const { lines } = makeLayout(tracks, nothing);
  it('finds lines by height', () => {
    expect(lineIndexAt(lines, 0)).toBe(0);
    expect(lineIndexAt(lines, 23.9)).toBe(0);
    expect(lineIndexAt(lines, 24)).toBe(1);
    expect(lineIndexAt(lines, 99999)).toBe(lines.length);
    expect(linesBetween(lines, 50, 110)).toEqual({ first: 2, end: 4 });
  });
  it('finds rows inside a line', () => {
    const main = lines[2]!;
    expect([0, 3, 20, 21, 56, 58].map((y) => rowAt(main, y))).toEqual([-1, 0, 0, 1, 2, -1]);
  });
  it('lists the groups', () => {
    expect(allGroups(tracks)).toEqual([
      'Rank 0',
      'Rank 0 › python',
      'Rank 0 › GPU 0',
      'Rank 1',
      'Rank 1 › python',
    ]);
  });
  it('an empty filter matches', () => {
    expect(matchesFilter(tracks[0]!, ' , ')).toBe(true);
    expect(matchesFilter(tracks[0]!, 'x')).toBe(false);
  });
});
