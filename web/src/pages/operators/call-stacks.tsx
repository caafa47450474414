// The call stacks of one operator. They are asked for when the first row is opened: the whole table at once,
// so opening another row costs nothing.
import { objects, tableOf, type CellValue, type Result } from '../../api';
import { useResult, View } from '../../components';
import { formatCount, formatDuration } from '../../format';
import { asNumber, asText, rankKey } from '../common/tables';
import { framesOf, type Frame } from './stacks';

const SHOWN = 30;

function FrameLine({ frame }: { frame: Frame }) {
  if (frame.file === null)
    return (
      <li class="frame">
        <span class="frame-name">{frame.text}</span>
      </li>
    );
  return (
    <li class="frame" data-tip={frame.text}>
      <span class="frame-name">{frame.name}</span>
      <span class="frame-file">
        {frame.file}
        <span class="frame-line">:{frame.line}</span>
      </span>
    </li>
  );
}

/** The innermost frame of the program itself says more than torch's own. */
function headOf(frames: Frame[]): string {
  const own = frames.find(
    (frame) => frame.file !== null && !/(^|\/)torch\/|site-packages|<frozen|\/lib\/python/.test(frame.file),
  );
  return (own ?? frames[0])?.text ?? '';
}

function duration(label: string, value: CellValue | undefined) {
  const time = asNumber(value);
  return time === null ? null : (
    <span>
      {label} <b>{formatDuration(time)}</b>
    </span>
  );
}

function Stack({ row, open }: { row: Record<string, CellValue>; open: boolean }) {
  const frames = framesOf(asText(row.call_stack));
  return (
    <details class="stack" open={open}>
      <summary>
        <span>
          calls <b>{formatCount(asNumber(row.calls) ?? 0)}</b>
        </span>
        {duration('device self', row.device_self_duration)}
        {duration('device total', row.device_total_duration)}
        {duration('host self', row.host_self_duration)}
        {duration('host total', row.host_total_duration)}
        <span class="stack-head">{headOf(frames)}</span>
      </summary>
      <ol class="frames" aria-label="Innermost call first">
        {frames.map((frame, at) => (
          <FrameLine key={at} frame={frame} />
        ))}
      </ol>
    </details>
  );
}

interface Operator {
  rank: string;
  name: string;
  shape: CellValue;
}

function Stacks({ result, of }: { result: Result; of: Operator }) {
  const found = objects(tableOf(result, 'call_stacks')).filter(
    (row) => rankKey(row.rank) === of.rank && row.name === of.name && row.input_shape === of.shape,
  );
  if (found.length === 0) return <p class="muted">Call stacks not available: none of its calls have one</p>;
  return (
    <div class="stacks">
      {found.slice(0, SHOWN).map((row, at) => (
        <Stack key={at} row={row} open={at === 0} />
      ))}
      {found.length > SHOWN && (
        <p class="muted">
          and {formatCount(found.length - SHOWN)} more with less time: kino analyze operators --stacks=yes has
          all
        </p>
      )}
    </div>
  );
}

export function CallStacks({ of, group, has }: { of: Operator; group: string; has: boolean }) {
  if (!has)
    return (
      <p class="muted">
        Call stacks not available: none was recorded for it (profile with with_stack=True; operators of the
        backward pass mostly have none)
      </p>
    );
  return <Loaded of={of} group={group} />;
}

function Loaded({ of, group }: { of: Operator; group: string }) {
  const loaded = useResult('operators', { group, stacks: 'yes' });
  return (
    <View of={loaded} height={80} notes={false}>
      {(result) => <Stacks result={result} of={of} />}
    </View>
  );
}
