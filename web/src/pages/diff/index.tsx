// Two runs side by side: the step and its parts, operators and kernels by change, the trees in red and green.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import {
  columnIndex,
  tableOf,
  type CellValue,
  type Column,
  type Result,
  type RunInfo,
  type Table,
} from '../../api';
import {
  Bars,
  DataTable,
  Empty,
  Figure,
  Page,
  Panel,
  Select,
  Tabs,
  Tree,
  useRoute,
  View,
} from '../../components';
import { formatCell, formatDuration, formatPercent } from '../../format';
import { currentRun, otherRun, run, runs, urlSignal } from '../../state';
import { largestChange, pairTree } from './tree';
import './diff.css';

const about =
  'All times are for one step of one rank. The run on the left is the baseline; red: the other run takes longer, green: it takes less time.';
const alone =
  'There is only one run. To compare, add a second one to the folder, or start kino serve with two traces.';

const choose = 'None of the other runs belongs to this one: choose above which one to compare it with.';

const folderOf = (name: string) => name.slice(0, name.lastIndexOf('/') + 1);

/** The only other run beside this one, with as many workers: of several, or of others, somebody has to choose. */
export function relatedTo(current: RunInfo | null, others: readonly RunInfo[]): RunInfo | null {
  const near = others.filter(
    (r) =>
      r.state !== 'failed' &&
      folderOf(r.name) === folderOf(current?.name ?? '') &&
      r.traces.length === current?.traces.length,
  );
  return near.length === 1 ? near[0]! : null;
}

export default function Diff() {
  const others = runs.value.filter((r) => r.name !== run.value);
  const other = otherRun.value ?? relatedTo(currentRun.value, others)?.name ?? null;
  return (
    <Page
      title="Diff"
      rank={null}
      help={about}
      actions={
        others.length > 0 && (
          <Select
            label="Compare with"
            value={other ?? ''}
            onChange={(v) => (otherRun.value = v || null)}
            options={[
              ...(other === null ? [{ value: '', label: 'choose a run' }] : []),
              ...others.map((r) => ({ value: r.name, label: r.label })),
            ]}
          />
        )
      }>
      {other === null ? <Empty reason={others.length > 0 ? choose : alone} /> : <Compared other={other} />}
    </Page>
  );
}

function Compared({ other }: { other: string }) {
  const loaded = useRoute<Result>('diff', { run: run.value, other });
  const tab = urlSignal('tab', 'ops');
  return (
    <View of={loaded} height={420}>
      {(result) => {
        const find = (name: string) => result.tables.find((t) => t.name === name);
        const [ops, kernels, tree] = [find('diff_ops'), find('diff_kernels'), find('diff_tree')];
        const tabs = [
          ops && { id: 'ops', title: 'Operators', count: ops.rows.length },
          kernels && { id: 'kernels', title: 'Kernels', count: kernels.rows.length },
          tree && tree.rows.length > 0 && { id: 'tree', title: 'Tree', count: tree.rows.length },
        ].filter((t) => !!t);
        return (
          <>
            <Steps table={tableOf(result, 'diff_steps')} other={other} />
            <Panel
              title="What changed"
              actions={<Tabs tabs={tabs} value={tab.value} onChange={(id) => (tab.value = id)} />}>
              {tab.value === 'tree' && tree ? (
                <Trees table={tree} ops={find('diff_tree_ops')} />
              ) : (
                <Names key={tab.value} table={tab.value === 'kernels' && kernels ? kernels : ops!} />
              )}
            </Panel>
          </>
        );
      }}
    </View>
  );
}

const sideTitles = {
  left: 'Baseline',
  right: 'Other',
  delta: 'Change',
  percent: 'Change %',
  left_time: 'Baseline',
  right_time: 'Other',
  change: 'In',
  left_calls: 'Calls, baseline',
  right_calls: 'Calls, other',
  left_share: 'Share, baseline',
  right_share: 'Share, other',
  left_total_duration: 'Baseline',
  right_total_duration: 'Other',
  left_device_duration: 'Device, baseline',
  right_device_duration: 'Device, other',
  left_duration: 'Host, baseline',
  right_duration: 'Host, other',
  left_host_duration: 'Host, baseline',
  right_host_duration: 'Host, other',
};

