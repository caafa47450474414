// The list of pages, in the order of the side bar.
import type { PageInfo } from './registry';

const deep = (name: string, title: string): PageInfo => ({
  id: `deep/${name}`,
  title,
  group: 'deep',
  load: () => import('./deep'),
});
const needRanks: PageInfo['available'] = (run) =>
  run.traces.length < 2 && run.state === 'ready'
    ? 'This page compares workers, and this run has only one.'
    : null;

export const pages: readonly PageInfo[] = [
  { id: 'overview', title: 'Overview', group: 'views', load: () => import('./overview') },
  { id: 'timeline', title: 'Timeline', group: 'views', load: () => import('../timeline'), fill: true },
  { id: 'operators', title: 'Operators', group: 'views', load: () => import('./operators') },
  { id: 'kernels', title: 'Kernels', group: 'views', load: () => import('./kernels') },
  { id: 'roofline', title: 'Roofline', group: 'views', load: () => import('./roofline') },
  { id: 'memory', title: 'Memory', group: 'views', load: () => import('./memory') },
  { id: 'modules', title: 'Modules', group: 'views', load: () => import('./modules') },
  { id: 'distributed', title: 'Distributed', group: 'views', load: () => import('./distributed') },
  { id: 'flame', title: 'Flame graph', group: 'tools', load: () => import('./flame'), fill: true },
  { id: 'diff', title: 'Diff', group: 'tools', load: () => import('./diff') },
  { id: 'sql', title: 'SQL', group: 'tools', load: () => import('./sql') },
  { id: 'analyses', title: 'All analyses', group: 'tools', load: () => import('./generic') },
  deep('temporal-breakdown', 'Busy and idle'),
  deep('idle-time', 'Idle time'),
  deep('gaps', 'Gaps'),
  deep('queue-length', 'Queue length'),
  deep('launch-stats', 'Launch statistics'),
  deep('comm-overlap', 'Overlap'),
  deep('collectives', 'Collectives'),
  { ...deep('stragglers', 'Stragglers'), available: needRanks },
  deep('critical-path', 'Critical path'),
];

/** 'analyses/gaps' is the page 'analyses' with more behind it; the longest id that fits. */
export function pageOf(view: string): PageInfo | null {
  return pages.find((p) => p.id === view) ?? pages.find((p) => view.startsWith(`${p.id}/`)) ?? null;
}
