// A heat map: rows by columns, one hue from pale to strong; SVG to the width of the panel.
import { useRef, useState } from 'preact/hooks';
import { formatUnit, shorten } from '../format';
import { Empty } from './basic';
import { labelStride } from './scale';
import { textWidth, useSize } from './use-size';

export interface HeatMapProps {
  rows: readonly string[];
  columns: readonly string[];
  /** values[row][column]; null: missing, shown hatched out. */
  values: readonly (readonly (number | null)[])[];
  unit?: string;
  title?: string;
  rowTitle?: string;
  columnTitle?: string;
  /** The value of the palest and of the strongest colour; otherwise least and greatest. */
  range?: [number, number];
  onSelect?: (row: number, column: number) => void;
}

const ways: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function HeatMap(props: HeatMapProps) {
  const { rows, columns, values, unit, title, onSelect, rowTitle = '', columnTitle = '' } = props;
  const holder = useRef<HTMLDivElement>(null);
  const { width } = useSize(holder);
  const [at, setAt] = useState({ y: 0, x: 0 });
  const now = { y: Math.min(at.y, rows.length - 1), x: Math.min(at.x, columns.length - 1) };
  const onKey = (event: KeyboardEvent) => {
    const way = ways[event.key];
    if (way) {
      const y = Math.max(0, Math.min(rows.length - 1, now.y + way[0]));
      const x = Math.max(0, Math.min(columns.length - 1, now.x + way[1]));
      setAt({ y, x });
      (event.currentTarget as Element).querySelector<SVGElement>(`[data-cell="${y} ${x}"]`)?.focus();
    } else if ((event.key === 'Enter' || event.key === ' ') && (values[now.y]?.[now.x] ?? null) !== null)
      onSelect?.(now.y, now.x);
    else return;
    event.preventDefault();
  };
  const all = values.flat().filter((v): v is number => v !== null && Number.isFinite(v));
  const [low, high] = props.range ?? [Math.min(...all), Math.max(...all)];
  const cellHeight = rows.length > 40 ? 12 : 22;
  const left = 12 + Math.max(...rows.map((r) => textWidth(shorten(r, 24), 11)), textWidth(rowTitle, 11));
  const height = rows.length * cellHeight + 40;
  const cellWidth = Math.min(96, Math.max(1, (width - left - 8) / Math.max(1, columns.length)));
  const stride = labelStride(
    columns.length,
    cellWidth * columns.length,
    Math.max(...columns.map((c) => textWidth(c, 11)), 8) + 8,
  );
  const share = (v: number) => (high > low ? Math.max(0, Math.min(1, (v - low) / (high - low))) : 0.5);
  return (
    <figure class="chart">
      {title && <figcaption>{title}</figcaption>}
      <div class="chart-holder" ref={holder} style={{ height: `${height}px` }}>
        {all.length === 0 ? (
          <Empty reason="Nothing to show." />
        ) : (
          width > 0 && (
            <svg
              width={width}
              height={height}
              role="group"
              aria-label={`${title ?? 'Heat map'}; arrow keys move between cells`}
              onKeyDown={onKey}>
              <text x={left - 6} y={14} class="axis axis-end">
                {rowTitle}
              </text>
              {columns.map(
                (c, i) =>
                  i % stride === 0 && (
                    <text key={i} x={left + cellWidth * (i + 0.5)} y={14} class="axis axis-middle">
                      {c}
                    </text>
                  ),
              )}
              {rows.map((r, y) => (
                <g key={y}>
                  {(cellHeight > 12 || y % 2 === 0) && (
                    <text x={left - 6} y={22 + cellHeight * (y + 0.5) + 4} class="axis axis-end">
                      {shorten(r, 24)}
                    </text>
                  )}
                  {columns.map((c, x) => {
                    const v = values[y]?.[x] ?? null;
                    const where = `${rowTitle} ${r} · ${columnTitle} ${c}`.trim();
                    const tip = `${where}\n${v === null ? 'not available' : formatUnit(v, unit)}`;
                    return (
                      <rect
                        key={x}
                        x={left + cellWidth * x}
                        y={22 + cellHeight * y}
                        height={cellHeight - 1}
                        width={Math.max(1, cellWidth - (cellWidth > 6 ? 1 : 0))}
                        class={v === null ? 'heat-missing' : onSelect ? 'heat clickable' : 'heat'}
                        style={v === null ? undefined : { fillOpacity: String(0.08 + 0.92 * share(v)) }}
                        data-tip={tip}
                        data-cell={`${y} ${x}`}
                        role={onSelect ? 'button' : 'img'}
                        aria-label={tip.replace('\n', ': ')}
                        tabIndex={y === now.y && x === now.x ? 0 : -1}
                        onFocus={() => setAt({ y, x })}
                        onClick={() => v !== null && onSelect?.(y, x)}
                      />
                    );
                  })}
                </g>
              ))}
            </svg>
          )
        )}
      </div>
      {all.length > 0 && (
        <div class="heat-scale">
          {high > low ? (
            <>
              <span>{formatUnit(low, unit)}</span>
              <i />
              <span>{formatUnit(high, unit)}</span>
            </>
          ) : (
            <span>all {formatUnit(low, unit)}</span>
          )}
        </div>
      )}
    </figure>
  );
}
