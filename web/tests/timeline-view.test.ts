// The arithmetic of the window.
import { describe, expect, it } from 'vitest';
import {
  clampRange,
  fitRange,
  focusRange,
  levelOf,
  panRange,
  rulerStep,
  rulerText,
  surroundings,
  tilesOf,
  zoomRange,
} from '../src/timeline/view';

const bounds = { from: 0, to: 10000 };

describe('clampRange', () => {
  it('keeps the length while it moves inside', () => {
    expect(clampRange({ from: -100, to: 900 }, bounds)).toEqual({ from: 0, to: 1000 });
    expect(clampRange({ from: 9500, to: 10500 }, bounds)).toEqual({ from: 9000, to: 10000 });
  });
  it('is never longer than the run nor shorter than 10 ns', () => {
    expect(clampRange({ from: -5000, to: 50000 }, bounds)).toEqual(bounds);
    expect(clampRange({ from: 500, to: 501 }, bounds)).toEqual({ from: 495.5, to: 505.5 });
  });
});

describe('zoomRange', () => {
  it('keeps the time at the mouse where it is', () => {
    const r = zoomRange({ from: 2000, to: 4000 }, 0.5, 2500, bounds);
    expect(r).toEqual({ from: 2250, to: 3250 }); // a quarter of the window lies before 2500, as before
  });
  it('zooming in and out again comes back', () => {
    const there = zoomRange({ from: 2000, to: 4000 }, 0.25, 3900, bounds);
    expect(zoomRange(there, 4, 3900, bounds)).toEqual({ from: 2000, to: 4000 });
  });
  it('stops at the run', () => {
    expect(zoomRange({ from: 2000, to: 4000 }, 100, 3000, bounds)).toEqual(bounds);
  });
});

describe('panRange', () => {
  it('stops at the borders', () => {
    expect(panRange({ from: 100, to: 200 }, -500, bounds)).toEqual({ from: 0, to: 100 });
    expect(panRange({ from: 100, to: 200 }, 50, bounds)).toEqual({ from: 150, to: 250 });
  });
});

describe('focusRange (F)', () => {
  const target = { from: 7000, to: 7010 };
  it('first centres and keeps the zoom', () => {
    expect(focusRange({ from: 1000, to: 3000 }, target, bounds)).toEqual({ from: 6005, to: 8005 });
  });
  it('then fits it: nine tenths of the window', () => {
    expect(focusRange({ from: 6005, to: 8005 }, target, bounds)).toEqual(fitRange(target, bounds));
    const fitted = fitRange(target, bounds);
    expect((target.to - target.from) / (fitted.to - fitted.from)).toBeCloseTo(0.9);
  });
  it('zooms out at once when it would take more than half', () => {
    expect(focusRange({ from: 5000, to: 5100 }, { from: 4000, to: 5000 }, bounds)).toEqual({
      from: 2000,
      to: 7000,
    });
  });
  it('counts as centred at the border of the run, where the centre cannot be reached', () => {
    const first = focusRange({ from: 4000, to: 6000 }, { from: 0, to: 10 }, bounds);
    expect(first).toEqual({ from: 0, to: 2000 });
    expect(focusRange(first, { from: 0, to: 10 }, bounds)).toEqual(fitRange({ from: 0, to: 10 }, bounds));
  });
});

describe('fitRange', () => {
  it('fills nine tenths', () => {
    expect(fitRange({ from: 4500, to: 5400 }, bounds)).toEqual({ from: 4450, to: 5450 });
  });
});

describe('levels', () => {
  it('are as fine as the screen or up to twice as fine', () => {
    expect([0.01, 1, 1.99, 2, 1023, 1024].map(levelOf)).toEqual([0, 0, 0, 1, 9, 10]);
  });
  it('tiles cover the range, borders exact', () => {
    const span = 1024 * 8;
    expect(tilesOf({ from: 0, to: span }, 3)).toEqual({ first: 0, last: 0 });
    expect(tilesOf({ from: span - 1, to: span + 1 }, 3)).toEqual({ first: 0, last: 1 });
    expect(tilesOf({ from: -1, to: 1 }, 3)).toEqual({ first: -1, last: 0 });
  });
});

describe('ruler', () => {
  it('has marks at 1, 2 or 5 times a power of ten', () => {
    expect([0.3, 1, 1.5, 3, 7, 130, 2_000_001].map(rulerStep)).toEqual([1, 1, 2, 5, 10, 200, 5_000_000]);
  });
  it('names neighbours differently', () => {
    expect(rulerText(0, 100)).toBe('0 ns');
    expect(rulerText(1500, 500)).toBe('1.5 µs');
    expect(rulerText(12_345_000, 1000)).toBe('12.345 ms');
    expect(rulerText(2_000_000_000, 100_000_000)).toBe('2.0 s');
    expect(rulerText(-2500, 500)).toBe('-2.5 µs');
  });
  it('counts minutes and hours where the marks are seconds or more apart', () => {
    const s = 1e9;
    expect(
      [4 * s, 6 * s, 25 * s, 45 * s, 130 * s, 1000 * s, 5000 * s, 200_000 * s].map((n) => rulerStep(n) / s),
    ).toEqual([5, 10, 30, 60, 300, 1200, 7200, 3 * 86400]);
    expect(rulerText(45 * s, 5 * s)).toBe('45 s');
    expect(rulerText(125 * s, 5 * s)).toBe('2 min 05 s');
    expect(rulerText(600 * s, 60 * s)).toBe('10 min');
    expect(rulerText(3900 * s, 300 * s)).toBe('1 h 05 min');
    expect(rulerText(3665 * s, 5 * s)).toBe('1 h 01 min 05 s');
    expect(rulerText(125.5 * s, 0.5 * s)).toBe('125.5 s');
  });
});

describe('an event with its surroundings', () => {
  const bounds = { from: 0, to: 1_000_000_000 };
  it('takes an eighth of the window and stands in the middle', () => {
    expect(surroundings({ from: 400_000_000, to: 401_000_000 }, bounds)).toEqual({
      from: 396_500_000,
      to: 404_500_000,
    });
  });
  it('shows what is around short ones, as long as they can be seen', () => {
    expect(surroundings({ from: 500_000_000, to: 500_002_000 }, bounds)).toEqual({
      from: 499_901_000,
      to: 500_101_000,
    });
    expect(surroundings({ from: 500_000_000, to: 500_000_010 }, bounds)).toEqual({
      from: 499_999_005,
      to: 500_001_005,
    });
  });
  it('stays within the run', () => {
    expect(surroundings({ from: 0, to: 1_000_000 }, bounds)).toEqual({ from: 0, to: 8_000_000 });
  });
});