/** Change cells: red when the other run takes longer, green when less, with a bar to the table's scale. */
function changeCell(table: Table, most: number) {
  return (row: CellValue[], column: Column): VNode | undefined => {
    if (column.name !== 'delta' && column.name !== 'percent') return undefined;
    const value = row[columnIndex(table, column.name)] ?? null;
    const delta = Number(row[columnIndex(table, 'delta')] ?? 0);
    if (value === null || delta === 0) return undefined;
    const text = `${Number(value) > 0 ? '+' : ''}${formatCell(value, column)}`;
    const tone = delta > 0 ? 'worse' : 'better';
    if (column.name === 'percent') return <span class={tone}>{text}</span>;
    return (
      <span class={`change ${tone}`}>
        <i style={{ width: `${most > 0 ? (60 * Math.abs(delta)) / most : 0}%` }} />
        <b>{text}</b>
      </span>
    );
  };
}

function Steps({ table, other }: { table: Table; other: string }) {
  const at = (name: string) => columnIndex(table, name);
  const [first] = table.rows;
  const parts = table.rows.slice(1);
  const numbers = (name: string, rows: readonly CellValue[][]) =>
    rows.map((r) => (typeof r[at(name)] === 'number' ? (r[at(name)] as number) : null));
  const value = (name: string) =>
    first && typeof first[at(name)] === 'number' ? (first[at(name)] as number) : null;
  const [left, right, delta, percent] = [value('left'), value('right'), value('delta'), value('percent')];
  const tone = delta === null || delta === 0 ? undefined : delta > 0 ? 'bad' : 'good';
  const sign = (delta ?? 0) > 0 ? '+' : '';
  const columns = ['part', 'left', 'right', 'delta', 'percent'];
  return (
    <>
      <div class="figures">
        <Figure
          name="Step, baseline"
          value={left === null ? '–' : formatDuration(left)}
          help={`Mean step time of ${run.value ?? ''}`}
        />
        <Figure
          name="Step, other"
          value={right === null ? '–' : formatDuration(right)}
          help={`Mean step time of ${other}`}
        />
        <Figure
          name="Change"
          value={delta === null ? '–' : `${sign}${formatDuration(delta)}`}
          tone={tone}
          help="Other minus baseline"
        />
        <Figure
          name="Change %"
          value={percent === null ? '–' : `${sign}${formatPercent(percent)}`}
          tone={tone}
          help="Relative to the baseline"
        />
      </div>
      <div class="columns-2">
        <Panel title="Parts of a step">
          <Bars
            categories={parts.map((r) => String(r[at('part')]))}
            series={[`${run.value ?? ''} (baseline)`, other]}
            stacked={false}
            unit="ns"
            values={[numbers('left', parts), numbers('right', parts)]}
            horizontal
            height={parts.length * 30 + 30}
            colors={['var(--rest)', 'var(--series-0)']}
          />
        </Panel>
        <Panel title="Step and parts">
          <DataTable
            table={table}
            id="diff_steps"
            columns={columns}
            titles={sideTitles}
            cell={changeCell(table, largestChange(table))}
          />
        </Panel>
      </div>
    </>
  );
}

function Names({ table }: { table: Table }) {
  const wanted = [
    'name',
    'change',
    'left_time',
    'right_time',
    'delta',
    'percent',
    'left_calls',
    'right_calls',
    'left_host_duration',
    'right_host_duration',
    'left_device_duration',
    'right_device_duration',
  ];
  return (
    <DataTable
      table={table}
      id={table.name}
      columns={wanted.filter((n) => columnIndex(table, n) >= 0)}
      titles={sideTitles}
      group={['change']}
      cell={changeCell(table, largestChange(table))}
      height={560}
    />
  );
}

function Trees({ table, ops }: { table: Table; ops?: Table }) {
  const tree = useMemo(() => pairTree(table, ops), [table, ops]);
  return (
    <Tree
      table={tree}
      id="diff_tree"
      node="path"
      parent="parent"
      depth={2}
      titles={{ ...sideTitles, name: 'Part of the step' }}
      columns={[
        'left_total_duration',
        'right_total_duration',
        'delta',
        'percent',
        'left_duration',
        'right_duration',
        'left_device_duration',
        'right_device_duration',
      ]}
      cell={changeCell(tree, largestChange({ ...table, rows: table.rows.slice(1) }))}
      height={640}
    />
  );
}
