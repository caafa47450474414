// Kernels: which ones take the time of the device, who launched them, and how much of it uses tensor cores.
import { useMemo } from 'preact/hooks';
import { objects, tableOf, urlOf, type Result, type Table } from '../../api';
import { DataTable, Empty, Notes, Page, Panel, Ring, useResult, View } from '../../components';
import { formatPercent } from '../../format';
import { GroupedTable, useGrouped } from '../common/grouped';
import { addUp, ALL, asNumber, asText, missing, ofRank, shownColumns, sumOf } from '../common/tables';
import './kernels.css';

const PAGE_HELP =
  'All kernels of the trace, without copies and memsets. Concurrent kernels are each counted in full, ' +
  'so sums may exceed the busy time of the device.';

const TITLES = {
  name: 'Kernel',
  total_duration: 'Total',
  mean_duration: 'Mean',
  max_duration: 'Max',
  min_duration: 'Min',
  mean_blocks_per_sm: 'Blocks/SM',
  mean_est_achieved_occupancy: 'Occupancy',
  tensor_cores_used: 'TC',
  op_is_tensor_cores_eligible: 'Op. eligible',
  register_per_thread: 'Registers',
  shared_memory: 'Shared memory',
};

const ORDER = [
  'rank',
  'name',
  'operator',
  'grid',
  'block',
  'register_per_thread',
  'shared_memory',
  'tensor_cores_used',
  'op_is_tensor_cores_eligible',
  'calls',
  'total_duration',
  'mean_duration',
  'max_duration',
  'min_duration',
  'mean_blocks_per_sm',
  'mean_est_achieved_occupancy',
];

/** used_ratio of one rank as the analysis has it; of several the sums make the ratio. */
function TensorCores({ ratios }: { ratios: Table }) {
  const used = sumOf(ratios, 'tensor_core_time');
  const all = sumOf(ratios, 'kernel_time');
  if (used === null || all === null || all === 0)
    return <Empty reason="not available: the trace has no kernels" />;
  const eligible = sumOf(ratios, 'eligible_time');
  const only = ratios.rows.length === 1 ? objects(ratios)[0] : undefined;
  const share = asNumber(only?.eligible_ratio);
  return (
    <>
      <Ring
        unit="ns"
        items={[
          { name: 'tensor cores', value: used, color: 'var(--series-2)' },
          { name: 'without', value: all - used, color: 'var(--rest)' },
        ]}
      />
      {eligible !== null && (
        <p class="muted">
          {share === null
            ? ''
            : `${formatPercent(share)} of the operators' kernel time is of operators that could use them. `}
        </p>
      )}
    </>
  );
}

function KernelTable({ result, rank }: { result: Result; rank: string }) {
  const table = useMemo(() => ofRank(tableOf(result, 'kernels'), rank), [result, rank]);
  const group = asText(result.params.group);
  const filled = new Set(shownColumns(table, rank));
  return (
    <DataTable
      key={group}
      id="kernels"
      table={table}
      columns={ORDER.filter((name) => filled.has(name))}
      titles={TITLES}
      sort={{ column: 'total_duration', descending: true }}
      search={['name', 'operator']}
      group={[
        ...(rank === ALL ? ['rank'] : []),
        ...(rank === ALL || group === 'name-op' ? ['name'] : []),
        ...(group === 'name-op' ? ['operator'] : []),
        'tensor_cores_used',
      ]}
      height={640}
      exportUrl={() => urlOf('analyses/kernels.csv', { group })}
    />
  );
}

export default function Kernels() {
  const kernels = useGrouped('kernels');
  const { byName, rank } = kernels;
  const cores = useResult('tensor-cores');
  const none = byName.result !== null && kernels.ranks.length === 0;
  return (
    <Page title="Kernels" rank={rank} help={PAGE_HELP} actions={kernels.boxes}>
      {none && (
        <Empty
          reason={missing(byName.result!.input.notes, 'kernels', 'not available: the trace has no kernels')}
        />
      )}
      {!none && (
        <>
          <Notes notes={byName.result?.input.notes} />
          <div class="kernel-rings">
            <Panel
              title="Total time"
              help="Time of all calls of a kernel. Click on one to find it in the table.">
              <View of={byName} notes={false} height={190}>
                {(result) => (
                  <Ring
                    items={addUp(ofRank(tableOf(result, 'kernels'), rank), 'name', 'total_duration')}
                    unit="ns"
                    top={kernels.top}
                    onSelect={kernels.find}
                  />
                )}
              </View>
            </Panel>
            <Panel
              title="Tensor cores"
              help="Kernel time by whether the kernel uses tensor cores (matrix cores), judged by its name.">
              <View of={cores} notes={false} height={190}>
                {(result) => <TensorCores ratios={ofRank(tableOf(result, 'ratios'), rank)} />}
              </View>
            </Panel>
          </div>
          <GroupedTable
            of={kernels}
            title="Kernels"
            options={[
              { value: 'name', label: 'By name' },
              { value: 'name-op', label: 'By name, operator and launch' },
            ]}>
            {(result) => <KernelTable result={result} rank={rank} />}
          </GroupedTable>
        </>
      )}
    </Page>
  );
}
