// How busy the devices were over time: utilisation by the buckets of the analysis; SM efficiency on demand,
// because it has two rows a kernel.
import { useMemo } from 'preact/hooks';
import { column, objects, tableOf, type Result, type Table } from '../../api';
import { Checkbox, Empty, Loading, Panel, Series, useResult, type SeriesLine } from '../../components';
import { goTo, urlSignal } from '../../state';
import { ALL, asNumber, asText, ofRank, rankKey, rankLabel } from '../common/tables';
import { meansOver, onOneAxis, spread, type Line, type Piece } from './numbers';

const HELP =
  'Share of each interval in which a kernel ran on the device; lines mark the steps. Drag over an interval to see it in the timeline.';

const SM_POINTS = 400;
const SM_HELP =
  'Dashed lines show the estimated SM efficiency: blocks per multiprocessor of the running kernels, at most 100 %, ' +
  `averaged over ${SM_POINTS} intervals`;

function deviceLines(table: Table, rank: string, valueColumn: string): Line[] {
  const lines = new Map<string, Line>();
  for (const row of objects(ofRank(table, rank))) {
    const key = `${rankKey(row.rank)}/${asText(row.device)}`;
    let line = lines.get(key);
    if (!line) {
      const name = `GPU ${asText(row.device)}${rank === ALL ? `, ${rankLabel(rankKey(row.rank))}` : ''}`;
      lines.set(key, (line = { key, name, time: [], values: [] }));
    }
    line.time.push(asNumber(row.time) ?? 0);
    line.values.push(asNumber(row[valueColumn]) ?? 0);
  }
  return [...lines.values()];
}

function smLines(result: Result, rank: string, from: number, to: number): Line[] {
  const table = ofRank(tableOf(result, 'sm_efficiency_series'), rank);
  const pieces = new Map<string, { name: string; list: Piece[] }>();
  const [ranks, devices] = [column(table, 'rank'), column(table, 'device')];
  const [starts, ends] = [column<number>(table, 'start'), column<number>(table, 'end')];
  const values = column<number>(table, 'est_sm_efficiency');
  starts.forEach((start, at) => {
    const key = `${rankKey(ranks[at])}/${asText(devices[at])}`;
    const of = rank === ALL ? `, ${rankLabel(rankKey(ranks[at]))}` : '';
    const name = `SM efficiency GPU ${asText(devices[at])}${of}`;
    if (!pieces.has(key)) pieces.set(key, { name, list: [] });
    pieces.get(key)!.list.push({ start, end: ends[at]!, value: values[at]! });
  });
  const time = Array.from({ length: SM_POINTS }, (_, at) => from + ((to - from) * at) / SM_POINTS);
  return [...pieces].map(([key, { name, list }]) => ({
    key,
    name,
    time: [...time, to],
    values: [...meansOver(list, from, to, SM_POINTS), 0],
  }));
}

function Chart({
  lines,
  dashed,
  markers,
}: {
  lines: Line[];
  dashed: Line[];
  markers: { x: number; label: string }[];
}) {
  const data = useMemo(() => {
    const { x, values } = onOneAxis([...lines, ...dashed]);
    const shown: SeriesLine[] = [...lines, ...dashed].map((line, at) => ({
      name: line.name,
      values: values[at]!,
      stepped: true,
      dash: at >= lines.length,
      color: `var(--series-${at % 12})`,
    }));
    return { x, shown };
  }, [lines, dashed]);
  return (
    <Series
      x={data.x}
      xUnit="ns"
      unit="%"
      lines={data.shown}
      height={220}
      markers={markers}
      onRange={(range) => {
        if (range)
          goTo('timeline', { from: String(Math.round(range.from)), to: String(Math.round(range.to)) });
      }}
    />
  );
}

function WithSm({
  lines,
  rank,
  markers,
}: {
  lines: Line[];
  rank: string;
  markers: { x: number; label: string }[];
}) {
  const loaded = useResult('overview', { sm_series: 'yes' });
  const from = Math.min(...lines.map((line) => line.time[0]!));
  const to = Math.max(...lines.map((line) => line.time.at(-1)!));
  const sm = useMemo(
    () => (loaded.result ? spread(smLines(loaded.result, rank, from, to), 'SM efficiency, ') : []),
    [loaded.result, rank, from, to],
  );
  if (loaded.error !== null) return <Empty reason={loaded.error} />;
  if (loaded.result === null) return <Loading height={248} />;
  return (
    <>
      <Chart lines={lines} dashed={sm} markers={markers} />
      {sm.length === 0 && <p class="muted">SM efficiency not available: blocks per SM were not recorded</p>}
    </>
  );
}

const NONE: Line[] = [];

export function Utilization({ result, rank }: { result: Result; rank: string }) {
  const withSm = urlSignal('sm', '');
  const lines = useMemo(
    () => spread(deviceLines(tableOf(result, 'utilization_series'), rank, 'gpu_utilization')),
    [result, rank],
  );
  const markers = useMemo(() => {
    const steps = tableOf(result, 'step_breakdown');
    const first = steps.rows.length > 0 ? rankKey(column(steps, 'rank')[0]) : ALL;
    const own = objects(ofRank(steps, rank === ALL ? first : rank));
    return own.length > 24
      ? []
      : own.map((row) => ({
          x: asNumber(row.start) ?? 0,
          label: row.step === null ? '' : asText(row.step),
          color: 'var(--muted)',
        }));
  }, [result, rank]);
  return (
    <Panel
      title="Utilization over time"
      help={HELP}
      actions={
        lines.length > 0 && (
          <Checkbox
            label="SM efficiency"
            checked={withSm.value === 'yes'}
            title={SM_HELP}
            onChange={(on) => (withSm.value = on ? 'yes' : '')}
          />
        )
      }>
      {lines.length === 0 ? (
        <Empty reason="not available: no kernel ran on a device" />
      ) : withSm.value === 'yes' ? (
        <WithSm lines={lines} rank={rank} markers={markers} />
      ) : (
        <Chart lines={lines} dashed={NONE} markers={markers} />
      )}
    </Panel>
  );
}
