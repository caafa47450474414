// A card a device: what it is, and how well it was used.
import { objects, type CellValue, type Column, type Table } from '../../api';
import { DataTable, Empty, Help } from '../../components';
import { formatBytes, formatPercent } from '../../format';
import { asNumber, asText, filledColumns, rankKey, rankLabel } from '../common/tables';

const METERS = [
  { key: 'gpu_utilization', label: 'GPU utilization', missing: 'the trace has no kernels of this device' },
  {
    key: 'est_sm_efficiency',
    label: 'Est. SM efficiency',
    missing: 'blocks per SM were not recorded',
  },
  {
    key: 'est_achieved_occupancy',
    label: 'Est. occupancy',
    missing: 'occupancy was not recorded',
  },
  {
    key: 'kernel_time_using_tensor_cores',
    label: 'Tensor cores',
    missing: 'no kernel of the device belongs to an operator',
  },
] as const;

function Meter({
  label,
  help,
  value,
  reason,
}: {
  label: string;
  help: string;
  value: number | null;
  reason: string;
}) {
  return (
    <div class="meter">
      <span class="meter-label">
        {label} <Help text={help} />
      </span>
      {value === null ? (
        <span class="meter-missing" data-tip={`not available: ${reason}`}>
          not available
        </span>
      ) : (
        <span class="meter-value" data-tip={`${value} %`}>
          {formatPercent(value)}
        </span>
      )}
      <span class="meter-track" aria-hidden="true">
        {value !== null && <span style={{ width: `${Math.min(100, Math.max(0, value))}%` }} />}
      </span>
    </div>
  );
}

function helpOf(columns: Column[], name: string): string {
  return columns.find((column) => column.name === name)?.help ?? '';
}

/** Compute capabilities are NVIDIA's; the same numbers of other vendors name an architecture. */
export function architecture(name: string, capability: string): string {
  return /\b(AMD|Instinct|Radeon|MI\d{2,3}\w?|gfx\w+)\b/i.test(name)
    ? `gfx${capability.replace('.', '')}x`
    : `CC ${capability}`;
}

function Card({
  row,
  columns,
  several,
}: {
  row: Record<string, CellValue>;
  columns: Column[];
  several: boolean;
}) {
  const memory = asNumber(row.memory);
  const facts = [
    asText(row.name),
    memory === null ? '' : formatBytes(memory),
    row.compute_capability === null ? '' : architecture(asText(row.name), asText(row.compute_capability)),
  ].filter((fact) => fact !== '');
  return (
    <article class="gpu">
      <h3>
        GPU {asText(row.device)} {several && <span class="muted">{rankLabel(rankKey(row.rank))}</span>}
      </h3>
      <p class="muted">{facts.length > 0 ? facts.join(' · ') : 'The trace does not describe the device.'}</p>
      <div class="meters">
        {METERS.map((meter) => (
          <Meter
            key={meter.key}
            label={meter.label}
            help={helpOf(columns, meter.key)}
            value={asNumber(row[meter.key])}
            reason={meter.missing}
          />
        ))}
      </div>
    </article>
  );
}

/** Beyond this a table reads better than cards. */
const MOST_CARDS = 16;
const TITLES = {
  compute_capability: 'Architecture',
  gpu_utilization: 'Utilisation',
  est_sm_efficiency: 'SM efficiency',
  est_achieved_occupancy: 'Occupancy',
  kernel_time_using_tensor_cores: 'Tensor cores',
};

/** Kernels without a device number (and so without a row here) are no reason to record again. */
function noRows(hasKernels: boolean): string {
  return hasKernels
    ? 'not available: the trace does not say on which device its kernels ran'
    : 'not available: the trace has no kernels';
}

export function Gpus({
  table,
  several,
  hasKernels,
}: {
  table: Table;
  several: boolean;
  hasKernels: boolean;
}) {
  if (table.rows.length === 0) return <Empty reason={noRows(hasKernels)} />;
  if (table.rows.length > MOST_CARDS)
    return <DataTable id="gpus" table={table} columns={filledColumns(table)} titles={TITLES} height={420} />;
  return (
    <div class="gpus">
      {objects(table).map((row, at) => (
        <Card key={at} row={row} columns={table.columns} several={several} />
      ))}
    </div>
  );
}
