// SQL over the run: an editor with line numbers, the schema at its side, the history of what was asked.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { post, urlOf, type Result, type Table } from '../../api';
import {
  Button,
  DataTable,
  Empty,
  ErrorBox,
  Loading,
  Notes,
  Page,
  Panel,
  Tabs,
  useCommands,
  useKeyHelp,
} from '../../components';
import { formatDuration } from '../../format';
import { run, span, traces, urlSignal } from '../../state';
import { withEvents } from '../../wish';
import { forgetHistory, history, remember } from './history';
import { SchemaBrowser } from './schema';
import './sql.css';

const example = `SELECT name, count(*) AS calls, sum(dur) AS total_ns
FROM kernel
GROUP BY name
ORDER BY total_ns DESC
LIMIT 20`;

/** What a table still scrolls well. */
const rowLimit = 100000;

interface Answer {
  result: Result | null;
  error: string | null;
  took: number;
  busy: boolean;
}

export default function Sql() {
  const text = urlSignal('sql', example);
  const [draft, setDraft] = useState(text.value);
  const [side, setSide] = useState('schema');
  const [answer, setAnswer] = useState<Answer>({ result: null, error: null, took: 0, busy: false });
  const stop = useRef<AbortController | null>(null);
  const editor = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setDraft(text.value), [text.value]);

  const execute = async (sql: string) => {
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    text.value = sql;
    remember(sql);
    setAnswer((old) => ({ ...old, busy: true, error: null }));
    const start = performance.now();
    try {
      const result = await post<Result>('query', sql, { limit: rowLimit }, mine.signal);
      setAnswer({ result, error: null, took: performance.now() - start, busy: false });
    } catch (error) {
      if (mine.signal.aborted) setAnswer((old) => ({ ...old, busy: false }));
      else
        setAnswer({
          result: null,
          error: error instanceof Error ? error.message : String(error),
          took: 0,
          busy: false,
        });
    }
  };
  // The link restores the statement and its result; another run asks it again.
  useEffect(() => {
    void execute(text.peek());
    return () => stop.current?.abort();
  }, [run.value, span.value, traces.value]);

  const insert = (piece: string) => {
    if (/^select /i.test(piece)) return setDraft(piece);
    const box = editor.current;
    const [from, to] = box ? [box.selectionStart, box.selectionEnd] : [draft.length, draft.length];
    setDraft(draft.slice(0, from) + piece + draft.slice(to));
    box?.focus();
  };
  useCommands([
    {
      id: 'sql run',
      title: 'SQL: run the statement',
      keys: 'Ctrl+Enter',
      run: () => void execute(editor.current?.value ?? draft),
    },
  ]);
  useKeyHelp([{ group: 'SQL', keys: 'Ctrl+Enter', does: 'run the statement' }]);

  return (
    <Page
      title="SQL"
      rank={null}
      help="SQLite dialect, read-only, over the events of the run and every analysis, as in kino query.">
      <div class="sql-split">
        <Panel
          title="Statement"
          actions={
            <>
              {answer.busy && <Button onClick={() => stop.current?.abort()}>Stop</Button>}
              <Button kind="primary" title="Ctrl+Enter" onClick={() => void execute(draft)}>
                Run
              </Button>
            </>
          }>
          <Editor value={draft} onChange={setDraft} onRun={(sql) => void execute(sql)} box={editor} />
        </Panel>
        <Panel>
          <Tabs
            value={side}
            onChange={setSide}
            tabs={[
              { id: 'schema', title: 'Schema' },
              { id: 'history', title: 'History', count: history.value.length },
            ]}
          />
          {side === 'schema' ? <SchemaBrowser onPick={insert} /> : <History onPick={setDraft} />}
        </Panel>
      </div>
      <Outcome answer={answer} sql={text.value} />
    </Page>
  );
}

interface EditorProps {
  value: string;
  onChange: (text: string) => void;
  onRun: (text: string) => void;
  box: { current: HTMLTextAreaElement | null };
}

function Editor({ value, onChange, onRun, box }: EditorProps) {
  const gutter = useRef<HTMLPreElement>(null);
  const lines = value.split('\n').length;
  return (
    <div class="editor">
      <pre class="editor-lines" aria-hidden="true" ref={gutter}>
        {Array.from({ length: lines }, (_, i) => i + 1).join('\n')}
      </pre>
      <textarea
        ref={box}
        value={value}
        rows={11}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-label="SQL statement"
        wrap="off"
        onInput={(e) => onChange(e.currentTarget.value)}
        onScroll={(e) => gutter.current && (gutter.current.scrollTop = e.currentTarget.scrollTop)}
        onKeyDown={(e) => {
          if ((e.ctrlKey || e.metaKey) && e.key === 'Enter') {
            e.preventDefault();
            onRun(e.currentTarget.value);
          }
        }}
      />
    </div>
  );
}

function History({ onPick }: { onPick: (sql: string) => void }) {
  if (history.value.length === 0) return <Empty reason="No queries yet." />;
  return (
    <div class="schema">
      <ul class="history-list">
        {history.value.map((sql) => (
          <li key={sql}>
            <button type="button" data-tip={sql} onClick={() => onPick(sql)}>
              {sql}
            </button>
          </li>
        ))}
      </ul>
      <Button kind="quiet" onClick={forgetHistory}>
        Clear history
      </Button>
    </div>
  );
}

function Outcome({ answer, sql }: { answer: Answer; sql: string }) {
  const found: Table | undefined = answer.result?.tables[0];
  const table = useMemo(() => found && withEvents(found), [found]);
  if (answer.error !== null) return <ErrorBox message={answer.error} />;
  if (!table) return answer.busy ? <Loading height={200} /> : null;
  const notes = [
    ...(answer.result?.input.notes ?? []),
    ...(answer.result?.truncated ? ['There are more rows: add a LIMIT or a WHERE, or save all as CSV.'] : []),
    ...(traces.value !== null
      ? ['SQL sees all workers of the run, whichever are chosen: WHERE rank = 0.']
      : []),
  ];
  return (
    <Panel
      title="Result"
      actions={
        <span class="muted">{answer.busy ? 'running…' : `${formatDuration(answer.took * 1e6)}`}</span>
      }>
      <DataTable
        table={table}
        id="result"
        height={560}
        titles={Object.fromEntries(table.columns.map((c) => [c.name, c.name]))}
        exportUrl={() => urlOf('query.csv', { sql, limit: 1000000 })}
      />
      <Notes notes={notes} />
    </Panel>
  );
}
