// Many ranks in a few bars; by hand.
import { expect, it } from 'vitest';
import { summaryOf } from '../src/pages/common/rank-summary';

it('has the five largest, the median of each part, and the least', () => {
  const categories = Array.from({ length: 14 }, (_, i) => `rank ${i}`);
  // rank i: i of the first part, 1 of the second; rank 3 is an outlier; rank 5 has no first part
  const first = categories.map((_, i) => (i === 3 ? 100 : i === 5 ? null : i));
  const values = [first, categories.map(() => 1)];
  const few = summaryOf({ categories, series: ['a', 'b'], values });
  expect(few.categories).toEqual([
    'rank 3',
    'rank 13',
    'rank 12',
    'rank 11',
    'rank 10',
    'median of 14',
    'rank 5 (least)',
  ]);
  // known: 0 1 2 4 6 7 8 9 10 11 12 13 100
  expect(few.values).toEqual([
    [100, 13, 12, 11, 10, 8, null],
    [1, 1, 1, 1, 1, 1, 1],
  ]);
});
