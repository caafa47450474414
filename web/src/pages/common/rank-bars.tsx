// Bars of ranks: all of few, of many the largest, the median and the least, with all on demand.
import { useState } from 'preact/hooks';
import { Bars, Button, type BarsProps } from '../../components';
import { formatCount } from '../../format';
import { MOST_BARS, summaryOf } from './rank-summary';

export function RankBars(props: Omit<BarsProps, 'horizontal'>) {
  const [isAll, setAll] = useState(false);
  const count = props.categories.length;
  const isMany = count > MOST_BARS;
  const shown = isMany && !isAll ? summaryOf(props) : {};
  return (
    <>
      {isMany && (
        <div class="toolbar rank-bars">
          <span class="muted">
            {isAll ? `All ${formatCount(count)}` : `Largest 5, median and least of ${formatCount(count)}`}
          </span>
          <Button kind="quiet" pressed={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? 'Summary' : `Show all ${formatCount(count)}`}
          </Button>
        </div>
      )}
      <Bars {...props} {...shown} horizontal legend={props.series.length > 1} />
    </>
  );
}
