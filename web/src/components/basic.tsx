// Frames of a page: title, panels, notes, and what stands in while there is nothing to show.
import type { ComponentChildren } from 'preact';
import type { RunInfo } from '../api';
import { formatPercent } from '../format';
import { currentRun, traces, traceText } from '../state';
import { adviceFor } from './advice';
import { Sentence } from './said';

export function Help({ text }: { text: string }) {
  return (
    <button type="button" class="help" data-tip={text} aria-label={`Help: ${text}`}>
      ?
    </button>
  );
}

interface PageProps {
  title: string;
  help?: string;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  fill?: boolean;
  /** the rank that the page itself has chosen; 'all' or left out: those at the left; null: the page is about none */
  rank?: string | null;
}

/** Which ranks the numbers are of; nothing where there is one. */
function Scope({ rank }: { rank?: string }) {
  const list = currentRun.value?.traces ?? [];
  const ranks = list.flatMap((t) => (t.rank === null ? [] : [t.rank]));
  if (ranks.length < 2) return null;
  const chosen = traces.value;
  const shown = list.flatMap((t) =>
    t.rank !== null && (chosen === null || chosen.includes(t.trace)) ? [t.rank] : [],
  );
  const isOne = rank !== undefined && /^\d+$/.test(rank);
  const text = isOne
    ? `rank ${rank} of ${ranks.length}`
    : shown.length === ranks.length
      ? `all ${ranks.length} ranks`
      : `${shown.length === 1 ? 'rank' : 'ranks'} ${traceText(shown)} of ${ranks.length}`;
  return (
    <span class="scope" data-tip="Whose numbers this page shows">
      {text}
    </span>
  );
}

export function Page({ title, help, actions, children, fill, rank }: PageProps) {
  return (
    <div class={fill ? 'page page-fill' : 'page'}>
      <header class="page-head">
        <h1>{title}</h1>
        {help && <Help text={help} />}
        {rank !== null && <Scope rank={rank} />}
        <div class="spacer" />
        {actions}
      </header>
      <div class="page-body">{children}</div>
    </div>
  );
}

interface PanelProps {
  title?: string;
  help?: string;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  class?: string;
}

export function Panel({ title, help, actions, children, class: extra }: PanelProps) {
  return (
    <section class={extra ? `panel ${extra}` : 'panel'} role="group" aria-label={title}>
      {(title || actions) && (
        <header class="panel-head">
          {title && <h2>{title}</h2>}
          {help && <Help text={help} />}
          <div class="spacer" />
          {actions}
        </header>
      )}
      <div class="panel-body">{children}</div>
    </section>
  );
}

/** Why values are missing or left out: the notes of a result. */
export function Notes({ notes }: { notes: readonly string[] | undefined }) {
  if (!notes || notes.length === 0) return null;
  return (
    <ul class="notes" aria-label="Notes">
      {[...new Set(notes)].map((note) => (
        <li key={note}>
          <Sentence text={note} />
        </li>
      ))}
    </ul>
  );
}

/** While a run is read: how far it is. Keeps the room the content will need. */
export function Loading({ run, height = 160 }: { run?: RunInfo | null; height?: number }) {
  const of = run === undefined ? currentRun.value : run;
  const loading = of?.state === 'loading';
  const percent = loading ? Math.max(0, Math.min(1, of.progress)) * 100 : null;
  return (
    <div class="loading" style={{ minHeight: `${height}px` }} role="status" aria-live="polite">
      <div class={percent === null ? 'bar bar-unknown' : 'bar'}>
        <div style={percent === null ? undefined : { width: `${percent}%` }} />
      </div>
      <span class="muted">
        {loading ? `${of.what || 'reading the run'} · ${formatPercent(percent ?? 0)}` : 'computing…'}
      </span>
    </div>
  );
}

export function Empty({ reason }: { reason: string }) {
  const advice = adviceFor(reason);
  return (
    <div class="empty">
      <p>
        <Sentence text={reason} />
      </p>
      {advice && <p class="advice">{advice}</p>}
    </div>
  );
}

interface ErrorBoxProps {
  message: string;
  onRetry?: () => void;
  title?: string;
}

export function ErrorBox({ message, onRetry, title = 'Something went wrong.' }: ErrorBoxProps) {
  return (
    <div class="error-box" role="alert">
      <strong>{title}</strong>{' '}
      <span>
        <Sentence text={message} />
      </span>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A number with its name: the tiles at the top of pages. */
export function Figure({
  name,
  value,
  help,
  tone,
}: {
  name: string;
  value: string;
  help?: string;
  tone?: 'good' | 'bad' | 'warn';
}) {
  return (
    <div class="figure" data-tip={help}>
      <div class="figure-name">{name}</div>
      <div class={tone ? `figure-value tone-${tone}` : 'figure-value'}>{value}</div>
    </div>
  );
}
