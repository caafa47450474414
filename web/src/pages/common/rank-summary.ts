// Of many ranks: what to look at first. Pure, for tests.
import { formatCount } from '../../format';

export interface RankSeries {
  categories: readonly string[];
  series: readonly string[];
  values: readonly (readonly (number | null)[])[];
}

/** So many bars can be compared by eye. */
export const MOST_BARS = 12;
const LARGEST = 5;

const median = (sorted: readonly number[]): number => {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
};

/** The largest bars, the median of all, and the least: of each part the median by itself. */
export function summaryOf({ categories, series, values }: RankSeries): RankSeries {
  const totals = categories.map((_, c) => values.reduce((sum, list) => sum + (list[c] ?? 0), 0));
  const order = categories.map((_, c) => c).sort((a, b) => totals[b]! - totals[a]! || a - b);
  const shown = order.slice(0, LARGEST);
  const least = order.at(-1)!;
  const medians = values.map((list) => {
    const known = list.filter((v): v is number => v !== null).sort((a, b) => a - b);
    return known.length > 0 ? median(known) : null;
  });
  return {
    categories: [
      ...shown.map((c) => categories[c]!),
      `median of ${formatCount(categories.length)}`,
      `${categories[least]} (least)`,
    ],
    series,
    values: values.map((list, s) => [...shown.map((c) => list[c] ?? null), medians[s]!, list[least] ?? null]),
  };
}
