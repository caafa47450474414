// The picture, pixel by pixel, with a palette whose colours are numbers that can be read.
import { describe, expect, it } from 'vitest';
import {
  luminance,
  makePalette,
  mix,
  pack,
  shadeOfBusy,
  SHADES,
  toHsl,
  fromHsl,
  VARIANTS,
  type Rgb,
} from '../src/timeline/colors';
import {
  clearRows,
  drawCounter,
  drawFlat,
  drawRow,
  hatch,
  makeLabels,
  makeSurface,
  type RowPlace,
} from '../src/timeline/raster';
import { cutText, measureChars } from '../src/timeline/text';
import { decodeTile, nameOf } from '../src/timeline/tile';
import type { Piece } from '../src/timeline/tile-cache';
import { makeTile, type PointSpec, type SliceSpec } from './timeline-support';

const palette = makePalette(
  () => [200, 200, 200],
  (n) => n,
);
palette.slices.fill(9);
for (let category = 0; category < 15; category++) {
  for (let v = 0; v < VARIANTS; v++) {
    for (let k = 0; k < SHADES; k++)
      palette.slices[(category * VARIANTS + v) * SHADES + k] = category * 100 + k;
  }
}
palette.background = 7;
palette.counterFill = 1;
palette.counterBand = 2;
palette.counterLine = 3;
const ONE = SHADES - 1;

function surface(width: number, height: number) {
  const s = makeSurface(width, height, new ArrayBuffer(width * height * 4));
  s.blank.fill(0);
  clearRows(s, 0, height);
  return s;
}
const rowOf = (s: ReturnType<typeof surface>, y: number): number[] => [
  ...s.words.subarray(y * s.width, (y + 1) * s.width),
];
const at = (more: Partial<RowPlace> = {}): RowPlace => ({
  row: 0,
  top: 0,
  bottom: 1,
  clipTop: 0,
  clipBottom: 100,
  labelFrom: Infinity,
  ...more,
});

function pieceOf(slices: SliceSpec[], from = 0, to = 100, tileFrom = 0): Piece {
  const tile = decodeTile(makeTile({ from: tileFrom, to, pixels: 10, tracks: [{ track: 0, slices }] }));
  return { data: tile.tracks.get(0)!, from, to };
}
const scale = { from: 0, scale: 0.1 }; // 10 ns a pixel

