// The advice of the rules: what was seen, why it matters, what to do, what it would bring, and the events
// that show it, each a link into the timeline.
import { objects, tableOf, type CellValue, type Result } from '../../api';
import { Empty, Panel, useRoute } from '../../components';
import { labelsOf } from '../../components/labels';
import { formatPercent } from '../../format';
import { traceText } from '../../state';
import { EventLink } from '../common/links';
import { ALL, asNumber, asText, jsonList, rankKey, rankLabel } from '../common/tables';

const HELP =
  'What to change, largest gain first. A gain is an estimate of the step time saved, usually an upper bound.';

const SHOWN_EVIDENCE = 8;

/** What the events are called: one question for all of a finding. */
function useNames(ids: readonly number[]): Map<number, string> {
  const loaded = useRoute<Result>('timeline/search', { q: `id:${ids.join(',')}`, limit: SHOWN_EVIDENCE });
  const rows = loaded.result ? objects(tableOf(loaded.result, 'found')) : [];
  return new Map(
    rows.map((row) => {
      const rank = asNumber(row.rank);
      return [Number(row.id), rank === null ? asText(row.name) : `${asText(row.name)} on rank ${rank}`];
    }),
  );
}

function Evidence({ ids }: { ids: number[] }) {
  const shown = ids.slice(0, SHOWN_EVIDENCE);
  const names = useNames(shown);
  const labels = labelsOf(
    shown.map((id) => names.get(id) ?? `event ${id}`),
    40,
  );
  return (
    <p class="finding-evidence">
      <span class="finding-label">Evidence</span>
      {shown.map((id, at) => (
        <EventLink
          key={at}
          id={id}
          text={labels[at]!}
          tip={`Show ${names.get(id) ?? `event ${id}`} in the timeline`}
        />
      ))}
      {ids.length > SHOWN_EVIDENCE && <span class="muted">and {ids.length - SHOWN_EVIDENCE} more</span>}
    </p>
  );
}

/** Which ranks have it; most often that is all of them. */
function Ranks({ value, of }: { value: unknown; of: number }) {
  const ranks = jsonList(value).filter((rank) => typeof rank === 'number');
  if (ranks.length === 0) return null;
  if (ranks.length === of) return <span class="muted">all ranks</span>;
  return (
    <span class="muted">
      {ranks.length === 1 ? 'rank' : 'ranks'} {traceText(ranks)}
    </span>
  );
}

/** Of whose step: a rank's, where there are several. */
function gainOf(row: Record<string, CellValue>, ranks: number): string {
  const gain = asNumber(row.gain_percent);
  if (gain === null || gain < 0.05) return 'gain unknown';
  const whose = ranks > 1 && asNumber(row.rank) !== null ? ` of ${rankLabel(rankKey(row.rank))}'s step` : '';
  return `up to ${formatPercent(gain)}${whose}`;
}

function Finding({ row, ranks }: { row: Record<string, CellValue>; ranks: number }) {
  const severity = asText(row.severity);
  const evidence = jsonList(row.evidence).filter((id) => typeof id === 'number');
  return (
    <li class={`finding finding-${severity}`}>
      <div class="finding-head">
        <span class="finding-severity">{severity}</span>
        <h3>{asText(row.title)}</h3>
        {ranks > 1 && <Ranks value={row.ranks} of={ranks} />}
        <span
          class="finding-gain"
          data-tip="Estimate of the step time saved; findings of one rank never count the same time twice">
          {gainOf(row, ranks)}
        </span>
      </div>
      <p>{asText(row.seen)}</p>
      <p class="muted">{asText(row.why)}</p>
      <p class="finding-do">
        <span class="finding-label">Do</span>
        {asText(row.do)}
      </p>
      {evidence.length > 0 && <Evidence ids={evidence} />}
    </li>
  );
}

/** A finding that names no ranks is about the run, and so about each of them. */
function isAbout(row: Record<string, CellValue>, rank: string): boolean {
  const ranks = jsonList(row.ranks).filter((one) => one !== null);
  return rank === ALL || ranks.length === 0 || ranks.some((one) => rankKey(one) === rank);
}

export function Findings({ result, rank }: { result: Result; rank: string }) {
  const all = objects(tableOf(result, 'recommendations'));
  const rows = all.filter((row) => isAbout(row, rank));
  const ranks = result.input.ranks.length;
  const isPart = rank !== ALL && ranks > 1;
  return (
    <Panel
      title={isPart ? `Findings about ${rankLabel(rank)}` : 'Findings'}
      help={isPart ? `${HELP} Numbers are those of the whole run.` : HELP}
      actions={isPart && <span class="muted">{`${rows.length} of the run's ${all.length}`}</span>}>
      {rows.length === 0 ? (
        <Empty reason={`No recommendations for this ${isPart ? 'rank' : 'run'}.`} />
      ) : (
        <ol class="findings">
          {rows.map((row, at) => (
            <Finding key={at} row={row} ranks={ranks} />
          ))}
        </ol>
      )}
    </Panel>
  );
}
