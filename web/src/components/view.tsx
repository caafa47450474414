// What most pages are: load, and show progress, an error or the content, with its notes at the end.
import type { ComponentChildren } from 'preact';
import type { Result } from '../api';
import { ErrorBox, Loading, Notes } from './basic';
import type { Loaded } from './use-result';

interface ViewProps<T> {
  of: Loaded<T>;
  children: (result: T) => ComponentChildren;
  height?: number;
  /** false: the page shows them itself */
  notes?: boolean;
}

export function View<T>({ of, children, height, notes = true }: ViewProps<T>) {
  if (of.error !== null) return <ErrorBox message={of.error} onRetry={of.retry} />;
  if (of.result === null) return <Loading height={height ?? 240} />;
  const list = notes ? (of.result as Partial<Result>).input?.notes : undefined;
  return (
    <div class={of.pending ? 'view view-stale' : 'view'} aria-busy={of.pending}>
      {children(of.result)}
      <Notes notes={list} />
    </div>
  );
}
