// Bars, stacked or side by side, upright or lying; SVG to the width of the panel.
import { useRef } from 'preact/hooks';
import { formatPercent, formatUnit, shorten } from '../format';
import { Empty } from './basic';
import { labelStride, seriesColor, ticksOf } from './scale';
import { textWidth, useSize } from './use-size';

export interface BarsProps {
  categories: readonly string[];
  series: readonly string[];
  /** values[series][category]; null: missing, nothing is drawn. */
  values: readonly (readonly (number | null)[])[];
  unit?: string;
  title?: string;
  height?: number;
  /** One bar below the other, names at the left: for few categories with long names. */
  horizontal?: boolean;
  stacked?: boolean;
  /** Each bar fills the width: shares. */
  percent?: boolean;
  colors?: readonly string[];
  onSelect?: (category: number, series: number) => void;
  legend?: boolean;
}

interface Box {
  category: number;
  series: number;
  low: number;
  high: number;
  value: number;
  slot: number;
}

/** Where each part begins and ends on the value axis; parts below zero stack downwards. */
export function barBoxes(props: Pick<BarsProps, 'values' | 'stacked' | 'percent' | 'categories'>): Box[] {
  const boxes: Box[] = [];
  props.categories.forEach((_, category) => {
    const total = props.values.reduce((s, v) => s + Math.max(0, v[category] ?? 0), 0);
    let up = 0;
    let down = 0;
    props.values.forEach((list, series) => {
      const value = list[category];
      if (value === null || value === undefined || !Number.isFinite(value)) return;
      const size = props.percent ? (total > 0 ? (100 * value) / total : 0) : value;
      if (props.stacked === false) {
        boxes.push({
          category,
          series,
          low: Math.min(0, size),
          high: Math.max(0, size),
          value,
          slot: series,
        });
      } else if (size >= 0) {
        boxes.push({ category, series, low: up, high: up + size, value, slot: 0 });
        up += size;
      } else {
        boxes.push({ category, series, low: down + size, high: down, value, slot: 0 });
        down += size;
      }
    });
  });
  return boxes;
}

