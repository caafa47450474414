// The rank box of a page; nothing is shown where a run has one rank.
import type { Signal } from '@preact/signals';
import { NumberBox, Select } from '../../components';
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

interface RankAndTopProps extends RankSelectProps {
  top: Signal<string>;
  title: string;
}

/** How many parts a ring shows by name. */
export const topOf = (top: Signal<string>): number => Math.max(0, Number(top.value) || 0);

/** The rank box, and how many parts the rings of the page show by name. */
export function RankAndTop({ top, title, ...rank }: RankAndTopProps) {
  return (
    <>
      <RankSelect {...rank} />
      <NumberBox
        label="Top"
        value={topOf(top)}
        min={0}
        max={100}
        step={1}
        title={title}
        onChange={(value) => (top.value = String(value ?? 10))}
      />
    </>
  );
}
