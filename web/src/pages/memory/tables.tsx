// The tables of a device and a stretch of time: by operator, and block by block.
import { useMemo } from 'preact/hooks';
import { tableOf, urlOf, type CellValue, type Column, type Result } from '../../api';
import { DataTable, Empty, TextBox } from '../../components';
import { formatBytes, formatCount, formatTime } from '../../format';
import { urlSignal } from '../../state';
import { EventLink } from '../common/links';
import { asNumber, missing, place } from '../common/tables';
import { ofDevice, ofSize, parseSize, ROWS, type Device, type Range } from './numbers';

interface TableProps {
  result: Result;
  device: Device;
  range: Range | null;
}

function exportParams(device: Device, range: TableProps['range'], table: string) {
  return { table, device: device.name, from: range?.from, to: range?.to };
}

export function Statistics({ result, device, range }: TableProps) {
  const table = useMemo(
    () => ofDevice(tableOf(result, 'memory_statistics'), device.key),
    [result, device.key],
  );
  if (table.rows.length === 0)
    return (
      <Empty
        reason={
          range
            ? 'No operator allocated or released anything in this stretch of time.'
            : missing(
                result.input.notes,
                'memory_statistics',
                'not available: no record lies inside an operator',
              )
        }
      />
    );
  return (
    <DataTable
      id="statistics"
      table={table}
      columns={[
        'operator_name',
        'calls',
        'self_size_increase',
        'size_increase',
        'self_allocation_count',
        'allocation_count',
        'self_allocation_size',
        'allocation_size',
      ]}
      titles={{
        operator_name: 'Operator',
        self_size_increase: 'Self increase',
        size_increase: 'Increase',
        self_allocation_count: 'Self allocations',
        allocation_count: 'Allocations',
        self_allocation_size: 'Self allocated',
        allocation_size: 'Allocated',
      }}
      sort={{ column: 'self_size_increase', descending: true }}
      search={['operator_name']}
      unsummed={['size_increase', 'allocation_count', 'allocation_size']}
      height={520}
      exportUrl={() => urlOf('analyses/memory.csv', exportParams(device, range, 'memory_statistics'))}
    />
  );
}

/** A time that leads to its event; what lies outside of the stretch or the trace is said to. */
function timeCell(time: number | null, event: number | null, other: string) {
  if (time === null) return <span class="muted">{other}</span>;
  return event === null ? undefined : <EventLink id={event} text={formatTime(time)} />;
}

export function Blocks({ result, device, range }: TableProps) {
  const least = urlSignal('min', '');
  const most = urlSignal('max', '');
  const own = useMemo(() => ofDevice(tableOf(result, 'memory_events'), device.key), [result, device.key]);
  const table = useMemo(
    () => ofSize(own, parseSize(least.value), parseSize(most.value)),
    [own, least.value, most.value],
  );
  if (own.rows.length === 0)
    return (
      <Empty
        reason={
          range
            ? 'No blocks were allocated or released in this time.'
            : missing(result.input.notes, 'memory_events', 'not available: the records have no addresses')
        }
      />
    );
  const at = (name: string) => place(table, name);
  const isCut = tableOf(result, 'memory_events').rows.length >= ROWS;
  const largest = own.rows.reduce((max, row) => Math.max(max, asNumber(row[at('size')]) ?? 0), 0);
  const cell = (row: CellValue[], column: Column) => {
    if (column.name === 'operator' && row[at('operator')] === null)
      return <span class="muted">outside operators</span>;
    if (column.name === 'allocation_time')
      return timeCell(asNumber(row[at('allocation_time')]), asNumber(row[at('allocation_event')]), 'before');
    if (column.name === 'release_time')
      return timeCell(asNumber(row[at('release_time')]), asNumber(row[at('release_event')]), 'not released');
    return undefined;
  };
  return (
    <>
      <DataTable
        id="blocks"
        table={table}
        columns={['operator', 'size', 'allocation_time', 'release_time', 'duration']}
        titles={{
          operator: 'Operator',
          allocation_time: 'Allocated at',
          release_time: 'Released at',
          duration: 'Lived',
        }}
        sort={{ column: 'size', descending: true }}
        search={['operator']}
        group={['operator']}
        height={520}
        cell={cell}
        tools={
          <>
            <TextBox
              label="Size from"
              value={least.value}
              placeholder="0"
              onChange={(value) => (least.value = value)}
              title="Smallest block to show, such as 64 KiB or 1MB"
            />
            <TextBox
              label="to"
              value={most.value}
              placeholder={formatBytes(largest)}
              onChange={(value) => (most.value = value)}
              title="Largest block to show"
            />
          </>
        }
        exportUrl={() => urlOf('analyses/memory.csv', exportParams(device, range, 'memory_events'))}
      />
      {isCut && (
        <p class="muted">
          Only the first {formatCount(ROWS)} blocks are here: drag over a shorter stretch of time to see all
          of it.
        </p>
      )}
    </>
  );
}
