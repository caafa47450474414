// What the pages of kernels and of operators share: an analysis with a grouping, whose rings are always by
// name, and whose table is grouped as the box says.
import type { ComponentChildren } from 'preact';
import { tableOf, type Result } from '../../api';
import { Choices, Panel, useResult, View } from '../../components';
import { urlSignal } from '../../state';
import { RankAndTop, topOf } from './ranks';
import { ALL, chosenRank, ranksOf } from './tables';

export function useGrouped(name: string) {
  const choice = urlSignal('rank', '');
  const group = urlSignal('group', 'name');
  const top = urlSignal('top', '10');
  const filter = urlSignal(`${name}.filter`, '');
  // With the default grouping both are the same request.
  const byName = useResult(name, { group: 'name' });
  const grouped = useResult(name, { group: group.value });
  const ranks = byName.result ? ranksOf(tableOf(byName.result, name)) : [];
  const rank = chosenRank(choice.value, ranks, ranks[0] ?? ALL);
  return {
    byName,
    grouped,
    group,
    ranks,
    rank,
    top: topOf(top),
    /** Looks for a name in the table; for the same one again: no longer. */
    find: (wanted: string) => (filter.value = filter.value === wanted ? '' : wanted),
    boxes: (
      <RankAndTop
        ranks={ranks}
        value={rank}
        choice={choice}
        all="all ranks (sums)"
        top={top}
        title={`How many ${name} a ring shows by name; 0: all`}
      />
    ),
  };
}

interface GroupedTableProps {
  of: ReturnType<typeof useGrouped>;
  title: string;
  help?: string;
  options: { value: string; label: string }[];
  children: (result: Result) => ComponentChildren;
}

export function GroupedTable({ of, title, help, options, children }: GroupedTableProps) {
  return (
    <Panel
      title={title}
      help={help}
      actions={
        <Choices
          label="Grouping"
          value={of.group.value}
          onChange={(value) => (of.group.value = value)}
          options={options}
        />
      }>
      <View of={of.grouped} notes={false} height={640}>
        {children}
      </View>
    </Panel>
  );
}
