// The parameters of an analysis as a form made from its definition; values live in the URL as p.NAME.
import type { AnalysisInfo, ParamInfo } from '../../api';
import { Button, Checkbox, Select, TextBox } from '../../components';
import { titleOf } from '../../format';
import { urlSignal } from '../../state';

const keyOf = (name: string) => `p.${name}`;
const isYes = (text: string | null) => text === 'yes' || text === 'true' || text === '1';

/** Its own parameters, and those many analyses take. */
function fieldsOf(info: AnalysisInfo): ParamInfo[] {
  const own = info.params.filter((p) => p.name !== 'compat' && p.name !== 'steps');
  if (info.steps)
    own.push({ name: 'steps', type: 'string', default: null, help: 'only these steps, as 2-5' });
  if (info.compat.length > 0)
    own.push({
      name: 'compat',
      type: 'string',
      default: null,
      choices: info.compat,
      help: 'numbers as a reference implementation gives them, defects included',
    });
  return own;
}

export function paramValues(info: AnalysisInfo): Record<string, string> {
  const values: Record<string, string> = {};
  for (const p of fieldsOf(info)) {
    const value = urlSignal(keyOf(p.name), '').value;
    if (value !== '') values[p.name] = value;
  }
  return values;
}

function Field({ of }: { of: ParamInfo }) {
  const value = urlSignal(keyOf(of.name), '');
  const set = (text: string) => (value.value = text === (of.default ?? '') ? '' : text);
  const label = titleOf(of.name);
  const choices = of.choices?.length ? of.choices : null;
  if (of.type === 'bool') {
    const on = value.value === '' ? isYes(of.default) : isYes(value.value);
    return (
      <Checkbox
        label={label}
        option={of.name}
        title={of.help}
        checked={on}
        onChange={(next) => (value.value = next === isYes(of.default) ? '' : next ? 'yes' : 'no')}
      />
    );
  }
  if (choices) {
    const none = of.default === null ? [{ value: '', label: of.name === 'compat' ? 'none' : 'all' }] : [];
    return (
      <Select
        label={label}
        option={of.name}
        title={of.help}
        value={value.value || (of.default ?? '')}
        onChange={set}
        options={[...none, ...choices]}
      />
    );
  }
  return (
    <TextBox
      label={label}
      option={of.name}
      title={of.help}
      value={value.value || (of.default ?? '')}
      placeholder={of.default ?? ''}
      onChange={(v) => set(v.trim())}
    />
  );
}

export function ParamForm({ info }: { info: AnalysisInfo }) {
  const fields = fieldsOf(info);
  if (fields.length === 0) return null;
  const changed = Object.keys(paramValues(info)).length > 0;
  return (
    <div class="toolbar param-form">
      {fields.map((p) => (
        <Field key={p.name} of={p} />
      ))}
      {changed && (
        <Button kind="quiet" onClick={() => fields.forEach((p) => (urlSignal(keyOf(p.name), '').value = ''))}>
          Defaults
        </Button>
      )}
    </div>
  );
}
