// The way from launch to kernel: queue length over time, and what launching costs.
import { column, columnIndex, tableOf, type Result } from '../../api';
import { Bars, Checkbox, Empty, Figure, Panel, Series } from '../../components';
import { formatCount, formatDuration } from '../../format';
import { urlSignal } from '../../state';
import { RankBars } from '../common/rank-bars';
import { RankSelect } from '../common/ranks';
import { chosenRank, ofRank, ranksOf, sumOf } from '../common/tables';
import { Deep, Nothing, TablePanel } from './frame';
import { labelOf, logHistogram, stepLines, wide } from './shared';

export function QueueLength() {
  return (
    <Deep name="queue-length" title="Queue length" params={{ series: 'yes' }}>
      {(result) => {
        if (tableOf(result).rows.length === 0)
          return <Nothing result={result} otherwise="No kernel could be matched to its launch." />;
        return (
          <>
            <QueueChart result={result} />
            <Panel
              title="Queue length by stream"
              help="Quartiles and extremes of the number of queued or running operations">
              <RankBars
                {...wide(tableOf(result), ['rank', 'stream'], ['p25', 'p50', 'p75', 'max'])}
                stacked={false}
              />
            </Panel>
            <TablePanel
              result={result}
              table="queue_length_summary"
              title="Summary"
              group={['rank', 'stream']}
            />
          </>
        );
      }}
    </Deep>
  );
}

function QueueChart({ result }: { result: Result }) {
  const table = tableOf(result, 'queue_length_series');
  const choice = urlSignal('rank', '');
  const ranks = ranksOf(table);
  const rank = chosenRank(choice.value, ranks, ranks[0]);
  const part = ofRank(table, rank);
  const groups = new Map<string, [number, number][]>();
  const [at, length] = [columnIndex(table, 'ts'), columnIndex(table, 'queue_length')];
  for (const row of part.rows) {
    const name = labelOf(table, row, ['stream']);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)!.push([Number(row[at]), Number(row[length])]);
  }
  const { x, lines } = stepLines(groups);
  return (
    <Panel
      title="Queued work over time"
      help="Launches not yet finished, by stream. Drag to zoom, double-click to show all."
      actions={<RankSelect ranks={ranks} value={rank} choice={choice} />}>
      {x.length === 0 ? (
        <Empty reason="No series." />
      ) : (
        <Series x={x} xUnit="ns" lines={lines.map((l) => ({ ...l, stepped: true }))} height={300} />
      )}
    </Panel>
  );
}

const kinds = [
  ['cpu_duration', 'Launch call on the host', 'var(--cat-3)'],
  ['gpu_duration', 'Work on the device', 'var(--cat-4)'],
  ['launch_delay', 'Delay in between', 'var(--series-1)'],
] as const;

export function LaunchStats() {
  const memory = urlSignal('memory', 'no');
  return (
    <Deep
      name="launch-stats"
      title="Launch statistics"
      params={{ include_memory: memory.value }}
      controls={
        <Checkbox
          label="Include copies and memsets"
          checked={memory.value === 'yes'}
          onChange={(on) => (memory.value = on ? 'yes' : 'no')}
        />
      }>
      {(result) => {
        const table = tableOf(result, 'launch_stats');
        const summary = tableOf(result, 'launch_summary');
        if (table.rows.length === 0)
          return <Nothing result={result} otherwise="No kernel could be matched to its launch." />;
        const sum = (name: string) => sumOf(summary, name) ?? 0;
        return (
          <>
            <div class="figures">
              <Figure name="Launches" value={formatCount(sum('count'))} />
              <Figure
                name="Short kernels"
                value={formatCount(sum('short_kernels'))}
                help="Kernels that take less time than the call that launches them"
              />
              <Figure
                name="Slow calls"
                value={formatCount(sum('runtime_outliers'))}
                help="Calls longer than runtime_cutoff"
              />
              <Figure
                name="Long delays"
                value={formatCount(sum('launch_delay_outliers'))}
                help="Delays longer than launch_delay_cutoff"
              />
            </div>
            <div class="columns-3">
              {kinds.map(([name, title, color]) => {
                const { edges, counts } = logHistogram(
                  column<number | null>(table, name).filter((v): v is number => v !== null),
                );
                return (
                  <Panel key={name} title={title} help={table.columns[columnIndex(table, name)]?.help}>
                    <Bars
                      categories={counts.map((_, i) => formatDuration(Math.round(edges[i]!)))}
                      series={['launches']}
                      values={[counts]}
                      unit="count"
                      colors={[color]}
                      height={200}
                    />
                  </Panel>
                );
              })}
            </div>
            <TablePanel result={result} table="launch_summary" title="By rank" />
            <TablePanel
              result={result}
              table="launch_stats"
              title="Launches"
              sort={{ column: 'launch_delay', descending: true }}
              columns={['rank', 'correlation', 'cpu_duration', 'gpu_duration', 'launch_delay']}
              group={['rank']}
            />
          </>
        );
      }}
    </Deep>
  );
}
