// The terminal is held against the same file (tests/unit/render/test_units.c): both write the same.
import { expect, it } from 'vitest';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../src/format';
import listed from '../../tests/data/units.tsv?raw';

const formats: Record<string, (value: number) => string> = {
  duration: formatDuration,
  bytes: formatBytes,
  count: formatCount,
  percent: formatPercent,
};

it('units are written as their definition says', () => {
  const lines = listed.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(600);
  for (const line of lines) {
    const [kind = '', value = '', want] = line.split('\t');
    expect(`${kind} ${value}: ${formats[kind]!(Number(value))}`).toBe(`${kind} ${value}: ${want}`);
  }
});
