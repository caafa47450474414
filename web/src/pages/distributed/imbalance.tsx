// Rank by step: which worker waited for which, and when. A rank that is pale among dark ones in "waiting"
// is the one that the others wait for.
import { useMemo } from 'preact/hooks';
import { column, objects, tableOf, type Result } from '../../api';
import { Empty, HeatMap, Panel, Select } from '../../components';
import { goTo, urlSignal } from '../../state';
import { asNumber, rankKey } from '../common/tables';
import { AVERAGE, mapOf, OUTSIDE, stepNames, workersOf } from './numbers';

const METRICS = [
  {
    id: 'waiting',
    label: 'Waiting for other ranks',
    table: 'communication_overview',
    columns: ['synchronizing_time'],
    help: 'Time the rank waited in collectives, including while it computed: the others waited for the palest rank of a column.',
  },
  {
    id: 'computation',
    label: 'Computation',
    table: 'computation_overview',
    columns: ['computation', 'overlapping'],
    help: 'Time with computation, including while communication ran: the darkest rank of a column is the slowest.',
  },
  {
    id: 'exposed',
    label: 'Exposed communication',
    table: 'computation_overview',
    columns: ['communication'],
    help: 'Time with communication only.',
  },
  {
    id: 'other',
    label: 'Neither',
    table: 'computation_overview',
    columns: ['other'],
    help: 'Time with neither computation nor communication, such as loading data.',
  },
  {
    id: 'step',
    label: 'Whole step',
    table: 'computation_overview',
    columns: ['computation', 'overlapping', 'communication', 'other'],
    help: 'Time of the step.',
  },
] as const;

/** Windows of the steps by rank, for the way into the timeline. */
function windowsOf(overview: Result | null): Map<string, { from: number; to: number }> {
  const found = new Map<string, { from: number; to: number }>();
  if (!overview) return found;
  for (const row of objects(tableOf(overview, 'step_breakdown'))) {
    const from = asNumber(row.start);
    const total = asNumber(row.total);
    if (from !== null && total !== null)
      found.set(`${rankKey(row.rank)}\n${row.step}`, { from, to: from + total });
  }
  return found;
}

export function Imbalance({ result, overview }: { result: Result; overview: Result | null }) {
  const choice = urlSignal('map', 'waiting');
  const waits = column(tableOf(result, 'communication_overview'), 'synchronizing_time').some(
    (value) => value !== null,
  );
  const shown = METRICS.filter((metric) => metric.id !== 'waiting' || waits);
  const metric = shown.find((one) => one.id === choice.value) ?? shown[0]!;
  const table = tableOf(result, metric.table);
  const data = useMemo(() => {
    const workers = workersOf(table);
    const steps = stepNames(table).filter((step) => step !== AVERAGE && step !== OUTSIDE);
    return { workers, steps, values: mapOf(table, [...metric.columns], workers, steps) };
  }, [table, metric]);
  const windows = useMemo(() => windowsOf(overview), [overview]);
  const show = (row: number, at: number) => {
    const window = windows.get(`${data.workers[row]!.key.split('/')[0]}\n${data.steps[at]}`);
    if (window) goTo('timeline', { from: String(window.from), to: String(window.to) });
  };
  return (
    <Panel
      title="Ranks and steps"
      help={`${metric.help} Click a cell to see the step in the timeline.`}
      actions={
        <Select
          label="Shown"
          hideLabel
          value={metric.id}
          onChange={(value) => (choice.value = value)}
          options={shown.map((one) => ({ value: one.id, label: one.label }))}
        />
      }>
      {data.steps.length === 0 || data.workers.length === 0 ? (
        <Empty reason="not available: the traces have no steps" />
      ) : (
        <HeatMap
          rows={data.workers.map((worker) => worker.label)}
          columns={data.steps}
          values={data.values}
          unit="ns"
          columnTitle="step"
          onSelect={show}
        />
      )}
      <p class="muted">{metric.help}</p>
    </Panel>
  );
}
