// Flame graph: time by call stack, of Python and operators together or apart; as a graph or as a tree.
import { useMemo } from 'preact/hooks';
import { tableOf, type Result } from '../../api';
import {
  Button,
  Checkbox,
  Choices,
  Empty,
  Page,
  SearchBox,
  Select,
  Tree,
  useKeyHelp,
  useResult,
  View,
} from '../../components';
import { formatCount, formatDuration, formatPercent } from '../../format';
import { urlSignal } from '../../state';
import { FlameCanvas } from './canvas';
import { ByTime } from './by-time';
import { ancestors, flameOf, search, windowOf, type Flame } from './model';
import './flame.css';

const about =
  'Time by call stack, all chosen workers combined, longest on the left. Wall time on the thread; ' +
  'stacks below 0.01 % of the total time are left out.';

export default function FlamePage() {
  const stacks = urlSignal('stacks', 'combined');
  const where = urlSignal('where', 'host');
  const threads = urlSignal('threads', 'no');
  const shape = urlSignal('show', 'graph');
  const zoom = urlSignal('zoom', '');
  const text = urlSignal('find', '');
  useKeyHelp([
    { group: 'Flame graph', keys: 'click', does: 'zoom to a frame; click a frame above it to zoom out' },
    { group: 'Flame graph', keys: '← → ↑ ↓ Enter', does: 'move between frames, zoom' },
    { group: 'Flame graph', keys: 'Esc, double click', does: 'show all' },
  ]);
  const set = (signal: typeof stacks) => (value: string) => {
    zoom.value = '';
    signal.value = value;
  };
  return (
    <Page
      title="Flame graph"
      fill
      help={about}
      actions={
        <div class="toolbar">
          {shape.value !== 'time' && (
            <>
              <Select
                label="Stacks"
                value={stacks.value}
                onChange={set(stacks)}
                options={[
                  { value: 'combined', label: 'Python and operators' },
                  { value: 'python', label: 'Python' },
                  { value: 'op', label: 'operators' },
                ]}
              />
              <Select
                label="Of"
                value={where.value}
                onChange={set(where)}
                options={[
                  { value: 'host', label: 'threads' },
                  { value: 'device', label: 'device streams' },
                  { value: 'all', label: 'both' },
                ]}
              />
              <Checkbox
                label="Separate threads"
                checked={threads.value === 'yes'}
                onChange={(on) => set(threads)(on ? 'yes' : 'no')}
              />
            </>
          )}
          <Choices
            label="Shape"
            value={shape.value}
            onChange={(v) => (shape.value = v)}
            options={[
              { value: 'graph', label: 'Left-heavy' },
              { value: 'time', label: 'By time' },
              { value: 'tree', label: 'Tree' },
            ]}
          />
        </div>
      }>
      {shape.value === 'time' ? (
        <ByTime find={text.value} onFind={(v) => (text.value = v)} />
      ) : (
        <Stacks
          params={{ stacks: stacks.value, where: where.value, threads: threads.value }}
          isTree={shape.value === 'tree'}
        />
      )}
    </Page>
  );
}

function Stacks({ params, isTree }: { params: Record<string, string>; isTree: boolean }) {
  const loaded = useResult('python-stacks', { ...params, min_share: '0.01' });
  const zoom = urlSignal('zoom', '');
  const text = urlSignal('find', '');
  return (
    <View of={loaded} height={400} notes={false}>
      {(result) => {
        const table = tableOf(result);
        if (table.rows.length === 0)
          return <Empty reason={result.input.notes[0] ?? 'No stacks of this kind in the trace.'} />;
        if (isTree)
          return (
            <Tree
              table={table}
              id="flame"
              node="node"
              depth={3}
              columns={['total', 'self', 'calls']}
              sort={{ column: 'total', descending: true }}
              height={760}
            />
          );
        return (
          <Graph
            result={result}
            find={text.value}
            onFind={(v) => (text.value = v)}
            zoom={zoom.value}
            onZoom={(v) => (zoom.value = v)}
          />
        );
      }}
    </View>
  );
}

function describe(flame: Flame, box: number): string {
  const share = (ns: number) => (flame.sum > 0 ? formatPercent((100 * ns) / flame.sum) : '–');
  return (
    `${flame.name[box]}\ntotal ${formatDuration(flame.total[box]!)} · ${share(flame.total[box]!)}\n` +
    `self ${formatDuration(flame.self[box]!)} · ${share(flame.self[box]!)}\n` +
    `${formatCount(flame.calls[box]!)} calls`
  );
}

interface GraphProps {
  result: Result;
  find: string;
  onFind: (text: string) => void;
  zoom: string;
  onZoom: (box: string) => void;
}

function Graph({ result, find, onFind, zoom, onZoom }: GraphProps) {
  const flame = useMemo(() => flameOf(tableOf(result)), [result]);
  const hits = useMemo(() => search(flame, find), [flame, find]);
  const focus = zoom === '' ? -1 : Math.min(Number(zoom), flame.count - 1);
  // What the box in focus stands on fills the width.
  const pinned = useMemo(() => {
    const below = ancestors(flame, focus);
    below.delete(focus);
    return below;
  }, [flame, focus]);
  return (
    <div class="flame-frame">
      <div class="toolbar">
        <SearchBox value={find} onChange={onFind} placeholder="Find frames" />
        {find && (
          <span class="muted">
            {formatCount(hits.count)} frames, {formatDuration(hits.time)},{' '}
            {formatPercent((100 * hits.time) / (flame.sum || 1))} of all time
          </span>
        )}
        <div class="spacer" />
        {focus >= 0 && (
          <span class="muted flame-focus">
            {flame.name[focus]} · {formatDuration(flame.total[focus]!)}
          </span>
        )}
        {focus >= 0 && <Button onClick={() => onZoom('')}>Show all</Button>}
        {focus < 0 && (
          <span class="muted">
            {formatDuration(flame.sum)} in {formatCount(flame.count)} stacks
          </span>
        )}
      </div>
      <FlameCanvas
        flame={flame}
        {...windowOf(flame, focus)}
        pinned={pinned}
        found={hits.found}
        searching={find.trim() !== ''}
        onFocus={(box) => onZoom(box < 0 ? '' : String(box))}
        describe={(box) => describe(flame, box)}
      />
    </div>
  );
}
