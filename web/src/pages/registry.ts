// What a page is to the shell: its name, where it stands, whether the run has what it needs, and how to load it.
import type { FunctionComponent } from 'preact';
import type { RunInfo } from '../api';

export interface PageInfo {
  id: string;
  title: string;
  group: 'views' | 'deep' | 'tools';
  /** Why the page has nothing to show for this run; null: it has. */
  available?: (run: RunInfo) => string | null;
  load: () => Promise<{ default: FunctionComponent }>;
  /** Fills the window instead of scrolling as a document. */
  fill?: boolean;
}
