// uPlot behind <Series>: colours of the theme, numbers for people, drag to choose a range.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatUnit } from '../format';
import { cssColor, isDark } from '../state';
import type { SeriesProps } from './series';
import { byteSteps } from './scale';
import { useSize } from './use-size';

const resolve = (color: string) => {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  return name ? cssColor(name) : color;
};

/** Sizes are seen against zero. */
const yRange = (_: uPlot, low: number | null, high: number | null): [number, number] => {
  const top = Math.max(0, high ?? 0);
  const bottom = Math.min(0, low ?? 0);
  return top === bottom ? [0, 1] : [bottom * 1.05, top * 1.06];
};

function optionsOf(props: SeriesProps, width: number): uPlot.Options {
  const { lines, unit, xUnit, height = 240 } = props;
  const ink = cssColor('--muted');
  const grid = { stroke: cssColor('--line'), width: 1 };
  const font = '12px system-ui, sans-serif';
  const tick = (u: string | undefined) => (_: uPlot, values: number[]) =>
    values.map((v) => (v === null ? '' : v === 0 ? '0' : formatUnit(v, u)));
  const y = unit ?? lines[0]?.unit;
  return {
    width,
    height,
    cursor: { drag: { x: true, y: false, setScale: !props.onRange }, points: { size: 7 } },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: { x: { time: false }, y: props.logY ? { distr: 3 } : { range: yRange } },
    legend: { live: true },
    axes: [
      { stroke: ink, grid, ticks: grid, font, values: tick(xUnit), space: 90 },
      {
        stroke: ink,
        grid,
        ticks: grid,
        font,
        values: tick(y),
        size: 76,
        ...(y === 'bytes' ? { incrs: byteSteps } : {}),
      },
    ],
    series: [
      { label: 'at', value: (_, v) => (v === null ? '–' : formatUnit(v, xUnit)) },
      ...lines.map((line, i): uPlot.Series => {
        const color = resolve(line.color ?? `var(--series-${i % 12})`);
        return {
          label: line.name,
          stroke: color,
          width: line.points ? 0 : 1.5,
          show: !line.hidden,
          dash: line.dash ? [6, 4] : undefined,
          paths: line.points ? () => null : line.stepped ? uPlot.paths.stepped!({ align: 1 }) : undefined,
          points: line.points
            ? { show: true, size: 4, fill: color, stroke: color }
            : { show: props.x.length < 40 && !line.stepped },
          value: (_, v) => (v === null ? '–' : formatUnit(v, line.unit ?? unit)),
        };
      }),
    ],
    hooks: {
      // only now it is known where a value lies
      ready: [(plot) => showRange(plot, props.range)],
      setSelect: [
        (plot) => {
          if (!props.onRange || plot.select.width < 2) return;
          const from = plot.posToVal(plot.select.left, 'x');
          const to = plot.posToVal(plot.select.left + plot.select.width, 'x');
          props.onRange({ from, to });
        },
      ],
      draw: [
        (plot) => {
          for (const mark of props.markers ?? []) {
            const at = Math.round(plot.valToPos(mark.x, 'x', true));
            if (at < plot.bbox.left || at > plot.bbox.left + plot.bbox.width) continue;
            plot.ctx.save();
            plot.ctx.fillStyle = resolve(mark.color ?? 'var(--accent)');
            plot.ctx.fillRect(at, plot.bbox.top, devicePixelRatio, plot.bbox.height);
            if (mark.label) {
              plot.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
              // the axis leaves its own alignment behind; near the right border the text stands at the left
              const isLast = at + 60 * devicePixelRatio > plot.bbox.left + plot.bbox.width;
              plot.ctx.textAlign = isLast ? 'right' : 'left';
              plot.ctx.fillText(mark.label, isLast ? at - 4 : at + 4, plot.bbox.top + 10 * devicePixelRatio);
            }
            plot.ctx.restore();
          }
        },
      ],
    },
  };
}

function showRange(plot: uPlot, range: SeriesProps['range']): void {
  if (range === undefined) return;
  const left = range ? plot.valToPos(range.from, 'x') : 0;
  const width = range ? plot.valToPos(range.to, 'x') - left : 0;
  if (Number.isFinite(width))
    plot.setSelect({ left, top: 0, width, height: range ? plot.over.clientHeight : 0 }, false);
}

export function SeriesPlot(props: SeriesProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const { width } = useSize(holder);
  const dark = isDark.value;
  const key =
    props.lines.map((l) => `${l.name}${l.color}${l.stepped}${l.points}`).join('\0') +
    props.unit +
    props.xUnit +
    props.height +
    dark;

  useEffect(() => {
    if (!holder.current || width === 0) return;
    // Hooks read the latest props, so that a new onRange needs no new plot.
    const live: SeriesProps = { ...props, onRange: props.onRange && ((r) => latest.current.onRange?.(r)) };
    for (const name of ['markers', 'range'] as const)
      Object.defineProperty(live, name, { get: () => latest.current[name] });
    const data = [props.x, ...props.lines.map((l) => l.values)] as unknown as uPlot.AlignedData;
    const made = new uPlot(optionsOf(live, width), data, holder.current);
    made.over.addEventListener('dblclick', () => {
      made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      latest.current.onRange?.(null);
    });
    made.over.addEventListener('click', () => {
      const at = made.cursor.idx;
      if (at !== null && at !== undefined) latest.current.onPoint?.(at);
    });
    plot.current = made;
    return () => {
      made.destroy();
      plot.current = null;
    };
  }, [key, width === 0]);

  useEffect(() => {
    if (plot.current && width > 0) plot.current.setSize({ width, height: props.height ?? 240 });
  }, [width, props.height]);
  useEffect(() => {
    plot.current?.setData([props.x, ...props.lines.map((l) => l.values)] as unknown as uPlot.AlignedData);
  }, [props.x, props.lines]);
  useEffect(() => plot.current?.redraw(false), [props.markers]);
  useEffect(() => {
    if (plot.current) showRange(plot.current, props.range);
  }, [props.range?.from, props.range?.to, width, key]);
  return (
    <div
      class="series"
      ref={holder}
      role="img"
      aria-label={props.title ?? props.lines.map((l) => l.name).join(', ')}
    />
  );
}
