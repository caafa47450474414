// The rank box of a page; nothing is shown where a run has one rank.
import type { Signal } from '@preact/signals';
import { Select } from '../../components';
import { ALL, rankLabel } from './tables';

interface RankSelectProps {
  ranks: readonly string[];
  value: string;
  choice: Signal<string>;
  /** what "all" means on this page; left out: one rank has to be chosen */
  all?: string;
}

export function RankSelect({ ranks, value, choice, all }: RankSelectProps) {
  if (ranks.length < 2) return null;
  const options = ranks.map((rank) => ({ value: rank, label: rankLabel(rank) }));
  return (
    <Select
      label="Rank"
      value={value}
      options={all === undefined ? options : [{ value: ALL, label: all }, ...options]}
      onChange={(rank) => (choice.value = rank)}
    />
  );
}
