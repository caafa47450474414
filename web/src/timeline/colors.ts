// Colours of slices as numbers that go straight into the picture: one base per category (--cat-N of the
// theme), a little variation by name so that neighbours can be told apart, and lighter shades for slices that
// stand for several events with gaps between them.

export const CATEGORIES = [
  'other',
  'operator',
  'Python',
  'runtime call',
  'kernel',
  'copy',
  'set',
  'annotation',
  'step',
  'communication',
  'memory',
  'synchronisation',
  'autograd',
  'module',
  'overhead',
  'function',
  'off CPU',
] as const;

export const VARIANTS = 8;
/** Shades of each: SHADES - 1 for one event, below that merged ones, lighter the less they are busy. */
export const SHADES = 9;

export type Rgb = readonly [number, number, number];

export interface Palette {
  /** [(category * VARIANTS + variant) * SHADES + shade], as the picture's words have it */
  slices: Uint32Array;
  /** [category * VARIANTS + variant]: 1 when dark text reads better on it */
  darkText: Uint8Array;
  background: number;
  group: number;
  pinned: number;
  grid: number;
  border: number;
  lost: number;
  counterFill: number;
  counterBand: number;
  counterLine: number;
  /** CSS texts for what is drawn with the canvas' own calls */
  css: {
    text: string;
    dim: string;
    accent: string;
    lightLabel: string;
    darkLabel: string;
    border: string;
    background: string;
    group: string;
    selection: string;
    mark: string;
    path: string;
    hover: string;
    arrow: string;
    step: string;
  };
  base: Rgb[];
}

export function pack(c: Rgb): number {
  return ((255 << 24) | (c[2] << 16) | (c[1] << 8) | c[0]) >>> 0;
}

export function mix(a: Rgb, b: Rgb, part: number): Rgb {
  const m = (i: 0 | 1 | 2): number => Math.round(a[i] + (b[i] - a[i]) * part);
  return [m(0), m(1), m(2)];
}

/** Relative luminance (WCAG), 0 black .. 1 white. */
export function luminance(c: Rgb): number {
  const f = (v: number): number => {
    const x = v / 255;
    return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]);
}

export function toHsl(c: Rgb): [number, number, number] {
  const [r, g, b] = [c[0] / 255, c[1] / 255, c[2] / 255];
  const max = Math.max(r, g, b);
  const min = Math.min(r, g, b);
  const l = (max + min) / 2;
  const d = max - min;
  if (d === 0) return [0, 0, l];
  const s = d / (1 - Math.abs(2 * l - 1));
  const h = max === r ? ((g - b) / d + 6) % 6 : max === g ? (b - r) / d + 2 : (r - g) / d + 4;
  return [h * 60, s, l];
}

export function fromHsl(h: number, s: number, l: number): Rgb {
  const f = (n: number): number => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [f(0), f(8), f(4)];
}

/** The colour of a name within its category: a few degrees of hue and some lightness beside the base. */
function variantOf(base: Rgb, variant: number): Rgb {
  const [h, s, l] = toHsl(base);
  const turn = ((variant & 3) - 1.5) * 9;
  const lift = variant & 4 ? 0.06 : 0;
  return fromHsl((h + turn + 360) % 360, s, Math.min(Math.max(l + lift, 0.12), 0.88));
}

export function shadeOfBusy(busy: number): number {
  const shade = Math.round(busy * (SHADES - 2));
  return shade < 0 ? 0 : shade > SHADES - 2 ? SHADES - 2 : shade;
}

/** `color` gives the value of a CSS variable as red, green, blue. */
export function makePalette(color: (name: string) => Rgb, css: (name: string) => string): Palette {
  const background = color('--panel');
  const base = CATEGORIES.map((_, i) => color(`--cat-${i}`));
  const slices = new Uint32Array(CATEGORIES.length * VARIANTS * SHADES);
  const darkText = new Uint8Array(CATEGORIES.length * VARIANTS);
  base.forEach((b, category) => {
    for (let v = 0; v < VARIANTS; v++) {
      const full = variantOf(b, v);
      const at = category * VARIANTS + v;
      darkText[at] = luminance(full) > 0.18 ? 1 : 0;
      for (let k = 0; k < SHADES - 1; k++) {
        slices[at * SHADES + k] = pack(mix(background, full, 0.3 + (0.55 * k) / (SHADES - 2)));
      }
      slices[at * SHADES + SHADES - 1] = pack(full);
    }
  });
  const accent = color('--accent');
  const border = color('--line');
  const text = color('--text');
  return {
    slices,
    darkText,
    background: pack(background),
    group: pack(mix(background, text, 0.06)),
    pinned: pack(mix(background, accent, 0.05)),
    grid: pack(mix(background, border, 0.55)),
    border: pack(border),
    lost: pack(mix(background, color('--bad'), 0.45)),
    counterFill: pack(mix(background, accent, 0.3)),
    counterBand: pack(mix(background, accent, 0.6)),
    counterLine: pack(accent),
    css: {
      text: css('--text'),
      dim: css('--muted'),
      accent: css('--accent'),
      lightLabel: '#ffffff',
      darkLabel: '#10151b',
      border: css('--line'),
      background: css('--panel'),
      group: `rgb(${mix(background, text, 0.06).join(' ')})`,
      selection: css('--text'),
      mark: css('--warn'),
      path: css('--bad'),
      hover: css('--text'),
      arrow: css('--accent'),
      step: css('--cat-8'),
    },
    base,
  };
}
