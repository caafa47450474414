// Idle time of streams by cause, and the largest gaps with who is to blame.
import { columnIndex, tableOf, type CellValue, type Result, type Table } from '../../api';
import { Bars, Checkbox, DataTable, Empty, Panel, TextBox } from '../../components';
import { formatUnit, titleOf } from '../../format';
import { urlSignal } from '../../state';
import { EventLink } from '../common/links';
import { RankBars } from '../common/rank-bars';
import { Deep, Nothing, NumberParam, TablePanel } from './frame';
import { labelOf, pivot } from './shared';

const causes: Record<string, string> = {
  host_wait: 'var(--cat-3)',
  kernel_wait: 'var(--cat-4)',
  other: 'var(--rest)',
};

export function IdleTime() {
  const delay = urlSignal('delay', '30us');
  const stats = urlSignal('stats', 'no');
  return (
    <Deep
      name="idle-time"
      title="Idle time"
      params={{ delay: delay.value, stats: stats.value }}
      controls={
        <>
          <TextBox
            label="Delay"
            value={delay.value}
            onChange={(v) => (delay.value = v || '30us')}
            title="Attribute shorter gaps with work queued to device overhead (kernel_wait)"
          />
          <Checkbox
            label="Distribution"
            checked={stats.value === 'yes'}
            onChange={(on) => (stats.value = on ? 'yes' : 'no')}
          />
        </>
      }>
      {(result) => {
        const bars = pivot(tableOf(result, 'idle'), ['rank', 'stream'], 'idle_category', 'idle_time');
        if (bars.categories.length === 0)
          return <Nothing result={result} otherwise="No stream has a gap between two pieces of work." />;
        const colors = bars.series.map((s) => causes[s] ?? 'var(--series-5)');
        return (
          <>
            <div class="columns-2">
              <Panel
                title="Why streams wait"
                help="Host wait: nothing had been launched; kernel wait: shorter than the delay; other: mostly other streams">
                <RankBars {...bars} series={bars.series.map(titleOf)} unit="ns" percent colors={colors} />
              </Panel>
              <Panel title="How long">
                <RankBars {...bars} series={bars.series.map(titleOf)} unit="ns" colors={colors} />
              </Panel>
            </div>
            <TablePanel
              result={result}
              table="idle"
              title="By stream and cause"
              sort={{ column: 'idle_time', descending: true }}
              group={['rank', 'stream', 'idle_category']}
              cell={(row, column) =>
                column.name === 'idle_category'
                  ? titleOf(String(row[columnIndex(tableOf(result, 'idle'), 'idle_category')]))
                  : undefined
              }
            />
            <TablePanel result={result} table="interval_stats" title="Distribution of the gaps" />
          </>
        );
      }}
    </Deep>
  );
}

/** What the threads did during one gap. */
function Activity({ result, row, gaps }: { result: Result; row: CellValue[]; gaps: Table }) {
  const activity = tableOf(result, 'activity');
  const same = ['rank', 'gap'].map((n) => [columnIndex(activity, n), row[columnIndex(gaps, n)]] as const);
  const rows = activity.rows.filter((r) => same.every(([at, value]) => r[at] === value));
  if (rows.length === 0) return <Empty reason="No host activity was recorded during this gap." />;
  return (
    <DataTable
      table={{ ...activity, rows }}
      id="activity"
      columns={['thread_name', 'activity', 'time', 'percent', 'name', 'op', 'python']}
      height={200}
    />
  );
}

/** Shorter gaps do not count: a time, as it was asked for or as the analysis has it. */
function leastGap(result: Result): string {
  const least = result.params.min_gap;
  return typeof least === 'number' ? formatUnit(least, 'ns') : String(least);
}

export function Gaps() {
  const num = urlSignal('num', '10');
  return (
    <Deep
      name="gaps"
      title="Gaps"
      params={{ num: num.value }}
      controls={<NumberParam label="Gaps per device" value={num} min={1} otherwise={10} />}>
      {(result) => {
        const gaps = tableOf(result, 'gaps');
        if (gaps.rows.length === 0)
          return <Nothing result={result} otherwise="No device was idle for longer than the minimum gap." />;
        const blame = pivot(tableOf(result, 'blame'), ['rank', 'device'], 'blame', 'time');
        const [durAt, blameAt] = [columnIndex(gaps, 'dur'), columnIndex(gaps, 'blame')];
        const largest = [...gaps.rows].sort((a, b) => Number(b[durAt]) - Number(a[durAt])).slice(0, 12);
        return (
          <>
            <div class="columns-2">
              <Panel
                title="Causes"
                help={`Idle time of each device in gaps of ${leastGap(result)} or more, by what the host did meanwhile`}>
                <RankBars {...blame} series={blame.series.map(titleOf)} unit="ns" />
              </Panel>
              <Panel title="Largest gaps">
                <Bars
                  horizontal
                  unit="ns"
                  series={['duration']}
                  values={[largest.map((r) => Number(r[durAt]))]}
                  categories={largest.map(
                    (r) => `${labelOf(gaps, r, ['rank', 'step'])} · ${String(r[blameAt] ?? '')}`,
                  )}
                />
              </Panel>
            </div>
            <TablePanel
              result={result}
              table="gaps"
              title="Gaps"
              help="Open a row to see what each thread did meanwhile."
              columns={[
                'rank',
                'gap',
                'device',
                'step',
                'ts',
                'dur',
                'blame',
                'blame_time',
                'name',
                'op',
                'python',
                'before',
                'after',
              ]}
              titles={{
                ts: 'At',
                dur: 'Length',
                blame_time: 'Blamed',
                name: 'Host did',
                before: 'Before',
                after: 'After',
              }}
              sort={{ column: 'dur', descending: true }}
              group={['rank', 'step', 'blame']}
              height={560}
              cell={(row, c) =>
                c.name === 'ts' ? (
                  <TimeLink
                    value={row[columnIndex(gaps, 'ts')]}
                    event={row[columnIndex(gaps, 'event')] ?? row[columnIndex(gaps, 'after_event')]}
                  />
                ) : undefined
              }
              expand={(row) => <Activity result={result} row={row} gaps={gaps} />}
            />
          </>
        );
      }}
    </Deep>
  );
}

function TimeLink({ value, event }: { value: CellValue | undefined; event: CellValue | undefined }) {
  const text = typeof value === 'number' ? formatUnit(value, 'ns') : '–';
  if (typeof event !== 'number') return <span>{text}</span>;
  return <EventLink id={event} text={text} />;
}
