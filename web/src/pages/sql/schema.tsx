// The tables SQL knows, with their columns; a click puts a name into the statement.
import { useState } from 'preact/hooks';
import type { Result } from '../../api';
import { SearchBox, useRoute, View } from '../../components';

export interface SchemaTable {
  name: string;
  columns: { name: string; type: string }[];
  kind: 'table' | 'view';
}

/** Columns of a CREATE statement; commas inside brackets and quotes do not part them. */
export function parseCreate(name: string, sql: string): SchemaTable {
  const kind = /^\s*create\s+(temp\w*\s+)?view/i.test(sql) ? 'view' : 'table';
  const open = sql.indexOf('(');
  const columns: SchemaTable['columns'] = [];
  if (open < 0) return { name, columns, kind };
  let depth = 0;
  let quote = '';
  let part = '';
  const end = () => {
    const match = /^\s*(?:"([^"]*)"|(\S+))\s*([\s\S]*)$/.exec(part);
    if (match) columns.push({ name: match[1] ?? match[2]!, type: match[3]!.trim().replace(/\s+/g, ' ') });
    part = '';
  };
  for (const letter of sql.slice(open + 1)) {
    if (quote) quote = letter === quote ? '' : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === '(') depth++;
    else if (letter === ')' && depth-- === 0) break;
    else if (letter === ',' && depth === 0) {
      end();
      continue;
    }
    part += letter;
  }
  end();
  return { name, columns, kind };
}

function schemaOf(result: Result): SchemaTable[] {
  const table = result.tables[0];
  if (!table) return [];
  const at = (name: string) => table.columns.findIndex((c) => c.name === name);
  const [nameAt, sqlAt] = [at('name'), at('sql')];
  return table.rows.map((row) => parseCreate(String(row[nameAt] ?? ''), String(row[sqlAt] ?? '')));
}

export function SchemaBrowser({ onPick }: { onPick: (text: string) => void }) {
  const loaded = useRoute<Result>('schema');
  const [text, setText] = useState('');
  const wanted = text.toLowerCase();
  return (
    <div class="schema">
      <SearchBox value={text} onChange={setText} placeholder="Find a table or column" />
      <View of={loaded} height={120} notes={false}>
        {(result) => (
          <div class="schema-list">
            {schemaOf(result)
              .filter(
                (t) =>
                  t.name.toLowerCase().includes(wanted) ||
                  t.columns.some((c) => c.name.toLowerCase().includes(wanted)),
              )
              .map((t) => (
                <details
                  key={t.name}
                  open={wanted !== '' && t.columns.some((c) => c.name.toLowerCase().includes(wanted))}>
                  <summary>
                    <span>{t.name}</span>
                  </summary>
                  <ul>
                    <li>
                      <button type="button" onClick={() => onPick(`SELECT * FROM ${t.name} LIMIT 100`)}>
                        select all
                      </button>
                    </li>
                    {t.columns.map((c) => (
                      <li key={c.name}>
                        <button type="button" onClick={() => onPick(c.name)}>
                          {c.name}
                        </button>{' '}
                        <span class="muted">{c.type.toLowerCase()}</span>
                      </li>
                    ))}
                  </ul>
                </details>
              ))}
          </div>
        )}
      </View>
    </div>
  );
}
