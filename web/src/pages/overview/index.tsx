// Overview: what ran on what, how busy it was, where the time of a step went, and what to do about it.
import { signal } from '@preact/signals';
import { objects, tableOf, type Result } from '../../api';
import { Button, Figure, Notes, Page, Panel, useResult, View } from '../../components';
import { startTour } from '../../components/tour';
import { capitalized, formatCount, formatDuration } from '../../format';
import { hashOf, urlSignal } from '../../state';
import { RankSelect } from '../common/ranks';
import { ALL, asNumber, asText, chosenRank, ofRank, ranksOf } from '../common/tables';
import { Findings } from './findings';
import { Gpus } from './gpus';
import { executions, meanExecution } from './numbers';
import { AverageStep, RankBars, StepChart } from './steps';
import { Utilization } from './utilization';
import './overview.css';

/** One text of a column where all traces say the same, else what they say. */
function saying(values: string[]): string {
  return [...new Set(values)].join(', ');
}

/** The device type of a trace in which no device had work. */
const HOST_ONLY = 'CPU';

/** "7", "7 per rank", "2 to 3 per rank", as the report has it. */
function stepCount(counts: number[]): string {
  if (counts.length === 0) return '–';
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return (least === most ? String(most) : `${least} to ${most}`) + (counts.length > 1 ? ' per rank' : '');
}

/** Nothing ran on a device: then nothing is said about devices. */
function isHostOnly(result: Result, rank: string): boolean {
  const rows = objects(ofRank(tableOf(result, 'configuration'), rank));
  return rows.length > 0 && rows.every((row) => row.device_type === HOST_ONLY);
}

function Devices({ result, rank, several }: { result: Result; rank: string; several: boolean }) {
  return (
    <Panel title="GPU summary" help="From the start of the first step to the end of the last.">
      <Gpus
        table={ofRank(tableOf(result, 'gpu_summary'), rank)}
        several={several}
        hasKernels={objects(tableOf(result, 'step_breakdown')).some((row) => (asNumber(row.kernel) ?? 0) > 0)}
      />
    </Panel>
  );
}

function Configuration({ result, rank }: { result: Result; rank: string }) {
  const table = ofRank(tableOf(result, 'configuration'), rank);
  const rows = objects(table);
  const help = (name: string) => table.columns.find((column) => column.name === name)?.help;
  const texts = (name: string) => saying(rows.map((row) => asText(row[name])).filter((text) => text !== ''));
  const left = rows.reduce((sum, row) => sum + (asNumber(row.steps_left_out) ?? 0), 0);
  const steps = stepCount(rows.map((row) => asNumber(row.steps)).filter((count) => count !== null));
  const devices = rows.reduce((sum, row) => sum + (asNumber(row.devices) ?? 0), 0);
  const types = texts('device_type');
  const all = executions(result);
  const mean = meanExecution(rank === ALL ? all : all.filter((one) => one.key === rank));
  const worker = rows.length === 1 ? asText(rows[0]!.worker) : '';
  return (
    <div class="figures figures-dense">
      <Figure
        name="Average step"
        value={mean ? formatDuration(mean.time) : '–'}
        help={rows.length > 1 ? 'Mean over all steps of all ranks' : 'Mean over the steps'}
      />
      <Figure name="Workers" value={texts('number_of_workers') || '–'} help="Traces of the run's ranks" />
      <Figure name="Device type" value={types || '–'} help={help('device_type')} />
      {types !== HOST_ONLY && (
        <Figure name="Devices used" value={formatCount(devices)} help="Devices with work" />
      )}
      <Figure
        name={left > 0 ? `Steps (${left} left out)` : 'Steps'}
        value={steps}
        help={`Steps: ${help('steps')}. Left out: ${help('steps_left_out')}.`}
      />
      <Figure name="Events" value={formatCount(result.input.events)} help="Events of these traces" />
      {worker && <Figure name="Worker" value={worker} help={help('worker')} />}
    </div>
  );
}

const seen = signal(wasSeen());

function wasSeen(): boolean {
  try {
    return localStorage.getItem('kino.tour') !== null;
  } catch {
    return true;
  }
}

/** Once, until it is taken or dismissed. */
function FirstTime() {
  if (seen.value) return null;
  const hide = () => {
    seen.value = true;
    try {
      localStorage.setItem('kino.tour', 'seen');
    } catch {
      // a browser that keeps nothing offers it again
    }
  };
  return (
    <div class="toolbar first-time">
      <span>New here? A tour of six stops shows where to find what.</span>
      <Button
        kind="primary"
        onClick={() => {
          hide();
          startTour();
        }}>
        Guided tour
      </Button>
      <Button kind="quiet" onClick={hide}>
        No, thanks
      </Button>
    </div>
  );
}

/** Losses and damage: numbers of such a recording are too small. */
function Incomplete() {
  const loaded = useResult('completeness');
  const rows = loaded.result ? objects(tableOf(loaded.result, 'findings')) : [];
  const bad = rows.filter((row) => row.severity === 'loss' || row.severity === 'damage');
  if (bad.length === 0) return null;
  return (
    <div class="truncated" role="note">
      <b>The recording is incomplete.</b> {capitalized(asText(bad[0]!.meaning))}
      {bad.length > 1 && `, and ${bad.length - 1} more`}.{' '}
      <a href={hashOf('analyses/completeness')}>What is missing</a>
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
      rank={rank}
      actions={<RankSelect ranks={ranks} value={rank} choice={choice} all="all ranks (mean)" />}>
      <View of={overview} height={900} notes={false}>
        {(result) => (
          <div class="overview">
            <FirstTime />
            <Incomplete />
            <Notes notes={result.input.notes} />
            <Configuration result={result} rank={rank} />
            <div class="overview-steps">
              <StepChart result={result} rank={rank} />
              <AverageStep result={result} rank={rank} />
            </div>
            {!isHostOnly(result, rank) && (
              <Devices result={result} rank={rank} several={rank === ALL && ranks.length > 1} />
            )}
            <View of={findings} height={300} notes={false}>
              {(found) => <Findings result={found} rank={rank} />}
            </View>
            {rank === ALL && <RankBars result={result} onSelect={(key) => (choice.value = key)} />}
            {!isHostOnly(result, rank) && <Utilization result={result} rank={rank} />}
          </div>
        )}
      </View>
    </Page>
  );
}
