// Rank by step: which worker waited for which, and when. A rank that is pale among dark ones in "waiting"
// is the one that the others wait for.
import { useMemo } from 'preact/hooks';
import { column, tableOf, type Result } from '../../api';
import { Empty, HeatMap, Panel, Select } from '../../components';
import { urlSignal } from '../../state';
import { go } from '../../wish';
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

export function Imbalance({ result }: { result: Result }) {
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
  const show = (row: number, at: number) => {
    const rank = Number(data.workers[row]!.key.split('/')[0]);
    go({ step: Number(data.steps[at]), rank: Number.isInteger(rank) ? rank : undefined });
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
