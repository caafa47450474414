// Roofline: what operators, layers or kernels compute and move against the limits of the device; layers as a tree with
// forward and backward columns; how much of the device the steps use.
import { useMemo } from 'preact/hooks';
import { tableOf, urlOf, type CellValue, type Column, type Result } from '../../api';
import { DataTable, Empty, Page, Panel, Select, Tree, useResult, View } from '../../components';
import { urlSignal } from '../../state';
import { RankSelect } from '../common/ranks';
import { ALL, asText, chosenRank, missing, ofRank, place, ranksOf, shownColumns } from '../common/tables';
import { Chart } from './chart';
import { ceilingsOf, pointsOf } from './model';
import './roofline.css';

const PAGE_HELP =
  'Operations and bytes come from the shapes of the inputs; an operator is charged once, and its kernels share the cost by their time. ' +
  'Percent of peak is the time that the work would take at its roof, divided by the time it took.';

const TITLES = {
  name: 'Name',
  dtype: 'Precision',
  roof: 'Roof',
  device_time: 'Time',
  tflops: 'TFLOP/s',
  gbps: 'GB/s',
  intensity: 'FLOP/B',
  percent_of_peak: 'Of peak',
  time_at_target: 'At 80 %',
};

const LAYER_TITLES = {
  device_time: 'Time',
  forward_time: 'Forward',
  backward_time: 'Backward',
  forward_flops: 'Forward FLOPs',
  backward_flops: 'Backward FLOPs',
  forward_tflops: 'Forward TFLOP/s',
  backward_tflops: 'Backward TFLOP/s',
  percent_of_peak: 'Of peak',
  tensor_cores: 'Tensor cores',
  self_time: 'Self',
};

const LAYER_COLUMNS = [
  'device_time',
  'share',
  'forward_time',
  'backward_time',
  'forward_flops',
  'backward_flops',
  'forward_tflops',
  'backward_tflops',
  'percent_of_peak',
  'bound',
  'tensor_cores',
  'known',
  'self_time',
];

/** Work without a name is outside of all layers. */
const named = (row: CellValue[], column: Column, at: number) =>
  column.name === 'name' ? asText(row[at]) || 'outside of layers' : undefined;

function Points({ result, rank, by }: { result: Result; rank: string; by: string }) {
  const table = useMemo(() => ofRank(tableOf(result, 'roofline'), rank), [result, rank]);
  const points = useMemo(() => pointsOf(table, ALL), [table]);
  const roofs = useMemo(() => ceilingsOf(tableOf(result, 'ceilings'), rank), [result, rank]);
  return (
    <>
      <Panel title={roofs.device ? `Roofline of ${roofs.device}` : 'Roofline'} help={PAGE_HELP}>
        {points.length > 0 ? (
          <Chart points={points} roofs={roofs} />
        ) : (
          <Empty
            reason={missing(
              result.input.notes,
              'costs',
              'costs not available: profile with record_shapes=True',
            )}
          />
        )}
      </Panel>
      <Panel title="Costs">
        <DataTable
          key={by}
          id="roofline"
          table={table}
          columns={shownColumns(table, rank).filter((name) => name !== 'event')}
          titles={TITLES}
          sort={{ column: 'device_time', descending: true }}
          search={['name']}
          height={420}
          cell={(row, column) => named(row, column, place(table, 'name'))}
          exportUrl={() => urlOf('analyses/roofline.csv', { by })}
        />
      </Panel>
    </>
  );
}

function Layers({ result, rank }: { result: Result; rank: string }) {
  const table = useMemo(() => ofRank(tableOf(result, 'layers'), rank), [result, rank]);
  const nameAt = place(table, 'name');
  if (!table.rows.some((row) => row[nameAt] !== null))
    return <Empty reason={missing(result.input.notes, 'layers', 'layers not available')} />;
  const shown = new Set(shownColumns(table, rank));
  return (
    <Tree
      table={table}
      id="layers"
      scope="rank"
      columns={LAYER_COLUMNS.filter((name) => shown.has(name))}
      titles={LAYER_TITLES}
      depth={2}
      height={480}
      cell={(row, column) => named(row, column, place(table, 'name'))}
    />
  );
}

function Steps({ result, rank }: { result: Result; rank: string }) {
  const table = useMemo(() => ofRank(tableOf(result, 'mfu'), rank), [result, rank]);
  return (
    <DataTable
      id="mfu"
      table={table}
      columns={shownColumns(table, rank)}
      titles={{ mfu: 'MFU', hfu: 'HFU', peak_tflops: 'Peak TFLOP/s', recomputed_flops: 'Recomputed' }}
      height={240}
    />
  );
}

export default function Roofline() {
  const choice = urlSignal('rank', '');
  const by = urlSignal('by', 'op');
  const points = useResult('roofline', { by: by.value });
  const layers = useResult('layers');
  const ranks = points.result ? ranksOf(tableOf(points.result, 'roofline')) : [];
  const rank = chosenRank(choice.value === ALL ? '' : choice.value, ranks, ranks[0] ?? ALL);
  return (
    <Page
      title="Roofline"
      rank={rank}
      help={PAGE_HELP}
      actions={
        <>
          <Select
            label="Points"
            value={by.value}
            options={[
              { value: 'op', label: 'operators' },
              { value: 'layer', label: 'layers' },
              { value: 'kernel', label: 'kernels' },
            ]}
            onChange={(value) => (by.value = value)}
          />
          <RankSelect ranks={ranks} value={rank} choice={choice} />
        </>
      }>
      <View of={points} height={700}>
        {(result) => (
          <>
            <Points result={result} rank={rank} by={by.value} />
            <Panel
              title="Utilization of the steps"
              help="MFU: operations of the model / time / peak; HFU counts recomputed ones too.">
              <Steps result={result} rank={rank} />
            </Panel>
          </>
        )}
      </View>
      <Panel title="Layers" help="Backward work belongs to the layer of its forward operator.">
        <View of={layers} height={300} notes={false}>
          {(result) => <Layers result={result} rank={rank} />}
        </View>
      </Panel>
    </Page>
  );
}
