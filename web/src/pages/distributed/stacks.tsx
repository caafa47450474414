// A step of all workers as stacks: computation and communication, transfer and waiting.
import type { Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { tableOf, type Result, type Table } from '../../api';
import { Bars, DataTable, Empty, Panel, Select } from '../../components';
import { urlSignal } from '../../state';
import { ChartOrTable } from '../common/chart-or-table';
import { filledColumns, missing } from '../common/tables';
import { AVERAGE, OUTSIDE, stackOf, stepNames, workersOf } from './numbers';

const TRANSFER_HELP =
  'Time of collectives. The shortest of the matched times is the transfer; the rest is waiting.';

interface Part {
  column: string;
  label: string;
  color: string;
}

const COMPUTATION: Part[] = [
  { column: 'computation', label: 'Computation', color: 'var(--cat-4)' },
  { column: 'overlapping', label: 'Overlapping', color: 'var(--cat-12)' },
  { column: 'communication', label: 'Communication', color: 'var(--cat-9)' },
  { column: 'other', label: 'Other', color: 'var(--cat-0)' },
];

const COMMUNICATION: Part[] = [
  { column: 'data_transfer_time', label: 'Data transfer', color: 'var(--cat-9)' },
  { column: 'synchronizing_time', label: 'Synchronizing (waiting)', color: 'var(--cat-2)' },
];

function stepLabel(step: string): string {
  if (step === AVERAGE) return 'average step';
  return step === OUTSIDE ? 'outside steps' : `step ${step}`;
}

function Stack({ table, parts, step }: { table: Table; parts: Part[]; step: string }) {
  const workers = workersOf(table);
  const values = stackOf(
    table,
    step,
    workers,
    parts.map((part) => part.column),
  );
  const upright = workers.length > 12;
  return (
    <Bars
      categories={workers.map((worker) => worker.label)}
      series={parts.map((part) => part.label)}
      colors={parts.map((part) => part.color)}
      values={values}
      unit="ns"
      horizontal={!upright}
      height={upright ? 280 : workers.length * 30 + 40}
    />
  );
}

interface StackPanelProps {
  result: Result;
  tableName: string;
  id: string;
  step: string;
  title: string;
  help: string;
  parts: Part[];
}

function StackPanel({ result, tableName, id, step, title, help, parts }: StackPanelProps) {
  const shown = urlSignal(id, 'chart');
  const table = tableOf(result, tableName);
  const isThere = useMemo(() => stepNames(table).includes(step), [table, step]);
  const helpOf = (name: string) => table.columns.find((column) => column.name === name)?.help ?? '';
  const words = parts.map((part) => `${part.label}: ${helpOf(part.column)}.`).join(' ');
  return (
    <Panel title={title} help={`${help} ${words}`} actions={<ChartOrTable choice={shown} />}>
      {table.rows.length === 0 ? (
        <Empty
          reason={missing(result.input.notes, 'distributed', 'not available: no trace has collectives')}
        />
      ) : shown.value === 'table' ? (
        <DataTable
          id={`${id}.table`}
          table={table}
          columns={filledColumns(table)}
          group={['step']}
          height={300}
        />
      ) : isThere ? (
        <Stack table={table} parts={parts} step={step} />
      ) : (
        <Empty reason="None recorded." />
      )}
    </Panel>
  );
}

interface StacksProps {
  result: Result;
  step: string;
}

export function ComputationStacks({ result, step }: StacksProps) {
  return (
    <StackPanel
      result={result}
      step={step}
      tableName="computation_overview"
      id="computation"
      parts={COMPUTATION}
      title="Computation and communication"
      help="Where the step time went on each worker; the four parts add up to it."
    />
  );
}

export function CommunicationStacks({ result, step }: StacksProps) {
  return (
    <StackPanel
      result={result}
      step={step}
      tableName="communication_overview"
      id="transfer"
      parts={COMMUNICATION}
      title="Transfer and waiting"
      help={TRANSFER_HELP}
    />
  );
}

/** Steps of either table, and the one to show. */
export function stepsOf(result: Result, wanted: string): { steps: string[]; step: string } {
  const tables = ['computation_overview', 'communication_overview'].map((name) => tableOf(result, name));
  const steps = stepNames(...tables);
  return { steps, step: steps.includes(wanted) ? wanted : AVERAGE };
}

export function StepSelect({ result, choice }: { result: Result; choice: Signal<string> }) {
  const { steps, step } = stepsOf(result, choice.value);
  if (steps.length < 2) return null;
  return (
    <Select
      label="Step"
      value={step}
      onChange={(value) => (choice.value = value)}
      options={steps.map((name) => ({ value: name, label: stepLabel(name) }))}
    />
  );
}
