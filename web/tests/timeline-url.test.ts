// What a link says about the timeline.
import { describe, expect, it } from 'vitest';
import { parseArea, parseMarks, parseWindow, selectionText } from '../src/timeline/url';

describe('selection', () => {
  it('is an event by number or an area with its tracks, and comes back', () => {
    const event = { id: 2 ** 40 + 1, track: 0, row: 0, start: 0, dur: 1, name: '', category: 0, events: 1 };
    expect(selectionText({ kind: 'event', event })).toBe('1099511627777');
    const area = { from: -10.5, to: 99.2, tracks: [0, 3, 4, 5] };
    expect(selectionText({ kind: 'area', area })).toBe('-11~100~0,3-5');
    expect(parseArea('-11~100~0,3-5')).toEqual({ from: -11, to: 100, tracks: [0, 3, 4, 5] });
    expect(selectionText({ kind: 'none' })).toBe('');
  });
  it('ignores nonsense', () => {
    for (const text of ['', 'x', '12', '1~2', '1~2~x', '1.5', '99999999999999999', '1~2~5-3'])
      expect(parseArea(text), text).toBe(null);
  });
});

describe('window', () => {
  it('needs both ends in order', () => {
    expect(parseWindow('-5', '10')).toEqual({ from: -5, to: 10 });
    for (const [from, to] of [
      ['', '10'],
      ['5', ''],
      ['10', '5'],
      ['5', '5'],
      ['a', '9'],
    ] as const) {
      expect(parseWindow(from, to)).toBe(null);
    }
  });
});

it('kept marks come back, nonsense is left out', () => {
  expect(parseMarks('5~10,-3~7')).toEqual([
    { from: 5, to: 10, isKept: true },
    { from: -3, to: 7, isKept: true },
  ]);
  expect(parseMarks('')).toEqual([]);
  expect(parseMarks('5,7~6,x~9,1~2')).toEqual([{ from: 1, to: 2, isKept: true }]);
});
