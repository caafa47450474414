// One tree of modules: bars of the largest roots, and all numbers as a tree table.
import { useMemo } from 'preact/hooks';
import type { Table } from '../../api';
import { Choices, Empty, Panel, Tree } from '../../components';
import { formatCount, formatDuration, formatPercent } from '../../format';
import { urlSignal } from '../../state';
import { asNumber, ofRank, place, sumOf } from '../common/tables';
import { Icicle } from './icicle';
import { treeOf, type Node } from './tree';

const FLAMES_HELP =
  'Each bar is a module below the one that called it, as wide as its share of the root. Click a bar to zoom in. The backward pass is not included.';

const SHOWN_ROOTS = 6;

const TITLES = {
  name: 'Module',
  occurrences: 'Calls',
  operators: 'Operators',
  host_duration: 'Host',
  self_host_duration: 'Host self',
  device_duration: 'Device',
  self_device_duration: 'Device self',
  avg_duration: 'Mean',
};

const COLUMNS = [
  'occurrences',
  'operators',
  'device_duration',
  'self_device_duration',
  'host_duration',
  'self_host_duration',
  'avg_duration',
];

function findNode(roots: Node[], id: number | null): Node | null {
  if (id === null) return null;
  const waiting = [...roots];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node.id === id) return node;
    waiting.push(...node.children);
  }
  return null;
}

interface FlameProps {
  roots: Node[];
  zoomed: Node | null;
  amountOf: (node: Node) => number;
  table: Table;
}

function Flames({ roots, zoomed, amountOf, table }: FlameProps) {
  const zoom = urlSignal('module', '');
  const callsAt = place(table, 'occurrences');
  const sorted = [...roots].filter((root) => amountOf(root) > 0).sort((a, b) => amountOf(b) - amountOf(a));
  const shown = zoomed ? [zoomed] : sorted.slice(0, SHOWN_ROOTS);
  if (shown.length === 0 || amountOf(shown[0]!) <= 0)
    return <Empty reason="No such time was recorded in it." />;
  const total = sorted.reduce((sum, root) => sum + amountOf(root), 0);
  const tipOf = (node: Node) => {
    const calls = asNumber(node.row[callsAt]) ?? 0;
    return (
      `${node.name}\n${formatDuration(amountOf(node))} in ${formatCount(calls)} calls · ` +
      `${formatPercent((100 * amountOf(node)) / total)} of all modules`
    );
  };
  return (
    <div class="flames">
      {zoomed && (
        <button type="button" class="button button-quiet" onClick={() => (zoom.value = '')}>
          ← all modules
        </button>
      )}
      {shown.map((root) => (
        <div key={root.id} class="flame">
          <h3>
            {root.name} <span class="muted">{formatDuration(amountOf(root))}</span>
          </h3>
          <Icicle
            root={root}
            amountOf={amountOf}
            tipOf={tipOf}
            selected={zoomed?.id ?? null}
            onSelect={(node) => (zoom.value = zoomed?.id === node.id ? '' : String(node.id))}
          />
        </div>
      ))}
      {!zoomed && sorted.length > SHOWN_ROOTS && (
        <p class="muted">and {formatCount(sorted.length - SHOWN_ROOTS)} smaller ones, in the table below</p>
      )}
    </div>
  );
}

export function ModuleTree({ table, rank, id }: { table: Table; rank: string; id: string }) {
  const own = useMemo(() => ofRank(table, rank), [table, rank]);
  const roots = useMemo(() => treeOf(own), [own]);
  const hasDevice = (sumOf(own, 'device_duration') ?? 0) > 0;
  const by = urlSignal('by', '');
  const zoom = urlSignal('module', '');
  const kind = by.value === 'host' || !hasDevice ? 'host' : 'device';
  const at = place(own, kind === 'host' ? 'host_duration' : 'device_duration');
  const amountOf = (node: Node) => asNumber(node.row[at]) ?? 0;
  const zoomed = findNode(roots, zoom.value === '' ? null : Number(zoom.value));
  const idAt = place(own, 'id');
  return (
    <>
      <Panel
        title={kind === 'host' ? 'Host time' : 'Device time'}
        help={FLAMES_HELP}
        actions={
          <Choices
            label="Time"
            value={kind}
            onChange={(value) => (by.value = value === 'host' ? 'host' : '')}
            options={
              hasDevice
                ? [
                    { value: 'device', label: 'Device' },
                    { value: 'host', label: 'Host' },
                  ]
                : [{ value: 'host', label: 'Host' }]
            }
          />
        }>
        <Flames roots={roots} zoomed={zoomed} amountOf={amountOf} table={own} />
      </Panel>
      <Panel title="Modules">
        <Tree
          table={own}
          id={id}
          titles={TITLES}
          columns={COLUMNS}
          depth={3}
          height={640}
          onRow={(row) => (zoom.value = zoom.value === String(row[idAt]) ? '' : String(row[idAt]))}
          selected={(row) => zoomed !== null && row[idAt] === zoomed.id}
        />
      </Panel>
    </>
  );
}
