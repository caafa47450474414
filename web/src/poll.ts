// Keeps the lists of runs and analyses: asks often while something is being loaded, seldom otherwise,
// not at all in a hidden tab. A run whose files changed makes all results be asked for again.
import { effect, signal } from '@preact/signals';
import { forgetResults, get, type AnalysisInfo, type RunInfo } from './api';
import { analyses, run, runs } from './state';

/** Null while the server answers; otherwise why it does not. */
export const serverError = signal<string | null>(null);
/** Whether the first answer has come. */
export const isStarted = signal(false);
export const serverVersion = signal('');

const stampOf = (r: RunInfo) => `${r.changed ?? ''} ${r.bytes}`;

/** What the files of each run were when we first saw them. */
function changedRuns(old: readonly RunInfo[], now: readonly RunInfo[]): string[] {
  const before = new Map(old.map((r) => [r.name, stampOf(r)]));
  return now.filter((r) => before.has(r.name) && before.get(r.name) !== stampOf(r)).map((r) => r.name);
}

/** The run to show when the address names none, or one that is gone. */
function pickRun(list: readonly RunInfo[], wanted: string | null): string | null {
  if (wanted !== null && list.some((r) => r.name === wanted)) return wanted;
  return wanted === null ? (list[0]?.name ?? null) : wanted;
}

/** What the server can do; pages that need it wait, the others do not. */
async function learn(): Promise<void> {
  const [list, status] = await Promise.all([
    get<{ analyses: AnalysisInfo[] }>('analyses'),
    get<{ version: string }>('status'),
  ]);
  analyses.value = list.analyses;
  serverVersion.value = status.version;
}

export async function refresh(): Promise<void> {
  try {
    const answer = await get<{ version: number; runs: RunInfo[] }>('runs');
    const changed = changedRuns(runs.peek(), answer.runs);
    runs.value = answer.runs;
    if (run.peek() === null) run.value = pickRun(answer.runs, null);
    if (changed.length > 0) forgetResults();
    serverError.value = null;
    isStarted.value = true;
    if (analyses.peek().length === 0) await learn();
  } catch (error) {
    serverError.value = error instanceof Error ? error.message : String(error);
  }
}

export function startPolling(): void {
  let timer = 0;
  const round = async () => {
    clearTimeout(timer);
    if (!document.hidden) await refresh();
    const busy = runs.peek().some((r) => r.state === 'loading');
    timer = window.setTimeout(round, serverError.peek() !== null ? 3000 : busy ? 1000 : 5000);
  };
  // An answer said that a run is being loaded: follow it from now on, until it is there.
  let wasBusy = false;
  effect(() => {
    const busy = runs.value.some((r) => r.state === 'loading');
    if (busy && !wasBusy) {
      clearTimeout(timer);
      timer = window.setTimeout(round, 500);
    }
    wasBusy = busy;
  });
  document.addEventListener('visibilitychange', () => !document.hidden && void round());
  void round();
}
