// The button *Columns* of a table: which of them show. The one that sorts always does.
import { useEffect, useRef, useState } from 'preact/hooks';
import { columnChoice, hideColumn, resetColumns } from './use-columns';

interface ColumnMenuProps {
  id: string;
  columns: readonly { name: string; title: string }[];
  sorted: string | null;
}

export function ColumnMenu({ id, columns, sorted }: ColumnMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const choice = columnChoice(id).value;
  useEffect(() => {
    if (!isOpen) return;
    const close = (e: Event) => !box.current?.contains(e.target as Node) && setOpen(false);
    addEventListener('pointerdown', close);
    addEventListener('focusin', close);
    return () => {
      removeEventListener('pointerdown', close);
      removeEventListener('focusin', close);
    };
  }, [isOpen]);
  const isChanged = choice.hidden.length > 0 || Object.keys(choice.widths).length > 0;
  return (
    <div
      class="menu"
      ref={box}
      onKeyDown={(e) => {
        if (e.key !== 'Escape' || !isOpen) return;
        setOpen(false);
        box.current?.querySelector('button')?.focus();
        e.stopPropagation();
      }}>
      <button
        type="button"
        class="button button-quiet"
        aria-expanded={isOpen}
        data-tip="Choose columns; drag the borders of the headers for their widths"
        onClick={() => setOpen(!isOpen)}>
        Columns
      </button>
      {isOpen && (
        <div class="menu-list" role="group" aria-label="Columns">
          {columns.map(({ name, title }) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                checked={name === sorted || !choice.hidden.includes(name)}
                disabled={name === sorted}
                onChange={(e) => hideColumn(id, name, !e.currentTarget.checked)}
              />
              <span>{title}</span>
            </label>
          ))}
          <button type="button" class="button" disabled={!isChanged} onClick={() => resetColumns(id)}>
            All, with their own widths
          </button>
        </div>
      )}
    </div>
  );
}
