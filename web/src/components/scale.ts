// Axes: round steps that leave few enough labels.

/** Steps of axes of bytes: 1 B, 2 B, 4 B, ... 512 TiB, so that ticks are round in KiB, MiB and GiB. */
export const byteSteps: number[] = Array.from({ length: 50 }, (_, i) => 2 ** i);

const decimalStep = (raw: number): number => {
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999)!;
};

/** Ticks from 0 (or below) to at least max, in steps of 1, 2 or 5 times a power of ten, of bytes in powers of two. */
export function ticksOf(min: number, max: number, count: number, unit?: string): number[] {
  const low = Math.min(0, min);
  const high = Math.max(0, max);
  const range = high - low;
  if (!(range > 0) || !Number.isFinite(range)) return [0];
  const raw = range / Math.max(1, count);
  const step = (unit === 'bytes' && byteSteps.find((n) => n >= raw * 0.999)) || decimalStep(raw);
  const ticks: number[] = [];
  for (let i = Math.floor(low / step + 1e-9); i * step < high + step * 0.999; i++) ticks.push(i * step);
  return ticks;
}

/** Colours of series in charts, by place. */
export const seriesColor = (index: number): string => `var(--series-${index % 12})`;

/** How many of n labels fit when each takes `need` pixels of `room`: every k-th is shown. */
export function labelStride(n: number, room: number, need: number): number {
  return Math.max(1, Math.ceil((n * need) / Math.max(1, room)));
}
