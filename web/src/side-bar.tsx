// The left side: which run, span and workers; the pages; theme and help.
import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { RunInfo, TraceInfo } from './api';
import { Button, Checkbox, Dialog, SearchBox, Select } from './components/controls';
import { formatBytes, formatCount, formatPercent } from './format';
import type { PageInfo } from './pages/registry';
import { serverError, serverVersion } from './poll';
import {
  chooseRun,
  currentRun,
  hashOf,
  runs,
  span,
  theme,
  traceList,
  traces,
  traceText,
  view,
  type Theme,
} from './state';

const groupTitles: Record<PageInfo['group'], string> = {
  views: 'Views',
  deep: 'Deep analyses',
  tools: 'Tools',
};

/** Narrow windows start without it; the choice holds until the page goes. */
export const isSideClosed = signal(innerWidth <= 900);

function SideToggle() {
  const text = isSideClosed.value ? 'Show the side bar (Ctrl+B)' : 'Hide the side bar (Ctrl+B)';
  return (
    <button
      type="button"
      class="button button-quiet side-toggle"
      aria-label={text}
      aria-expanded={!isSideClosed.value}
      data-tip={text}
      onClick={() => (isSideClosed.value = !isSideClosed.value)}>
      ☰
    </button>
  );
}

function traceName(t: TraceInfo): string {
  const rank = t.rank === null ? null : `rank ${t.rank}`;
  return [rank, t.worker].filter(Boolean).join(' · ') || t.file;
}

/** The traces of the span that is shown. */
function shownTraces(of: RunInfo, chosen: string | null): TraceInfo[] {
  const wanted = chosen ?? of.span;
  const list = of.traces.filter((t) => t.span === null || wanted === null || t.span === wanted);
  return list.length > 0 ? list : of.traces;
}

/** Launchers and helpers beside the ranks are no workers. */
function whatAre(list: readonly TraceInfo[]): string {
  const ranks = list.filter((t) => t.rank !== null).length;
  return ranks === 0 || ranks === list.length ? 'workers' : 'processes';
}

/** The traces that a text of ranks means (of numbers of traces where ranks are not known); null: it is no such text. */
export function tracesOfText(list: readonly TraceInfo[], text: string): number[] | null {
  const wanted = traceList(text.replaceAll(' ', ''));
  if (wanted === null) return null;
  const hasRanks = list.some((t) => t.rank !== null);
  return list.filter((t) => wanted.includes(hasRanks ? (t.rank ?? -1) : t.trace)).map((t) => t.trace);
}

/** What the pages are about: nothing chosen, or everything, is all of them. */
function choose(list: readonly TraceInfo[], next: readonly number[]): void {
  traces.value = next.length === 0 || next.length === list.length ? null : [...next];
}

function WorkerDialog({ list, onClose }: { list: readonly TraceInfo[]; onClose: () => void }) {
  const [picked, setPicked] = useState<ReadonlySet<number>>(
    () => new Set(traces.value ?? list.map((t) => t.trace)),
  );
  const [filter, setFilter] = useState('');
  const [range, setRange] = useState('');
  const shown = list.filter((t) => traceName(t).toLowerCase().includes(filter.toLowerCase()));
  const set = (which: readonly TraceInfo[], isOn: boolean) => {
    const next = new Set(picked);
    for (const t of which) isOn ? next.add(t.trace) : next.delete(t.trace);
    setPicked(next);
  };
  const ofRange = range === '' ? null : tracesOfText(list, range);
  return (
    <Dialog title="Workers" onClose={onClose}>
      <div class="toolbar">
        <SearchBox value={filter} onChange={setFilter} label="Filter workers" delay={0} />
        <Button onClick={() => set(shown, true)}>All</Button>
        <Button onClick={() => set(shown, false)}>None</Button>
        <label class="field">
          <span class="field-label">Ranks</span>
          <input
            type="text"
            value={range}
            placeholder="0-3,8"
            aria-invalid={range !== '' && ofRange === null}
            onInput={(e) => {
              const text = e.currentTarget.value;
              setRange(text);
              const found = text === '' ? null : tracesOfText(list, text);
              if (found) setPicked(new Set(found));
            }}
          />
        </label>
        <span class="muted" aria-live="polite">
          {formatCount(picked.size)} of {formatCount(list.length)}
        </span>
      </div>
      <div class="check-grid worker-list">
        {shown.map((t) => (
          <Checkbox
            key={t.trace}
            label={traceName(t)}
            checked={picked.has(t.trace)}
            onChange={(on) => set([t], on)}
          />
        ))}
      </div>
      <Button
        kind="primary"
        disabled={picked.size === 0}
        onClick={() => {
          choose(
            list,
            list.filter((t) => picked.has(t.trace)).map((t) => t.trace),
          );
          onClose();
        }}>
        Show {picked.size === list.length ? 'all' : formatCount(picked.size)}
      </Button>
    </Dialog>
  );
}

