// Small controls: native elements where they do, so that keyboard and screen readers work by themselves.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Choice {
  value: string;
  label: string;
  help?: string;
}
const asChoice = (choice: Choice | string): Choice =>
  typeof choice === 'string' ? { value: choice, label: choice } : choice;

interface ButtonProps {
  onClick?: () => void;
  children?: ComponentChildren;
  title?: string;
  kind?: 'plain' | 'primary' | 'quiet';
  disabled?: boolean;
  pressed?: boolean;
  label?: string;
}

export function Button({ onClick, children, title, kind = 'plain', disabled, pressed, label }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button button-${kind}`}
      onClick={onClick}
      data-tip={title}
      disabled={disabled}
      aria-pressed={pressed}
      aria-label={label}>
      {children}
    </button>
  );
}

interface SelectProps {
  /** the option of the program that it sets: notes lead here */
  option?: string;
  value: string;
  options: readonly (Choice | string)[];
  onChange: (value: string) => void;
  label: string;
  hideLabel?: boolean;
  title?: string;
  disabled?: boolean;
}

export function Select(props: SelectProps) {
  const { value, options, onChange, label, hideLabel, title, disabled, option } = props;
  return (
    <label class="field" data-tip={title} data-option={option}>
      <span class={hideLabel ? 'visually-hidden' : 'field-label'}>{label}</span>
      <select value={value} onChange={(e) => onChange(e.currentTarget.value)} disabled={disabled}>
        {options.map(asChoice).map((o) => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface CheckboxProps {
  /** the option of the program that it sets: notes lead here */
  option?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  label: string;
  title?: string;
}

export function Checkbox({ checked, onChange, label, title, option }: CheckboxProps) {
  return (
    <label class="check" data-tip={title} data-option={option}>
      <input type="checkbox" checked={checked} onChange={(e) => onChange(e.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

interface NumberBoxProps {
  /** the option of the program that it sets: notes lead here */
  option?: string;
  value: number | null;
  onChange: (value: number | null) => void;
  label: string;
  min?: number;
  max?: number;
  step?: number;
  title?: string;
  hideLabel?: boolean;
  placeholder?: string;
}

export function NumberBox(props: NumberBoxProps) {
  const { value, onChange, label, min, max, step, title, hideLabel, placeholder, option } = props;
  return (
    <label class="field" data-tip={title} data-option={option}>
      <span class={hideLabel ? 'visually-hidden' : 'field-label'}>{label}</span>
      <input
        type="number"
        class="number"
        value={value ?? ''}
        min={min}
        max={max}
        step={step ?? 'any'}
        placeholder={placeholder}
        onChange={(e) => {
          const text = e.currentTarget.value;
          const number = Number(text);
          onChange(text === '' || !Number.isFinite(number) ? null : number);
        }}
      />
    </label>
  );
}

interface TextBoxProps {
  /** the option of the program that it sets: notes lead here */
  option?: string;
  value: string;
  onChange: (value: string) => void;
  label: string;
  title?: string;
  hideLabel?: boolean;
  placeholder?: string;
}

export function TextBox(props: TextBoxProps) {
  const { value, onChange, label, title, hideLabel, placeholder, option } = props;
  return (
    <label class="field" data-tip={title} data-option={option}>
      <span class={hideLabel ? 'visually-hidden' : 'field-label'}>{label}</span>
      <input
        type="text"
        value={value}
        placeholder={placeholder}
        onChange={(e) => onChange(e.currentTarget.value)}
      />
    </label>
  );
}

interface SearchBoxProps {
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  label?: string;
  delay?: number;
}

/** Waits until typing pauses; Escape empties it. */
export function SearchBox({ value, onChange, placeholder = 'Filter…', label, delay = 150 }: SearchBoxProps) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  const change = (next: string, wait: number) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onChange(next), wait);
  };
  return (
    <input
      type="search"
      class="search"
      value={text}
      placeholder={placeholder}
      aria-label={label ?? placeholder}
      spellcheck={false}
      autocomplete="off"
      onInput={(e) => change(e.currentTarget.value, delay)}
      onKeyDown={(e) => {
        if (e.key === 'Escape' && text) {
          e.stopPropagation();
          change('', 0);
        } else if (e.key === 'Enter') change(e.currentTarget.value, 0);
      }}
    />
  );
}

interface TabsProps {
  tabs: readonly { id: string; title: string; help?: string; count?: number }[];
  value: string;
  onChange: (id: string) => void;
  label?: string;
}

export function Tabs({ tabs, value, onChange, label = 'Views' }: TabsProps) {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const at = tabs.findIndex((t) => t.id === value);
    const next = tabs[(at + by + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next.id);
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('[aria-selected=true]')?.focus());
  };
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label={label}
      ref={list}
      onKeyDown={(e) => {
        if (e.key === 'ArrowRight') move(1);
        else if (e.key === 'ArrowLeft') move(-1);
      }}>
      {tabs.map((t) => (
        <button
          key={t.id}
          type="button"
          role="tab"
          class="tab"
          aria-selected={t.id === value}
          tabIndex={t.id === value ? 0 : -1}
          data-tip={t.help}
          onClick={() => onChange(t.id)}>
          {t.title}
          {t.count !== undefined && <span class="tab-count">{t.count}</span>}
        </button>
      ))}
    </div>
  );
}

/** Two or a few choices side by side, for switches like "by name | by shape". */
export function Choices({
  options,
  value,
  onChange,
  label,
}: {
  options: readonly (Choice | string)[];
  value: string;
  onChange: (value: string) => void;
  label: string;
}) {
  return (
    <div class="choices" role="radiogroup" aria-label={label}>
      {options.map(asChoice).map((o) => (
        <button
          key={o.value}
          type="button"
          role="radio"
          aria-checked={o.value === value}
          data-tip={o.help}
          onClick={() => onChange(o.value)}>
          {o.label}
        </button>
      ))}
    </div>
  );
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children?: ComponentChildren;
  wide?: boolean;
}

/** The browser's own modal dialog: focus stays inside, Escape closes, the rest is inert. */
export function Dialog({ title, onClose, children, wide }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement as HTMLElement | null;
    dialog?.showModal();
    return () => {
      dialog?.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onClick={(e) => e.target === ref.current && onClose()}>
      <div class="dialog-inner">
        <header class="dialog-head">
          <h2>{title}</h2>
          <div class="spacer" />
          <Button kind="quiet" label="Close" onClick={onClose}>
            ✕
          </Button>
        </header>
        <div class="dialog-body">{children}</div>
      </div>
    </dialog>
  );
}
