// Modules as bars below their parents, each as wide as its part of the root; a click looks closer.
import { shorten } from '../../format';
import { barsOf, type Bar, type Node } from './tree';

const ROW = 22;
const THINNEST = 0.001;
const COLORS = [1, 4, 13, 7, 12, 2, 5, 3, 6, 8, 9, 10, 14];

/** Modules of one class have one colour: Linear_3 and Linear_12. */
function colorOf(name: string): string {
  let hash = 0;
  for (const letter of name.replace(/[_.]?\d+$/, '')) hash = (hash * 31 + letter.codePointAt(0)!) >>> 0;
  return `var(--cat-${COLORS[hash % COLORS.length]})`;
}

interface IcicleProps {
  root: Node;
  amountOf: (node: Node) => number;
  /** what the tooltip says of a bar */
  tipOf: (node: Node) => string;
  onSelect: (node: Node) => void;
  selected: number | null;
}

function BarBox({
  bar,
  tip,
  label,
  selected,
  onSelect,
}: {
  bar: Bar;
  tip: string;
  label: string;
  selected: boolean;
  onSelect: () => void;
}) {
  return (
    <button
      type="button"
      class={selected ? 'icicle-bar icicle-selected' : 'icicle-bar'}
      style={{
        left: `${100 * bar.left}%`,
        width: `${100 * bar.width}%`,
        top: `${bar.level * ROW}px`,
        background: colorOf(bar.node.name),
      }}
      data-tip={tip}
      aria-label={tip.replaceAll('\n', ', ')}
      onClick={onSelect}>
      {label}
    </button>
  );
}

export function Icicle({ root, amountOf, tipOf, onSelect, selected }: IcicleProps) {
  const bars = barsOf(root, amountOf).filter((bar) => bar.width >= THINNEST);
  const depth = bars.reduce((most, bar) => Math.max(most, bar.level), 0);
  return (
    <div
      class="icicle"
      style={{ height: `${(depth + 1) * ROW}px` }}
      role="group"
      aria-label={`Modules of ${root.name}`}>
      {bars.map((bar) => (
        <BarBox
          key={bar.node.id}
          bar={bar}
          tip={tipOf(bar.node)}
          label={bar.width > 0.02 ? shorten(bar.node.name, 60) : ''}
          selected={bar.node.id === selected}
          onSelect={() => onSelect(bar.node)}
        />
      ))}
    </div>
  );
}
