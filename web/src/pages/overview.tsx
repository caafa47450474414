// Overview: what ran on what, how busy it was, where the time of a step went, and what to do about it.
import { objects, tableOf, type Result } from '../api';
import { Figure, Notes, Page, Panel, useResult, View } from '../components';
import { formatCount, formatDuration } from '../format';
import { urlSignal } from '../state';
import { RankSelect } from './common/ranks';
import { ALL, asNumber, asText, chosenRank, ofRank, ranksOf } from './common/tables';
import { Findings } from './overview/findings';
import { Gpus } from './overview/gpus';
import { executions, meanExecution } from './overview/numbers';
import { AverageStep, RankBars, StepChart } from './overview/steps';
import { Utilization } from './overview/utilization';
import './overview.css';

/** One text of a column where all traces say the same, else what they say. */
function saying(values: string[]): string {
  return [...new Set(values)].join(', ');
}

function Configuration({ result, rank }: { result: Result; rank: string }) {
  const table = ofRank(tableOf(result, 'configuration'), rank);
  const rows = objects(table);
  const help = (name: string) => table.columns.find((column) => column.name === name)?.help;
  const texts = (name: string) => saying(rows.map((row) => asText(row[name])).filter((text) => text !== ''));
  const left = rows.reduce((sum, row) => sum + (asNumber(row.steps_left_out) ?? 0), 0);
  const steps = texts('steps') + (rows.length > 1 ? ' per rank' : '');
  const devices = rows.reduce((sum, row) => sum + (asNumber(row.devices) ?? 0), 0);
  const all = executions(result);
  const mean = meanExecution(rank === ALL ? all : all.filter((one) => one.key === rank));
  const worker = rows.length === 1 ? asText(rows[0]!.worker) : '';
  return (
    <div class="figures figures-dense">
      <Figure
        name="Average step"
        value={mean ? formatDuration(mean.time) : '–'}
        help="Mean over the steps of the averages"
      />
      <Figure name="Workers" value={texts('number_of_workers') || '–'} help="Traces of the run" />
      <Figure name="Device type" value={texts('device_type') || '–'} help={help('device_type')} />
      <Figure name="Devices used" value={formatCount(devices)} help="Devices that had work" />
      <Figure
        name={left > 0 ? `Steps (${left} left out)` : 'Steps'}
        value={steps}
        help={`Steps: ${help('steps')}. Left out: ${help('steps_left_out')}.`}
      />
      <Figure name="Events" value={formatCount(result.input.events)} help="Events of all traces" />
      {worker && <Figure name="Worker" value={worker} help={help('worker')} />}
    </div>
  );
}

export default function Overview() {
  const choice = urlSignal('rank', ALL);
  const overview = useResult('overview');
  const findings = useResult('recommendations');
  const ranks = overview.result ? ranksOf(tableOf(overview.result, 'configuration')) : [];
  const rank = chosenRank(choice.value, ranks);
  return (
    <Page
      title="Overview"
      actions={<RankSelect ranks={ranks} value={rank} choice={choice} all="all ranks (mean)" />}
    >
      <View of={overview} height={900} notes={false}>
        {(result) => (
          <div class="overview">
            <Notes notes={result.input.notes} />
            <Configuration result={result} rank={rank} />
            <div class="overview-steps">
              <StepChart result={result} rank={rank} />
              <AverageStep result={result} rank={rank} />
            </div>
            <Panel
              title="GPU summary"
              help="Over the time from the start of the first step to the end of the last."
            >
              <Gpus
                table={ofRank(tableOf(result, 'gpu_summary'), rank)}
                several={rank === ALL && ranks.length > 1}
              />
            </Panel>
            <View of={findings} height={300} notes={false}>
              {(found) => <Findings result={found} rank={rank} />}
            </View>
            {rank === ALL && <RankBars result={result} onSelect={(key) => (choice.value = key)} />}
            <Utilization result={result} rank={rank} />
          </div>
        )}
      </View>
    </Page>
  );
}
