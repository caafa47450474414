// Busy and idle, overlap of communication with computation: shares by rank.
import { column, tableOf } from '../../api';
import { Figure, Panel } from '../../components';
import { formatDuration, formatPercent } from '../../format';
import { RankBars } from '../common/rank-bars';
import { Deep, Nothing, TablePanel } from './frame';
import { wide } from './shared';

const mean = (values: readonly (number | null)[]): number | null => {
  const known = values.filter((v): v is number => v !== null);
  return known.length === 0 ? null : known.reduce((s, v) => s + v, 0) / known.length;
};
const share = (v: number | null) => (v === null ? '–' : formatPercent(v));

export function TemporalBreakdown() {
  return (
    <Deep name="temporal-breakdown" title="Busy and idle">
      {(result) => {
        const table = tableOf(result);
        if (table.rows.length === 0)
          return <Nothing result={result} otherwise="No device work in this run." />;
        const bars = wide(table, ['rank'], ['compute_time', 'non_compute_time', 'idle_time']);
        return (
          <>
            <div class="figures">
              <Figure
                name="Computing"
                value={share(mean(column<number | null>(table, 'compute_time_pctg')))}
                help="Mean over ranks: time with a compute kernel running"
              />
              <Figure
                name="Not computing"
                value={share(mean(column<number | null>(table, 'non_compute_time_pctg')))}
                help="Mean over ranks: busy, but no compute kernel running"
              />
              <Figure
                name="Idle"
                value={share(mean(column<number | null>(table, 'idle_time_pctg')))}
                help="Mean over ranks: nothing running"
              />
            </div>
            <Panel
              title="Time of each device"
              help="Shares of the time from the first to the last device work, over all steps. The overview shows shares of the step time, which includes host time before and after.">
              <RankBars
                {...bars}
                series={['computing', 'not computing', 'idle']}
                unit="ns"
                percent
                colors={['var(--cat-4)', 'var(--cat-9)', 'var(--rest)']}
              />
            </Panel>
            <TablePanel result={result} table="temporal_breakdown" title="By rank" />
          </>
        );
      }}
    </Deep>
  );
}

export function CommOverlap() {
  return (
    <Deep name="comm-overlap" title="Overlap of communication and computation">
      {(result) => {
        const table = tableOf(result);
        const hidden = column<number | null>(table, 'overlap');
        const all = column<number | null>(table, 'communication');
        if (!all.some((v) => v)) return <Nothing result={result} otherwise="No communication in this run." />;
        const exposed = all.map((v, i) => (v === null ? null : v - (hidden[i] ?? 0)));
        const { categories } = wide(table, ['rank'], ['overlap']);
        const total = (list: (number | null)[]) => list.reduce<number>((s, v) => s + (v ?? 0), 0);
        return (
          <>
            <div class="figures">
              <Figure
                name="Hidden, mean"
                value={share(mean(column<number | null>(table, 'comp_comm_overlap_pctg')))}
                help="Share of the communication time in which a kernel computes; mean over ranks"
              />
              <Figure name="Communication" value={formatDuration(total(all))} help="Sum over ranks" />
              <Figure
                name="Exposed"
                value={formatDuration(total(exposed))}
                help="Communication while nothing computes; sum over ranks"
              />
            </div>
            <div class="columns-2">
              <Panel title="Hidden share">
                <RankBars
                  categories={categories}
                  series={['hidden']}
                  values={[column<number | null>(table, 'comp_comm_overlap_pctg')]}
                  unit="%"
                />
              </Panel>
              <Panel title="Hidden and exposed time">
                <RankBars
                  categories={categories}
                  series={['hidden behind computation', 'exposed']}
                  values={[hidden, exposed]}
                  unit="ns"
                  colors={['var(--cat-4)', 'var(--cat-9)']}
                />
              </Panel>
            </div>
            <TablePanel result={result} table="comm_comp_overlap" title="By rank" />
          </>
        );
      }}
    </Deep>
  );
}