describe('drawRow', () => {
  it('draws one event with a free pixel behind it when it is wide', () => {
    const s = surface(10, 3);
    drawRow(
      s,
      [pieceOf([{ start: 20, dur: 50, id: 1, name: 'a', row: 0, category: 1 }])],
      at({ top: 1, bottom: 2 }),
      scale,
      palette,
      makeLabels(),
    );
    const c = 100 + ONE;
    expect(rowOf(s, 1)).toEqual([0, 0, c, c, c, c, 0, 0, 0, 0]);
    expect(rowOf(s, 0)).toEqual(new Array(10).fill(0));
  });

  it('gives everything at least a pixel, and merged events a lighter shade', () => {
    const s = surface(10, 1);
    drawRow(
      s,
      [
        pieceOf([
          { start: 5, dur: 0, id: 1, name: 'a', row: 0, category: 1 },
          { start: 30, dur: 20, id: 2, name: 'a', row: 0, category: 2, count: 8, busy: 0.5 },
        ]),
      ],
      at(),
      scale,
      palette,
      makeLabels(),
    );
    const shade = shadeOfBusy(0.5);
    expect(shade).toBeLessThan(ONE);
    expect(rowOf(s, 0)).toEqual([100 + ONE, 0, 0, 200 + shade, 200 + shade, 0, 0, 0, 0, 0]);
  });

  it('cuts at the piece, so that pieces of other tiles are not painted over', () => {
    const s = surface(10, 1);
    const slices: SliceSpec[] = [{ start: -30, dur: 200, id: 1, name: 'a', row: 0, category: 1 }];
    drawRow(s, [pieceOf(slices, 30, 60)], at(), scale, palette, makeLabels());
    const c = 100 + ONE;
    expect(rowOf(s, 0)).toEqual([0, 0, 0, c, c, c, 0, 0, 0, 0]);
  });

  it('draws only its own row, and only inside the clip', () => {
    const s = surface(10, 4);
    const piece = pieceOf([
      { start: 0, dur: 100, id: 1, name: 'a', row: 0, category: 1 },
      { start: 0, dur: 20, id: 2, name: 'b', row: 1, category: 2 },
    ]);
    expect(
      drawRow(
        s,
        [piece],
        at({ row: 1, top: 0, bottom: 4, clipTop: 2, clipBottom: 3 }),
        scale,
        palette,
        makeLabels(),
      ),
    ).toBe(true);
    const c = 200 + ONE;
    expect(rowOf(s, 1)).toEqual(new Array(10).fill(0));
    expect(rowOf(s, 2)).toEqual([c, c, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(rowOf(s, 3)).toEqual(new Array(10).fill(0));
    expect(drawRow(s, [piece], at({ row: 5 }), scale, palette, makeLabels())).toBe(false);
  });

  it('writes a name once, in the piece where the slice becomes visible', () => {
    const s = surface(10, 1);
    const labels = makeLabels();
    const slices: SliceSpec[] = [{ start: -500, dur: 5000, id: 1, name: 'long', row: 0 }];
    drawRow(
      s,
      [pieceOf(slices, 0, 50), pieceOf(slices, 50, 100)],
      at({ labelFrom: 3 }),
      scale,
      palette,
      labels,
    );
    expect(labels.count).toBe(1);
    expect([labels.x[0], labels.width[0]]).toEqual([0, 10]);
    expect(nameOf(labels.names[0]!, labels.name[0]!)).toBe('long');
  });

  it('shows that a span has not ended', () => {
    const s = surface(10, 1);
    drawRow(
      s,
      [pieceOf([{ start: 0, dur: 40, id: 1, name: 'a', row: 0, flags: 1 }])],
      at(),
      scale,
      palette,
      makeLabels(),
    );
    expect(rowOf(s, 0)).toEqual([7, ONE, ONE, 0, 0, 0, 0, 0, 0, 0]);
  });
});

it('drawFlat puts deeper rows over those above', () => {
  const s = surface(10, 1);
  palette.group = 5;
  const piece = pieceOf([
    { start: 0, dur: 60, id: 1, name: 'a', row: 0, category: 1 },
    { start: 20, dur: 20, id: 2, name: 'b', row: 3, category: 2 },
  ]);
  drawFlat(s, [piece], at(), scale, palette, makeLabels());
  const [a, b] = [100 + ONE, 200 + ONE];
  expect(rowOf(s, 0)).toEqual([a, a, b, b, a, 5, 5, 5, 5, 5]);
});

describe('drawCounter', () => {
  const counter = (points: PointSpec[]): Piece => {
    const tile = decodeTile(makeTile({ from: 0, to: 100, pixels: 10, tracks: [{ track: 0, points }] }));
    return { data: tile.tracks.get(0)!, from: 0, to: 100 };
  };
  it('is a filled step curve that holds its value until the next point', () => {
    const s = surface(10, 5);
    drawCounter(
      s,
      [
        counter([
          { time: 20, low: 4, high: 4, last: 4 },
          { time: 60, low: 2, high: 2, last: 2 },
        ]),
      ],
      0,
      5,
      0,
      5,
      0,
      4,
      scale,
      palette,
    );
    expect(rowOf(s, 0)).toEqual([0, 0, 3, 3, 3, 3, 3, 0, 0, 0]);
    expect(rowOf(s, 2).slice(2)).toEqual([1, 1, 1, 1, 2, 3, 3, 3]);
    expect(rowOf(s, 4)).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
  });
  it('shows the spread of what fell on one pixel', () => {
    const s = surface(10, 5);
    drawCounter(s, [counter([{ time: 30, low: 1, high: 4, last: 1 }])], 0, 5, 0, 5, 0, 4, scale, palette);
    expect([0, 1, 2, 3, 4].map((y) => rowOf(s, y)[3])).toEqual([3, 2, 2, 2, 1]);
    expect([0, 1, 2, 3, 4].map((y) => rowOf(s, y)[4])).toEqual([0, 0, 0, 3, 1]);
  });
});

it('hatch covers a quarter of the stretch and nothing beside it', () => {
  const s = surface(16, 8);
  hatch(s, 4, 12, 0, 8, 5);
  let count = 0;
  for (let y = 0; y < 8; y++)
    rowOf(s, y).forEach((v, x) => {
      if (v === 5) count++;
      if (v === 5 && (x < 4 || x >= 12)) throw new Error('outside');
    });
  expect(count).toBe(16);
});

describe('colours', () => {
  it('pack as the picture has them', () => {
    expect(pack([1, 2, 3])).toBe(0xff030201);
    expect(mix([0, 0, 0], [100, 200, 50], 0.5)).toEqual([50, 100, 25]);
    expect(luminance([255, 255, 255])).toBeCloseTo(1);
    expect(luminance([0, 0, 0])).toBe(0);
  });
  it('hue and back', () => {
    for (const c of [
      [90, 154, 214],
      [217, 102, 96],
      [128, 128, 128],
      [76, 178, 133],
    ] as Rgb[]) {
      const [h, s, l] = toHsl(c);
      const back = fromHsl(h, s, l);
      back.forEach((v, i) => expect(Math.abs(v - c[i]!)).toBeLessThanOrEqual(1));
    }
  });
  it('names read well on every variant of the theme’s colours', () => {
    const base: Rgb[] = [
      [0x98, 0xa3, 0xb0],
      [0x5a, 0x9a, 0xd6],
      [0xd9, 0x66, 0x60],
      [0x4c, 0xb2, 0x85],
      [0xe0, 0x71, 0x98],
    ];
    const p = makePalette(
      (n) => base[Number(/\d+$/.exec(n)?.[0] ?? 0) % base.length]!,
      () => '',
    );
    const contrast = (a: number, b: number): number => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    for (let i = 0; i < 15 * VARIANTS; i++) {
      const word = p.slices[i * SHADES + SHADES - 1]!;
      const c = luminance([word & 255, (word >> 8) & 255, (word >> 16) & 255]);
      const label = p.darkText[i] ? luminance([0x10, 0x15, 0x1b]) : 1;
      expect(contrast(c, label)).toBeGreaterThan(4.5);
    }
  });
});

it('cutText keeps what fits', () => {
  const widths = measureChars((t) => (t === 'i' ? 4 : 10)); // the dots are 10 wide too
  expect(cutText('abcdef', widths, 60)).toBe('abcdef');
  expect(cutText('abcdef', widths, 59)).toBe('abcd…');
  expect(cutText('iiiiii', widths, 24)).toBe('iiiiii');
  expect(cutText('iiiiii', widths, 23)).toBe('iii…');
  expect(cutText('abcdef', widths, 29)).toBe('');
  expect(cutText('ab', widths, 20)).toBe('ab');
  expect(cutText('äää', widths, 29)).toBe('');
});