function WorkerPicker({ of }: { of: RunInfo }) {
  const [choosing, setChoosing] = useState(false);
  const list = shownTraces(of, span.value);
  if (list.length < 2) return null;
  const chosen = traces.value;
  const value = chosen === null ? '' : traceText(chosen);
  const options = [
    { value: '', label: `All ${list.length} ${whatAre(list)}` },
    { value: 'choose', label: 'Choose several…' },
    ...list.map((t) => ({ value: String(t.trace), label: traceName(t) })),
  ];
  if (chosen !== null && chosen.length > 1)
    options.push({ value, label: `${chosen.length} workers: ${value}` });
  return (
    <>
      <Select
        label="Worker"
        option="rank"
        value={value}
        options={options}
        onChange={(v) => {
          if (v === 'choose') setChoosing(true);
          else traces.value = v === '' ? null : traceList(v);
        }}
      />
      {choosing && <WorkerDialog list={list} onClose={() => setChoosing(false)} />}
    </>
  );
}

function RunState({ of }: { of: RunInfo }) {
  if (of.state === 'loading')
    return (
      <div class="run-state" role="status">
        <div class="bar">
          <div style={{ width: `${100 * of.progress}%` }} />
        </div>
        <span>
          {of.what || 'reading'}
          {of.progress > 0 && ` · ${formatPercent(100 * of.progress)}`}
        </span>
      </div>
    );
  const facts = [
    formatBytes(of.bytes),
    of.events === null ? null : `${formatCount(of.events)} events`,
  ].filter(Boolean);
  return (
    <div class="run-state">
      <span>{of.state === 'failed' ? 'cannot be read' : facts.join(' · ')}</span>
      {of.warnings.length > 0 && (
        <span class="tone-warn" data-tip={of.warnings.join('\n')} tabIndex={0}>
          {of.warnings.length} warning{of.warnings.length > 1 ? 's' : ''}
        </span>
      )}
    </div>
  );
}

/** What fits into the box. */
const RUN_LETTERS = 21;

/** Of a long path the end tells most; all of it where the ends of two are the same. */
function runLabels(list: readonly RunInfo[]): string[] {
  const labels = list.map((r) => (r.state === 'failed' ? `${r.label} (failed)` : r.label));
  const tails = labels.map((text) => (text.length > RUN_LETTERS ? `…${text.slice(1 - RUN_LETTERS)}` : text));
  return tails.map((text, i) => (tails.indexOf(text) === tails.lastIndexOf(text) ? text : labels[i]!));
}

interface SideBarProps {
  pages: readonly PageInfo[];
  onHelp: () => void;
  onPalette: () => void;
}

export function SideBar({ pages, onHelp, onPalette }: SideBarProps) {
  const now = currentRun.value;
  if (isSideClosed.value)
    return (
      <aside class="side-closed" aria-label="Run and pages">
        <SideToggle />
      </aside>
    );
  const here = view.value;
  const labels = runLabels(runs.value);
  return (
    <aside class="side">
      <div class="brand">
        <span class="brand-mark" aria-hidden="true" /> <b>Kino</b>{' '}
        <span class="muted">{serverVersion.value}</span>
        <div class="spacer" />
        <SideToggle />
      </div>
      <div class="pickers">
        {runs.value.length > 0 && (
          <Select
            label="Run"
            option="run"
            hideLabel
            value={now?.name ?? ''}
            onChange={chooseRun}
            title={now && now.label.length > 20 ? now.label : undefined}
            options={[
              ...(now ? [] : [{ value: '', label: 'choose a run' }]),
              ...runs.value.map((r, i) => ({ value: r.name, label: labels[i]! })),
            ]}
          />
        )}
        {now && now.spans.length > 1 && (
          <Select
            label="Recording"
            option="span"
            value={span.value ?? now.span ?? ''}
            options={now.spans}
            onChange={(v) => {
              traces.value = null;
              span.value = v === now.span ? null : v;
            }}
          />
        )}
        {now && <WorkerPicker of={now} />}
        {now && <RunState of={now} />}
      </div>
      <nav aria-label="Pages">
        {(['views', 'tools', 'deep'] as const).map((group) => (
          <div key={group} class="nav-group">
            <h2>{groupTitles[group]}</h2>
            {pages
              .filter((p) => p.group === group)
              .map((p) => {
                const why = now ? (p.available?.(now) ?? null) : null;
                return (
                  <a
                    key={p.id}
                    href={hashOf(p.id)}
                    aria-current={isHere(here, p.id) ? 'page' : undefined}
                    class={why === null ? undefined : 'off'}
                    data-tip={why ?? undefined}>
                    {p.title}
                  </a>
                );
              })}
          </div>
        ))}
      </nav>
      <div class="side-foot">
        {serverError.value && (
          <p class="tone-bad" role="alert">
            {serverError.value}
          </p>
        )}
        <Select
          label="Theme"
          hideLabel
          value={theme.value}
          onChange={(v) => (theme.value = v as Theme)}
          options={[
            { value: 'system', label: 'System theme' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
        />
        <Button kind="quiet" title="Commands (Ctrl+Shift+P)" label="Commands" onClick={onPalette}>
          ⌘
        </Button>
        <Button kind="quiet" title="Keys and help (?)" label="Help" onClick={onHelp}>
          ?
        </Button>
      </div>
    </aside>
  );
}

const isHere = (viewNow: string, id: string): boolean => viewNow === id || viewNow.startsWith(`${id}/`);
