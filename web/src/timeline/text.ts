// Names inside slices: only where they fit, cut by the widths of their characters, which are measured once.
// No clipping and no measuring of whole names: a screen full of them costs little.
import type { Palette } from './colors';
import type { Labels } from './raster';
import type { Names } from './tile';

export const FONT = '12px system-ui, "Segoe UI", "Liberation Sans", Arial, sans-serif';

/** Widths of characters in a font, by code; those beyond ASCII count as the widest letter. */
export type CharWidths = Float32Array;

const ASCII = 128;

export function measureChars(width: (text: string) => number): CharWidths {
  const widths = new Float32Array(ASCII + 2);
  for (let c = 32; c < ASCII; c++) widths[c] = width(String.fromCharCode(c));
  widths[ASCII] = width('M');
  widths[ASCII + 1] = width('…');
  return widths;
}

/** The part of a name that fits into `room`, or '' when less than three characters would. */
export function cutText(text: string, widths: CharWidths, room: number): string {
  const dots = widths[ASCII + 1]!;
  let width = 0;
  let fits = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    width += widths[code < ASCII ? code : ASCII]!;
    if (width > room) return fits < 2 ? '' : `${text.slice(0, fits)}…`;
    if (width + dots <= room) fits = i + 1;
  }
  return text;
}

export interface TextCache {
  font: string;
  widths: CharWidths;
}

export function makeTextCache(): TextCache {
  return { font: '', widths: new Float32Array(0) };
}

export function drawLabels(
  context: CanvasRenderingContext2D,
  labels: Labels,
  palette: Palette,
  cache: TextCache,
  ratio: number,
  nameOf: (names: Names, index: number) => string,
): void {
  const font = ratio === 1 ? FONT : FONT.replace('12px', `${12 * ratio}px`);
  context.font = font;
  if (cache.font !== font) {
    cache.font = font;
    cache.widths = measureChars((text) => context.measureText(text).width);
  }
  context.textBaseline = 'middle';
  for (const isDark of [0, 1]) {
    context.fillStyle = isDark ? palette.css.darkLabel : palette.css.lightLabel;
    for (let i = 0; i < labels.count; i++) {
      if (labels.isDark[i] !== isDark) continue;
      const text = cutText(
        nameOf(labels.names[i]!, labels.name[i]!),
        cache.widths,
        labels.width[i]! - 6 * ratio,
      );
      if (text !== '') context.fillText(text, labels.x[i]! + 3 * ratio, labels.y[i]! + 0.5 * ratio);
    }
  }
  labels.names.fill(null, 0, labels.count);
}
