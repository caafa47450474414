import { describe, expect, it } from 'vitest';
import type { Table } from '../src/api';
import { curveOf, devicesOf, ofSize, parseSize, requestOf } from '../src/pages/memory/numbers';

const make = (names: string[], rows: Table['rows']): Table => ({
  name: 't',
  columns: names.map((name) => ({ name, type: 'any' as const })),
  rows,
});

describe('memory', () => {
  it('lists the CPU behind the devices, and names ranks only where there are several', () => {
    const peaks = make(
      ['rank', 'device_name'],
      [
        [0, 'CPU'],
        [0, 'GPU0'],
        [0, 'GPU1'],
      ],
    );
    expect(devicesOf(peaks).map((device) => device.label)).toEqual(['GPU0', 'GPU1', 'CPU']);
    const two = make(
      ['rank', 'device_name'],
      [
        [0, 'GPU0'],
        [1, 'GPU0'],
      ],
    );
    expect(devicesOf(two).map((device) => device.label)).toEqual(['rank 0 GPU0', 'rank 1 GPU0']);
    expect(devicesOf(two).map((device) => device.key)).toEqual(['0/GPU0', '1/GPU0']);
  });
  it('takes the curve of one device', () => {
    const curve = make(
      ['rank', 'device_name', 'time', 'allocated', 'reserved'],
      [
        [0, 'GPU0', 1, 10, 20],
        [1, 'GPU0', 2, 99, 99],
        [0, 'GPU0', 3, 5, null],
      ],
    );
    expect(curveOf(curve, '0/GPU0')).toEqual({ time: [1, 3], allocated: [10, 5], reserved: [20, null] });
  });
  it('filters blocks by size, both ends included', () => {
    const events = make(['size'], [[10], [20], [30], [null]]);
    expect(ofSize(events, 20, null).rows).toEqual([[20], [30]]);
    expect(ofSize(events, 10, 20).rows).toEqual([[10], [20]]);
    expect(ofSize(events, null, null).rows).toHaveLength(4);
  });
  it('reads sizes as the command line does', () => {
    expect(parseSize('64 KiB')).toBe(65536);
    expect(parseSize('1.5MB')).toBe(1500000);
    expect(parseSize('2g')).toBe(2e9);
    expect(parseSize('4096')).toBe(4096);
    expect(parseSize('')).toBeNull();
    expect(parseSize('many')).toBeNull();
  });
  it('asks for fewer points where there are many traces, so that every curve arrives', () => {
    expect(requestOf(1, null)).toEqual({ limit: '250000' });
    expect(requestOf(64, { from: 5, to: 9 })).toEqual({
      limit: '250000',
      points: '1953',
      from: '5',
      to: '9',
    });
    expect(64 * 2 * 1953).toBeLessThanOrEqual(250000);
  });
});
