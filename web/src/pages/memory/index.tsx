// Memory: what was in use over time, who allocated it, and how long blocks lived. Dragging over the curve
// chooses a stretch of time for the tables.
import { useMemo } from 'preact/hooks';
import { objects, tableOf, type Result } from '../../api';
import {
  Button,
  Empty,
  Figure,
  Notes,
  Page,
  Panel,
  Select,
  Series,
  Tabs,
  useResult,
  View,
} from '../../components';
import { formatBytes, formatCount, formatPercent, formatTime } from '../../format';
import { currentRun, hashOf, urlSignal } from '../../state';
import { asNumber, asText, missing } from '../common/tables';
import { curveOf, devicesOf, ofDevice, requestOf, type Device, type Range } from './numbers';
import { Blocks, Statistics } from './tables';
import './memory.css';

const PAGE_HELP =
  "From the records of the allocator. Only what PyTorch's allocators report is seen: memory of the " +
  "driver's context, of NCCL and of other libraries is not in it.";

const CURVE_HELP =
  'Allocated is what is in use, reserved what the allocator holds. Drag over a stretch of time to see ' +
  'the blocks and operators of it.';

function Peaks({ result, device }: { result: Result; device: Device }) {
  const table = tableOf(result, 'memory_peaks');
  const row = objects(ofDevice(table, device.key))[0];
  if (!row) return null;
  const help = (name: string) => table.columns.find((column) => column.name === name)?.help;
  const bytes = (name: string) => {
    const value = asNumber(row[name]);
    return value === null ? '–' : formatBytes(value);
  };
  const percent = asNumber(row.peak_percent);
  const time = asNumber(row.peak_time);
  const event = asNumber(row.event_id);
  return (
    <div class="figures figures-dense">
      <Figure name="Peak allocated" value={bytes('peak_allocated')} help={help('peak_allocated')} />
      {percent !== null && (
        <Figure name="of the device" value={formatPercent(percent)} help={help('peak_percent')} />
      )}
      <Figure name="Peak reserved" value={bytes('peak_reserved')} help={help('peak_reserved')} />
      <Figure name="Device memory" value={bytes('total_memory')} help={help('total_memory')} />
      <Figure name="Records" value={formatCount(asNumber(row.records) ?? 0)} help={help('records')} />
      {time !== null && (
        <div class="figure" data-tip={`${help('peak_time')}; ${help('operator')}`}>
          <div class="figure-name">Peak reached at {formatTime(time)} by</div>
          <div class="figure-text">
            {event === null ? (
              asText(row.operator) || 'an allocation outside operators'
            ) : (
              <a href={hashOf('timeline', { select: String(event) })}>
                {asText(row.operator) || 'an allocation outside operators'}
              </a>
            )}
          </div>
        </div>
      )}
    </div>
  );
}

function Curve({
  result,
  device,
  range,
  onRange,
}: {
  result: Result;
  device: Device;
  range: Range | null;
  onRange: (range: Range | null) => void;
}) {
  const curve = useMemo(() => curveOf(tableOf(result, 'memory_curve'), device.key), [result, device.key]);
  const lines = useMemo(
    () => [
      { name: 'allocated', values: curve.allocated, stepped: true, color: 'var(--cat-4)' },
      { name: 'reserved', values: curve.reserved, stepped: true, color: 'var(--cat-5)' },
    ],
    [curve],
  );
  const peak = objects(ofDevice(tableOf(result, 'memory_peaks'), device.key))[0];
  const peakTime = asNumber(peak?.peak_time);
  const markers = useMemo(
    () => [
      ...(peakTime === null ? [] : [{ x: peakTime, label: 'peak', color: 'var(--bad)' }]),
      ...(range ? [{ x: range.from }, { x: range.to }] : []),
    ],
    [peakTime, range?.from, range?.to],
  );
  if (curve.time.length === 0)
    return (
      <Empty
        reason={missing(
          result.input.notes,
          'memory_curve',
          'not available: the device has no records with totals',
        )}
      />
    );
  return (
    <Series
      x={curve.time}
      xUnit="ns"
      unit="bytes"
      lines={lines}
      height={280}
      markers={markers}
      range={range}
      onRange={onRange}
    />
  );
}

/** Times of the URL; anything but two numbers is no range. */
function rangeOf(from: string, to: string): Range | null {
  if (!/^\d+$/.test(from) || !/^\d+$/.test(to)) return null;
  return { from: Number(from), to: Number(to) };
}

function Tables({ device, range }: { device: Device; range: Range | null }) {
  const tab = urlSignal('table', 'statistics');
  // The whole run is asked for once; only a chosen stretch of time needs another answer.
  const loaded = useResult('memory', requestOf(currentRun.value?.traces.length ?? 1, range));
  return (
    <Panel
      title={range ? `From ${formatTime(range.from)} to ${formatTime(range.to)}` : 'Whole run'}
      actions={
        <Tabs
          value={tab.value}
          onChange={(id) => (tab.value = id)}
          label="Tables"
          tabs={[
            { id: 'statistics', title: 'By operator', help: 'Allocations and releases of each operator' },
            { id: 'blocks', title: 'Blocks', help: 'Each block from its allocation to its release' },
          ]}
        />
      }>
      <View of={loaded} height={480} notes={false}>
        {(result) =>
          tab.value === 'blocks' ? (
            <Blocks result={result} device={device} range={range} />
          ) : (
            <Statistics result={result} device={device} range={range} />
          )
        }
      </View>
    </Panel>
  );
}

export default function Memory() {
  const choice = urlSignal('device', '');
  const from = urlSignal('from', '');
  const to = urlSignal('to', '');
  const loaded = useResult('memory', requestOf(currentRun.value?.traces.length ?? 1, null));
  const devices = useMemo(
    () => (loaded.result ? devicesOf(tableOf(loaded.result, 'memory_peaks')) : []),
    [loaded.result],
  );
  const device = devices.find((one) => one.key === choice.value) ?? devices[0];
  const range = rangeOf(from.value, to.value);
  const setRange = (next: Range | null) => {
    from.value = next ? String(Math.max(0, Math.floor(next.from))) : '';
    to.value = next ? String(Math.max(0, Math.ceil(next.to))) : '';
  };
  return (
    <Page
      title="Memory"
      rank={device?.rank}
      help={PAGE_HELP}
      actions={
        devices.length > 1 &&
        device && (
          <Select
            label="Device"
            value={device.key}
            onChange={(key) => (choice.value = key)}
            options={devices.map((one) => ({ value: one.key, label: one.label }))}
          />
        )
      }>
      <View of={loaded} height={700} notes={false}>
        {(result) =>
          !device ? (
            <Empty
              reason={missing(
                result.input.notes,
                'memory',
                'memory not available: the trace has no memory events (profile with profile_memory=True)',
              )}
            />
          ) : (
            <>
              <Notes notes={result.input.notes} />
              <Peaks result={result} device={device} />
              <Panel
                title={`Memory of ${device.label}`}
                help={CURVE_HELP}
                actions={
                  range && (
                    <>
                      <Button kind="quiet" onClick={() => setRange(null)}>
                        Whole run
                      </Button>
                      <a
                        class="button button-quiet"
                        href={hashOf('timeline', { from: String(range.from), to: String(range.to) })}>
                        Show in the timeline
                      </a>
                    </>
                  )
                }>
                <Curve result={result} device={device} range={range} onRange={setRange} />
              </Panel>
              <Tables device={device} range={range} />
            </>
          )
        }
      </View>
    </Page>
  );
}
