// Distributed: how the workers of a run share the work, wait for each other, and what their collectives cost.
import { tableOf, urlOf, type Result } from '../../api';
import { DataTable, Empty, Notes, Page, Panel, useResult, View } from '../../components';
import { urlSignal } from '../../state';
import { filledColumns, missing } from '../common/tables';
import { Imbalance } from './imbalance';
import { AVERAGE } from './numbers';
import { CommunicationStacks, ComputationStacks, stepsOf, StepSelect } from './stacks';
import './distributed.css';

const GROUPS_HELP =
  'Collectives matched between ranks: their kernels, or host spans if there are none. The last rank is the one that most often started last: the others wait for it.';

const WORKERS_HELP =
  'Sizes are those of the inputs. Latency is the time covered by its calls on host and device; the part beyond the transfer is waiting.';

const PAGE_HELP =
  'Calls of a collective on different workers are matched by name, process group, step and order. ' +
  'Only durations are compared, so clocks do not need to be synchronized.';

const GROUP_TITLES = {
  operation: 'Collective',
  process_group: 'Group',
  group_ranks: 'Ranks',
  group_size: 'Size of group',
  wait_pctg: 'Waiting',
  algorithm_bandwidth: 'Alg. bandwidth',
  bus_bandwidth: 'Bus bandwidth',
  last_rank: 'Last rank',
  last_count: 'Times last',
  kernels: 'Calls, all ranks',
};

function Collectives() {
  const loaded = useResult('collectives');
  return (
    <Panel title="Collectives by process group" help={GROUPS_HELP}>
      <View of={loaded} height={160} notes={false}>
        {(result) => {
          const table = tableOf(result, 'collectives');
          if (table.rows.length === 0)
            return (
              <Empty
                reason={missing(
                  result.input.notes,
                  'collectives',
                  'not available: no collective was recorded',
                )}
              />
            );
          return (
            <DataTable
              id="groups"
              table={table}
              titles={GROUP_TITLES}
              columns={filledColumns(table)}
              sort={{ column: 'duration', descending: true }}
              height={320}
              exportUrl={() => urlOf('analyses/collectives.csv')}
            />
          );
        }}
      </View>
    </Panel>
  );
}

function Operations({ result }: { result: Result }) {
  const table = tableOf(result, 'communication_ops');
  return (
    <Panel title="Collectives by worker" help={WORKERS_HELP}>
      {table.rows.length === 0 ? (
        <Empty
          reason={missing(result.input.notes, 'distributed', 'not available: no trace has collectives')}
        />
      ) : (
        <DataTable
          id="ops"
          table={table}
          columns={filledColumns(table)}
          group={['name', 'rank']}
          sort={{ column: 'total_latency', descending: true }}
          height={360}
          titles={{
            name: 'Collective',
            data_transfer_time: 'Transfer',
            avg_data_transfer_time: 'Mean transfer',
            total_size: 'Total size',
            avg_size: 'Mean size',
            total_latency: 'Total latency',
            avg_latency: 'Mean latency',
          }}
          exportUrl={() => urlOf('analyses/distributed.csv', { table: 'communication_ops' })}
        />
      )}
    </Panel>
  );
}

function Devices({ result }: { result: Result }) {
  const table = tableOf(result, 'workers');
  return (
    <Panel title="Workers and devices">
      {table.rows.length === 0 ? (
        <Empty reason="not available: the traces do not describe their devices" />
      ) : (
        <DataTable id="workers" table={table} columns={filledColumns(table)} height={320} />
      )}
    </Panel>
  );
}

export default function Distributed() {
  const choice = urlSignal('step', AVERAGE);
  const loaded = useResult('distributed');
  const isEmpty = (result: Result) =>
    result.input.ranks.length < 2 && tableOf(result, 'communication_overview').rows.length === 0;
  const nothing = 'distributed view not available: no trace has collectives';
  return (
    <Page
      title="Distributed"
      help={PAGE_HELP}
      actions={
        loaded.result && !isEmpty(loaded.result) && <StepSelect result={loaded.result} choice={choice} />
      }>
      <View of={loaded} height={700} notes={false}>
        {(result) => {
          if (isEmpty(result)) return <Empty reason={missing(result.input.notes, 'distributed', nothing)} />;
          const { step } = stepsOf(result, choice.value);
          return (
            <>
              <Notes notes={result.input.notes} />
              <div class="distributed-stacks">
                <ComputationStacks result={result} step={step} />
                <CommunicationStacks result={result} step={step} />
              </div>
              <Imbalance result={result} />
              <Operations result={result} />
              <Collectives />
              <Devices result={result} />
            </>
          );
        }}
      </View>
    </Page>
  );
}
