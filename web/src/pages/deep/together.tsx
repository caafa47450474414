// What ranks do together: collectives, and who keeps the others waiting.
import { column, columnIndex, tableOf, type Result } from '../../api';
import { Bars, HeatMap, Panel } from '../../components';
import { urlSignal } from '../../state';
import { go } from '../../wish';
import { RankBars } from '../common/rank-bars';
import { rankKey, rankLabel } from '../common/tables';
import { Deep, Nothing, NumberParam, TablePanel } from './frame';
import { wide } from './shared';

export function Collectives() {
  return (
    <Deep name="collectives" title="Collectives">
      {(result) => {
        const table = tableOf(result, 'collectives');
        if (table.rows.length === 0)
          return <Nothing result={result} otherwise="No collectives in this run." />;
        const ranks = tableOf(result, 'ranks');
        return (
          <>
            <div class="columns-2">
              <Panel
                title="Waiting and transfer, by operation"
                help="Sum over ranks: until the last rank arrived, and after">
                <Bars
                  {...wide(table, ['operation', 'process_group'], ['wait', 'transfer'])}
                  unit="ns"
                  horizontal
                  colors={['var(--cat-2)', 'var(--cat-9)']}
                />
              </Panel>
              <Panel title="By rank" help="The rank that waits least is the one the others wait for">
                <RankBars
                  {...wide(ranks, ['rank', 'operation'], ['wait', 'transfer'])}
                  unit="ns"
                  colors={['var(--cat-2)', 'var(--cat-9)']}
                />
              </Panel>
            </div>
            <TablePanel
              result={result}
              table="collectives"
              title="Operations"
              titles={{ kernels: 'Calls, all ranks' }}
              sort={{ column: 'duration', descending: true }}
              group={['operation', 'process_group']}
            />
            <TablePanel
              result={result}
              table="sizes"
              title="By size"
              titles={{ kernels: 'Calls, all ranks' }}
              sort={{ column: 'size', descending: true }}
              group={['operation']}
            />
            <TablePanel
              result={result}
              table="ranks"
              title="By rank"
              titles={{ kernels: 'Calls' }}
              group={['rank', 'operation']}
            />
          </>
        );
      }}
    </Deep>
  );
}

/** Rank by iteration: when the chosen collective began, against the others. */
function StartMap({ result }: { result: Result }) {
  const table = tableOf(result, 'metric');
  const rankAt = columnIndex(table, 'rank');
  const turnAt = columnIndex(table, 'iteration');
  const startAt = columnIndex(table, 'normalized_start_time');
  const eventAt = columnIndex(table, 'event');
  if (table.rows.length === 0) return null;
  const ranks = [...new Set(table.rows.map((r) => r[rankAt] ?? null))];
  const turns = [...new Set(table.rows.map((r) => r[turnAt] ?? null))];
  const find = (rank: unknown, turn: unknown) =>
    table.rows.find((r) => r[rankAt] === rank && r[turnAt] === turn);
  const first = turns.map((turn) =>
    Math.min(...ranks.map((rank) => Number(find(rank, turn)?.[startAt] ?? Infinity))),
  );
  return (
    <Panel
      title="How much later than the first rank"
      help="Start relative to the earliest rank in the iteration, normalized. Click a cell to show its event.">
      <HeatMap
        rows={ranks.map((rank) => rankLabel(rankKey(rank)))}
        columns={turns.map(String)}
        columnTitle="iteration"
        values={ranks.map((rank) =>
          turns.map((turn, i) => {
            const start = find(rank, turn)?.[startAt];
            return typeof start === 'number' ? start - first[i]! : null;
          }),
        )}
        onSelect={(r, c) => {
          const event = find(ranks[r], turns[c])?.[eventAt];
          if (typeof event === 'number') go({ id: event });
        }}
      />
    </Panel>
  );
}

export function Stragglers() {
  const count = urlSignal('count', '2');
  return (
    <Deep
      name="stragglers"
      title="Stragglers"
      params={{ count: count.value }}
      controls={<NumberParam label="Ranks" value={count} min={1} otherwise={2} />}>
      {(result) => {
        const table = tableOf(result, 'stragglers');
        if (table.rows.length === 0)
          return <Nothing result={result} otherwise="No rank delays the others." />;
        const names = column<number | null>(table, 'rank').map((r) => rankLabel(rankKey(r)));
        return (
          <>
            <div class="columns-2">
              <Panel title="Steps in which the rank was slow">
                <Bars
                  categories={names}
                  series={['steps']}
                  values={[column<number | null>(table, 'score')]}
                  unit="count"
                  horizontal
                  height={140}
                />
              </Panel>
              <StartMap result={result} />
            </div>
            <TablePanel result={result} table="stragglers" title="Ranks" />
            <TablePanel
              result={result}
              table="metric"
              title="Collectives compared"
              group={['rank', 'iteration']}
              columns={[
                'rank',
                'stream',
                'iteration',
                'name',
                'ts',
                'dur',
                'normalized_start_time',
                'is_late',
              ]}
            />
          </>
        );
      }}
    </Deep>
  );
}
