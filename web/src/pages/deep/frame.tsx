// The frame of a deep analysis: its definition as help, its parameters, chart above, tables below.
import type { Signal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { tableOf, urlOf, type CellValue, type Column, type Result, type Table } from '../../api';
import {
  DataTable,
  Empty,
  Notes,
  NumberBox,
  Page,
  Panel,
  useResult,
  View,
  type Sort,
} from '../../components';
import { analyses, hashOf } from '../../state';
import { missing } from '../common/tables';

interface DeepProps {
  name: string;
  title: string;
  params?: Record<string, string>;
  controls?: ComponentChildren;
  children: (result: Result) => ComponentChildren;
}

export function Deep({ name, title, params, controls, children }: DeepProps) {
  const loaded = useResult(name, params);
  const info = analyses.value.find((a) => a.name === name);
  return (
    <Page
      title={title}
      help={info?.description || info?.help}
      actions={
        <div class="toolbar">
          {controls}
          <a
            class="button button-quiet"
            href={hashOf(`analyses/${name}`)}
            data-tip="All tables and parameters of this analysis">
            All parameters
          </a>
        </div>
      }>
      <View of={loaded} height={420} notes={false}>
        {(result) => {
          const isEmpty = result.tables.every((t) => t.rows.length === 0);
          const said = missing(result.input.notes, result.analysis, '');
          return (
            <>
              {children(result)}
              <Notes notes={isEmpty ? result.input.notes.filter((n) => n !== said) : result.input.notes} />
            </>
          );
        }}
      </View>
    </Page>
  );
}

interface NumberParamProps {
  label: string;
  value: Signal<string>;
  min: number;
  /** what an empty box means */
  otherwise: number;
  title?: string;
}

/** The box of a parameter that is a number. */
export function NumberParam({ value, otherwise, ...box }: NumberParamProps) {
  return (
    <NumberBox
      {...box}
      value={Number(value.value)}
      onChange={(v) => (value.value = String(v ?? otherwise))}
    />
  );
}

/** Why there is nothing: the analysis' own words where it has some. */
export function Nothing({ result, otherwise }: { result: Result; otherwise: string }) {
  return <Empty reason={missing(result.input.notes, result.analysis, otherwise)} />;
}

interface TablePanelProps {
  result: Result;
  table: string | Table;
  title: string;
  help?: string;
  columns?: readonly string[];
  titles?: Record<string, string>;
  sort?: Sort;
  group?: readonly string[];
  height?: number;
  expand?: (row: CellValue[]) => VNode;
  cell?: (row: CellValue[], column: Column) => VNode | string | undefined;
}

export function TablePanel(props: TablePanelProps) {
  const { result, title, help } = props;
  const table = typeof props.table === 'string' ? tableOf(result, props.table) : props.table;
  if (table.rows.length === 0) return null;
  return (
    <Panel title={title} help={help}>
      <DataTable
        table={table}
        id={table.name}
        columns={props.columns}
        titles={props.titles}
        sort={props.sort}
        group={props.group}
        height={props.height}
        expand={props.expand}
        cell={props.cell}
        exportUrl={() => urlOf(`analyses/${result.analysis}.csv`, { ...paramsOf(result), table: table.name })}
      />
    </Panel>
  );
}

/** The parameters of a result as the server takes them. */
function paramsOf(result: Result): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [key, value] of Object.entries(result.params))
    if (value !== null) params[key] = typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
  return params;
}