export function Legend({ names, colors }: { names: readonly string[]; colors: readonly string[] }) {
  return (
    <ul class="legend legend-flat">
      {names.map((name, i) => (
        <li key={name}>
          <span class="legend-name">
            <i style={{ background: colors[i] }} />
            <span>{name}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Bars(props: BarsProps) {
  const { categories, series, title, horizontal, legend = series.length > 1 } = props;
  const holder = useRef<HTMLDivElement>(null);
  const { width } = useSize(holder);
  const colors = series.map((_, i) => props.colors?.[i] ?? seriesColor(i));
  const boxes = barBoxes(props);
  const height = props.height ?? (horizontal ? categories.length * 26 + 30 : 240);
  return (
    <figure class="chart">
      {title && <figcaption>{title}</figcaption>}
      {legend && <Legend names={series} colors={colors} />}
      <div class="chart-holder" ref={holder} style={{ height: `${height}px` }}>
        {boxes.length === 0 ? (
          <Empty reason="Nothing to show." />
        ) : (
          width > 0 &&
          (horizontal ? (
            <Lying {...props} {...{ boxes, colors, width, height }} />
          ) : (
            <Upright {...props} {...{ boxes, colors, width, height }} />
          ))
        )}
      </div>
    </figure>
  );
}

interface DrawProps extends BarsProps {
  boxes: Box[];
  colors: string[];
  width: number;
  height: number;
}

function axisOf({ boxes, percent, unit }: DrawProps, room: number) {
  const ends = boxes.flatMap((b) => [b.low, b.high]);
  // The axis ends a little behind the longest bar, not at the next round number: short axes would waste half.
  const low = percent ? 0 : Math.min(0, ...ends) * 1.04;
  const high = percent ? 100 : Math.max(0, ...ends) * 1.04 || (low < 0 ? 0 : 1);
  const ticks = percent
    ? [0, 25, 50, 75, 100]
    : ticksOf(low, high, room, unit).filter((t) => t >= low && t <= high);
  const text = (v: number) => (percent ? `${v} %` : v === 0 ? '0' : formatUnit(v, unit));
  return { ticks, text, share: (v: number) => (v - low) / (high - low || 1) };
}

function tipText({ categories, series, unit, values, stacked }: DrawProps, box: Box): string {
  const total = values.reduce((s, v) => s + Math.max(0, v[box.category] ?? 0), 0);
  const share =
    stacked !== false && values.length > 1 && total > 0
      ? ` · ${formatPercent((100 * box.value) / total)}`
      : '';
  const sum = stacked !== false && values.length > 1 ? `\ntotal: ${formatUnit(total, unit)}` : '';
  return `${categories[box.category]}\n${series[box.series]}: ${formatUnit(box.value, unit)}${share}${sum}`;
}

/** What a box has wherever it is. Those that lead somewhere are reached by Tab, one at a time, and the arrow keys. */
function boxOf(props: DrawProps, box: Box) {
  const { boxes, colors, onSelect } = props;
  const tip = tipText(props, box);
  const look = { 'data-tip': tip, fill: colors[box.series] };
  if (!onSelect) return look;
  const isFirst = boxes.find((b) => b.category === box.category) === box;
  return {
    ...look,
    class: 'clickable',
    role: 'button' as const,
    'aria-label': tip.replaceAll('\n', ', '),
    tabindex: isFirst && box.category === boxes[0]!.category ? 0 : -1,
    'data-bar': isFirst ? box.category : undefined,
    onClick: () => onSelect(box.category, box.series),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter' || event.key === ' ') onSelect(box.category, box.series);
      else if (!step(event, box.category)) return;
      event.preventDefault();
    },
  };
}

/** To the bar beside the one with the focus; false: the key does something else. */
function step(event: KeyboardEvent, category: number): boolean {
  const way = /^Arrow(Right|Down)$/.test(event.key) ? 1 : /^Arrow(Left|Up)$/.test(event.key) ? -1 : 0;
  if (way === 0) return false;
  const chart = (event.currentTarget as Element).closest('svg');
  chart?.querySelector<SVGElement>(`[data-bar="${category + way}"]`)?.focus();
  return true;
}

function Upright(props: DrawProps) {
  const { categories, boxes, width, height } = props;
  const { ticks, text, share } = axisOf(props, Math.max(2, Math.floor(height / 45)));
  const left = 10 + Math.max(...ticks.map((t) => textWidth(text(t), 11)));
  const [top, bottom, right] = [8, 24, 8];
  const room = width - left - right;
  const tall = height - top - bottom;
  const slots = props.stacked === false ? props.series.length : 1;
  const slot = room / categories.length;
  const gap = Math.min(slot * 0.25, 24);
  const bar = Math.min((slot - gap) / slots, 72);
  const longest = Math.max(...categories.map((c) => textWidth(shorten(c, 18), 11)));
  const stride = labelStride(categories.length, room, longest + 10);
  const y = (v: number) => top + tall * (1 - share(v));
  return (
    <svg
      width={width}
      height={height}
      role={props.onSelect ? 'group' : 'img'}
      aria-label={props.title ?? 'bars'}>
      {ticks.map((t) => (
        <g key={t}>
          <line x1={left} x2={width - right} y1={y(t)} y2={y(t)} class="grid-line" />
          <text x={left - 6} y={y(t) + 4} class="axis axis-end">
            {text(t)}
          </text>
        </g>
      ))}
      {boxes.map((b) => (
        <rect
          key={`${b.category} ${b.series}`}
          {...boxOf(props, b)}
          x={left + slot * (b.category + 0.5) - (bar * slots) / 2 + bar * b.slot}
          width={Math.max(1, bar - (slots > 1 ? 1 : 0))}
          y={y(b.high)}
          height={Math.max(0, y(b.low) - y(b.high))}
        />
      ))}
      {categories.map(
        (c, i) =>
          i % stride === 0 && (
            <text
              key={i}
              x={Math.min(left + slot * (i + 0.5), width - 1 - textWidth(shorten(c, 18), 11) / 2)}
              y={height - 8}
              class="axis axis-middle">
              {shorten(c, 18)}
            </text>
          ),
      )}
    </svg>
  );
}

function Lying(props: DrawProps) {
  const { categories, boxes, width, height } = props;
  const names = categories.map((c) => shorten(c, 40));
  const left = 10 + Math.min(0.45 * width, Math.max(...names.map((n) => textWidth(n, 12))));
  const [top, bottom, right] = [4, 22, 36]; // half of the last label fits at the right
  const room = width - left - right;
  const { ticks, text, share } = axisOf(props, Math.max(2, Math.floor(room / 110)));
  const slots = props.stacked === false ? props.series.length : 1;
  const slot = (height - top - bottom) / categories.length;
  const bar = Math.min((slot * 0.76) / slots, 26);
  const x = (v: number) => left + room * share(v);
  return (
    <svg
      width={width}
      height={height}
      role={props.onSelect ? 'group' : 'img'}
      aria-label={props.title ?? 'bars'}>
      {ticks.map((t) => (
        <g key={t}>
          <line x1={x(t)} x2={x(t)} y1={top} y2={height - bottom} class="grid-line" />
          <text x={x(t)} y={height - 6} class="axis axis-middle">
            {text(t)}
          </text>
        </g>
      ))}
      {names.map((n, i) => (
        <text
          key={i}
          x={left - 6}
          y={top + slot * (i + 0.5) + 4}
          class="axis axis-end axis-name"
          data-tip={categories[i]}>
          {n}
        </text>
      ))}
      {boxes.map((b) => (
        <rect
          key={`${b.category} ${b.series}`}
          {...boxOf(props, b)}
          y={top + slot * (b.category + 0.5) - (bar * slots) / 2 + bar * b.slot}
          height={Math.max(1, bar - (slots > 1 ? 1 : 0))}
          x={x(b.low)}
          width={Math.max(0, x(b.high) - x(b.low))}
        />
      ))}
    </svg>
  );
}
