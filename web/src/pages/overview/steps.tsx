// Where the time of the steps went: step by step, on average, and by rank.
import { useMemo } from 'preact/hooks';
import { tableOf, urlOf, type Result } from '../../api';
import { Bars, DataTable, Empty, Panel, Ring } from '../../components';
import { formatCount, formatDuration, formatPercent } from '../../format';
import { urlSignal } from '../../state';
import { go, wishOf } from '../../wish';
import { ChartOrTable } from '../common/chart-or-table';
import { ALL, ofRank, place, rankLabel, shownColumns } from '../common/tables';
import { colorOf, executions, meanExecution, ROLES, stepsOf, windowOf, type Execution } from './numbers';

const ROLE_HELP =
  'Each moment of a step belongs to the first of these that is active: kernel, communication, copy, memset, runtime call, data loader, other host work; what remains is Other. If there are no kernels, the data loader and operators come before communication. The parts add up to the step.';
const STEP_HELP =
  'Click a step to see it in the timeline, from its start on the host to the end of its work on host and device. A step begins when the previous one ends; the table shows its extent on host and device.';

function StepTable({ result, rank }: { result: Result; rank: string }) {
  const table = useMemo(() => ofRank(tableOf(result, 'step_breakdown'), rank), [result, rank]);
  const at = (name: string) => place(table, name);
  return (
    <DataTable
      id="steps"
      table={table}
      columns={shownColumns(table, rank)}
      titles={{ cpu_exec: 'CPU Exec', dataloader: 'DataLoader' }}
      height={252}
      cell={(row, column) => (column.name === 'step' && row[at('step')] === null ? 'whole trace' : undefined)}
      jump={(row) => ({ ...wishOf(table, row), ...windowOf(table, row) })}
      exportUrl={() => urlOf('analyses/overview.csv', { table: 'step_breakdown' })}
    />
  );
}

/** What is no number is no step or rank of its own: the whole trace, all ranks. */
const numberOf = (text: string | undefined) => (/^\d+$/.test(text ?? '') ? Number(text) : undefined);

function StepBars({ result, rank }: { result: Result; rank: string }) {
  const steps = stepsOf(tableOf(result, 'step_breakdown'), rank);
  return (
    <Bars
      categories={steps.names.map((name) => (name === 'trace' ? 'whole trace' : `step ${name}`))}
      series={steps.series.map((one) => one.name)}
      colors={steps.series.map((one) => one.color)}
      values={steps.series.map((one) => one.values)}
      unit="ns"
      height={280}
      onSelect={(at) =>
        go({
          from: steps.from[at],
          to: steps.to[at],
          step: numberOf(steps.names[at]),
          rank: numberOf(rank),
        })
      }
    />
  );
}

export function StepChart({ result, rank }: { result: Result; rank: string }) {
  const shown = urlSignal('steps', 'chart');
  const isEmpty = ofRank(tableOf(result, 'step_breakdown'), rank).rows.length === 0;
  return (
    <Panel
      title="Step time breakdown"
      help={
        rank === ALL
          ? `${ROLE_HELP} ${STEP_HELP} The bars are means over the ranks.`
          : `${ROLE_HELP} ${STEP_HELP}`
      }
      actions={<ChartOrTable choice={shown} />}>
      {isEmpty ? (
        <Empty reason="not available: the trace has no events that take time" />
      ) : shown.value === 'table' ? (
        <StepTable result={result} rank={rank} />
      ) : (
        <StepBars result={result} rank={rank} />
      )}
    </Panel>
  );
}

function Summary({ of }: { of: Execution }) {
  const shareOf = (time: number) => (of.time > 0 ? formatPercent((100 * time) / of.time) : '–');
  return (
    <table class="summary">
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Time</th>
          <th scope="col">Share</th>
        </tr>
      </thead>
      <tbody>
        <tr class="summary-total">
          <th scope="row">Average step</th>
          <td>{formatDuration(of.time)}</td>
          <td>{formatPercent(100)}</td>
        </tr>
        {of.parts.map((part) => (
          <tr key={part.name}>
            <th scope="row">
              <i style={{ background: colorOf(part.name) }} />
              {part.name}
            </th>
            <td data-tip={`${Math.round(part.time)} ns`}>{formatDuration(part.time)}</td>
            <td>{shareOf(part.time)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The average step of the chosen rank, or the mean over all steps of all ranks. */
export function AverageStep({ result, rank }: { result: Result; rank: string }) {
  const all = executions(result);
  const of = meanExecution(rank === ALL ? all : all.filter((one) => one.key === rank));
  if (of === null)
    return (
      <Panel title="Average step">
        <Empty reason="not available: the trace has no steps" />
      </Panel>
    );
  const ranks = rank === ALL ? all.length : 1;
  const caption =
    `mean of ${formatCount(of.steps)} ${of.steps === 1 ? 'step' : 'steps'}` +
    (ranks > 1 ? ` on ${ranks} ranks` : '');
  return (
    <Panel title="Average step" help={ROLE_HELP} actions={<span class="muted">{caption}</span>}>
      <div class="average">
        <Ring
          items={of.parts.map((part) => ({ name: part.name, value: part.time, color: colorOf(part.name) }))}
          unit="ns"
          size={136}
        />
        <Summary of={of} />
      </div>
    </Panel>
  );
}

/** The ranks side by side; a click chooses one. */
export function RankBars({ result, onSelect }: { result: Result; onSelect: (rank: string) => void }) {
  const all = executions(result);
  if (all.length < 2) return null;
  const roles = ROLES.filter((role) => all.some((one) => one.parts.some((part) => part.name === role.label)));
  return (
    <Panel title="Average step by rank" help={`${ROLE_HELP} Click a rank to see only that rank.`}>
      <Bars
        categories={all.map((one) => rankLabel(one.key))}
        series={roles.map((role) => role.label)}
        colors={roles.map((role) => role.color)}
        values={roles.map((role) =>
          all.map((one) => one.parts.find((part) => part.name === role.label)?.time ?? null),
        )}
        unit="ns"
        horizontal={all.length <= 16}
        onSelect={(at) => onSelect(all[at]!.key)}
      />
    </Panel>
  );
}
