// Modules: the time of the model's modules as a tree; for PyTorch Lightning also the actions of the trainer.
import { useMemo } from 'preact/hooks';
import { tableOf, type Result } from '../../api';
import { Empty, Notes, Page, Panel, Tabs, Tree, useResult, View } from '../../components';
import { urlSignal } from '../../state';
import { EventLink } from '../common/links';
import { RankSelect } from '../common/ranks';
import { ALL, asNumber, asText, chosenRank, missing, ofRank, place, ranksOf } from '../common/tables';
import { ModuleTree } from './module-tree';
import './modules.css';

const PAGE_HELP =
  'A row is a place in the module tree: a path of modules from the top, with the calls made there. Host time is the time of the calls, device time that of the work launched below them; neither includes the backward pass.';

function Actions({ result, rank }: { result: Result; rank: string }) {
  const table = useMemo(() => ofRank(tableOf(result, 'lightning_actions'), rank), [result, rank]);
  const at = (name: string) => place(table, name);
  return (
    <Panel
      title="Trainer actions"
      help="Actions marked by Lightning's profiler, nested by time on their thread.">
      <Tree
        table={table}
        id="actions"
        columns={['tid', 'start', 'duration']}
        titles={{ name: 'Action', tid: 'Thread' }}
        height={640}
        depth={2}
        cell={(row, column) => {
          const event = asNumber(row[at('event_id')]);
          return column.name === 'name' && event !== null ? (
            <EventLink id={event} text={asText(row[at('name')])} />
          ) : undefined;
        }}
      />
    </Panel>
  );
}

interface ContentProps {
  modules: Result;
  lightning: Result;
  rank: string;
}

function Content({ modules, lightning, rank }: ContentProps) {
  const tab = urlSignal('tab', '');
  const tables = [
    { id: 'modules', title: 'Modules', table: tableOf(modules, 'modules') },
    { id: 'lightning', title: 'Lightning modules', table: tableOf(lightning, 'lightning') },
    { id: 'actions', title: 'Trainer actions', table: tableOf(lightning, 'lightning_actions') },
  ].filter((one) => one.table.rows.length > 0);
  const chosen = tables.find((one) => one.id === tab.value) ?? tables[0];
  if (!chosen)
    return (
      <Empty
        reason={missing(
          modules.input.notes,
          'modules',
          'modules not available: no module calls were recorded (profile with with_stack=True)',
        )}
      />
    );
  return (
    <>
      {tables.length > 1 && (
        <Tabs tabs={tables} value={chosen.id} onChange={(id) => (tab.value = id)} label="Trees" />
      )}
      {chosen.id === 'actions' ? (
        <Actions result={lightning} rank={rank} />
      ) : (
        <ModuleTree key={chosen.id} id={chosen.id} table={chosen.table} rank={rank} />
      )}
    </>
  );
}

export default function Modules() {
  const choice = urlSignal('rank', '');
  const modules = useResult('modules');
  const lightning = useResult('lightning');
  const ranks = [modules, lightning]
    .flatMap(({ result }) => result?.tables ?? [])
    .flatMap((table) => ranksOf(table))
    .filter((rank, at, all) => all.indexOf(rank) === at);
  const rank = chosenRank(choice.value === ALL ? '' : choice.value, ranks, ranks[0] ?? ALL);
  const isLightning = lightning.result?.tables.some((table) => table.rows.length > 0) ?? false;
  return (
    <Page
      title="Modules"
      rank={rank}
      help={PAGE_HELP}
      actions={<RankSelect ranks={ranks} value={rank} choice={choice} />}>
      <View of={modules} height={700} notes={false}>
        {(own) => (
          <View of={lightning} height={700} notes={false}>
            {(pl) => (
              <>
                <Notes
                  notes={(isLightning ? pl : own).input.notes.filter(
                    (note) => ranks.length > 0 || !note.includes('not available'),
                  )}
                />
                <Content modules={own} lightning={pl} rank={rank} />
              </>
            )}
          </View>
        )}
      </View>
    </Page>
  );
}
