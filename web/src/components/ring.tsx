// A ring: shares of a whole, with a legend that carries the numbers.
import { formatPercent, formatUnit } from '../format';
import { labelsOf } from './labels';
import { seriesColor } from './scale';
import { Empty } from './basic';

export interface RingItem {
  name: string;
  value: number;
  color?: string;
}
interface RingProps {
  items: readonly RingItem[];
  unit?: string;
  top?: number;
  title?: string;
  onSelect?: (name: string) => void;
  size?: number;
}

/** The largest `top` items, the rest as one. */
export function ringParts(items: readonly RingItem[], top: number): (RingItem & { rest?: number })[] {
  const sorted = items.filter((i) => i.value > 0).sort((a, b) => b.value - a.value);
  if (top <= 0 || sorted.length <= top + 1) return sorted;
  const rest = sorted.slice(top);
  const sum = rest.reduce((s, i) => s + i.value, 0);
  return [
    ...sorted.slice(0, top),
    { name: `${rest.length} others`, value: sum, rest: rest.length, color: 'var(--rest)' },
  ];
}

function arc(from: number, to: number, outer: number, inner: number): string {
  const end = Math.min(to, from + 0.99999);
  const point = (share: number, radius: number) => {
    const angle = (share - 0.25) * 2 * Math.PI;
    return `${(radius * Math.cos(angle)).toFixed(3)} ${(radius * Math.sin(angle)).toFixed(3)}`;
  };
  const large = end - from > 0.5 ? 1 : 0;
  return (
    `M${point(from, outer)}A${outer} ${outer} 0 ${large} 1 ${point(end, outer)}` +
    `L${point(end, inner)}A${inner} ${inner} 0 ${large} 0 ${point(from, inner)}Z`
  );
}

export function Ring({ items, unit, top = 10, title, onSelect, size = 132 }: RingProps) {
  const parts = ringParts(items, top);
  const labels = labelsOf(
    parts.map((p) => p.name),
    44,
  );
  const total = parts.reduce((s, p) => s + p.value, 0);
  if (!(total > 0))
    return (
      <figure class="ring">
        {title && <figcaption>{title}</figcaption>}
        <Empty reason="Nothing to show." />
      </figure>
    );
  let at = 0;
  const slices = parts.map((p, i) => {
    const from = at;
    at += p.value / total;
    const text = `${p.name}\n${formatUnit(p.value, unit)} · ${formatPercent((100 * p.value) / total)}`;
    return { ...p, from, to: at, text, color: p.color ?? seriesColor(i) };
  });
  const select = (p: (typeof slices)[number]) => !p.rest && onSelect?.(p.name);
  return (
    <figure class="ring">
      {title && <figcaption>{title}</figcaption>}
      <svg viewBox="-50 -50 100 100" width={size} height={size} role="img" aria-label={title ?? 'shares'}>
        {slices.map((p) => (
          <path
            key={p.name}
            d={arc(p.from, p.to, 49, 31)}
            fill={p.color}
            data-tip={p.text}
            onClick={() => select(p)}
            class={onSelect && !p.rest ? 'clickable' : undefined}
          />
        ))}
        <text y="-1" class="ring-total">
          {formatUnit(total, unit)}
        </text>
        <text y="9" class="ring-caption">
          total
        </text>
      </svg>
      <ul class="legend">
        {slices.map((p, i) => (
          <li key={p.name} data-tip={p.text}>
            {onSelect && !p.rest ? (
              <button type="button" onClick={() => select(p)}>
                <i style={{ background: p.color }} />
                <span>{labels[i]}</span>
              </button>
            ) : (
              <span class="legend-name">
                <i style={{ background: p.color }} />
                <span>{labels[i]}</span>
              </span>
            )}
            <b>{formatPercent((100 * p.value) / total)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}
