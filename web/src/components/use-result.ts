// Hooks that load: a result of an analysis, or any kept route. Old content stays until the new one is there.
import { useEffect, useState } from 'preact/hooks';
import { analyze, cached, type Params, type Result } from '../api';
import { run, runVersion, span, traces } from '../state';

export interface Loaded<T> {
  result: T | null;
  pending: boolean;
  error: string | null;
  retry: () => void;
}

/** Loads again when the key or the chosen run, span, traces change; cancels what is no longer wanted. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const scope = `${run.value}\0${span.value}\0${traces.value?.join(',') ?? ''}\0${runVersion.value}\0${key}`;
  const [state, setState] = useState<{
    scope: string;
    result: T | null;
    error: string | null;
    pending: boolean;
  }>({ scope: '', result: null, error: null, pending: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((old) => ({ ...old, pending: true, error: null }));
    load(stop.signal).then(
      (result) => stop.signal.aborted || setState({ scope, result, error: null, pending: false }),
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        setState({ scope, result: null, error: message, pending: false });
      },
    );
    return () => stop.abort();
  }, [scope, round]);
  return {
    result: state.result,
    pending: state.pending,
    error: state.error,
    retry: () => setRound((n) => n + 1),
  };
}

export function useResult(name: string, params?: Record<string, string>): Loaded<Result> {
  return useLoad(`${name}\0${JSON.stringify(params ?? {})}`, (signal) => analyze(name, params, signal));
}

export function useRoute<T>(route: string, params?: Params): Loaded<T> {
  return useLoad(`${route}\0${JSON.stringify(params ?? {})}`, (signal) => cached<T>(route, params, signal));
}
