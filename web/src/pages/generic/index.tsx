// Any analysis, from its definition alone: parameters as a form, all its tables, a chart where it is obvious.
import { urlOf, type AnalysisInfo, type Result, type Table } from '../../api';
import {
  Bars,
  DataTable,
  Empty,
  Loading,
  Page,
  Panel,
  Series,
  Tabs,
  useResult,
  View,
} from '../../components';
import { titleOf } from '../../format';
import { analyses, goTo, hashOf, urlSignal, view } from '../../state';
import { autoChart } from './chart';
import { ParamForm, paramValues } from './form';

export default function Generic() {
  const name = view.value.replace(/^analyses\/?/, '');
  const info = analyses.value.find((a) => a.name === name);
  if (analyses.value.length === 0) return <Loading run={null} height={300} />;
  if (!name) return <List />;
  return info ? <One key={name} info={info} /> : <Empty reason={`There is no analysis '${name}'.`} />;
}

/** All analyses; a row leads to it. */
function List() {
  const table: Table = {
    name: 'analyses',
    title: 'All analyses',
    columns: [
      { name: 'name', type: 'string' },
      { name: 'help', type: 'string', help: 'what it answers' },
      { name: 'tables', type: 'string' },
    ],
    rows: analyses.value.map((a) => [a.name, a.help, a.tables.map((t) => t.name).join(', ')]),
  };
  return (
    <Page
      title="All analyses"
      rank={null}
      help="Every analysis with its tables and parameters; the same as kino analyze.">
      <Panel>
        <DataTable
          table={table}
          id="analyses"
          titles={{ help: 'What it answers' }}
          height={720}
          cell={(row, c) =>
            c.name === 'name' ? <a href={hashOf(`analyses/${row[0]}`)}>{row[0]}</a> : undefined
          }
          onRow={(row) => goTo(`analyses/${String(row[0])}`)}
        />
      </Panel>
    </Page>
  );
}

function One({ info }: { info: AnalysisInfo }) {
  const params = paramValues(info);
  const loaded = useResult(info.name, params);
  return (
    <Page
      title={titleOf(info.name.replaceAll('-', '_'))}
      help={info.description || info.help}
      actions={
        <>
          <a
            class="button button-quiet"
            href={urlOf(`analyses/${info.name}`, params)}
            download={`${info.name}.json`}>
            JSON
          </a>
          <a
            class="button button-quiet"
            href={urlOf(`analyses/${info.name}.md`, params)}
            download={`${info.name}.md`}>
            Markdown
          </a>
        </>
      }>
      <p class="muted">{info.help}</p>
      <ParamForm info={info} />
      <View of={loaded} height={360}>
        {(result) => <Tables result={result} info={info} params={params} />}
      </View>
    </Page>
  );
}

function Tables({
  result,
  info,
  params,
}: {
  result: Result;
  info: AnalysisInfo;
  params: Record<string, string>;
}) {
  const filled = result.tables.find((t) => t.rows.length > 0) ?? result.tables[0];
  const chosen = urlSignal('table', '');
  const table = result.tables.find((t) => t.name === chosen.value) ?? filled;
  if (!table) return <Empty reason="This analysis has no tables." />;
  const about = info.tables.find((t) => t.name === table.name);
  return (
    <>
      {result.tables.length > 1 && (
        <Tabs
          label="Tables"
          value={table.name}
          onChange={(id) => (chosen.value = id)}
          tabs={result.tables.map((t) => ({
            id: t.name,
            title: nameOf(info, t),
            count: t.rows.length,
            help: info.tables.find((i) => i.name === t.name)?.help,
          }))}
        />
      )}
      <Chart table={table} title={nameOf(info, table)} />
      <Panel title={nameOf(info, table)} help={about?.help}>
        {table.rows.length === 0 ? (
          <Empty reason={`No rows. ${about?.help ? `This table has ${about.help}.` : ''}`} />
        ) : (
          <DataTable
            key={table.name}
            table={table}
            id={table.name}
            height={620}
            group={table.columns
              .filter(
                (c) => c.type === 'string' || c.name === 'rank' || c.name === 'stream' || c.name === 'step',
              )
              .map((c) => c.name)}
            exportUrl={() => urlOf(`analyses/${info.name}.csv`, { ...params, table: table.name })}
          />
        )}
      </Panel>
    </>
  );
}

const nameOf = (info: AnalysisInfo, table: Table): string =>
  table.title ?? info.tables.find((t) => t.name === table.name)?.title ?? titleOf(table.name);

function Chart({ table, title }: { table: Table; title: string }) {
  const chart = autoChart(table);
  if (!chart) return null;
  return (
    <Panel title={`${title}, drawn`}>
      {chart.kind === 'series' ? (
        <Series
          x={chart.x}
          xUnit="ns"
          unit={chart.unit}
          lines={chart.lines.map((l) => ({ ...l, stepped: true }))}
        />
      ) : (
        <Bars
          categories={chart.categories}
          series={chart.series.map(titleOf)}
          values={chart.values}
          unit={chart.unit}
          horizontal
          stacked={false}
          height={chart.categories.length * Math.max(22, 9 * chart.series.length + 6) + 30}
        />
      )}
    </Panel>
  );
}
