// A switch for panels that show the same numbers as a picture or exactly.
import type { Signal } from '@preact/signals';
import { Choices } from '../../components';

export function ChartOrTable({ choice }: { choice: Signal<string> }) {
  return (
    <Choices
      label="Shown as"
      value={choice.value === 'table' ? 'table' : 'chart'}
      onChange={(value) => (choice.value = value)}
      options={[
        { value: 'chart', label: 'Chart' },
        { value: 'table', label: 'Table' },
      ]}
    />
  );
}
