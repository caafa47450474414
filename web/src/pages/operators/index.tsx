// Operators: which ones take the time, on the host and on the device, with shapes and call stacks.
import { useMemo } from 'preact/hooks';
import { tableOf, urlOf, type Result, type Table } from '../../api';
import { DataTable, Notes, Page, Panel, Ring, View } from '../../components';
import { GroupedTable, useGrouped } from '../common/grouped';
import { addUp, ALL, asText, ofRank, place, rankKey, shownColumns, sumOf } from '../common/tables';
import { CallStacks } from './call-stacks';
import './operators.css';

const PAGE_HELP =
  'All calls of each operator over the whole trace. Self excludes operators inside it, total includes them; an operator inside one of the same name is counted at both levels.';

const RINGS = [
  { column: 'device_self_duration', title: 'Device self time' },
  { column: 'device_total_duration', title: 'Device total time' },
  { column: 'host_self_duration', title: 'Host self time' },
  { column: 'host_total_duration', title: 'Host total time' },
];

const TITLES = {
  name: 'Operator',
  input_shape: 'Input shapes',
  device_self_duration: 'Device self',
  device_total_duration: 'Device total',
  host_self_duration: 'Host self',
  host_total_duration: 'Host total',
  tc_eligible: 'TC eligible',
  tc_self_ratio: 'TC self',
  tc_total_ratio: 'TC total',
};

function helpOf(table: Table, name: string): string {
  return table.columns.find((column) => column.name === name)?.help ?? '';
}

function Rings({ table, top, onSelect }: { table: Table; top: number; onSelect: (name: string) => void }) {
  const shown = RINGS.filter((ring) => sumOf(table, ring.column) !== null);
  return (
    <div class="rings">
      {shown.map((ring) => (
        <Panel key={ring.column} title={ring.title} help={helpOf(table, ring.column)}>
          <Ring items={addUp(table, 'name', ring.column)} unit="ns" top={top} onSelect={onSelect} />
        </Panel>
      ))}
    </div>
  );
}

interface OperatorTableProps {
  result: Result;
  rank: string;
}

function OperatorTable({ result, rank }: OperatorTableProps) {
  const table = useMemo(() => ofRank(tableOf(result, 'operators'), rank), [result, rank]);
  const group = asText(result.params.group);
  const at = (name: string) => place(table, name);
  const device = sumOf(table, 'device_self_duration') !== null;
  return (
    <DataTable
      key={group}
      id="operators"
      table={table}
      columns={shownColumns(table, rank).filter((name) => name !== 'has_call_stack')}
      titles={TITLES}
      sort={{ column: device ? 'device_self_duration' : 'host_self_duration', descending: true }}
      search={['name', 'input_shape']}
      group={rank === ALL ? ['name', 'rank'] : group === 'name-shape' ? ['name'] : []}
      unsummed={['host_total_duration', 'device_total_duration']}
      height={640}
      expand={(row) => (
        <CallStacks
          of={{
            rank: rankKey(row[at('rank')]),
            name: asText(row[at('name')]),
            shape: row[at('input_shape')] ?? null,
          }}
          group={group}
          has={row[at('has_call_stack')] === true}
        />
      )}
      exportUrl={() => urlOf('analyses/operators.csv', { group })}
    />
  );
}

export default function Operators() {
  const operators = useGrouped('operators');
  const { rank } = operators;
  return (
    <Page title="Operators" rank={rank} help={PAGE_HELP} actions={operators.boxes}>
      <View of={operators.byName} notes={false} height={260}>
        {(result) => (
          <>
            <Notes notes={result.input.notes} />
            <Rings
              table={ofRank(tableOf(result, 'operators'), rank)}
              top={operators.top}
              onSelect={operators.find}
            />
          </>
        )}
      </View>
      <GroupedTable
        of={operators}
        title="Operators"
        help="Open a row to see its call stacks."
        options={[
          { value: 'name', label: 'By name' },
          { value: 'name-shape', label: 'By name and shapes' },
        ]}>
        {(result) => <OperatorTable result={result} rank={rank} />}
      </GroupedTable>
    </Page>
  );
}
