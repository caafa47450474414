import { describe, expect, it } from 'vitest';
import type { Column } from '../src/api';
import {
  capitalized,
  formatBytes,
  formatCell,
  formatCount,
  formatDuration,
  formatFloat,
  formatPercent,
  formatRows,
  shorten,
  titleOf,
} from '../src/format';

describe('durations', () => {
  it('takes the unit that leaves one to three digits before the point', () => {
    expect(formatDuration(0)).toBe('0 ns');
    expect(formatDuration(999)).toBe('999 ns');
    expect(formatDuration(1000)).toBe('1 µs');
    expect(formatDuration(1500)).toBe('1.5 µs');
    expect(formatDuration(12345)).toBe('12.35 µs'); // 12.345 lies a little above itself in binary
    expect(formatDuration(123456)).toBe('123.5 µs');
    expect(formatDuration(1234567)).toBe('1.235 ms');
    expect(formatDuration(59_999_000_000)).toBe('60 s');
  });
  it('goes to the next unit instead of showing 1000', () => {
    expect(formatDuration(999_949)).toBe('999.9 µs');
    expect(formatDuration(999_950)).toBe('1 ms');
    expect(formatDuration(999_950_000)).toBe('1 s');
  });
  it('counts minutes and hours', () => {
    expect(formatDuration(61e9)).toBe('1 min 01 s');
    expect(formatDuration(3600e9)).toBe('1 h 00 min');
    expect(formatDuration((2 * 3600 + 5 * 60) * 1e9)).toBe('2 h 05 min');
  });
  it('keeps the sign, and no sign for nothing', () => {
    expect(formatDuration(-1500)).toBe('-1.5 µs');
    expect(formatDuration(-0)).toBe('0 ns');
  });
});

describe('other numbers', () => {
  it('shows bytes in powers of 1024', () => {
    expect(formatBytes(999)).toBe('999 B');
    expect(formatBytes(1000)).toBe('1000 B');
    expect(formatBytes(1023.5 * 1024)).toBe('1 MiB');
    expect(formatBytes(80 * 2 ** 30)).toBe('80 GiB');
    expect(formatBytes(-2.5 * 2 ** 20)).toBe('-2.5 MiB');
  });
  it('groups counts by thousands', () => {
    expect(formatCount(0)).toBe('0');
    expect(formatCount(999)).toBe('999');
    expect(formatCount(1234567)).toBe('1,234,567');
    expect(formatCount(-1234)).toBe('-1,234');
  });
  it('shows floats as %.4g does', () => {
    expect(formatFloat(0)).toBe('0');
    expect(formatFloat(0.5270462766947299)).toBe('0.527');
    expect(formatFloat(142.53591)).toBe('142.5');
    expect(formatFloat(1234)).toBe('1234');
    expect(formatFloat(12345)).toBe('1.234e+04'); // halves go to even in C, and 12345 is exact
    expect(formatFloat(0.00001234)).toBe('1.234e-05');
    expect(formatFloat(9999.6)).toBe('1e+04');
  });
  it('rounds a tie to the even digit, as C does', () => {
    // all of these are exact in binary
    expect(formatPercent(0.25)).toBe('0.2 %');
    expect(formatPercent(0.75)).toBe('0.8 %');
    expect(formatPercent(-0.25)).toBe('-0.2 %');
    expect(formatDuration(1_062_500)).toBe('1.062 ms');
    expect(formatDuration(1_187_500)).toBe('1.188 ms');
    expect(formatFloat(2.0625)).toBe('2.062');
    expect(formatFloat(100.25)).toBe('100.2');
  });
  it('shows percent with one digit', () => {
    expect(formatPercent(24.2309)).toBe('24.2 %');
    expect(formatPercent(100)).toBe('100.0 %');
  });
});

describe('cells', () => {
  const column = (type: Column['type'], unit?: string): Column => ({ name: 'x', type, unit });
  it('follows the type and the unit of the column', () => {
    expect(formatCell(1500, column('duration', 'ns'))).toBe('1.5 µs');
    expect(formatCell(1500, column('float', 'ns'))).toBe('1.5 µs');
    expect(formatCell(1536, column('bytes'))).toBe('1.5 KiB');
    expect(formatCell(1500, column('int', 'count'))).toBe('1,500');
    expect(formatCell(1500, column('int'))).toBe('1500');
    expect(formatCell(1.5, column('percent'))).toBe('1.5 %');
    expect(formatCell(true, column('bool'))).toBe('Yes');
    expect(formatCell('a', column('string'))).toBe('a');
  });
  it('shows what is missing as missing, never as 0', () => {
    for (const type of ['int', 'float', 'duration', 'bytes', 'percent', 'string', 'bool'] as const)
      expect(formatCell(null, column(type))).toBe('–');
  });
});

describe('texts', () => {
  it('makes heads of column names', () => {
    expect(titleOf('est_sm_efficiency')).toBe('Est. SM efficiency');
    expect(titleOf('name')).toBe('Name');
  });
  it('cuts the middle of long names and keeps the length', () => {
    expect(shorten('abcdefghij', 10)).toBe('abcdefghij');
    expect(shorten('abcdefghijklmnopqrst', 10)).toBe('abcdef…rst');
  });
});

describe('sentences of the program', () => {
  it('begin with a capital, but names do not change', () => {
    expect(capitalized('kernels not available: none')).toBe('Kernels not available: none');
    expect(capitalized('aten::mm has no kernels')).toBe('aten::mm has no kernels');
    expect(capitalized('memory_events not available')).toBe('memory_events not available');
  });
  it('count rows', () => {
    expect([0, 1, 2, 1234].map(formatRows)).toEqual(['0 rows', '1 row', '2 rows', '1,234 rows']);
  });
});
