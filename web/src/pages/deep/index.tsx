// The deep analyses: one page each, as notebooks of HTA show them, chart and table.
import type { FunctionComponent } from 'preact';
import { Empty } from '../../components';
import { view } from '../../state';
import { CommOverlap, TemporalBreakdown } from './busy';
import { CriticalPath } from './critical';
import { Gaps, IdleTime } from './idle';
import { LaunchStats, QueueLength } from './launch';
import { Collectives, Stragglers } from './together';

const parts: Record<string, FunctionComponent> = {
  'temporal-breakdown': TemporalBreakdown,
  'idle-time': IdleTime,
  gaps: Gaps,
  'queue-length': QueueLength,
  'launch-stats': LaunchStats,
  'comm-overlap': CommOverlap,
  collectives: Collectives,
  stragglers: Stragglers,
  'critical-path': CriticalPath,
};

export default function Deep() {
  const name = view.value.replace(/^deep\//, '');
  const Part = parts[name];
  return Part ? <Part key={name} /> : <Empty reason={`There is no deep analysis '${name}'.`} />;
}
