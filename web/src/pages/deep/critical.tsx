// The critical path of a step: what bounds it, and the events on it.
import { columnIndex, objects, tableOf, type CellValue, type Column, type Table } from '../../api';
import { Figure, Panel, Ring, TextBox } from '../../components';
import { formatCount, formatDuration, formatPercent, titleOf } from '../../format';
import { hashOf, urlSignal } from '../../state';
import { RankBars } from '../common/rank-bars';
import { RankSelect } from '../common/ranks';
import { ALL, addUp, chosenRank, ofRank, rankKey, ranksOf, sumOf } from '../common/tables';
import { Deep, Nothing, NumberParam, TablePanel } from './frame';
import { pivot } from './shared';

/** Causes and kinds of edges have names of their own in the analysis: cpu_bound is CPU bound. */
const causeCell = (row: CellValue[], column: Column, table: Table) => {
  const value = row[columnIndex(table, column.name)];
  return /^(bound_by|type)$/.test(column.name) && typeof value === 'string' ? titleOf(value) : undefined;
};

export function CriticalPath() {
  const annotation = urlSignal('annotation', 'ProfilerStep');
  const instance = urlSignal('instance', '0');
  const choice = urlSignal('rank', ALL);
  return (
    <Deep
      name="critical-path"
      title="Critical path"
      params={{ annotation: annotation.value, instance: instance.value }}
      controls={
        <>
          <TextBox
            label="Annotation"
            value={annotation.value}
            onChange={(v) => (annotation.value = v || 'ProfilerStep')}
            title="Analyze the time marked with this annotation"
          />
          <NumberParam
            label="Instance"
            value={instance}
            min={0}
            otherwise={0}
            title="Which occurrence: 0 is the first"
          />
        </>
      }>
      {(result) => {
        const summary = tableOf(result, 'summary');
        const graph = tableOf(result, 'graph');
        if (graph.rows.length > 0 && sumOf(graph, 'path_weight') === null)
          return (
            <Nothing
              result={result}
              otherwise="No critical path: no operators, calls or device work in this time."
            />
          );
        if (graph.rows.length === 0)
          return <Nothing result={result} otherwise="No critical path: the annotation does not occur." />;
        const ranks = ranksOf(graph);
        const rank = chosenRank(choice.value, ranks, ALL);
        const named = {
          ...summary,
          rows: summary.rows.filter((r) => r[columnIndex(summary, 'bound_by')] !== ''),
        };
        const causes = pivot(named, ['rank'], 'bound_by', 'duration');
        const part = ofRank(tableOf(result, 'breakdown'), rank);
        const one = ofRank(graph, rank);
        const isOk = one.rows.every((r) => r[columnIndex(one, 'is_ok')] === true);
        const sum = (name: string) => sumOf(one, name) ?? 0;
        const path = objects(tableOf(result, 'path')).filter((r) => rank === ALL || rankKey(r.rank) === rank);
        const times = path.map((r) => Number(r.ts));
        return (
          <>
            <p>
              <a
                class="button"
                href={hashOf('timeline', {
                  path: `${annotation.value}/${instance.value}`,
                  from: String(times.reduce((a, b) => Math.min(a, b), Infinity)),
                  to: String(times.reduce((a, b) => Math.max(a, b), -Infinity)),
                })}>
                Show the path in the timeline
              </a>
            </p>
            <div class="figures">
              <Figure
                name="Length of the path"
                value={formatDuration(sum('path_weight') / one.rows.length)}
                help="Mean over the ranks shown"
              />
              <Figure
                name="Share of the time"
                value={isOk ? formatPercent((100 * sum('path_weight')) / sum('region')) : 'not available'}
                help="Length of the path relative to the analyzed time, from its start to its end or the end of the path"
              />
              <Figure name="Events on it" value={formatCount(sum('path_events'))} />
              <Figure name="Events analyzed" value={formatCount(sum('events'))} />
            </div>
            <div class="columns-2">
              <Panel title="What bounds each rank" help="Time on the path by what it is spent on">
                <RankBars {...causes} series={causes.series.map(titleOf)} unit="ns" />
              </Panel>
              <Panel
                title="Names on the path"
                actions={<RankSelect ranks={ranks} value={rank} choice={choice} all="all ranks" />}>
                <Ring items={addUp(part, 's_name', 'duration')} unit="ns" top={10} />
              </Panel>
            </div>
            <TablePanel
              result={result}
              table={part}
              title="Along the path"
              group={['s_name', 'type', 'bound_by', 'cat']}
              columns={['rank', 's_name', 'duration', 'type', 'cat', 'bound_by', 'pid', 'tid', 'stream']}
              cell={(row, column) => causeCell(row, column, part)}
            />
            <TablePanel
              result={result}
              table="summary"
              title="By cause"
              group={['rank', 'bound_by']}
              cell={(row, column) => causeCell(row, column, summary)}
            />
            <TablePanel result={result} table="graph" title="The graph" />
          </>
        );
      }}
    </Deep>
  );
}
